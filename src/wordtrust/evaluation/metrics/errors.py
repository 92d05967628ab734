"""Word errors: counts that add up, in total or by speaker, and the word error rate on top of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError
from ...networks.align import Alignments
from .resample import Names, Weights, indices, joined, numbered


@dataclass(frozen=True, slots=True)
class ErrorCounts:
    """Errors of hypotheses against references; `+` joins two sets of utterances, `ErrorCounts()` is the empty one."""

    hits: int = 0
    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0

    @classmethod
    def of(cls, alignments: Alignments) -> ErrorCounts:
        """The errors of all utterances together."""
        return cls(*alignments.counts.sum(axis=0, dtype=np.int64).tolist())

    def __add__(self, other: ErrorCounts) -> ErrorCounts:
        return ErrorCounts(*map(add, astuple(self), astuple(other)))

    @property
    def errors(self) -> int:
        """Substitutions, deletions and insertions."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def reference_words(self) -> int:
        """Words of the references."""
        return self.hits + self.substitutions + self.deletions

    @property
    def hypothesis_words(self) -> int:
        """Words of the hypotheses."""
        return self.hits + self.substitutions + self.insertions

    @property
    def wer(self) -> float | None:
        """Errors for each reference word (it can exceed 1); None where there is no reference word."""
        return self.errors / self.reference_words if self.reference_words else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is undefined is left out."""
        counts: dict[str, Any] = {
            "words": self.reference_words,
            "substitutions": self.substitutions,
            "deletions": self.deletions,
            "insertions": self.insertions,
        }
        return counts if self.wer is None else {"wer": self.wer} | counts


@dataclass(frozen=True, eq=False, slots=True)
class SpeakerErrors:
    """Errors by speaker, which is what intervals need; `+` joins, `SpeakerErrors()` is empty."""

    speakers: Names = ()  # sorted; the utterance's name where its speaker is unknown
    counts: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((0, 4), np.int64)
    )  # [speakers, 4] as in `Alignments`

    @classmethod
    def of(cls, alignments: Alignments, speakers: Sequence[str]) -> SpeakerErrors:
        """Gather the errors of utterances, given the speaker of each."""
        if len(speakers) != len(alignments):
            raise ValueError(f"{len(speakers)} speakers for {len(alignments)} utterances")
        names, speaker = numbered(speakers)
        counts = np.zeros((len(names), 4), np.int64)
        np.add.at(counts, speaker, alignments.counts)
        return cls(names, counts)

    def __add__(self, other: SpeakerErrors) -> SpeakerErrors:
        names = joined(self.speakers, other.speakers)
        return SpeakerErrors(names, self.among(names).counts + other.among(names).counts)

    @property
    def total(self) -> ErrorCounts:
        """The errors of all speakers together."""
        return ErrorCounts(*self.counts.sum(axis=0).tolist())

    def among(self, speakers: Names) -> SpeakerErrors:
        """The same, as part of a larger set of speakers."""
        counts = np.zeros((len(speakers), 4), np.int64)
        counts[indices(self.speakers, speakers)] = self.counts
        return SpeakerErrors(speakers, counts)

    def values(self, weights: Weights) -> dict[str, NDArray[np.float64]]:
        """The word error rate for each row of weights of speakers; NaN where there is no reference word."""
        hits, substitutions, deletions, insertions = (weights.astype(np.float64) @ self.counts).T
        with np.errstate(invalid="ignore", divide="ignore"):
            rate = (substitutions + deletions + insertions) / (hits + substitutions + deletions)
        return {"wer": np.where(np.isfinite(rate), rate, np.nan)}

    def check_pair(self, other: SpeakerErrors) -> None:
        """Raise an error unless the other was measured against the same references."""
        left, right = (errors.counts[:, :3].sum(axis=1) for errors in (self, other))  # reference words
        if self.speakers != other.speakers or not np.array_equal(left, right):
            raise InputError(
                f"{self.total.reference_words:,} reference words of {len(self.speakers)} speakers cannot be paired "
                f"with {other.total.reference_words:,} of {len(other.speakers)}",
                remedy="Compare results on the same utterances",
            )
