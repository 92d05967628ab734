"""The parts of a study by themselves: steps that are done once, folders, options, what is told."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from experiments import shift
from tests.helpers.joint_data import corpus
from tests.helpers.study_data import write_data
from wordtrust.base.errors import InputError, OptionError
from wordtrust.combination.joint import JointDecoding
from wordtrust.combination.system_output import SystemOutput, SystemOutputs
from wordtrust.formats.references import Reference
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.weights import Scales
from wordtrust.networks.build_store import REFERENCE, SPEAKER
from wordtrust.networks.tuned_scales import TunedScales
from wordtrust.study.combination import counts_against, load_or_count
from wordtrust.study.layout import Corpus, StudyFolder, StudyOptions
from wordtrust.study.measure import joint_record
from wordtrust.study.steps import Steps, contents_key, file_key, key_of, read_json, write_json
from wordtrust.study.stores import StoreBuilder
from wordtrust.training.options import TrainOptions


class Work:
    """A step that writes a file and counts how often it was done."""

    def __init__(self, path: Path) -> None:
        self.path, self.done = path, 0

    def __call__(self) -> None:
        self.done += 1
        self.path.write_text("made", "utf-8")


def steps_of(folder: Path) -> Steps:
    return Steps(folder / "steps.json", lambda _: None)


def test_a_step_is_done_once_also_by_the_next_process(tmp_path: Path) -> None:
    work = Work(tmp_path / "made")
    for _ in range(3):
        steps_of(tmp_path).run("step", "key", [work.path], work)
    assert work.done == 1


def test_a_step_is_done_again_for_other_inputs_or_without_its_output(tmp_path: Path) -> None:
    work, steps = Work(tmp_path / "made"), steps_of(tmp_path)
    steps.run("step", "key", [work.path], work)
    steps.run("step", "other key", [work.path], work)
    work.path.unlink()
    steps.run("step", "other key", [work.path], work)
    assert work.done == 3


def test_a_step_that_raised_is_not_done_and_its_time_counts(tmp_path: Path) -> None:
    work, steps = Work(tmp_path / "made"), steps_of(tmp_path)

    def fails() -> None:
        work()
        raise RuntimeError

    with pytest.raises(RuntimeError):
        steps.run("step", "key", [work.path], fails)
    again = steps_of(tmp_path)
    before = again._records["step"]["seconds"]
    assert before > 0
    again.run("step", "key", [work.path], work)
    assert work.done == 2
    assert again._records["step"]["seconds"] > before


def test_damaged_notes_mean_that_nothing_is_known(tmp_path: Path) -> None:
    for text in ("", "[1]", '{"step": 1}', '{"step": {"seconds": "x", "key": 1}}', "[" * 100_000):
        (tmp_path / "steps.json").write_text(text, "utf-8")
        assert steps_of(tmp_path).seconds == {}


def test_models_from_elsewhere_are_taken_and_other_ones_of_ours_are_not(tmp_path: Path) -> None:
    path, steps = tmp_path / "model", steps_of(tmp_path)
    assert not steps.adopt("training", "key", [path])
    path.write_text("made", "utf-8")
    assert steps.adopt("training", "key", [path])
    with pytest.raises(OptionError, match="made from other data"):
        steps_of(tmp_path).adopt("training", "other key", [path])
    assert steps.adopt("another", "any key", [path])  # nothing of ours: from another machine


def test_keys_follow_contents(tmp_path: Path) -> None:
    one, other = tmp_path / "a" / "file", tmp_path / "b" / "file"
    for path, text in ((one, "x"), (other, "x")):
        path.parent.mkdir()
        path.write_text(text, "utf-8")
        os.utime(path, ns=(5, 5))
    assert file_key([one]) == file_key([other])
    assert contents_key([one]) == contents_key([other])
    other.write_text("y", "utf-8")
    assert file_key([one]) != file_key([other])
    assert contents_key([one]) != contents_key([other])
    assert contents_key([one, tmp_path / "nothing"]) != contents_key([one])
    assert key_of("ab", "c") != key_of("a", "bc")


def test_counted_errors_are_kept_unless_damaged(tmp_path: Path) -> None:
    path, found = tmp_path / "0.npy", np.array([[1, 2]], np.int32)
    calls: list[int] = []

    def count() -> Any:
        calls.append(1)
        return found

    for damage in (None, None, b"\x93NUMPY", b"nothing of the kind", b""):
        if damage is not None:
            path.write_bytes(damage)
        np.testing.assert_array_equal(load_or_count(path, (1, 2), count), found)
    assert len(calls) == 4  # once at first, then for each damage
    np.save(path, np.array([[1, 2, 3]], np.int32))
    np.testing.assert_array_equal(load_or_count(path, (1, 2), count), found)
    np.save(path, np.array([[{}, {}]]), allow_pickle=True)
    np.testing.assert_array_equal(load_or_count(path, (1, 2), count), found)


def test_recognizers_are_folders_that_say_so(tmp_path: Path) -> None:
    write_data(tmp_path, {"beta": 0.1, "alpha": 0.1}, {"train": 1})
    (tmp_path / "notes" / "gamma").mkdir(parents=True)
    (tmp_path / "notes" / "gamma" / "recognizer.json").write_text("{}", "utf-8")
    assert Corpus.of(tmp_path).names == ("alpha", "beta")
    assert Corpus.of(tmp_path, ["beta", "beta"]).names == ("beta",)


def test_files_of_a_split(tmp_path: Path) -> None:
    place = tmp_path / "alpha"
    place.mkdir()
    for name in ("recognizer.json", "dev.2.ark.gz", "dev.1.ark.gz", "development.ark", "words.txt"):
        (place / name).write_text("{}", "utf-8")
    (place / "eval").mkdir()
    corpus = Corpus.of(tmp_path)
    assert [Path(file).name for file in corpus.files("alpha", "dev")] == ["dev.1.ark.gz", "dev.2.ark.gz"]
    assert corpus.files("alpha", "eval") == [str(place / "eval")]
    with pytest.raises(InputError, match="no file of the split 'train'"):
        corpus.files("alpha", "train")


def test_references_without_splits_hold_for_all(tmp_path: Path) -> None:
    write_data(tmp_path, {"alpha": 0.1}, {"train": 1, "dev": 1})
    assert len(Corpus.of(tmp_path).references("dev")) == 4
    (tmp_path / "refs.tsv").write_text("utt\ttext\nu\tone two\n", "utf-8")
    assert list(Corpus.of(tmp_path).references("any")) == ["u"]


def test_word_vectors(tmp_path: Path) -> None:
    write_data(tmp_path, {"alpha": 0.1}, {"train": 1})
    corpus, folder = Corpus.of(tmp_path), tmp_path / "embeddings"
    assert corpus.vectors(None) is None
    folder.mkdir()
    (folder / "glove.txt.gz").write_text("", "utf-8")
    assert corpus.vectors(None) == folder / "glove.txt.gz"
    (folder / "more.txt").write_text("", "utf-8")
    with pytest.raises(OptionError, match="say which"):
        corpus.vectors(None)
    assert corpus.vectors(folder / "more.txt") == folder / "more.txt"


def test_more_recognizers_than_can_be_combined(tmp_path: Path) -> None:
    for number in range(13):
        (tmp_path / f"r{number}").mkdir()
        (tmp_path / f"r{number}" / "recognizer.json").write_text("{}", "utf-8")
    with pytest.raises(OptionError, match="13 recognizers"):
        Corpus.of(tmp_path)
    assert len(Corpus.of(tmp_path, ["r1", "r2"]).names) == 2


def test_a_recognizer_is_not_called_like_a_model_of_a_fold(tmp_path: Path) -> None:
    for name in ("x", "x-fold-0", "y-fold-", "fold-1x"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "recognizer.json").write_text("{}", "utf-8")
    with pytest.raises(OptionError, match="cannot be called x-fold-0"):
        Corpus.of(tmp_path)
    assert Corpus.of(tmp_path, ["x", "y-fold-", "fold-1x"]).names == ("x", "y-fold-", "fold-1x")


def test_references_without_output_are_told_where_they_have_splits(tmp_path: Path) -> None:
    write_data(tmp_path, {"alpha": 0.1}, {"train": 2, "dev": 2})
    rows = (tmp_path / "refs.tsv").read_text("utf-8").splitlines()
    scales = Scales()
    TunedScales(scales, scales, scales, {}).save(tmp_path / "scales.json")
    place = rows[0].split("\t").index("split")
    for split, expected in (("dev", 1), (None, 0)):
        more = [*rows, *(["\t".join(["never", *rows[-1].split("\t")[1:]])] if split else [])]
        cells = [row.split("\t") for row in more]
        kept = cells if split else [[each for n, each in enumerate(row) if n != place] for row in cells]
        (tmp_path / "refs.tsv").write_text("\n".join("\t".join(row) for row in kept) + "\n", "utf-8")
        told: list[str] = []
        out = StudyFolder(tmp_path / f"out-{expected}")
        out.make(models=False)
        maker = StoreBuilder(Corpus.of(tmp_path), out, Steps(out.work / "steps.json", told.append), jobs=1)
        maker.networks("alpha", "dev", tmp_path / "scales.json")
        assert sum("have no output" in line for line in told) == expected, told


def test_pairs_and_names_of_the_shift_that_are_not_there_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shift.ShiftData, "names", ("one", "two"))
    monkeypatch.setattr(shift, "read_references", lambda _: {})
    asked: list[Any] = []

    def measured(*given: Any) -> dict[str, Any]:
        asked.append(given[1:])
        return {"split": "dev", "accents": {}, "strangers": [], "repairs": []}

    monkeypatch.setattr(shift, "shift", measured)

    def run(*more: str) -> Any:
        given = [str(tmp_path), str(tmp_path), "--refs", "refs.tsv", "--out", str(tmp_path / "out"), *more]
        shift.main(given, standalone_mode=False)
        return asked[-1]

    for wrong, named in (
        (["--pair", "one:nowhere"], "one:nowhere"), (["--pair", "one"], "'one:'"),
        (["--repair", "three:one", "--folds", "f"], "three:one"), (["--name", "four"], "four"),
        (["--outside", "x"], "kaldi-small-2020"), (["--outside", "x", "--outside-model", "five"], "five"),
        (["--repair", "one:two"], "--folds"),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=named):
            run(*wrong)
    assert run() == ([], [], [], None, "kaldi-small-2020")  # the usual ones are left out where they are not
    assert run("--pair", "one:two", "--name", "two", "--outside", "x", "--outside-model", "one") == (
        [("one", "two")], [], ["two"], Path("x"), "one",
    )  # fmt: skip


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(OptionError, match="cannot be made"):
        StudyFolder(tmp_path / "file").make(models=True)


@pytest.mark.parametrize(
    "more",
    [
        {"until": "never"},
        {"models": Path("m"), "until": "packs"},
        {"models": Path("m"), "with_paper": True},
        {"models": Path("m"), "vectors": Path("v")},
        {"models": Path("m"), "training": TrainOptions(epochs=3)},
        {"test": ".hidden"},
    ],
)
def test_options_that_do_not_fit(more: Any) -> None:
    with pytest.raises(OptionError):
        StudyOptions(**more)


def test_numbers_that_are_none_become_null(tmp_path: Path) -> None:
    write_json(tmp_path / "x.json", {"a": [float("nan"), 1.5, {"b": float("-inf")}], "c": None})
    assert read_json(tmp_path / "x.json") == {"a": [None, 1.5, {"b": None}], "c": None}
    (tmp_path / "x.json").write_text("[]", "utf-8")
    with pytest.raises(InputError, match="no figures"):
        read_json(tmp_path / "x.json")


def test_counts_against_a_rival() -> None:
    subsets = [
        {"joint": 0.1, "rover": 0.2, "best_member": 0.1},
        {"joint": 0.3, "rover": 0.2, "best_member": 0.4},
        {"joint": 0.2, "rover": 0.2, "best_member": 0.1},
    ]
    assert counts_against(subsets, "best_member") == {
        "better": {"rover": 1, "joint": 1}, "equal": {"rover": 0, "joint": 1}, "worse": {"rover": 2, "joint": 1},
    }  # fmt: skip
    assert counts_against(subsets, "rover")["better"] == {"joint": 1}


def test_joined_words_by_hand() -> None:
    """Joined with nobody, a recognizer has its own figures, whether its output or its 1-best is asked for."""
    (lattices, *_), _ = corpus(speakers=4, utterances=5, error=(0.3, 0.4))
    said = zip(lattices.utts, lattices.notes[REFERENCE], lattices.notes[SPEAKER], strict=True)
    references = {utt: Reference(utt, text, tuple(text.split()), speaker) for utt, text, speaker in said}
    confidence, picked = lattices.extra["confidence"].astype(np.float64), lattices.picked
    assert picked is not None
    decoded = JointDecoding(
        lattices, confidence, one_best(lattices), ("r",), picked[:, np.newaxis], np.zeros(len(lattices))
    )
    own = SystemOutput.of(lattices, confidence, decoded.paths)
    together = SystemOutputs.of({"r": own}, references)
    record = joint_record(decoded, together)
    assert record["against_best_member"] == {"value": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}
    assert record["one_best"]["r"] == record["output"]
    assert record["errors"]["wer"] == pytest.approx(together.errors.sum() / len(together.reference_words))
    assert own.confidence is not None
    right = [
        word in references[utt].words for number, utt in enumerate(own.utts) for word in own.words(number)
    ]  # words of these references hardly ever stand in for each other
    assert record["output"]["auc"] == pytest.approx(roc_auc_score(right, own.confidence), abs=0.05)


def test_a_folder_of_other_things_is_no_study(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    StudyFolder(tmp_path / "out").make(models=True)
    StudyFolder(tmp_path / "out").make(models=True)  # goes on
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    with pytest.raises(OptionError, match="photos: exists and is no study"):
        StudyFolder(tmp_path / "photos").make(models=True)
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.png"]
