"""The hypotheses of several recognizers in one network.

**One clock.** Recognizers disagree about times: attention-based ones are off by 100 ms and more, and some give no
times at all. So every recognizer's output is aligned with that of one of them, the pivot. Words that both have are
anchors: their starts and ends are the same instants. Start and end of the utterance are anchors too, and time runs
evenly between anchors. The map never runs backwards, but it may jump: where the pivot has one word more, one instant
of the other recognizer is a whole stretch of the pivot's. What ends at that instant ends before the stretch, and
what begins there begins after it.

**One network.** All hypotheses, on the pivot's clock, between a shared start and a shared end, are merged like any
lattice (`networks.hwcn`): the same word at the same time becomes one arc, and where recognizers meet in a node, paths
may cross from one to another. Merging never loses a word or a path, so every recognizer's output is a path of the
union. An arc that recognizers write differently (`6`, `six`) is written as most of their outputs have it, each with
as many votes as its spelling deserves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import csr_offsets
from ...base.errors import OptionError
from ...base.jit import compiled
from ...lattices.assemble import RawLattices, Tokens, assemble
from ...lattices.lattice import Flags, Floats, Ints, Lattices, Offsets, Origin, Times, concatenate
from ...lattices.paths import one_best
from ...lattices.text import UNKNOWN
from ...lattices.weights import Reals
from ...networks.align import align_ids
from ...networks.equivalents import Equate
from ...networks.equivalents.classes import classes_of
from ...networks.hwcn import TOLERANCE, Networks, build, choose_spellings
from .hypotheses import CONFIDENCE, IN_ONE_BEST, MISSING_AFTER, MISSING_BEFORE, Letters

MIN_JUMP = 0.03  # seconds: a smaller jump of the clock is one instant, in its middle
_STEP = 1e-6  # minimum seconds between two nodes of an utterance: no two share an instant
_START, _END, _OWN = 0, 1, 2  # node numbers: the shared start and end, then the first recognizer's nodes
_SYSTEM, _IN_OUTPUT = "system", "output"
_EXTRA = (CONFIDENCE, IN_ONE_BEST, _SYSTEM, _IN_OUTPUT, MISSING_BEFORE, MISSING_AFTER)
_BESIDE_OUTPUT = 1e-3  # votes of confidence 1 on the spelling of a word that is in no output


@dataclass(frozen=True, slots=True, eq=False)
class OutputWords:
    """The output words of one recognizer with their times, utterances end to end."""

    offsets: Offsets
    word: Ints
    start: Times
    end: Times
    clock: Times  # [nodes] times of all nodes, distinct within an utterance

    @classmethod
    def of(cls, lattices: Lattices) -> OutputWords:
        """Take the words that the recognizer picked."""
        paths, clock = one_best(lattices), lattices.time.copy()
        separate_times(lattices.node_offsets, clock, _STEP)
        words = paths.without_silence(lattices)
        arcs = words.arcs_in(lattices)
        return cls(
            words.offsets,
            lattices.word[arcs],
            clock[lattices.batch_source[arcs]],
            clock[lattices.batch_target[arcs]],
            clock,
        )

    def utterances(self, lattices: Lattices, first: int, last: int) -> OutputWords:
        """The words of utterances `first` to before `last`; `lattices` are those of all utterances."""
        words, nodes = slice(*self.offsets[[first, last]]), slice(*lattices.node_offsets[[first, last]])
        offsets = self.offsets[first : last + 1] - self.offsets[first]
        return OutputWords(offsets, self.word[words], self.start[words], self.end[words], self.clock[nodes])


@compiled
def separate_times(node_offsets: Offsets, time: Times, step: float) -> None:
    """Move every node to at least `step` after the one before it, in place."""
    for u in range(len(node_offsets) - 1):
        for node in range(node_offsets[u] + 1, node_offsets[u + 1]):
            time[node] = max(time[node], time[node - 1] + step)


@dataclass(frozen=True, slots=True, eq=False)
class WarpedTimes:
    """Where the nodes of a recognizer's networks lie on the pivot's clock."""

    before: Times  # [nodes] when the words that end there end
    after: Times  # [nodes] when the words that begin there begin


def warp(member: Lattices, pivot: Lattices, words: OutputWords, pivot_words: OutputWords) -> WarpedTimes:
    """Put the nodes of `member` on the clock of `pivot`; both have the same utterances and word numbers."""
    unknown = member.vocabulary.find(UNKNOWN)
    said, pivot_said = _compared_words(member, pivot, words.word, pivot_words.word)
    alignments = align_ids(pivot_said, pivot_words.offsets, said, words.offsets, unknown=unknown)
    partner = np.where(alignments.correct, alignments.reference, -1)
    before, after = np.empty(len(words.clock)), np.empty(len(words.clock))
    _warp(
        member.node_offsets, words.clock, words.offsets, words.start, words.end, partner.astype(np.int32),
        pivot.node_offsets, pivot_words.clock, pivot_words.offsets, pivot_words.start, pivot_words.end, before, after,
    )  # fmt: skip
    return WarpedTimes(before, after)


def _compared_words(member: Lattices, pivot: Lattices, words: Ints, pivot_words: Ints) -> tuple[Ints, Ints]:
    """The same number for words that count as the same."""
    used, equate = np.union1d(words, pivot_words), Equate.of_networks(pivot.origin)
    classes = classes_of(used, member.vocabulary, equate) if equate else None
    if classes is None:
        return words, pivot_words
    unknown = member.vocabulary.find(UNKNOWN)
    if unknown > 0:  # is no word's partner, and stays what it is
        classes = np.where(np.arange(len(classes)) == unknown, np.int32(unknown), -classes)
    return classes[words], classes[pivot_words]


@compiled
def _warp(
    node_offsets: Offsets, clock: Times, offsets: Offsets, start: Times, end: Times, partner: Ints,
    pivot_nodes: Offsets, pivot_clock: Times, pivot_offsets: Offsets, pivot_start: Times, pivot_end: Times,
    before: Times, after: Times,
) -> None:  # fmt: skip
    """`partner` is the pivot's word that each word is aligned with, or -1; both kinds are in order of time."""
    for u in range(len(node_offsets) - 1):
        n0, n1, words = node_offsets[u], node_offsets[u + 1], offsets[u + 1] - offsets[u]
        x, y = np.empty(2 * words + 2), np.empty(2 * words + 2)
        x[0], y[0], anchors = clock[n0], pivot_clock[pivot_nodes[u]], 1
        for index in range(offsets[u], offsets[u + 1]):
            if partner[index] >= 0:
                other = pivot_offsets[u] + partner[index]
                x[anchors], y[anchors] = start[index], pivot_start[other]
                x[anchors + 1], y[anchors + 1] = end[index], pivot_end[other]
                anchors += 2
        x[anchors], y[anchors] = clock[n1 - 1], pivot_clock[pivot_nodes[u + 1] - 1]
        anchor = 0  # the first one that is not before the node
        for node in range(n0, n1):
            while x[anchor] < clock[node]:
                anchor += 1
            if x[anchor] > clock[node]:
                share = (clock[node] - x[anchor - 1]) / (x[anchor] - x[anchor - 1])
                before[node] = after[node] = min(y[anchor - 1] + share * (y[anchor] - y[anchor - 1]), y[anchor])
                continue
            before[node] = y[anchor]
            while anchor < anchors and x[anchor + 1] == clock[node]:
                anchor += 1
            after[node] = y[anchor]


@dataclass(frozen=True, eq=False)
class JointLattice:
    """The networks of several recognizers as one, and what each of them brought."""

    lattices: Lattices  # posteriors are the mean over all recognizers; `picked` is the pivot's output
    confidence: Floats  # [arcs, recognizers] of each arc; for silence its posterior
    posterior: Floats  # [arcs, recognizers]
    in_output: Flags  # [arcs, recognizers] on the recognizer's best-confidence output
    in_one_best: Flags  # [arcs, recognizers] on the recognizer's own 1-best
    letters: Letters  # of all words
    missing_before: Floats  # [arcs, recognizers] of words of an output: how likely words are missing before it
    missing_after: Floats  # [arcs, recognizers] and after it; 0: not known


@dataclass(frozen=True, eq=False)
class JointHypotheses:
    """Hypotheses of several recognizers on the same utterances, with all that does not depend on the subset."""

    hypotheses: tuple[Lattices, ...]
    tokens: Tokens
    token: tuple[Ints, ...]  # [recognizers] of each arc: its word and surface as one number
    output: tuple[OutputWords, ...]
    letters: Letters

    @classmethod
    def of(cls, hypotheses: Sequence[Lattices]) -> JointHypotheses:
        """Prepare recognizers that share a vocabulary and have the same utterances in the same order."""
        if len({(id(lattices.vocabulary), lattices.utts) for lattices in hypotheses}) != 1:
            raise OptionError("recognizers are joined on the same utterances, with words numbered alike")
        tokens = Tokens(vocabulary=hypotheses[0].vocabulary)
        token = tuple(_tokens(lattices, tokens) for lattices in hypotheses)
        letters = Letters.of(hypotheses[0].vocabulary)
        return cls(tuple(hypotheses), tokens, token, tuple(map(OutputWords.of, hypotheses)), letters)

    def __len__(self) -> int:
        return len(self.hypotheses[0])

    def take(self, rows: Sequence[int]) -> JointHypotheses:
        """Some of the utterances, in this order."""
        return JointHypotheses.of(
            [concatenate(lattices[row : row + 1] for row in rows) for lattices in self.hypotheses]
        )

    def order(self, systems: Sequence[int]) -> JointHypotheses:
        """Some of the recognizers, in this order."""
        return replace(
            self,
            hypotheses=tuple(self.hypotheses[system] for system in systems),
            token=tuple(self.token[system] for system in systems),
            output=tuple(self.output[system] for system in systems),
        )

    def batches(self, size: int) -> list[JointHypotheses]:
        """The utterances in parts of `size`, to bound memory."""
        return [self.utterances(first, min(first + size, len(self))) for first in range(0, max(1, len(self)), size)]

    def utterances(self, first: int, last: int) -> JointHypotheses:
        """Those from `first` to before `last`."""
        arcs = [slice(*lattices.arc_offsets[[first, last]]) for lattices in self.hypotheses]
        return replace(
            self,
            hypotheses=tuple(lattices[first:last] for lattices in self.hypotheses),
            token=tuple(token[part] for token, part in zip(self.token, arcs, strict=True)),
            output=tuple(
                words.utterances(lattices, first, last)
                for words, lattices in zip(self.output, self.hypotheses, strict=True)
            ),
        )

    def union(
        self, members: Sequence[int], *, spelling: Sequence[float] = (), tolerance: float = TOLERANCE
    ) -> JointLattice:
        """The union of these recognizers; the first one is the pivot.

        `spelling` says how many votes each of them has on how a word is written, one unless it is given.
        """
        pivot = self.hypotheses[members[0]]
        warped = [self._warped(member, members[0]) for member in members]
        origin = Origin(times=pivot.origin.times, equate=pivot.origin.equate)
        lattices = assemble(_between_shared_ends(warped, pivot), self.tokens, origin=origin)
        votes = np.array(spelling or [1.0] * len(members))
        return _merged(lattices, votes, tolerance, self.letters)

    def _warped(self, member: int, pivot: int) -> _WarpedNetworks:
        lattices, words = self.hypotheses[member], self.output[member]
        if member == pivot:
            times = WarpedTimes(words.clock, words.clock)
        else:
            times = warp(lattices, self.hypotheses[pivot], words, self.output[pivot])
        return _WarpedNetworks.of(lattices, self.token[member], times)


def _tokens(lattices: Lattices, tokens: Tokens) -> Ints:
    size = len(lattices.vocabulary)
    pairs, index = np.unique(lattices.word.astype(np.int64) * size + lattices.surface, return_inverse=True)
    strings = lattices.vocabulary.strings
    numbers = [tokens.pair(strings[pair // size], strings[pair % size]) for pair in pairs.tolist()]
    token: Ints = np.array(numbers, np.int32)[index]
    return token


@dataclass(frozen=True, slots=True, eq=False)
class _WarpedNetworks:
    """One recognizer on the pivot's clock. Where the clock jumps, a node is split in two with a silence between."""

    lattices: Lattices
    token: Ints
    split: Offsets  # the nodes that are split, counted through the batch
    time: Times  # [nodes]; of split ones the earlier
    later: Times  # [split] the later

    @classmethod
    def of(cls, lattices: Lattices, token: Ints, warped: WarpedTimes) -> _WarpedNetworks:
        jump = warped.after - warped.before > MIN_JUMP
        time = np.where(jump, warped.before, (warped.before + warped.after) / 2)
        split = np.flatnonzero(jump)
        return cls(lattices, token, split, time, warped.after[split])

    def sizes(self) -> Offsets:
        """[utterances] how many nodes there are."""
        owner = self.lattices.utterance_of_node[self.split]
        return np.diff(self.lattices.node_offsets) + np.bincount(owner, minlength=len(self.lattices))

    def times(self) -> tuple[Offsets, Times]:
        """The utterance and the time of every node: all nodes, then the later halves of split ones."""
        owner = self.lattices.utterance_of_node
        return np.concatenate([owner, owner[self.split]]), np.concatenate([self.time, self.later])

    def ends(self, base: Offsets) -> tuple[Ints, Ints]:
        """The number of each node for arcs that end and for arcs that begin there; `base` is an utterance's first."""
        offsets = self.lattices.node_offsets
        nodes = np.diff(offsets)
        owner = self.lattices.utterance_of_node
        entered = base[owner] + np.arange(len(owner)) - offsets[owner]
        left = entered.copy()
        split_owner = owner[self.split]
        rank = np.arange(len(split_owner)) - np.searchsorted(split_owner, split_owner)
        left[self.split] = base[split_owner] + nodes[split_owner] + rank
        start, end = offsets[:-1], offsets[1:] - 1
        whole = np.ones(len(owner), bool)
        whole[self.split] = False
        left[start] = np.where(whole[start], _START, left[start])
        entered[end] = np.where(whole[end], _END, entered[end])
        entered[start], left[end] = _START, _END
        return entered.astype(np.int32), left.astype(np.int32)

    def arcs(self, base: Offsets, system: int) -> dict[str, NDArray[np.generic]]:
        """The arcs as columns, the silences of split nodes last."""
        lattices, (entered, left) = self.lattices, self.ends(base)
        arc_owner = lattices.utterance_of_arc
        node_owner = lattices.utterance_of_node[self.split]
        assert lattices.posterior is not None
        assert lattices.picked is not None
        out = np.bincount(lattices.batch_source, lattices.posterior, len(self.time))
        into = np.bincount(lattices.batch_target, lattices.posterior, len(self.time))
        through = np.minimum(np.maximum(out, into), 1.0)[self.split].astype(np.float32)
        in_one_best, split = lattices.extra[IN_ONE_BEST], self.split
        unknown, of_splits = np.zeros(len(arc_owner), np.float32), np.zeros(len(split), np.float32)
        missing = {name: lattices.extra.get(name, unknown) for name in (MISSING_BEFORE, MISSING_AFTER)}
        return {
            "owner": np.concatenate([arc_owner, node_owner]),
            "source": np.concatenate([left[lattices.batch_source], entered[self.split]]),
            "target": np.concatenate([entered[lattices.batch_target], left[self.split]]),
            "token": np.concatenate([self.token, np.zeros(len(self.split), np.int32)]),
            "posterior": np.concatenate([lattices.posterior, through]),
            CONFIDENCE: np.concatenate([lattices.extra[CONFIDENCE], through]),
            _IN_OUTPUT: np.concatenate([lattices.picked, self._on_path(lattices.picked)[split]]).astype(np.float32),
            IN_ONE_BEST: np.concatenate([in_one_best, self._on_path(in_one_best > 0)[split]]).astype(np.float32),
            _SYSTEM: np.full(len(arc_owner) + len(self.split), system, np.float32),
            **{name: np.concatenate([values, of_splits]) for name, values in missing.items()},
        }

    def _on_path(self, arcs_on_path: Flags) -> Flags:
        """[nodes] which nodes the path through these arcs visits."""
        visited = np.zeros(len(self.time), bool)
        visited[self.lattices.batch_source[arcs_on_path]] = True
        visited[self.lattices.batch_target[arcs_on_path]] = True
        return visited


def _between_shared_ends(members: Sequence[_WarpedNetworks], pivot: Lattices) -> RawLattices:
    """All recognizers' nodes and arcs between one start and one end."""
    utterances, sizes = len(pivot), np.stack([member.sizes() for member in members])
    bases = _OWN + np.cumsum(sizes, axis=0) - sizes
    node_offsets = csr_offsets(_OWN + sizes.sum(axis=0))
    time = np.empty(node_offsets[-1])
    time[node_offsets[:-1] + _START] = pivot.time[pivot.node_offsets[:-1]]
    time[node_offsets[:-1] + _END] = members[0].time[pivot.node_offsets[1:] - 1]
    for member, base in zip(members, bases, strict=True):
        owner, times = member.times()
        order = np.argsort(owner, kind="stable")
        rank = np.arange(len(owner)) - np.searchsorted(owner[order], owner[order])
        time[node_offsets[owner[order]] + base[owner[order]] + rank] = times[order]
    columns = [member.arcs(base, system) for system, (member, base) in enumerate(zip(members, bases, strict=True))]
    joined = {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}
    order = np.argsort(joined["owner"], kind="stable")
    arcs = {name: values[order] for name, values in joined.items()}
    counts = np.bincount(joined["owner"], minlength=utterances)
    return RawLattices(
        utts=pivot.utts,
        place=np.full(utterances, -1, np.int64),
        node_offsets=node_offsets,
        arc_offsets=csr_offsets(counts),
        start=np.full(utterances, _START, np.int32),
        end=np.full(utterances, _END, np.int32),
        time=time,
        source=arcs["source"].astype(np.int32),
        target=arcs["target"].astype(np.int32),
        token=arcs["token"].astype(np.int32),
        scores={"posterior": arcs["posterior"].astype(np.float32)},
        extra={name: arcs[name].astype(np.float32) for name in _EXTRA},
        notes=pivot.notes,
    )


def _merged(joined: Lattices, votes: Reals, tolerance: float, letters: Letters) -> JointLattice:
    networks, systems = build(joined, tolerance=tolerance, equate=Equate.of_networks(joined.origin)), len(votes)
    arcs, is_merged = len(networks.lattices.source), networks.arc >= 0
    cell = networks.arc[is_merged].astype(np.int64) * systems + joined.extra[_SYSTEM][is_merged].astype(np.int64)

    def table(values: Floats) -> Floats:
        """[arcs, recognizers] sums of the values of the arcs that were merged."""
        sums = np.bincount(cell, values[is_merged], arcs * systems).reshape(arcs, systems)
        return np.minimum(sums, 1.0).astype(np.float32)

    assert joined.posterior is not None
    in_output, posterior = table(joined.extra[_IN_OUTPUT]) > 0, table(joined.posterior)
    mean = posterior.mean(axis=1, dtype=np.float32)
    word, surface = _spellings(joined, networks, votes)
    lattices = replace(
        networks.lattices, word=word, surface=surface, picked=in_output[:, 0].copy(), extra={}, posterior=mean
    )
    in_one_best = table(joined.extra[IN_ONE_BEST]) > 0
    missing = (table(joined.extra[name]) for name in (MISSING_BEFORE, MISSING_AFTER))
    return JointLattice(
        lattices, table(joined.extra[CONFIDENCE]), posterior, in_output, in_one_best, letters, *missing
    )


def _spellings(joined: Lattices, networks: Networks, votes: Reals) -> tuple[Ints, Ints]:
    """The word and the surface of each arc; of words that count as the same, those with the most votes."""
    word, surface, owner = networks.lattices.word, networks.lattices.surface, networks.arc
    is_merged = owner >= 0
    is_mixed = np.zeros(len(word), np.bool_)
    is_mixed[owner[is_merged & (joined.word != word[owner])]] = True
    arcs = np.flatnonzero(is_merged & is_mixed[owner])
    if not len(arcs):
        return word, surface
    in_output, confidence = joined.extra[_IN_OUTPUT][arcs], joined.extra[CONFIDENCE][arcs]
    weight = votes[joined.extra[_SYSTEM][arcs].astype(np.int64)] * (in_output + _BESIDE_OUTPUT * confidence)
    word, surface = word.copy(), surface.copy()
    choose_spellings(joined, arcs, owner[arcs], weight, word, surface)
    return word, surface
