"""Packs for a generic model: made of a small corpus, trained on, and scored with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from tools.generic_model import main as finish  # noqa: E402
from tools.recognizer_variants import main  # noqa: E402

from tests.helpers.study_data import write_data  # noqa: E402
from wordtrust.confidence.choice import Choice  # noqa: E402
from wordtrust.confidence.features import GENERIC, Statistics  # noqa: E402
from wordtrust.confidence.model_file import load_model  # noqa: E402
from wordtrust.confidence.word_scorer import WordScorer  # noqa: E402
from wordtrust.formats import stream  # noqa: E402
from wordtrust.training import trees  # noqa: E402
from wordtrust.training.dataset import read_pack  # noqa: E402
from wordtrust.training.multi_recognizer import train_multi_recognizer  # noqa: E402
from wordtrust.training.options import TrainOptions  # noqa: E402
from wordtrust.training.worker import training_worker  # noqa: E402


@pytest.mark.slow
def test_packs_of_variants_train_a_model_that_needs_no_adapting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_data(tmp_path / "data", {"one": 0.2, "two": 0.4})
    main([str(tmp_path / "data"), "--copies", "1", "--limit", "20", "--out", str(tmp_path / "variants")])
    packs = {name: read_pack(tmp_path / "variants" / f"{name}.pack") for name in ("one", "two")}
    data = packs["one"]
    assert len(data.train) == 40
    assert set(data.statistics.columns) < set(GENERIC)
    fixed = Statistics.fixed(data.statistics.columns)
    np.testing.assert_array_equal(data.statistics.mean, fixed.mean)
    options = TrainOptions("independent", state=8, hidden=4, dimension=2, buckets=32, epochs=1, identity_drop=1.0)
    with training_worker("cpu") as worker:
        train_multi_recognizer(packs, options, tmp_path / "trained", worker)
    model = load_model(tmp_path / "trained" / "generic")
    scorer = WordScorer(model, allow_mismatch=True)
    assert not scorer.wants_adapting
    networks = next(iter(stream(str(tmp_path / "variants" / "two" / "dev"))))[:6]
    whole = scorer.confidence(networks)
    alone = np.concatenate([scorer.confidence(networks[row : row + 1]) for row in range(len(networks))])
    np.testing.assert_allclose(whole, alone, atol=1e-5)
    again = scorer.adapted([networks]).confidence(networks)
    np.testing.assert_array_equal(again, whole)
    _finish_with_trees(tmp_path, monkeypatch)


def _finish_with_trees(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trees and a calibration over both recognizers, and what was measured of others in its card."""
    pytest.importorskip("sklearn", reason="needs the extra `train`")
    monkeypatch.setattr(trees, "LEAST_WORDS", 100)
    monkeypatch.setattr(trees, "LEAST_IN_LEAF", 5)
    monkeypatch.setattr(trees, "GENERIC_LEAST_IN_LEAF", 5)
    (folder / "unseen.json").write_text('{"three": {"nce": 0.25}}', "utf-8")
    made = [folder / "variants", folder / "trained" / "generic", "--unseen", folder / "unseen.json"]
    finish([*map(str, made), "--out", str(folder / "generic")])
    model = load_model(folder / "generic")
    assert model.trees is not None
    assert model.trees.chance_weight == trees.GENERIC_WEIGHT
    assert model.card.unseen == {"three": {"nce": 0.25}}
    assert model.card.calibrated_on is not None
    assert model.card.calibrated_on.recognizers == 2
    assert str(model.card.choice) in model.card.choice_errors
    assert len(model.card.choice_errors) == len(Choice.with_bonuses())
