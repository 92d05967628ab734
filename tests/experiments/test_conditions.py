"""Rows by condition: each utterance is in its own row, figures are those of the words, the worst is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from experiments.conditions import by_condition, conditions_of, ece_by_chance, main, measure, summary
from experiments.shift import networks_with_references

import wordtrust as wt
from wordtrust.base.errors import InputError
from wordtrust.evaluation.metrics import Scores
from wordtrust.formats.references import read_references

CORPUS = Path(wt.__file__).parent / "sample" / "corpus"
OUTPUTS = str(CORPUS / "moonshine-tiny" / "eval.jsonl.gz")


def test_rows_hold_the_words_of_their_condition_and_all_of_them_together(tmp_path: Path) -> None:
    refs = tmp_path / "refs.tsv"
    head, *lines = (CORPUS / "refs.tsv").read_text("utf-8").splitlines()
    rows = [f"{line}\t{'even' if index % 2 else 'odd'}" for index, line in enumerate(lines)]
    refs.write_text("\n".join([f"{head}\tcondition", *rows]) + "\n", "utf-8")
    done = CliRunner().invoke(main, ["moonshine-tiny", OUTPUTS, "--refs", str(refs), "--before", "generic", "--out",
                                     str(tmp_path / "out")], standalone_mode=False)  # fmt: skip
    assert done.exception is None, done.output
    models = json.loads((tmp_path / "out" / "conditions.json").read_text("utf-8"))["models"]
    assert list(models) == ["before", "now"]
    now, before = models["now"]["rows"], models["before"]["rows"]
    assert set(now) == {"even", "odd", "all"}
    own = {name: row["one_best"] for name, row in now.items()}
    assert own["even"]["words"] + own["odd"]["words"] == own["all"]["words"]
    right = sum(own[name]["right"] * own[name]["words"] for name in ("even", "odd")) / own["all"]["words"]
    assert right == pytest.approx(own["all"]["right"])
    assert before["all"]["one_best"]["right"] == own["all"]["right"]  # the same words
    assert before["all"]["one_best"]["mean"] != own["all"]["mean"]  # with other confidences
    assert "| even |" in (tmp_path / "out" / "conditions.md").read_text("utf-8")


def test_confidences_are_those_that_score_shows() -> None:
    scorer = wt.load("moonshine-tiny")
    references = read_references(CORPUS / "refs.tsv")
    groups = by_condition(networks_with_references(scorer, [OUTPUTS], references), dict.fromkeys(references, "all"))
    row = measure(scorer, groups)["all"]["one_best"]
    evaluated = wt.evaluate(groups["all"], scorer)
    assert row["nce"] == evaluated.scores["one_best", "calibrated"].metrics().nce
    assert row["mean"] == pytest.approx(np.mean(evaluated.scores["one_best", "calibrated"].score))


def test_the_worst_is_named_and_nce_is_judged_where_words_are_wrong() -> None:
    rows = {
        "clean": {"right": 0.99, "nce": -3.0, "ece": 0.01},
        "babble": {"right": 0.8, "nce": 0.2, "ece": 0.10},
        "room": {"right": 0.9, "nce": 0.4, "ece": 0.03},
        "all": {"right": 0.9, "nce": -9.0, "ece": 0.9},
    }
    made = summary({name: {"output": row} for name, row in rows.items()}, "output")
    assert made["nce"] == {"mean": pytest.approx(0.3), "worst": 0.2, "where": "babble"}
    assert (made["ece"]["worst"], made["ece"]["where"]) == (0.10, "babble")


def test_by_chance_means_that_confidences_are_right() -> None:
    rng = np.random.default_rng(5)
    many, few = (Scores.of(rng.beta(4, 1, size), rng.random(size) < 0.5) for size in (200_000, 500))
    assert ece_by_chance(many)["ece_by_chance"] < 0.004  # whatever is right in truth
    assert 0.01 < ece_by_chance(few)["ece_by_chance"] < 0.06


def test_a_column_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match="no column 'weather'"):
        conditions_of(CORPUS / "refs.tsv", "weather")
