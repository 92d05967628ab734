"""Reviewing on the page: the script says the same as Python."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.browser import Visit
from tests.helpers.html_page import page_data
from tests.helpers.transcripts import talk
from wordtrust.transcripts.page.script import objects_script
from wordtrust.transcripts.review.page_plan import page_plan
from wordtrust.transcripts.review.promise import Belief, Evidence, most_errors
from wordtrust.transcripts.transcript import Transcripts


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
