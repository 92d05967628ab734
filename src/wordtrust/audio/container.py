"""A file of sound in a container, opened by PyAV (FFmpeg's libraries): its packets, its frames, its clock.

Files are hostile. Only the formats listed here are tried, none of which opens other files or addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..base.errors import InputError, OptionError
from ..base.installation import install_command
from .decoding import has_frame_count

PADDING = 0.5  # seconds that a header may promise too much
_INDEXED = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,asf"  # with an index of time stamps, which can be jumped to
_TIMED = "avi,flv,mpegts,mpeg,ogg,caf,rm,mxf"
_UNTIMED = "mp3,aac,ac3,eac3,amr,amrnb,amrwb,ape,dts,gsm,tta,wv"  # frames end to end
_PLAIN = "wav,w64,aiff,au,flac"  # with codecs that soundfile does not have
_OPTIONS = {"format_whitelist": f"{_INDEXED},{_TIMED},{_UNTIMED},{_PLAIN}", "protocol_whitelist": "none"}
_FIRST_PACKETS = 500  # one of these must give samples
_LARGEST_PACKET = 1 << 26  # bytes


class NoAudio(InputError):
    """Not a format that is known here."""


class Container:
    """An open file and its stream of sound."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = Path(path).open("rb")  # noqa: SIM115  # an object: a name could be taken for an address
        self._container: Any = None
        try:
            self._container = _opened(path, self._file)
            self._stream = _sound(path, self._container)
        except BaseException:
            self.close()
            raise
        self.streams = len(self._container.streams.audio)
        names = set(self._container.format.name.split(","))
        self._is_untimed = bool(names & set(_UNTIMED.split(",")))
        self._has_index = bool(names & set(_INDEXED.split(",")))
        self._zero = (self._container.start_time or 0) / 1e6
        self._end_byte: int | None = None  # of the last good packet
        self._good_bytes, self._good_frames, self._skipped_frames = 0, 0, 0
        self._packets, self._latest = 0, 0.0

    def __enter__(self) -> Container:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it."""
        if self._container is not None:
            self._container.close()
        self._file.close()

    @property
    def duration(self) -> float | None:
        """Seconds of the sound, as the header has it."""
        stream, container = self._stream, self._container
        if stream.duration is not None and stream.time_base is not None:
            seconds = float(stream.duration * stream.time_base)
        elif container.duration is not None:
            seconds = container.duration / 1e6
        else:
            return None
        return seconds if 0 < seconds < 1e9 else None

    @property
    def promised(self) -> float | None:
        """Seconds that must be there: those of the header, unless it only guessed, or all its packets were read."""
        if self._is_untimed and not has_frame_count(self._path):
            return None
        if self._stream.frames and self._packets >= self._stream.frames:
            return None  # the header is wrong, nothing is lost
        has_picture = any(stream.type == "video" for stream in self._container.streams)
        duration = self.duration
        if has_picture and duration is not None and self._latest >= duration - PADDING:
            return None  # the sound ends before the picture
        return duration

    def packets(self) -> Iterator[Any]:
        """The packets of the sound; where the file cannot be read on, they end."""
        import av

        demuxer = self._container.demux()
        while True:
            try:
                packet = next(demuxer, None)
            except (av.FFmpegError, LookupError, ValueError, OSError):
                return
            if packet is None:
                return
            self._note_time(packet)
            if packet.stream.index == self._stream.index:
                self._packets += packet.size > 0
                yield packet

    def _note_time(self, packet: Any) -> None:
        if packet.pts is not None and packet.time_base is not None:
            end = float((packet.pts + (packet.duration or 0)) * packet.time_base) - self._zero
            self._latest = max(self._latest, end)

    def decode(self, packet: Any) -> list[Any] | None:
        """The frames of a packet; None if it is damaged."""
        import av

        if packet.size > _LARGEST_PACKET:
            return None
        try:
            return list(packet.decode())
        except (av.FFmpegError, ValueError):
            return None

    def note_good(self, packet: Any, rate: int) -> None:
        """Remember how much time as many bytes hold: there may be no other clock."""
        if packet.pos is not None and packet.duration and packet.time_base is not None:
            self._end_byte = packet.pos + packet.size
            self._good_bytes += packet.size
            self._good_frames += round(packet.duration * packet.time_base * rate)

    def frame_number(self, frame: Any, packet: Any, rate: int) -> int | None:
        """Which frame of the recording this one is, by its time stamp; of frames end to end, by the bytes skipped."""
        if frame.pts is None or frame.time_base is None:
            return None
        at = round((float(frame.pts * frame.time_base) - self._zero) * rate)
        if not self._is_untimed or self._end_byte is None or packet.pos is None:
            return at
        skipped = packet.pos - self._end_byte
        if skipped > 0 and self._good_bytes:
            self._skipped_frames += round(skipped * self._good_frames / self._good_bytes)
            self._end_byte = packet.pos
        return at + self._skipped_frames

    def first_frame(self) -> Any:
        """The first frame that can be decoded; None if none of the first packets has one."""
        for packet, _ in zip(self.packets(), range(_FIRST_PACKETS), strict=False):
            frames = self.decode(packet)
            if frames:
                return frames[0]
        return None

    def seek(self, seconds: float) -> bool:
        """Go to a time, or somewhat before; False if that is not known to be exact, and all must be decoded."""
        import av

        if not self._has_index or seconds <= 0:
            return False
        try:
            self._container.seek(round((seconds + self._zero) * 1e6))
        except (av.FFmpegError, ValueError, OverflowError):
            return False
        return True


def _opened(path: str, file: Any) -> Any:
    if find_spec("av") is None:
        raise OptionError(f"{path}: reading this format needs av, not installed here: {install_command('audio')}")
    import av

    try:
        return av.open(file, options=_OPTIONS, metadata_errors="ignore")
    except (av.FFmpegError, ValueError, OSError) as error:
        reason = (getattr(error, "strerror", None) or "not understood").rstrip(".")
        raise NoAudio(f"no audio that can be read ({reason})", file=path) from None


def _sound(path: str, container: Any) -> Any:
    """The stream of sound that players take."""
    stream = container.streams.best("audio")
    if stream is None and (container.streams.audio or not len(container.streams)):
        raise NoAudio("its sound cannot be decoded", file=path)
    if stream is None:
        kinds = ", ".join(sorted({str(other.type) for other in container.streams}))
        raise InputError(f"there is no sound in it ({kinds})", file=path, remedy="Name the file with the sound")
    return stream
