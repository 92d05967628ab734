"""Containers and codecs beyond soundfile: what phones, meetings and films come in, whole, damaged and hostile."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from pathlib import Path

import av
import numpy as np
import pytest

from tests.helpers.media import KINDS, second_of, steps, write_media
from wordtrust.audio import RATE
from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.errors import InputError

pytestmark = pytest.mark.slow

SECONDS = 12
FASTSTART = {"movflags": "faststart"}  # the index comes first, so that a file that is cut still has it


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of every kind."""
    folder = tmp_path_factory.mktemp("media")
    for kind in KINDS:
        write_media(folder / f"talk.{kind}", steps(SECONDS))
    return folder


def spoiled(path: Path, begin: float, end: float, target: Path) -> Path:
    """The file with noise in a part of its bytes, given as shares of them."""
    data = bytearray(path.read_bytes())
    first, last = round(begin * len(data)), round(end * len(data))
    data[first:last] = np.random.default_rng(5).integers(0, 250, last - first, np.uint8).tobytes()
    target.write_bytes(data)
    return target


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_keeps_its_times(folder: Path, kind: str) -> None:
    audio = AudioFile.open(folder / f"talk.{kind}")
    samples = audio.samples()
    assert (audio.channels, audio.rate, audio.problems) == (1, KINDS[kind][1], [])
    assert len(samples) / RATE == pytest.approx(SECONDS, abs=0.2)
    assert audio.duration == pytest.approx(SECONDS, abs=0.2 if kind != "aac" else 1.0)
    assert [second_of(samples, second + 0.25) for second in range(SECONDS)] == [*range(SECONDS)]
    part = audio.samples(7.2, 8.2)
    assert len(part) == RATE
    assert (second_of(part, 0.1), second_of(part, 0.45)) == (7, second_of(samples, 7.65))


def test_a_film_with_several_tracks_is_read_and_says_so(tmp_path: Path) -> None:
    path = write_media(tmp_path / "film.mkv", steps(3), np.zeros(3 * RATE, np.float32))
    audio = AudioFile.open(path)
    assert second_of(audio.samples(), 1.25) == 1
    assert audio.notes == ["there are 2 sound tracks; the one that players take is read"]
    assert audio.problems == []


def test_pictures_without_sound(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no sound in it \(video\)"):
        AudioFile.open(write_media(tmp_path / "film.mp4"))


@pytest.mark.parametrize("kind", ["mp3", "mkv", "ts", "m4a"])
def test_damage_is_told_and_times_stay_right(folder: Path, tmp_path: Path, kind: str) -> None:
    audio = AudioFile.open(spoiled(folder / f"talk.{kind}", 0.40, 0.55, tmp_path / f"hurt.{kind}"))
    samples = audio.samples()
    assert any("could not be read" in problem for problem in audio.problems)
    assert not audio.is_mostly_lost
    assert 0.5 < audio.lost < 3.5
    heard = {second: second_of(samples, second + 0.25) for second in (0, 1, 2, 3, 9, 10)}
    assert heard == {second: second for second in heard}
    again = audio.samples(9.0, 10.0)
    assert second_of(again, 0.25) == 9


def test_an_mp3_with_single_wrong_bytes_is_read_to_its_end(folder: Path, tmp_path: Path) -> None:
    data = bytearray((folder / "talk.mp3").read_bytes())
    for offset in np.random.default_rng(4).integers(2_000, len(data), 40):
        data[offset] ^= 0xFF
    path = tmp_path / "flips.mp3"
    path.write_bytes(data)
    audio = AudioFile.open(path)
    samples = audio.samples()
    assert len(samples) / RATE == pytest.approx(SECONDS, abs=1.0)
    assert 0 < audio.lost < SECONDS / 2


def test_an_mp3_after_something_else(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "saved.mp3"
    path.write_bytes(b"<html>sorry</html>" * 300 + (folder / "talk.mp3").read_bytes())
    audio = AudioFile.open(path)
    assert second_of(audio.samples(), 5.25) == 5
    assert audio.duration == pytest.approx(SECONDS, abs=0.3)  # the header guessed by the bytes


@pytest.mark.parametrize("kind", ["m4a", "mkv", "mp3"])
def test_a_file_that_is_mostly_lost_says_so(tmp_path: Path, kind: str) -> None:
    path = write_media(tmp_path / f"cut.{kind}", steps(SECONDS), options=FASTSTART if kind == "m4a" else None)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 3])
    audio = AudioFile.open(path)
    samples = audio.samples()
    assert len(samples) / RATE < 5
    assert second_of(samples, 1.25) == 1
    assert audio.is_mostly_lost
    assert any(problem.endswith("the file is damaged or ends early") for problem in audio.problems)


def test_a_header_that_lies_about_the_length(folder: Path, tmp_path: Path) -> None:
    data = bytearray((folder / "talk.m4a").read_bytes())
    for box, offset in ((b"mvhd", 20), (b"mdhd", 20), (b"tkhd", 24)):
        begin = data.index(box) + offset
        data[begin : begin + 4] = (2**31 - 1).to_bytes(4, "big")
    path = tmp_path / "liar.m4a"
    path.write_bytes(data)
    audio = AudioFile.open(path)
    assert len(audio.samples()) / RATE == pytest.approx(SECONDS, abs=0.2)
    assert audio.duration == pytest.approx(SECONDS, abs=0.2)
    assert audio.lost == 0


@pytest.mark.parametrize("rate", [0, 100, 2**31 - 1])
def test_a_rate_no_speech_has(tmp_path: Path, rate: int) -> None:
    path = write_media(tmp_path / "fast.mkv", steps(2), codec="pcm_s16le")
    data, was = bytearray(path.read_bytes()), np.array([16_000.0], ">f8").tobytes()
    begin = data.index(was)
    data[begin : begin + 8] = np.array([rate], ">f8").tobytes()
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"samples a second|no samples|no audio that can be read"):
        AudioFile.open(path).samples()


def test_time_stamps_that_jump_are_no_bomb(tmp_path: Path) -> None:
    path = tmp_path / "jump.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for index, start in enumerate((0, RATE, 3 * RATE, 300 * 365 * 86_400 * RATE)):
            frame = av.AudioFrame.from_ndarray(np.full((1, RATE), 1_000 * (index + 1), np.int16), "s16", "mono")
            frame.sample_rate, frame.pts = RATE, start
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    audio = AudioFile.open(path)
    tracemalloc.start()
    levels = np.concatenate(list(audio.blocks()))[RATE // 2 :: RATE] * 32_768
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(levels, [1_000, 2_000, 0, 3_000, 4_000], atol=1)  # a gap of a second is silence
    assert peak < 20_000_000


def test_more_channels_than_planes(tmp_path: Path) -> None:
    path = tmp_path / "many.mka"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=RATE, layout="hexadecagonal")
        values = np.tile(np.arange(16, dtype=np.int16) * 100, RATE)[None]
        frame = av.AudioFrame.from_ndarray(values, "s16", "hexadecagonal")
        frame.sample_rate = RATE
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    audio = AudioFile.open(path)
    assert audio.channels == 16
    np.testing.assert_allclose(audio.samples(channel=16) * 32_768, 1_500, atol=1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.m3u8", "#EXTM3U\n#EXTINF:10,\n{}\n#EXT-X-ENDLIST\n"),
        ("list.ffconcat", "ffconcat version 1.0\nfile '{}'\n"),
        ("list.sdp", "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=audio 5004 RTP/AVP 0\n"),
    ],
)
def test_a_file_that_names_others_opens_none_of_them(folder: Path, tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text.format(folder / "talk.m4a"))
    with pytest.raises(InputError, match="no audio that can be read"):
        AudioFile.open(tmp_path / name)


@pytest.mark.parametrize("kind", ["m4a", "mkv", "webm", "wma", "amr", "ts", "avi", "mp3"])
def test_spoiled_files_are_read_or_refused(folder: Path, tmp_path: Path, kind: str) -> None:
    good = (folder / f"talk.{kind}").read_bytes()
    rng = np.random.default_rng(len(kind))
    for trial in range(8):
        data = bytearray(good)
        reach = len(data) if trial % 2 else 2_000
        for offset in rng.integers(0, reach, 15):
            data[offset] = rng.choice([0, 127, 255, int(rng.integers(256))])
        path = tmp_path / f"t{trial}.{kind}"
        path.write_bytes(data[: rng.integers(1, len(data))] if trial % 3 == 0 else data)
        with suppress(InputError):
            samples = AudioFile.open(path).samples()
            assert np.isfinite(samples).all()
            assert len(samples) / RATE < 4_000
