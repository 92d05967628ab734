"""`wt.evaluate` and `wt.threshold`: the same numbers as the command line, from files or from what was read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import wordtrust as wt
from tests.helpers.made_models import SAMPLE, sample_networks, write_model, write_networks
from wordtrust.cli import cli
from wordtrust.formats.references import read_references


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    networks = sample_networks()
    write_networks(tmp_path / "store", networks)
    write_model(tmp_path / "model", networks, 0, choice={"criterion": "gain", "threshold": 0.3})
    return tmp_path


def printed(*words: object) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [*map(str, words), "--json"], catch_exceptions=False)
    record: dict[str, Any] = json.loads(done.stdout)
    return record


@pytest.mark.parametrize("criterion", [None, "mean"])
def test_a_model(folder: Path, criterion: str | None) -> None:
    option = ["--criterion", criterion] if criterion else []
    wanted = printed("evaluate", folder / "model", folder / "store", *option)
    assert wt.evaluate(folder / "store", folder / "model", criterion=criterion).to_dict() == wanted
    scorer, networks = wt.load(folder / "model"), wt.read(folder / "store")
    seen: list[int] = []
    evaluation = wt.evaluate([networks[:9], networks[9:]], scorer, criterion=criterion,
                             inspect=lambda batch, *_: seen.append(len(batch)))  # fmt: skip
    assert evaluation.to_dict() == wanted
    assert seen == [9, len(networks) - 9]


def test_posteriors_need_no_model(folder: Path) -> None:
    assert wt.evaluate(folder / "store").to_dict() == printed("evaluate", folder / "store")


def test_words_with_confidences(tmp_path: Path) -> None:
    wt.write(wt.read(str(SAMPLE / "lattices" / "*.slf.gz")), tmp_path / "a.ctm")
    wanted = printed("evaluate", "--scores", tmp_path / "a.ctm", "--ref", SAMPLE / "ref.tsv")
    assert wt.evaluate(tmp_path / "a.ctm", references=SAMPLE / "ref.tsv").to_dict() == wanted
    references = read_references(SAMPLE / "ref.tsv")
    assert wt.evaluate(wt.read(tmp_path / "a.ctm"), references=references).to_dict() == wanted
    with pytest.raises(wt.OptionError, match="without a model"):
        wt.evaluate(tmp_path / "a.ctm", "generic", references=references)


def test_nothing_to_evaluate() -> None:
    with pytest.raises(wt.OptionError, match="no utterances"):
        wt.evaluate([])


@pytest.mark.parametrize(("precision", "method"), [(0.98, "betting"), (0.5, "bootstrap")])
def test_thresholds(folder: Path, precision: float, method: str) -> None:
    evaluation = wt.evaluate(folder / "store", folder / "model")
    found = wt.threshold(evaluation, precision, method=method)
    wanted = printed("threshold", folder / "model", folder / "store", "--precision", precision, "--method", method)
    assert found.to_dict() == wanted
    assert wt.threshold(evaluation.words, precision, method=method) == found
    assert list(found.errors_caught) == [0.05, 0.1, 0.2, 0.3]
