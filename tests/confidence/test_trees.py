"""Trees beside the network: every tree walked by hand, what corrections do, and tables that nobody should trust."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.helpers.made_models import made_model, sample_networks
from wordtrust import load
from wordtrust.base.errors import InputError
from wordtrust.confidence.config import weight_shapes
from wordtrust.confidence.model_file import Model, load_model, save_model, update_card
from wordtrust.confidence.trees import MOST_DEPTH, NEVER, Trees, network_inputs
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.lattices.lattice import Floats, Lattices
from wordtrust.networks.text_probability import text_probability


def random_trees(seed: int, trees: int, depth: int, inputs: int, **about: Any) -> Trees:
    rng = np.random.default_rng(seed)
    nodes, weights = (1 << depth) - 1, {"share_weight": 0.25, "chance_weight": 1.0, "with_network": True}
    threshold = np.where(rng.random((trees, nodes)) < 0.2, NEVER, rng.normal(size=(trees, nodes)))
    return Trees(
        rng.integers(0, inputs, (trees, nodes)).astype(np.uint8), threshold.astype(np.float32),
        rng.integers(0, 2, (trees, nodes)).astype(np.uint8), rng.normal(size=(trees, nodes + 1)).astype(np.float32),
        **weights | about,
    )  # fmt: skip


def walked(trees: Trees, row: list[float]) -> float:
    """The sum of the leaves that one arc comes to."""
    total = 0.0
    for feature, threshold, missing_right, leaf in zip(
        trees.feature.tolist(),
        trees.threshold.tolist(),
        trees.missing_right.tolist(),
        trees.leaf.tolist(),
        strict=True,
    ):
        node = 0
        while node < len(feature):
            value = row[feature[node]]
            right = missing_right[node] == 1 if math.isnan(value) else value > threshold[node]
            node = 2 * node + (2 if right else 1)
        total += leaf[node - len(feature)]
    return total


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 5), st.integers(1, 6), st.integers(0, 70))
@settings(max_examples=40)
def test_log_odds_are_those_of_trees_walked_by_hand(
    seed: int, n_trees: int, depth: int, inputs: int, arcs: int
) -> None:
    trees, rng = random_trees(seed, n_trees, depth, inputs), np.random.default_rng(seed + 1)
    rows = rng.normal(size=(arcs, inputs)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    if arcs:
        rows[0] = trees.threshold[0, 0]  # what is equal goes to the left
    assert trees.log_odds(rows) == pytest.approx([walked(trees, row) for row in rows.tolist()], abs=1e-5)


def test_what_the_network_says_by_hand() -> None:
    said = network_inputs(np.array([0.5, 1.0, 0.0]), np.array([0.0, math.log(3), 200.0], np.float32))
    sure = math.log(1e6 - 1)
    expected = [[-math.log(3), 0.0, 0.0], [math.log(3), sure, math.log(3)], [-sure, -sure, 80.0]]
    np.testing.assert_allclose(said, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("with_network", [True, False])
def test_outputs_are_corrected_by_what_trees_say_more(with_network: bool) -> None:
    trees = random_trees(3, 7, 3, 5 if with_network else 2, with_network=with_network)
    rng = np.random.default_rng(0)
    features, outputs = rng.normal(size=(6, 2)).astype(np.float32), rng.normal(size=(6, 2)).astype(np.float32)
    share, is_word = rng.random(6), np.array([True, True, False, True, True, False])
    corrected = trees.correct(features, share, outputs, is_word)
    for arc in range(6):
        said = share[arc] / (1 + math.exp(-float(outputs[arc, 1])))
        row = [*features[arc].tolist(), *network_inputs(share, outputs[:, 1])[arc].tolist()]
        more = walked(trees, row) - math.log(said / (1 - said)) if is_word[arc] else 0.0
        expected = outputs[arc] + more * np.array([trees.share_weight, trees.chance_weight])
        assert corrected[arc] == pytest.approx(expected, abs=1e-4)
    alone = trees.correct(features, np.ones(6), outputs[:, 1:], is_word)
    assert alone.shape == (6, 1)


NETWORKS = sample_networks()


def with_trees(head: str = "normalised", seed: int = 0) -> Model:
    model = made_model(NETWORKS, seed)
    config = replace(model.config, head=head)
    rng = np.random.default_rng(seed)
    weights = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in weight_shapes(config).items()}
    trees = random_trees(seed, 20, 4, len(config.columns) + 3)
    return replace(model, config=config, weights=weights, trees=trees)


def most_at_an_instant(networks: Lattices, confidence: Floats) -> float:
    """The largest sum of confidences of arcs that cross from one node to the next."""
    most = 0.0
    for utterance, lattice in enumerate(networks):
        own = confidence[networks.arc_offsets[utterance] : networks.arc_offsets[utterance + 1]]
        for node in range(len(lattice.time) - 1):
            most = max(most, float(own[(lattice.source <= node) & (lattice.target > node)].sum()))
    return most


def test_confidences_of_rivals_still_sum_to_one_at_most() -> None:
    model = with_trees()
    confidence, without = (WordScorer(one).confidence(NETWORKS) for one in (model, replace(model, trees=None)))
    assert np.abs(confidence - without).max() > 0.1
    assert most_at_an_instant(NETWORKS, confidence) <= 1 + 1e-5


@pytest.mark.parametrize("head", ["normalised", "independent"])
def test_a_batch_is_scored_as_its_utterances(head: str) -> None:
    scorer = WordScorer(with_trees(head))
    whole = scorer.confidence(NETWORKS)
    alone = [scorer.confidence(NETWORKS[index : index + 1]) for index in range(len(NETWORKS))]
    np.testing.assert_allclose(whole, np.concatenate(alone), atol=1e-5)
    assert ((whole >= 0) & (whole <= 1)).all()


def test_trees_that_agree_with_the_network_change_nothing() -> None:
    model = with_trees()
    assert model.trees is not None
    idle = replace(model, trees=replace(model.trees, share_weight=0.0, chance_weight=0.0))
    expected = WordScorer(replace(model, trees=None)).confidence(NETWORKS)
    np.testing.assert_array_equal(WordScorer(idle).confidence(NETWORKS), expected)


@pytest.mark.parametrize("head", ["normalised", "independent"])
def test_whole_utterances_have_the_chances_of_the_network_alone(head: str) -> None:
    model = with_trees(head)
    scorer, plain = WordScorer(model), WordScorer(replace(model, trees=None))
    scores, alone = scorer.arc_scores(NETWORKS), plain.arc_scores(NETWORKS)
    np.testing.assert_array_equal(scores.network_chance, alone.chance)
    np.testing.assert_array_equal(alone.network_chance, alone.chance)
    assert np.abs(scores.chance - alone.chance)[NETWORKS.word > 0].max() > 0.1
    paths = scorer.choice.paths(NETWORKS, scores.confidence)
    expected = text_probability(NETWORKS, scores.share, paths, alone.chance)
    np.testing.assert_array_equal(scorer.correct(NETWORKS, scores, paths), expected)


def test_a_model_folder_keeps_its_trees(tmp_path: Path) -> None:
    model = with_trees()
    save_model(model, tmp_path / "model")
    update_card(tmp_path / "model", model.card)  # as calibrating does
    back = load_model(tmp_path / "model").trees
    assert back is not None
    assert model.trees is not None
    for name, values in model.trees.arrays().items():
        np.testing.assert_array_equal(back.arrays()[name], values)
    assert back.to_json() == model.trees.to_json()
    expected = WordScorer(model).confidence(NETWORKS)
    np.testing.assert_array_equal(load(tmp_path / "model").confidence(NETWORKS), expected)
    save_model(model, tmp_path / "small", small=True)
    small = load(tmp_path / "small")
    assert (tmp_path / "small" / "model.safetensors").stat().st_size < 20_000
    assert np.abs(small.confidence(NETWORKS) - expected).mean() < 0.005  # a value may pass a rounded threshold


WRONG: list[dict[str, Any]] = [
    {"leaf": np.zeros((3, 5), np.float32)},
    {"leaf": np.zeros(4, np.float32)},
    {"leaf": np.zeros((0, 4), np.float32)},
    {"leaf": np.zeros((3, 1), np.float32)},
    {"leaf": np.full((3, 4), np.nan, np.float32)},
    {"leaf": np.full((3, 4), 1e9, np.float32)},
    {"leaf": np.zeros((3, 2 << MOST_DEPTH), np.float32)},
    {"threshold": np.full((3, 3), np.nan, np.float32)},
    {"threshold": np.full((3, 3), np.inf, np.float32)},
    {"threshold": np.zeros((2, 3), np.float32)},
    {"feature": np.zeros((3, 7), np.uint8)},
    {"feature": np.full((3, 3), 200, np.uint8)},
    {"missing_right": np.zeros((3, 2), np.uint8)},
    {"missing_right": np.full((3, 3), 2, np.uint8)},
    {"share_weight": -1.0},
    {"share_weight": None},
    {"chance_weight": 1e9},
    {"with_network": "yes"},
]


@pytest.mark.parametrize("change", WRONG, ids="-".join)
def test_tables_that_do_not_fit_are_told(change: dict[str, Any]) -> None:
    trees = random_trees(0, 3, 2, 4)
    record = trees.to_json() | {name: value for name, value in change.items() if name in trees.to_json()}
    arrays = trees.arrays() | {f"trees.{name}": value for name, value in change.items() if name not in record}
    with pytest.raises((ValueError, InputError)):
        Trees.from_arrays(record, arrays, 1)


@given(st.data())
def test_no_table_crashes_or_hangs(data: st.DataObject) -> None:
    """Whatever stands in tables of some shape: an error, or finite log-odds."""
    shape = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 9)))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    numbers = np.array([0, 1, -3, 1e30, np.nan, np.inf, NEVER, 300], np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        arrays: dict[str, NDArray[Any]] = {
            "trees.leaf": rng.choice(numbers, (shape[0], shape[1])).astype(np.float32),
            "trees.threshold": rng.choice(numbers, (shape[0], max(shape[1] - 1, 0))).astype(np.float32),
            "trees.feature": rng.integers(-300, 300, (shape[0], max(shape[1] - 1, 0))),
            "trees.missing_right": rng.integers(0, 3, (shape[0], max(shape[1] - 1, 0))),
        }
    try:
        trees = Trees.from_arrays(random_trees(0, 1, 1, 1).to_json(), arrays, 200)
    except (ValueError, InputError):
        return
    assert np.isfinite(trees.log_odds(rng.normal(size=(5, 203)).astype(np.float32))).all()


def test_a_damaged_model_with_trees_is_told(tmp_path: Path) -> None:
    model = with_trees()
    save_model(model, tmp_path / "model")
    file = tmp_path / "model" / "model.json"
    record = json.loads(file.read_text("utf-8"))
    wrongs: list[Any] = [{}, [], 3, {"share_weight": "x", "chance_weight": 1, "with_network": True}]
    for wrong in wrongs:
        file.write_text(json.dumps(record | {"trees": wrong}), "utf-8")
        with pytest.raises(InputError):
            load_model(tmp_path / "model")


def test_trees_do_not_look_at_what_is_not_there() -> None:
    model = with_trees()
    assert model.trees is not None
    with pytest.raises(ValueError, match="inputs"):
        WordScorer(replace(model, trees=random_trees(0, 2, 2, 90)))
    with pytest.raises(ValueError, match="more than 2 inputs"):
        random_trees(0, 9, 3, 5).log_odds(np.zeros((3, 2), np.float32))
