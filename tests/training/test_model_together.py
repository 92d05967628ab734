"""Models trained on several recognizers: the part of each gives what the whole gives for it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.model_data import COLUMNS, WORDS, training_data
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.features import Statistics
from wordtrust.confidence.word_table import WordTable
from wordtrust.training.dataset import TrainingData

torch = pytest.importorskip("torch", reason="needs the extra `train`")

from wordtrust.confidence.model_file import load_model  # noqa: E402
from wordtrust.training.__main__ import main  # noqa: E402
from wordtrust.training.batches import Words, make_batch, rows_of  # noqa: E402
from wordtrust.training.checkpoint import alone_in  # noqa: E402
from wordtrust.training.distil import Teacher, taught_by  # noqa: E402
from wordtrust.training.heads import opinions_of  # noqa: E402
from wordtrust.training.lattice_rnn import LatticeRNN  # noqa: E402
from wordtrust.training.loop import Trainer, config_of  # noqa: E402
from wordtrust.training.machine import machine  # noqa: E402
from wordtrust.training.options import TrainOptions  # noqa: E402
from wordtrust.training.pack import read_pack, write_pack  # noqa: E402
from wordtrust.training.plan import Plan, train_everything  # noqa: E402
from wordtrust.training.run import train_model  # noqa: E402
from wordtrust.training.together import join, part_of, train_together  # noqa: E402

OPTIONS = TrainOptions(
    head="normalised", state=6, hidden=4, epochs=2, batch_arcs=100, average=0.9, embedding="table", identity_drop=0.5
)
CPU = torch.device("cpu")


def two() -> dict[str, TrainingData]:
    """One recognizer with all columns, one without the second, with words in another order."""
    whole, other = training_data(0), training_data(5)
    kept = [0, 2]
    lesser: dict[str, Any] = {
        name: replace(data, features=data.features[:, kept])
        for name, data in (("train", other.train), ("dev", other.dev))
    }
    columns = tuple(COLUMNS[place] for place in kept)
    assert whole.table.vectors is not None
    turned = WordTable(WORDS[::-1], mass=other.table.mass, vectors=whole.table.vectors[::-1].copy())
    statistics = Statistics(columns, np.zeros(2, np.float32), np.ones(2, np.float32))
    return {"a": whole, "b": replace(other, **lesser, table=turned, statistics=statistics)}


def outputs(data: TrainingData, network: LatticeRNN, chosen: np.ndarray) -> np.ndarray:
    words = Words(data.table, network.config)
    with torch.no_grad():
        return np.asarray(network.eval()(make_batch(data.train, chosen, words, network.config.merge, CPU)))


@pytest.mark.parametrize("name", ["a", "b"])
def test_the_part_of_a_recognizer_gives_what_the_whole_gives_for_it(name: str) -> None:
    parts = two()
    whole = join(parts)
    whole.train.check(len(whole.statistics.columns), len(whole.table.words))
    torch.manual_seed(0)
    network = LatticeRNN(config_of(whole, OPTIONS))
    for weight in network.parameters():
        torch.nn.init.normal_(weight, std=0.5)
    weights = {key: weight.numpy() for key, weight in network.state_dict().items()}
    config, own = part_of(network.config, weights, name, parts[name].statistics.columns)
    alone = LatticeRNN(config)
    alone.load_state_dict({key: torch.from_numpy(np.array(weight)) for key, weight in own.items()})
    count = len(parts[name].train)
    first = 0 if name == "a" else len(parts["a"].train)
    found = outputs(parts[name], alone, np.arange(count))
    np.testing.assert_allclose(found, outputs(whole, network, first + np.arange(count)), atol=1e-5)
    assert found.std() > 0.1


def test_training_together_makes_a_model_for_each_and_one_for_nobody(tmp_path: Path) -> None:
    parts = two()
    with machine("cpu") as here:
        train_together(parts, OPTIONS, tmp_path / "out", here, tell=lambda _: None)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "b", "generic"]
    assert load_model(tmp_path / "out" / "b").config.columns == parts["b"].statistics.columns
    generic = load_model(tmp_path / "out" / "generic")
    assert sorted(generic.config.columns) == sorted(COLUMNS)
    assert generic.card.is_generic


def test_training_goes_on_from_a_model_that_may_stay_the_best(tmp_path: Path) -> None:
    data = training_data()
    with machine("cpu") as here:
        first = train_model(data, OPTIONS, tmp_path / "first", here, tell=lambda _: None)
        start = replace(OPTIONS, start=str(tmp_path / "first"), rate=1e-9, epochs=1)
        second = train_model(data, start, tmp_path / "second", here, tell=lambda _: None)
        for name, weight in first.weights.items():
            np.testing.assert_allclose(second.weights[name], weight, atol=1e-6)
        with pytest.raises(OptionError, match="state 6 there, 7 here"):
            Trainer(data, replace(start, state=7), here)


def test_training_begins_with_a_model_of_other_features(tmp_path: Path) -> None:
    """Columns are found by their names; what the first model did not know has no weight at the start."""
    parts = two()
    known, here = parts["a"].statistics.columns, parts["b"].statistics.columns
    assert known != here
    with machine("cpu") as cpu:
        first = train_model(parts["a"], OPTIONS, tmp_path / "first", cpu, tell=lambda _: None)
        network = Trainer(parts["b"], replace(OPTIONS, start=str(tmp_path / "first")), cpu).network
    for name, weight in network.state_dict().items():
        if not name.endswith("input.weight"):
            np.testing.assert_array_equal(weight, first.weights[name])
            continue
        for place, column in enumerate(here):
            expected = first.weights[name][:, known.index(column)] if column in known else np.zeros(len(weight))
            np.testing.assert_array_equal(weight[:, place], expected)
        np.testing.assert_array_equal(weight[:, len(here) :], first.weights[name][:, len(known) :])


def test_names_and_vectors_have_to_fit() -> None:
    parts = two()
    with pytest.raises(OptionError, match="generic"):
        join({"generic": parts["a"]})
    bare = replace(parts["b"], table=replace(parts["b"].table, vectors=None))
    with pytest.raises(OptionError, match="prepare them alike"):
        join({"a": parts["a"], "b": bare})


def test_teachers_judge_only_those_they_never_heard() -> None:
    data = training_data()
    options = replace(OPTIONS, epochs=1)
    with machine("cpu") as here:
        teachers = []
        for fold in range(2):
            trainer = Trainer(data, replace(options, folds=2, fold=fold), here)
            trainer.run(lambda _: None)
            teachers.append(Teacher(trainer.network, 2, fold))
        taught = taught_by(data, teachers, here).train
        assert taught.taught is not None
        for teacher in teachers:
            words = Words(data.table, teacher.network.config)
            for utterance in np.flatnonzero(data.train.speaker % 2 == teacher.fold):
                batch = make_batch(data.train, np.array([utterance]), words, "mean", CPU)
                with torch.no_grad():
                    expected = opinions_of(batch, teacher.network.eval()(batch)).numpy()
                rows = rows_of(data.train, np.array([utterance]))
                np.testing.assert_allclose(taught.taught[rows], expected, atol=2e-3)
        with pytest.raises(OptionError, match="no teacher"):
            taught_by(data, teachers[:1], here)


def test_targets_are_a_mixture_of_what_was_said_and_of_what_teachers_think(tmp_path: Path) -> None:
    data = training_data()
    taught = np.random.default_rng(0).uniform(size=(len(data.train.source), 2)).astype(np.float16)
    data = replace(data, train=replace(data.train, taught=taught))
    chosen = np.arange(3)
    batch = make_batch(data.train, chosen, Words(data.table, config_of(data, OPTIONS)), "mean", CPU, 0.25)
    rows = rows_of(data.train, chosen)
    np.testing.assert_allclose(batch.path, 0.75 * data.train.path[rows] + 0.25 * taught[rows, 0], atol=1e-6)
    np.testing.assert_allclose(batch.label, 0.75 * (data.train.label[rows] == 1) + 0.25 * taught[rows, 1], atol=1e-6)
    write_pack(tmp_path / "a.pack", data)
    kept = read_pack(tmp_path / "a.pack").train.taught
    assert kept is not None
    np.testing.assert_array_equal(kept, taught)


def test_all_models_of_a_study(tmp_path: Path) -> None:
    packs = {name: tmp_path / f"{name}.pack" for name in ("a", "b")}
    for name, data in two().items():
        write_pack(packs[name], data)
    plan = Plan(packs, tmp_path / "out", folds=2, teachers=1, options=replace(OPTIONS, epochs=1), side_by_side=2)
    told: list[str] = []
    train_everything(plan, told.append)
    found = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert found == ["a", "a-fold-0", "a-fold-1", "b", "b-fold-0", "b-fold-1", "generic"]
    assert load_model(tmp_path / "out" / "b-fold-1").card.training.options["fold"] == 1
    assert len(told) == 5  # two teachers, three students
    train_everything(plan, told.append)  # nothing is left to do
    assert len(told) == 5


def test_a_study_that_was_killed_goes_on_with_the_same_options_only(tmp_path: Path) -> None:
    packs = {"a": tmp_path / "a.pack"}
    write_pack(packs["a"], two()["a"])
    plan = Plan(packs, tmp_path / "out", folds=2, teachers=0, options=replace(OPTIONS, epochs=1))

    def stop(line: str) -> None:
        if "fold-1" in line:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_everything(plan, stop)
    with pytest.raises(OptionError, match="other data or options"):
        train_everything(replace(plan, options=replace(plan.options, state=5)), lambda _: None)
    told: list[str] = []
    train_everything(plan, told.append)
    assert len(told) == 1  # the others were done
    assert (tmp_path / "out" / "generic" / "model.json").is_file()


def test_the_first_training_that_fails_ends_a_study(tmp_path: Path) -> None:
    (tmp_path / "a.pack").write_bytes(b"no pack")
    plan = Plan({"a": tmp_path / "a.pack"}, tmp_path / "out", folds=2, teachers=1)
    told: list[str] = []
    with pytest.raises(InputError, match="teacher-0-fold-0 did not end well"):
        train_everything(plan, told.append)
    assert len(told) == 1


def test_one_training_in_a_folder_at_a_time(tmp_path: Path) -> None:
    with alone_in(tmp_path), pytest.raises(OptionError, match="another training is at work"), alone_in(tmp_path):
        pass
    with alone_in(tmp_path):  # and then the next
        pass


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--teachers", "t"], "--teachers does not go"),
        (["--together", "--seeds", "1,2"], "--seeds does not go"),
        (["--study", "1", "--search"], "--search does not go"),
        (["--study", "-1"], "not -1"),
        (["--study", "1", "--side-by-side", "0"], "not 0"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    tmp_path: Path, more: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_pack(tmp_path / "a.pack", two()["a"])
    assert main([str(tmp_path / "a.pack"), "--out", str(tmp_path / "out"), *more]) == 1
    assert message in capsys.readouterr().err
