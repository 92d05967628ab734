"""What all calibrators share: one fit/predict shape, checks of what they are given, and a plain form to keep.

They follow scikit-learn's conventions without needing it: parameters are kept as given, what is learnt ends in an
underscore, `fit` returns the calibrator itself. Scores are a list of numbers, or a table with one column.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.arrays import logit
from ...base.errors import InputError, OptionError
from ...base.json_checks import number
from ...lattices.lattice import Flags

Reals = NDArray[np.float64]
Groups = Sequence[str] | NDArray[Any] | None
Ranges = Mapping[str, tuple[float, float]]  # by name

FORMAT = 1  # of `to_dict`
DOMAINS = ("probability", "logit")
MOST = 1000.0  # no finite logit is larger: e^-745 is the smallest probability there is
CLIP = 1e-7  # NIST's: the logistic calibrators see no probability nearer to 0 or 1
CLIP_LOGIT = float(np.log1p(-CLIP) - np.log(CLIP))
_PLAIN: tuple[Literal["C"], Literal["W"]] = ("C", "W")  # other kinds of arrays would have kernels compiled for them


class BadScores(InputError, ValueError):
    """Scores or labels that cannot be used. Also a ValueError, which is what scikit-learn's tools expect."""


class Calibrator(ABC):
    """Turns scores of words into probabilities that they are right.

    `domain` says what scores are. "probability" (the default): confidences from 0 to 1, which are turned into logits
    inside. "logit": log-odds, any real number up to 1000 in size; -inf and inf stand for probabilities of 0 and 1.
    """

    name: ClassVar[str]  # in files and on the command line
    learnt: ClassVar[Ranges] = {}  # numbers, named without their underscore

    def __init__(self, domain: str = "probability") -> None:
        self.domain = domain

    def fit(self, scores: ArrayLike, correct: ArrayLike, groups: Groups = None) -> Self:
        """Learn from scores and from whether each word is right.

        Fit on words that whatever made the scores was not trained on. `groups` are the speakers: where a calibrator
        has to choose something, it does so on speakers that it has not seen.
        """
        self._check_params()
        checked, labels = check_scores(scores, self.domain), check_labels(correct)
        if not len(checked):
            raise BadScores("there are no scores: 0 samples (shape=(0,))", remedy="Give at least one word to fit on")
        for what, size in (("labels", len(labels)), ("groups", len(checked) if groups is None else len(groups))):
            if size != len(checked):
                raise BadScores(
                    f"{len(checked):,} scores but {size:,} {what}", remedy="Give one of each for every word"
                )
        if self.domain == "logit":
            _require_log_odds(checked)
        self._fit(checked, labels, groups)
        return self

    def predict(self, scores: ArrayLike) -> Reals:
        """The probability of being right for each score."""
        if not self._is_fitted():
            raise OptionError(f"this {type(self).__name__} is not fitted: call fit first")
        return self._predict(check_scores(scores, self.domain))

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002  # scikit-learn's signature
        """The parameters as given to the constructor."""
        return {name: getattr(self, name) for name in _parameters(type(self))}

    def set_params(self, **params: Any) -> Self:
        """Change parameters; they count from the next `fit` on."""
        parameters = _parameters(type(self))
        for name, value in params.items():
            if name not in parameters:
                raise OptionError(f"{type(self).__name__} has no parameter {name!r}; it has: {', '.join(parameters)}")
            setattr(self, name, value)
        return self

    def to_dict(self) -> dict[str, Any]:
        """All that `predict` needs, for JSON; `calibrator_from_dict` makes a calibrator of it."""
        if not self._is_fitted():
            raise OptionError(f"this {type(self).__name__} is not fitted: there is nothing to keep yet")
        given = self.get_params().items()
        params = {name: value.item() if isinstance(value, np.generic) else value for name, value in given}
        return {"calibrator": self.name, "format": FORMAT, "params": params, "fitted": self._to_dict()}

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({given})"

    def _is_fitted(self) -> bool:
        return any(name.endswith("_") and not name.startswith("_") for name in vars(self))

    def _check_params(self) -> None:
        """Raise an `OptionError` for parameters that cannot be used (in `fit`: constructors only keep them)."""
        if self.domain not in DOMAINS:
            raise OptionError(f"domain is {self.domain!r}; it must be one of: {', '.join(DOMAINS)}")

    def _logits(self, scores: Reals) -> Reals:
        return logit(scores) if self.domain == "probability" else scores

    @abstractmethod
    def _fit(self, scores: Reals, correct: Flags, groups: Groups) -> None:
        """Learn from checked input, at least one word."""

    @abstractmethod
    def _predict(self, scores: Reals) -> Reals:
        """Probabilities of checked scores."""

    def _to_dict(self) -> dict[str, Any]:
        """What was learnt."""
        return {name: getattr(self, f"{name}_") for name in self.learnt}

    def _from_dict(self, fitted: Mapping[str, Any]) -> None:
        """Take what was learnt from a dictionary that nobody has checked; raise an `InputError` if it is bad."""
        for name, (low, high) in self.learnt.items():
            setattr(self, f"{name}_", number_between(fitted, name, low, high))


def _parameters(kind: type[Calibrator]) -> list[str]:
    return [name for name in inspect.signature(kind.__init__).parameters if name != "self"]


def check_scores(scores: ArrayLike, domain: str) -> Reals:
    """Scores as a flat array of float64, checked."""
    values = _flat(scores, "scores")
    low, high = np.min(values, initial=0.5), np.max(values, initial=0.5)
    if np.isnan(low):  # one is enough
        bad = int(np.count_nonzero(np.isnan(values)))
        raise BadScores(f"{bad:,} of {len(values):,} scores are NaN", remedy="Leave words without a score out")
    if domain == "probability" and not 0 <= low <= high <= 1:
        raise BadScores(
            f"a score is {low if low < 0 else high:g}, which is no probability from 0 to 1",
            remedy='Log-odds need domain="logit"; infinity is a score only there',
        )
    return values


def check_labels(correct: ArrayLike) -> Flags:
    """Labels as a flat array of truth values, checked."""
    given = np.asarray(correct)
    if given.dtype == np.bool_ and given.ndim == 1:
        return np.require(given, requirements=_PLAIN)
    labels = _flat(given, "labels")
    wrong = ~((labels == 0) | (labels == 1))
    if wrong.any():
        raise BadScores(
            f"a label is {labels[wrong][0]:g}", remedy="Give 1 (or True) for right words, 0 for wrong ones"
        )
    return np.asarray(labels == 1)


def _flat(values: ArrayLike, what: str) -> Reals:
    try:
        given = np.asarray(values)
        if np.iscomplexobj(given):
            raise TypeError("Complex data not supported")
        array = np.require(given, np.float64, _PLAIN)
    except (TypeError, ValueError) as error:
        raise BadScores(f"{what} are not numbers: {error}", remedy="Give one number for each word") from None
    if given.ndim == 2 and given.shape[1] == 1:
        return array[:, 0]
    if given.ndim != 1:
        raise BadScores(
            f"{what} have the shape {given.shape}", remedy="Give a list of numbers, or a table with one column"
        )
    return array


def _require_log_odds(logits: Reals) -> None:
    finite = logits[np.isfinite(logits)]
    most = float(np.abs(finite).max(initial=0))
    if most > MOST:
        raise BadScores(f"a logit is {most:g} in size, the most is {MOST:g}", remedy="Scale the scores to log-odds")


def number_between(fitted: Mapping[str, Any], name: str, low: float, high: float) -> float:
    """A number of a dictionary that nobody has checked."""
    value = number(fitted, name)
    if not low <= value <= high:
        raise InputError(f"{name} is {value:g}, not from {low:g} to {high:g}", remedy="Fit it again")
    return value


def sigmoid(logits: Reals) -> Reals:
    """The inverse of `logit`."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-logits)))


def clipped(logits: Reals) -> Reals:
    """Log-odds between those of 1e-7 and 1 - 1e-7: one sure word must not turn a whole logistic fit."""
    return np.clip(logits, -CLIP_LOGIT, CLIP_LOGIT)
