"""Baselines that a model has to beat on the words of one recognizer; all are fitted, none is a lattice RNN.

- `posterior`: as the networks have them, at the scales that were tuned for them;
- `calibrated_posterior`: these through the kernel calibrator, a curve for arcs and one for words that are shown;
- `logistic`: logistic regression as Kaldi's recipes have it, over the posterior, the length of the word, how often it
  was heard in training and how many arcs compete with it, and over the recognizer's own scores where it gives any.
  One for arcs, and one for words that are shown, which sees the posterior of the word instead of the arc's. Both see
  the posterior calibrated: its own logit is no straight line, and would make a weaker rival.

    baselines = fit_baselines(lambda: stream(train), lambda: stream(dev))
    baselines.save(folder / NAME); Baselines.load(folder / NAME)
    evaluate(stream(store), lambda networks: baselines.judge(networks) | arc_confidences(scorer, networks))

Nothing of this needs torch, and a posterior was not trained on anybody: everything is fitted on the training data
themselves, the strength of the regularisation and nothing else on the development set.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import json_checks
from ..base.errors import InputError
from ..base.files import atomic_text
from ..confidence.calibration import Calibrator, calibrator_from_dict, make
from ..confidence.calibration.base import CLIP, sigmoid
from ..confidence.calibration.parametric import fit_logistic
from ..confidence.features import EVIDENCE, LIMIT, available, clipped_logit, matrix
from ..confidence.word_table import WordTable, expected_counts, known_arcs
from ..evaluation.evaluation import ArcConfidence, posterior_confidence
from ..formats.inputs import unpacked
from ..lattices.lattice import Flags, Lattices
from ..lattices.paths import Paths, one_best
from ..lattices.weights import Reals
from ..networks.build_store import ORACLE_LABEL, SPEAKER, noted_references
from ..networks.labels import score_paths
from ..networks.word_confidence import word_confidence

NAME = "baselines.json"
PACKED = f"{NAME}.gz"  # as it comes with shipped models
KIND = "wordtrust baselines"
VERSION = 1
LEAST_MASS = 0.1  # words heard less count as never heard: the file stays small
SHAPE = ("frames", "phones", "frequency", "depth", "one_best")  # of any network
SCORES = ("acoustic", "acoustic_rate", "transition", *EVIDENCE)  # where the recognizer gives them
_OWN = 3  # columns besides these: the posterior's logit, the calibrated one's, letters
_REMEDY = "Fit them again: `wordtrust study` does, from the networks of the training data"
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)  # how much a weight of 1 costs, in nats of all words
LARGEST = 1e6  # of any number in a file

Source = Callable[[], Iterable[Lattices]]  # reads a corpus, once more each time


@dataclass(frozen=True, eq=False)
class Logistic:
    """P(right) = sigmoid(intercept + weights . columns), columns normalised and clipped."""

    mean: Reals  # [columns]
    std: Reals
    weights: Reals
    intercept: float
    strength: float  # of the regularisation

    @classmethod
    def fit(cls, raw: Reals, right: Flags, strength: float) -> Logistic:
        """Fit to rows of columns; the weights, but not the intercept, are drawn to 0."""
        mean, std = raw.mean(axis=0), raw.std(axis=0)
        std = np.where(std > 1e-6, std, 1.0)  # a column that never changes says nothing
        features = np.column_stack([_normalised(raw, mean, std), np.ones(len(raw))])
        penalty = np.append(np.full(raw.shape[1], strength), 0.0)
        *weights, intercept = fit_logistic(features, right, penalty)
        return cls(mean, std, np.array(weights), float(intercept), strength)

    def predict(self, raw: Reals) -> Reals:
        """The probability of being right for each row."""
        return sigmoid(_normalised(raw, self.mean, self.std) @ self.weights + self.intercept)

    def likelihood(self, raw: Reals, right: Flags) -> float:
        """The log-likelihood of rows with known labels, in nats a row."""
        chance = np.clip(self.predict(raw), CLIP, 1 - CLIP)
        return float(np.mean(np.log(np.where(right, chance, 1 - chance))))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        lists = {"mean": self.mean.tolist(), "spread": self.std.tolist(), "weights": self.weights.tolist()}
        return lists | {"intercept": self.intercept, "strength": self.strength}

    @classmethod
    def from_dict(cls, form: Mapping[str, Any], columns: int) -> Logistic:
        """What `to_dict` wrote for so many columns; anything else is an `InputError`."""
        mean, std, weights = (_numbers(form, name, columns) for name in ("mean", "spread", "weights"))
        if not (std > 0).all():
            raise InputError("a column of the logistic regression has no spread", remedy="Fit it again")
        return cls(mean, std, weights, json_checks.number(form, "intercept"), json_checks.number(form, "strength"))


def choose_logistic(
    raw: Reals, right: Flags, held_raw: Reals, held_right: Flags, strengths: Sequence[float] = STRENGTHS
) -> Logistic:
    """Fit with each strength, and keep the one that held-out rows are most likely under."""
    tried = [Logistic.fit(raw, right, strength) for strength in strengths]
    return max(tried, key=lambda logistic: logistic.likelihood(held_raw, held_right))


def _normalised(raw: Reals, mean: Reals, std: Reals) -> Reals:
    normalised: Reals = np.clip((raw - mean) / std, -LIMIT, LIMIT)
    return normalised


def _numbers(form: Mapping[str, Any], name: str, size: int) -> Reals:
    listed = json_checks.list_of(form, name)
    if len(listed) != size:
        raise InputError(f"{name} of the logistic regression are {len(listed)}, not {size}", remedy="Fit it again")
    numbers = np.array([json_checks.number({name: value}, name) for value in listed])
    if not (np.abs(numbers) <= LARGEST).all():
        raise InputError(f"{name} of the logistic regression are not all up to {LARGEST:g}", remedy="Fit it again")
    return numbers


@dataclass(frozen=True)
class Baselines:
    """Everything that was fitted for one recognizer."""

    columns: tuple[str, ...]  # features of the network; letters and the two logits of the posterior come on top
    table: WordTable  # how often words were heard
    arcs: Logistic
    words: Logistic
    posterior_arcs: Calibrator
    posterior_words: Calibrator

    def judge(self, networks: Lattices) -> dict[str, ArcConfidence]:
        """For `evaluate`: `posterior`, `calibrated_posterior` and `logistic`, in this order."""
        judged = posterior_confidence(networks)
        posterior, spoken = judged["posterior"].confidence, networks.word > 0
        raw = _features(networks, self.columns, self.table)[spoken]
        confidence, shown = posterior.copy(), posterior.copy()
        of_arcs, of_words = _curve(self.posterior_arcs), _curve(self.posterior_words)
        confidence[spoken] = self.arcs.predict(_with(raw, posterior[spoken], of_arcs(posterior[spoken])))
        as_word = _shown_posterior(networks)[spoken]
        shown[spoken] = self.words.predict(_with(raw, as_word, of_words(as_word)))
        return judged | {
            "calibrated_posterior": ArcConfidence(posterior, of_arcs, of_words),
            "logistic": ArcConfidence(confidence, shown=shown),
        }

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        assert self.table.mass is not None
        return {
            "kind": KIND,
            "version": VERSION,
            "columns": list(self.columns),
            "arcs": self.arcs.to_dict(),
            "words": self.words.to_dict(),
            "posterior_arcs": self.posterior_arcs.to_dict(),
            "posterior_words": self.posterior_words.to_dict(),
            "heard": dict(zip(self.table.words, self.table.mass.astype(float).round(1).tolist(), strict=True)),
        }

    @classmethod
    def from_dict(cls, record: Any) -> Baselines:
        """What `to_dict` wrote; anything else is an `InputError`."""
        form = json_checks.record(record, "the baselines")
        if form.get("kind") != KIND or form.get("version") != VERSION:
            raise InputError(f"does not say that these are {KIND} of version {VERSION}", remedy=_REMEDY)
        columns = tuple(map(str, json_checks.list_of(form, "columns")))
        if not set(columns) <= {*SHAPE, *SCORES} or len(set(columns)) < len(columns):
            raise InputError(f"columns are some of {', '.join((*SHAPE, *SCORES))}, each once", remedy=_REMEDY)
        inputs = len(columns) + _OWN
        return cls(
            columns,
            _table(json_checks.object_of(form, "heard")),
            Logistic.from_dict(json_checks.object_of(form, "arcs"), inputs),
            Logistic.from_dict(json_checks.object_of(form, "words"), inputs),
            calibrator_from_dict(form.get("posterior_arcs")),
            calibrator_from_dict(form.get("posterior_words")),
        )

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        with atomic_text(path) as file:
            file.write(json.dumps(self.to_dict(), ensure_ascii=False) + "\n")

    @classmethod
    def load(cls, path: Path) -> Baselines:
        """Read such a file; anything else is an `InputError`."""
        try:
            with path.open("rb") as file:
                return cls.from_dict(json_checks.parse(unpacked(file, str(path), path).document()))
        except OSError as error:
            raise InputError(f"cannot be opened: {error.strerror}", file=str(path), remedy=_REMEDY) from None
        except InputError as error:
            raise error.at(file=str(path)) from None


def fit_baselines(train: Source, dev: Source, *, calibrator: str = "kernel") -> Baselines:
    """Fit everything on networks with references (`wordtrust build --ref`): weights on train, strengths on dev."""
    table = _table({word: round(mass, 1) for word, mass in expected_counts(train()).items() if mass >= LEAST_MASS})
    batches = [batch for batch in train() if len(batch)]
    if not batches:
        raise InputError("there are no utterances to fit baselines on")
    columns = available(batches[0], (*SHAPE, *SCORES))
    seen = [_rows(batch, columns, table, in_training=True) for batch in batches]
    held = [_rows(batch, columns, table, in_training=False) for batch in dev() if len(batch)]
    if not held:
        raise InputError("there are no utterances to choose the baselines on")
    (posterior_arcs, arcs), (posterior_words, words) = (
        _fit(_Rows.join([rows[kind] for rows in seen]), _Rows.join([rows[kind] for rows in held]), calibrator)
        for kind in (0, 1)
    )
    return Baselines(columns, table, arcs, words, posterior_arcs, posterior_words)


def _fit(seen: _Rows, held: _Rows, name: str) -> tuple[Calibrator, Logistic]:
    calibrator = make(name).fit(seen.posterior, seen.right, groups=seen.speaker)
    raw_seen, raw_held = (
        _with(rows.raw, rows.posterior, calibrator.predict(rows.posterior)) for rows in (seen, held)
    )
    return calibrator, choose_logistic(raw_seen, seen.right, raw_held, held.right)


@dataclass(frozen=True)
class _Rows:
    """Words to fit on: word arcs of networks, or words of the recognizer's 1-best."""

    raw: Reals  # [words, columns]
    posterior: Reals
    right: Flags
    speaker: NDArray[Any]

    @classmethod
    def join(cls, parts: Sequence[_Rows]) -> _Rows:
        """All of them."""
        names = cls.__dataclass_fields__
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def _rows(
    networks: Lattices, columns: tuple[str, ...], table: WordTable, *, in_training: bool
) -> tuple[_Rows, _Rows]:
    """The word arcs, and the words of the 1-best."""
    posterior = np.clip(posterior_confidence(networks)["posterior"].confidence.astype(np.float64), 0, 1)
    raw = _features(networks, columns, table, in_training=in_training)
    spoken, speaker = networks.word > 0, np.array(networks.notes[SPEAKER])
    owner = speaker[networks.utterance_of_arc]
    said = noted_references(networks)
    best = score_paths(networks, one_best(networks), said)
    arcs = best.words.arcs_in(networks)
    right = best.alignments.correct.astype(np.bool_)
    return (
        _Rows(raw[spoken], posterior[spoken], networks.extra[ORACLE_LABEL][spoken] > 0, owner[spoken]),
        _Rows(raw[arcs], _shown_posterior(networks)[arcs], right, owner[arcs]),
    )


def _features(networks: Lattices, columns: tuple[str, ...], table: WordTable, *, in_training: bool = False) -> Reals:
    """[arcs, columns and letters] before normalisation."""
    arcs, words, _ = known_arcs(networks, table, in_training=in_training)
    letters = np.array([len(word) for word in words.words], np.float64)[words.index]
    return np.column_stack([matrix(arcs, columns), letters]).astype(np.float64)


def _with(raw: Reals, posterior: NDArray[np.floating], calibrated: NDArray[np.floating]) -> Reals:
    """The columns, and the posterior on the real line, as it is and calibrated."""
    return np.column_stack([raw, clipped_logit(posterior), clipped_logit(calibrated)])


def _shown_posterior(networks: Lattices) -> Reals:
    """[arcs] what is shown for each as a word of the output, whichever path it is on."""
    assert networks.posterior is not None
    within = np.arange(len(networks.source)) - networks.arc_offsets[networks.utterance_of_arc]
    every = Paths(networks.arc_offsets, within.astype(np.int32))
    return word_confidence(networks, networks.posterior, every)


def _curve(calibrator: Calibrator) -> Callable[[NDArray[np.floating]], NDArray[np.floating]]:
    return lambda scores: calibrator.predict(np.clip(scores.astype(np.float64), 0.0, 1.0))


def _table(mass: Mapping[str, Any]) -> WordTable:
    words = tuple(sorted(str(word) for word in mass))
    counts = np.array([json_checks.number(mass, word, "heard") for word in words], np.float32)
    if not ((counts >= 0) & (counts < np.inf)).all():
        raise InputError("a word was heard less than never, or without end", remedy=_REMEDY)
    return WordTable(words, mass=counts, phone_rules=1)  # what fitted ones were fitted with
