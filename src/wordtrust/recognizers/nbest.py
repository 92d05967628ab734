"""N-best lists of recognizers, and the records that `formats.nbest` reads them from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .base import NBestRecord


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
