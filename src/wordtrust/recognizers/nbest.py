"""N-best lists of recognizers, and the records that `formats.nbest` reads them from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .base import NBestRecord

LARGEST_MARGIN = 100.0  # nats; where nothing else was possible there is no end to it


class TokenEvidence(NamedTuple):
    """How sure a recognizer was of each token, from the distribution that its search chose the token from."""

    entropies: NDArray[np.floating]  # [tokens] of that distribution, in nats
    ranks: NDArray[np.integer]  # [tokens] 0: the most probable one
    margins: NDArray[np.floating]  # [tokens] log-probability less that of the most probable other token

    def of(self, chosen: slice | NDArray[np.integer]) -> TokenEvidence:
        """Of some of the tokens."""
        return TokenEvidence(self.entropies[chosen], self.ranks[chosen], self.margins[chosen])

    def to_fields(self) -> dict[str, Any]:
        """As an N-best record has it."""
        margins = np.clip(self.margins, -LARGEST_MARGIN, LARGEST_MARGIN)
        return {
            "token_entropies": [round(max(entropy, 0.0), 4) for entropy in self.entropies.tolist()],
            "token_ranks": self.ranks.tolist(),
            "token_margins": [round(margin, 4) for margin in margins.tolist()],
        }


@dataclass(frozen=True, slots=True)
class HypothesisWord:
    """A word with its times in seconds."""

    word: str
    start: float | None
    end: float | None
    logprob: float | None = None  # of all its tokens
    tokens: int | None = None  # how many


@dataclass(frozen=True, slots=True)
class NBestHypothesis:
    """One hypothesis; what a recognizer does not know is None."""

    score: float | None  # total log-probability or log-likelihood
    text: str
    words: Sequence[HypothesisWord]
    avg_logprob: float | None = None  # mean of all tokens and the end
    eot_logprob: float | None = None  # of the end of the text
    token_ids: Sequence[int] | None = None
    token_logprobs: Sequence[float] | None = None
    token_entropies: Sequence[float] | None = None  # this and those below: see `TokenEvidence`
    token_ranks: Sequence[int] | None = None
    token_margins: Sequence[float] | None = None


@dataclass(frozen=True, slots=True)
class RecognizerNBest:
    """Hypotheses, the best total score first."""

    nbest: Sequence[NBestHypothesis]
    best_avg: int | None = None  # the hypothesis with the best average
    duration: float | None = None  # seconds of audio
    empty_logprob: float | None = None  # of the empty text
    no_speech_prob: float | None = None

    def to_record(self) -> NBestRecord:
        """The list as JSON, without what is None."""
        return asdict(self, dict_factory=_known)


def _known(items: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: value for name, value in items if value is not None}
