"""From words with times, or without, to the nodes and arcs of a lattice (DESIGN, section 2).

`chains` makes a lattice out of the word times of an N-best list, `chain` out of those of a single hypothesis;
`spread` is the part of them that gives time to words that have none; `aligned_times` makes times up where a
recognizer gives none.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rapidfuzz.distance import Levenshtein

from ..base.errors import InputError
from ..lattices.lattice import Ints, Offsets, Times
from . import timing_kernels as kernels

GAP = kernels.GAP  # a longer pause between words is a silence arc, a shorter one a single node
MAX_ALIGNED = 4 * 10**9  # pairs of words that are compared for an utterance: seconds, not hours


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """Hypotheses as chains of arcs between a shared start (node 0) and a shared end (node 1)."""

    time: Times  # [nodes] seconds
    source: Ints  # [arcs] node numbers
    target: Ints
    word: Ints  # [arcs] which word of `start` and `end` the arc says, -1 for silence
    offsets: Offsets  # [hypotheses + 1] hypothesis h has the arcs offsets[h] to offsets[h + 1]
    spread_words: int  # how many words had to take time from their neighbours
    start: int = 0
    end: int = 1

    def on_arcs(self, values: ArrayLike, silence: float = 0.0) -> NDArray[np.float32]:
        """One value a word as one value an arc; silence arcs have the value `silence`."""
        padded = np.append(np.asarray(values, np.float32), np.float32(silence))
        return padded[self.word]  # word -1 is the last

    def tokens(self, words: Sequence[str]) -> list[str]:
        """The token of every arc, given that of every word; silence is the empty one."""
        padded = [*words, ""]
        return [padded[number] for number in self.word.tolist()]


def chain(start: ArrayLike, end: ArrayLike, *, begin: float = 0.0, finish: float | None = None) -> Chains:
    """The chain of one hypothesis, from `begin` to `finish` (the audio's duration) or its last word, if later.

    Pauses over 100 ms, leading and trailing ones too, become silence arcs; a shorter one becomes one node at its
    middle. Words without length are spread. No words at all give one silence arc.
    """
    starts, ends = np.asarray(start, np.float64), np.asarray(end, np.float64)
    return chains(np.array([0, len(starts)], np.int64), starts, ends, begin=begin, finish=finish)


def chains(offsets: Offsets, start: Times, end: Times, *, begin: float = 0.0, finish: float | None = None) -> Chains:
    """The chains of several hypotheses: hypothesis h has the words offsets[h] to offsets[h + 1].

    The shared end is `finish` or the latest word's end over all of them, if that is later.
    """
    timed = _spread_one(offsets, start, end, begin, finish)
    made = link(timed, np.array([begin if finish is None else finish]), begin=begin)
    return Chains(made.time, made.source, made.target, made.word, made.offsets, int(timed.changed[0]))


@dataclass(frozen=True, slots=True, eq=False)
class TimedWords:
    """Word times of many utterances after spreading."""

    groups: Offsets  # [utterances + 1] utterance u has the hypotheses groups[u] to groups[u + 1]
    offsets: Offsets  # [hypotheses + 1] hypothesis h has the words offsets[h] to offsets[h + 1]
    start: Times
    end: Times
    changed: Ints  # [utterances] how many words had no length
    errors: dict[int, InputError]  # of utterances whose times cannot be used


@dataclass(frozen=True, slots=True, eq=False)
class ChainBatch:
    """`Chains` of many utterances end to end; `source` and `target` count from each utterance's first node."""

    node_offsets: Offsets  # [utterances + 1]
    arc_offsets: Offsets
    time: Times
    source: Ints
    target: Ints
    word: Ints  # [arcs] counted over all utterances; -1 for silence
    offsets: Offsets  # [hypotheses + 1] the arcs of each hypothesis


def spread_all(
    groups: Offsets,
    offsets: Offsets,
    start: Times,
    end: Times,
    finish: Times,
    *,
    begin: float = 0.0,
    name: Callable[[int], str] | None = None,
) -> TimedWords:
    """`spread` for all hypotheses of many utterances; `finish` has the end of each utterance's audio, or -inf.

    `name` says what an error calls a word, given its number; otherwise it is counted.
    """
    starts, ends = start.copy(), end.copy()
    count = len(groups) - 1
    changed, status, about = np.zeros(count, np.int32), np.zeros(count, np.int32), np.zeros(count, np.int64)
    kernels.spread_all(groups, offsets, starts, ends, begin, finish, changed, status, about)
    errors = {}
    for utterance in np.flatnonzero(status).tolist():
        word = int(about[utterance])
        called = name(word) if name else _counted(word, offsets[groups[utterance] : groups[utterance + 1] + 1])
        before = begin if word in offsets else start[word - 1]  # the first of a hypothesis has none before it
        errors[utterance] = _time_error(int(status[utterance]), called, start[word], end[word], before)
    return TimedWords(groups, offsets, starts, ends, changed, errors)


def link(timed: TimedWords, finish: Times, *, begin: float = 0.0) -> ChainBatch:
    """Nodes and arcs for all words. An utterance ends at `finish`, or with its latest word."""
    hypotheses, utterances = len(timed.offsets) - 1, len(timed.groups) - 1
    arcs = 2 * len(timed.start) + hypotheses  # at most: a silence before every word and at every end
    time, source, target = np.empty(arcs + 2 * utterances), np.empty(arcs, np.int32), np.empty(arcs, np.int32)
    word, offsets = np.empty(arcs, np.int32), np.zeros(hypotheses + 1, np.int64)
    node_offsets = np.zeros(utterances + 1, np.int64)
    kernels.link_all(timed.groups, timed.offsets, timed.start, timed.end, begin, finish,
                     time, source, target, word, offsets, node_offsets)  # fmt: skip
    nodes, arcs = node_offsets[-1], offsets[-1]
    return ChainBatch(
        node_offsets, offsets[timed.groups], time[:nodes], source[:arcs], target[:arcs], word[:arcs], offsets
    )


def spread(
    start: ArrayLike, end: ArrayLike, *, begin: float = 0.0, finish: float | None = None
) -> tuple[Times, Times, int]:
    """Word times of one hypothesis where every word lasts at least 10 ms, and how many did not before.

    Words that overlap meet in the middle of the overlap; a word of no length takes its 10 ms from the pauses and
    words beside it, on both sides alike. All stays between `begin` and `finish` (or the last end), if there is
    room. Times that run backwards by more than 100 ms are an error that names the word.
    """
    starts, ends = np.asarray(start, np.float64), np.asarray(end, np.float64)
    timed = _spread_one(np.array([0, len(starts)], np.int64), starts, ends, begin, finish)
    return timed.start, timed.end, int(timed.changed[0])


def _spread_one(offsets: Offsets, start: Times, end: Times, begin: float, finish: float | None) -> TimedWords:
    groups, latest = np.array([0, len(offsets) - 1], np.int64), np.array([-np.inf if finish is None else finish])
    timed = spread_all(groups, offsets, start, end, latest, begin=begin)
    for error in timed.errors.values():
        raise error
    return timed


def aligned_times(hypotheses: Sequence[Sequence[Hashable]], best: int = 0) -> list[tuple[Times, Times]]:
    """Made-up word starts and ends for hypotheses without times: one second a word of the best one.

    The others are aligned with it, word by word. A word that replaces one takes its place, and a word that is
    missing leaves a pause. Between two words that both have, more words than the best one has there share its
    time; where it has none they have no length, and `spread` gives them some.
    """
    along = hypotheses[best] if hypotheses else ()
    others = sum(map(len, hypotheses)) - len(along)
    if others * len(along) > MAX_ALIGNED:
        raise InputError(
            f"{others:,} words are too many to align with a hypothesis of {len(along):,} words",
            remedy="Give word times, or split the text by utterance",
        )
    seconds = np.arange(len(along) + 1, dtype=np.float64)
    return [
        (seconds[:-1], seconds[1:]) if number == best else _times_along(words, along)
        for number, words in enumerate(hypotheses)
    ]


def _times_along(words: Sequence[Hashable], along: Sequence[Hashable]) -> tuple[Times, Times]:
    start, end = np.zeros(len(words)), np.zeros(len(words))
    block: list[tuple[int, int, int, int]] = []  # what was found since the last word that both have
    for tag, from_, to, mine, my_end in [*Levenshtein.opcodes(along, words), ("equal", len(along), len(along), 0, 0)]:
        if tag != "equal":
            block.append((from_, to, mine, my_end))
            continue
        _place_block(block, start, end)
        block = []
        start[mine:my_end] = np.arange(from_, to)
        end[mine:my_end] = start[mine:my_end] + 1
    return start, end


def _place_block(block: list[tuple[int, int, int, int]], start: Times, end: Times) -> None:
    """Times for the words between two that both hypotheses have; `block` holds what replaces what there."""
    if not block:
        return
    first, last = block[0][0], block[-1][1]
    mine, my_end = block[0][2], block[-1][3]
    if my_end - mine > last - first:
        edges = np.linspace(first, last, my_end - mine + 1)
        start[mine:my_end], end[mine:my_end] = edges[:-1], edges[1:]
        return
    for from_, to, part, part_end in block:
        if part_end - part == to - from_:  # replaced one for one; the rest is missing here
            start[part:part_end] = np.arange(from_, to)
            end[part:part_end] = start[part:part_end] + 1


def _counted(word: int, offsets: Offsets) -> str:
    """A word's number, and that of its hypothesis if there are several; counted from 1, as people do."""
    hypothesis = int(np.searchsorted(offsets, word, "right")) - 1
    place = word - int(offsets[hypothesis]) + 1
    return f"word {place}" + (f" of hypothesis {hypothesis + 1}" if len(offsets) > 2 else "")


def _time_error(status: int, called: str, start: float, end: float, before: float) -> InputError:
    """What is wrong with the times of a word; `before` is the earliest that it could start."""
    if status == kernels.NOT_A_TIME:
        found, remedy = f"{called} lasts from {start:g} to {end:g} s", "Times are seconds, finite and below 1e9"
        return InputError(found, remedy=remedy)
    if status == kernels.ENDS_EARLY:
        found = f"{called} ends at {end:.3f} s, before its start at {start:.3f} s"
    else:
        found = f"{called} starts at {start:.3f} s, but what comes before it starts at {before:.3f} s"
    return InputError(found, remedy="Words stand in the order in which they were said, with times in seconds")
