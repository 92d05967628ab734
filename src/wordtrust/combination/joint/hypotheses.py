"""The hypotheses that one recognizer brings to a joint network: its own network, pruned to what it believes.

An arc stays if its confidence or posterior exceeds a minimum, if it is on the best-confidence output or on the
recognizer's own 1-best, or if a path from start to end through such an arc needs it. So every word that stays is on
a complete path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import row_offsets
from ...base.errors import OptionError
from ...base.jit import compiled
from ...lattices.lattice import Flags, Floats, Lattices, Offsets, concatenate
from ...lattices.path_kernels import Numbers
from ...lattices.paths import Paths, one_best
from ...lattices.posterior import FlatGraph, select_arcs
from ...lattices.vocabulary import Vocabulary, renumbered
from ...lattices.weights import Reals

MIN_CONFIDENCE = 0.02
CONFIDENCE, IN_ONE_BEST = "confidence", "one_best"  # of each arc, among `Lattices.extra`
MISSING_BEFORE, MISSING_AFTER = "missing_before", "missing_after"  # of each word of the output; 0: not known
MAX_LETTERS = 24  # of a word that are compared
Codes = NDArray[np.uint32]
_MIN_POSTERIOR = 1e-30
_LEAST_MISSING = 1e-6  # what is known is not 0


def hypotheses(
    networks: Lattices, confidence: Floats | Reals, output: Paths, vocabulary: Vocabulary, *,
    missing: Reals | None = None, minimum: float = MIN_CONFIDENCE,
) -> Lattices:  # fmt: skip
    """Prune scored networks to the arcs that matter; `output` (the best-confidence words) becomes `picked`.

    Words are renumbered by `vocabulary`, which all recognizers of a joint network share. `missing` is how likely
    words are missing in each gap of the output (before its first word, between two, after the last), where the model
    tells.
    """
    if networks.posterior is None:
        raise OptionError("hypotheses are joined by confidences and posteriors; build networks first")
    if confidence.shape != networks.word.shape or not np.isfinite(confidence).all():
        raise OptionError(f"{len(networks.word)} arcs need one finite confidence each, not {confidence.shape}")
    picked, in_one_best = on_paths(networks, output), on_paths(networks, one_best(networks))
    arc_confidence = np.where(networks.word > 0, confidence, networks.posterior).astype(np.float32)
    keep = (np.maximum(arc_confidence, networks.posterior) > minimum) | picked | in_one_best
    _keep_complete_paths(networks, keep)
    beside = dict(zip((MISSING_BEFORE, MISSING_AFTER), _missing_beside(networks, output, missing), strict=True))
    own = {CONFIDENCE: np.clip(arc_confidence, 0.0, 1.0), IN_ONE_BEST: in_one_best.astype(np.float32)}
    kept = replace(
        networks, acoustic=None, transition=None, picked=picked, extra=own | beside,
        word=renumbered(networks.word, networks.vocabulary, vocabulary),
        surface=renumbered(networks.surface, networks.vocabulary, vocabulary), vocabulary=vocabulary,
    )  # fmt: skip
    return select_arcs(kept, keep)


def align_utterances(hypotheses: Sequence[Lattices]) -> list[Lattices]:
    """Reduce all recognizers to the utterances that they share, in the order of the first."""
    shared = set(hypotheses[0].utts).intersection(*(lattices.utts for lattices in hypotheses[1:]))
    utts = [utt for utt in hypotheses[0].utts if utt in shared]
    return [_in_order(lattices, utts) for lattices in hypotheses]


def _in_order(lattices: Lattices, utts: Sequence[str]) -> Lattices:
    if list(lattices.utts) == list(utts):
        return lattices
    row = {utt: index for index, utt in enumerate(lattices.utts)}
    return concatenate(lattices[row[utt] : row[utt] + 1] for utt in utts)


@dataclass(frozen=True, slots=True, eq=False)
class Letters:
    """The letters of all words of a vocabulary, end to end."""

    code: Codes
    offsets: Offsets  # [words + 1]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> Letters:
        """Split words into letters, long ones cut to `MAX_LETTERS`."""
        words = [word[:MAX_LETTERS] for word in vocabulary.strings]
        text = "".join(words).encode("utf-32-le", "surrogatepass")
        return cls(np.frombuffer(text, np.uint32).copy(), row_offsets(words))

    @property
    def lengths(self) -> Offsets:
        """[words] how many letters each has."""
        lengths: Offsets = np.diff(self.offsets)
        return lengths


def on_paths(networks: Lattices, paths: Paths) -> Flags:
    """[arcs] which arcs are on the paths, silence included."""
    on_path = np.zeros(len(networks.word), bool)
    on_path[paths.arcs_in(networks)] = True
    return on_path


def _missing_beside(networks: Lattices, output: Paths, missing: Reals | None) -> Floats:
    """[2, arcs] how likely words are missing before and after each word of the output; 0 elsewhere, or if unknown."""
    beside = np.zeros((2, len(networks.word)), np.float32)
    if missing is not None:
        words = output.without_silence(networks)
        gap = np.arange(len(words.arcs)) + words.utterance_of_arc  # the one before each word
        beside[:, words.arcs_in(networks)] = np.maximum(missing[[gap, gap + 1]], _LEAST_MISSING)
    return beside


def _keep_complete_paths(networks: Lattices, keep: Flags) -> None:
    """Also keep, for every arc that is kept already, the most probable path from start to end through it."""
    assert networks.posterior is not None
    flat, nodes = FlatGraph.of(networks), len(networks.time)
    score = np.log(np.maximum(networks.posterior.astype(np.float64), _MIN_POSTERIOR))
    before, after = np.full(nodes, -np.inf), np.full(nodes, -np.inf)
    before[flat.start] = after[networks.node_offsets[1:] - 1] = 0.0
    best_arcs = np.full((2, nodes), -1, np.int64)
    _mark_best_paths(flat.source, flat.target, score, before, after, best_arcs[0], best_arcs[1], keep)


@compiled
def _mark_best_paths(source: Numbers, target: Numbers, score: Reals, before: Reals, after: Reals, best_in: Offsets,
                     best_out: Offsets, keep: Flags) -> None:  # fmt: skip
    """`before` is 0 at every start, `after` at every end; `best_in` and `best_out` come filled with -1."""
    arcs, nodes = len(source), len(before)
    for arc in range(arcs):
        total = before[source[arc]] + score[arc]
        if total > before[target[arc]]:
            before[target[arc]], best_in[target[arc]] = total, arc
    for arc in range(arcs - 1, -1, -1):
        total = after[target[arc]] + score[arc]
        if total > after[source[arc]]:
            after[source[arc]], best_out[source[arc]] = total, arc
    entered, left = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
    for arc in range(arcs):
        if keep[arc]:
            entered[source[arc]] = left[target[arc]] = True
    for node in range(nodes - 1, -1, -1):
        if entered[node] and best_in[node] >= 0:
            keep[best_in[node]] = True
            entered[source[best_in[node]]] = True
    for node in range(nodes):
        if left[node] and best_out[node] >= 0:
            keep[best_out[node]] = True
            left[target[best_out[node]]] = True
