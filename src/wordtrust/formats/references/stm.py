"""STM, NIST's segment time marks: `file channel speaker start end [<label>] text`, comments after `;;`.

The segments of a file and channel are one reference, in the order of their starts. It is called FILE, or
FILE-CHANNEL where the file has several channels. Texts are in NIST's notation (formats/nist_text.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from ...lattices.text import UNKNOWN_MARKS
from ..inputs import Stream
from .nist_text import HESITATION, Parts, first_words
from .reference import NUMBER, Line, Reference, Segment, WordsOf, line_error, seconds, text_lines

PartsOf = Callable[[str], Parts]

_LABEL = re.compile(r"<[^<>\s]*>")
_IGNORED = re.compile(r"ignore_?time_?segment_?in_?scoring", re.IGNORECASE)
_NO_SPEAKERS = frozenset({"inter_segment_gap", "excluded_region"})


@dataclass(slots=True)
class _Recording:
    """The segments of a file and channel."""

    line: int
    file: str
    channel: str
    segments: list[Segment] = field(default_factory=list)


def is_stm(line: str) -> bool:
    """Whether a line may be one of STM."""
    if line.lstrip().startswith(";;"):
        return True
    fields = line.split(None, 5)
    return len(fields) >= 5 and all(NUMBER.fullmatch(time) for time in fields[3:5])


def read_stm(stream: Stream, words_of: WordsOf, parts_of: PartsOf) -> Iterator[Line]:
    """The references of a file."""
    recordings: dict[tuple[str, str], _Recording] = {}
    for line_number, line in text_lines(stream):
        if not line.lstrip().startswith(";;"):
            _add_segment(stream, line_number, line, recordings, parts_of)
    channels = Counter(file for file, _ in recordings)
    for (file, _), recording in recordings.items():
        yield recording.line, _reference(recording, words_of, is_only=channels[file] == 1)


def _reference(recording: _Recording, words_of: WordsOf, *, is_only: bool) -> Reference:
    segments = sorted(recording.segments, key=lambda segment: segment.start)
    text = " ".join(word for segment in segments if segment.is_scored for word in plain_words(segment.parts))
    speakers = {segment.speaker for segment in segments if segment.speaker.lower() not in _NO_SPEAKERS}
    utt = recording.file if is_only else f"{recording.file}-{recording.channel}"
    return Reference(
        utt=utt,
        text=text,
        words=words_of(text),
        speaker=next(iter(speakers)) if len(speakers) == 1 else None,
        duration=max(segment.end for segment in segments),
        segments=tuple(_with_speakers(segments, utt)),
        channel=recording.channel,
    )


def plain_words(parts: Parts) -> list[str]:
    """The first of all alternatives, without optional words and hesitations."""
    return [word for word in first_words(parts) if not HESITATION.match(word)]


def _with_speakers(segments: list[Segment], utt: str) -> Iterator[Segment]:
    """Gaps belong to whoever spoke before, or speaks first."""
    known = (segment.speaker for segment in segments if segment.speaker.lower() not in _NO_SPEAKERS)
    speaker = next(known, utt)
    for segment in segments:
        if segment.speaker.lower() not in _NO_SPEAKERS:
            speaker = segment.speaker
        yield replace(segment, speaker=speaker)


def _add_segment(
    stream: Stream,
    line_number: int,
    line: str,
    recordings: dict[tuple[str, str], _Recording],
    parts_of: PartsOf,
) -> None:
    file, channel, speaker, *times, text = [*line.split(None, 5), "", "", "", "", "", ""][:6]
    start, end = (seconds(time) for time in times)
    if start is None or end is None or end < start:
        found = f"the times of this segment are {times[0]!r} and {times[1]!r}"
        remedy = "An STM line is: file channel speaker start end [<label>] text, with times in seconds"
        raise line_error(stream, line_number, found, remedy, utt=file)
    key = file.casefold(), channel.casefold()
    recording = recordings.setdefault(key, _Recording(line_number, file, channel))
    label = _LABEL.match(text)
    if label and label[0].lower() not in UNKNOWN_MARKS:
        text = text[label.end() :]
    is_scored = _IGNORED.search(text) is None
    try:
        parts = parts_of(text) if is_scored else []
    except ValueError as error:
        raise line_error(stream, line_number, str(error), "Alternatives are written { a / b }", utt=file) from None
    recording.segments.append(Segment(start, end, speaker, parts, is_scored))
