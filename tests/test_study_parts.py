"""The parts of a study by themselves: steps that are done once, folders, tables, text and the page."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tests.joint_data import corpus
from tests.study_data import write_data
from wordtrust.decode import one_best
from wordtrust.errors import InputError, OptionError
from wordtrust.joint import Decoded
from wordtrust.networks import REFERENCE, SPEAKER
from wordtrust.outputs import Outputs, Together
from wordtrust.references import Reference
from wordtrust.report.chart import Note
from wordtrust.report.study import error_chart, write_study_report
from wordtrust.study.combined_tables import ways_table
from wordtrust.study.files import markdown, remarks
from wordtrust.study.joined import joint_record
from wordtrust.study.layout import Corpus, Output
from wordtrust.study.options import StudyOptions
from wordtrust.study.results import read_json, write_json
from wordtrust.study.steps import Steps, contents_key, file_key, key_of
from wordtrust.study.tables import all_tables, confidence_table, words_table
from wordtrust.study.together import _kept, counts_against


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
    before = again._known["step"]["seconds"]
    assert before > 0
    again.run("step", "key", [work.path], work)
    assert work.done == 2
    assert again._known["step"]["seconds"] > before


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
        np.testing.assert_array_equal(_kept(path, (1, 2), count), found)
    assert len(calls) == 4  # once at first, then for each damage
    np.save(path, np.array([[1, 2, 3]], np.int32))
    np.testing.assert_array_equal(_kept(path, (1, 2), count), found)
    np.save(path, np.array([[{}, {}]]), allow_pickle=True)
    np.testing.assert_array_equal(_kept(path, (1, 2), count), found)


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


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(OptionError, match="cannot be made"):
        Output(tmp_path / "file").make(models=True)


@pytest.mark.parametrize("more", [{"until": "never"}, {"models": Path("m"), "until": "packs"}, {"test": ".hidden"}])
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


def figures(wer: float, seen: int = 0) -> dict[str, Any]:
    """Made-up figures of one recognizer."""
    kinds = {kind: {"eer": 0.12, "nce": 0.5, "ece": 0.01} for kind in ("posterior", "confidence", "calibrated")}
    return {
        "utterances": 10, "words": 100, "speakers": 5,
        "wer": {"one_best": 0.2, "tuned_one_best": 0.16, "best_confidence": wer, "oracle": 0.05},
        "arcs": kinds, "one_best": kinds, "output": kinds,
        "intervals": {"wer": {"best_confidence": [0.1, 0.14], "one_best": None}},
        "differences": {"wer": {"tuned_one_best": {"value": wer - 0.16, "low": -0.1, "high": 0.0, "p": 0.0123}}},
        "model": {"calibrated_on_test": seen},
    }  # fmt: skip


def made_study(*names: str, seen: int = 0) -> dict[str, Any]:
    subsets = [
        {"members": ["a", "b"], "best_member": 0.2, "best_member_one_best": 0.25, "raw": 0.22, "joint": 0.18,
         "oracle": 0.1},
        {"members": ["a", "c"], "best_member": 0.1, "best_member_one_best": 0.11, "raw": 0.10, "joint": 0.12,
         "oracle": 0.04},
    ]  # fmt: skip
    counts = counts_against(subsets, "best_member")
    about = {"wordtrust": "1", "date": "today", "command": "wordtrust study", "data": "d", "test": "eval"}
    return {
        "about": about, "recognizers": {name: figures(0.12, seen) for name in names}, "subsets": subsets, **counts,
        "against_one_best": counts_against(subsets, "best_member_one_best"), "seconds": {"one": 60.0, "two": 30.0},
        "spread": {way: {"deviation": 0.03, "low": 0.1, "high": 0.2} for way in ("raw", "joint")},
        "none_worse": {"raw": 0.25, "joint": 0.5}, "examples": [], "repairs": [],
    }  # fmt: skip


def test_table_of_words_by_hand() -> None:
    (row,) = words_table(made_study("a")).rows
    assert row == ("a", "20.00", "16.00", "-", "12.00", "10.0 to 14.0", "-25.0%", "0.012", "5.00")


def test_table_of_confidences_by_hand() -> None:
    table = confidence_table(made_study("a"), "arcs", "title")
    assert dict(zip(table.columns, table.rows[0], strict=True)) == {
        "recognizer": "a", "EER posterior": "12.00", "EER logistic": "-", "EER confidence": "12.00",
        "NCE posterior": "0.500", "NCE cal. posterior": "-", "NCE logistic": "-", "NCE confidence": "0.500",
        "NCE calibrated": "0.500", "ECE calibrated": "0.010",
    }  # fmt: skip
    assert confidence_table(made_study("a"), "arcs_paper", "title").rows == ()  # nothing known, nothing shown


def test_table_of_combination_by_hand() -> None:
    raw, joint, best, oracle = ways_table(made_study("a")).rows
    assert raw == ("largest mean confidence", "16.00", "3.00", "0", "1", "1", "2/0/0", "25.00")
    assert joint == ("joint network", "15.00", "3.00", "1", "0", "1", "1/0/1", "50.00")
    assert best[1] == "15.00"
    assert oracle[1] == "7.00"


def test_many_subsets_are_shown_by_size() -> None:
    study = made_study("a")
    one = study["subsets"][0]
    study["subsets"] = [one] * 50 + [{**one, "members": ["a", "b", "c"], "joint": 0.1}]
    table = all_tables(study)["combination"][1]
    assert [row[:2] for row in table.rows] == [("2", "50"), ("3", "1")]
    assert dict(zip(table.columns, table.rows[1], strict=True))["joint"] == "10.00"


def test_text_has_whole_tables_whatever_names_say() -> None:
    text = markdown(made_study("a|b", "c\nd"))
    assert "a\\|b" in text
    assert "c d" in text
    assert "took 1.5 minutes" in text
    for block in text.split("\n\n"):
        rows = [line.replace("\\|", "") for line in block.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1


def test_speakers_that_were_seen_are_told() -> None:
    assert remarks(made_study("a")) == []
    assert "7 of them" in remarks(made_study("a", seen=7))[0]
    assert "no test" in markdown(made_study("a", seen=7))


def test_the_page_escapes_what_recognizers_are_called(tmp_path: Path) -> None:
    study = made_study("<script>alert(1)</script>")
    write_study_report(tmp_path / "page.html", study, all_tables(study), remarks(study))
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    write_study_report(tmp_path / "again.html", study, all_tables(study), remarks(study))
    assert (tmp_path / "again.html").read_text("utf-8") == page


def test_names_in_the_chart_stand_where_there_is_room() -> None:
    study = {"good": figures(0.1), "bad": figures(0.5)}
    study["good"]["wer"] |= {"one_best": 0.11, "tuned_one_best": 0.1}
    study["bad"]["wer"] |= {"one_best": 0.6, "tuned_one_best": 0.55}
    study["bad"]["intervals"]["wer"] = {"best_confidence": [0.45, 0.55]}
    notes = {mark.text: mark for mark in error_chart(study).marks if isinstance(mark, Note)}
    assert (notes["good"].anchor, notes["good"].x, notes["good"].y) == ("start", 0.14, 1)
    assert (notes["bad"].anchor, notes["bad"].x, notes["bad"].y) == ("end", 0.45, 0)


def test_json_of_a_study_is_plain(tmp_path: Path) -> None:
    write_json(tmp_path / "s.json", made_study("a"))
    assert json.loads((tmp_path / "s.json").read_text("utf-8"))["subsets"][0]["joint"] == 0.18


def test_joined_words_by_hand() -> None:
    """Joined with nobody, a recognizer has its own figures, whether its output or its 1-best is asked for."""
    (lattices, *_), _ = corpus(speakers=4, utterances=5, error=(0.3, 0.4))
    said = zip(lattices.utts, lattices.notes[REFERENCE], lattices.notes[SPEAKER], strict=True)
    references = {utt: Reference(utt, text, tuple(text.split()), speaker) for utt, text, speaker in said}
    confidence, picked = lattices.extra["confidence"].astype(np.float64), lattices.picked
    assert picked is not None
    decoded = Decoded(lattices, confidence, one_best(lattices), ("r",), picked[:, np.newaxis])
    own = Outputs.of(lattices, confidence, decoded.paths)
    together = Together.of({"r": own}, references)
    record = joint_record(decoded, together)
    assert record["against_best_member"] == {"value": 0.0, "low": 0.0, "high": 0.0, "p": 1.0}
    assert record["one_best"]["r"] == record["output"]
    assert record["errors"]["wer"] == pytest.approx(together.errors.sum() / len(together.spoken))
    assert own.confidence is not None
    right = [
        word in references[utt].words for number, utt in enumerate(own.utts) for word in own.words(number)
    ]  # words of these references hardly ever stand in for each other
    assert record["output"]["auc"] == pytest.approx(roc_auc_score(right, own.confidence), abs=0.05)
