"""Expected substitutions, insertions and deletions of outputs, from the confidences of their words.

Confidences are calibrated, so 1 - confidence is the chance that a word is wrong. A share of the wrong words stands
for no word that was said (insertions), the others for another one (substitutions). Words that are missing have no
confidence. Where the model says how likely words are missing in each gap, deletions are a Poisson regression on
these probabilities: a gap here and there lacks a short word, many gaps lack half of what was said. Where it does not,
the regression is on how doubtful the other words are, because deletions are where errors are.

    expected deletions = gaps * exp(a + b * log((0.02 + sum of probabilities) / gaps)),  gaps = words + 1
    expected deletions = gaps * exp(a + b * log((0.1 + sum of 1 - confidence) / gaps))

The variance of the errors of a speaker is `dispersion` times what independent words would have, plus the square of
the expected errors times `speaker_variance`: whoever is misjudged in one word is misjudged in all, so that does not
average out. It is the scale of intervals (`speaker_intervals`), which do not trust it further than that. For fitting
it, errors beyond three standard deviations are brought back to these: a loop that says one phrase forty times says
nothing about other speakers.

All of it is fitted on speakers that neither the model nor its calibration has seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.errors import InputError
from ...base.json_checks import number, object_of, record
from ...evaluation.output_words import OutputWords
from .speaker_intervals import Residuals

_FORMAT = 1
_RIDGE = 1.0  # pulls slopes to 0 where there is little to learn from
_DOUBT, _MISSING = 0.1, 0.02  # so many doubtful words and gaps in each utterance are never far away
_MOST_PER_GAP = 3.0  # words that a gap lacks, as a logarithm
_STEPS = 50  # of Newton's method
_GRID = np.linspace(0, 3, 61)  # of the two variances, on a square-root scale
_ROUNDS, _FARTHEST = 3, 3.0  # fits of the variances; standard deviations that errors of speakers are brought back to
_LARGEST = 50.0  # slopes and offsets that a file may hold


@dataclass(frozen=True, slots=True, eq=False)
class ExpectedErrors:
    """Of each utterance; `+` of groups is `summed`."""

    words: Reals  # of the output
    substitutions: Reals
    insertions: Reals
    deletions: Reals
    independent: Reals  # the variance of the number of errors, if words were independent

    @property
    def errors(self) -> Reals:
        """All of them."""
        return self.substitutions + self.insertions + self.deletions

    @property
    def reference_words(self) -> Reals:
        """How many words were said."""
        return self.words - self.insertions + self.deletions

    @property
    def wer(self) -> Reals:
        """The word error rate; of what hardly has words, as if one had been said."""
        return self.errors / np.maximum(self.reference_words, 1.0)

    def summed(self, group: np.ndarray[Any, Any], size: int) -> ExpectedErrors:
        """Of each of `size` groups, given the group of each utterance."""
        return ExpectedErrors(*(np.asarray(np.bincount(group, each, size), np.float64) for each in self._all()))

    def _all(self) -> tuple[Reals, ...]:
        return self.words, self.substitutions, self.insertions, self.deletions, self.independent


@dataclass(frozen=True, slots=True, eq=False)
class ErrorEstimator:
    """What is known about the errors of a model's outputs."""

    insertion_share: float = 0.125  # of the wrong words
    deletions: tuple[float, float] | None = None  # a and b of the regression; None: not known
    deletions_in_gaps: tuple[float, float] | None = None  # and of the one on gaps
    dispersion: float = 1.0
    speaker_variance: float = 0.0
    of_speakers: Residuals | None = None  # of the word error rate of a speaker, in standard deviations
    of_utterances: Residuals | None = None  # and of an utterance

    @classmethod
    def fit(cls, words: OutputWords) -> Self:
        """Fit on the words of held-out speakers, calibrated without these speakers, and their errors."""
        assert words.counts is not None
        assert words.correct is not None
        counts = words.counts.astype(np.float64)
        by_gaps = None if words.missing is None else _fit_deletions(words, _log_missing(words), counts[:, 2])
        by_doubt = _fit_deletions(words, _log_doubt(words), counts[:, 2])
        return cls(_insertion_share(words), by_doubt, by_gaps)._with_intervals(words, counts)

    def expected(self, words: OutputWords) -> ExpectedErrors:
        """The expected errors of each utterance."""
        wrong = 1.0 - words.confidence
        errors, deletions = words.sums(wrong), self._deletions(words)
        insertions = self.insertion_share * errors
        independent = words.sums(words.confidence * wrong) + deletions
        return ExpectedErrors(words.sizes, errors - insertions, insertions, deletions, independent)

    def knows_deletions(self, words: OutputWords) -> bool:
        """Whether words that are missing are part of the estimate."""
        return self.deletions is not None or (self.deletions_in_gaps is not None and words.missing is not None)

    def spread(self, expected: ExpectedErrors) -> Reals:
        """The standard deviation of the word error rate of each group, as the scale of its interval."""
        variance = self.dispersion * expected.independent + self.speaker_variance * expected.errors**2
        return np.sqrt(np.maximum(variance, 1e-6)) / np.maximum(expected.reference_words, 1.0)

    def off(self, expected: ExpectedErrors, level: float, *, of_utterances: bool = False) -> Reals | None:
        """[groups, 2] how far below and above the rate of each speaker (or utterance) may be with this probability.

        None if there are too few known speakers for that.
        """
        known = self.of_utterances if of_utterances else self.of_speakers
        ends = None if known is None else known.intervals(expected.wer, level)
        return None if ends is None else np.asarray(self.spread(expected)[:, np.newaxis] * ends)

    def _deletions(self, words: OutputWords) -> Reals:
        if self.deletions_in_gaps is not None and words.missing is not None:
            (offset, slope), x = self.deletions_in_gaps, _log_missing(words)
        elif self.deletions is not None:
            (offset, slope), x = self.deletions, _log_doubt(words)
        else:
            return np.zeros(len(words))
        return np.asarray((words.sizes + 1) * np.exp(np.clip(offset + slope * x, -20.0, _MOST_PER_GAP)))

    def _with_intervals(self, words: OutputWords, counts: Reals) -> Self:
        """The same with variances and residuals of these speakers."""
        expected, (group, speaker) = self.expected(words), words.occasions()
        by_speaker, true = expected.summed(group, len(speaker)), np.zeros((len(speaker), 4))
        np.add.at(true, group, counts)
        error = true[:, 1:].sum(axis=1) - by_speaker.errors
        dispersion, variance = _fit_variances(error, by_speaker.independent, by_speaker.errors)
        scaled = replace(self, dispersion=dispersion, speaker_variance=variance)
        said, spread = true[:, :3].sum(axis=1), scaled.spread(by_speaker)
        # In words of the reference, so that a residual times its scale is a number of errors: by words of the output,
        # forty invented ones after four that were said would count as five hundred.
        of_speakers = _residuals(true, by_speaker, spread, speaker, scale=spread * said)
        of_utterances = _residuals(counts, expected, scaled.spread(expected), speaker[group])
        return replace(scaled, of_speakers=of_speakers, of_utterances=of_utterances)

    def without_intervals(self) -> Self:
        """The same, for outputs that are not like those it was fitted on."""
        return replace(self, of_speakers=None, of_utterances=None)

    def to_dict(self) -> dict[str, Any]:
        """For model.json."""
        made = {
            "format": _FORMAT,
            "insertion_share": self.insertion_share,
            "deletions": None if self.deletions is None else list(self.deletions),
            "deletions_in_gaps": None if self.deletions_in_gaps is None else list(self.deletions_in_gaps),
            "dispersion": self.dispersion,
            "speaker_variance": self.speaker_variance,
            "of_speakers": None if self.of_speakers is None else self.of_speakers.to_dict(),
            "of_utterances": None if self.of_utterances is None else self.of_utterances.to_dict(),
        }
        return {name: value for name, value in made.items() if value is not None}

    @classmethod
    def from_dict(cls, value: Any) -> Self:
        """What `to_dict` wrote; anything else is an `InputError`."""
        form = record(value, "the error estimator")
        if number(form, "format") != _FORMAT:
            raise InputError("an error estimator of this format is not known", remedy="Calibrate the model again")
        dispersion, variance = _variance(form, "dispersion"), _variance(form, "speaker_variance")
        speakers, utterances = (
            Residuals.from_dict(object_of(form, name)) if name in form else None
            for name in ("of_speakers", "of_utterances")
        )
        by_doubt, by_gaps = (
            _pair(form, name) if name in form else None for name in ("deletions", "deletions_in_gaps")
        )
        share = number(form, "insertion_share")
        if not 0 <= share <= 1:
            raise InputError(f"insertion_share is {share:g}", remedy="Calibrate the model again")
        return cls(share, by_doubt, by_gaps, dispersion, variance, speakers, utterances)


def _log_doubt(words: OutputWords) -> Reals:
    return np.asarray(np.log((_DOUBT + words.sums(1.0 - words.confidence)) / (words.sizes + 1)))


def _log_missing(words: OutputWords) -> Reals:
    assert words.missing is not None
    return np.asarray(np.log((_MISSING + words.missing) / (words.sizes + 1)))


def _insertion_share(words: OutputWords) -> float:
    """One in eight where nothing is known."""
    assert words.counts is not None
    assert words.correct is not None
    return float((words.counts[:, 3].sum() + 1) / (np.count_nonzero(~words.correct) + 8))


def _fit_deletions(words: OutputWords, by: Reals, deletions: Reals) -> tuple[float, float]:
    """Poisson regression by Newton's method; the slope is pulled to 0 a little."""
    x = np.stack([np.ones(len(words)), by], axis=1)
    gaps, ridge = words.sizes + 1, np.diag([1e-3, _RIDGE])
    weights = np.array([np.log((deletions.sum() + 0.5) / gaps.sum()), 0.0])
    for _ in range(_STEPS):
        mean = gaps * np.exp(np.clip(x @ weights, -20.0, _MOST_PER_GAP))
        slope = x.T @ (deletions - mean) - ridge @ np.array([0.0, weights[1]])
        step = np.linalg.solve((x * mean[:, np.newaxis]).T @ x + ridge, slope)
        weights = weights + step * min(1.0, 1.0 / max(1e-12, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-9:
            break
    return float(np.clip(weights[0], -_LARGEST, _LARGEST)), float(np.clip(weights[1], -_LARGEST, _LARGEST))


def _fit_variances(error: Reals, independent: Reals, expected: Reals) -> tuple[float, float]:
    """Dispersion and speaker variance under which the errors of speakers, winsorised, are most likely."""
    parts, bounded = np.stack([independent, expected**2]), error
    for _ in range(_ROUNDS):
        dispersion, variance = _most_likely(bounded, parts)
        most = _FARTHEST * np.sqrt(np.maximum(dispersion * parts[0] + variance * parts[1], 1e-6))
        bounded = np.clip(error, -most, most)
    return dispersion, variance


def _most_likely(error: Reals, parts: Reals) -> tuple[float, float]:
    best, chosen = np.inf, (1.0, 0.0)
    for dispersion in (_GRID[1:] ** 2).tolist():
        variance = np.maximum(dispersion * parts[0] + (_GRID[:, np.newaxis] / 2) ** 4 * parts[1], 1e-6)
        losses = (np.log(variance) + error**2 / variance).sum(axis=1)
        if losses.min() < best:
            best = float(losses.min())
            chosen = dispersion, float((_GRID[int(losses.argmin())] / 2) ** 4)
    return chosen


def _standardised(counts: Reals, expected: ExpectedErrors, spread: Reals) -> Reals:
    """How far the true error rates are from the expected ones."""
    rate = counts[:, 1:].sum(axis=1) / np.maximum(counts[:, :3].sum(axis=1), 1.0)
    return np.asarray((rate - expected.wer) / spread)


def _residuals(
    counts: Reals, expected: ExpectedErrors, spread: Reals, speaker: NDArray[np.int64], scale: Reals | None = None
) -> Residuals | None:
    """What is known about speakers or utterances; what has no reference words has no rate either."""
    spoke, residuals = counts[:, :3].sum(axis=1) > 0, _standardised(counts, expected, spread)
    scale = None if scale is None else scale[spoke]
    return Residuals.of(residuals[spoke], speaker[spoke], scale=scale, rate=expected.wer[spoke])


def _pair(form: Mapping[str, Any], name: str) -> tuple[float, float]:
    values = form.get(name)
    if not isinstance(values, list) or len(values) != 2:
        raise InputError(f"{name} are not two numbers", remedy="Calibrate the model again")
    first, second = (number({name: value}, name) for value in values)
    if max(abs(first), abs(second)) > _LARGEST:
        raise InputError(f"{name} are {first:g} and {second:g}", remedy="Calibrate the model again")
    return first, second


def _variance(form: Mapping[str, Any], name: str) -> float:
    value = number(form, name)
    if not 0 <= value <= 1e6:
        raise InputError(f"{name} is {value:g}", remedy="Calibrate the model again")
    return value
