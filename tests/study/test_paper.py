"""The paper's system: labels, features, size by dev EER, its calibrator by the sum, its choice and its examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.calibration import direct
from tests.helpers.made_models import made_model, sample_networks, write_model
from tests.helpers.system_outputs import outputs, side_by_side
from wordtrust.base.arrays import logit
from wordtrust.base.errors import InputError
from wordtrust.combination.subset_comparison import compare_subsets
from wordtrust.combination.system_output import references_of
from wordtrust.confidence.calibrate_model import OutOfFoldScorer
from wordtrust.confidence.calibration import KernelCalibrator
from wordtrust.confidence.choice import Choice
from wordtrust.confidence.features import PAPER
from wordtrust.confidence.model_file import load_model
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.evaluation.evaluation import evaluate_networks
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.paths import best_confidence
from wordtrust.networks.build_store import ONE_BEST_LABEL
from wordtrust.study import paper
from wordtrust.study.paper import (
    WIDTHS,
    evaluate_paper,
    paper_outputs,
    paper_pack,
    paper_system_outputs,
    write_paper_model,
)
from wordtrust.study.paper_examples import chosen_subsets, examples
from wordtrust.training import paper_training
from wordtrust.training.__main__ import main as train_main
from wordtrust.training.dataset import read_pack
from wordtrust.training.paper_training import PAPER as OPTIONS
from wordtrust.training.paper_training import train_paper

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def networks() -> Lattices:
    return sample_networks("sphinx")


@pytest.fixture(scope="module")
def trained(networks: Lattices, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The system of one recognizer, hardly trained: of two sizes, and without each of two folds."""
    out = tmp_path_factory.mktemp("paper")
    paper_pack(lambda: [networks[:24]], lambda: [networks[24:]], out / "sphinx.pack")
    few = replace(OPTIONS, epochs=2, dimension=2, buckets=16)
    train_paper(
        {"sphinx": out / "sphinx.pack"}, out / "m", folds=2, options=few, device="cpu",
        sizes={"state": (3, 5), "hidden": (2,)},
    )  # fmt: skip
    return out


def test_training_data_have_the_labels_and_features_of_the_paper(trained: Path, networks: Lattices) -> None:
    data = read_pack(trained / "sphinx.pack")
    assert set(data.statistics.columns) <= set(PAPER)
    np.testing.assert_array_equal(data.train.label, networks[:24].extra[ONE_BEST_LABEL].astype(int))
    assert data.card.labels == "one-best"
    assert data.card.recognizer == "sphinx"


def test_the_size_with_the_best_eer_wins_and_folds_have_it(trained: Path) -> None:
    main = load_model(trained / "m" / "sphinx")
    tried = main.card.search
    best = min(tried, key=lambda each: each["dev_eer"])
    assert [(each["state"], each["hidden"]) for each in tried] == [(3, 2), (5, 2)]
    assert main.config.state == best["state"]
    assert (main.config.head, main.config.merge, main.config.skip) == ("independent", "mean", False)
    for fold in (0, 1):
        model = load_model(trained / "m" / f"sphinx-fold-{fold}")
        assert (model.config.state, model.card.training.options["fold"]) == (best["state"], fold)


def test_another_machine_trains_the_same_from_the_packed_file(
    trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_training, "SIZES", {"state": (3, 5), "hidden": (2,)})
    options = "--paper --folds 2 --epochs 2 --dimension 2 --buckets 16 --device cpu".split()
    assert train_main([str(trained / "sphinx.pack"), "--out", str(tmp_path), *options]) == 0
    for name in ("sphinx", "sphinx-fold-0", "sphinx-fold-1"):
        weights = (folder / name / "model.safetensors" for folder in (trained / "m", tmp_path))
        assert next(weights).read_bytes() == next(weights).read_bytes()


def test_what_is_trained_is_not_trained_again(trained: Path) -> None:
    train_paper({"sphinx": Path("nowhere.pack")}, trained / "m", folds=2, device="cpu")  # would not be found


def test_the_calibrator_is_the_papers_sum_over_training_words(
    trained: Path, networks: Lattices, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, folds = trained / "m" / "sphinx", [trained / "m" / f"sphinx-fold-{fold}" for fold in (0, 1)]
    asked: list[int] = []
    own = OutOfFoldScorer.confidence

    def watched(self: OutOfFoldScorer, batch: Lattices) -> object:
        asked.append(len(batch))
        return own(self, batch)

    monkeypatch.setattr(OutOfFoldScorer, "confidence", watched)
    write_paper_model(folder, folds, lambda: [networks[:24]], lambda: [networks[24:]], trained / "done")
    assert asked == [24]  # train by the folds; dev was seen by no model
    scorer = wt.load(trained / "done")
    assert scorer.choice == Choice("mean")
    assert scorer.calibration is not None
    found = scorer.calibration.parts["words"]
    assert isinstance(found, KernelCalibrator)
    assert (found.prior, found.L in WIDTHS) == (0, True)
    raw = OutOfFoldScorer(wt.load(folder), [wt.load(each) for each in folds]).confidence(networks[:24])
    paths = best_confidence(networks[:24], raw, "mean")
    arcs = paths.arcs_in(networks[:24])
    logits = logit(raw[arcs[networks.word[arcs] > 0]].astype(np.float64))
    right = evaluate_networks([networks[:24]], paper._raw_judge(lambda _: raw), Choice("mean").paths)
    correct = right.scores["output", "confidence"].correct
    at = np.linspace(logits.min() - 0.5, logits.max() + 0.5, 20)
    expected = direct(logits, correct, float(found.L or 0), at)
    np.testing.assert_allclose(found.predict(1 / (1 + np.exp(-at))), expected, atol=1e-5)
    assert scorer.model.card.to_json()["paper"]["differences"]


def test_l_is_the_best_on_dev() -> None:
    rng = np.random.default_rng(0)

    def words(size: int) -> wt.metrics.Scores:
        logits = rng.normal(0, 2, size)
        return wt.metrics.Scores.of(1 / (1 + np.exp(-2 * logits)), rng.random(size) < 1 / (1 + np.exp(-logits)))

    seen, held = words(300), words(3000)
    found = paper._kernel(seen, held)
    quality = {}
    for width in WIDTHS:
        chance = KernelCalibrator(width, prior=0).fit(seen.score, seen.correct).predict(held.score)
        clipped = np.clip(chance, 1e-7, 1 - 1e-7)
        quality[width] = np.log(np.where(held.correct, clipped, 1 - clipped)).sum()
    assert max(quality, key=lambda width: float(quality[width])) == found.L


@pytest.fixture
def calibrated(networks: Lattices, tmp_path: Path) -> WordScorer:
    write_model(tmp_path / "raw", networks)
    write_paper_model(tmp_path / "raw", [], lambda: [networks[:24]], lambda: [networks[24:]], tmp_path / "done")
    return wt.load(tmp_path / "done")


def own_confidences(scorer: WordScorer, networks: Lattices) -> Iterator[float]:
    """Of the words of the best mean path, each that of its arc alone."""
    confidence = scorer.confidence(networks)
    paths = best_confidence(networks, confidence, "mean")
    for number in range(len(networks)):
        for arc in paths.arcs[paths.offsets[number] : paths.offsets[number + 1]]:
            place = networks.arc_offsets[number] + arc
            if networks.word[place]:
                yield float(confidence[place])


def test_words_have_the_confidence_of_their_arc_alone(calibrated: WordScorer, networks: Lattices) -> None:
    expected = list(own_confidences(calibrated, networks))
    found = evaluate_paper(calibrated, [networks[:20], networks[20:]])
    np.testing.assert_allclose(found.scores["output", "confidence"].score, expected, atol=1e-6)
    assert calibrated.calibration is not None
    curve = calibrated.calibration.of("words", np.array(expected))
    np.testing.assert_allclose(found.scores["output", "calibrated"].score, curve, atol=1e-6)
    said = paper_outputs(calibrated, [networks])
    assert said.confidence is not None
    np.testing.assert_allclose(said.confidence, expected, atol=1e-6)
    np.testing.assert_allclose(said.calibrated, curve, atol=1e-6)  # type: ignore[arg-type]
    assert {kind for _, kind in found.scores} == {"posterior", "confidence", "calibrated"}


def test_outputs_stand_side_by_side_and_combine(calibrated: WordScorer, networks: Lattices) -> None:
    both = paper_system_outputs(
        {"a": calibrated, "b": calibrated}, {"a": lambda: [networks], "b": lambda: [networks]},
        references_of(networks),
    )  # fmt: skip
    found = compare_subsets(both)
    [pair] = found.subsets
    assert pair.methods["raw"] == pair.methods["calibrated"] == pair.best_member  # the same output twice
    assert set(found.rate_statistics) == {"raw", "calibrated"}


def test_a_model_without_calibration_is_refused(networks: Lattices) -> None:
    with pytest.raises(InputError, match="not calibrated"):
        evaluate_paper(WordScorer(made_model(networks)), [networks])


# Raw prefers A in all three; calibrated prefers B. B gains two words in u0, loses one in u1, changes nothing in u2.
A = outputs(["x y", "c", "e"], [0.9, 0.9, 0.9, 0.9], calibrated=[0.2, 0.4, 0.3, 0.3])
B = outputs(["a b", "x", "f"], [0.5, 0.7, 0.5, 0.5], calibrated=[0.6, 0.8, 0.7, 0.7])


def test_examples_are_where_the_rules_differ() -> None:
    found = examples(side_by_side({"A": A, "B": B}, ["a b", "c", "g"]), 4)
    assert [(each.utt, each.by_raw, each.by_calibrated) for each in found] == [("u0", "A", "B"), ("u1", "A", "B")]
    first = found[0]
    assert first.reference == "a b"
    assert [(each.name, each.words, each.errors) for each in first.said] == [("A", "x y", 2), ("B", "a b", 0)]
    assert [each.raw for each in first.said] == pytest.approx([0.9, 0.6])
    assert [each.calibrated for each in first.said] == pytest.approx([0.3, 0.7])
    assert [each.utt for each in examples(side_by_side({"A": A, "B": B}, ["a b", "c", "g"]), 1)] == ["u0"]


def test_table_4_has_the_extremes_of_each_size() -> None:
    def subset(members: str, best: float, calibrated: float) -> dict[str, object]:
        return {"members": members.split(), "best_member": best, "calibrated": calibrated}

    gain, loss, between = subset("a b", 0.2, 0.1), subset("a c", 0.2, 0.3), subset("b c", 0.4, 0.4)
    every = subset("a b c", 0.2, 0.2)
    assert chosen_subsets([between, gain, loss, every]) == [gain, loss, every]


def test_a_speaker_is_an_example_once() -> None:
    one = outputs(["x", "x"], 0.9, calibrated=[0.1, 0.1])
    two = outputs(["a", "b"], 0.5, calibrated=[0.9, 0.9])
    found = examples(side_by_side({"one": one, "two": two}, ["a", "b"], speakers=["s", "s"]), 6)
    assert [each.utt for each in found] == ["u0"]
