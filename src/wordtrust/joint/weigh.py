"""How much the evidence of each recognizer counts: a small model that makes a distribution over paths out of it.

Every arc gets a potential from what all recognizers say about it: a linear part and one hidden layer, for words and
for silence apart. The probability of a path is proportional to exp of the sum of its potentials, and that of an arc
(its marginal) comes from forward-backward, so words that exclude each other share what there is, and "nothing was
said here" is a candidate like any other. The model is fitted by the likelihood of the oracle paths.

Inputs of recognizers that are not there are left out, which is the same as 0. Fitted on ever new subsets, one model
serves all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ..lattice import Flags, Lattices
from ..posterior import Flat, arc_masses, shares
from ..scores import Reals
from .evidence import KINDS, Evidence
from .union import Union

Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]

PER_SYSTEM = (
    "there", "word", "word_logit", "own", "rival", "rival_logit", "nothing_logit", "silence_logit", "posterior_logit",
    "arc_logit",
)  # fmt: skip
SHARED = ("one", "largest", "largest_logit", "second", "votes", "mean", "seconds", "arc_logit", "posterior_logit")
_CLIP = 0.002  # probabilities nearer to 0 and 1 count like this
_SCALE = float(np.log(1 / _CLIP - 1))  # logits are from -1 to 1


def logit(probability: Matrix) -> Matrix:
    """Log odds, from -1 to 1."""
    clipped = np.clip(probability, np.float32(_CLIP), np.float32(1 - _CLIP))
    odds: Matrix = np.log(clipped / (1 - clipped)) / np.float32(_SCALE)
    return odds


def inputs(union: Union, evidence: Evidence) -> Matrix:
    """[arcs, columns] what the model sees: `PER_SYSTEM` for each member in turn, then `SHARED`."""
    word, rival, words, silence, own, posterior, arc = (evidence[:, :, kind] for kind in range(len(KINDS)))
    arcs, members = word.shape
    made = np.empty((arcs, members * len(PER_SYSTEM) + len(SHARED)), np.float32)
    for column, values in enumerate((1.0, word, logit(word), own, rival, logit(rival), logit(1 - words),
                                     logit(silence), logit(posterior), logit(arc))):  # fmt: skip
        made[:, column : members * len(PER_SYSTEM) : len(PER_SYSTEM)] = values
    lattices, largest = union.lattices, word.max(axis=1)
    node = np.repeat(lattices.node_offsets[:-1], np.diff(lattices.arc_offsets))
    seconds = lattices.time[node + lattices.target] - lattices.time[node + lattices.source]
    assert lattices.posterior is not None
    for column, values in enumerate((1.0, largest, logit(largest), _second(word), own.mean(axis=1) ** 2,
                                     word.mean(axis=1) ** 2, np.minimum(seconds, 1.0), logit(arc.max(axis=1)),
                                     logit(lattices.posterior))):  # fmt: skip
        made[:, members * len(PER_SYSTEM) + column] = values
    return made


def _second(word: Matrix) -> Matrix:
    """The second largest of each row, 0 where there is one only."""
    if word.shape[1] < 2:
        return np.zeros(len(word), np.float32)
    parted: Matrix = np.partition(word, -2, axis=1)
    return parted[:, -2]


def rows_of(members: Sequence[int], systems: int) -> Rows:
    """Which rows of the weights belong to the inputs of these members."""
    each = np.arange(len(PER_SYSTEM))
    own = [member * len(PER_SYSTEM) + each for member in members]
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
        """The potential of each row of `x`, and the hidden layer that `gradient` needs."""
        active = np.maximum(x @ self.hidden[rows] + self.bias, 0)
        return x @ self.skip[rows] + active @ self.out, active

    def gradient(self, x: Matrix, rows: Rows, active: Matrix, slope: Matrix) -> Layers:
        """The gradient of the weights, given that of the potentials."""
        found = Layers(*(np.zeros_like(getattr(self, each.name)) for each in fields(self)))
        inner = (slope[:, None] * self.out) * (active > 0)
        found.skip[rows] = slope @ x
        found.hidden[rows] = x.T @ inner
        found.bias[:] = inner.sum(axis=0)
        found.out[:] = slope @ active
        return found


@dataclass(slots=True)
class Weigher:
    """The fitted model: potentials for any subset of the recognizers it knows."""

    systems: int  # how many it knows
    word: Layers
    silence: Layers

    @classmethod
    def new(cls, systems: int, hidden: int, seed: int) -> Weigher:
        """One that knows nothing yet."""
        random, columns = np.random.default_rng(seed), systems * len(PER_SYSTEM) + len(SHARED)
        return cls(systems, *(Layers.new(columns, hidden, random) for _ in range(2)))

    def potentials(self, x: Matrix, silent: Flags, members: Sequence[int]) -> Reals:
        """The potential of every arc of a union."""
        rows, found = rows_of(members, self.systems), np.empty(len(x))
        found[~silent] = self.word.potential(x[~silent], rows)[0]
        found[silent] = self.silence.potential(x[silent], rows)[0]
        return found


def corrected(potential: Reals, x: Matrix, silent: Flags, correction: Matrix) -> Reals:
    """Potentials with a linear part of one subset's own on top: [2, columns], for words and for silence."""
    found: Reals = potential + np.where(silent, x @ correction[1], x @ correction[0])
    return found


def marginals(lattices: Lattices, potential: Reals) -> Reals:
    """How probable each arc is."""
    flat = Flat.of(lattices)
    share, _ = shares(flat, potential)
    arc_masses(flat, share)
    return share
