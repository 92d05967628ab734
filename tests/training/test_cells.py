"""The compiled cells of training against those in torch's operations, which run on other devices."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from tests.helpers.model_data import WORDS, random_dataset  # noqa: E402
from tests.training.test_model_network import make_network  # noqa: E402
from wordtrust.confidence.config import MERGES  # noqa: E402
from wordtrust.confidence.word_table import WordTable  # noqa: E402
from wordtrust.training import recurrence  # noqa: E402
from wordtrust.training.batches import Words, make_batch  # noqa: E402
from wordtrust.training.cells import CELLS, cell_for  # noqa: E402
from wordtrust.training.cells_compiled import COMPILED_CELLS  # noqa: E402
from wordtrust.training.memory import keep_freed_memory  # noqa: E402


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("kind", CELLS)
def test_both_give_the_same_values_and_gradients(kind: str, merge: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data, _ = random_dataset(3, utterances=20)
    network = make_network(3, cell=kind, merge=merge, embedding="none")
    words = Words(WordTable(WORDS), network.config)
    batch = make_batch(data, np.arange(len(data)), words, merge, torch.device("cpu"))
    toward = torch.randn(len(data.source), generator=torch.Generator().manual_seed(0))
    found = []
    for cells in (CELLS, COMPILED_CELLS):
        monkeypatch.setattr(recurrence, "cell_for", lambda name, _, cells=cells: cells[name])
        logits = network(batch)
        found.append([logits, *torch.autograd.grad((logits * toward).sum(), list(network.parameters()))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("kind", CELLS)
def test_the_compiled_ones_are_for_single_precision_on_the_processor(kind: str) -> None:
    assert cell_for(kind, torch.zeros(1)) is COMPILED_CELLS[kind]
    assert cell_for(kind, torch.zeros(1, dtype=torch.float64)) is CELLS[kind]
    assert cell_for(kind, torch.zeros(1, device="meta")) is CELLS[kind]


@pytest.mark.parametrize("kind", CELLS)
def test_sums_over_nothing_are_zero(kind: str) -> None:
    rows, offsets = torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([0, 0, 2, 2])
    for cells in (CELLS, COMPILED_CELLS):
        out = torch.full((4, 2), torch.nan)
        cells[kind].collect(rows, torch.tensor([1, 0]), offsets, torch.tensor([0.5, 2.0]), out)
        assert out.tolist() == [[0, 0], [3.5, 6], [0, 0], [0, 0]]


def test_memory_is_kept_where_the_system_lets_us() -> None:
    keep_freed_memory()
    assert torch.ones(10_000_000).sum() == 10_000_000
