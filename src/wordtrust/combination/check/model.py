"""Which words of a transcript are wrong, and where words are missing: the verdict on what listeners heard.

Gradient-boosted trees look at the columns of each word (`columns`), others at those of each gap between words; what
they say is calibrated on speakers that they never saw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...base.arrays import csr_rows, logit
from ...base.errors import InputError
from ...base.json_checks import list_of, number, object_of
from ...base.tensors import read_tensors, write_tensors
from ...confidence.calibration import Calibrator, calibrator_from_dict
from ...confidence.shipped import CHECK, FOLDER
from ...confidence.trees import Trees
from ...lattices.lattice import Flags, Floats, Lattices, Offsets
from ...lattices.weights import Reals
from .checked_words import CheckedWords
from .columns import GAP_COLUMNS, WORD_COLUMNS, Heard, gap_table, repeats, word_table
from .coverage import judged_by_coverage
from .gathered import Gathered, gather
from .heard_instead import alternatives
from .listener import ForcedWords, Listener

KIND, VERSION = "wordtrust check model", 2
NAME = "check"  # among the shipped models
LOOP, SILENCE = "loop", "silence"  # why a word seems to be made up
_DOUBTED, _LOOPS, _MOSTLY = 0.5, 2, 0.5  # confidence; repetitions; share of listeners, or of their belief
_SURE = 1e-4  # confidences nearer to 0 or 1 count as this near
_UNKNOWN_RATE = 0.2  # the error rate of listeners that nobody knows
_SCORE_INPUTS, _LARGEST_WEIGHT = 5, 100.0
_PARTS = {"words": WORD_COLUMNS, "gaps": GAP_COLUMNS}


@dataclass(frozen=True, eq=False)
class TreesAndCalibration:
    """Trees for one kind of row, and the calibrator of their probabilities."""

    trees: Trees
    calibrator: Calibrator

    def probability(self, table: Floats) -> Reals:
        """[rows]."""
        return np.asarray(self.calibrator.predict(sigmoid(self.trees.log_odds(table))))


def score_inputs(log_odds: Reals, score: Floats, heard: Sequence[Heard]) -> Reals:
    """[words, 5] what is weighed where a transcript came with calibrated confidences.

    What trees say and what the confidence says, both also times the error rate of the best listener: the weaker it
    is, the more the confidence counts.
    """
    own = logit(np.clip(score.astype(np.float64), _SURE, 1 - _SURE))
    rate = min((one.error_rate for one in heard if one.error_rate == one.error_rate), default=_UNKNOWN_RATE)
    return np.stack([log_odds, own, rate * log_odds, rate * own, np.ones(len(own))], axis=1)


@dataclass(frozen=True, eq=False)
class CheckModel:
    """Judges the words of any transcript by what listeners heard."""

    words: TreesAndCalibration
    gaps: TreesAndCalibration
    score_weights: Reals  # of `score_inputs`, for transcripts with calibrated confidences
    error_rates: Mapping[str, float]  # of the listeners that are known
    card: Mapping[str, Any] = field(default_factory=dict)

    def judge(
        self, pivot: Lattices, listeners: Sequence[Listener], forced: Mapping[str, ForcedWords] | None = None,
        *, calibrated: bool = False, by_recognizer: bool = False,
    ) -> CheckedWords:  # fmt: skip
        """Judge the words of a transcript, chains of words; `forced` are scores of its words by listeners' names.

        `calibrated`: the confidences that came with the transcript (posteriors of `pivot`) are probabilities, such as
        those of a model of ours. All utterances count as one file: among its words such scores are ranked.
        `by_recognizer`: a recognizer wrote it; a person may have made no errors at all.
        """
        gathered = self.gather(pivot, listeners, forced)
        return self.verdict(gathered, calibrated=calibrated, by_recognizer=by_recognizer)

    def gather(
        self, pivot: Lattices, listeners: Sequence[Listener], forced: Mapping[str, ForcedWords] | None = None
    ) -> Gathered:
        """The evidence alone, for some utterances of a long transcript; `joined` puts them together."""
        return gather(pivot, listeners, self.error_rates, forced)

    def confidence(self, gathered: Gathered, *, calibrated: bool = False, by_recognizer: bool = False) -> Reals:
        """[words] how likely each word is right."""
        facts, heard = gathered.facts, gathered.heard
        log_odds = self.words.trees.log_odds(word_table(facts, heard, by_recognizer=by_recognizer))
        confidence = np.asarray(self.words.calibrator.predict(sigmoid(log_odds)))
        scored = np.flatnonzero(~np.isnan(facts.score)) if calibrated else np.zeros(0, np.int64)
        inputs = score_inputs(log_odds[scored], facts.score[scored], heard)
        confidence[scored] = sigmoid(inputs @ self.score_weights)
        return confidence

    def verdict(self, gathered: Gathered, *, calibrated: bool = False, by_recognizer: bool = False) -> CheckedWords:
        """Judge what was gathered."""

        def of_listeners(part: Gathered) -> CheckedWords:
            return self._verdict(part, calibrated=calibrated, by_recognizer=by_recognizer)

        return judged_by_coverage(gathered, of_listeners, trust_scores=calibrated)

    def _verdict(self, gathered: Gathered, *, calibrated: bool, by_recognizer: bool) -> CheckedWords:
        """The same where all listeners heard all utterances."""
        facts, heard = gathered.facts, gathered.heard
        confidence = self.confidence(gathered, calibrated=calibrated, by_recognizer=by_recognizer)
        missing = self.gaps.probability(gap_table(facts, heard, by_recognizer=by_recognizer))
        gap = np.arange(len(facts.word)) + csr_rows(facts.offsets)
        share = np.zeros(len(facts.word), np.float32)
        if heard:
            share = np.stack([one.evidence.agrees for one in heard]).mean(axis=0)
        made_up = _made_up(gathered, confidence, share, np.maximum(missing[gap], missing[gap + 1]))
        strictly = (
            confidence if by_recognizer else self.confidence(gathered, calibrated=calibrated, by_recognizer=True)
        )
        return CheckedWords(
            facts.offsets, confidence, missing[gap], missing[facts.offsets[1:] + np.arange(len(gathered))],
            alternatives(gathered.instead, len(facts.word)), made_up, share, strictly, _misheard(heard),
        )  # fmt: skip

    def save(self, path: Path) -> None:
        """Write the model, completely or not at all."""
        parts = {"words": self.words, "gaps": self.gaps}
        tables = [(part, one.trees.arrays()) for part, one in parts.items()]
        arrays = {f"{part}.{name}": values for part, own in tables for name, values in own.items()}
        card: dict[str, Any] = {
            "kind": KIND, "version": VERSION, "columns": {part: list(names) for part, names in _PARTS.items()},
            "trees": {part: one.trees.to_json() for part, one in parts.items()},
            "calibration": {part: one.calibrator.to_dict() for part, one in parts.items()},
            "score_weights": self.score_weights.tolist(), "error_rates": dict(self.error_rates),
            "about": dict(self.card),
        }  # fmt: skip
        write_tensors(path, arrays, card)

    @classmethod
    def load(cls, path: Path | None = None) -> CheckModel:
        """Read a model, or the shipped one; anything inconsistent is an `InputError`."""
        file = FOLDER / NAME / CHECK if path is None else path
        arrays, card = read_tensors(file)
        remedy = "It is damaged or of another version: get it again"
        if (card.get("kind"), card.get("version")) != (KIND, VERSION):
            raise InputError(f"no {KIND} of version {VERSION}", file=str(file), remedy=remedy)
        try:
            words, gaps = (_part(arrays, card, part) for part in _PARTS)
            return cls(words, gaps, _score_weights(card), _rates(card), object_of(card, "about"))
        except InputError as error:
            raise error.at(file=str(file)) from None
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"its parts do not fit together: {error}"[:200], file=str(file), remedy=remedy) from None


def _part(arrays: Mapping[str, Any], card: Mapping[str, Any], part: str) -> TreesAndCalibration:
    if list(object_of(card, "columns")[part]) != list(_PARTS[part]):
        raise ValueError(f"{part} were fitted on other columns")
    own = {name.removeprefix(f"{part}."): values for name, values in arrays.items() if name.startswith(f"{part}.")}
    trees = Trees.from_arrays(object_of(card, "trees")[part], own, len(_PARTS[part]))
    return TreesAndCalibration(trees, calibrator_from_dict(object_of(card, "calibration")[part]))


def _score_weights(card: Mapping[str, Any]) -> Reals:
    weights = np.array(list_of(card, "score_weights"), np.float64)
    if weights.shape != (_SCORE_INPUTS,) or not (np.abs(weights) <= _LARGEST_WEIGHT).all():
        raise ValueError("the weights of scores are not as many numbers as are needed, or too large")
    return weights


def _rates(card: Mapping[str, Any]) -> dict[str, float]:
    rates = object_of(card, "error_rates")
    found = {str(name): float(number(rates, name)) for name in rates}
    if not all(0 <= rate <= 10 for rate in found.values()):
        raise ValueError("an error rate is not a share")
    return found


def _misheard(heard: Sequence[Heard]) -> float:
    """The share of its words that the best listener with confidences expects to be wrong; a guess without one."""
    for listener in heard:
        sure = listener.evidence.mean_confidence
        if not np.isnan(sure).all():
            return 1 - float(np.nanmean(sure))
    return _UNKNOWN_RATE


def _made_up(gathered: Gathered, confidence: Reals, share: Floats, missing_beside: Reals) -> list[str]:
    """[words] why a doubted word seems to be made up, or nothing.

    Where words are missing beside it, or another word was misheard there, it is part of that: one word was heard for
    several, or its time is a little off.
    """
    facts, heard = gathered.facts, gathered.heard
    if not heard:
        return [""] * len(facts.word)
    doubted = (confidence < _DOUBTED) & (share < _MOSTLY)
    said = np.stack([one.evidence.words for one in heard]).mean(axis=0)
    other = np.stack([one.evidence.has_other for one in heard]).mean(axis=0)
    silent = doubted & (said < _MOSTLY) & (other < _MOSTLY)
    misheard = _beside(doubted & ~silent, facts.offsets) | (missing_beside >= _DOUBTED)
    silent &= ~_in_runs_with(misheard, silent, facts.offsets)
    loops = doubted & _in_loops(repeats(facts.word, facts.offsets))
    reasons: list[str] = np.where(loops, LOOP, np.where(silent, SILENCE, "")).tolist()
    return reasons


def _beside(marked: Flags, offsets: Offsets) -> Flags:
    """[words] which have a marked one before or after them in their utterance."""
    utterance, beside = csr_rows(offsets), np.zeros(len(marked), bool)
    same = utterance[1:] == utterance[:-1]
    beside[1:] |= marked[:-1] & same
    beside[:-1] |= marked[1:] & same
    return beside


def _in_runs_with(marked: Flags, chosen: Flags, offsets: Offsets) -> Flags:
    """[words] which are in a run of chosen words of an utterance that has a marked one among them."""
    begins = np.ones(len(chosen), bool)
    begins[1:] = chosen[1:] != chosen[:-1]
    begins[offsets[:-1][offsets[:-1] < len(chosen)]] = True
    run = np.cumsum(begins) - 1
    any_marked = np.zeros(int(run.max(initial=-1)) + 1, bool)
    np.logical_or.at(any_marked, run, marked)
    in_runs: Flags = chosen & any_marked[run]
    return in_runs


def _in_loops(repeated: Floats) -> Flags:
    """[words] which are part of a run of repeated words that is long enough."""
    run = np.cumsum(repeated == 0)  # words of a run have the same number, the one before it too
    longest = np.zeros(int(run.max(initial=0)) + 1, np.float32)
    np.maximum.at(longest, run, repeated)
    in_loops: Flags = (repeated > 0) & (longest[run] >= _LOOPS)
    return in_loops


def sigmoid(odds: Reals) -> Reals:
    """Probabilities from log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -40, 40))))
