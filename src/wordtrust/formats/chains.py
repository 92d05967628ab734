"""From words with times, or without, to the nodes and arcs of a lattice.

Every hypothesis becomes a chain of arcs of its own between the start and the end of its utterance; merging what
hypotheses share is the job of the networks. The rules:

- A pause of more than 100 ms between words, before the first or after the last, is a silence arc; a shorter one is a
  single node at its middle. A hypothesis without words is one silence arc.
- Words of no length exist (Whisper gives some, even two in a row). Each word lasts at least 10 ms: it takes them from
  the pauses and words beside it, on both sides alike. Words that overlap meet in the middle of the overlap.
- An utterance starts at 0 s and ends with the audio, if its duration is known, else with the latest word.
- Hypotheses without times get them by alignment with the best one, which has one second per word.

`chain` is for a single hypothesis, `segment_chains` for recordings whose segments have hypotheses of their own;
`spread_words` and `link_words` are for the N-best lists of many utterances at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rapidfuzz.distance import Levenshtein

from ..base.errors import InputError
from ..lattices.assemble import RawLattice
from ..lattices.lattice import Floats, Ints, Offsets, Times
from . import chain_kernels as kernels

START, END = 0, 1  # the nodes in which all hypotheses of an utterance begin and end
MAX_ALIGNED = 4 * 10**9  # pairs of words that are compared for an utterance: seconds, not hours
MAX_PAIR = 10**9  # the same for two hypotheses: each takes two bits of memory


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """The hypotheses of one utterance or many as chains of arcs.

    `source` and `target` count from each utterance's first node; node 0 is its start, node 1 its end.
    """

    node_offsets: Offsets  # [utterances + 1]
    arc_offsets: Offsets  # [utterances + 1]
    offsets: Offsets  # [hypotheses + 1] hypothesis h has the arcs offsets[h] to offsets[h + 1]
    time: Times  # [nodes] seconds
    source: Ints  # [arcs] nodes
    target: Ints  # [arcs]
    word: Ints  # [arcs] which word the arc says, counted over all utterances; -1 for silence

    def on_arcs(self, values: ArrayLike, silence: float = 0.0) -> Floats:
        """One value per word as one value per arc; silence arcs have the value `silence`."""
        padded = np.append(np.asarray(values, np.float32), np.float32(silence))
        return padded[self.word]  # word -1 is the last


class SpreadWords(NamedTuple):
    """Word times of many utterances after spreading."""

    start: Times
    end: Times
    counts: Ints  # [utterances] how many words had no length
    errors: dict[int, InputError]  # of utterances whose times cannot be used


def spread_words(
    groups: Offsets,
    offsets: Offsets,
    start: Times,
    end: Times,
    finish: Times,
    *,
    begin: float = 0.0,
    name: Callable[[int], str] | None = None,
) -> SpreadWords:
    """Word times where every word lasts at least 10 ms and none overlaps the next.

    Utterance u has the hypotheses groups[u] to groups[u + 1], hypothesis h the words offsets[h] to offsets[h + 1].
    All stays between `begin` and `finish` (of each utterance; -inf: its last word), if there is room. Times that run
    backwards by more than 100 ms are an error. `name` says what an error calls a word; otherwise it is counted.
    """
    starts, ends = start.copy(), end.copy()
    count = len(groups) - 1
    counts, status, bad_word = np.zeros(count, np.int32), np.zeros(count, np.int32), np.zeros(count, np.int64)
    kernels.spread_all(groups, offsets, starts, ends, begin, finish, counts, status, bad_word)
    errors = {}
    for utterance in np.flatnonzero(status).tolist():
        word = int(bad_word[utterance])
        called = name(word) if name else _counted(word, offsets[groups[utterance] : groups[utterance + 1] + 1])
        before = begin if word in offsets else start[word - 1]  # the first of a hypothesis has none before it
        errors[utterance] = _time_error(int(status[utterance]), called, start[word], end[word], before)
    return SpreadWords(starts, ends, counts, errors)


def link_words(
    groups: Offsets, offsets: Offsets, start: Times, end: Times, finish: Times, *, begin: float = 0.0
) -> Chains:
    """Nodes and arcs for spread words. An utterance ends at `finish`, or with its latest word if that is later."""
    hypotheses, utterances = len(offsets) - 1, len(groups) - 1
    most = 2 * len(start) + hypotheses  # arcs: a silence before every word and at every end
    time, source, target = np.empty(most + 2 * utterances), np.empty(most, np.int32), np.empty(most, np.int32)
    word, arc_offsets = np.empty(most, np.int32), np.zeros(hypotheses + 1, np.int64)
    node_offsets = np.zeros(utterances + 1, np.int64)
    kernels.link_all(groups, offsets, start, end, begin, finish,
                     time, source, target, word, arc_offsets, node_offsets)  # fmt: skip
    nodes, arcs = node_offsets[-1], arc_offsets[-1]
    return Chains(
        node_offsets, arc_offsets[groups], arc_offsets, time[:nodes], source[:arcs], target[:arcs], word[:arcs]
    )


def chain(start: ArrayLike, end: ArrayLike, *, begin: float = 0.0, finish: float | None = None) -> tuple[Chains, int]:
    """The chain of one hypothesis, and how many of its words had to be spread.

    It leads from `begin` to `finish` (the audio's duration), or to the end of its last word, if that is later.
    """
    starts, ends = np.asarray(start, np.float64), np.asarray(end, np.float64)
    return _utterance_chains(np.array([0, len(starts)], np.int64), starts, ends, begin=begin, finish=finish)


def linear_lattice(
    utt: str, token: Ints, start: Times, end: Times, posterior: Times | None, *, finish: float | None = None,
    extra: Mapping[str, ArrayLike] | None = None, **fields: Any,
) -> RawLattice:  # fmt: skip
    """The lattice of one hypothesis, whose pauses have the posterior 1.

    `extra` are numbers of words, and `fields` others of a `RawLattice`.
    """
    line, spread_words = chain(start, end, finish=finish)
    return RawLattice(
        utt=utt,
        time=line.time,
        source=line.source,
        target=line.target,
        token=np.append(token, np.int32(0))[line.word],  # -1, silence, is the last
        start=START,
        end=END,
        spread_words=spread_words,
        posterior=None if posterior is None else line.on_arcs(posterior, silence=1.0),
        extra={name: line.on_arcs(values) for name, values in (extra or {}).items()},
        **fields,
    )


def _utterance_chains(
    offsets: Offsets, start: Times, end: Times, *, begin: float = 0.0, finish: float | None = None
) -> tuple[Chains, int]:
    """The chains of the hypotheses of one utterance, and how many words had to be spread."""
    groups = np.array([0, len(offsets) - 1], np.int64)
    latest = -np.inf if finish is None else finish
    spread = spread_words(groups, offsets, start, end, np.array([latest]), begin=begin)
    for error in spread.errors.values():
        raise error
    linked = link_words(groups, offsets, spread.start, spread.end, np.array([max(begin, latest)]), begin=begin)
    return linked, int(spread.counts[0])


@dataclass(frozen=True, slots=True, eq=False)
class SegmentWords:
    """A segment of a recording with all its hypotheses: hypothesis h has the words offsets[h] to offsets[h + 1]."""

    offsets: Offsets
    start: Times
    end: Times


@dataclass(frozen=True, slots=True, eq=False)
class SegmentChains:
    """Segments as one graph from node 0 to node `end`: each hypothesis is a chain between the ends of its segment."""

    time: Times
    source: Ints
    target: Ints
    word: Ints  # [arcs] counted over all segments; -1 for silence
    hypothesis: Ints  # [arcs] likewise; -1 for the pauses between segments
    end: int
    spread_words: int

    def lattice(self, utt: str, token: Ints, **fields: Any) -> RawLattice:
        """The graph with the token of every word, and other fields of a `RawLattice`."""
        return RawLattice(
            utt=utt,
            time=self.time,
            source=self.source,
            target=self.target,
            token=np.append(token, np.int32(0))[self.word],  # -1, silence, is the last
            start=START,
            end=self.end,
            spread_words=self.spread_words,
            **fields,
        )


def segment_chains(segments: Sequence[SegmentWords], *, finish: float | None = None) -> SegmentChains:
    """Segments one after the other, from 0 s to the last end. A pause of over 100 ms between two is a silence arc.

    So is one before `finish`, the end of the audio where that is known.

    A segment that reaches into the next one ends where that begins.
    """
    firsts = [float(segment.start.min(initial=np.inf)) for segment in segments]
    limits = np.minimum.accumulate([np.inf, *firsts[::-1]])[-2::-1]  # where the segments after each begin
    joined = _JoinedSegments()
    for segment, first, limit in zip(segments, firsts, limits.tolist(), strict=True):
        if joined.now + kernels.GAP < first < np.inf:
            joined.pause(first)
        joined.append(segment, limit)
    if finish is not None and joined.now + kernels.GAP < finish:
        joined.pause(finish)
    return joined.chains()


class _JoinedSegments:
    """The segments joined so far, up to the time `now`."""

    def __init__(self) -> None:
        self.now = 0.0
        self._last = self._words = self._hypotheses = self._spread = 0
        self._nodes = 1
        self._times = [np.zeros(1)]
        self._arcs = [np.zeros((4, 0), np.int64)]  # rows: source, target, word, hypothesis

    def pause(self, until: float) -> None:
        self._arcs.append(np.array([[self._last], [self._nodes], [-1], [-1]]))
        self._times.append(np.array([until]))
        self._last, self._nodes, self.now = self._nodes, self._nodes + 1, until

    def append(self, segment: SegmentWords, limit: float) -> None:
        start = np.maximum(segment.start, self.now)
        end = np.maximum(start, np.minimum(segment.end, limit))
        chains, spread = _utterance_chains(segment.offsets, start, end, begin=self.now)
        counts = np.diff(chains.offsets)
        # Its start is where the segment before ended.
        node = np.append(self._last, np.arange(self._nodes, self._nodes + len(chains.time) - 1))
        word = np.where(chains.word < 0, -1, chains.word + self._words)
        hypothesis = np.repeat(np.arange(len(counts)) + self._hypotheses, counts)
        self._arcs.append(np.stack([node[chains.source], node[chains.target], word, hypothesis]))
        self._times.append(chains.time[1:])
        self._last, self.now = int(node[END]), float(chains.time[END])
        self._nodes += len(chains.time) - 1
        self._words += len(start)
        self._hypotheses += len(counts)
        self._spread += spread

    def chains(self) -> SegmentChains:
        source, target, word, hypothesis = np.concatenate(self._arcs, 1).astype(np.int32)
        return SegmentChains(np.concatenate(self._times), source, target, word, hypothesis, self._last, self._spread)


def aligned_times(hypotheses: Sequence[Sequence[Hashable]], best: int = 0) -> list[tuple[Times, Times]]:
    """Made-up word starts and ends for hypotheses without times: one second per word of the best one.

    The others are aligned with it, word by word. A word that replaces another takes its place, and a word that is
    missing leaves a pause. Between two words that both have, more words than the best one has there share its
    time; where it has none they have no length, and `spread_words` gives them some.
    """
    along = hypotheses[best] if hypotheses else ()
    others = sum(map(len, hypotheses)) - len(along)
    longest = max((len(words) for index, words in enumerate(hypotheses) if index != best), default=0)
    if others * len(along) > MAX_ALIGNED or longest * len(along) > MAX_PAIR:
        raise InputError(
            f"{others:,} words are too many to align with a hypothesis of {len(along):,} words",
            remedy="Give word times, or split the text by utterance",
        )
    seconds = np.arange(len(along) + 1, dtype=np.float64)
    return [
        (seconds[:-1], seconds[1:]) if index == best else _times_along(words, along)
        for index, words in enumerate(hypotheses)
    ]


_Edit = tuple[int, int, int, int]  # words best_from to best_to of the best hypothesis are the words first to last


def _times_along(words: Sequence[Hashable], along: Sequence[Hashable]) -> tuple[Times, Times]:
    """Times of a hypothesis by its alignment with the words of the best one."""
    start, end = np.zeros(len(words)), np.zeros(len(words))
    edits: list[_Edit] = []  # since the last word that both have
    opcodes = [*Levenshtein.opcodes(along, words), ("equal", len(along), len(along), 0, 0)]
    for tag, best_from, best_to, first, last in opcodes:
        if tag != "equal":
            edits.append((best_from, best_to, first, last))
            continue
        _time_edits(edits, start, end)
        edits = []
        start[first:last] = np.arange(best_from, best_to)
        end[first:last] = start[first:last] + 1
    return start, end


def _time_edits(edits: Sequence[_Edit], start: Times, end: Times) -> None:
    """Write the times of words between two that both hypotheses have."""
    if not edits:
        return
    best_from, best_to = edits[0][0], edits[-1][1]
    first, last = edits[0][2], edits[-1][3]
    if last - first > best_to - best_from:
        edges = np.linspace(best_from, best_to, last - first + 1)
        start[first:last], end[first:last] = edges[:-1], edges[1:]
        return
    for best_from, best_to, first, last in edits:
        if last - first == best_to - best_from:  # replaced one for one; the rest is missing here
            start[first:last] = np.arange(best_from, best_to)
            end[first:last] = start[first:last] + 1


def _counted(word: int, offsets: Offsets) -> str:
    """A word's number, and that of its hypothesis if there are several; counted from 1, as people do."""
    hypothesis = int(np.searchsorted(offsets, word, "right")) - 1
    within = word - int(offsets[hypothesis]) + 1
    return f"word {within}" + (f" of hypothesis {hypothesis + 1}" if len(offsets) > 2 else "")


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
