"""Reading sound that soundfile does not know, and damaged MP3: M4A, MP4, MKV, WebM, WMA, AMR, ...

A packet that cannot be decoded becomes silence of its length, and so does a gap between time stamps, so that times
stay those of the recording. A jump of the time stamps is believed as far as the file can hold as much. Packets come
one at a time, however long the file is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.number_format import counted
from .container import PADDING, Container
from .decoding import FRAMES_PER_BYTE, Block, Notify

_GAP = 0.1  # seconds between time stamps that are no rounding
_LONGEST_GAP = 3600.0  # seconds: a jump further ahead is damage
_PREROLL = 1.0  # seconds that are decoded, and thrown away, before what was asked for
_MOST_TOLD = 5  # damaged places that are named one by one
_MOST_CHANNELS, _MOST_PLANES = 64, 8
_WIDTHS = {"u8": 7, "s16": 15, "s32": 31, "s64": 63}  # formats of integers, and their bits without the sign


@dataclass(frozen=True, slots=True)
class ContainerHeader:
    """What a container says about its sound."""

    rate: int
    channels: int
    duration: float | None  # seconds; None where it does not say
    streams: int  # of sound; the first, or what the file marks as the default, is read


def container_header(path: str) -> ContainerHeader:
    """The header of a file, whose first samples were decoded; what has none is an InputError."""
    with Container(path) as container:
        frame = container.first_frame()
        if frame is None or not 1 <= len(frame.layout.channels) <= _MOST_CHANNELS:
            raise InputError("there are no samples in it that can be read", file=path, remedy="Check how it was made")
        channels = len(frame.layout.channels)
        return ContainerHeader(frame.sample_rate, channels, container.duration, container.streams)


class ContainerReader:
    """Reads a file in blocks from any frame on, and notifies about what could not be decoded."""

    def __init__(self, path: str, rate: int, channels: int, notify: Notify, first: int = 0) -> None:
        self._container, self._notify, self._first = Container(path), notify, first
        self._rate, self._channels = rate, channels
        self._position: int | None = 0  # the next frame to decode; None: after a jump, until the first has come
        self._reach = Path(path).stat().st_size * FRAMES_PER_BYTE
        self._shift = 0  # of time stamps that jumped where they cannot be
        self._damage = _Damage(rate, notify)
        self._resampler: tuple[object, Any] | None = None  # for frames that are not as the first
        if first and self._container.seek(first / rate - _PREROLL):
            self._position = None

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def blocks(self, size: int) -> Iterator[Block]:
        """Everything that can be decoded, in blocks of at most `size` frames; damage in the middle is silence."""
        waiting, count = deque[Block](), 0
        for block in self._wanted(size):
            waiting.append(block)
            count += len(block)
            while count >= size:
                joined = np.concatenate(waiting)
                yield joined[:size]
                waiting, count = deque([joined[size:]]), count - size
        if count:
            yield np.concatenate(waiting)

    def _wanted(self, size: int) -> Iterator[Block]:
        """What was decoded, from the first frame that was asked for on."""
        for block in self._decoded(size):
            before = self._position or 0
            self._position = before + len(block)
            if self._position > self._first:
                yield block[max(0, self._first - before) :]
        self._end()

    def _decoded(self, size: int) -> Iterator[Block]:
        for packet in self._container.packets():
            frames = self._container.decode(packet)
            if frames is None:
                self._damage.add(self._position or 0)
                continue
            for frame in frames:
                silence = self._begin(frame, packet)
                for block in self._blocks_of(frame):
                    yield from self._silence(silence, size)
                    yield block
                    silence = 0
            self._container.note_good(packet, self._rate)

    def _begin(self, frame: Any, packet: Any) -> int:
        """How many frames of silence belong before a frame that was decoded."""
        at = self._container.frame_number(frame, packet, self._rate)
        if self._position is None:
            self._position = at or 0
        gap = 0 if at is None else at + self._shift - self._position
        is_possible = gap <= _LONGEST_GAP * self._rate and self._position + gap <= self._reach
        if abs(gap) <= _GAP * self._rate and not self._damage.is_open:
            return 0
        if gap < 0 or not is_possible:
            self._shift, gap = self._shift - gap, 0
        self._damage.close(self._position + gap)
        return gap

    def _silence(self, frames: int, size: int) -> Iterator[Block]:
        while frames > 0:
            yield np.zeros((min(frames, size), self._channels), np.float32)
            frames -= size

    def _blocks_of(self, frame: Any) -> Iterator[Block]:
        """The samples of a frame, at the rate and with the channels of the first one."""
        import av

        try:
            is_plain = frame.sample_rate == self._rate and _has_planes(frame)
            frames = [frame] if is_plain else self._packed(frame)
            for each in frames:
                yield self._with_channels(_floats(each))
        except (av.FFmpegError, ValueError):
            self._damage.add(self._position or 0)

    def _packed(self, frame: Any) -> list[Any]:
        """A frame of another rate than the first one had, or with many channels, at that rate and in one plane."""
        import av

        setting = (frame.sample_rate, frame.layout.name, frame.format.name)
        if self._resampler is None or self._resampler[0] != setting:
            made = av.AudioResampler(format="flt", layout=frame.layout, rate=self._rate)
            self._resampler = setting, made
        frame.pts = None
        return list(self._resampler[1].resample(frame))

    def _with_channels(self, block: Block) -> Block:
        """A block with as many channels as the first one had: where there are others, the mean of all."""
        if block.shape[1] == self._channels:
            return block
        mixed: Block = block.mean(axis=1, keepdims=True).repeat(self._channels, axis=1)
        return mixed

    def _end(self) -> None:
        """Tell what is missing at the end, where the header promises more and not all of that was read."""
        position = self._position or 0
        promised = self._container.promised
        missing = 0.0 if promised is None else promised - position / self._rate
        if missing > PADDING:
            message = f"the last {missing:.1f} s could not be read: the file is damaged or ends early"
            self._notify(message, (position / self._rate, promised or 0.0))
        else:
            self._damage.close(position)
        self._damage.tell()


class _Damage:
    """The places of a file that could not be decoded: the first are named one by one, the others counted."""

    def __init__(self, rate: int, notify: Notify) -> None:
        self._rate, self._notify = rate, notify
        self._start: int | None = None
        self._places, self._more = 0, 0.0

    @property
    def is_open(self) -> bool:
        """Whether the last packet was bad."""
        return self._start is not None

    def add(self, position: int) -> None:
        """A packet is bad."""
        if self._start is None:
            self._start = position

    def close(self, position: int) -> None:
        """Decoding goes on."""
        if self._start is None:
            return
        start, end, self._start = self._start / self._rate, position / self._rate, None
        self._places += 1
        is_named = self._places <= _MOST_TOLD
        self._more += 0.0 if is_named else end - start
        self._notify(f"{end - start:.1f} s from {start:.1f} s on could not be read" if is_named else "", (start, end))

    def tell(self) -> None:
        """Count the places that were not named."""
        if self._places > _MOST_TOLD:
            places = counted(self._places - _MOST_TOLD, "more place")
            self._notify(f"{places} with {self._more:.1f} s could not be read", None)


def _has_planes(frame: Any) -> bool:
    """Whether numpy can be given the samples of a frame: PyAV does not reach the planes of more channels."""
    return not frame.format.is_planar or len(frame.layout.channels) <= _MOST_PLANES


def _floats(frame: Any) -> Block:
    """[frames, channels] from -1 to 1."""
    values = frame.to_ndarray()
    kind = frame.format.name
    channels = len(frame.layout.channels)
    table = values.T if kind.endswith("p") else values.reshape(-1, channels)
    kind = kind.removesuffix("p")
    if kind == "u8":
        table = table.astype(np.int16) - 128
    scaled = table.astype(np.float64) / 2 ** _WIDTHS[kind] if kind in _WIDTHS else table
    return np.ascontiguousarray(scaled, np.float32)
