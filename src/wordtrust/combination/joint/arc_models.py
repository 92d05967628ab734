"""How much the evidence of each recognizer counts: small models that turn evidence into probabilities of arcs.

`PotentialModel` gives every arc a potential: a linear part and one hidden layer, separate for words and for silence.
The probability of a path is proportional to exp(sum of its potentials), and forward-backward gives the probability of
an arc (its marginal). So words that exclude each other share the probability mass, and "nothing was said here" is a
candidate like any other.

`ConfidenceModel` gives the confidence of an arc: its marginal, times the chance that any of the competing words is
right at all. Weights fitted for the fewest errors make paths more certain than they are, so confidences have weights
of their own, fitted by the cross entropy of all words of a union.

Inputs of recognizers that are absent are left out, which is the same as setting them to 0: one model, fitted on ever
new subsets, serves all subsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ...lattices.lattice import Flags
from ...lattices.posterior import FlatGraph, arc_masses, arc_shares
from ...lattices.weights import Reals
from .evidence import Evidence
from .union import JointLattice

Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]

# The names of the inputs are part of the model file.
PER_SYSTEM = (
    "there", "word", "word_logit", "own", "rival", "rival_logit", "nothing_logit", "silence_logit", "posterior_logit",
    "arc_logit", "alike", "alike_share", "own_alike", "sure", "agreed", "sure_word", "agreed_word", "printed",
)  # fmt: skip
SHARED = (
    "one", "largest", "largest_logit", "second", "votes", "mean", "seconds", "arc_logit", "posterior_logit", "alike",
    "most_alike", "letters", "seconds_a_letter", "one_letter", "said", "share_of_votes",
)  # fmt: skip
_CLIP = 0.002  # probabilities closer to 0 and 1 count like this
_MIN_WORDS = 0.02  # words with less total confidence say nothing about spelling
_SCALE = float(np.log(1 / _CLIP - 1))  # brings logits to [-1, 1]
_MAX_LETTERS, _MAX_SECONDS_A_LETTER = 12, 0.3
_MAX_LOGIT = 30.0


def scaled_logit(probability: Matrix) -> Matrix:
    """Log odds of clipped probabilities, scaled to [-1, 1]."""
    clipped = np.clip(probability, np.float32(_CLIP), np.float32(1 - _CLIP))
    odds: Matrix = np.log(clipped / (1 - clipped)) / np.float32(_SCALE)
    return odds


def inputs(union: JointLattice, evidence: Evidence) -> Matrix:
    """[arcs, columns] the inputs of the models: `PER_SYSTEM` for each member in turn, then `SHARED`."""
    arcs, members = evidence.word.shape
    table = np.empty((arcs, columns_of(members)), np.float32)
    for column, values in enumerate(_per_system(evidence)):
        table[:, column : members * len(PER_SYSTEM) : len(PER_SYSTEM)] = values
    for column, values in enumerate(_shared(union, evidence)):
        table[:, members * len(PER_SYSTEM) + column] = values
    return table


def _per_system(evidence: Evidence) -> tuple[Matrix | float, ...]:
    """[arcs, members] each: the columns of `PER_SYSTEM`."""
    word, words, odds = evidence.word, evidence.words, scaled_logit(evidence.word)
    similarity, sure, peers = evidence.spelling_similarity, evidence.mean_confidence, evidence.peer_confidence
    return (
        1.0, word, odds, evidence.in_output, evidence.rival, scaled_logit(evidence.rival), scaled_logit(1 - words),
        scaled_logit(evidence.silence), scaled_logit(evidence.posterior), scaled_logit(evidence.arc), similarity,
        np.where(words > _MIN_WORDS, similarity / np.maximum(words, np.float32(0.1)), 0), evidence.output_similarity,
        sure, peers, sure * odds, peers * odds, evidence.in_one_best,
    )  # fmt: skip


def _shared(union: JointLattice, evidence: Evidence) -> tuple[NDArray[np.floating] | float, ...]:
    """[arcs] each: the columns of `SHARED`."""
    lattices, word, similarity = union.lattices, evidence.word, evidence.spelling_similarity
    share_of_votes = evidence.in_output.mean(axis=1)
    seconds = lattices.end_time - lattices.start_time
    letters, largest = union.letters.lengths[lattices.word], word.max(axis=1)
    assert lattices.posterior is not None
    return (
        1.0, largest, scaled_logit(largest), _second_largest(word), share_of_votes**2, word.mean(axis=1) ** 2,
        np.minimum(seconds, 1.0), scaled_logit(evidence.arc.max(axis=1)), scaled_logit(lattices.posterior),
        similarity.mean(axis=1), similarity.max(axis=1), np.minimum(letters, _MAX_LETTERS) / _MAX_LETTERS,
        np.minimum(seconds / np.maximum(letters, 1), _MAX_SECONDS_A_LETTER) / _MAX_SECONDS_A_LETTER,
        (letters == 1).astype(np.float32), evidence.in_output.max(axis=1), share_of_votes,
    )  # fmt: skip


def _second_largest(word: Matrix) -> Matrix:
    """The second largest value of each row, 0 where there is only one."""
    if word.shape[1] < 2:
        return np.zeros(len(word), np.float32)
    parted: Matrix = np.partition(word, -2, axis=1)
    return parted[:, -2]


def columns_of(systems: int) -> int:
    """How many inputs there are for so many recognizers."""
    return systems * len(PER_SYSTEM) + len(SHARED)


def rows_of(members: Sequence[int], systems: int) -> Rows:
    """Which rows of the weights belong to the inputs of these members."""
    of_member = np.arange(len(PER_SYSTEM))
    own = [member * len(PER_SYSTEM) + of_member for member in members]
    return np.concatenate([*own, systems * len(PER_SYSTEM) + np.arange(len(SHARED))])


@dataclass(slots=True)
class Layers:
    """The weights for one kind of arc."""

    skip: Matrix  # [columns] the linear part
    hidden: Matrix  # [columns, hidden]
    bias: Matrix  # [hidden]
    out: Matrix  # [hidden]

    @classmethod
    def new(cls, columns: int, hidden: int, random: np.random.Generator) -> Layers:
        """Small random weights."""
        return cls(
            np.zeros(columns, np.float32),
            random.normal(0, 0.2, (columns, hidden)).astype(np.float32),
            np.zeros(hidden, np.float32),
            random.normal(0, 0.1, hidden).astype(np.float32),
        )

    def potential(self, x: Matrix, rows: Rows) -> tuple[Matrix, Matrix]:
        """The potential of each row of `x`, and the hidden activations that `gradient` needs."""
        active = np.maximum(x @ self.hidden[rows] + self.bias, 0)
        return x @ self.skip[rows] + active @ self.out, active

    def gradient(self, x: Matrix, rows: Rows, active: Matrix, slope: Matrix) -> Layers:
        """The gradient by the weights, given that by the potentials."""
        gradient = Layers(*(np.zeros_like(getattr(self, field.name)) for field in fields(self)))
        inner = (slope[:, None] * self.out) * (active > 0)
        gradient.skip[rows] = slope @ x
        gradient.hidden[rows] = x.T @ inner
        gradient.bias[:] = inner.sum(axis=0)
        gradient.out[:] = slope @ active
        return gradient


@dataclass(slots=True)
class PotentialModel:
    """Potentials of arcs for any subset of the recognizers it was fitted for."""

    systems: int  # how many it was fitted for
    word: Layers
    silence: Layers

    @classmethod
    def new(cls, systems: int, hidden: int, seed: int) -> PotentialModel:
        """An unfitted model with small random weights."""
        random = np.random.default_rng(seed)
        return cls(systems, *(Layers.new(columns_of(systems), hidden, random) for _ in range(2)))

    def potentials(self, x: Matrix, silent: Flags, members: Sequence[int]) -> Reals:
        """[arcs] the potential of every arc of a union."""
        rows, potentials = rows_of(members, self.systems), np.empty(len(x))
        potentials[~silent] = self.word.potential(x[~silent], rows)[0]
        potentials[silent] = self.silence.potential(x[silent], rows)[0]
        return potentials


@dataclass(frozen=True, slots=True, eq=False)
class ConfidenceModel:
    """Confidences of arcs: weights of paths, and of the chance that the best of competing words is right at all."""

    paths: PotentialModel
    right: Layers

    def confidence(self, flat: FlatGraph, x: Matrix, silent: Flags, members: Sequence[int]) -> Reals:
        """[arcs] the chance that each arc is right; at any instant these sum to at most 1."""
        share, chance = self.share_and_chance(flat, x, silent, members)
        return share * chance

    def share_and_chance(
        self, flat: FlatGraph, x: Matrix, silent: Flags, members: Sequence[int]
    ) -> tuple[Reals, Reals]:
        """[arcs] the probability of each arc, and the chance that it is right if it is on the path; 1 of silence."""
        share, chance = marginals(flat, self.paths.potentials(x, silent, members)), np.ones(len(silent))
        chance[~silent] = sigmoid(self.right.potential(x[~silent], rows_of(members, self.paths.systems))[0])
        return share, chance


def sigmoid(odds: Matrix) -> Reals:
    """Probabilities from log odds, in double precision."""
    probability: Reals = 1 / (1 + np.exp(-np.clip(odds.astype(np.float64), -_MAX_LOGIT, _MAX_LOGIT)))
    return probability


def marginals(flat: FlatGraph, potential: Reals) -> Reals:
    """[arcs] the probability of each arc, by forward-backward."""
    share, _ = arc_shares(flat, potential)
    arc_masses(flat, share)
    return share
