"""Training: it learns, the same seed gives the same bits, and a kill at any moment costs nothing but time."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from tests.helpers.model_data import training_data  # noqa: E402
from wordtrust.base.errors import InputError, OptionError  # noqa: E402
from wordtrust.confidence.features import Statistics  # noqa: E402
from wordtrust.confidence.model_file import load_model, read_log  # noqa: E402
from wordtrust.training.__main__ import main  # noqa: E402
from wordtrust.training.dataset import read_pack, write_pack  # noqa: E402
from wordtrust.training.options import TrainOptions  # noqa: E402
from wordtrust.training.pipeline import GRID, train, training_folder  # noqa: E402
from wordtrust.training.trainer import CHECKPOINT, EpochRecord, Progress, Trainer  # noqa: E402
from wordtrust.training.worker import keep_freed_memory, training_worker  # noqa: E402

pytestmark = pytest.mark.slow

SMALL = TrainOptions(
    state=8, hidden=4, dimension=2, buckets=32, embedding="hashed", epochs=6, batch_arcs=60, patience=50
)


def weights(
    out: Path, options: TrainOptions = SMALL, on_epoch: Callable[[EpochRecord], None] = lambda _: None
) -> bytes:
    """Train, and give the weights as they are in the file."""
    train(training_data(), options, out, device="cpu", progress=Progress(on_epoch))
    return (out / "model.safetensors").read_bytes()


class Stop(Exception):
    """Training is to end here."""


def stop_at(epoch: int) -> Callable[[EpochRecord], None]:
    def on_epoch(record: EpochRecord) -> None:
        if record.epoch == epoch:
            raise Stop

    return on_epoch


def test_it_learns_what_can_be_learned(tmp_path: Path) -> None:
    records: list[EpochRecord] = []
    weights(tmp_path / "m", replace(SMALL, epochs=20, rate=0.01, head="independent"), records.append)
    assert (records[-1].loss or 0) < 0.8 * (records[0].loss or 0)
    assert max(record.dev_nce or 0 for record in records) > 0.2
    assert min(record.dev_eer or 1 for record in records) < 0.3


def test_it_learns_where_words_are_missing(tmp_path: Path) -> None:
    records: list[EpochRecord] = []
    weights(tmp_path / "m", replace(SMALL, epochs=12, rate=0.02), records.append)
    assert (records[-1].dev_gap_nce or 0) > 0.5 > (records[0].dev_gap_nce or 0)
    assert load_model(tmp_path / "m").config.gap == SMALL.gap
    weights(tmp_path / "without", replace(SMALL, epochs=1, gap=0), records.append)
    assert records[-1].dev_gap_nce is None
    assert load_model(tmp_path / "without").config.gap == 0
    started = replace(SMALL, epochs=1, start=str(tmp_path / "without"))
    weights(tmp_path / "started", started, records.append)
    assert load_model(tmp_path / "started").config.gap == SMALL.gap


def test_the_best_epoch_is_kept(tmp_path: Path) -> None:
    records: list[EpochRecord] = []
    weights(tmp_path / "m", replace(SMALL, epochs=8, rate=0.05), records.append)
    best = max(records, key=lambda record: record.dev_nce or 0)
    card = load_model(tmp_path / "m").card
    names = ("dev_loss", "dev_eer", "dev_nce", "dev_gap_nce")
    assert card.metrics == {name: getattr(best, name) for name in names}
    assert card.training.options["best_epoch"] == best.epoch
    assert read_log(tmp_path / "m") == [record.to_json() for record in records]


def test_the_same_seed_gives_the_same_bits_and_another_does_not(tmp_path: Path) -> None:
    first = weights(tmp_path / "a")
    assert weights(tmp_path / "b") == first
    assert weights(tmp_path / "c", replace(SMALL, seed=1)) != first


@pytest.mark.parametrize("epoch", [1, 3, 5])
def test_training_resumes_to_the_same_bits(tmp_path: Path, epoch: int) -> None:
    with pytest.raises(Stop):
        weights(tmp_path / "a", on_epoch=stop_at(epoch))
    assert not (tmp_path / "a").exists()
    records: list[EpochRecord] = []
    resumed = weights(tmp_path / "a", on_epoch=records.append)
    assert records[0].epoch == epoch  # whose checkpoint was not written yet
    assert resumed == weights(tmp_path / "b")
    assert not training_folder(tmp_path / "a").exists()


def test_kill_at_any_moment_and_resume(tmp_path: Path) -> None:
    pack = tmp_path / "data.pack"
    write_pack(pack, training_data(utterances=200))
    options = (
        "--state 32 --hidden 8 --buckets 64 --embedding hashed --epochs 5 --batch-arcs 100 --patience 9 --device cpu"
    )

    def arguments(out: str) -> list[str]:
        return [str(pack), "--out", str(tmp_path / out), *options.split()]

    assert main(arguments("whole")) == 0
    for wait in (0.0, 0.3):
        if (tmp_path / "killed").exists():  # a fast machine was done before it was killed
            break
        command = [sys.executable, "-m", "wordtrust.training", *arguments("killed")]
        running = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert running.stdout is not None
        running.stdout.readline()  # an epoch is done
        time.sleep(wait)
        running.send_signal(signal.SIGKILL)
        running.wait()
        running.stdout.close()
    if not (tmp_path / "killed").exists():
        assert main(arguments("killed")) == 0
    files = [tmp_path / name / "model.safetensors" for name in ("whole", "killed")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_evidence_is_dropped_by_the_utterance_and_the_group() -> None:
    data = training_data()
    columns = ("posterior", "has_tokens", "token_entropy")
    flat = Statistics(columns, data.statistics.mean, data.statistics.std)
    with training_worker("cpu") as worker:
        for share in (0.0, 0.4, 1.0):
            trainer = Trainer(replace(data, statistics=flat), replace(SMALL, evidence_drop=share), worker)
            whole = trainer.train[0]
            kept = 0
            for seed in range(20):
                torch.manual_seed(seed)
                seen = trainer._with_evidence_dropped(whole)
                assert torch.equal(seen.features[:, 0], whole.features[:, 0])
                for utterance in range(whole.utterances):
                    rows = whole.utterance == utterance
                    is_whole = torch.equal(seen.features[rows], whole.features[rows])
                    assert is_whole or not seen.features[rows, 1:].any()
                    kept += is_whole
            assert kept / (20 * whole.utterances) == pytest.approx(1 - share, abs=0.12)


def test_a_checkpoint_of_other_options_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Stop):
        weights(tmp_path / "a", on_epoch=stop_at(2))
    with pytest.raises(InputError, match="other options"):
        weights(tmp_path / "a", replace(SMALL, rate=0.5))


def test_so_many_eighths_of_the_speakers_are_trained_on() -> None:
    data = training_data(utterances=200)
    speakers = np.random.default_rng(0).integers(0, 2**32, 200, np.uint32)
    data = replace(data, train=replace(data.train, speaker=speakers))
    seen: list[set[int]] = []
    with training_worker("cpu") as worker:
        for eighths in (1, 4, 8):
            trainer = Trainer(data, replace(SMALL, eighths=eighths, folds=4, fold=1), worker)
            used = {utterance for batch in trainer.train._utterances for utterance in batch.tolist()}
            assert not (speakers[list(used)] % 4 == 1).any()
            seen.append(used)
    assert seen[0] < seen[1] < seen[2]
    assert len(seen[2]) == (speakers % 4 != 1).sum()
    assert 0.3 < len(seen[1]) / len(seen[2]) < 0.7


def test_a_damaged_checkpoint_is_told(tmp_path: Path) -> None:
    folder = training_folder(tmp_path / "a")
    folder.mkdir()
    (folder / CHECKPOINT).write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(InputError, match="safetensors"):
        weights(tmp_path / "a")


def test_numbers_that_blow_up_stop_with_an_explanation(tmp_path: Path) -> None:
    with training_worker("cpu") as worker:
        trainer = Trainer(training_data(), SMALL, worker)
        with torch.no_grad():
            trainer.network.hidden.weight[0, 0] = float("nan")
        with pytest.raises(InputError, match=r"broke down in epoch 1: batch \d+ of \d+.*--rate"):
            trainer.run(Progress())


def test_training_from_a_pack_is_the_same(tmp_path: Path) -> None:
    write_pack(tmp_path / "data.pack", training_data())
    train(read_pack(tmp_path / "data.pack"), SMALL, tmp_path / "packed", device="cpu")
    assert (tmp_path / "packed" / "model.safetensors").read_bytes() == weights(tmp_path / "a")


def test_a_pack_needs_numpy_torch_and_safetensors_only(tmp_path: Path) -> None:
    write_pack(tmp_path / "data.pack", training_data())
    bare = (
        "import sys\n"
        "for name in 'numba pyarrow isal click rich rapidfuzz llvmlite torch._dynamo'.split():\n"
        "    sys.modules[name] = None\n"
        "from wordtrust.training.__main__ import main\n"
        f"sys.exit(main([{str(tmp_path / 'data.pack')!r}, '--out', {str(tmp_path / 'm')!r}, '--epochs', '1', "
        "'--state', '4', '--hidden', '4', '--device', 'cpu']))"
    )
    subprocess.run([sys.executable, "-c", bare], check=True, stdout=subprocess.DEVNULL)
    assert load_model(tmp_path / "m").recognizer == "made up"


def test_search_keeps_the_best_dev_eer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GRID, "state", (4, 8))
    monkeypatch.setitem(GRID, "hidden", (4,))
    monkeypatch.setitem(GRID, "merge", ("mean", "posterior"))
    model = train(training_data(), replace(SMALL, epochs=2), tmp_path / "m", device="cpu", search=True)
    assert model is not None
    tried = model.card.search
    assert len(tried) == 4
    assert model.card.metrics["dev_eer"] == min(trial["dev_eer"] for trial in tried)
    assert load_model(tmp_path / "m").config == model.config
    assert not training_folder(tmp_path / "m").exists()


def test_two_processes_train_the_same_model_together(tmp_path: Path) -> None:
    write_pack(tmp_path / "data.pack", training_data())
    options = "--state 8 --hidden 4 --epochs 2 --batch-arcs 60 --device cpu --out"
    command = [sys.executable, "-m", "wordtrust.training", str(tmp_path / "data.pack"), *options.split(),
               str(tmp_path / "m")]  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    both = os.environ | {
        "OMP_NUM_THREADS": "1",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    ranks = [  # as torchrun starts them
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=both | {"RANK": rank, "LOCAL_RANK": rank})
        for rank in ("0", "1")
    ]
    said = [process.communicate(timeout=120)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0]
    assert [line.split(",")[0] for line in "".join(said).splitlines() if line.startswith("m:")] == [
        "m: epoch 1",
        "m: epoch 2",
    ]
    assert load_model(tmp_path / "m").card.metrics["dev_eer"] < 0.5


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"drop": 1.0}, {"stop": "wer"}, {"rate": -1.0}, {"seed": -1}])
def test_options_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(wrong))):
        TrainOptions(**wrong)


def test_an_unknown_device_is_told() -> None:
    with pytest.raises(OptionError, match="cannot train on"), training_worker("cuda:77"):
        pass


def test_memory_is_kept_where_the_system_lets_us() -> None:
    keep_freed_memory()
    assert torch.ones(10_000_000).sum() == 10_000_000
