"""Models trained in several ways: which they are by their folders, and that none is measured twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from experiments.model_table import main

from experiments import model_table
from tests.helpers.made_models import made_model, sample_networks, write_networks
from wordtrust.confidence.model_file import save_model

pytestmark = pytest.mark.slow

NAME = "sphinx-2020"  # the number is no seed


def test_ways_and_seeds_are_rows_and_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    networks = sample_networks("sphinx")
    (tmp_path / "study" / "work" / NAME).mkdir(parents=True)
    write_networks(tmp_path / "study" / "work" / NAME / "dev", networks)
    for seed in (0, 1):
        model = made_model(networks, seed, training={"seed": seed})
        save_model(model, tmp_path / "ways" / "apart" / f"{NAME}-{seed}")
        save_model(model, tmp_path / "ways" / f"together-{seed}" / NAME)
    command = [str(tmp_path / "ways"), str(tmp_path / "study"), "--out", str(tmp_path / "table.md")]
    assert main(command) == 0
    lines = [json.loads(line) for line in (tmp_path / "ways" / "measured.jsonl").read_text().splitlines()]
    assert [(line["variant"], line["recognizer"], line["seed"]) for line in lines] == [
        (way, NAME, seed) for way in ("apart", "together") for seed in (0, 1)
    ]
    apart, together = [line for line in (tmp_path / "table.md").read_text().splitlines() if "| 2 |" in line]
    assert apart.removeprefix("| apart") == together.removeprefix("| together")  # they are the same models
    monkeypatch.setattr(model_table, "measure", None)  # would fail
    assert main(command) == 0


def test_out_of_fold_nobody_is_scored_by_a_model_that_knows_them(tmp_path: Path) -> None:
    networks = sample_networks("sphinx")
    (tmp_path / "study" / "work" / NAME).mkdir(parents=True)
    write_networks(tmp_path / "study" / "work" / NAME / "dev", networks)
    own = made_model(networks, 0, training={"seed": 0})
    save_model(own, tmp_path / "ways" / "alike" / NAME)
    save_model(own, tmp_path / "ways" / "others" / NAME)
    for fold in range(4):
        training = {"seed": 0, "folds": 4, "fold": fold}
        save_model(made_model(networks, 0, training=training), tmp_path / "ways" / "alike" / f"{NAME}-fold-{fold}")
        save_model(made_model(networks, 1, training=training), tmp_path / "ways" / "others" / f"{NAME}-fold-{fold}")
    command = [str(tmp_path / "ways"), str(tmp_path / "study"), "--out", str(tmp_path / "table.md")]
    assert main(command) == 0
    assert main([*command, "--out-of-fold"]) == 0
    lines = [json.loads(line) for line in (tmp_path / "ways" / "measured.jsonl").read_text().splitlines()]
    alike, others, alike_folds, others_folds = [line["arcs"] for line in lines]
    assert alike == others == alike_folds != others_folds
