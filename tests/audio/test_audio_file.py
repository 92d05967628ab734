"""Audio files: every format, rate, width and number of channels, and every kind of damage."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.visible_text import visible

pytestmark = pytest.mark.slow

Array = NDArray[np.float32]

FORMATS = {
    "wav": {"subtype": "PCM_16"},
    "flac": {},
    "ogg": {},
    "mp3": {},
    "aiff": {},
    "au": {},
    "caf": {},
    "w64": {},
    "opus": {"format": "OGG", "subtype": "OPUS"},
}
LOSSY = {"ogg", "mp3", "opus"}


def tone(seconds: float, rate: int, hertz: float = 440.0, level: float = 0.5) -> Array:
    times = np.arange(round(seconds * rate)) / rate
    return (level * np.sin(2 * np.pi * hertz * times)).astype(np.float32)


def speechlike(seconds: float, rate: int) -> Array:
    """Something that compresses to neither nothing nor noise."""
    noise = np.random.default_rng(3).standard_normal(round(seconds * rate)) * 0.01
    return (tone(seconds, rate) * (1 + 0.5 * tone(seconds, rate, 3.0)) + noise).astype(np.float32)


def strongest(samples: Array) -> float:
    """The frequency with the most energy, hertz at 16 kHz."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return float(np.argmax(spectrum) * 16_000 / len(samples))


def level(samples: Array) -> float:
    return float(np.sqrt(2 * np.mean(np.square(samples, dtype=np.float64))))


def write(path: Path, samples: Array, rate: int = 16_000, subtype: str | None = "FLOAT") -> AudioFile:
    soundfile.write(path, samples, rate, subtype=subtype)
    return AudioFile.open(path)


def read(path: Path) -> Array:
    return AudioFile.open(path).samples()


def refused(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(visible(str(path)))
    return caught.value.found


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format(tmp_path: Path, kind: str) -> None:
    rate = 48_000 if kind == "opus" else 44_100
    path = tmp_path / f"tone.{kind}"
    soundfile.write(path, tone(2.0, rate), rate, **FORMATS[kind])
    audio = AudioFile.open(path)
    samples = audio.samples()
    assert (audio.path, audio.rate, audio.channels, audio.problems) == (str(path), rate, 1, [])
    assert audio.duration == pytest.approx(2.0, abs=0.05)
    assert samples.dtype == np.float32
    assert len(samples) == pytest.approx(32_000, abs=800)
    middle = samples[8_000:24_000]
    assert strongest(middle) == pytest.approx(440.0, abs=1.0)
    assert level(middle) == pytest.approx(0.5, rel=0.05 if kind in LOSSY else 0.002)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 96_000, 192_000])
def test_every_rate_keeps_pitch_level_and_length(tmp_path: Path, rate: int) -> None:
    audio = write(tmp_path / "tone.wav", tone(9.0, rate, 1_000.0), rate)
    blocks = list(audio.blocks())
    samples = np.concatenate(blocks)
    assert len(blocks) > 2
    assert len(samples) == pytest.approx(9 * 16_000, abs=1)
    middle = samples[1_600:-1_600]
    assert strongest(middle) == pytest.approx(1_000.0, abs=0.2)
    # The same tone everywhere: a click between blocks would show, and so would a delay.
    np.testing.assert_allclose(middle, tone(9.0, 16_000, 1_000.0)[1_600 : 1_600 + len(middle)], atol=2e-4)


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000])
def test_blocks_are_the_same_as_resampling_at_once(tmp_path: Path, rate: int) -> None:
    noise = (np.random.default_rng(1).standard_normal(rate * 13) * 0.1).astype(np.float32)
    samples = write(tmp_path / "noise.wav", noise, rate).samples()
    expected = soxr.resample(noise, rate, 16_000, quality="HQ")
    assert len(samples) == pytest.approx(len(expected), abs=1)
    count = min(len(samples), len(expected))
    np.testing.assert_allclose(samples[:count], expected[:count], atol=1e-5)


@pytest.mark.parametrize("hertz", [9_000.0, 12_000.0, 20_000.0])
def test_what_16_khz_cannot_hold_is_gone(tmp_path: Path, hertz: float) -> None:
    audio = write(tmp_path / "high.wav", tone(5.0, 48_000, hertz), 48_000)
    assert level(audio.samples()[1_600:-1_600]) < 0.5e-4


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW"])
def test_every_width(tmp_path: Path, subtype: str) -> None:
    samples = write(tmp_path / "tone.wav", tone(1.0, 16_000), subtype=subtype).samples()
    coarse = {"PCM_U8": 0.01, "ULAW": 0.02, "ALAW": 0.02}
    np.testing.assert_allclose(samples, tone(1.0, 16_000), atol=coarse.get(subtype, 1e-4))


def test_channels_one_by_one_or_mixed(tmp_path: Path) -> None:
    voices = np.stack([tone(6.0, 16_000, hertz) for hertz in (300.0, 500.0, 700.0)], axis=1)
    audio = write(tmp_path / "three.wav", voices)
    assert audio.channels == 3
    for channel in (1, 2, 3):
        np.testing.assert_array_equal(audio.samples(channel=channel), voices[:, channel - 1])
    np.testing.assert_allclose(audio.samples(), voices.mean(axis=1), atol=1e-6)
    for channel in (0, 4, -1):
        with pytest.raises(OptionError, match="has 3 channels; the first is 1"):
            audio.blocks(channel)


@pytest.mark.parametrize("kind", ["wav", "flac", "mp3"])
@pytest.mark.parametrize("rate", [16_000, 44_100])
def test_a_part_of_a_file(tmp_path: Path, kind: str, rate: int) -> None:
    path = tmp_path / f"long.{kind}"
    soundfile.write(path, speechlike(12.0, rate), rate)
    audio, everything = AudioFile.open(path), read(path)
    for start, end in ((0.0, 1.0), (2.5, 3.25), (5.0, 11.0)):
        part = audio.samples(start, end)
        assert len(part) == round((end - start) * 16_000)
        expected = everything[round(start * 16_000) : round(end * 16_000)]
        np.testing.assert_allclose(part[400:-400], expected[400:-400], atol=5e-3)
    assert len(audio.samples(11.0, None)) == pytest.approx(16_000, abs=1)
    assert len(audio.samples(20.0, 21.0)) == 0
    assert audio.problems == []


def test_blocks_are_small_for_any_number_of_channels(tmp_path: Path) -> None:
    audio = write(tmp_path / "many.wav", np.zeros((16_000 * 10, 64), np.float32))
    assert max(map(len, audio.blocks())) <= 16_000 * 4


def test_samples_that_are_not_numbers_are_silence(tmp_path: Path) -> None:
    samples = tone(1.0, 16_000)
    samples[100:103] = np.nan, np.inf, -np.inf
    audio = write(tmp_path / "bad.wav", samples)
    np.testing.assert_array_equal(audio.samples(), np.where(np.isfinite(samples), samples, 0))
    assert audio.problems == ["some samples are not numbers (NaN or infinite); they are read as silence"]


def test_samples_beyond_full_scale_are_clipped(tmp_path: Path) -> None:
    audio = write(tmp_path / "loud.wav", tone(1.0, 16_000, level=1.2))
    np.testing.assert_array_equal(audio.samples(), np.clip(tone(1.0, 16_000, level=1.2), -1, 1))
    assert audio.problems == []  # as lossy formats do it
    audio = write(tmp_path / "loud.wav", tone(1.0, 16_000, level=20_000.0))
    assert np.abs(audio.samples()).max() == 1
    assert "the file needs scaling down" in audio.problems[0]


def test_problems_are_noted_once(tmp_path: Path) -> None:
    audio = write(tmp_path / "bad.wav", np.full((16_000, 2), np.nan), 16_000)
    for channel in (1, 2, None):
        list(audio.blocks(channel))
    assert len(audio.problems) == 1


@pytest.mark.parametrize("count", [1, 10, 800, 1599])
def test_very_short_files_read_fine(tmp_path: Path, count: int) -> None:
    for rate in (16_000, 44_100):
        samples = write(tmp_path / "short.wav", tone(1.0, rate)[:count], rate).samples()
        assert len(samples) == pytest.approx(count * 16_000 / rate, abs=rate > 16_000)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (".", None, "this is a folder"),
        ("none.wav", None, "there is no such file"),
        ("a\0b.wav", None, ("cannot be read", "there is no such file")),
        ("empty.wav", b"", "the file is empty (0 bytes)"),
        ("notes.wav", b"No sound in here, only words.\n" * 100, "no audio that can be read (Format not recognised)"),
        ("x.raw", bytes(3200), "raw samples without a header"),
    ],
)
def test_what_is_no_audio(tmp_path: Path, name: str, content: bytes | None, message: str | tuple[str, ...]) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    assert refused(path).startswith(message)


@pytest.mark.parametrize("kind", ["wav", "aiff", "au"])
def test_a_header_without_samples(tmp_path: Path, kind: str) -> None:
    soundfile.write(tmp_path / f"none.{kind}", np.zeros(0, np.float32), 16_000)
    assert refused(tmp_path / f"none.{kind}") == "there are no samples in it that can be read"


def test_a_rate_no_speech_has(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "slow.wav", np.zeros(100, np.float32), 100)
    assert refused(tmp_path / "slow.wav").startswith("a rate of 100 samples a second")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_refused_and_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.wav")
    assert refused(tmp_path / "pipe.wav") == "this is not a regular file"


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret.wav"
    soundfile.write(path, tone(1.0, 16_000), 16_000)

    def forbidden(*_args: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbidden)  # by name: the superuser may read everything
    assert refused(path) == "cannot be read: Permission denied"


@pytest.mark.parametrize("kind", sorted(set(FORMATS) - {"caf"}))
def test_a_file_cut_short_gives_what_is_there(tmp_path: Path, kind: str) -> None:
    rate = 48_000 if kind == "opus" else 44_100
    path = tmp_path / f"cut.{kind}"
    soundfile.write(path, speechlike(10.0, rate), rate, **FORMATS[kind])
    intact = read(path)
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 6 // 10])
    audio = AudioFile.open(path)
    samples = audio.samples()
    assert 4.5 < len(samples) / 16_000 < 6.5
    assert len(audio.problems) == 1
    assert "could not be read" in audio.problems[0]
    kept = slice(0, len(samples) - 4_000)
    np.testing.assert_allclose(samples[kept], intact[kept], atol=0.02 if kind in LOSSY else 1e-3)


@pytest.mark.parametrize("kind", ["wav", "aiff", "flac"])
def test_a_cut_file_says_how_much_is_lost(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"cut.{kind}"
    soundfile.write(path, np.random.default_rng(0).uniform(-1, 1, 160_000), 16_000)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 7 // 10])
    audio = AudioFile.open(path)
    list(audio.blocks())
    assert audio.problems[0].startswith(("the last 3.0 s could not be read", "the last 3.1 s"))


@pytest.mark.parametrize("kind", ["flac", "mp3"])
def test_damage_in_the_middle_is_silence_and_times_stay_right(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"hurt.{kind}"
    soundfile.write(path, speechlike(20.0, 16_000), 16_000)
    intact = read(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 3_000] = bytes(3_000)
    path.write_bytes(data)
    audio = AudioFile.open(path)
    samples = audio.samples()
    np.testing.assert_allclose(samples[: 16_000 * 8], intact[: 16_000 * 8], atol=0.02)
    if kind == "flac":
        assert len(samples) == len(intact)
        np.testing.assert_array_equal(samples[16_000 * 12 :], intact[16_000 * 12 :])
    assert "could not be read" in audio.problems[0]


@pytest.mark.parametrize("kind", FORMATS)
def test_random_bytes_never_raise_anything_else(tmp_path: Path, kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    path = tmp_path / f"good.{kind}"
    soundfile.write(path, speechlike(1.0, 48_000), 48_000, **FORMATS[kind])
    good = path.read_bytes()
    for trial in range(12):
        data = bytearray(good if trial % 3 else rng.bytes(3_000))
        if trial % 3 == 1:  # a spoilt header
            data[: rng.integers(1, 64)] = rng.bytes(int(rng.integers(1, 64)))
        for offset in rng.integers(4, len(data), 20):  # and spoilt data
            data[offset] = rng.integers(256)
        _reads_or_refuses(tmp_path / f"t{trial}.{kind}", bytes(data[: rng.integers(1, len(data) + 1)]))


def _reads_or_refuses(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    samples = np.zeros(0, np.float32)
    with suppress(InputError):
        samples = read(path)
    assert np.isfinite(samples).all()
    assert np.abs(samples).max(initial=0) <= 1


@settings(max_examples=25, deadline=None)
@given(
    st.binary(min_size=1, max_size=300), st.sampled_from([b"RIFF", b"fLaC", b"OggS", b"ID3", b"FORM", b".snd", b""])
)
def test_hostile_headers(tmp_path_factory: pytest.TempPathFactory, data: bytes, magic: bytes) -> None:
    _reads_or_refuses(tmp_path_factory.mktemp("hostile") / "x.wav", magic + data)
