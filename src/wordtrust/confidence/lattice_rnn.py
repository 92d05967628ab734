"""The lattice RNN without torch: confidences of the arcs of networks, one utterance or a million.

A call is cut into parts of some thousand arcs, one thread each; a part has its features made at once and is cut into
chunks of utterances of similar depth, which go through both directions level by level. Chunks are small enough for
what they need to stay in the processor's cache, and large enough for matrix products at full speed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.blas import one_blas_thread
from ..base.errors import InputError
from ..base.threads import available_cores
from ..lattices.lattice import Floats, Ints, Lattices
from ..lattices.paths import Paths
from ..lattices.posterior import FlatGraph, arc_masses, arc_shares
from ..lattices.weights import Reals
from ..networks.gaps import Gaps
from . import features
from .config import Config, weight_shapes
from .features import Arcs, Statistics
from .gap_head import GapHead
from .lattice_formula import LatticeFormula
from .lattice_rnn_kernels import lstm, node_levels, number_nodes, order_arcs
from .levels import Numbers, in_batches, local_log_posterior, merge_weights, skip_logit
from .trees import Trees, with_evidence
from .word_table import WordCache, WordTable

PART = 16_384  # arcs
CHUNK = 8_192
TILE = 384  # arcs whose gates are made with one product, where levels are small
SUREST = 80.0  # as a logit: in single precision the sigmoid is 1 long before
_SIGMOID_GATES = (0, 1, 3)  # input, forget and output gate; the other ends in a tanh
_REMEDY = "Its parts do not belong together or were damaged: train it or fetch it again"

Weights = Mapping[str, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class ArcScores:
    """What a model knows of the arcs of networks."""

    confidence: Floats  # [arcs] how likely each word is right; of silence its share
    share: Reals  # [arcs] of all paths; the posterior where confidences are independent
    chance: Reals  # [arcs] that a word is right where it is on the path; not meant for silence
    network_chance: Reals  # [arcs] the same by the network alone, before trees correct it
    hidden: Floats | None  # [arcs, hidden] where the model tells where words are missing
    features: Floats  # [arcs, columns] as the network saw them


class _ArcOutputs(NamedTuple):
    """Of some arcs."""

    outputs: Floats  # [arcs, outputs] corrected by trees, where there are any
    logit: Floats  # [arcs] the last of them before trees corrected it
    features: Floats  # [arcs, columns]
    hidden: Floats | None  # [arcs, hidden] if the head for missing words needs it


class LatticeRNNScorer:
    """A lattice RNN, ready to score networks. May be used from several threads at once."""

    def __init__(
        self,
        config: Config,
        weights: Weights,
        table: WordTable,
        statistics: Statistics,
        *,
        threads: int | None = None,
        lenient: bool = False,  # about columns that networks do not have
        trees: Trees | None = None,
        lattices: LatticeFormula | None = None,  # in place of both, where it is for the networks
    ) -> None:
        if statistics.columns != config.columns:
            raise InputError("the model's statistics are not those of its features", remedy="Train it again")
        checked = _checked(config, weights)
        ahead, behind = np.split(checked["hidden.weight"], 2, axis=1)
        self.config, self._statistics, self._lenient = config, statistics, lenient
        self._threads, self._trees = threads or available_cores(), trees
        self._lattices = lattices
        if lattices is not None and config.head != "independent":
            raise InputError("a formula for lattices needs independent confidences", remedy=_REMEDY)
        if trees is not None:
            trees.check(len(config.columns))
        self._forwards = _DirectionWeights.of(config, checked, "forwards", ahead)
        self._backwards = _DirectionWeights.of(config, checked, "backwards", behind)
        self._hidden_bias, self._output = checked["hidden.bias"], np.ascontiguousarray(checked["output.weight"].T)
        self._output_bias, self._skip = checked["output.bias"], checked["skip"] if config.skip else None
        self._words = WordCache(table, config, checked.get("embedding.weight"))
        self._gap_head = GapHead(checked) if config.gap else None

    def confidence(self, networks: Lattices) -> Floats:
        """[arcs] how likely each word is right; of silence its posterior, or its share of all paths."""
        return self.scores(networks).confidence

    def scores(self, networks: Lattices) -> ArcScores:
        """All that the model knows of the arcs."""
        outputs, logit, seen, hidden = self._arcs(networks)
        assert networks.posterior is not None
        chance = _sigmoid(outputs[:, -1])
        if self.config.head == "independent":
            share = networks.posterior.astype(np.float64)
            confidence = np.where(networks.word == 0, share, chance)
        else:
            share = path_shares(networks, outputs[:, 0])
            confidence = np.where(networks.word == 0, share, share * chance)
        network_chance = chance if self._trees is None else _sigmoid(logit)
        return ArcScores(confidence.astype(np.float32), share, chance, network_chance, hidden, seen)

    def missing(self, networks: Lattices, scores: ArcScores, paths: Paths) -> Reals | None:
        """[gaps] how likely words are missing in each gap of these paths; None if the model does not tell."""
        if self._gap_head is None or scores.hidden is None:
            return None
        gaps = Gaps.of(networks, paths)
        return self._gap_head.probability(networks, gaps, scores.hidden, scores.share, scores.chance)

    def outputs(self, networks: Lattices) -> Floats:
        """[arcs, outputs] what confidences are made of (see `config.HEADS`): logits, after potentials of paths.

        Trees have corrected them, where the model has any.
        """
        return self._arcs(networks).outputs

    def _arcs(self, networks: Lattices) -> _ArcOutputs:
        """What the network and the trees give for all arcs."""
        if networks.posterior is None:
            raise InputError(
                "these networks have no posteriors", file=networks.origin.file, remedy="Build them again"
            )
        bounds = list(_cut(networks.arc_offsets, PART))
        with one_blas_thread():
            if len(bounds) == 1:
                return self._of_part(networks) if len(networks) else self._of_nothing()
            with ThreadPoolExecutor(min(self._threads, len(bounds))) as pool:
                parts = list(pool.map(self._of_part, (networks[slice(*bound)] for bound in bounds)))
        hidden = [part.hidden for part in parts if part.hidden is not None]
        outputs, logit, seen = (np.concatenate([part[column] for part in parts]) for column in range(3))
        return _ArcOutputs(outputs, logit, seen, np.concatenate(hidden) if hidden else None)

    def _of_nothing(self) -> _ArcOutputs:
        hidden = np.zeros((0, self.config.hidden), np.float32) if self._gap_head else None
        outputs, seen = (np.zeros((0, size), np.float32) for size in (self.config.outputs, len(self.config.columns)))
        return _ArcOutputs(outputs, outputs[:, -1], seen, hidden)

    def _of_part(self, networks: Lattices) -> _ArcOutputs:
        part = _Part.of(networks, self.config.merge, *self._inputs(networks))
        hidden = np.empty((len(networks.source), self.config.hidden), np.float32)
        hidden[:] = self._hidden_bias
        depth = part.ahead[networks.node_offsets[1:] - 1]
        for chunk in in_batches(depth, networks.arc_offsets, CHUNK):
            levels = int(depth[chunk].max())
            for weights, backwards in ((self._forwards, False), (self._backwards, True)):
                _run(self.config, weights, part, _LevelOrder.of(part, chunk, levels, backwards), hidden)
        outputs: Floats = np.maximum(hidden, 0.0, out=hidden) @ self._output + self._output_bias
        if self._skip is not None:
            outputs = outputs + self._skip * self._skip_inputs(part)
        logit = outputs[:, -1]
        if self._trees is not None:
            outputs = self._corrected(part, outputs, self._trees)
        if self._lattices is not None and self._lattices.is_for(networks):
            outputs = self._lattices.log_odds(networks).astype(np.float32)[:, None]
            logit = outputs[:, -1]
        return _ArcOutputs(outputs, logit, part.features, hidden if self._gap_head else None)

    def _corrected(self, part: _Part, outputs: Floats, trees: Trees) -> Floats:
        normalised = self.config.head == "normalised"
        share = path_shares(part.networks, outputs[:, 0]) if normalised else np.ones(len(outputs))
        seen = with_evidence(part.features, part.networks, trees.evidence)
        return trees.correct(seen, share, outputs, part.networks.word != 0)

    def _skip_inputs(self, part: _Part) -> Floats:
        """[arcs, outputs] the recognizer's posteriors, which go straight to the outputs."""
        logit = skip_logit(part.posterior)[:, None]
        if self.config.head == "independent":
            return logit
        local = local_log_posterior(part.networks.batch_source, part.posterior)
        return np.concatenate([local[:, None], logit], axis=1)

    def _inputs(self, networks: Lattices) -> tuple[Floats, Floats]:
        """[arcs, columns] features; [arcs, inputs + 1] these, vectors, and a 1 for the bias."""
        rows, facts = self._words.of(networks.vocabulary, networks.word)
        arcs = Arcs(networks, *facts[rows, :2].T.astype(np.float64))
        columns = len(self.config.columns)
        inputs = np.empty((len(rows), self.config.inputs + 1), np.float32)
        seen = features.normalised(arcs, self._statistics, lenient=self._lenient)
        inputs[:, :columns] = seen
        inputs[:, columns:-1] = facts[:, 2:][rows]
        inputs[:, -1] = 1.0
        return seen, inputs


def path_shares(networks: Lattices, potential: Floats) -> NDArray[np.float64]:
    """[arcs] the share of all paths that goes through each arc, paths being as likely as their potentials say."""
    flat = FlatGraph.of(networks)
    share, _ = arc_shares(flat, potential.astype(np.float64))
    arc_masses(flat, share)
    return share


def _sigmoid(logits: Floats) -> NDArray[np.float64]:
    chance: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-np.clip(logits.astype(np.float64), -SUREST, SUREST)))
    return chance


def _cut(arc_offsets: NDArray[np.int64], arcs: int) -> Iterator[tuple[int, int]]:
    """Runs of utterances of about so many arcs."""
    if arc_offsets[-1] <= arcs:
        return iter([(0, len(arc_offsets) - 1)])
    run = arc_offsets[:-1] // arcs
    cuts = np.flatnonzero(np.diff(run)) + 1
    return pairwise([0, *cuts.tolist(), len(run)])


@dataclass(frozen=True, slots=True)
class _Part:
    """Networks, and what of them does not depend on weights."""

    networks: Lattices
    features: Floats
    inputs: Floats
    posterior: Floats
    ahead: Ints  # [nodes] levels
    behind: Ints
    shares: list[Floats]  # [arcs] in both directions

    @classmethod
    def of(cls, networks: Lattices, merge: str, seen: Floats, inputs: Floats) -> _Part:
        assert networks.posterior is not None
        ahead, behind = node_levels(networks)
        source, target = networks.batch_source, networks.batch_target
        shares = [merge_weights(merge, entered, networks.posterior) for entered in (target, source)]
        return cls(networks, seen, inputs, networks.posterior, ahead, behind, shares)


@dataclass(frozen=True, slots=True)
class _LevelOrder:
    """One direction through a chunk: its arcs by level."""

    arc: Numbers  # [arcs] number of each in the part
    come: Ints  # [arcs] node each comes from, by level
    go: Ints  # [arcs] and goes to; -1 at the end of an utterance
    node_bounds: list[int]
    arc_bounds: list[int]
    share: Floats

    @classmethod
    def of(cls, part: _Part, chunk: Numbers, levels: int, backwards: bool) -> _LevelOrder:
        networks, level = part.networks, part.behind if backwards else part.ahead
        ends = (networks.target, networks.source) if backwards else (networks.source, networks.target)
        nodes, arcs = (
            int((offsets[chunk + 1] - offsets[chunk]).sum())
            for offsets in (networks.node_offsets, networks.arc_offsets)
        )
        node_bounds, number = np.zeros(levels + 1, np.int64), np.empty(nodes, np.int32)
        number_nodes(chunk, networks.node_offsets, level, backwards, node_bounds, number)
        arc, come, go = np.empty(arcs, np.int64), np.empty(arcs, np.int32), np.empty(arcs, np.int32)
        last = np.zeros(nodes + 1, np.int64)
        order_arcs(chunk, networks.node_offsets, networks.arc_offsets, *ends, number, last, arc, come, go)
        arc_bounds = [0, *last[node_bounds[1:] - 1].tolist()]
        return cls(arc, come, go, node_bounds.tolist(), arc_bounds, part.shares[backwards][arc])

    @property
    def most_nodes(self) -> int:
        """Of one level."""
        return max(end - begin for begin, end in pairwise(self.node_bounds))

    def tiles(self) -> Iterator[tuple[int, int]]:
        """Runs of levels: as many as have TILE arcs together, or one."""
        start = 0
        for level in range(1, len(self.arc_bounds)):
            if level + 1 == len(self.arc_bounds) or self.arc_bounds[level + 1] - self.arc_bounds[start] > TILE:
                yield start, level
                start = level


def _run(config: Config, weights: _DirectionWeights, part: _Part, order: _LevelOrder, hidden: Floats) -> None:
    """One direction through a chunk; what it gives to the hidden layer is added to `hidden`."""
    size = config.state
    nodes = np.zeros((order.node_bounds[-1], 2 * size), np.float32)  # [h | c]
    product = np.zeros((order.most_nodes, config.gates), np.float32)
    for start, stop in order.tiles():
        first, last = order.arc_bounds[start], order.arc_bounds[stop]
        rows = order.arc[first:last]
        gates = part.inputs.take(rows, 0) @ weights.input
        state = np.empty((last - first, nodes.shape[1]), np.float32)
        for level in range(start, stop):
            n0, n1, a0, a1 = *order.node_bounds[level : level + 2], *order.arc_bounds[level : level + 2]
            if level:  # at the start all states are 0
                np.matmul(nodes[n0:n1, :size], weights.recurrent, out=product[: n1 - n0])
            lstm(a0, a1, first, n0, order.come, order.go, order.share, gates, product, nodes, state)
        hidden[rows] += state[:, :size] @ weights.hidden


@dataclass(frozen=True, slots=True)
class _DirectionWeights:
    """One direction: gates of sigmoids halved, products with a row vector from the left."""

    input: Floats  # [inputs + 1, gates] the last row is the bias
    recurrent: Floats  # [h, gates]
    hidden: Floats  # [h, hidden] this direction's part of the hidden layer

    @classmethod
    def of(cls, config: Config, weights: Weights, name: str, hidden: Floats) -> _DirectionWeights:
        """Out of weights that were checked."""
        size = config.state
        scale = np.ones(config.gates, np.float32)
        for gate in _SIGMOID_GATES:
            scale[gate * size : (gate + 1) * size] = 0.5
        bias = weights[f"{name}.input.bias"] + weights[f"{name}.recurrent.bias"]
        return cls(
            input=_contiguous(np.concatenate([weights[f"{name}.input.weight"], bias[:, None]], 1).T * scale),
            recurrent=_contiguous(weights[f"{name}.recurrent.weight"].T * scale),
            hidden=_contiguous(hidden.T),
        )


def _checked(config: Config, weights: Weights) -> dict[str, Floats]:
    """The weights as float32; an `InputError` where they are not those of such a model."""
    expected = weight_shapes(config)
    for name in sorted(set(expected) ^ set(weights)):
        what = "lacks" if name in expected else "has more than it should:"
        raise InputError(f"the model {what} the weights {name!r}", remedy=_REMEDY)
    made = {}
    for name, shape in expected.items():
        if weights[name].shape != shape:
            raise InputError(
                f"the weights {name!r} of the model are {weights[name].shape}, not {shape}", remedy=_REMEDY
            )
        made[name] = _contiguous(weights[name])
        if not np.isfinite(made[name]).all():
            raise InputError(f"the weights {name!r} of the model are not all numbers", remedy=_REMEDY)
    return made


def _contiguous(array: Floats) -> Floats:
    return np.ascontiguousarray(array, np.float32)
