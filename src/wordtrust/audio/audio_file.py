"""Audio files of any format, as blocks of mono samples at the rate recognizers expect.

soundfile reads WAV, FLAC, OGG, MP3 and kin; what it does not know, and MP3 from the first damaged frame on, PyAV.

Long files are never held in memory: blocks of a few seconds are read, mixed down and resampled as one stream. Of a
damaged file everything that can be decoded is returned; `AudioFile.problems` lists what could not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError, OptionError
from ..base.installation import install_command
from . import RATE, Samples
from .container import NoAudio
from .container_reader import ContainerReader, container_header
from .decoding import (
    Block,
    DamageTolerantReader,
    is_mpeg,
    muted_stderr,
    prints_errors,
    truncation,
)

BLOCK = 4.0  # seconds
_BLOCK_VALUES = 1 << 23  # values in a block at most, however many channels there are
_GUESSED = 0.5  # seconds by which a header may be wrong about the length
RATES = (4_000, 768_000)
_FULL_SCALE = 2.0  # lossy formats overshoot 1 a little; beyond this the scale of the file is wrong
_CONVERT = "Convert it first, for example: ffmpeg -i FILE -ar 16000 FILE.wav"
_KINDS = "WAV, FLAC, OGG, Opus, MP3, M4A, MP4, MKV, WebM, WMA, AMR, AIFF, AU, CAF and others are read"


@dataclass(slots=True)
class AudioFile:
    """An audio file whose header has been read; it can be read any number of times, channel by channel."""

    path: str  # as somebody named it
    rate: int  # samples per second in the file
    channels: int
    duration: float | None  # seconds, None where the header does not say
    problems: list[str] = field(default_factory=list)  # messages about what was wrong with it so far
    damaged: list[tuple[float, float]] = field(
        default_factory=list
    )  # seconds from, to: what could not be read so far
    in_container: bool = False  # whether PyAV reads it
    notes: list[str] = field(default_factory=list)  # what is worth knowing about it
    source: str = ""  # what is read, where that is another file

    @classmethod
    def open(cls, path: str | Path, source: Path | None = None) -> AudioFile:
        """Read the header; InputError if this is not a readable audio file. `source` is read in its place."""
        if source is None:
            return cls._opened(str(path))
        try:
            audio = cls._opened(str(source))
        except InputError as error:
            raise InputError(error.found, file=str(path), remedy=error.remedy) from None
        audio.path, audio.source = str(path), str(source)
        return audio

    @classmethod
    def _opened(cls, name: str) -> AudioFile:
        _check_is_file(name)
        try:
            with _open_sound(name) as handle:
                _check_header(name, handle)
                audio = cls(name, handle.samplerate, handle.channels, _duration(handle))
                message = truncation(name, handle)
        except _NotSound as error:
            return _in_container(cls, name, error)
        if message:
            audio.add_problem(message)
        return audio

    @property
    def lost(self) -> float:
        """Seconds that could not be read so far."""
        return sum(end - start for start, end in self.damaged)

    @property
    def is_mostly_lost(self) -> bool:
        """Whether more of what has been read so far could not be than could."""
        return self.duration is not None and self.lost > self.duration / 2

    def add_problem(self, message: str, lost: tuple[float, float] | None = None) -> None:
        """Record a problem, once, and the seconds that are lost by it."""
        if message and message not in self.problems:
            self.problems.append(message)
        if lost is not None and lost not in self.damaged:
            self.damaged.append(lost)

    def blocks(self, channel: int | None = None, start: float = 0.0) -> Iterator[Samples]:
        """Mono samples at RATE, a few seconds at a time, of one channel (the first is 1) or the mean of all."""
        self._check_channel(channel)
        return self._blocks(channel, round(start * self.rate))

    def samples(
        self, start: float = 0.0, end: float | None = None, channel: int | None = None, *, longest: float = math.inf
    ) -> Samples:
        """Mono samples at RATE between two times in seconds, by default all of them: for clips, not for hours.

        Reading stops one sample after `longest` seconds, so that the caller can tell that there is more.
        """
        self._check_channel(channel)
        seconds = min(math.inf if end is None else end - start, longest + 1 / RATE)
        blocks: list[Samples] = []
        for block in self._blocks(channel, round(start * self.rate)):
            blocks.append(block)
            if sum(map(len, blocks)) >= seconds * RATE:
                break
        samples = np.concatenate(blocks) if blocks else np.zeros(0, np.float32)
        return samples if seconds == math.inf else samples[: math.ceil(seconds * RATE - 1e-6)]

    def _check_channel(self, channel: int | None) -> None:
        if channel is not None and not 1 <= channel <= self.channels:
            has = "1 channel" if self.channels == 1 else f"{self.channels} channels"
            raise OptionError(f"{self.path}: there is no channel {channel}, the file has {has}; the first is 1")

    def _blocks(self, channel: int | None, first: int = 0) -> Iterator[Samples]:
        size = max(1, min(int(BLOCK * self.rate), _BLOCK_VALUES // self.channels))
        with closing(self._reader(first)) as reader:
            mono = (self._mono(block, channel) for block in self._measured(reader.blocks(size), first))
            for block in resample(mono, self.rate):
                yield np.clip(block, -1.0, 1.0)

    def _measured(self, blocks: Iterator[Block], first: int) -> Iterator[Block]:
        """The blocks; at their end it is known how long the file is, whatever its header said."""
        frames = first
        for block in blocks:
            frames += len(block)
            yield block
        end = max(frames / self.rate, *(end for _, end in self.damaged), 0.0)
        if frames > first and self.duration is not None and abs(end - self.duration) > _GUESSED:
            self.duration = end

    def _reader(self, first: int) -> DamageTolerantReader | ContainerReader:
        source = self.source or self.path
        if self.in_container:
            return ContainerReader(source, self.rate, self.channels, self.add_problem, first)
        go_on = self._go_on if is_mpeg(source) and find_spec("av") is not None else None
        return DamageTolerantReader(partial(_open_sound, source), self.add_problem, first, go_on=go_on)

    def _go_on(self, first: int, size: int) -> Iterator[Block]:
        """The rest of an MP3 that is damaged; whoever reads it again hears all of it in the same way."""
        self.in_container = True
        with closing(self._reader(first)) as reader:
            yield from reader.blocks(size)

    def _mono(self, block: NDArray[np.float32], channel: int | None) -> Samples:
        if not np.isfinite(block).all():
            self.add_problem("some samples are not numbers (NaN or infinite); they are read as silence")
            block = np.nan_to_num(block, nan=0.0, posinf=0.0, neginf=0.0)
        if float(np.abs(block).max(initial=0.0)) > _FULL_SCALE:
            self.add_problem("samples lie far outside -1 to 1 and are clipped: the file needs scaling down")
        if channel is not None:
            return np.ascontiguousarray(block[:, channel - 1])
        return block[:, 0] if self.channels == 1 else block.mean(axis=1, dtype=np.float64).astype(np.float32)


def _check_is_file(name: str) -> None:
    path = Path(name)
    try:
        if path.is_dir():
            raise InputError("this is a folder", file=name, remedy="Name the audio files in it")
        if not path.exists():
            raise InputError("there is no such file", file=name)
        if not path.is_file():
            raise InputError("this is not a regular file", file=name, remedy="Save the audio to a file first")
        with path.open("rb") as handle:
            if not handle.read(1):
                raise InputError("the file is empty (0 bytes)", file=name)
    except (OSError, ValueError) as error:  # no permission, a name with a null character
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read: {reason}", file=name) from None


class _NotSound(InputError):
    """What soundfile cannot read."""


def _in_container(cls: type[AudioFile], name: str, refused: _NotSound) -> AudioFile:
    """A file that soundfile does not know; if PyAV knows it no better, what soundfile said is the error."""
    if find_spec("av") is None:
        remedy = f"M4A, MP4, MKV, WebM, WMA, AMR and others need av, not installed here: {install_command('audio')}"
        raise InputError(refused.found, file=name, remedy=remedy)
    try:
        header = container_header(name)
    except NoAudio:
        raise InputError(refused.found, file=name, remedy=refused.remedy) from None
    _check_rate(name, header.rate)
    audio = cls(name, header.rate, header.channels, header.duration, in_container=True)
    if header.streams > 1:
        audio.notes.append(f"there are {header.streams} sound tracks; the one that players take is read")
    return audio


def _open_sound(name: str) -> Any:
    """Open a file as a soundfile.SoundFile; whatever goes wrong is an InputError."""
    for module in ("soundfile", "soxr"):
        if find_spec(module) is None:
            raise OptionError(f"reading audio needs {module}, not installed here: {install_command('audio')}")
    import soundfile

    if Path(name).suffix.lower() == ".raw":
        raise InputError("raw samples without a header say neither rate nor format", file=name, remedy=_CONVERT)
    try:
        with muted_stderr(is_mpeg(name)):
            return soundfile.SoundFile(name)
    except (soundfile.SoundFileError, RuntimeError, TypeError, ValueError, OSError) as error:
        found = f"no audio that can be read ({_reason(name, error)}); {_KINDS}"
        raise _NotSound(found, file=name, remedy=_CONVERT) from None


def _reason(name: str, error: Exception) -> str:
    reason = str(getattr(error, "error_string", "")).strip().rstrip(".")
    if reason.startswith("File does not exist"):  # libsndfile, when libmpg123 finds no frames in an existing file
        return "no MP3 frames were found in it" if is_mpeg(name) else "not understood"
    return reason or "not understood"


def _check_rate(name: str, rate: int) -> None:
    if not RATES[0] <= rate <= RATES[1]:
        found = f"a rate of {rate} samples a second, speech needs {RATES[0]} to {RATES[1]}"
        raise InputError(found, file=name, remedy="If the header is wrong, convert the file anew")


def _check_header(name: str, handle: Any) -> None:
    _check_rate(name, handle.samplerate)
    if handle.channels < 1 or not _has_samples(handle):
        raise InputError("there are no samples in it that can be read", file=name, remedy="Check how it was made")


def _has_samples(handle: Any) -> bool:
    import soundfile

    try:
        with muted_stderr(prints_errors(handle)):
            return len(handle.read(1, always_2d=True)) > 0
    except (soundfile.SoundFileError, RuntimeError):
        return False


def _duration(handle: Any) -> float | None:
    """Seconds; None where the header does not say and soundfile reports an impossible number of frames."""
    return handle.frames / handle.samplerate if 0 < handle.frames < 1 << 48 else None


def resample(blocks: Iterator[Samples], rate: int) -> Iterator[Samples]:
    """The blocks at RATE, resampled as one stream: no clicks between blocks, no delay."""
    if rate == RATE:
        yield from blocks
        return
    import soxr

    stream = soxr.ResampleStream(rate, RATE, 1, dtype="float32", quality="HQ")
    for block in blocks:
        if len(resampled := stream.resample_chunk(block)):
            yield resampled
    if len(resampled := stream.resample_chunk(np.zeros(0, np.float32), last=True)):
        yield resampled
