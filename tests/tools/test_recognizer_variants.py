"""Packs for a generic model: made of a small corpus, trained on, and scored with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from tools.recognizer_variants import main  # noqa: E402

from tests.helpers.study_data import write_data  # noqa: E402
from wordtrust.confidence.features import GENERIC, Statistics  # noqa: E402
from wordtrust.confidence.model_file import load_model  # noqa: E402
from wordtrust.confidence.word_scorer import WordScorer  # noqa: E402
from wordtrust.formats import stream  # noqa: E402
from wordtrust.training.dataset import read_pack  # noqa: E402
from wordtrust.training.multi_recognizer import train_multi_recognizer  # noqa: E402
from wordtrust.training.options import TrainOptions  # noqa: E402
from wordtrust.training.worker import training_worker  # noqa: E402


@pytest.mark.slow
def test_packs_of_variants_train_a_model_that_needs_no_adapting(tmp_path: Path) -> None:
    write_data(tmp_path / "data", {"one": 0.2, "two": 0.4})
    main([str(tmp_path / "data"), "--copies", "1", "--limit", "20", "--out", str(tmp_path / "variants")])
    packs = {name: read_pack(tmp_path / "variants" / f"{name}.pack") for name in ("one", "two")}
    data = packs["one"]
    assert len(data.train) == 40
    assert set(data.statistics.columns) < set(GENERIC)
    fixed = Statistics.fixed(data.statistics.columns)
    np.testing.assert_array_equal(data.statistics.mean, fixed.mean)
    options = TrainOptions(state=8, hidden=4, dimension=2, buckets=32, epochs=1, identity_drop=1.0)
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
