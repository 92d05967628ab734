"""The words of outputs as flat arrays: what errors are estimated from, and where references are known, the errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals, concatenate_offsets, csr_rows
from ..lattices.lattice import Flags, Ints, Offsets
from ..networks.align import Alignments
from .metrics import Scores


@dataclass(frozen=True, slots=True, eq=False)
class OutputWords:
    """Utterances end to end; `+` joins two sets."""

    offsets: Offsets  # [utterances + 1]
    confidence: Reals  # [words]
    speakers: tuple[str, ...]  # [utterances] who spoke, or what else belongs together
    missing: Reals | None = None  # [utterances] expected number of gaps with missing words; None if it is not known
    correct: Flags | None = None  # [words] these two where references are known
    counts: Ints | None = None  # [utterances, 4] hits, substitutions, deletions, insertions
    said: tuple[str, ...] | None = None  # [utterances] the references

    @classmethod
    def of(
        cls,
        confidence: NDArray[np.floating[Any]],
        alignments: Alignments,
        speakers: Sequence[str],
        said: tuple[str, ...] | None = None,
    ) -> OutputWords:
        """Words that were compared with references, given the speaker of each utterance."""
        probability = np.clip(confidence.astype(np.float64), 0.0, 1.0)
        return cls(
            alignments.offsets, probability, tuple(speakers), correct=alignments.correct, counts=alignments.counts,
            said=said,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.speakers)

    @property
    def sizes(self) -> Reals:
        """[utterances] how many words each has."""
        return np.diff(self.offsets).astype(np.float64)

    def sums(self, values: NDArray[Any]) -> Reals:
        """[utterances] the sum of a value of each word."""
        return np.asarray(np.bincount(csr_rows(self.offsets), values, minlength=len(self)), np.float64)

    @property
    def mean_confidence(self) -> Reals:
        """[utterances] the mean of the words; 0 where there are none."""
        return np.asarray(self.sums(self.confidence) / np.maximum(self.sizes, 1.0))

    @classmethod
    def joined(cls, parts: Sequence[OutputWords]) -> OutputWords:
        """Several sets end to end; what one of them does not know is not known of all."""

        def every(name: str) -> Any:
            values = [getattr(part, name) for part in parts]
            return None if any(value is None for value in values) else np.concatenate(values)

        said = [part.said for part in parts if part.said is not None]
        return cls(
            concatenate_offsets(part.offsets for part in parts), every("confidence"),
            tuple(chain.from_iterable(part.speakers for part in parts)), every("missing"), every("correct"),
            every("counts"), tuple(chain.from_iterable(said)) if len(said) == len(parts) else None,
        )  # fmt: skip

    def __add__(self, other: OutputWords) -> OutputWords:
        return OutputWords.joined([self, other])

    def with_confidence(self, confidence: Reals) -> OutputWords:
        """The same words with other confidences."""
        return replace(self, confidence=confidence)

    def with_gaps(self, missing: NDArray[np.floating[Any]]) -> OutputWords:
        """The same, given how likely words are missing in each gap; an utterance of n words has n + 1."""
        offsets = self.offsets + np.arange(len(self.offsets))
        sums = np.bincount(csr_rows(offsets), missing, minlength=len(self))
        return replace(self, missing=np.asarray(sums, np.float64))

    @property
    def scores(self) -> Scores:
        """The words with their labels and speakers."""
        assert self.correct is not None
        return Scores.of(self.confidence, self.correct, self.speakers, self.offsets)

    def some(self, chosen: Flags) -> OutputWords:
        """Some of the utterances."""
        words, sizes = np.repeat(chosen, np.diff(self.offsets)), np.diff(self.offsets)[chosen]
        return OutputWords(
            np.concatenate([[0], np.cumsum(sizes)]), self.confidence[words],
            tuple(np.array(self.speakers, object)[chosen].tolist()),
            None if self.missing is None else self.missing[chosen],
            None if self.correct is None else self.correct[words],
            None if self.counts is None else self.counts[chosen],
            None if self.said is None else tuple(np.array(self.said, object)[chosen].tolist()),
        )  # fmt: skip

    def occasions(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[utterances] the occasion of each, and [occasions] whose it is: numbers from 0 on.

        A speaker's utterances are one occasion. Where a corpus has the same ones several times (as they were
        recorded, and over a telephone), each time is an occasion of its own: one call is not half noise.
        """
        said = self.said or tuple(map(str, range(len(self))))
        times, speakers, numbers = dict[tuple[str, str], int](), dict[str, int](), dict[tuple[str, int], int]()
        occasion = np.zeros(len(self), np.int64)
        for row, utterance in enumerate(zip(self.speakers, said, strict=True)):
            times[utterance] = times.get(utterance, -1) + 1
            occasion[row] = numbers.setdefault((utterance[0], times[utterance]), len(numbers))
            speakers.setdefault(utterance[0], len(speakers))
        return occasion, np.array([speakers[name] for name, _ in numbers], np.int64)
