"""Models trained on several recognizers: the part of each gives what the whole gives for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.model_data import COLUMNS, WORDS, training_data
from wordtrust.base.errors import OptionError
from wordtrust.confidence.features import Statistics
from wordtrust.confidence.word_table import WordTable
from wordtrust.training.dataset import TrainingData

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from wordtrust.confidence.model_file import load_model  # noqa: E402
from wordtrust.training.batches import WordInputs, batch_arcs, make_batch  # noqa: E402
from wordtrust.training.dataset import read_pack, write_pack  # noqa: E402
from wordtrust.training.lattice_rnn import LatticeRNN  # noqa: E402
from wordtrust.training.multi_recognizer import (  # noqa: E402
    Teacher,
    join_recognizers,
    recognizer_network,
    train_multi_recognizer,
    with_teacher_targets,
)
from wordtrust.training.options import TrainOptions  # noqa: E402
from wordtrust.training.pipeline import train_model  # noqa: E402
from wordtrust.training.trainer import Progress, Trainer, chosen_utterances, config_of, only_training_in  # noqa: E402
from wordtrust.training.worker import training_worker  # noqa: E402

pytestmark = pytest.mark.slow

OPTIONS = TrainOptions(
    head="normalised", state=6, hidden=4, epochs=2, batch_arcs=100, average=0.9, embedding="table", identity_drop=0.5
)
CPU = torch.device("cpu")


def two_recognizers() -> dict[str, TrainingData]:
    """One recognizer with all columns, one without the second, with words in another order."""
    whole, other = training_data(0), training_data(5)
    kept = [0, 2]
    lesser: dict[str, Any] = {
        name: replace(data, features=data.features[:, kept])
        for name, data in (("train", other.train), ("dev", other.dev))
    }
    columns = tuple(COLUMNS[i] for i in kept)
    assert whole.table.vectors is not None
    turned = WordTable(WORDS[::-1], mass=other.table.mass, vectors=whole.table.vectors[::-1].copy())
    statistics = Statistics(columns, np.zeros(2, np.float32), np.ones(2, np.float32))
    return {"a": whole, "b": replace(other, **lesser, table=turned, statistics=statistics)}


def outputs(data: TrainingData, network: LatticeRNN, chosen: np.ndarray) -> np.ndarray:
    words = WordInputs(data.table, network.config)
    with torch.no_grad():
        return np.asarray(network.eval()(make_batch(data.train, chosen, words, network.config.merge, CPU)))


@pytest.mark.parametrize("name", ["a", "b"])
def test_the_part_of_a_recognizer_gives_what_the_whole_gives_for_it(name: str) -> None:
    parts = two_recognizers()
    whole = join_recognizers(parts)
    whole.train.check(len(whole.statistics.columns), len(whole.table.words))
    torch.manual_seed(0)
    network = LatticeRNN(config_of(whole, OPTIONS))
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    weights = {key: weight.numpy() for key, weight in network.state_dict().items()}
    config, own = recognizer_network(network.config, weights, name, parts[name].statistics.columns)
    alone = LatticeRNN(config)
    alone.load_state_dict({key: torch.from_numpy(np.array(weight)) for key, weight in own.items()})
    count = len(parts[name].train)
    first = 0 if name == "a" else len(parts["a"].train)
    found = outputs(parts[name], alone, np.arange(count))
    np.testing.assert_allclose(found, outputs(whole, network, first + np.arange(count)), atol=1e-5)
    assert found.std() > 0.1


def test_training_together_makes_a_model_for_each_and_one_for_nobody(tmp_path: Path) -> None:
    parts = two_recognizers()
    with training_worker("cpu") as worker:
        train_multi_recognizer(parts, OPTIONS, tmp_path / "out", worker)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "b", "generic"]
    assert load_model(tmp_path / "out" / "b").config.columns == parts["b"].statistics.columns
    generic = load_model(tmp_path / "out" / "generic")
    assert sorted(generic.config.columns) == sorted(COLUMNS)
    assert generic.card.is_generic


def test_training_goes_on_from_a_model_that_may_stay_the_best(tmp_path: Path) -> None:
    data = training_data()
    with training_worker("cpu") as worker:
        first = train_model(data, OPTIONS, tmp_path / "first", worker)
        start = replace(OPTIONS, start=str(tmp_path / "first"), rate=1e-9, epochs=1)
        second = train_model(data, start, tmp_path / "second", worker)
        for name, weight in first.weights.items():
            np.testing.assert_allclose(second.weights[name], weight, atol=1e-6)
        with pytest.raises(OptionError, match="state 6 there, 7 here"):
            Trainer(data, replace(start, state=7), worker)


def test_training_begins_with_a_model_of_other_features(tmp_path: Path) -> None:
    """Columns are found by their names; what the first model did not know has no weight at the start."""
    parts = two_recognizers()
    theirs, ours = parts["a"].statistics.columns, parts["b"].statistics.columns
    assert theirs != ours
    with training_worker("cpu") as worker:
        first = train_model(parts["a"], OPTIONS, tmp_path / "first", worker)
        network = Trainer(parts["b"], replace(OPTIONS, start=str(tmp_path / "first")), worker).network
    for name, weight in network.state_dict().items():
        if not name.endswith("input.weight"):
            np.testing.assert_array_equal(weight, first.weights[name])
            continue
        for i, column in enumerate(ours):
            expected = first.weights[name][:, theirs.index(column)] if column in theirs else np.zeros(len(weight))
            np.testing.assert_array_equal(weight[:, i], expected)
        np.testing.assert_array_equal(weight[:, len(ours) :], first.weights[name][:, len(theirs) :])


def test_names_and_vectors_have_to_fit() -> None:
    parts = two_recognizers()
    with pytest.raises(OptionError, match="generic"):
        join_recognizers({"generic": parts["a"]})
    bare = replace(parts["b"], table=replace(parts["b"].table, vectors=None))
    with pytest.raises(OptionError, match="prepare them alike"):
        join_recognizers({"a": parts["a"], "b": bare})


def test_soft_labels_come_from_teachers_that_never_heard_the_speaker() -> None:
    data = training_data()
    options = replace(OPTIONS, epochs=1)
    with training_worker("cpu") as worker:
        teachers = []
        for fold in range(2):
            trainer = Trainer(data, replace(options, folds=2, fold=fold), worker)
            trainer.run(Progress())
            teachers.append(Teacher(trainer.network, 2, fold))
        taught = with_teacher_targets(data, teachers, worker).train
        targets = taught.teacher_targets
        assert targets is not None
        assert taught.gaps is not None
        assert taught.gaps.teacher_targets is not None
        for teacher in teachers:
            words = WordInputs(data.table, teacher.network.config)
            for utterance in np.flatnonzero(data.train.speaker % 2 == teacher.fold):
                batch = make_batch(data.train, np.array([utterance]), words, "mean", CPU)
                with torch.no_grad():
                    network = teacher.network.eval()
                    measures = network.measures(batch, network(batch))
                rows = batch_arcs(data.train, np.array([utterance]))
                np.testing.assert_allclose(targets[rows], measures.soft_labels.numpy(), atol=2e-3)
                assert measures.gaps is not None
                gaps = slice(taught.gaps.offsets[utterance], taught.gaps.offsets[utterance + 1])
                np.testing.assert_allclose(
                    taught.gaps.teacher_targets[gaps], torch.sigmoid(measures.gaps).numpy(), atol=2e-3
                )
        with pytest.raises(OptionError, match="no teacher"):
            with_teacher_targets(data, teachers[:1], worker)


def test_a_teacher_without_two_folds_teaches_both_and_was_trained_on_neither(tmp_path: Path) -> None:
    data = training_data()
    options = replace(OPTIONS, epochs=1, folds=3, fold=0, other_fold=2)
    kept = chosen_utterances(data.train, options)
    np.testing.assert_array_equal(kept, np.flatnonzero(data.train.speaker % 3 == 1))
    with training_worker("cpu") as worker:
        train_multi_recognizer({"a": data}, options, tmp_path, worker)
    teacher = Teacher.of(load_model(tmp_path / "a"))
    np.testing.assert_array_equal(teacher.unseen(data.train.speaker), data.train.speaker % 3 != 1)
    with pytest.raises(OptionError, match="fold 0 and 3 of 3"):
        chosen_utterances(data.train, replace(options, other_fold=3))


def test_training_on_dev_keeps_the_last_epoch() -> None:
    data = training_data()
    both = data.with_dev_to_train_on()
    assert len(both.train) == len(data.train) + len(data.dev)
    np.testing.assert_array_equal(both.train.speaker[len(data.train) :], data.dev.speaker)
    both.train.check(len(data.statistics.columns), len(data.table.words))
    options = replace(OPTIONS, epochs=5, patience=1, rate=0.5, train_on_dev=True)  # a rate that spoils the weights
    with training_worker("cpu") as worker:
        trainer = Trainer(both, options, worker)
        weights = trainer.run(Progress())
    nce = [line["dev_nce"] for line in trainer.state.log]
    assert len(nce) == 5
    assert max(nce) > nce[-1]
    assert {line["rate"] for line in trainer.state.log} == {0.5}
    with trainer._averaged():
        for name, weight in trainer.network.state_dict().items():
            np.testing.assert_array_equal(weights[name], weight)


def test_targets_are_a_mixture_of_labels_and_soft_labels(tmp_path: Path) -> None:
    data = training_data()
    targets = np.random.default_rng(0).uniform(size=(len(data.train.source), 2)).astype(np.float16)
    assert data.train.gaps is not None
    missing = data.train.gaps.missing
    of_gaps = np.random.default_rng(1).uniform(size=len(missing)).astype(np.float16)
    gaps = replace(data.train.gaps, teacher_targets=of_gaps)
    data = replace(data, train=replace(data.train, teacher_targets=targets, gaps=gaps))
    chosen = np.arange(3)
    batch = make_batch(data.train, chosen, WordInputs(data.table, config_of(data, OPTIONS)), "mean", CPU, 0.25)
    rows = batch_arcs(data.train, chosen)
    np.testing.assert_allclose(batch.path, 0.75 * data.train.path[rows] + 0.25 * targets[rows, 0], atol=1e-6)
    np.testing.assert_allclose(batch.label, 0.75 * (data.train.label[rows] == 1) + 0.25 * targets[rows, 1], atol=1e-6)
    last = gaps.offsets[3]
    assert batch.gaps is not None
    np.testing.assert_allclose(batch.gaps.missing, 0.75 * missing[:last] + 0.25 * of_gaps[:last], atol=1e-6)
    write_pack(tmp_path / "a.pack", data)
    kept = read_pack(tmp_path / "a.pack").train
    assert kept.teacher_targets is not None
    np.testing.assert_array_equal(kept.teacher_targets, targets)
    assert kept.gaps is not None
    assert kept.gaps.teacher_targets is not None
    np.testing.assert_array_equal(kept.gaps.teacher_targets, of_gaps)
    both = join_recognizers({"a": data, "b": data}).train.gaps
    assert both is not None
    assert both.teacher_targets is not None
    np.testing.assert_array_equal(both.teacher_targets, np.concatenate([of_gaps, of_gaps]))


def test_one_training_in_a_folder_at_a_time(tmp_path: Path) -> None:
    with (
        only_training_in(tmp_path),
        pytest.raises(OptionError, match="another wordtrust process"),
        only_training_in(tmp_path),
    ):
        pass
    with only_training_in(tmp_path):  # and then the next
        pass
