"""Reviewing on the page: the script says the same as Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.browser import Visit
from tests.helpers.command_line import run
from tests.helpers.html_page import page_data
from tests.helpers.transcripts import talk
from wordtrust.transcripts.page.script import objects_script
from wordtrust.transcripts.plan import Plan
from wordtrust.transcripts.review.page_plan import page_plan
from wordtrust.transcripts.review.promise import Belief, Evidence, most_errors
from wordtrust.transcripts.transcript import Transcript, Transcripts

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_the_promise_of_the_script_is_that_of_python(visit: Visit) -> None:
    page, random = visit("about:blank"), np.random.default_rng(0)
    size = 400
    expected, found = random.gamma(0.3, 60, size), random.integers(0, 60, size) * random.integers(0, 30, size)
    left = random.gamma(0.3, 900, size) * random.integers(0, 2, size)
    most = random.integers(-1, 3, size) * random.integers(0, 700, size)
    cases = [list(map(float, case)) for case in zip(expected, found, left, most, strict=True)]
    page.add_script_tag(content=objects_script())
    computed = page.evaluate(
        """([plan, cases]) => cases.map(([expected, found, left, most]) =>
             Promised.promise(Promised.belief(plan, { expected, found }), left, most))""",
        [page_plan([]), cases],
    )
    for (e, k, rest, n), value in zip(cases, computed, strict=True):
        assert value == pytest.approx(Belief.after(Evidence(e, k)).promise(rest, int(n)), abs=1e-9)
    words = [0, 49, 50, 100, 150, 1000, 12345]
    computed = page.evaluate("(words) => words.map((count) => Promised.mostErrors(0.29, count))", words)
    assert computed == [most_errors(0.29, count) for count in words]


def test_the_script_needs_as_many_stretches_as_python(visit: Visit) -> None:
    page, plan = visit("about:blank"), wt.plan(talk(600), target=0.03)
    page.add_script_tag(content=objects_script())
    left, heard, _ = plan._after
    stretches = [
        {"errors": -errors, "chance": chance} for errors, chance in zip(np.diff(left), np.diff(heard), strict=True)
    ]
    given = [page_plan([]), stretches, float(left[0]), plan.allowed]
    script = "([plan, rows, left, most]) => Promised.needed(plan, { expected: 0, found: 0 }, left, most, rows)"
    assert page.evaluate(script, given) == plan.needed > 0


def test_the_page_has_the_stretches_of_the_plan(tmp_path: Path) -> None:
    given, plan = talk(300), wt.plan(talk(300))
    given.save(tmp_path / "talk.html")
    rows = page_data((tmp_path / "talk.html").read_text("utf-8"))["plan"]["stretches"]
    assert len(rows) == len(plan.order)
    for index, (first_segment, first, last_segment, last, start, end) in enumerate(rows):
        stretch = plan.stretch(index)
        words = [word for each in given[first_segment : last_segment + 1] for word in each]
        shown = words[first : len(words) - len(given[last_segment]) + last + 1]
        assert " ".join(word.word for word in shown) == stretch.text
        assert (start, end) == pytest.approx((stretch.start, stretch.end), abs=1e-3)
    Transcripts(given, about={"calibrated": False}).save(tmp_path / "other.html")
    assert "plan" not in page_data((tmp_path / "other.html").read_text("utf-8"))


def told(page: Page) -> str:
    return page.locator("#review-state").inner_text()


def planned(page: Page, folder: Path, target: float = 0.02) -> Plan:
    """The plan that Python makes of what the page exports."""
    (folder / "export.json").write_text(page.evaluate("Exports.json()"), "utf-8")
    return wt.plan(folder / "export.json", target=target)


def test_review_to_a_target(visit: Visit, tmp_path: Path) -> None:
    talk(120).save(tmp_path / "talk.html")
    page = visit(tmp_path / "talk.html")
    page.locator("#review-target").fill("8")
    assert "wrong or missing (9 of 120 words)" in told(page)
    begun = told(page)
    assert f"{int(1000 * wt.plan(talk(120), target=0.08).promise) / 10:g}% sure" in begun
    page.keyboard.press("Enter")
    assert page.locator(".w.stretch").count() > 0
    words = page.locator(".w.stretch").all_inner_texts()
    assert " ".join(words) == wt.plan(talk(120), target=0.08).stretch(0).text
    verdicts = 0
    while "Enough" not in told(page):
        before = page.evaluate("Review.state()")
        if verdicts == 1:  # by mouse
            page.locator("#review-right").click()
        else:
            page.keyboard.press("a")
        verdicts += 1
        now = page.evaluate("Review.state()")
        assert now["promise"] > before["promise"]
        if verdicts in (1, 3):
            plan = planned(page, tmp_path, target=0.08)
            assert now["promise"] == pytest.approx(plan.promise, abs=1e-4)  # files have six decimals
            assert now["evidence"]["expected"] == pytest.approx(plan.evidence.expected, abs=1e-4)
        assert verdicts < 40
    assert verdicts <= len(wt.plan(talk(120)).order)
    assert "You can stop here" in page.locator("#notice").inner_text()
    assert planned(page, tmp_path, target=0.08).is_enough
    page.keyboard.press("u")
    assert "Enough" not in told(page)
    for _ in range(verdicts - 1):
        page.keyboard.press("u")
    assert told(page) == begun
    page.keyboard.press("Shift+U")
    kept = told(page)
    page.reload()
    assert page.locator("#review-target").input_value() == "8"
    assert page.locator(".w.checked").count() > 0
    assert told(page) == kept != begun
    page.locator("#review-target").fill("")
    assert told(page) == kept


def test_errors_that_are_found_lower_the_promise(visit: Visit, tmp_path: Path) -> None:
    words = [
        replace(word, confidence=0.5 if 3 <= index < 8 else 0.99, missing_before=0.02)
        for index, word in enumerate(talk(20).words)
    ]
    Transcripts([Transcript("talk", tuple(words[:10])), Transcript("talk", tuple(words[10:]))]).save(
        tmp_path / "a.html"
    )
    page = visit(tmp_path / "a.html")
    page.keyboard.press("g")
    stretch = page.locator(".w.stretch")
    assert stretch.all_inner_texts() == [f"w{index}" for index in range(2, 9)]  # with what is heard before and after
    assert page.locator("#review-verdict").inner_text() == "Right as it is"
    stretch.nth(1).click()
    page.keyboard.press("Enter")
    page.keyboard.type("another")
    page.keyboard.press("Enter")
    assert page.locator("#review-verdict").inner_text() == "Corrected"
    page.locator("[data-id='s0.5']").click()
    page.keyboard.press("Delete")
    page.locator("[data-id='s0.6']").click()
    page.keyboard.press("i")
    page.keyboard.type("new words")
    page.keyboard.press("Enter")
    assert stretch.all_inner_texts() == ["w2", "another", "w4", "w6", "new", "words", "w7", "w8"]
    page.keyboard.press("a")
    found = page.evaluate("Review.state().evidence")
    assert found["found"] == 3  # one corrected, one deleted, and two words in one gap
    assert found["expected"] == pytest.approx(5 * 0.5 + 2 * 0.01 + 6 * 0.02)
    plan = planned(page, tmp_path)
    assert plan.evidence == pytest.approx((found["expected"], 3), abs=1e-5)
    assert page.evaluate("Review.state().promise") == pytest.approx(plan.promise, abs=1e-4)
    for _ in range(4):
        page.keyboard.press("u")
    assert page.evaluate("Review.state().evidence") == {"expected": 0, "found": 0}


def test_a_stretch_can_wait(visit: Visit, tmp_path: Path) -> None:
    talk(30).save(tmp_path / "talk.html")
    page = visit(tmp_path / "talk.html")
    page.locator("#review-next").click()
    first = page.evaluate("Review.current.index")
    page.keyboard.press("l")
    assert page.evaluate("Review.current.index") != first
    while page.evaluate("Review.current && Review.current.index") not in (None, first):
        page.keyboard.press("a")
    assert page.evaluate("Review.current?.index ?? -1") in (first, -1)


def test_pages_of_other_programs_words_promise_nothing(visit: Visit, tmp_path: Path) -> None:
    Transcripts(talk(20), about={"calibrated": False}).save(tmp_path / "talk.html")
    page = visit(tmp_path / "talk.html")
    assert not page.locator("#review").is_visible()
    page.keyboard.press("g")
    assert page.locator(".w.stretch").count() == 0


def test_a_page_that_was_handed_out_comes_to_its_end(visit: Visit, tmp_path: Path) -> None:
    talk(60).save(tmp_path / "talk.json")
    run("plan", tmp_path / "talk.json", "--target", "0", "--reviewers", "2", "--out", tmp_path / "pages")
    page = visit(tmp_path / "pages" / "reviewer-1.html")
    page.keyboard.press("g")
    for _ in range(page.evaluate("Transcript.data.plan.stretches.length")):
        page.keyboard.press("a")
    assert page.evaluate("Review.state().next") is None
    assert "all stretches of this page are heard" in told(page)


def test_a_segment_whose_words_are_all_deleted_is_done(visit: Visit, tmp_path: Path) -> None:
    unsure = tuple(replace(word, confidence=0.3) for word in talk(4).words)
    invented, said = Transcript("talk", unsure, missing_end=0.3), Transcript("talk", talk(12).words[4:])
    Transcripts([invented, said]).save(tmp_path / "a.html")  # the end of the first may lack words, and nobody can say
    page = visit(tmp_path / "a.html")
    page.keyboard.press("g")
    page.evaluate("Editing.remove(...[0, -1].map((place) => Transcript.segments[0].words.at(place).id))")
    assert page.evaluate("Transcript.segments[0].words.length") == 0
    page.keyboard.press("g")
    for _ in range(page.evaluate("Transcript.data.plan.stretches.length")):
        page.keyboard.press("a")
    assert page.evaluate("Review.state().next") is None
