"""The word hypotheses of several recognizers in one network.

Every recognizer's hypotheses are put on the clock of one of them, the pivot (see `warp`), between a shared start and
a shared end, and merged as any lattice is (see `hwcn`): the same word at the same time becomes one arc, and where
recognizers meet in a node, paths may go over from one to another. As merging never loses a word or a path, every
recognizer's own output is a path of the union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import csr_offsets
from ...base.errors import OptionError
from ...lattices.assemble import RawLattices, Tokens, assemble
from ...lattices.lattice import Flags, Floats, Ints, Lattices, Offsets, Origin, Times, concatenate
from ...networks.hwcn import TOLERANCE, build
from .hypotheses import CONFIDENCE, PRINTED
from .spelling import Letters
from .warp import Said, Warped, warp

SMALLEST_JUMP = 0.03  # seconds: a smaller jump of the clock is one instant, in its middle
_START, _END, _OWN = 0, 1, 2  # node numbers: the shared ones, then those of the first recognizer
_SYSTEM, _PICKED = "system", "own"


@dataclass(frozen=True, eq=False)
class Union:
    """The networks of several recognizers as one, and what each of them brought."""

    lattices: Lattices  # posteriors are the mean of all recognizers'; `picked` is the pivot's output
    confidence: Floats  # [arcs, recognizers] of each arc; for silence its posterior
    posterior: Floats  # [arcs, recognizers]
    own: Flags  # [arcs, recognizers] on its best-confidence output
    printed: Flags  # [arcs, recognizers] on what the recognizer itself would print
    letters: Letters  # of all words


@dataclass(frozen=True, eq=False)
class JointHypotheses:
    """Hypotheses of recognizers on the same utterances, with all that does not depend on who is joined with whom."""

    hypotheses: tuple[Lattices, ...]
    tokens: Tokens
    token: tuple[Ints, ...]  # [recognizers] of each arc: its word and surface as one number
    said: tuple[Said, ...]
    letters: Letters

    @classmethod
    def of(cls, hypotheses: Sequence[Lattices]) -> JointHypotheses:
        """Get recognizers ready; they share a vocabulary and have the same utterances in the same order."""
        if len({id(each.vocabulary) for each in hypotheses}) != 1 or len({each.utts for each in hypotheses}) != 1:
            raise OptionError("recognizers are joined on the same utterances, with words numbered alike")
        tokens = Tokens(vocabulary=hypotheses[0].vocabulary)
        token = tuple(_tokens(each, tokens) for each in hypotheses)
        letters = Letters.of(hypotheses[0].vocabulary)
        return cls(tuple(hypotheses), tokens, token, tuple(map(Said.of, hypotheses)), letters)

    def __len__(self) -> int:
        return len(self.hypotheses[0])

    def take(self, rows: Sequence[int]) -> JointHypotheses:
        """Some of the utterances, in this order."""
        return JointHypotheses.of([concatenate(each[row : row + 1] for row in rows) for each in self.hypotheses])

    def order(self, numbers: Sequence[int]) -> JointHypotheses:
        """Some of the recognizers, in this order."""
        return JointHypotheses(
            tuple(self.hypotheses[number] for number in numbers),
            self.tokens,
            tuple(self.token[number] for number in numbers),
            tuple(self.said[number] for number in numbers),
            self.letters,
        )

    def batches(self, size: int) -> list[JointHypotheses]:
        """The utterances in parts of `size`, so that a corpus of any length takes little memory."""
        return [self._rows(first, min(first + size, len(self))) for first in range(0, max(1, len(self)), size)]

    def _rows(self, first: int, last: int) -> JointHypotheses:
        arcs = [slice(*each.arc_offsets[[first, last]]) for each in self.hypotheses]
        return JointHypotheses(
            tuple(each[first:last] for each in self.hypotheses),
            self.tokens,
            tuple(each[part] for each, part in zip(self.token, arcs, strict=True)),
            tuple(said.part(each, first, last) for said, each in zip(self.said, self.hypotheses, strict=True)),
            self.letters,
        )

    def union(self, members: Sequence[int], *, tolerance: float = TOLERANCE) -> Union:
        """The union of some recognizers, given by number; the first is the pivot."""
        parts = [self._part(number, members[0]) for number in members]
        raw = _joined(parts, self.hypotheses[members[0]])
        lattices = assemble(raw, self.tokens, origin=Origin(times=self.hypotheses[members[0]].origin.times))
        return _merged(lattices, len(members), tolerance, self.letters)

    def _part(self, number: int, pivot: int) -> _Part:
        lattices, said = self.hypotheses[number], self.said[number]
        if number == pivot:
            return _Part.of(lattices, self.token[number], Warped(said.clock, said.clock))
        found = warp(lattices, self.hypotheses[pivot], said, self.said[pivot])
        return _Part.of(lattices, self.token[number], found)


def _tokens(lattices: Lattices, tokens: Tokens) -> Ints:
    known = len(lattices.vocabulary)
    pairs, place = np.unique(lattices.word.astype(np.int64) * known + lattices.surface, return_inverse=True)
    strings = lattices.vocabulary.strings
    numbers = [tokens.pair(strings[pair // known], strings[pair % known]) for pair in pairs.tolist()]
    token: Ints = np.array(numbers, np.int32)[place]
    return token


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """One recognizer on the pivot's clock. Where the clock jumps, a node becomes two with a silence between them."""

    lattices: Lattices
    token: Ints
    split: Offsets  # the nodes that became two, counted through the batch
    time: Times  # [nodes]; of split ones the earlier
    later: Times  # [split] the later

    @classmethod
    def of(cls, lattices: Lattices, token: Ints, warped: Warped) -> _Part:
        jump = warped.after - warped.before > SMALLEST_JUMP
        time = np.where(jump, warped.before, (warped.before + warped.after) / 2)
        first, last = lattices.node_offsets[:-1], lattices.node_offsets[1:] - 1
        time[first], time[last] = warped.before[first], np.where(jump[last], warped.before[last], warped.after[last])
        split = np.flatnonzero(jump)
        return cls(lattices, token, split, time, warped.after[split])

    def sizes(self) -> Offsets:
        """[utterances] how many nodes there are."""
        owner = np.searchsorted(self.lattices.node_offsets, self.split, "right") - 1
        return np.diff(self.lattices.node_offsets) + np.bincount(owner, minlength=len(self.lattices))

    def times(self) -> tuple[Offsets, Times]:
        """The utterance and the time of every node: all nodes, then the later ones of those that became two."""
        owner = self.lattices.utterance_of_node
        return np.concatenate([owner, owner[self.split]]), np.concatenate([self.time, self.later])

    def ends(self, base: Offsets) -> tuple[Ints, Ints]:
        """The numbers of each node where arcs end and where arcs begin; `base` is the first of each utterance."""
        offsets = self.lattices.node_offsets
        nodes = np.diff(offsets)
        owner = np.repeat(np.arange(len(nodes)), nodes)
        entered = base[owner] + np.arange(len(owner)) - offsets[owner]
        left = entered.copy()
        mine = owner[self.split]
        rank = np.arange(len(mine)) - np.searchsorted(mine, mine)
        left[self.split] = base[mine] + nodes[mine] + rank
        start, end = offsets[:-1], offsets[1:] - 1
        whole = np.ones(len(owner), bool)
        whole[self.split] = False
        left[start] = np.where(whole[start], _START, left[start])
        entered[end] = np.where(whole[end], _END, entered[end])
        entered[start], left[end] = _START, _END
        return entered.astype(np.int32), left.astype(np.int32)

    def arcs(self, base: Offsets, system: int) -> dict[str, NDArray[np.generic]]:
        """The arcs as columns, those of split nodes last."""
        lattices, (entered, left) = self.lattices, self.ends(base)
        arc_owner = lattices.utterance_of_arc
        node_owner = np.searchsorted(lattices.node_offsets, self.split, "right") - 1
        assert lattices.posterior is not None
        assert lattices.picked is not None
        out = np.bincount(lattices.batch_source, lattices.posterior, len(self.time))
        into = np.bincount(lattices.batch_target, lattices.posterior, len(self.time))
        through = np.minimum(np.maximum(out, into), 1.0)[self.split].astype(np.float32)
        printed, split = lattices.extra[PRINTED], self.split
        return {
            "owner": np.concatenate([arc_owner, node_owner]),
            "source": np.concatenate([left[lattices.batch_source], entered[self.split]]),
            "target": np.concatenate([entered[lattices.batch_target], left[self.split]]),
            "token": np.concatenate([self.token, np.zeros(len(self.split), np.int32)]),
            "posterior": np.concatenate([lattices.posterior, through]),
            CONFIDENCE: np.concatenate([lattices.extra[CONFIDENCE], through]),
            _PICKED: np.concatenate([lattices.picked, self._through(lattices.picked)[split]]).astype(np.float32),
            PRINTED: np.concatenate([printed, self._through(printed > 0)[split]]).astype(np.float32),
            _SYSTEM: np.full(len(arc_owner) + len(self.split), system, np.float32),
        }

    def _through(self, on_path: Flags) -> Flags:
        """[nodes] which a path through such arcs goes through."""
        found = np.zeros(len(self.time), bool)
        found[self.lattices.batch_source[on_path]] = True
        found[self.lattices.batch_target[on_path]] = True
        return found


def _joined(parts: Sequence[_Part], pivot: Lattices) -> RawLattices:
    """All recognizers' nodes and arcs between one start and one end."""
    utterances, sizes = len(pivot), np.stack([part.sizes() for part in parts])
    bases = _OWN + np.cumsum(sizes, axis=0) - sizes
    node_offsets = csr_offsets(_OWN + sizes.sum(axis=0))
    time = np.empty(node_offsets[-1])
    time[node_offsets[:-1] + _START] = pivot.time[pivot.node_offsets[:-1]]
    time[node_offsets[:-1] + _END] = parts[0].time[pivot.node_offsets[1:] - 1]
    for part, base in zip(parts, bases, strict=True):
        owner, times = part.times()
        order = np.argsort(owner, kind="stable")
        rank = np.arange(len(owner)) - np.searchsorted(owner[order], owner[order])
        time[node_offsets[owner[order]] + base[owner[order]] + rank] = times[order]
    columns = [part.arcs(base, system) for system, (part, base) in enumerate(zip(parts, bases, strict=True))]
    joined = {name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
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
        extra={name: arcs[name].astype(np.float32) for name in (CONFIDENCE, PRINTED, _SYSTEM, _PICKED)},
        notes=pivot.notes,
    )


def _merged(joined: Lattices, systems: int, tolerance: float, letters: Letters) -> Union:
    networks = build(joined, tolerance=tolerance)
    arcs, merged = len(networks.lattices.source), networks.arc >= 0
    place = networks.arc[merged].astype(np.int64) * systems + joined.extra[_SYSTEM][merged].astype(np.int64)

    def table(values: Floats) -> Floats:
        found = np.bincount(place, values[merged], arcs * systems).reshape(arcs, systems)
        return np.minimum(found, 1.0).astype(np.float32)

    assert joined.posterior is not None
    own, posterior = table(joined.extra[_PICKED]) > 0, table(joined.posterior)
    mean = posterior.mean(axis=1, dtype=np.float32)
    lattices = replace(networks.lattices, picked=own[:, 0].copy(), extra={}, posterior=mean)
    printed = table(joined.extra[PRINTED]) > 0
    return Union(lattices, table(joined.extra[CONFIDENCE]), posterior, own, printed, letters)
