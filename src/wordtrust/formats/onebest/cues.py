"""Cues of subtitles and lines of transcripts that people read: times, speakers, marks; what SRT, VTT and text share.

A cue becomes a phrase, one for each speaker in it, whose words share its time by letters. `NAME:` at the beginning
of a line is the speaker, where the name says so itself (`Speaker 2`, `AGENT`), comes again, or most lines begin with
one. What stands in brackets (`[dramatic music]`), or a whole line in parentheses, was not said and is no word.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise, zip_longest
from typing import NamedTuple

from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.assemble import MAX_ARCS
from ...lattices.lattice import Lattices
from ..format import Format, ReadOptions
from ..inputs import Stream
from .json_documents import decode_utf8
from .lattices import MAX_DOCUMENT, lattices
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord, plain_words

SECONDS = r"(?:(\d{1,12}):)?(\d{1,12}):(\d{2}(?:[.,]\d{1,9})?)"  # a time: 1:02:03.4, 02:03
_LABEL = re.compile(r"(?:>>+ ?|[-\u2013\u2014] ?)?([^\W\d_][^:\[\]<>]{0,39}):(?=\s|$)\s*")
_TURN = re.compile(r"(?:>>+|[-\u2013\u2014])\s+")
_SAYS_SO = re.compile(
    r"(?:speaker|spk|voice|agent|caller|customer|client|host|guest|interviewer|interviewee|doctor|patient|moderator"
    r"|operator|participant|sprecher|locuteur|hablante)(?:[ _-]?\w{1,12})?",
    re.IGNORECASE,
)
_UNSAID = re.compile(r"\[[^\[\]]{0,200}\]|<[^<>]{0,200}>|[♪♫#]+")
_LINE_IN_PARENTHESES = re.compile(r"\([^()]{0,200}\)")
_MOST_LABEL_WORDS = 4


class Cue(NamedTuple):
    """A text with the time of its beginning and of its end, where they are known."""

    text: str
    start: float | None = None
    end: float | None = None
    speaker: str | None = None
    words: Sequence[RecognizedWord] = ()  # where they have times of their own; else those of the text
    shown: tuple[float, float] | None = None  # as a subtitle, whatever its words share of that time


def subtitle_format(
    name: str, title: str, sniff: Callable[[bytes, str], float], cues: Callable[[str], Iterable[Cue]]
) -> Format:
    """A format of subtitles; `cues` finds them in the text of a file."""

    def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
        text = decode_utf8(stream.document(MAX_DOCUMENT))
        try:
            transcript = RecognizedTranscript(stream.stem, phrases(map(_as_shown, cues(text))))
        except InputError as error:
            raise error.at(file=stream.name) from None
        yield from lattices([transcript], stream, options, problems, name)

    return Format(name, title, (f".{name}",), sniff, read)


def _as_shown(cue: Cue) -> Cue:
    return cue if cue.start is None or cue.end is None else cue._replace(shown=(cue.start, cue.end))


def seconds(match: re.Match[str], first: int = 1) -> float:
    """The time in three groups of a match of SECONDS."""
    hours, minutes, rest = match[first] or "0", match[first + 1], match[first + 2]
    return 3600.0 * int(hours) + 60.0 * int(minutes) + float(rest.replace(",", "."))


def phrases(cues: Iterable[Cue]) -> list[RecognizedPhrase]:
    """A phrase for each cue or speaker in it that has words, one after the other in time."""
    listed = list(cues)
    labels = _speaker_labels(line for cue in listed if cue.speaker is None for line in cue.text.splitlines())
    turns = [turn for cue in _by_time(listed) for turn in _turns(cue, labels)]
    made, words = list[RecognizedPhrase](), 0
    for turn in _one_after_the_other(turns):
        spoken = turn.words or plain_words(turn.text)
        words += len(spoken)
        if words > MAX_ARCS:
            raise InputError(f"more than {MAX_ARCS:,} words", remedy="Split the file: no recording has as many")
        made.append(RecognizedPhrase(spoken, turn.start, turn.end, speaker=turn.speaker, shown=turn.shown))
    return made


def _by_time(cues: Sequence[Cue]) -> Sequence[Cue]:
    """Players show cues by their time, whatever their order in the file is; those without stay where they are."""
    known = [cue.start for cue in cues if cue.start is not None]
    return sorted(cues, key=lambda cue: cue.start or 0.0) if len(known) == len(cues) else cues


def _turns(cue: Cue, labels: frozenset[str]) -> Iterator[Cue]:
    """What each speaker says in a cue, without what nobody said."""
    if cue.words:
        yield cue
        return
    speaker, spoken = cue.speaker, list[str]()
    for line in cue.text.splitlines():
        label = _LABEL.match(line) if cue.speaker is None else None
        if label is not None and label[1].strip() in labels:
            yield from _turn(cue, speaker, spoken)
            speaker, spoken = label[1].strip(), []
            line = line[label.end() :]  # noqa: PLW2901  # without the speaker
        spoken.append(said(line))
    yield from _turn(cue, speaker, spoken)


def _turn(cue: Cue, speaker: str | None, lines: Sequence[str]) -> Iterator[Cue]:
    text = " ".join(filter(None, lines))
    if text:
        yield cue._replace(text=text, speaker=speaker)


def _one_after_the_other(turns: Sequence[Cue]) -> Iterator[Cue]:
    """Turns that begin at the same time share it by letters; one that lasts into the next ends where that begins."""
    groups = [list(group) for _, group in groupby(turns, lambda turn: turn.start)]
    for group, after in zip_longest(groups, groups[1:]):
        start, ends = group[0].start, [turn.end for turn in group if turn.end is not None]
        if start is None or not ends:
            yield from group
            continue
        next_start = after[0].start if after else None
        end = max(ends) if next_start is None else max(start, min(max(ends), next_start))
        letters = [0, *accumulate(len(turn.text) for turn in group)]
        for turn, (before, so_far) in zip(group, pairwise(letters), strict=True):
            begin, finish = (start + (end - start) * share / max(letters[-1], 1) for share in (before, so_far))
            yield turn._replace(start=begin, end=finish)


def said(line: str) -> str:
    """A line without what nobody said: descriptions of sounds, notes, a dash that begins a turn."""
    line = _UNSAID.sub(" ", line).strip()
    line = _TURN.sub("", line, count=1) if _TURN.match(line) else line
    return "" if _LINE_IN_PARENTHESES.fullmatch(line) else line


def _speaker_labels(lines: Iterable[str]) -> frozenset[str]:
    """What stands before a colon at the beginning of lines, and is the name of a speaker.

    Names are those that say so, that are in capitals or come again; all, where most lines begin with one.
    """
    total, counts = 0, Counter[str]()
    for line in lines:
        total += bool(line.strip())
        if (match := _LABEL.match(line)) is not None:
            counts[match[1].strip()] += 1
    are_usual = 2 * sum(count for name, count in counts.items() if _is_name(name)) > total > 1
    return frozenset(
        name
        for name, count in counts.items()
        if _SAYS_SO.fullmatch(name) or ((are_usual or count > 1 or name.isupper()) and _is_name(name))
    )


def _is_name(label: str) -> bool:
    """Whether it could name somebody: few words, each with a capital."""
    words = label.split()
    return len(words) <= _MOST_LABEL_WORDS and all(word[:1].isupper() or not word[:1].isalpha() for word in words)


def blocks(lines: Iterable[str]) -> Iterator[list[str]]:
    """Lines between empty ones."""
    block: list[str] = []
    for line in lines:
        if line:
            block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block
