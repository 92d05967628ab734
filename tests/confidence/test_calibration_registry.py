"""Calibrators as plain dictionaries, hostile ones too; bad scores; and scikit-learn's own checks."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import check_estimator

from tests.helpers.calibration import halved, words
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.calibration import (
    BadScores,
    Beta,
    Calibrator,
    Histogram,
    Isotonic,
    KernelCalibrator,
    Platt,
    Temperature,
    calibrator_from_dict,
    make,
    names,
)

AT = np.concatenate([np.linspace(0, 1, 200), [1e-300, 1 - 1e-16]])


def fitted(name: str, **params: Any) -> Calibrator:
    score, correct = words(halved, 500)
    score[:50] = 1
    return make(name, **params).fit(score, correct)


FORMS = {name: json.dumps(fitted(name).to_dict()) for name in names()}


@pytest.mark.parametrize("name", names())
def test_round_trip(name: str) -> None:
    calibrator = fitted(name)
    text = json.dumps(calibrator.to_dict(), allow_nan=False)
    again = calibrator_from_dict(json.loads(text))
    assert type(again) is type(calibrator)
    assert again.get_params() == calibrator.get_params()
    assert np.array_equal(again.predict(AT), calibrator.predict(AT))
    assert json.dumps(again.to_dict()) == text


@pytest.mark.parametrize("correct", [[1, 1], [0, 0], [0, 1]])
@pytest.mark.parametrize("score", [[0.2, 0.7], [1, 1], [0, 1]])
@pytest.mark.parametrize("name", names())
def test_round_trip_of_the_least(name: str, score: list[float], correct: list[int]) -> None:
    calibrator = make(name).fit(score, correct)
    again = calibrator_from_dict(json.loads(json.dumps(calibrator.to_dict(), allow_nan=False)))
    assert np.array_equal(again.predict(AT), calibrator.predict(AT))


def test_parameters_of_numpy_can_be_kept() -> None:
    form = fitted("kernel", L=np.float32(2), prior=np.int64(3)).to_dict()
    assert calibrator_from_dict(json.loads(json.dumps(form))).get_params()["prior"] == 3


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in a dictionary."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in inner:
        yield from leaves(entry, (*path, key))


def changed(form: dict[str, Any], path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    holder: Any = form
    for key in path[:-1]:
        holder = holder[key]
    if value is None and isinstance(holder, dict):
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return form


NUMBERS = [-1, 0, 2, 0.5, 10**400, 1e308, -1e308, float("nan"), float("inf")]
BAD = st.sampled_from([*NUMBERS, None, "x", [], {}, True, [1e9] * 3, [[1]], {"a": 1}])


@given(st.sampled_from(names()), st.data())
@settings(max_examples=300)
def test_hostile_forms(name: str, data: st.DataObject) -> None:
    """Whatever is changed: an `InputError`, or a calibrator that still gives probabilities."""
    form = json.loads(FORMS[name])
    path = data.draw(st.sampled_from(sorted(leaves(form), key=str)))
    try:
        calibrated = calibrator_from_dict(changed(form, path, data.draw(BAD))).predict(AT)
    except InputError:
        return
    assert ((calibrated >= 0) & (calibrated <= 1)).all()


def edited(name: str, edit: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    form: dict[str, Any] = json.loads(FORMS[name])
    edit(form)
    return form


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([], "the calibrator is a list, not an object"),
        ({}, "calibrator is missing"),
        ({"calibrator": "magic", "format": 1}, "'magic' of format 1 is not known"),
        (edited("platt", lambda form: form.update(format=2)), "'platt' of format 2 is not known"),
        (edited("platt", lambda form: form["params"].update(colour=1)), "no parameter 'colour'"),
        (edited("platt", lambda form: form["params"].update(domain="x")), "domain is 'x'"),
        (edited("kernel", lambda form: form["params"].update(L=10**5000)), "parameters are bad"),
        (edited("platt", lambda form: form.pop("fitted")), "fitted is missing"),
        (edited("platt", lambda form: form["fitted"].pop("slope")), "calibrator platt: slope is missing"),
        (edited("beta", lambda form: form["fitted"].update(a=-1)), "a is -1, not from 0"),
        (edited("kernel", lambda form: form["fitted"].update(at_one=1.5)), "at_one is 1.5, not from 0 to 1"),
        (edited("kernel", lambda form: form["fitted"].update(at_zero=1.5)), "at_zero is 1.5, not from 0 to 1"),
        (edited("kernel", lambda form: form["fitted"].update(at_zero=-0.5)), "at_zero is -0.5, not from 0 to 1"),
        (edited("kernel", lambda form: form["fitted"].update(sizes=[10**9])), "not such sizes"),
        (edited("kernel", lambda form: form["fitted"].update(sizes=[32] * 10**4)), "lie outside of all scores"),
        (edited("kernel", lambda form: form["fitted"].update(first=0.5)), "lie outside of all scores"),
        (edited("kernel", lambda form: form["fitted"].update(first=1e9)), "first is 1e[+]09"),
        (edited("kernel", lambda form: form["fitted"]["right"].pop()), "right is not a table of"),
        (edited("kernel", lambda form: [form["fitted"].pop(table) for table in ("right", "wrong")]), "has no table"),
        (edited("isotonic", lambda form: form["fitted"]["scores"].reverse()), "scores do not rise"),
        (edited("isotonic", lambda form: form["fitted"]["probabilities"].reverse()), "do not rise or do not fit"),
        (edited("isotonic", lambda form: form["fitted"].update(scores=[0.0] * 200_000)), "200,000 numbers"),
        (edited("histogram", lambda form: form["fitted"]["edges"].pop()), "do not fit their edges"),
        (edited("histogram", lambda form: form["fitted"].update(probabilities=[2])), "not from 0 to 1"),
    ],
)  # fmt: skip
def test_bad_forms(form: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        calibrator_from_dict(form)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize(
    ("score", "correct", "message"),
    [
        ([], [], "there are no scores"),
        ([0.5, 0.5], [1], "2 scores but 1 labels"),
        ([0.5, np.nan], [1, 0], "1 of 2 scores are NaN"),
        ([0.5, 1.5], [1, 0], "a score is 1.5, which is no probability"),
        ([0.5, -0.25], [1, 0], "a score is -0.25, which is no probability"),
        ([0.5, -np.inf], [1, 0], "a score is -inf, which is no probability"),
        ([0.5, 0.6], [1, 2], "a label is 2"),
        ([0.5, 0.6], [1, np.nan], "a label is nan"),
        (["high", "low"], [1, 0], "scores are not numbers"),
        ([[0.1, 0.2], [0.3, 0.4]], [1, 0], r"scores have the shape \(2, 2\)"),
        (0.5, 1, r"scores have the shape \(\)"),
        ([0.5j], [1], "scores are not numbers"),
    ],
)
def test_bad_words(name: str, score: Any, correct: Any, message: str) -> None:
    with pytest.raises(BadScores, match=message):
        make(name).fit(score, correct)


def test_bad_groups_and_logits() -> None:
    with pytest.raises(BadScores, match="2 scores but 1 groups"):
        KernelCalibrator().fit([0.1, 0.2], [1, 0], groups=["a"])
    with pytest.raises(BadScores, match="a logit is 5000 in size"):
        KernelCalibrator(domain="logit").fit([-5000, 2], [1, 0])


@pytest.mark.parametrize("name", names())
def test_shapes_and_types(name: str) -> None:
    calibrator = fitted(name)
    assert calibrator.predict([]).shape == (0,)
    column = np.array([[0.25], [0.5]], np.float32)
    assert np.array_equal(calibrator.predict(column), calibrator.predict([0.25, 0.5]))
    assert calibrator.predict(column).dtype == np.float64


def test_names() -> None:
    assert names() == ("kernel", "platt", "temperature", "isotonic", "histogram", "beta")
    with pytest.raises(OptionError, match="no calibrator 'magic'; there are: kernel, platt"):
        make("magic")
    with pytest.raises(OptionError, match="Platt has no parameter 'bins'; it has: domain"):
        make("platt", bins=3)
    assert repr(make("histogram", bins=3)) == "Histogram(bins=3, domain='probability')"


@pytest.mark.parametrize("name", names())
def test_clones_are_not_fitted(name: str) -> None:
    calibrator = fitted(name)
    before = copy.deepcopy(calibrator.to_dict())
    again = clone(calibrator)
    assert again.get_params() == calibrator.get_params()
    with pytest.raises(OptionError, match="is not fitted: call fit first"):
        again.predict([0.5])
    with pytest.raises(OptionError, match="nothing to keep yet"):
        again.to_dict()
    assert calibrator.to_dict() == before


class Tabular:
    """Lets scikit-learn's checks, which give tables, reach a calibrator: the first column are logits."""

    def fit(self, X: Any, y: Any) -> Any:  # noqa: N803
        table, target = np.asarray(X), np.asarray(y).ravel()
        return super().fit(table[:, 0] if table.ndim == 2 else table, target == np.max(target))  # type: ignore[misc]

    def predict(self, X: Any) -> Any:  # noqa: N803
        return super().predict(np.asarray(X)[:, 0])  # type: ignore[misc]


TABULAR = {
    f"Tabular{kind.__name__}": type(
        f"Tabular{kind.__name__}", (Tabular, kind, BaseEstimator), {"__module__": __name__}
    )
    for kind in (KernelCalibrator, Platt, Temperature, Isotonic, Histogram, Beta)
}
globals().update(TABULAR)  # where pickle, which is among the checks, looks for them
ONE_COLUMN = "scores are one column: there are no features to count, and a flat list is what is wanted"
OWN_ERRORS = "our own errors say what is wrong: the package does not import scikit-learn for its types and texts"
DO_NOT_APPLY = {
    "check_n_features_in": ONE_COLUMN,
    "check_n_features_in_after_fitting": ONE_COLUMN,
    "check_fit1d": ONE_COLUMN,
    "check_fit2d_predict1d": ONE_COLUMN,
    "check_estimators_empty_data_messages": ONE_COLUMN,
    "check_estimators_unfitted": OWN_ERRORS,
    "check_dtype_object": OWN_ERRORS,
    "check_estimator_sparse_tag": OWN_ERRORS,
    "check_estimator_sparse_array": OWN_ERRORS,
    "check_estimator_sparse_matrix": OWN_ERRORS,
    "check_requires_y_none": OWN_ERRORS,
    "check_estimators_nan_inf": "an infinite logit is a probability of 0 or 1, not a mistake",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", TABULAR.values())
def test_checks_of_sklearn(kind: Callable[..., BaseEstimator]) -> None:
    results = check_estimator(kind(domain="logit"), expected_failed_checks=DO_NOT_APPLY, on_skip=None, on_fail=None)
    assert not {check["check_name"]: check["exception"] for check in results if check["status"] == "failed"}
    assert sum(check["status"] == "passed" for check in results) > 25
