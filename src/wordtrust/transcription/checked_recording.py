"""A transcript judged by what listeners heard in the recording: words with confidences, and where it may be wrong.

The recording is cut into stretches (`text_to_audio`): segments that listeners heard, and pauses in which the
transcript has words all the same. A hundred stretches at a time become chains of the transcript's words and networks
of the listeners' (`combination.check`), so that hours take little memory; the verdict is on all of them together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..combination.check import CheckedWords, CheckModel, ForcedWords, Listener, joined
from ..lattices.lattice import Lattices
from ..lattices.paths import one_best
from ..transcripts.transcript import Transcript, Transcripts
from ..transcripts.words import LeftOut, Word
from .text_to_audio import Clock, LocatedWords, TimedWords, locate
from .written_text import WrittenText, chains

AT_ONCE = 100  # stretches
_PASSAGE = 10  # words in a row that another transcript has nothing of: it does not cover them
_LONGEST, _SHORTEST, _PAUSE = 40, 8, 0.3  # words of a stretch of a transcript; seconds that end one


class Stretch(NamedTuple):
    """A part of a recording, numbered as `LocatedWords` does it: segments have odd numbers, pauses even ones."""

    number: int
    start: float  # seconds
    end: float

    @property
    def segment(self) -> int | None:
        """Which segment it is, None for a pause."""
        return self.number // 2 if self.number % 2 else None


# What listeners heard in some stretches, and how probable they find its words, by their names.
Evidence = tuple[list[Listener], Mapping[str, ForcedWords]]


@dataclass(frozen=True, slots=True, eq=False)
class LocatedText:
    """A transcript in its recording: where its words are, and the stretches with words of it or of a listener."""

    text: WrittenText
    located: LocatedWords
    stretches: tuple[Stretch, ...]

    def words_in(self, stretch: Stretch) -> slice:
        """Which of its words are in a stretch."""
        first, last = np.searchsorted(self.located.stretch, [stretch.number, stretch.number + 1]).tolist()
        return slice(first, last)

    def parts(self) -> Iterator[tuple[Stretch, ...]]:
        """The stretches, some at a time."""
        for first in range(0, len(self.stretches), AT_ONCE):
            yield self.stretches[first : first + AT_ONCE]


def heard_clock(lattices: Sequence[Lattices], bounds: Sequence[tuple[float, float]]) -> Clock:
    """The words that a recognizer printed for each segment, whose start and end are `bounds`."""
    words, owner, times = list[str](), list[int](), list[tuple[float, float]]()
    for segment, (lattice, (begin, _)) in enumerate(zip(lattices, bounds, strict=True)):
        arcs = one_best(lattice).without_silence(lattice).arcs_in(lattice)
        words += lattice.vocabulary.lookup(lattice.word[arcs].tolist())
        owner += [segment] * len(arcs)
        times += zip(
            (begin + lattice.start_time[arcs]).tolist(), (begin + lattice.end_time[arcs]).tolist(), strict=True
        )
    said = np.array(times, np.float64).reshape(-1, 2)
    edges = np.array(bounds, np.float64).reshape(-1, 2)
    timed = TimedWords(tuple(words), said[:, 0], said[:, 1])
    return Clock(timed, np.array(owner, np.int64), edges[:, 0], edges[:, 1])


def written_clock(text: WrittenText) -> Clock:
    """The clock of a transcript without audio: its own words, in stretches that end where it pauses."""
    words = text.timed()
    owner, count = np.zeros(len(words), np.int64), 0
    for word in range(1, len(words)):
        count += 1
        pauses = words.start[word] - words.end[word - 1] >= _PAUSE
        is_cut = count >= _LONGEST or (count >= _SHORTEST and pauses)
        owner[word] = owner[word - 1] + is_cut
        count = 0 if is_cut else count
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    start = np.append(0.0, words.start[first[1:]]) if len(first) else np.zeros(0)
    end = np.append(start[1:], words.end[-1:]) if len(first) else np.zeros(0)
    return Clock(words, owner, start, np.maximum(start, end))


def locate_text(text: WrittenText, clocks: Sequence[Clock], duration: float) -> LocatedText:
    """The transcript by the clock in which most of its words are found."""
    words = text.timed()
    located = max((locate(words, clock) for clock in clocks), key=lambda each: each.found)
    bounds = np.stack([clocks[0].start, clocks[0].end], 1).ravel()
    end = max(duration, float(bounds[-1]) if len(bounds) else 0.0, float(located.end.max(initial=0.0)))
    edges = [0.0, *bounds.tolist(), end]
    used = sorted({*range(1, len(edges) - 1, 2), *located.stretch.tolist()})
    stretches = (Stretch(number, edges[number], max(edges[number], edges[number + 1])) for number in used)
    return LocatedText(text, located, tuple(stretches))


def other_listener(
    text: WrittenText, located: LocatedWords, stretches: Sequence[Stretch], lacking: frozenset[int] = frozenset()
) -> Listener:
    """Another transcript of the same recording as a listener, and the numbers of the stretches that it lacks."""
    made = chains(text, located, stretches)
    covers = np.array([stretch.number not in lacking for stretch in stretches], np.bool_)
    return Listener(text.file, made, made.posterior, covers=None if covers.all() else covers)


def lacking_stretches(pivot: LocatedText, other: LocatedWords) -> frozenset[int]:
    """The stretches of passages that another transcript has nothing of: their numbers.

    A passage has some words in a row at least. Where fewer are missing, it heard nothing there.
    """
    has = np.isin([stretch.number for stretch in pivot.stretches], other.stretch)
    passage, words, lacking = list[int](), 0, set[int]()
    for stretch, is_there in (*zip(pivot.stretches, has.tolist(), strict=True), (None, True)):
        if stretch is not None and not is_there:
            passage.append(stretch.number)
            words += pivot.words_in(stretch).stop - pivot.words_in(stretch).start
            continue
        lacking |= set(passage) if words >= _PASSAGE else set()
        passage, words = [], 0
    return frozenset(lacking)


def judge(
    pivot: LocatedText, model: CheckModel, evidence: Callable[[Sequence[Stretch]], Evidence], *, by_recognizer: bool
) -> CheckedWords:
    """The verdict on all words; `evidence` is asked for some stretches at a time."""
    gathered = []
    for part in pivot.parts():
        listeners, forced = evidence(part)
        gathered.append(model.gather(chains(pivot.text, pivot.located, part), listeners, forced))
    return model.verdict(joined(gathered), calibrated=pivot.text.is_calibrated, by_recognizer=by_recognizer)


def checked_transcript(pivot: LocatedText, checked: CheckedWords, name: str) -> Transcripts:
    """The transcript as it is written, with the verdict on its words, in its own segments."""
    words, missing_end = checked_words(pivot, checked, pivot.text.transcript().words)
    return pivot.text.cut(Transcript(name, tuple(words), (), None, missing_end))


def checked_words(
    pivot: LocatedText, checked: CheckedWords, written: Sequence[Word], first: int = 0, missing: float = 0.0
) -> tuple[list[Word], float]:
    """The written words from `first` on that were judged; how likely words are missing after the last of them.

    `missing` is how likely that is before them, by what was judged earlier.
    """
    located, count = pivot.located, len(checked.confidence)
    before, missing_end = _missing(checked, missing)
    judged = written[first : first + count]
    times = [(word.start, word.end) for word in judged]
    if not pivot.text.is_timed:
        part = slice(first, first + count)
        times = list(zip(located.start[part].tolist(), located.end[part].tolist(), strict=True))
    words = [
        _checked_word(word, checked, index, start, end, before[index])
        for index, (word, (start, end)) in enumerate(zip(judged, times, strict=True))
    ]
    return words, missing_end


def _checked_word(word: Word, checked: CheckedWords, index: int, start: float, end: float, missing: float) -> Word:
    heard = float(checked.heard[index])
    return replace(
        word, start=start, end=end, confidence=float(checked.confidence[index]), missing_before=missing,
        alternatives=checked.alternatives[index], heard=None if math.isnan(heard) else heard,
        made_up=checked.made_up[index] or None,
    )  # fmt: skip


def _missing(checked: CheckedWords, waiting: float = 0.0) -> tuple[list[float], float]:
    """How likely words are missing before each word, and after the last: the ends of stretches included."""
    missing = checked.missing_before.tolist()
    for stretch, after in enumerate(checked.missing_end.tolist()):
        first, last = int(checked.offsets[stretch]), int(checked.offsets[stretch + 1])
        if last > first:
            missing[first] = max(missing[first], waiting)
            waiting = after
        else:
            waiting = max(waiting, after)
    return missing, waiting


def unwritten(pivot: LocatedText, heard: Callable[[int], str]) -> tuple[LeftOut, ...]:
    """The segments that the transcript has no words of, and what was heard there."""
    found = []
    for stretch in pivot.stretches:
        words = pivot.words_in(stretch)
        if stretch.segment is not None and words.start == words.stop and (said := heard(stretch.segment)):
            found.append(LeftOut(stretch.start, stretch.end, f"not in the transcript, but heard: {said}"))
    return tuple(found)
