"""What training varies at random: the right columns and words, whole utterances, and nothing unasked."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.helpers.model_data import training_data
from wordtrust.base.errors import OptionError
from wordtrust.confidence.config import Config
from wordtrust.training.augmentation import SCORES, varied
from wordtrust.training.batches import WordInputs, make_batch
from wordtrust.training.lattice_rnn import Batch, LatticeRNN
from wordtrust.training.options import TrainOptions

NAMES = ("posterior", "frequency", "acoustic", "phones", "phone_rate")


def batch_and_columns(embedding: str = "hashed") -> tuple[Batch, tuple[str, ...], Config]:
    """A batch with features that are nowhere 0 but on silence."""
    data = training_data().train
    config = Config(embedding=embedding, dimension=3, buckets=32, columns=NAMES)
    table = training_data().table
    if embedding == "table":
        table = replace(table, vectors=torch.randn(len(table.words), 3).numpy())
    batch = make_batch(data, data.batches(10**6)[0], WordInputs(table, config), "mean", torch.device("cpu"))
    torch.manual_seed(1)
    features = torch.randn(len(batch.word), len(NAMES)) + 3
    features[::7] = 0.0
    return replace(batch, features=features), NAMES, config


@pytest.mark.parametrize("embedding", ["hashed", "table"])
def test_facts_about_words_are_dropped_by_the_utterance(embedding: str) -> None:
    batch, columns, config = batch_and_columns(embedding)
    network = LatticeRNN(config)
    whole = network._inputs(batch)[:, len(columns) :]
    shares = []
    for seed in range(12):
        torch.manual_seed(seed)
        seen = varied(batch, columns, TrainOptions(word_facts_drop=0.4))
        vectors = network._inputs(seen)[:, len(columns) :]
        for utterance in range(batch.utterances):
            rows = batch.utterance == utterance
            untouched = [columns.index(name) for name in ("posterior", "acoustic")]
            assert torch.equal(seen.features[rows][:, untouched], batch.features[rows][:, untouched])
            now, before = seen.features[rows], batch.features[rows]
            parts = [(now[:, 1], before[:, 1]), (now[:, 3:], before[:, 3:]), (vectors[rows], whole[rows])]
            assert all(torch.equal(now, before) or not now.any() for now, before in parts)
            shares.append([not now.any() for now, _ in parts])
    assert torch.tensor(shares).float().mean(0).tolist() == pytest.approx([0.4] * 3, abs=0.12)


def test_scores_are_jittered_by_the_utterance_and_the_column() -> None:
    batch, columns, _ = batch_and_columns()
    torch.manual_seed(3)
    seen = varied(batch, columns, TrainOptions(jitter=0.3))
    moved = [
        column for column, same in zip(columns, (seen.features == batch.features).all(0), strict=True) if not same
    ]
    assert moved == [column for column in columns if column in SCORES] == ["acoustic"]
    assert not seen.features[::7].any()
    index = columns.index("acoustic")
    for utterance in range(batch.utterances):
        rows = (batch.utterance == utterance) & (batch.features[:, index] != 0)
        before, now = batch.features[rows, index], seen.features[rows, index]
        if len(before) > 2:  # a straight line through all of them
            slope = (now[1:] - now[0]) / (before[1:] - before[0])
            torch.testing.assert_close(slope, slope[:1].expand_as(slope), rtol=1e-2, atol=1e-3)


def test_nothing_is_varied_unasked() -> None:
    batch, columns, _ = batch_and_columns()
    assert varied(batch, columns, TrainOptions()) is batch
    for bad in ({"word_facts_drop": 1.1}, {"jitter": -0.1}):
        with pytest.raises(OptionError, match="lies between"):
            TrainOptions(**bad)  # type: ignore[arg-type]
