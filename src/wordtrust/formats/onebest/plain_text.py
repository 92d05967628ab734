"""Plain text that people read, with or without times and speakers: what `wordtrust check` takes if nothing else fits.

    [0:03.2] I'll sit there.                        times at the beginning of a line
    [00:00.000 --> 00:05.000]  I'll sit there.      as Whisper prints them
    Speaker 1  0:03                                 a line with a speaker, a time or both is about those that follow
    Ann: I'll sit there.                            speakers (`cues`)

Any text is this format, so nothing is recognised as it: whoever wants it says so (`--format text`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.lattice import Lattices
from ..format import Format, ReadOptions, never
from ..inputs import Stream
from .cues import SECONDS, Cue, phrases, seconds
from .json_documents import decode_utf8
from .lattices import MAX_DOCUMENT, lattices
from .recognized import RecognizedTranscript

NAME = "text"
_LETTER = 0.08  # seconds: a line whose end is not known lasts as long as it takes to say it, at most
_STAMP = re.compile(
    rf"\s*(?:[\[(]\s*{SECONDS}(?:\s*(?:-->|-|\u2013)\s*{SECONDS})?\s*[\])]|{SECONDS}(?:\s*(?:-->|-|\u2013)\s*{SECONDS})?(?=\s|$))\s*"
)
_HEADER = re.compile(rf"\s*([^\W\d_][^:\[\]()]{{0,39}}?),?\s*[\[(]?\s*{SECONDS}\s*[\])]?\s*:?\s*")
_TABLE = "start\tend\ttext"  # Whisper's .tsv, in milliseconds


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The lattice of the recording that the file belongs to."""
    text = decode_utf8(stream.document(MAX_DOCUMENT))
    if "\0" in text:
        raise stream.error("this is no text: it has a zero byte", remedy="Give a transcript: wordtrust formats")
    lines = re.split(r"\r\n|\r|\n", text)
    try:
        is_table = lines[0].strip() == _TABLE
        transcript = RecognizedTranscript(stream.stem, phrases(_ended(list((_rows if is_table else _cues)(lines)))))
    except InputError as error:
        raise error.at(file=stream.name) from None
    yield from lattices([transcript], stream, options, problems, NAME)


def _cues(lines: Sequence[str]) -> Iterator[Cue]:
    start: float | None = None
    speaker: str | None = None
    for line in lines:
        if (header := _HEADER.fullmatch(line)) is not None:
            speaker, start = header[1].strip(), seconds(header, 2)
            continue
        stamp = _STAMP.match(line)
        if stamp is None:
            if line.strip():
                yield Cue(line.strip(), start, speaker=speaker)
                start = None
            continue
        first = 1 if stamp[2] is not None else 7
        start = seconds(stamp, first)
        end = None if stamp[first + 4] is None else max(start, seconds(stamp, first + 3))
        text = line[stamp.end() :].strip()
        if text:
            yield Cue(text, start, end, speaker)
            start = None


def _rows(lines: Sequence[str]) -> Iterator[Cue]:
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        start, end, text = [*line.split("\t", 2), "", ""][:3]
        if not (start.strip().isdecimal() and end.strip().isdecimal()) or len(start) + len(end) > 40:
            raise InputError(f"{line[:40]!r} has no times", place=f"line {number}", remedy="They are milliseconds")
        yield Cue(text.strip(), int(start) / 1000, max(int(start), int(end)) / 1000)


def _ended(cues: Sequence[Cue]) -> Iterator[Cue]:
    """Lines with a beginning and no end last until the next one at most."""
    for index, cue in enumerate(cues):
        if cue.start is None or cue.end is not None:
            yield cue
            continue
        after = next((later.start for later in cues[index + 1 : index + 2]), None)
        longest = cue.start + max(1.0, _LETTER * len(cue.text))
        yield cue._replace(end=longest if after is None else max(cue.start, min(longest, after)))


FORMAT = Format(NAME, "plain text", (), never, read)
