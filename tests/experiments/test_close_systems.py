"""Close recognizers: calibrated by the other half of the speakers, how far apart they are, a table from a study."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments.ablation_measures import is_in_first_half
from experiments.close_systems import CLOSE, cross_calibrated, disagreement, gain_errors, main

import wordtrust as wt
from tests.helpers.made_models import SAMPLE, made_model, sample_networks, write_networks
from tests.helpers.system_outputs import outputs, side_by_side
from wordtrust.confidence.calibration import KernelCalibrator
from wordtrust.confidence.model_file import save_model
from wordtrust.lattices.weights import Scales
from wordtrust.networks.tuned_scales import TunedScales
from wordtrust.training.study_training import model_folders

pytestmark = pytest.mark.slow
SPEAKERS = [f"speaker {number}" for number in range(12)]


def test_each_half_is_calibrated_by_the_words_of_the_other() -> None:
    rng = np.random.default_rng(0)
    confidence, right = rng.uniform(0.05, 0.95, 12), rng.random(12) < 0.5
    right[:4] = [True, False, True, False]
    texts = ["a" if one else "x" for one in right]
    made = side_by_side(
        {"A": outputs(texts, confidence.tolist()), "B": outputs(["a"] * 12, 0.5)}, ["a"] * 12, SPEAKERS
    )
    first = np.array([is_in_first_half(speaker) for speaker in SPEAKERS])
    found = cross_calibrated(made).outputs[0].calibrated
    assert found is not None
    for half in (first, ~first):
        expected = KernelCalibrator(1.8, prior=0).fit(confidence[~half], right[~half]).predict(confidence[half])
        np.testing.assert_allclose(found[half], expected)


def test_how_far_apart_outputs_are_and_whom_the_sum_takes() -> None:
    texts = {"A": ["a b c d"], "B": ["a b c x"], "C": ["a b"]}
    made = side_by_side(
        {name: outputs(text, 0.8, calibrated=[0.8] * len(text[0].split())) for name, text in texts.items()},
        ["a b c d"],
    )
    assert disagreement(made) == pytest.approx((1 / 4 + 2 / 4 + 2 / 4) / 3)
    assert gain_errors(made)[:, 0].tolist() == [0, 0, 1, 0]  # AB, AC, BC, ABC: the longer output, and else the first


def test_a_study_gives_the_table(tmp_path: Path) -> None:
    """Two recognizers, which are the same, and the nine that are made from the lattices of the first."""
    networks = sample_networks("one")
    data, study = tmp_path / "data", tmp_path / "study"
    for name in ("one", "two"):
        (data / name).mkdir(parents=True)
        (data / name / "recognizer.json").write_text("{}")
        wt.write(wt.read(str(SAMPLE / "lattices" / "*.slf.gz")), data / name / "dev.jsonl")
        named = replace(networks, origin=replace(networks.origin, recognizer=name))
        (study / "work" / name).mkdir(parents=True)
        write_networks(study / "work" / name / "dev", named)
        TunedScales(Scales(), Scales(), Scales(), {}).save(study / "work" / name / "scales.json")
        for seed, folder in enumerate(model_folders(name, study / "work" / "paper")):
            save_model(made_model(named, seed), folder)
    shutil.copy(SAMPLE / "ref.tsv", data / "refs.tsv")
    assert main([str(data), str(study), "--recognizer", "one", "--out", str(tmp_path / "out")]) == 0
    found = json.loads((tmp_path / "out" / "close_systems.json").read_text())
    close, distant = found["9 made from one"], found["the 2 of the study"]
    assert list(close["systems"]) == [system.name for system in CLOSE]
    assert len(close["subsets"]) == 502
    assert distant["disagreement"] == 0
    assert distant["equal"] == {"raw": 1, "calibrated": 1, "gain": 1}
    assert "| 9 made from one |" in (tmp_path / "out" / "close_systems.md").read_text()
