"""Baselines of a study: scikit-learn as the oracle of the regression, rows worked out by hand, hostile files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from tests.helpers.made_models import sample_networks
from wordtrust.base.errors import InputError
from wordtrust.confidence.features import clipped_logit
from wordtrust.evaluation.evaluation import evaluate_networks
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.paths import one_best
from wordtrust.study.baselines import Baselines, Logistic, _features, _table, choose_logistic, fit_baselines

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def networks() -> Lattices:
    return sample_networks("sphinx")


@pytest.fixture(scope="module")
def baselines(networks: Lattices) -> Baselines:
    return fit_baselines(lambda: [networks[:24]], lambda: [networks[24:]])


def rows(size: int = 400) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    raw = rng.normal([3, -1, 0], [2, 0.5, 1], (size, 3))
    return raw, rng.random(size) < 1 / (1 + np.exp(-(raw[:, 0] - 3) + 2 * raw[:, 1] + 1))


@pytest.mark.parametrize("strength", [0.5, 20.0])
def test_the_regression_is_that_of_scikit_learn(strength: float) -> None:
    raw, right = rows()
    mine = Logistic.fit(raw, right, strength)
    scaled = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    count = np.count_nonzero(right)
    # Platt's targets: every row is right with one weight and wrong with the rest.
    target = np.where(right, (count + 1) / (count + 2), 1 / (len(right) - count + 2))
    theirs = LogisticRegression(C=1 / strength, tol=1e-10, max_iter=1000).fit(
        np.concatenate([scaled, scaled]), np.repeat([1, 0], len(right)), np.concatenate([target, 1 - target])
    )
    np.testing.assert_allclose(mine.weights, theirs.coef_[0], atol=1e-5)
    assert mine.intercept == pytest.approx(theirs.intercept_[0], abs=1e-5)
    np.testing.assert_allclose(mine.predict(raw), theirs.predict_proba(scaled)[:, 1], atol=1e-5)


def test_the_strength_is_that_of_held_out_rows() -> None:
    raw, right = rows(60)
    new, new_right = rows(4000)
    found = choose_logistic(raw, right, new, new_right, strengths=(0.01, 3.0, 3000.0))
    likely = {each: Logistic.fit(raw, right, each).likelihood(new, new_right) for each in (0.01, 3.0, 3000.0)}
    assert found.strength == max(likely, key=lambda each: likely[each])
    assert len(set(likely.values())) == 3


def test_all_kinds_of_scores_are_judged(networks: Lattices, baselines: Baselines) -> None:
    judged = baselines.judge(networks)
    assert list(judged) == ["posterior", "calibrated_posterior", "logistic"]
    logistic = judged["logistic"]
    assert logistic.shown is not None
    spoken = networks.word > 0
    for values in (logistic.confidence, logistic.shown):
        assert values.shape == networks.word.shape
        assert ((values > 0) & (values < 1))[spoken].all()
        np.testing.assert_array_equal(values[~spoken], networks.posterior[~spoken])  # type: ignore[index]


def test_words_that_are_shown_have_a_regression_of_their_own(networks: Lattices, baselines: Baselines) -> None:
    """What `evaluate` reports for 1-best words, worked out from the columns."""
    found = evaluate_networks([networks], baselines.judge).scores["one_best", "logistic"]
    paths = one_best(networks)
    arcs = paths.arcs_in(networks)
    arcs = arcs[networks.word[arcs] > 0]
    words = networks.vocabulary.lookup(networks.word[arcs].tolist())
    shown = evaluate_networks([networks], baselines.judge).scores["one_best", "posterior"].score.astype(np.float64)
    raw = _features(networks, baselines.columns, baselines.table)[arcs]
    np.testing.assert_array_equal(raw[:, len(baselines.columns)], [len(word) for word in words])
    columns = np.column_stack([raw, clipped_logit(shown), clipped_logit(baselines.posterior_words.predict(shown))])
    np.testing.assert_allclose(found.score, baselines.words.predict(columns), atol=1e-5)


def test_the_calibrated_posterior_is_that_of_the_training_data(networks: Lattices, baselines: Baselines) -> None:
    train = evaluate_networks([networks[:24]], baselines.judge)
    for population in ("arcs", "one_best"):
        scores = train.scores[population, "calibrated_posterior"]
        assert scores.score.mean() == pytest.approx(scores.correct.mean(), abs=0.03)


def test_a_word_heard_only_in_its_own_utterance_was_never_heard(networks: Lattices) -> None:
    alone = networks[:1]
    first = next(number for number in range(len(alone.word)) if alone.word[number] > 0)
    [word] = alone.vocabulary.lookup([int(alone.word[first])])
    own = float(alone.posterior[alone.word == alone.word[first]].sum())  # type: ignore[index]
    table = _table({word: own})
    assert _features(alone, ("frequency",), table)[first, 0] == pytest.approx(np.log1p(own), rel=1e-4)
    assert _features(alone, ("frequency",), table, in_training=True)[first, 0] == pytest.approx(0, abs=1e-4)


def test_they_survive_their_file(networks: Lattices, baselines: Baselines, tmp_path: Path) -> None:
    baselines.save(tmp_path / "baselines.json")
    again = Baselines.load(tmp_path / "baselines.json")
    mine, theirs = baselines.judge(networks), again.judge(networks)
    np.testing.assert_array_equal(mine["logistic"].confidence, theirs["logistic"].confidence)
    np.testing.assert_array_equal(mine["logistic"].shown, theirs["logistic"].shown)
    some = np.linspace(0, 1, 30)
    np.testing.assert_array_equal(
        mine["calibrated_posterior"].of_words(some), theirs["calibrated_posterior"].of_words(some)
    )


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ((), []), ((), None), (("kind",), "other"), (("version",), 2), (("columns",), ["frames", "frames"]),
        (("columns",), ["nonsense"]), (("columns",), [[]]), (("columns",), []), (("heard",), {"a": "often"}),
        (("heard",), {"a": -1}), (("arcs", "weights"), [1.0]), (("arcs", "spread"), [0.0] * 9),
        (("words", "intercept"), None), (("arcs", "mean"), "x"), (("posterior_arcs",), {}), (("words",), 3),
    ],
)  # fmt: skip
def test_what_is_no_such_file_is_refused(
    baselines: Baselines, tmp_path: Path, place: tuple[str, ...], value: object
) -> None:
    form: Any = json.loads(json.dumps(baselines.to_dict()))
    holder = form
    for name in place[:-1]:
        holder = holder[name]
    if place:
        holder[place[-1]] = value
    (tmp_path / "bad.json").write_text(json.dumps(form if place else value), "utf-8")
    with pytest.raises(InputError, match=r"bad\.json"):
        Baselines.load(tmp_path / "bad.json")


def test_no_file_and_no_data_are_told(networks: Lattices, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be opened"):
        Baselines.load(tmp_path / "none.json")
    with pytest.raises(InputError, match="no utterances"):
        fit_baselines(list, lambda: [networks])
    with pytest.raises(InputError, match="no utterances"):
        fit_baselines(lambda: [networks], list)
