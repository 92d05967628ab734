"""Plans: when to stop, how the work is shared, what files and people see."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust as wt
from tests.helpers.command_line import refused, run
from tests.helpers.html_page import page_data
from tests.helpers.transcripts import talk
from wordtrust.formats.transcript.records import Reviewed
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Word


def test_a_plan_ends_where_the_promise_is_enough() -> None:
    plan = wt.plan(talk(400), target=0.05)
    assert not plan.is_enough
    assert 0 < plan.needed < len(plan.order)
    assert plan.minutes == pytest.approx(sum(each.end - each.start for each in plan.stretches) / 60)
    low, high = plan.minutes_likely
    assert low < plan.minutes < high
    assert plan.minutes < plan.minutes_through == pytest.approx(399.8 / 2 / 60, abs=0.01)
    assert plan.allowed == 20
    assert plan.expected_errors == pytest.approx(sum(1 - w.confidence for w in talk(400).words) * 1.135, rel=0.03)


@given(st.integers(0, 5), st.floats(0.02, 0.3))
@settings(max_examples=15)
def test_more_modest_targets_take_less(seed: int, target: float) -> None:
    given_words = talk(200, 0.85, seed=seed)
    plan = wt.plan(given_words, target=target)
    assert wt.plan(given_words, target=target + 0.05).minutes <= plan.minutes
    assert wt.plan(given_words, target=target, sure=0.8).minutes <= plan.minutes
    assert wt.plan(given_words, target=target + 0.05).promise >= plan.promise


def test_sure_words_need_nobody_and_zero_errors_need_everything() -> None:
    sure = [
        replace(
            each, words=tuple(replace(word, confidence=1.0, missing_before=0.0) for word in each), missing_end=0.0
        )
        for each in talk(50)
    ]
    assert wt.plan(sure).is_enough
    assert wt.plan(sure).stretches == []
    nothing_wrong = wt.plan(talk(60), target=0.0, sure=0.9999)
    assert nothing_wrong.needed == len(nothing_wrong.order)


def test_reviewers_have_different_stretches_and_the_same_time() -> None:
    plan = wt.plan(talk(1000), reviewers=3)
    shares = plan.shares()
    assert sum(count for count, _ in shares) == plan.needed
    assert sum(minutes for _, minutes in shares) == pytest.approx(plan.minutes)
    longest = max(each.end - each.start for each in plan.stretches) / 60
    assert max(minutes for _, minutes in shares) - min(minutes for _, minutes in shares) <= longest
    assert {each.reviewer for each in plan.stretches} == {1, 2, 3}


def test_stretches_say_where_and_what() -> None:
    words = (
        Word("so", "so", 10.0, 10.2, 0.99),
        Word("it", "it", 10.2, 10.4, 0.2),
        Word("goes", "goes", 12.0, 12.4, 0.99),
    )
    plan = wt.plan([Transcript("first", ()), Transcript("talk", words, missing_end=0.0)], target=0.0)
    assert plan.stretches[0].utt == "talk"
    assert (plan.stretches[0].start, plan.stretches[0].end) == pytest.approx((9.7, 10.9))
    assert plan.stretches[0].text == "so it"
    assert plan.warnings == ("the transcript does not say where words are missing: only wrong words are counted",)


def test_large_files_are_planned_at_once() -> None:
    given_words = talk(20_000)
    wt.plan(talk(50)).to_dict()  # kernels
    began = time.process_time()
    wt.plan(given_words).to_dict()
    assert time.process_time() - began < 2


def test_the_verb(tmp_path: Path) -> None:
    talk(400).save(tmp_path / "talk.json")
    shown = run("plan", tmp_path / "talk.json", "--target", "0.01", "--reviewers", "2").stdout
    assert "400 words, 3.3 minutes" in shown
    assert "Reviewer 2:" in shown
    assert "... and" in shown
    record = json.loads(run("plan", tmp_path / "talk.json", "--target", "0.05", "--json").stdout)
    assert record == json.loads(json.dumps(wt.plan(tmp_path / "talk.json", target=0.05).to_dict()))
    assert record["stretches"][0]["file"] == str(tmp_path / "talk.json")
    assert len(record["reviewers"]) == 1
    assert "Enough" in run("plan", tmp_path / "talk.json", "--target", "0.5").stdout


def test_what_cannot_be_planned(tmp_path: Path) -> None:
    Transcripts(talk(20), about={"calibrated": False}).save(tmp_path / "talk.json")
    assert "Calibrate them" in refused("plan", tmp_path / "talk.json")
    with pytest.raises(wt.OptionError, match="no words"):
        wt.plan([Transcript("talk", ())])
    with pytest.raises(wt.OptionError, match="shares like"):
        wt.plan(talk(10), target=2)
    with pytest.raises(wt.OptionError, match="reviewers"):
        wt.plan(talk(10), reviewers=0)


def test_what_a_person_found_is_evidence_about_the_rest(tmp_path: Path) -> None:
    plans = []
    for name, review in (("none", None), ("right", Reviewed(6.0, 0)), ("wrong", Reviewed(6.0, 20))):
        first, *rest = talk(400)
        heard = tuple(replace(word, confidence=1.0, missing_before=0.0) for word in first)
        given = Transcripts([replace(first, words=heard, missing_end=0.0, review=review), *rest])
        for ending in ("json", "jsonl", "parquet"):
            given.save(tmp_path / f"{name}.{ending}")
            assert wt.read_transcripts(tmp_path / f"{name}.{ending}")[0].review == review
        plans.append(wt.plan(tmp_path / f"{name}.json", target=0.05))
        assert wt.plan(tmp_path / f"{name}.parquet", target=0.05).promise == pytest.approx(
            plans[-1].promise, abs=1e-3
        )
    none, right, wrong = plans
    assert (none.belief.factor, right.evidence) == (1.0, (6.0, 0))
    assert right.promise > none.promise > wrong.promise
    assert right.minutes < none.minutes < wrong.minutes
    assert right.expected_errors < none.expected_errors < wrong.expected_errors


def test_reviews_that_cannot_be(tmp_path: Path) -> None:
    talk(10).save(tmp_path / "talk.jsonl")
    line = json.loads((tmp_path / "talk.jsonl").read_text("utf-8"))
    for review in ({"expected": -1, "found": 0}, {"expected": 1, "found": 1e300}, {"expected": 1}, 7):
        (tmp_path / "talk.jsonl").write_text(json.dumps(line | {"review": review}) + "\n", "utf-8")
        assert "Traceback" not in refused("plan", tmp_path / "talk.jsonl")


def test_reviewers_get_pages_and_their_verdicts_come_together(tmp_path: Path) -> None:
    given = talk(300)
    given.save(tmp_path / "talk.json")
    shown = run("plan", tmp_path / "talk.json", "--target", "0.05", "--reviewers", "2", "--out", tmp_path / "pages")
    assert "pages: 2 pages" in shown.stderr
    assert "overwrite" in refused("plan", tmp_path / "talk.json", "--out", tmp_path / "pages")
    plan = wt.plan(given, target=0.05, reviewers=2)
    exports = []
    for reviewer in (1, 2):
        data = page_data((tmp_path / "pages" / f"reviewer-{reviewer}.html").read_text("utf-8"))
        assert data["plan"]["target"] == 0.05
        rows = data["plan"]["stretches"]
        assert len(rows) == plan.shares()[reviewer - 1][0]
        exports.append(tmp_path / f"{reviewer}.json")
        _heard(given, rows).save(exports[-1])
    both = wt.plan(tmp_path / "talk.json", target=0.05, verdicts=exports)
    assert both.is_enough
    assert both.evidence == pytest.approx((plan._after[1][plan.needed], 0), rel=0.05)
    one = run("plan", tmp_path / "talk.json", "--target", "0.05", "--verdicts", exports[0], "--json").stdout
    assert plan.promise < json.loads(one)["promise"] < both.promise
    talk(10, name="other").save(tmp_path / "other.json")
    assert "are about 'other'" in refused("plan", tmp_path / "talk.json", "--verdicts", tmp_path / "other.json")


def _heard(given: Transcripts, rows: list[list[float]]) -> Transcripts:
    """What the page exports after all words of these stretches were found right."""
    heard = set[tuple[int, int]]()
    for first_segment, first, last_segment, last, _, _ in rows:
        places = [(segment, word) for segment, each in enumerate(given) for word in range(len(each))]
        heard |= {place for place in places if (first_segment, first) <= place <= (last_segment, last)}
    made = []
    for number, segment in enumerate(given):
        mine = [word for index, word in enumerate(segment) if (number, index) in heard]
        expected = sum(1 - word.confidence + (word.missing_before or 0) for word in mine)
        words = [
            replace(word, confidence=1.0, checked=True) if (number, index) in heard else word
            for index, word in enumerate(segment)
        ]
        made.append(replace(segment, words=tuple(words), review=Reviewed(expected, 0) if mine else None))
    return Transcripts(made)
