"""Calibrating models and words that come with confidences, and the commands that do it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.command_line import refused, run
from tests.helpers.made_models import SAMPLE, made_model, sample_networks, write_model, write_networks
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.calibrate_model import OutOfFoldScorer, fit_calibration, held_out_scores
from wordtrust.confidence.calibration.model_calibration import PARTS, ModelCalibration
from wordtrust.confidence.calibrator_file import load_calibrator
from wordtrust.confidence.choice import Choice
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.evaluation.evaluation import Evaluation
from wordtrust.lattices.lattice import Lattices


@pytest.fixture(scope="module")
def networks() -> Lattices:
    return sample_networks("sphinx")


@pytest.fixture
def folder(tmp_path: Path, networks: Lattices) -> Path:
    """A model and a store."""
    write_model(tmp_path / "model", networks)
    write_networks(tmp_path / "store", networks)
    return tmp_path


@pytest.fixture(scope="module")
def evaluation(networks: Lattices) -> Evaluation:
    return held_out_scores(WordScorer(made_model(networks)), networks, keep_choice=True).evaluation


def test_every_part_is_fitted_on_its_own_scores(evaluation: Evaluation) -> None:
    curve = fit_calibration(evaluation, "platt")
    for part, population, kind in (
        ("arcs", "arcs", "confidence"),
        ("words", "output", "confidence"),
        ("posterior_arcs", "arcs", "posterior"),
        ("posterior_words", "one_best", "posterior"),
    ):
        scores = evaluation.scores[population, kind]
        alone = wt.calibrate.Platt().fit(np.clip(scores.score, 0, 1), scores.correct)
        np.testing.assert_allclose(curve.of(part, scores.score), alone.predict(np.clip(scores.score, 0, 1)))
        # A logistic fit with an intercept has the right mean, up to Platt's smoothed targets.
        assert curve.of(part, scores.score).mean() == pytest.approx(scores.correct.mean(), abs=0.01)


def test_calibration_survives_json(evaluation: Evaluation) -> None:
    curve = fit_calibration(evaluation)
    again = ModelCalibration.from_dict(json.loads(json.dumps(curve.to_dict())))
    scores = np.linspace(0, 1, 50)
    for part in PARTS:
        np.testing.assert_array_equal(again.of(part, scores), curve.of(part, scores))


@pytest.mark.parametrize("bad", [None, [], {}, {"arcs": {}}, {part: {} for part in PARTS}])
def test_what_is_no_calibration_is_refused(bad: object) -> None:
    with pytest.raises(InputError):
        ModelCalibration.from_dict(bad)


def test_everybody_is_scored_by_a_model_that_never_saw_them(networks: Lattices) -> None:
    main = WordScorer(made_model(networks))
    folds = [WordScorer(made_model(networks, seed=k + 1, training={"folds": 3, "fold": k})) for k in range(3)]
    confidence = OutOfFoldScorer(main, folds).confidence(networks)
    for index, speaker in enumerate(networks.notes["speaker"]):
        expected = folds[crc32(speaker.encode()) % 3].confidence(networks[index : index + 1])
        arcs = slice(networks.arc_offsets[index], networks.arc_offsets[index + 1])
        np.testing.assert_allclose(confidence[arcs], expected, atol=1e-6)


@pytest.mark.parametrize("there", [[0], [0, 1], [0, 0, 1], [0, 1, 2, 2]])
def test_a_fold_without_a_model_would_leak_and_is_refused(networks: Lattices, there: list[int]) -> None:
    folds = [WordScorer(made_model(networks, training={"folds": 3, "fold": k})) for k in there]
    with pytest.raises(OptionError, match="each fold"):
        OutOfFoldScorer(WordScorer(made_model(networks)), folds)


def test_references_without_output_are_told(tmp_path: Path) -> None:
    (tmp_path / "w.ctm").write_text("u1 1 0.0 0.5 hello 0.9\nu2 1 0.0 0.5 there 0.4\n", "utf-8")
    (tmp_path / "ref.tsv").write_text("utt\ttext\nu1\thello\nu2\tthere\nu3\tten words that nobody heard\n", "utf-8")
    done = run("evaluate", "--scores", tmp_path / "w.ctm", "--ref", tmp_path / "ref.tsv", "--json")
    assert "1 of 3 references have no output" in done.stderr


def test_a_model_trained_on_everybody_is_no_fold(networks: Lattices) -> None:
    scorer = WordScorer(made_model(networks, training={"folds": 0, "fold": 0}))
    with pytest.raises(InputError, match="all speakers"):
        OutOfFoldScorer(scorer, [scorer])


def test_calibrate_keeps_curve_and_choice_in_the_model(folder: Path, networks: Lattices) -> None:
    """And `evaluate` then tells all four scores, and that it knows the speakers."""
    before = wt.load(folder / "model")(networks)
    assert "calibrated on" not in run("evaluate", folder / "model", folder / "store").stderr
    assert "calibrated on 36 utterances" in run("calibrate", folder / "model", folder / "store").output
    scorer = wt.load(folder / "model")
    errors = scorer.model.card.choice_errors
    assert errors[str(scorer.choice)] == min(errors.values())
    assert scorer.calibration is not None
    assert set(scorer.calibration.parts) == {*PARTS, "utterances"}  # this model does not tell what is missing
    raw, shown = ({word.confidence for t in made for word in t.words} for made in (before, scorer(networks)))
    assert raw != shown
    assert "calibrated on 18 of these speakers" in run("threshold", folder / "model", folder / "store").stderr
    done = run("evaluate", folder / "model", folder / "store", "--json")
    assert "calibrated on 18 of these speakers" in done.stderr
    measured = json.loads(done.stdout)
    for population in ("arcs", "arcs_paper", "one_best", "output"):
        assert set(measured[population]) == {"posterior", "calibrated_posterior", "confidence", "calibrated"}
    assert measured["arcs"]["calibrated"]["nce"] > measured["arcs"]["confidence"]["nce"]
    others = replace(networks, notes={**networks.notes, "speaker": tuple(networks.utts)})
    write_networks(folder / "others", others)
    assert "calibrated on" not in run("evaluate", folder / "model", folder / "others").stderr


def test_compare_prints_every_calibrator(folder: Path) -> None:
    compared = json.loads(run("calibrate", folder / "model", folder / "store", "--compare", "--json").stdout)
    assert set(wt.calibrate.names()) <= set(compared["calibrators"])
    assert wt.load(folder / "model").calibration is None  # comparing changes nothing


def ctm(path: Path) -> Path:
    """The sample's words with posteriors, as a recognizer without lattices would give them."""
    wt.write(wt.read(str(SAMPLE / "lattices" / "*.slf.gz")), path)
    return path


def test_words_with_confidences_need_no_model(tmp_path: Path) -> None:
    words, ref = ctm(tmp_path / "w.ctm"), SAMPLE / "ref.tsv"
    done = run("calibrate", "--scores", words, "--ref", ref, "--out", tmp_path / "c.json", "--calibrator", "platt")
    assert "fitted on" in done.output
    run("score", tmp_path / "c.json", words, "--out", tmp_path / "new.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text("utf-8").splitlines()]
    old = {lattice.utt: lattice for lattice in wt.read(words)}
    curve = load_calibrator(tmp_path / "c.json")
    for line in lines:
        lattice = old[line["utt"]]
        assert lattice.posterior is not None
        arcs = [arc for arc in lattice.one_best() if lattice.word[arc]]
        expected = curve.predict(np.asarray(lattice.posterior[arcs], np.float64))
        assert [word["confidence"] for word in line["words"]] == pytest.approx(expected, abs=1e-5)
    measured = json.loads(run("evaluate", "--scores", words, "--ref", ref, "--json").stdout)
    assert measured["words"] > 200
    assert set(measured["one_best"]) == {"confidence"}


def test_threshold_tells_what_holds_here_and_for_new_speakers(folder: Path) -> None:
    command = "threshold", folder / "model", folder / "store", "--precision", "0.8"
    thresholds = json.loads(run(*command, "--json").stdout)
    assert thresholds["on_these_words"]["precision"] >= 0.8
    assert thresholds["on_new_speakers"]["wanted"] == 0.8
    caught = [thresholds["errors_caught"][share] for share in ("0.05", "0.1", "0.2", "0.3")]
    assert caught == sorted(caught)
    text = run(*command).output
    assert "On these" in text
    assert "new speakers" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["calibrate"], "MODEL and a STORE"),
        (["calibrate", "{model}"], "STORE to calibrate"),
        (["calibrate", "--scores", "{ctm}", "--compare"], "--ref"),
        (["calibrate", "--scores", "{ctm}", "--ref", "{ref}"], "--out"),
        (["calibrate", "{model}", "{store}", "--calibrator", "magic"], "magic"),
        (["threshold"], "STORE of networks"),
        (["evaluate", "{store}", "--figures", "f"], "--report"),
        (["evaluate", "{model}"], "is a model"),
        (["score", "{ref}", "{ctm}", "--out", "-"], "calibrator"),
    ],
)
def test_what_is_missing_is_told(folder: Path, words: list[str], message: str) -> None:
    places = {"model": folder / "model", "store": folder / "store", "ref": SAMPLE / "ref.tsv",
              "ctm": ctm(folder / "w.ctm")}  # fmt: skip
    assert message in refused(*(word.format(**places) for word in words))


@pytest.mark.slow
def test_reports_of_models_and_of_words_with_confidences(folder: Path) -> None:
    pytest.importorskip("jinja2", reason="needs the extra `report`")
    run("calibrate", folder / "model", folder / "store")
    run("evaluate", folder / "model", folder / "store", "--report", folder / "model.html")
    run("evaluate", "--scores", ctm(folder / "w.ctm"), "--ref", SAMPLE / "ref.tsv", "--report", folder / "words.html")
    for name, parts in (("model", ["calibrated"]), ("words", ["flite-", "Utterances"])):  # utterances by name
        page = (folder / f"{name}.html").read_text("utf-8")
        assert page.startswith("<!doctype html>")
        assert all(part in page for part in parts)


def test_a_notebook_calibrates_like_the_command_line(folder: Path, networks: Lattices) -> None:
    scorer = wt.load(folder / "model")
    calibrated = wt.calibrate_model(scorer, iter([networks[:20], networks[20:]]), calibrator="platt")
    assert scorer.calibration is None  # the scorer stays as it is
    calibrated.save(folder / "notebook", trained=folder / "model")
    run("calibrate", folder / "model", folder / "store", "--calibrator", "platt", "--out", folder / "verb")
    made, same = (json.loads((folder / name / "model.json").read_text("utf-8")) for name in ("notebook", "verb"))
    assert made == same
    assert calibrated.utterances == 36
    assert calibrated.after.nce is not None
    assert calibrated.before.nce is not None
    assert calibrated.after.nce > calibrated.before.nce
    words = wt.calibrate_scores(ctm(folder / "w.ctm"), SAMPLE / "ref.tsv", calibrator="platt")
    run("calibrate", "--scores", folder / "w.ctm", "--ref", SAMPLE / "ref.tsv", "--calibrator", "platt",
        "--out", folder / "c.json")  # fmt: skip
    assert load_calibrator(folder / "c.json").to_dict() == words.calibrator.to_dict()


def test_nothing_to_calibrate_on_is_told(networks: Lattices) -> None:
    with pytest.raises(InputError, match="no utterances to calibrate"):
        wt.calibrate_model(WordScorer(made_model(networks)), [])


def test_another_choice_makes_another_scorer(networks: Lattices) -> None:
    scorer = WordScorer(made_model(networks))
    other = scorer.with_choice(Choice("gain", 0.3))
    assert (scorer.choice, other.choice) == (Choice("mean"), Choice("gain", 0.3))
    np.testing.assert_array_equal(scorer.confidence(networks), other.confidence(networks))
    with pytest.raises(AttributeError):
        scorer.choice = Choice("gain")  # type: ignore[misc]
