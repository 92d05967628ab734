"""The tables of a study by hand, as text and as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from wordtrust.report.chart import Note
from wordtrust.report.comparison_charts import error_chart
from wordtrust.report.page import write_study_report
from wordtrust.study.combination import counts_against
from wordtrust.study.paper import DIFFERENCES
from wordtrust.study.results import remarks, results_markdown
from wordtrust.study.steps import write_json
from wordtrust.study.tables import all_tables, beyond_words_tables, combination_table, confidence_table, words_table


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


def test_tables_of_estimates_by_hand() -> None:
    study = made_study("a", "b")
    study["recognizers"]["a"]["estimation"] = {
        "corpus": {"estimated": 0.19, "true": 0.2, "level": 0.9, "low": 0.17, "high": 0.22},
        "expected_and_true": {"deletions": [11.6, 14.0]},
        "plain_sum": {"corpus": 0.15, "utterances": {"rmse": 0.13, "correlation": 0.65}},
        "utterances": {"rmse": 0.1, "correlation": 0.7, "coverage": 0.91},
        "speakers": {"rmse": 0.05},
    }
    corpus, each = all_tables(study)["estimates"]
    assert corpus.rows == (("a", "20.00", "19.00", "-5.0%", "17.0 to 22.0", "15.00", "-25.0%", "12", "14"),)
    assert each.rows == (("a", "0.650", "0.700", "-", "0.130", "0.100", "0.050", "91.0", "-"),)
    assert "90% interval" in corpus.note
    assert all_tables(made_study("a"))["estimates"] == []  # nothing known, nothing shown


def test_tables_of_missing_words_and_whole_utterances_by_hand() -> None:
    study = made_study("a", "b")  # nothing is known of b
    study["recognizers"]["a"] |= {
        "gaps": {
            "k_best": {"auc": 0.75}, "posterior": {"auc": 0.8, "nce": -2.0}, "confidence": {"auc": 0.9, "nce": 0.3},
            "calibrated": {"rate": 0.015, "mean": 0.0175, "auc": 0.92, "nce": 0.4, "ece": 0.002, "brier": 0.01},
        },
        "whole_utterances": {
            "mean_confidence": {"auc": 0.81, "nce": -0.5}, "posterior": {"auc": 0.7}, "confidence": {"nce": 0.25},
            "calibrated": {"rate": 0.5, "mean": 0.52, "auc": 0.85, "nce": 0.35, "ece": 0.03, "brier": 0.15},
        },
    }  # fmt: skip
    study["joint_of_all"] = {"whole_utterances": {"rate": 0.6, "mean": 0.59, "auc": 0.87}}
    missing, whole = beyond_words_tables(study)
    assert [dict(zip(missing.columns, row, strict=True)) for row in missing.rows] == [{
        "recognizer": "a", "are": "1.50", "said": "1.75", "AUC k-best": "0.750", "AUC post.": "0.800", "AUC": "0.920",
        "NCE raw": "0.300", "NCE": "0.400", "ECE": "0.002",
    }]  # fmt: skip
    *own, joint = whole.rows
    assert [dict(zip(whole.columns, row, strict=True)) for row in own] == [{
        "recognizer": "a", "are": "50.00", "said": "52.00", "AUC mean": "0.810", "AUC post.": "0.700", "AUC": "0.850",
        "NCE mean": "-0.500", "NCE raw": "0.250", "NCE": "0.350", "ECE": "0.030", "Brier": "0.150",
    }]  # fmt: skip
    assert joint == ("joint network of all", "60.00", "59.00", "-", "-", "0.870", *["-"] * 5)


def test_table_of_combination_by_hand() -> None:
    raw, joint, best, oracle = combination_table(made_study("a")).rows
    assert raw == ("largest mean confidence", "16.00", "3.00", "0", "1", "1", "2/0/0", "25.00")
    assert joint == ("joint network", "15.00", "3.00", "1", "0", "1", "1/0/1", "50.00")
    assert best[1] == "15.00"
    assert oracle[1] == "7.00"


def test_table_of_combination_against_rover_by_hand() -> None:
    study = made_study("a")
    for each, rate in zip(study["subsets"], (0.2, 0.1), strict=True):
        each["rover"] = rate
    study |= counts_against(study["subsets"], "best_member")
    study["against_one_best"] = counts_against(study["subsets"], "best_member_one_best")
    study["against_rover"] = counts_against(study["subsets"], "rover")
    study["spread"]["rover"], study["none_worse"]["rover"] = study["spread"]["raw"], 1.0
    wide = combination_table(study, wide=True)
    assert {row[0]: row[wide.columns.index("vs ROVER")] for row in wide.rows} == {
        "largest mean confidence": "0/1/1", "ROVER": "-", "joint network": "1/0/1", "best member, own model": "-",
        "best output of each utterance": "-",
    }  # fmt: skip
    assert "vs ROVER: against ROVER" in wide.note
    assert {len(row) for row in wide.rows} == {len(wide.columns)}
    assert "vs ROVER" not in combination_table(study).columns  # there is no room on a terminal
    assert "vs ROVER" in results_markdown(study)


def test_table_of_combination_with_spellings_equated() -> None:
    study = made_study("a")
    assert not any("equated" in table.title for table in all_tables(study)["combination"])
    study["lenient"] = made_study("a") | {"better": {"raw": 2, "joint": 1}}
    plain, equated = all_tables(study)["combination"][:2]
    assert equated.title == "Table 3: combination, spellings equated"
    assert [row[3] for row in plain.rows[:2]] == ["0", "1"]
    assert [row[3] for row in equated.rows[:2]] == ["2", "1"]


def test_where_the_paper_s_system_differs_is_told() -> None:
    study = made_study("a")
    kinds: dict[str, Any] = {kind: {} for kind in ("posterior", "confidence", "calibrated")}
    study["recognizers"]["a"]["paper"] = {"arcs_paper": kinds, "output": kinds, "wer": {}}
    assert all(each in results_markdown(study) for each in DIFFERENCES)


def test_many_subsets_are_shown_by_size() -> None:
    study = made_study("a")
    one = study["subsets"][0]
    study["subsets"] = [one] * 50 + [{**one, "members": ["a", "b", "c"], "joint": 0.1}]
    table = all_tables(study)["combination"][1]
    assert [row[:2] for row in table.rows] == [("2", "50"), ("3", "1")]
    assert dict(zip(table.columns, table.rows[1], strict=True))["joint"] == "10.00"


def test_text_has_whole_tables_whatever_names_say() -> None:
    text = results_markdown(made_study("a|b", "c\nd"))
    assert "a\\|b" in text
    assert "c d" in text
    assert "took 1.5 minutes" in text
    for block in text.split("\n\n"):
        rows = [line.replace("\\|", "") for line in block.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1


def test_speakers_that_were_seen_are_told() -> None:
    assert remarks(made_study("a")) == []
    assert "7 of them" in remarks(made_study("a", seen=7))[0]
    assert "no test" in results_markdown(made_study("a", seen=7))


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
