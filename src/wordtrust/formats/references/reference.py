"""What a reference is, and what its readers share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from ...base.errors import InputError
from ...lattices.graph import LATEST
from ..inputs import Stream
from .nist_text import Parts

UTF8_MARK = b"\xef\xbb\xbf"
NUMBER = re.compile(r"(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Segment:
    """What was said in a part of a recording, with alternatives."""

    start: float  # seconds
    end: float
    speaker: str  # to resample by; in a gap, the one who spoke before
    parts: Parts  # what may have been said
    is_scored: bool = True  # IGNORE_TIME_SEGMENT_IN_SCORING otherwise


@dataclass(frozen=True, slots=True)
class Reference:
    """What was said in one utterance, and what is known about it."""

    utt: str
    text: str  # as the file has it
    words: tuple[str, ...]  # normalised; the first of alternatives
    speaker: str | None = None
    split: str | None = None
    duration: float | None = None  # seconds
    accent: str | None = None
    segments: tuple[Segment, ...] = ()  # by their starts, where the file has them or there are alternatives
    channel: str | None = None  # of a recording in STM

    @property
    def speaker_or_utt(self) -> str:
        """What intervals and tests resample: the speaker, or the utterance where the speaker is not known."""
        return self.speaker or self.utt

    def in_segments(self) -> Reference:
        """The reference with what may have been said: a plain text is one segment without times."""
        if self.segments:
            return self
        return replace(self, segments=(Segment(0.0, LATEST, self.speaker_or_utt, list(self.text.split())),))


WordsOf = Callable[[str], tuple[str, ...]]  # the normalised words of a text
Line = tuple[int, Reference]  # with the number of the line that it begins on


def text_lines(stream: Stream) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not empty."""
    for line_number, raw in stream.lines():
        data = raw.removeprefix(UTF8_MARK) if line_number == 1 else raw
        if (line_number == 1 and data.startswith(_UTF16)) or b"\0" in data:
            found = "this is not UTF-8 text but UTF-16 or binary"
            raise line_error(stream, line_number, found, "Save the text as UTF-8")
        try:
            line = data.decode()
        except UnicodeDecodeError as error:
            found = f"byte 0x{data[error.start]:02x} at column {error.start + 1} is not UTF-8"
            remedy = "Convert the file from its encoding: iconv -f latin1 -t utf-8 (Chinese: -f gb18030)"
            raise line_error(stream, line_number, found, remedy) from None
        if line.strip():
            yield line_number, line


def line_error(stream: Stream, line: int, found: str, remedy: str, utt: str = "") -> InputError:
    """The error for a line of a file."""
    return stream.error(found, utt=utt, place=f"line {line}", remedy=remedy)


def seconds(text: str) -> float | None:
    """A time, or None for what is none."""
    if not NUMBER.fullmatch(text):
        return None
    time = float(text)
    return time if time <= LATEST else None
