"""Decoders that print on stderr are kept quiet, and stderr comes back."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
import soundfile

from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.decoding import is_mpeg, muted_stderr
from wordtrust.base.errors import InputError

posix = pytest.mark.skipif(os.name != "posix", reason="file descriptors of POSIX")


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """An MP3 with noise in its middle."""
    path, rng = tmp_path / "hurt.mp3", np.random.default_rng(3)
    soundfile.write(path, rng.uniform(-0.5, 0.5, 16_000 * 10), 16_000)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 9_000] = rng.integers(0, 200, 9_000, np.uint8).tobytes()  # no frame begins
    path.write_bytes(data)
    return path


def test_a_damaged_mp3_prints_nothing(damaged: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with soundfile.SoundFile(damaged) as handle, pytest.raises(soundfile.LibsndfileError):
        handle.read()  # it would print this
    assert "MPEG-Header" in capfd.readouterr().err
    audio = AudioFile.open(damaged)
    assert sum(map(len, audio.blocks())) > 16_000
    assert audio.problems
    assert len(audio.samples(8.0, 9.0)) <= 16_000
    os.write(2, b"here again")
    assert capfd.readouterr().err == "here again"


def test_what_holds_no_frames(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "noise.mp3"
    path.write_bytes(np.random.default_rng(0).integers(0, 200, 100_000, np.uint8).tobytes())
    with pytest.raises(InputError, match=r"no audio that can be read \(no MP3 frames were found in it\)"):
        AudioFile.open(path)
    assert capfd.readouterr().err == ""


def test_only_what_needs_it_is_muted_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    for is_needed in (False, True):
        with muted_stderr(is_needed):
            os.write(2, b"x")
    assert capfd.readouterr().err == "x"


def test_stderr_comes_back_after_errors_and_from_several_threads(capfd: pytest.CaptureFixture[str]) -> None:
    def write() -> None:
        with muted_stderr(True), muted_stderr(True):
            os.write(2, b"unheard")

    threads = [Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with pytest.raises(ValueError, match="wrong"), muted_stderr(True):
        raise ValueError("wrong")
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


@posix
@pytest.mark.parametrize("closed", ["2>&-", ""])
def test_where_there_is_no_stderr(damaged: Path, closed: str) -> None:
    """Closed from the beginning, or by the program: the audio file may be number 2 then."""
    program = (
        "import os, sys; from wordtrust.audio.audio_file import AudioFile\n"
        f"if {not closed}: os.close(2)\n"
        "print(sum(map(len, AudioFile.open(sys.argv[1]).blocks())))"
    )
    command = ["sh", "-c", f'"$0" -c "$1" "$2" {closed}', sys.executable, program, str(damaged)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert int(done.stdout) == sum(map(len, AudioFile.open(damaged).blocks()))


def test_mpeg_by_name_or_content(tmp_path: Path) -> None:
    def named(name: str, data: bytes) -> str:
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    assert is_mpeg(named("a.MP3", b""))
    assert is_mpeg(named("a.wav", b"ID3\x04"))
    assert is_mpeg(named("b.wav", b"\xff\xfb\x90"))
    assert not is_mpeg(named("c.wav", b"RIFF"))
    assert not is_mpeg(named("d.wav", b"\xff"))
    assert not is_mpeg(str(tmp_path / "none.wav"))


def ogg_checksum(page: bytes) -> int:
    value = 0
    for byte in page:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04C11DB7 if value & 1 << 31 else 0)) & 0xFFFFFFFF
    return value


def with_later_pages_at(data: bytes, jump: int) -> bytes:
    """An Ogg file whose second half says that it begins `jump` samples later."""
    made, at = b"", 0
    while at < len(data):
        segments = data[at + 26]
        size = 27 + segments + sum(data[at + 27 : at + 27 + segments])
        page = bytearray(data[at : at + size])
        if at > len(data) // 2:
            page[6:14] = struct.pack("<q", struct.unpack("<q", page[6:14])[0] + jump)
        page[22:26] = bytes(4)
        page[22:26] = struct.pack("<I", ogg_checksum(bytes(page)))
        made, at = made + page, at + size
    return made


def test_pages_that_claim_to_be_days_later_take_no_time(tmp_path: Path) -> None:
    """libsndfile decodes all that is missing to get to such a page: for hours."""
    path = tmp_path / "a.opus"
    soundfile.write(path, np.random.default_rng(1).normal(0, 0.1, 160_000), 16_000, format="OGG", subtype="OPUS")
    path.write_bytes(with_later_pages_at(path.read_bytes(), 1 << 40))
    code = (
        "import sys; from wordtrust.audio.audio_file import AudioFile; a = AudioFile.open(sys.argv[1])\n"
        "print(sum(map(len, a.blocks())), len(a.samples(1e6, 1e6 + 1)), *a.problems)"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=30, check=True)
    samples, late, problem = done.stdout.split(maxsplit=2)
    assert abs(int(samples) - 160_000) < 2_000
    assert int(late) == 0
    assert "could not be read: the file is damaged or ends early" in problem


def test_where_a_decoder_cannot_go_nothing_else_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, np.full(32_000, 0.5), 16_000)
    audio = AudioFile.open(path)
    assert len(audio.samples(1.0)) == 16_000
    monkeypatch.setattr(soundfile.SoundFile, "seek", lambda *_: 0)
    assert len(audio.samples(1.0)) == 0
    assert audio.problems == ["the last 1.0 s could not be read: the file is damaged or ends early"]
