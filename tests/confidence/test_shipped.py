"""Models that come with the package at work: networks with their scales, and several joined on new speech."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command_line import refused, run
from tests.helpers.study_data import write_data
from wordtrust.confidence import shipped

pytestmark = pytest.mark.skipif(not shipped.names(), reason="no models are in the package")
RECOGNIZERS = {"whisper-base": 0.2, "whisper-small": 0.1}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made-up lists of hypotheses, four utterances each of two speakers."""
    return write_data(tmp_path_factory.mktemp("data"), RECOGNIZERS, {"eval": 2})


def test_networks_can_be_built_with_the_scales_of_a_model(data: Path, tmp_path: Path) -> None:
    lattices, references = data / "whisper-base" / "eval.jsonl", data / "refs.tsv"
    for index, model in enumerate(("whisper-base", shipped.FOLDER / "whisper-base")):
        store = tmp_path / f"store-{index}"
        run("build", lattices, "--ref", references, "--scales", model, "--out", store)
        assert json.loads(run("evaluate", "whisper-base", store, "--json").stdout)["utterances"] == 8
    run("build", lattices, "--ref", references, "--out", tmp_path / "bare")
    assert "--scales MODEL" in refused("evaluate", "whisper-base", tmp_path / "bare")
    assert "no scales of its own" in refused("build", lattices, "--scales", "generic", "--out", tmp_path / "no")


@pytest.mark.slow
def test_new_speech_is_joined_without_references(data: Path, tmp_path: Path) -> None:
    members = [f"{name}={name},{data / name / 'eval.jsonl'}" for name in RECOGNIZERS]
    run("combine", *members, "--joint", "joint", "--transcripts", tmp_path / "both.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "both.jsonl").read_text("utf-8").splitlines()]
    assert len(lines) == 8
    assert all(0 <= word["confidence"] <= 1 for line in lines for word in line["words"])
    assert "no references" in refused("combine", *members, "--joint", "joint")
    strange = [f"a=whisper-base,{data / 'whisper-base' / 'eval.jsonl'}", members[1]]
    error = refused("combine", *strange, "--joint", "joint", "--transcripts", tmp_path / "x.ctm")
    assert "nothing was fitted for a; names before the = must be among" in error
