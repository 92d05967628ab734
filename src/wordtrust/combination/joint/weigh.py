"""How much the evidence of each recognizer counts: a small model that makes a distribution over paths out of it.

Every arc gets a potential from what all recognizers say about it: a linear part and one hidden layer, for words and
for silence apart. The probability of a path is proportional to exp of the sum of its potentials, and that of an arc
(its marginal) comes from forward-backward, so words that exclude each other share what there is, and "nothing was
said here" is a candidate like any other.

Inputs of recognizers that are not there are left out, which is the same as 0. Fitted on ever new subsets, one model
serves all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ...lattices.lattice import Flags
from ...lattices.posterior import Flat, arc_masses, shares
from ...lattices.weights import Reals
from .evidence import KINDS, Evidence
from .union import Union

Matrix = NDArray[np.float32]
Rows = NDArray[np.int64]

PER_SYSTEM = (
    "there", "word", "word_logit", "own", "rival", "rival_logit", "nothing_logit", "silence_logit", "posterior_logit",
    "arc_logit", "alike", "alike_share", "own_alike", "sure", "agreed", "sure_word", "agreed_word", "printed",
)  # fmt: skip
SHARED = (
    "one", "largest", "largest_logit", "second", "votes", "mean", "seconds", "arc_logit", "posterior_logit", "alike",
    "most_alike", "letters", "seconds_a_letter", "one_letter", "said", "share_of_votes",
)  # fmt: skip
_CLIP = 0.002  # probabilities nearer to 0 and 1 count like this
_LEAST = 0.02  # words with less confidence together say nothing about spelling
_SCALE = float(np.log(1 / _CLIP - 1))  # logits are from -1 to 1
_MOST_LETTERS, _SLOWEST = 12, 0.3  # a longer word, and more seconds a letter, count like this


def scaled_logit(probability: Matrix) -> Matrix:
    """Log odds, from -1 to 1."""
    clipped = np.clip(probability, np.float32(_CLIP), np.float32(1 - _CLIP))
    odds: Matrix = np.log(clipped / (1 - clipped)) / np.float32(_SCALE)
    return odds


def inputs(union: Union, evidence: Evidence) -> Matrix:
    """[arcs, columns] what the model sees: `PER_SYSTEM` for each member in turn, then `SHARED`."""
    kinds: Mapping[str, Matrix] = {kind: evidence[:, :, place] for place, kind in enumerate(KINDS)}
    arcs, members = kinds["word"].shape
    made = np.empty((arcs, members * len(PER_SYSTEM) + len(SHARED)), np.float32)
    for column, values in enumerate(_per_system(kinds)):
        made[:, column : members * len(PER_SYSTEM) : len(PER_SYSTEM)] = values
    for column, values in enumerate(_shared(union, kinds)):
        made[:, members * len(PER_SYSTEM) + column] = values
    return made


def _per_system(kinds: Mapping[str, Matrix]) -> tuple[Matrix | float, ...]:
    """[arcs, members] each: the columns of `PER_SYSTEM`."""
    word, words, alike, odds = kinds["word"], kinds["words"], kinds["alike"], scaled_logit(kinds["word"])
    return (
        1.0, word, odds, kinds["own"], kinds["rival"], scaled_logit(kinds["rival"]), scaled_logit(1 - words),
        scaled_logit(kinds["silence"]), scaled_logit(kinds["posterior"]), scaled_logit(kinds["arc"]), alike,
        np.where(words > _LEAST, alike / np.maximum(words, np.float32(0.1)), 0), kinds["own_alike"],
        kinds["sure"], kinds["agreed"], kinds["sure"] * odds, kinds["agreed"] * odds,
        kinds["printed"],
    )  # fmt: skip


def _shared(union: Union, kinds: Mapping[str, Matrix]) -> tuple[NDArray[np.floating] | float, ...]:
    """[arcs] each: the columns of `SHARED`."""
    lattices, word, own, alike = union.lattices, kinds["word"], kinds["own"], kinds["alike"]
    seconds = lattices.end_time - lattices.start_time
    letters, largest = union.letters.lengths[lattices.word], word.max(axis=1)
    assert lattices.posterior is not None
    return (
        1.0, largest, scaled_logit(largest), _second(word), own.mean(axis=1) ** 2, word.mean(axis=1) ** 2,
        np.minimum(seconds, 1.0), scaled_logit(kinds["arc"].max(axis=1)), scaled_logit(lattices.posterior),
        alike.mean(axis=1), alike.max(axis=1), np.minimum(letters, _MOST_LETTERS) / _MOST_LETTERS,
        np.minimum(seconds / np.maximum(letters, 1), _SLOWEST) / _SLOWEST, (letters == 1).astype(np.float32),
        own.max(axis=1), own.mean(axis=1),
    )  # fmt: skip


def _second(word: Matrix) -> Matrix:
    """The second largest of each row, 0 where there is one only."""
    if word.shape[1] < 2:
        return np.zeros(len(word), np.float32)
    parted: Matrix = np.partition(word, -2, axis=1)
    return parted[:, -2]


def columns_of(systems: int) -> int:
    """How many inputs the weights of so many recognizers have."""
    return systems * len(PER_SYSTEM) + len(SHARED)


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
        random = np.random.default_rng(seed)
        return cls(systems, *(Layers.new(columns_of(systems), hidden, random) for _ in range(2)))

    def potentials(self, x: Matrix, silent: Flags, members: Sequence[int]) -> Reals:
        """The potential of every arc of a union."""
        rows, found = rows_of(members, self.systems), np.empty(len(x))
        found[~silent] = self.word.potential(x[~silent], rows)[0]
        found[silent] = self.silence.potential(x[silent], rows)[0]
        return found


def marginals(flat: Flat, potential: Reals) -> Reals:
    """How probable each arc is."""
    share, _ = shares(flat, potential)
    arc_masses(flat, share)
    return share
