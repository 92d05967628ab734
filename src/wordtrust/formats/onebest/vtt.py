"""WebVTT (.vtt): cues with times, voices (`<v Ann>`) and, as some services write them, times within a cue.

Comments, styles and regions are passed over. Captions that roll (those that YouTube makes) repeat the line before in
every cue, and have times of words: what is repeated is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape

from ...base.errors import InputError
from .cues import SECONDS, Cue, blocks, said, seconds, subtitle_format
from .recognized import RecognizedWord

NAME = "vtt"
_TIMES = re.compile(rf"\s*{SECONDS}\s*-->\s*{SECONDS}(?:\s.*)?")
_TAG = re.compile(r"<([^<>]{0,300})>")
_CLOCK = re.compile(SECONDS)
_VOICE = re.compile(r"v(?:\.[^\s<>]{0,100})?[ \t]+(.{1,200})")
_COMMENT = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_REMEDY = "Lines of times are 00:01.200 --> 00:03.000"


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the content says enough
    """It says so itself."""
    first = head.removeprefix(b"\xef\xbb\xbf")
    return 1.0 if first.startswith(b"WEBVTT") and first[6:7] in (b"", b" ", b"\t", b"\r", b"\n") else 0.0


def _cues(text: str) -> Iterator[Cue]:
    is_rolling, before = re.search(r"<\d\d:\d\d:\d\d\.\d\d\d><c>", text) is not None, ""
    for block in blocks(re.split(r"\r\n|\r|\n", text)):
        if _COMMENT.match(block[0]) or block[0].startswith("WEBVTT"):
            continue
        row = next((index for index, line in enumerate(block[:2]) if "-->" in line), None)
        if row is None:
            continue  # a cue without times is not shown
        times = _TIMES.fullmatch(block[row])
        if times is None:
            raise InputError(f"{block[row][:60]!r} is no line of times", remedy=_REMEDY)
        lines = block[row + 1 :]
        if is_rolling:
            lines = [line for line in lines if line.strip() not in ("", before)]
            before = _TAG.sub("", lines[-1]).strip() if lines else before
        start = seconds(times, 1)
        yield from _voices("\n".join(lines), start, max(start, seconds(times, 4)))


def _voices(text: str, start: float, end: float) -> Iterator[Cue]:
    """What each voice of a cue says."""
    speaker: str | None = None
    parts, now = list[tuple[str, float | None]](), None  # texts, with the time from which on they are said
    at = 0
    for tag in (*_TAG.finditer(text), None):
        parts.append((unescape(text[at : tag.start() if tag else len(text)]), now))
        if tag is None:
            break
        at = tag.end()
        if (clock := _CLOCK.fullmatch(tag[1])) is not None:
            now = seconds(clock)
        elif (voice := _VOICE.fullmatch(tag[1])) is not None:
            yield from _said(parts, speaker, start, end)
            speaker, parts = " ".join(unescape(voice[1]).split()) or None, []
    yield from _said(parts, speaker, start, end)


def _said(parts: Sequence[tuple[str, float | None]], speaker: str | None, start: float, end: float) -> Iterator[Cue]:
    text = "".join(part for part, _ in parts)
    if not text.strip():
        return
    if all(time is None for _, time in parts):
        yield Cue(text.strip(), start, end, speaker)
        return
    words = [
        RecognizedWord(word, time if index == 0 else None)
        for part, time in parts
        for index, word in enumerate(said(part).split())
    ]
    yield Cue(text.strip(), start, end, speaker, words)


FORMAT = subtitle_format(NAME, "WebVTT subtitles", sniff, _cues)
