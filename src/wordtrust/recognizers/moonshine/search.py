"""Beam search: the most probable texts by total log-probability, over anything that gives the next tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

BEGIN = 1  # the token that stands before every text
END = 2  # and the one behind it

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Reals = NDArray[np.float64]


class Next(NamedTuple):
    """What may follow each of several beginnings of a text."""

    tokens: Ints  # [rows, best] the most probable next tokens
    logprobs: Floats  # [rows, best]
    end: Floats  # [rows] log-probability that the text ends here


class Steps(Protocol):
    """A decoder in the middle of an utterance."""

    def step(self, tokens: Ints, parents: Ints) -> Next:
        """Put each token behind the row of the step before that `parents` names, and see what may follow."""


@dataclass(frozen=True, eq=False, slots=True)
class Hypothesis:
    """A whole text."""

    tokens: Ints  # without begin and end
    logprobs: Reals  # [tokens]
    end: float  # log-probability of ending there
    rows: Ints  # [tokens + 1] the row of each step that foretold the token, or the end

    @property
    def score(self) -> float:
        """Total log-probability."""
        return float(self.logprobs.sum()) + self.end


@dataclass(frozen=True, eq=False, slots=True)
class Found:
    """Hypotheses, the most probable first, and how probable it is that nothing was said."""

    hypotheses: list[Hypothesis]
    empty_logprob: float


@dataclass(eq=False, slots=True)
class _Beam:
    """Texts that have not ended, one a row."""

    tokens: Ints  # [rows, length]
    logprobs: Reals
    rows: Ints
    score: Reals  # [rows]

    def extended(self, parents: Ints, tokens: Ints, logprobs: Reals) -> _Beam:
        """Some of these with one token more each."""
        return _Beam(
            np.column_stack([self.tokens[parents], tokens]),
            np.column_stack([self.logprobs[parents], logprobs]),
            np.column_stack([self.rows[parents], parents]),
            self.score[parents] + logprobs,
        )

    def ended(self, row: int, end: float) -> Hypothesis:
        """The text of a row as it is now."""
        return Hypothesis(self.tokens[row], self.logprobs[row], end, np.append(self.rows[row], row))


def beam_search(steps: Steps, *, beam: int, most_tokens: int) -> Found:
    """The `beam` most probable texts that a beam of this width finds, each with at least one token.

    Every text in the beam may end at every step, and takes no place in it from those that go on. A text that can no
    longer be among the best leaves the beam; the search is over when none is left, or with `most_tokens` tokens.
    """
    live = _Beam(np.zeros((1, 0), np.int64), np.zeros((1, 0)), np.zeros((1, 0), np.int64), np.zeros(1))
    following = steps.step(np.array([BEGIN]), np.array([0]))
    empty = float(following.end[0])
    ended: list[Hypothesis] = []
    for _ in range(most_tokens):
        live = _longer(live, following, beam, ended[-1].score if len(ended) == beam else -np.inf)
        if not len(live.score):
            break
        following = steps.step(live.tokens[:, -1], live.rows[:, -1])
        ended += [live.ended(row, float(end)) for row, end in enumerate(following.end)]
        ended = sorted(ended, key=lambda each: -each.score)[:beam]
    return Found(ended, empty)


def _longer(live: _Beam, following: Next, beam: int, worst: float) -> _Beam:
    """The best texts with one token more, other than the end. One as bad as `worst` could only get worse."""
    total = np.where(following.tokens == END, -np.inf, live.score[:, None] + following.logprobs)
    order = np.argsort(-total, axis=None, kind="stable")[:beam]
    parents, places = np.divmod(order[total.ravel()[order] > worst], total.shape[1])
    logprobs = following.logprobs[parents, places].astype(np.float64)
    return live.extended(parents, following.tokens[parents, places], logprobs)
