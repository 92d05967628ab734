"""A model moved to another recognizer: its statistics are those of the networks at hand, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.command_line import run
from tests.helpers.made_models import COLUMNS, made_model, sample_networks, write_model, write_networks
from wordtrust.base.errors import InputError, WordtrustWarning
from wordtrust.confidence import word_scorer
from wordtrust.confidence.adapt import ENOUGH_UTTERANCES, Moments, adapt, on_another_scale
from wordtrust.confidence.features import Arcs, Statistics, matrix
from wordtrust.confidence.model_card import Adaptation
from wordtrust.confidence.model_file import load_model
from wordtrust.confidence.word_table import WordTable
from wordtrust.lattices.lattice import Lattices, concatenate


@pytest.fixture(scope="module")
def networks() -> Lattices:
    return sample_networks("mine")


def many(networks: Lattices) -> Lattices:
    """Enough utterances for statistics of their own."""
    return concatenate([networks] * (1 + ENOUGH_UTTERANCES // len(networks)))


def louder(networks: Lattices, factor: float) -> Lattices:
    """The same with acoustic scores on another scale."""
    enough = many(networks)
    assert enough.acoustic is not None
    return replace(enough, acoustic=enough.acoustic * np.float32(factor))


def plain_statistics(networks: Lattices) -> Statistics:
    """The oracle: what training would take from these arcs, all in memory."""
    words = networks.vocabulary.lookup(networks.word.tolist())
    phones = WordTable().phones_of(words, np.full(len(words), -1, np.int32))
    arcs = Arcs(networks, phones.astype(float), np.zeros(len(words)))
    return Statistics.of(matrix(arcs, COLUMNS), COLUMNS, arcs.silence)


def test_with_enough_utterances_a_generic_model_takes_their_statistics(networks: Lattices) -> None:
    model = made_model(networks, generic=True, recognizer=None)
    adapted = adapt(model, [many(networks)[:40], many(networks)[40:]])
    expected = plain_statistics(many(networks))
    np.testing.assert_allclose(adapted.statistics.mean, expected.mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(adapted.statistics.std, expected.std, rtol=1e-4, atol=1e-5)
    assert adapted.recognizer == "mine"
    assert adapted.card.adapted == Adaptation(108, None, COLUMNS)
    assert adapted.weights is model.weights


def test_few_utterances_are_blended_with_what_the_model_knows(networks: Lattices) -> None:
    moments = Moments.of(("frames",))
    moments.arcs[:], moments.sums[:], moments.squares[:], moments.utterances = 4, 40, 420, ENOUGH_UTTERANCES // 4
    shipped = Statistics(("frames",), np.array([2], "f4"), np.array([3], "f4"))
    blended = moments.blended(shipped)  # mean 10, variance 5 here; a quarter of the weight
    assert blended.mean.tolist() == [4.0]
    expected = 0.25 * (5 + 6**2) + 0.75 * (9 + 2**2)  # of the mixture
    assert blended.std[0] == pytest.approx(np.sqrt(expected), rel=1e-6)


def test_what_never_changes_and_flags_are_left_as_they_are() -> None:
    moments = Moments.of(("one_best", "tokens", "rank"))
    moments.arcs[:], moments.sums[:], moments.squares[:] = (9, 9, 0), (5, 18, 0), (5, 36, 0)
    moments.utterances = ENOUGH_UTTERANCES
    blended = moments.blended(Statistics(moments.columns, np.array([0, 1, 7], "f4"), np.array([1, 2, 3], "f4")))
    assert blended.mean.tolist() == [0, 2, 7]  # no arc had a rank
    assert blended.std.tolist() == [1, 1, 3]


def test_another_model_takes_only_columns_on_another_scale(networks: Lattices) -> None:
    here = plain_statistics(many(networks))
    model = replace(made_model(networks), statistics=here)
    assert adapt(model, [many(networks)]).card.to_json()["adapted"]["columns"] == []
    scaled = louder(networks, 10)
    adapted = adapt(model, [scaled])
    assert adapted.card.to_json()["adapted"]["columns"] == ["acoustic"]
    is_scaled = np.array(COLUMNS) == "acoustic"
    assert adapted.statistics.mean[is_scaled] == pytest.approx(10 * here.mean[is_scaled], rel=1e-4)
    np.testing.assert_array_equal(adapted.statistics.mean[~is_scaled], here.mean[~is_scaled])


def test_scales_are_compared_by_mean_and_spread() -> None:
    one = Statistics(("a", "b", "c", "d"), np.zeros(4, "f4"), np.ones(4, "f4"))
    other = Statistics(one.columns, np.array([1.9, 2.1, 0, 0], "f4"), np.array([1, 1, 2.5, 0.4], "f4"))
    assert on_another_scale(one, other).tolist() == [False, True, True, True]


def test_adapting_undoes_another_scale(networks: Lattices) -> None:
    """Confidences after adapting do not depend on the scale of a score."""
    model = made_model(networks, generic=True, recognizer=None)
    batches = [louder(networks, factor) for factor in (1.0, 50.0)]
    scores = [wt.WordScorer(adapt(model, [batch])).confidence(batch) for batch in batches]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-4)


def test_columns_that_are_not_there_are_left_out_by_generic_models_only(networks: Lattices) -> None:
    without = replace(networks, acoustic=None)
    with pytest.raises(InputError, match="no 'acoustic' on the arcs"):
        adapt(made_model(networks), [without])
    generic = made_model(networks, generic=True)
    confidence = wt.WordScorer(generic).confidence(without)
    column = COLUMNS.index("acoustic")
    weights = {name: weight.copy() for name, weight in generic.weights.items()}
    for direction in ("forwards", "backwards"):
        weights[f"{direction}.input.weight"][:, column] = 0  # as if it were always 0 after normalisation
    expected = wt.WordScorer(replace(generic, weights=weights)).confidence(networks)
    np.testing.assert_allclose(confidence, expected, atol=1e-6)
    assert adapt(generic, [many(without)]).statistics.mean[column] == generic.statistics.mean[column]


def test_a_generic_model_adapts_itself_to_a_call_with_enough_utterances(networks: Lattices) -> None:
    scorer = wt.WordScorer(made_model(networks, generic=True, recognizer=None))
    assert scorer.wants_adapting
    own = scorer.adapted([many(networks)])
    assert not own.wants_adapting
    with pytest.warns(WordtrustWarning, match="heard 36 utterances"):
        few = scorer(networks)
    assert scorer(many(networks)) == own(many(networks)) != few * 3
    assert not wt.WordScorer(made_model(networks)).wants_adapting


def test_the_first_utterances_are_read_ahead_and_none_is_lost(
    networks: Lattices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_scorer, "MOST_AHEAD", 50)
    scorer = wt.WordScorer(made_model(networks, generic=True, recognizer=None))
    adapted, batches = scorer.adapted_ahead(iter([networks] * 4))
    assert adapted.model.card.to_json()["adapted"]["utterances"] == 72
    assert [len(batch) for batch in batches] == [36] * 4
    same, batches = wt.WordScorer(made_model(networks)).adapted_ahead([networks])
    assert not same.model.is_generic
    assert len(list(batches)) == 1
    assert scorer.adapted_ahead([])[0] is scorer


def test_nothing_and_other_networks_are_refused(networks: Lattices) -> None:
    with pytest.raises(InputError, match="no utterances to adapt"):
        adapt(made_model(networks), [])
    with pytest.raises(InputError, match=r"tolerance of 0\.1 s, the model was trained on 0\.2 s"):
        adapt(made_model(networks, tolerance=0.2), [networks])


def test_the_command(networks: Lattices, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", sample_networks("theirs"), generic=True)
    store, out = write_networks(tmp_path / "store", networks), tmp_path / "mine"
    done = run("adapt", model, store, "--out", out)
    assert "adapted to 36 utterances of mine" in done.stdout
    assert "with 100 utterances or more" in done.stderr
    adapted = load_model(out)
    assert (adapted.recognizer, adapted.card.to_json()["adapted"]["from"]) == ("mine", "theirs")
