"""Utterances unlike those that a model knows: found without references, and told; confidences stay."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.command_line import run
from tests.helpers.made_models import made_model, sample_networks, write_networks
from tests.helpers.shared import SHARED, needs_shared
from wordtrust.base.errors import InputError
from wordtrust.confidence import out_of_domain
from wordtrust.confidence.adapt import adapt
from wordtrust.confidence.calibrate_model import calibrate_model
from wordtrust.confidence.config import Config
from wordtrust.confidence.evaluate_model import arc_confidences
from wordtrust.confidence.features import Statistics
from wordtrust.confidence.model_file import Model, load_model, save_model
from wordtrust.confidence.out_of_domain import UsualFeatures, _covariances, columns_of, fit_usual_features
from wordtrust.confidence.word_table import WordTable, expected_counts
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.lattices.paths import one_best


@pytest.fixture(scope="module")
def networks() -> Lattices:
    """Ten times the sample, with scores that differ from time to time."""
    sample, rng = sample_networks("made up"), np.random.default_rng(0)
    assert sample.acoustic is not None
    copies = []
    for copy in range(10):
        utts = tuple(f"{utt}-{copy}" for utt in sample.utts)
        copies.append(replace(sample, utts=utts, acoustic=(sample.acoustic * rng.uniform(0.9, 1.1)).astype("f4")))
    return concatenate(copies)


def model_of(networks: Lattices) -> Model:
    """A made-up model whose features are normalised as they should be."""
    usual = adapt(made_model(networks, generic=True), [networks]).statistics
    return replace(made_model(networks), statistics=usual)


def calibrated(networks: Lattices) -> Model:
    scorer = wt.WordScorer(model_of(networks))
    curve = calibrate_model(scorer, networks, calibrator="platt", keep_choice=True).calibration
    usual = UsualFeatures.fit(scorer.model, [networks]).to_dict()
    return replace(scorer.model, card=replace(scorer.model.card, calibration=curve.to_dict(), usual_features=usual))


def strange(networks: Lattices) -> Lattices:
    """The same words, as nobody ever scored them."""
    assert networks.acoustic is not None
    return replace(networks, acoustic=networks.acoustic * np.float32(3))


@pytest.mark.slow
def test_known_utterances_are_usual_and_others_are_not(networks: Lattices) -> None:
    model = model_of(networks)
    usual = UsualFeatures.fit(model, [networks[:100], networks[100:]])
    assert usual.p_values(model, networks).mean() == pytest.approx(0.5, abs=0.01)
    assert usual.p_values(model, strange(networks)).mean() < 0.05


def test_means_are_those_of_the_words_of_the_one_best(networks: Lattices) -> None:
    model = made_model(networks)  # statistics of 0 and 1: features as they are
    columns = columns_of(model)
    seen = out_of_domain._features(model, columns, networks[:5], in_training=False)
    means, words = out_of_domain._means(networks[:5], seen)
    column = columns.index("acoustic")
    for index, lattice in enumerate(networks[:5]):
        arcs = [arc for arc in one_best(lattice.batch()).arcs.tolist() if lattice.word[arc]]
        assert words[index] == len(arcs)
        assert lattice.acoustic is not None
        expected = np.clip(lattice.acoustic[arcs], -8, 8).mean()
        assert means[index, column] == pytest.approx(expected, rel=1e-5)


def test_features_that_scoring_has_made_give_the_same_p_values(networks: Lattices) -> None:
    model = model_of(networks)
    usual = UsualFeatures.fit(model, [networks])
    seen = wt.WordScorer(model).arc_scores(networks).features
    np.testing.assert_array_equal(usual.p_values(model, networks, seen), usual.p_values(model, networks))


def test_covariances_between_and_within_are_told_apart() -> None:
    rng = np.random.default_rng(1)
    words = rng.integers(1, 30, 20_000).astype(float)
    between, within = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[6.0, -1.0], [-1.0, 3.0]])
    off = rng.multivariate_normal([0, 0], between, len(words))
    off += rng.multivariate_normal([0, 0], within, len(words)) / np.sqrt(words)[:, None]
    estimated = _covariances(off, words)
    np.testing.assert_allclose(estimated[0], between, atol=0.15)
    np.testing.assert_allclose(estimated[1], within, atol=0.5)


def test_confidences_do_not_depend_on_what_is_usual(networks: Lattices) -> None:
    model = calibrated(networks)
    plain = wt.WordScorer(replace(model, card=replace(model.card, usual_features=None)))
    scorer, other = wt.WordScorer(model), strange(networks)
    told = scorer(other)
    assert np.mean([any(warning.name == "scores" for warning in each.warnings) for each in told]) > 0.9
    assert [each.words for each in told] == [each.words for each in plain(other)]
    judged, as_before = (arc_confidences(one, other)["calibrated"] for one in (scorer, plain))
    scores = np.linspace(0, 1, np.count_nonzero(other.word))
    for name in ("of_arcs", "of_words"):
        np.testing.assert_array_equal(getattr(judged, name)(scores), getattr(as_before, name)(scores))


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": ["phones"]}, {"mean": [1.0]}, {"mean": "x"}, {"between": [[0.0]]}, {"distances": None},
        {"within": [[1e999]]},
    ],
)  # fmt: skip
def test_damage_is_refused(networks: Lattices, changes: dict[str, Any]) -> None:
    model = made_model(networks)
    whole = json.loads(json.dumps(UsualFeatures.fit(model, [networks]).to_dict()))
    flat = {"between": np.zeros_like(whole["between"]).tolist()}
    usual = UsualFeatures.of_model(knowing(model, whole))
    assert usual is not None
    assert usual.columns == columns_of(model)
    for damage, message in ((changes, "usual"), (flat, "does not fit")):
        with pytest.raises(InputError, match=message):
            UsualFeatures.of_model(knowing(model, whole | damage))


def test_models_of_before_compared_more_columns(networks: Lattices) -> None:
    model = made_model(networks)
    usual = UsualFeatures.fit(model, [networks])
    assert "phones" not in usual.columns
    more, size = (*usual.columns, "phones"), len(usual.columns) + 1
    wide = replace(usual, columns=more, mean=np.zeros(size), between=np.eye(size), within=np.eye(size))
    before = UsualFeatures.of_model(knowing(model, wide.to_dict()))
    assert before is not None
    assert before.columns == more
    assert before.p_values(model, networks).shape == (len(networks),)


def knowing(model: Model, usual: dict[str, Any]) -> Model:
    return replace(model, card=replace(model.card, usual_features=usual))


def test_too_little_to_learn_from(networks: Lattices) -> None:
    model = made_model(networks)
    assert fit_usual_features(model, [networks], 499) is None
    assert fit_usual_features(model, [networks], 500) is not None
    with pytest.raises(InputError, match="no utterances"):
        UsualFeatures.fit(model, [])
    with pytest.raises(InputError, match="too few"):
        UsualFeatures.fit(model, [networks[:1]])


def test_it_is_kept_in_the_model_and_told_by_the_commands(networks: Lattices, tmp_path: Path) -> None:
    model = calibrated(networks)
    save_model(model, tmp_path / "model")
    kept, expected = UsualFeatures.of_model(load_model(tmp_path / "model")), UsualFeatures.of_model(model)
    assert kept is not None
    assert expected is not None
    np.testing.assert_allclose(kept.p_values(model, networks), expected.p_values(model, networks))
    for name, batch in (("known", networks[:36]), ("strange", strange(networks)[:36])):
        write_networks(tmp_path / name, batch)
        for out in (tmp_path / f"{name}.ctm", "-"):
            done = run("score", tmp_path / "model", tmp_path / name, "--out", out)
            assert ("scores are unlike those of training" in done.stderr) is (name == "strange")
    run("calibrate", tmp_path / "model", tmp_path / "strange", "--calibrator", "platt")
    assert load_model(tmp_path / "model").card.usual_features is None  # 36 utterances are too few to learn from


@needs_shared
def test_a_recognizer_outside_its_domain_is_found() -> None:
    """The acoustic model of kaldi-small-2020 with a language model of another domain: 92% of its words are wrong."""
    folders = [SHARED / "kaldi-small-2020", SHARED / "out-of-domain" / "kaldi-domain-lm"]
    inside, outside = (first(folder / "dev.ark.gz", 500) for folder in folders)
    columns = ("transition", "acoustic", "posterior", "frames", "frequency", "depth")
    mass = expected_counts([inside[:400]])
    size = len(columns)
    model = replace(
        made_model(inside, generic=True),
        config=Config(columns=columns),
        statistics=Statistics(columns, np.zeros(size, "f4"), np.ones(size, "f4")),
        table=WordTable(tuple(mass), None, np.array(list(mass.values()), "f4")),
    )
    model = replace(model, statistics=adapt(model, [inside[:400]]).statistics)
    usual = UsualFeatures.fit(model, [inside[:400]])
    assert usual.p_values(model, inside[400:]).mean() > 0.4
    assert usual.p_values(model, outside).mean() < 0.1


def first(path: Path, count: int) -> Lattices:
    """Networks of the first utterances of a file."""
    batches: list[Lattices] = []
    for batch in wt.stream(path):
        batches.append(wt.build(batch[: count - sum(map(len, batches))]).lattices)
        if sum(map(len, batches)) >= count:
            break
    return concatenate(batches)
