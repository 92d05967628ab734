"""How words become subtitles, by the habits of those who make them.

A cue has two lines of 42 letters at most, lasts from one second to seven, is cut where sentences and clauses end or
where people pause, and stays as long as it takes to be read where nobody speaks right after it. Lines are about as
long as each other. Of all ways to cut a segment, the one that costs least is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

from ..base.visible_text import visible
from .words import Word, spelled

LINE, LINES = 42, 2  # letters of a line; lines of a cue
SHORTEST, LONGEST = 1.0, 7.0  # seconds of a cue
READ = 20.0  # letters a second that people read
_PAUSE = 1.0  # seconds: a longer pause ends a cue
_APART = 0.083  # seconds between a cue that stays on and the next: two pictures of a film
_SENTENCE, _CLAUSE = ".?!\u2026", ",;:\u2013\u2014"
_CLOSING = "\"'\u201d\u2019\xbb)]"
_CUE_COST, _BREAK_COST, _CLAUSE_COST, _INNER_COST, _SHORT_COST, _FAST_COST = 1.0, 4.0, 1.0, 0.7, 4.0, 0.1

SpelledWord = tuple[Word, str, str]  # a word, its spelling, the space after it


@dataclass(frozen=True, slots=True)
class Cue:
    """What is shown at once."""

    start: int  # milliseconds
    end: int
    lines: tuple[tuple[SpelledWord, ...], ...]
    voice: str = ""  # who says it, where that is known
    begins: bool = False  # whether it is the first of its segment
    is_kept: bool = False  # whether it is a cue of subtitles that were read, with its times

    @property
    def letters(self) -> int:
        """What there is to read."""
        return sum(len(_shown(line)) for line in self.lines)


@dataclass(frozen=True, slots=True)
class _Token:
    """Words that are written without a space between them: `Middle-` and `earth.`"""

    words: tuple[SpelledWord, ...]
    letters: int
    start: float  # seconds
    end: float
    ends_sentence: bool
    ends_clause: bool

    @classmethod
    def of(cls, words: Sequence[SpelledWord]) -> _Token:
        shown = _shown(words)
        text, end = shown.rstrip(_CLOSING), max(word.end for word, _, _ in words)
        marks = text.endswith(tuple(_SENTENCE)), text.endswith(tuple(_CLAUSE))
        return cls(tuple(words), len(shown), words[0][0].start, end, *marks)


def cues(words: Sequence[Word], label: str = "") -> Iterator[Cue]:
    """The cues of a segment; `label` is read before the first and takes room in it."""
    for run in _runs(_tokens(words)):
        for first, last in pairwise(_cuts(run, len(label))):
            yield _cue(run[first:last], len(label))
            label = ""


def kept_cue(words: Sequence[Word], shown: tuple[float, float], label: str = "") -> Cue:
    """A cue of subtitles that were read: all its words, for as long as it was shown."""
    start, end = map(_milliseconds, shown)
    return replace(_cue(list(_tokens(words)), len(label)), start=start, end=max(start + 1, end), is_kept=True)


def stay_on(coming: Iterable[Cue]) -> Iterator[Cue]:
    """The cues of a recording, in the order of time, each for as long as it takes to be read, if there is room."""
    shown = list(coming)
    following = [*(cue.start for cue in shown[1:]), inf]
    for cue, after in zip(shown, following, strict=False):
        if cue.is_kept:
            yield cue
            continue
        needed = min(max(SHORTEST, cue.letters / READ), LONGEST)
        until = cue.start + round(1000 * needed)
        yield replace(cue, end=max(cue.end, int(min(until, after - 1000 * _APART))))


def _shown(words: Iterable[SpelledWord]) -> str:
    return "".join(_line(written) + space for _, written, space in words).strip()


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def _tokens(words: Sequence[Word]) -> Iterator[_Token]:
    waiting: list[SpelledWord] = []
    for word, (written, space) in zip(words, spelled(words), strict=True):
        waiting.append((word, written, space))
        if space:
            yield _Token.of(waiting)
            waiting = []
    if waiting:
        yield _Token.of(waiting)


def _runs(tokens: Iterable[_Token]) -> Iterator[list[_Token]]:
    """What is said between long pauses."""
    run: list[_Token] = []
    for token in tokens:
        if run and token.start - run[-1].end > _PAUSE:
            yield run
            run = []
        run.append(token)
    if run:
        yield run


def _cuts(run: Sequence[_Token], label: int) -> list[int]:
    """Where cues begin, and the end of the last: the way that costs least."""
    best, back = [0.0, *([inf] * len(run))], [0] * (len(run) + 1)
    for last in range(1, len(run) + 1):
        for first in range(last - 1, -1, -1):
            room = label if first == 0 else 0
            if first < last - 1 and not _fits(run[first:last], room):
                break
            cost = best[first] + _cost(run, first, last)
            if cost < best[last]:
                best[last], back[last] = cost, first
    cuts = [len(run)]
    while cuts[-1]:
        cuts.append(back[cuts[-1]])
    return cuts[::-1]


def _fits(tokens: Sequence[_Token], label: int) -> bool:
    """Whether tokens can be one cue: short enough to be shown, and to be read."""
    if tokens[-1].end - tokens[0].start > LONGEST or _letters(tokens) + label > LINES * (LINE + 1):
        return False
    return _split(tokens, label) is not None


def _letters(tokens: Sequence[_Token]) -> int:
    return sum(token.letters for token in tokens) + len(tokens) - 1


def _cost(run: Sequence[_Token], first: int, last: int) -> float:
    tokens, end = run[first:last], run[last - 1]
    seconds = max(end.end - tokens[0].start, 0.001)
    too_fast = max(0.0, _letters(tokens) / seconds - READ)
    cost = _CUE_COST + _SHORT_COST * max(0.0, SHORTEST - seconds) + _FAST_COST * too_fast
    cost += _INNER_COST * sum(token.ends_sentence for token in tokens[:-1])
    if last < len(run) and not end.ends_sentence:
        pause = min(1.0, max(0.0, run[last].start - end.end))
        cost += (_CLAUSE_COST if end.ends_clause else _BREAK_COST) * (1 - pause)
    return cost


def _split(tokens: Sequence[_Token], label: int) -> int | None:
    """After how many tokens the second line begins, all of them if one is enough; None if two are not.

    Lines are about as long as each other, the second rather than the first; a clause may end the first.
    """
    total = label + _letters(tokens)
    if total <= LINE or len(tokens) == 1:
        return len(tokens)
    found, least, first = None, inf, label - 1
    for count, token in enumerate(tokens[:-1], start=1):
        first += token.letters + 1
        second = total - first - 1
        if first > LINE or second > LINE:
            continue
        bonus = 12 if token.ends_sentence else 8 if token.ends_clause else 0
        cost = abs(second - first) + (2 if first > second else 0) - bonus
        if cost < least:
            found, least = count, cost
    return found


def _cue(tokens: Sequence[_Token], label: int) -> Cue:
    count = _split(tokens, label) or len(tokens)
    parts = (tokens[:count], tokens[count:])
    lines = tuple(tuple(word for token in part for word in token.words) for part in parts if part)
    start = _milliseconds(tokens[0].start)
    return Cue(start, max(start + 1, *(_milliseconds(token.end) for token in tokens)), lines)


def _milliseconds(seconds: float) -> int:
    return max(0, round(seconds * 1000))
