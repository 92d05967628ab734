"""`wordtrust study --lm`: models that use a language model, and do without it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.command_line import refused, run
from tests.helpers.study_data import WORDS, train_in_this_process, write_data
from tests.language_models.test_arpa import arpa_text
from wordtrust.base.errors import OptionError
from wordtrust.confidence.lm_part import FILE
from wordtrust.confidence.model_file import load_model
from wordtrust.training import stacked_trees, trees
from wordtrust.training.study_training import StudyTraining

pytestmark = pytest.mark.slow

pytest.importorskip("torch", reason="needs the extra `train`")
pytest.importorskip("sklearn", reason="needs the extra `train`")
MISHEARD = tuple(f"{word}ish" for word in WORDS)  # what nobody says, and the language model knows


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of one recognizer, two language models, and a study with the first."""
    folder = tmp_path_factory.mktemp("study")
    write_data(folder / "data", {"alpha": 0.4}, {"train": 12, "dev": 6, "eval": 6}, misheard=MISHEARD)
    said: dict[tuple[str, ...], tuple[float, float]] = {("<s>",): (-99.0, 0.0), ("</s>",): (-1.0, 0.0)}
    heard = said | {(word,): (-1.3, 0.0) for word in WORDS} | {(word,): (-4.0, 0.0) for word in MISHEARD}
    (folder / "lm.arpa").write_text(arpa_text(heard))
    (folder / "other.arpa").write_text(arpa_text(heard | {("a",): (-7.0, 0.0)}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StudyTraining, "run", train_in_this_process)
        patch.setattr(trees, "TREES", 8)
        patch.setattr(trees, "LEAST_IN_LEAF", 10)
        patch.setattr(stacked_trees, "is_enough", lambda right: len(right) > 10)
        run(*command(folder))
    return folder


def command(folder: Path) -> list[str]:
    tiny = ["--epochs", "1", "--state", "4", "--jobs", "1", "--json"]
    return ["study", str(folder / "data"), "--lm", str(folder / "lm.arpa"), "--out", str(folder / "out"), *tiny]


def test_a_language_model_that_tells_makes_confidences_better(made: Path) -> None:
    record = json.loads((made / "out" / "study.json").read_text("utf-8"))["recognizers"]["alpha"]
    reading = record["with_lm"]
    assert reading["name"] == "lm.arpa"
    assert reading["one_best"]["calibrated"]["nce"] > record["one_best"]["calibrated"]["nce"] + 0.05
    assert reading["wer"]["best_confidence"] <= record["wer"]["best_confidence"]
    gained = reading["differences"]["one_best"]["nce"]["value"]
    assert gained == pytest.approx(
        reading["one_best"]["calibrated"]["nce"] - record["one_best"]["calibrated"]["nce"], abs=1e-6
    )
    assert "## With a language model" in (made / "out" / "results.md").read_text("utf-8")


def test_nothing_is_done_twice(made: Path) -> None:
    assert "..." not in run(*command(made)).stderr


def test_the_model_is_used_with_and_without_it(made: Path) -> None:
    folder = made / "out" / "models" / "alpha"
    plain, reading = wt.load(folder), wt.load(folder, lm=made / "lm.arpa")
    networks = reading.networks(wt.read(made / "data" / "alpha" / "eval.jsonl"))
    wrong = np.isin(networks.vocabulary.lookup(networks.word.tolist()), MISHEARD)
    assert reading.confidence(networks)[wrong].mean() < plain.confidence(networks)[wrong].mean()
    assert reading.calibration is not None
    assert reading.model.trees is not None
    assert reading.model.trees.evidence == ("lm_logprob", "lm_next_logprob", "lm_share")
    assert plain.model.trees is not None
    assert plain.model.trees.evidence == ()


def test_evaluate_measures_what_the_study_measures(made: Path) -> None:
    out = made / "out"
    said = run(
        "evaluate", out / "models" / "alpha", out / "work" / "alpha" / "eval", "--lm", made / "lm.arpa", "--json"
    )
    reading = json.loads((out / "study.json").read_text("utf-8"))["recognizers"]["alpha"]["with_lm"]
    assert json.loads(said.stdout)["one_best"]["calibrated"] == pytest.approx(reading["one_best"]["calibrated"])
    assert "name one before the networks" in refused(
        "evaluate", out / "work" / "alpha" / "eval", "--lm", made / "lm.arpa"
    )


def test_calibrate_is_for_both(made: Path, tmp_path: Path) -> None:
    folder, lm, dev = made / "out" / "models" / "alpha", made / "lm.arpa", made / "out" / "work" / "alpha" / "dev"
    said = run("calibrate", folder, dev, "--lm", lm, "--out", tmp_path / "both", "--calibrator", "platt")
    assert "with the language model:" in said.stdout
    one, other = wt.load(tmp_path / "both", lm=lm), wt.load(folder, lm=lm)
    assert one.model.trees is not None
    assert other.model.trees is not None
    np.testing.assert_array_equal(one.model.trees.leaf, other.model.trees.leaf)
    assert one.model.card.calibration != other.model.card.calibration
    assert one.model.card.calibration != wt.load(tmp_path / "both").model.card.calibration
    run("calibrate", folder, dev, "--out", tmp_path / "plain", "--calibrator", "platt")
    assert not (tmp_path / "plain" / FILE).exists()
    said = run("calibrate", tmp_path / "both", dev, "--calibrator", "platt")
    assert "calibrated as before" in said.stderr
    assert "without --compare" in refused("calibrate", folder, dev, "--lm", lm, "--compare")


def test_another_language_model_is_refused(made: Path) -> None:
    folder, lists = made / "out" / "models" / "alpha", made / "data" / "alpha" / "eval.jsonl"
    with pytest.raises(OptionError, match=r"fitted with the language model lm.arpa; other.arpa says other things"):
        wt.load(folder, lm=made / "other.arpa")
    assert "wordtrust study DATA --lm" in refused(
        "score", folder, lists, "--lm", made / "other.arpa", "--out", made / "x.ctm"
    )
    assert wt.load(folder, lm=made / "other.arpa", allow_mismatch=True).score(wt.read(lists)[:2])
    anyway = ("--lm", made / "other.arpa", "--allow-mismatch", "--overwrite", "--out")
    assert "fitted with the language model lm.arpa" in run("score", folder, lists, *anyway, made / "x.jsonl").stderr
    assert json.loads((made / "x.jsonl").read_text().splitlines()[0])["language_model"] == "other.arpa"
    run("score", folder, lists, "--lm", made / "lm.arpa", "--out", made / "y.json")
    assert json.loads((made / "y.json").read_text())["language_model"] == "lm.arpa"
    run("calibrate", folder, made / "out" / "work" / "alpha" / "dev", *anyway, made / "mine", "--calibrator", "platt")
    assert wt.load(made / "mine", lm=made / "other.arpa").language_model == "other.arpa"


def test_the_same_folds_and_final_model_as_without(made: Path) -> None:
    """Nothing of the rest of a model depends on it, so that it can be fitted after all else."""
    model = load_model(made / "out" / "models" / "alpha")
    assert model.trees is not None
    assert not set(model.config.columns) & {"has_lm", "lm_share"}
    assert (made / "out" / "work" / "with-lm" / "alpha" / FILE).is_file()
