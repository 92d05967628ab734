"""The heterogeneous word confusion network (HWCN): a lattice whose nodes of similar time are merged into one node,
and whose arcs with the same ends and the same word, or words that count as the same, are merged into one arc.

A classic confusion network forces every hypothesis into one segmentation; the HWCN keeps all of them.

*Nodes* are taken in the order of the lattice (time, then depth) and cut into runs from left to right: a new run
begins where the next node lies more than the tolerance after the first of the run, or where a word arc leads to it
from inside the run. Each run becomes one node. Hence

- the times in a merged node span at most the tolerance, and no word is ever lost, however short;
- arcs lead from a run to a later one: the network has no cycle and keeps the order of time;
- start and end stay apart; silence arcs inside a run are absorbed by its node, others stay;
- which nodes and arcs there are depends on the graph and its times alone: not on scores or scales, and not on the
  order of arcs or the numbers of nodes in a file.

A merged node's time is the mean of its nodes' times, weighted by their posteriors; start and end keep theirs.

*Scores* of an arc e from v that is merged from e_1 ... e_n, which leave v_1 ... v_n:

- posterior: P(e|X) = sum_i P(e_i|X);
- acoustic: p(X|e) = 1/n sum_i p(X|e_i), in logarithms the log-mean-exp;
- transition: P(e|v) = sum_i P(e_i|v_i) P(v_i) / sum_j P(v_j), where P(v_i) is the prior of a node, from a forward
  pass over transition scores alone, and j runs over all nodes merged into v. Where an absorbed arc joins two of
  these, a path would count twice: the divisor is the prior mass that enters v from outside. With normalised
  transition scores it is also the mass that leaves v, so that the P(e|v) of the arcs leaving v sum to 1.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, overload

import numpy as np

from ..base.arrays import csr_offsets
from ..base.errors import OptionError
from ..lattices.batching import SomeLattices, as_batches
from ..lattices.lattice import Flags, Floats, Ints, Lattice, Lattices, Offsets, Origin, concatenate
from ..lattices.paths import one_best
from ..lattices.posterior import FlatGraph, arc_masses, arc_shares, posteriors, push_scores, to_float32
from ..lattices.weights import Reals, Scales
from . import hwcn_kernels as kernels
from .equivalents import Equate
from .equivalents.classes import word_classes

TOLERANCE = 0.1  # seconds
SHARE = "share"  # evidence of N-best lists: the share of the arc's hypothesis among all, whatever the spelling
_ROUNDING = 1e-6  # seconds: 0.4 - 0.3 is a little more than 0.1
_KEYS = np.array([secrets.randbits(64) | 1 for _ in range(3)], np.uint64)  # of a hash table
_ON_PATH = 1e6  # weighs more than all posteriors of a batch
_TINY = 1e-280  # smaller probabilities are summed as logarithms


class Members(NamedTuple):
    """Which arcs of the lattices each arc of the networks was merged from; all count through the batch."""

    offsets: Offsets  # [network arcs + 1] network arc e was merged from
    arcs: Offsets  # arcs[offsets[e]:offsets[e + 1]], in their order

    @classmethod
    def of(cls, arc: Ints, count: int) -> Members:
        """Of `count` network arcs, out of the network arc of every lattice arc."""
        offsets, arcs = np.zeros(count + 1, np.int64), np.empty(np.count_nonzero(arc != kernels.ABSORBED), np.int64)
        kernels.list_members(arc, offsets, arcs)
        return cls(offsets, arcs)


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Network:
    """One utterance of `Networks`. All numbers count within the utterance."""

    lattice: Lattice  # the merged graph
    node: Ints  # [lattice nodes] the network node each was merged into
    arc: Ints  # [lattice arcs] the network arc each was merged into, -1 where it was absorbed by a node
    members: tuple[tuple[int, ...], ...]  # [network arcs] the lattice arcs that each was merged from

    def __repr__(self) -> str:
        merged = sum(map(len, self.members))
        return f"<Network of {merged} lattice arcs: {repr(self.lattice).removeprefix('<Lattice ')}"


@dataclass(frozen=True, eq=False, repr=False)
class Networks(Sequence[Network]):
    """Networks of many utterances, and how they came about.

    `lattices` has the merged graphs: posteriors are always there, `picked` is the recognizer's own 1-best, and
    `scales` are those that the posteriors were made with. Nodes count within their utterance, arcs through the batch.
    """

    lattices: Lattices
    tolerance: float
    node_offsets: Offsets  # [utterances + 1] of the original lattices
    arc_offsets: Offsets
    node: Ints  # [lattice nodes] the network node each was merged into
    arc: Ints  # [lattice arcs] the network arc each was merged into, -1 where it was absorbed by a node

    @cached_property
    def members(self) -> Members:
        """The lattice arcs that each network arc was merged from."""
        return Members.of(self.arc, len(self.lattices.source))

    def __repr__(self) -> str:
        return f"<Networks merged within {self.tolerance:g} s: {repr(self.lattices).removeprefix('<Lattices: ')}"

    def __len__(self) -> int:
        return len(self.lattices)

    @overload
    def __getitem__(self, index: int) -> Network: ...
    @overload
    def __getitem__(self, index: slice) -> list[Network]: ...

    def __getitem__(self, index: int | slice) -> Network | list[Network]:
        chosen = range(len(self))[index]
        return self._view(chosen) if isinstance(chosen, int) else [self._view(i) for i in chosen]

    def _view(self, index: int) -> Network:
        first, after = self.lattices.arc_offsets[index : index + 2].tolist()
        first_arc, after_arc = self.arc_offsets[index : index + 2].tolist()
        arc = self.arc[first_arc:after_arc]
        cuts = self.members.offsets[first : after + 1].tolist()
        members = (self.members.arcs[cuts[0] : cuts[-1]] - first_arc).tolist()
        return Network(
            self.lattices[index],
            self.node[self.node_offsets[index] : self.node_offsets[index + 1]],
            np.where(arc == kernels.ABSORBED, arc, arc - np.int32(first)),
            tuple(tuple(members[begin - cuts[0] : end - cuts[0]]) for begin, end in pairwise(cuts)),
        )


def build(
    lattices: SomeLattices,
    *,
    tolerance: float = TOLERANCE,
    scales: Scales | None = None,
    push: bool = True,
    equate: Equate | str = "none",
) -> Networks:
    """Build the HWCNs of a lattice, a batch or a list; the equations of merging stand at the top of this module.

    `tolerance` is in seconds; posteriors are made with `scales`, or those of the lattices. With `push`, acoustic and
    transition scores are made local before they are merged (see `posterior.push_scores`) where lattices have
    transition scores. Acoustic scores alone (N-best lists) are each word's own already and stay as they are. Arcs
    with words that count as the same (`equate`: "all" as `wordtrust build` has it, or "numbers,spelling", ...) become
    one arc too, with the word of the 1-best, else the likeliest.
    """
    if not 0 <= tolerance < np.inf:
        raise OptionError(f"the tolerance is in seconds, from 0 on, not {tolerance}")
    batch, equated = (
        lattices if isinstance(lattices, Lattices) else concatenate(as_batches(lattices)),
        Equate.parse(equate),
    )
    layout = _MergeGroups.of(batch, tolerance, word_classes(batch, equated))
    origin = replace(batch.origin, tolerance=tolerance, equate=str(equated))
    return Networks(
        lattices=_merged(batch, layout, scales or batch.scales, push, origin),
        tolerance=tolerance,
        node_offsets=batch.node_offsets,
        arc_offsets=batch.arc_offsets,
        node=layout.node,
        arc=layout.group,
    )


@dataclass(frozen=True, slots=True)
class _MergeGroups:
    """Which nodes and arcs of a batch become which, before any score is merged. Arcs count through the batch."""

    flat: FlatGraph  # the lattices as one graph
    node: Ints  # [lattice nodes] network node within the utterance
    group: Ints  # [lattice arcs] network arc, -1 where absorbed
    node_offsets: Offsets  # [utterances + 1] of the network
    arc_offsets: Offsets
    source: Ints  # [network arcs]
    target: Ints
    word: Ints
    surface: Ints  # of the first member
    size: Ints  # number of members
    mixed: Flags  # whether members have different surfaces
    mixed_words: Flags  # whether members have different words, which count as the same

    @classmethod
    def of(cls, batch: Lattices, tolerance: float, classes: Ints | None) -> _MergeGroups:
        """Where words have classes, arcs of the same class merge, and `word` is that of their first member."""
        flat = FlatGraph.of(batch)
        node, node_counts = np.empty(len(batch.time), np.int32), np.empty(len(batch), np.int64)
        kernels.merge_nodes(
            batch.node_offsets, flat.source, flat.target, batch.time, batch.word, tolerance + _ROUNDING,
            node, node_counts,
        )  # fmt: skip
        counts, mixed = np.empty(len(batch), np.int64), np.zeros(len(batch.source), bool)
        group, source, target, word, surface, size = (np.empty(len(batch.source), np.int32) for _ in range(6))
        compared = batch.word if classes is None else classes[batch.word]
        compared.flags.writeable = False  # as those of lattices are, or the kernel would be compiled twice
        groups = kernels.group_arcs(
            batch.arc_offsets, flat.source, flat.target, compared, batch.surface, node,
            source, target, word, surface, size, mixed, group, counts, _KEYS,
        )  # fmt: skip
        # Copies, so that nothing as large as the lattices stays behind the networks.
        source, target, word, surface, size = (
            values[:groups].copy() for values in (source, target, word, surface, size)
        )
        mixed_words = np.zeros(groups, bool)
        if classes is not None:
            kernels.first_words(group, batch.word, word, mixed_words)
        ends = csr_offsets(node_counts), csr_offsets(counts)
        return cls(flat, node, group, *ends, source, target, word, surface, size, mixed[:groups], mixed_words)

    def sums(self, values: Reals) -> Reals:
        """[network arcs] the sum over the members of each."""
        total = np.zeros(len(self.source))
        kernels.sums(self.group, values, total)
        return total

    def log_sums(self, logs: Reals) -> Reals:
        """[network arcs] the log-sum-exp over the members of each."""
        total = np.empty(len(self.source))
        kernels.log_sums(self.group, logs, total)
        return total

    def in_batch(self, nodes: Ints) -> Offsets:
        """[network arcs] nodes numbered within their utterance, numbered through the batch."""
        return np.repeat(self.node_offsets[:-1], np.diff(self.arc_offsets)) + nodes


def _merged(batch: Lattices, layout: _MergeGroups, scales: Scales, push: bool, origin: Origin) -> Lattices:
    """The graph of the networks with all its scores."""
    posterior, time = posteriors(batch, scales, flat=layout.flat), np.empty(layout.node_offsets[-1])
    kernels.merge_times(batch.node_offsets, batch.time, posterior.node, layout.node, time)
    printed = one_best(batch).arcs_in(batch)
    word, surface = _merge_spellings(batch, layout, posterior.arc, printed)
    return replace(
        batch,
        node_offsets=layout.node_offsets,
        arc_offsets=layout.arc_offsets,
        time=time,
        source=layout.source,
        target=layout.target,
        word=word,
        surface=surface,
        acoustic=_merge_acoustic(batch, layout, push),
        transition=_merge_transition(batch, layout, push),
        posterior=np.minimum(layout.sums(posterior.arc), 1.0).astype(np.float32),  # P(e|X) = sum_i P(e_i|X)
        picked=_picked(layout, printed),
        extra=_merge_extra(batch, layout, posterior.arc),
        scales=scales,
        origin=origin,
    )


def _merge_surfaces(batch: Lattices, layout: _MergeGroups, posterior: Reals) -> Ints:
    """The surface with the largest posterior among all members; ties go to the one that comes first."""
    if not layout.mixed.any():
        return layout.surface
    arcs = np.empty(len(batch.source), np.int64)
    arcs = arcs[: kernels.list_marked(layout.group, layout.mixed, arcs)]
    groups, best = _heaviest(layout.group[arcs], batch.surface[arcs], posterior[arcs], len(batch.vocabulary))
    surface = layout.surface.copy()
    surface[groups] = best
    return surface


def _heaviest(owner: Ints, ids: Ints, weight: Reals, size: int) -> tuple[Offsets, Offsets]:
    """For each owner, the id below `size` whose weights have the largest sum; ties go to the one that comes first."""
    pairs, first, pair = np.unique(owner.astype(np.int64) * size + ids, return_index=True, return_inverse=True)
    owners, total = pairs // size, np.bincount(pair, weight)
    order = np.lexsort((first, -total, owners))
    best = order[np.diff(owners[order], prepend=-1) > 0]
    return owners[best], pairs[best] % size


def _merge_spellings(batch: Lattices, layout: _MergeGroups, posterior: Reals, printed: Offsets) -> tuple[Ints, Ints]:
    """The word and the surface of every arc.

    Of words that count as the same, the one on the recognizer's own 1-best (`printed`), or else the one with the
    largest posterior among all members; ties go to the one that comes first.
    """
    surface = _merge_surfaces(batch, layout, posterior)
    if not layout.mixed_words.any():
        return layout.word, surface
    members = np.empty(len(batch.source), np.int64)
    members = members[: kernels.list_marked(layout.group, layout.mixed_words, members)]
    on_path = np.zeros(len(batch.source), np.bool_)
    on_path[printed] = True
    weight, word, surface = posterior[members] + _ON_PATH * on_path[members], layout.word.copy(), surface.copy()
    choose_spellings(batch, members, layout.group[members], weight, word, surface)
    return word, surface


def choose_spellings(batch: Lattices, arcs: Offsets, owner: Ints, weight: Reals, word: Ints, surface: Ints) -> None:
    """Of the words that `arcs` bring to the network arcs `owner`, take the heaviest, and its heaviest surface.

    `word` and `surface` of the network arcs are changed in place; ties go to the one that comes first.
    """
    size = len(batch.vocabulary)
    groups, best = _heaviest(owner, batch.word[arcs], weight, size)
    word[groups] = best
    says_it = batch.word[arcs] == word[owner]
    groups, best = _heaviest(owner[says_it], batch.surface[arcs[says_it]], weight[says_it], size)
    surface[groups] = best


def _merge_extra(batch: Lattices, layout: _MergeGroups, posterior: Reals) -> dict[str, Floats]:
    """Evidence of the most probable member; the share of hypotheses is summed over all of them."""
    if not batch.extra:
        return {}
    leader = np.full(len(layout.source), -1, np.int64)
    kernels.find_leaders(layout.group, posterior, leader)
    merged = {name: values[leader] for name, values in batch.extra.items()}
    if SHARE in merged:
        merged[SHARE] = np.minimum(layout.sums(batch.extra[SHARE].astype(np.float64)), 1.0).astype(np.float32)
    return merged


def _merge_acoustic(batch: Lattices, layout: _MergeGroups, push: bool) -> Floats | None:
    """p(X|e) = 1/n sum_i p(X|e_i)."""
    if batch.acoustic is None:
        return None
    logs = batch.acoustic.astype(np.float64)
    if not (push and batch.transition is not None):
        return to_float32(layout.log_sums(logs) - np.log(layout.size))
    share, after = arc_shares(layout.flat, logs)
    total = layout.sums(share)
    merged = np.log(np.maximum(total, _TINY) / layout.size)
    if total.min(initial=1.0) < _TINY:
        exact = layout.log_sums(push_scores(layout.flat, logs, after)) - np.log(layout.size)
        merged = np.where(total < _TINY, exact, merged)
    return to_float32(merged)


def _merge_transition(batch: Lattices, layout: _MergeGroups, push: bool) -> Floats | None:
    """P(e|v) = sum_i P(e_i|v_i) P(v_i) / (the prior mass that enters v).

    Pushed scores are normalised: then that is the mass that leaves v as well, which is what is summed here.
    """
    if batch.transition is None:
        return None
    logs = batch.transition.astype(np.float64)
    if not push:
        return to_float32(_exact_transition(layout, logs))
    reach, after = arc_shares(layout.flat, logs)
    arc_masses(layout.flat, reach)  # from P(e_i|v_i) to P(e_i|v_i) P(v_i)
    total, source = layout.sums(reach), layout.in_batch(layout.source)
    merged = np.log(np.maximum(total, _TINY) / np.maximum(np.bincount(source, total), _TINY)[source])
    if total.min(initial=1.0) < _TINY:
        exact = _exact_transition(layout, push_scores(layout.flat, logs, after))
        merged = np.where(total < _TINY, exact, merged)
    return to_float32(merged)


def _exact_transition(layout: _MergeGroups, logs: Reals) -> Reals:
    """The same equation, wholly in the log domain, for scores of any size."""
    prior, reach = np.full(len(layout.node), -np.inf), np.empty(len(logs))
    prior[layout.flat.start] = 0.0
    kernels.log_priors(layout.flat.first, layout.flat.target, logs, prior, reach)
    total, mass = layout.log_sums(reach), np.full(layout.node_offsets[-1], -np.inf)
    mass[layout.node_offsets[:-1]] = 0.0
    kernels.entering(layout.in_batch(layout.target), total, mass)
    return total - mass[layout.in_batch(layout.source)]


def _picked(layout: _MergeGroups, printed: Offsets) -> Flags:
    """[network arcs] whether they are what the recognizer itself would print: arcs of the lattices."""
    groups = layout.group[printed]
    picked = np.zeros(len(layout.source), bool)
    picked[groups[groups != kernels.ABSORBED]] = True
    return picked
