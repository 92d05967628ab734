"""SubRip (.srt): numbered cues with the time from when to when they are shown; tags of style are taken off.

1
00:00:01,200 --> 00:00:03,000
- <i>Who is it?</i>
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from ...base.errors import InputError
from .cues import SECONDS, Cue, seconds, subtitle_format

NAME = "srt"
_TIMES = re.compile(rf"\s*{SECONDS}\s*-->\s*{SECONDS}(?:\s.*)?")
_BEGINS = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:\d{1,9}[ \t]*+\r?\n)?[ \t]*+(?:\d{1,12}:)?\d{1,12}:\d\d[,.]\d{1,9} ?-->"
)
_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|\{\\[^{}]{0,200}\}|\{/?[a-zA-Z](?::[^{}]{0,100})?\}")
_REMEDY = "Lines of times are 00:00:01,200 --> 00:00:03,000"


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the content says enough
    """The first cue has a line of times."""
    return 1.0 if _BEGINS.match(head) else 0.0


def _cues(text: str) -> Iterator[Cue]:
    """Lines of times begin cues, whether there are empty lines before them or not."""
    shown, lines = None, list[str]()
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1):
        if "-->" not in line:
            lines.append(line)
            continue
        match = _TIMES.fullmatch(line)
        if match is None:
            raise InputError(f"{line[:60]!r} is no line of times", place=f"line {number}", remedy=_REMEDY)
        if shown is not None:
            yield _cue(lines[:-1] if lines and lines[-1].strip().isdecimal() else lines, *shown)
        shown, lines = (seconds(match, 1), seconds(match, 4)), []
    if shown is not None:
        yield _cue(lines, *shown)


def _cue(lines: list[str], start: float, end: float) -> Cue:
    text = unescape(_TAGS.sub("", "\n".join(lines).replace("\\N", "\n")))
    return Cue(text.strip(), start, max(start, end))


FORMAT = subtitle_format(NAME, "SubRip subtitles", sniff, _cues)
