"""The report's page: what it says, that nothing can get into it, and what it costs to lack its libraries."""

from __future__ import annotations

import base64
import re
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.html_page import HtmlPage
from tests.helpers.transcripts import NASTY, hostile, transcripts
from wordtrust.base.errors import OptionError
from wordtrust.base.installation import install_command
from wordtrust.combination.subset_comparison import SubsetComparison, SubsetRates
from wordtrust.evaluation.evaluation import Evaluation
from wordtrust.evaluation.metrics import Scores, SpeakerErrors
from wordtrust.networks.align import align_all
from wordtrust.report import ExampleUtterance, write_report
from wordtrust.report.comparison_charts import subset_charts, training_charts
from wordtrust.report.summary import beyond_words_table, subset_table
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, Word

pytestmark = pytest.mark.slow

pytest.importorskip("jinja2", reason="needs the extra `report`")
INJECTION = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def assert_harmless(page: HtmlPage) -> None:
    """One style and one script, both named by the policy; nothing that acts, loads or leads anywhere."""
    tags = [tag for tag, _ in page.elements]
    assert (tags.count("script"), tags.count("style"), tags.count("title") >= 1) == (1, 1, True)
    assert not {"img", "iframe", "object", "embed", "link", "base", "form", "a", "use", "image"} & set(tags)
    for _, attributes in page.elements:
        assert not {"src", "href", "style", "xlink:href", "action"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    policy = next(each["content"] for each in page.attributes("meta") if "http-equiv" in each)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        digest = base64.b64encode(sha256(page.inside[kind].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "url(" not in page.inside["style"]
    assert "@import" not in page.inside["style"]


def evaluation(words: int = 400) -> Evaluation:
    """Ten speakers; the output makes 40 errors in 400 words, the 1-best 60."""
    random = np.random.default_rng(0)
    speakers = [f"speaker {n % 10}" for n in range(words)]

    def errors(every: int) -> SpeakerErrors:
        said = [["x" if n % every == 0 else "a"] for n in range(words)]
        return SpeakerErrors.of(align_all([["a"]] * words, said), speakers)

    score = random.random(words)
    correct = random.random(words) < score
    scores = {
        ("output", "posterior"): Scores.of(np.sqrt(score), correct, speakers),
        ("output", "confidence"): Scores.of(score, correct, speakers),
        ("one_best", "confidence"): Scores.of(score, correct, speakers),
    }
    return Evaluation(words, {"one_best": errors(5), "best_confidence": errors(10), "oracle": errors(20)}, scores)


def written(path: Path, found: Evaluation | None = None, **more: Any) -> HtmlPage:
    write_report(path, evaluation() if found is None else found, **({"title": "A report"} | more))
    return HtmlPage(path.read_text("utf-8"))


def test_the_summary_says_what_was_found(tmp_path: Path) -> None:
    page = written(tmp_path / "report.html", about={"recognizer": "whisper"})
    assert_harmless(page)
    assert "In 400 utterances of 10 speakers, 400 words were said." in page.text
    assert "The output has 40 errors: a word error rate of 10.00%" in page.text
    assert "That is 40 fewer (50.0%) than the recognizer's own 1-best" in page.text
    assert "fewer than 50% of the errors" in page.text
    assert "recognizer whisper" in page.text
    assert "1-best as given" in page.text


def test_operating_points_by_hand(tmp_path: Path) -> None:
    """49 of the 50 words from 0.9 on are right; 10 of the 20 wrong words are among the lowest tenth of 100."""
    score = np.array([0.9] * 50 + [0.5] * 40 + [0.1] * 10)
    correct = np.array([True] * 49 + [False] + [True] * 31 + [False] * 9 + [False] * 10)
    scores = {("output", "calibrated"): Scores.of(score, correct, [f"s{n % 5}" for n in range(100)])}
    page = written(tmp_path / "report.html", Evaluation(1, {}, scores))
    assert "Accept words from 0.900 on: 98.0% of these are right, and they are 50% of all words." in page.text
    assert "95% of the wrong words are kept out." in page.text
    assert "Checking the least trusted 10% of the words finds 50% of the wrong ones." in page.text
    assert "Of the 100 words of the output, 80.0% are right." in page.text
    assert "Is the calibrated confidence true?" in page.text


def test_missing_words_and_whole_utterances_by_hand(tmp_path: Path) -> None:
    """Words are missing in 4 of 20 gaps; 4 are marked, 3 of them rightly. 3 of 4 utterances are right."""
    gaps = Scores.of([0.5] * 4 + [0.1] * 16, [True] * 3 + [False] + [True] + [False] * 15)
    utterances = Scores.of([0.9, 0.8, 0.7, 0.2], [True, True, False, True])
    beyond = {("gaps", "calibrated"): gaps, ("whole_utterances", "calibrated"): utterances,
              ("whole_utterances", "mean_confidence"): utterances}  # fmt: skip
    scores = {("output", "calibrated"): Scores.of([0.2, 0.9, 0.9], [True, True, False])}
    found = Evaluation(4, {}, scores, beyond)
    page = written(tmp_path / "report.html", found)
    assert "Words are missing in 4 of 20 gaps between words." in page.text
    assert "finds 75% of them, and 75% of the marks are right." in page.text
    assert "75.0% of the utterances have no error at all; their confidences say 65.0%." in page.text
    assert "Missing words and whole utterances" in page.text
    first, second, third = beyond_words_table(found).rows
    # of 64 pairs of a gap that lacks words and one that does not, 45 are in order, and 18 are ties
    assert first == ("gaps with missing words", "calibrated confidence", "20", "20.00", "18.00", "0.844",
                     "0.335", "0.080", "0.098")  # fmt: skip
    assert second[:6] == ("utterances all right", "calibrated confidence", "4", "75.00", "65.00", "0.667")
    assert third[1] == "mean of the words"
    assert float(second[8]) == pytest.approx((0.1**2 + 0.2**2 + 0.7**2 + 0.8**2) / 4, abs=5e-4)


def test_no_threshold_reaches_the_precision(tmp_path: Path) -> None:
    scores = {("output", "confidence"): Scores.of([0.2, 0.9, 0.9], [True, True, False])}
    page = written(tmp_path / "report.html", Evaluation(1, {}, scores))
    assert "No threshold gives 98% right words." in page.text


def test_more_errors_are_called_more(tmp_path: Path) -> None:
    found = evaluation()
    found.errors["best_confidence"], found.errors["one_best"] = (
        found.errors["one_best"],
        found.errors["best_confidence"],
    )
    assert "That is 40 more (100.0%) than the recognizer's own 1-best" in written(tmp_path / "r.html", found).text


def test_same_input_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        written(tmp_path / f"{name}.html", log=LOG, comparison=COMPARISON)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", "two.html"]


def test_logits_have_no_reliability_diagram(tmp_path: Path) -> None:
    logits = Scores.of([-2.0, 3.0, 5.0, 1.0], [False, True, True, False])
    page = written(tmp_path / "report.html", Evaluation(1, {}, {("output", "confidence"): logits}))
    assert "they are not probabilities" in page.text
    assert "Is the confidence true?" not in page.text
    assert "Detection error trade-off" in page.text


@pytest.mark.parametrize("correct", [[True, True], [False, False], []])
def test_one_sided_and_empty_populations(tmp_path: Path, correct: list[bool]) -> None:
    scores = Scores.of([0.5, 1.0][: len(correct)], correct)
    page = written(tmp_path / "report.html", Evaluation(1, {}, {("output", "confidence"): scores}))
    assert "Detection error trade-off" not in page.text
    assert_harmless(page)


def test_nothing_to_report(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="nothing to report"):
        written(tmp_path / "report.html", Evaluation())
    assert not list(tmp_path.iterdir())


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be written"):
        written(tmp_path / "none" / "report.html")


@pytest.mark.parametrize(("library", "more"), [("jinja2", {}), ("matplotlib", {"figures": Path("figures")})])
def test_missing_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, more: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        OptionError,
        match=re.escape(f"need{'s' if library == 'jinja2' else ''} {library}: {install_command('report')}"),
    ):
        written(tmp_path / "report.html", **more)
    assert not list(tmp_path.iterdir())


def labelled(transcript: Transcript, reference: list[str]) -> ExampleUtterance:
    words = len(transcript.words)
    places = tuple(place if place < len(reference) else -1 for place in range(words))
    return ExampleUtterance(transcript, tuple(reference), tuple(place % 2 == 0 for place in range(words)), places)


TINY = Evaluation(1, {}, {("output", INJECTION): Scores.of([0.1, 0.9, 0.4], [False, True, True], NASTY[:3])})


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(transcripts(), min_size=1, max_size=3), hostile, st.lists(hostile, max_size=4))
def test_no_text_gets_out_of_its_place(
    tmp_path: Path, shown: list[Transcript], title: str, reference: list[str]
) -> None:
    examples = [labelled(each, reference) for each in shown]
    comparison = replace(
        COMPARISON, subsets=(SubsetRates((title,), 0.1, None, {"raw": 0.1, "calibrated": 0.2}, 0.1),)
    )
    page = written(
        tmp_path / "r.html",
        Evaluation(1),
        title=title,
        about={title: title},
        examples=examples,
        comparison=comparison,
    )
    assert_harmless(page)
    assert not set("\u202e\u2066\u2028\x00\x1b") & set(page.text)


@pytest.mark.parametrize("text", [INJECTION, "</title>", "</style>", "</script>", "<!--", "{{ 7 * 7 }}", "&lt;b&gt;"])
def test_an_attack_is_shown_as_it_is(tmp_path: Path, text: str) -> None:
    word = Word(text, text, 0.0, 1.0, 0.3, (Alternative(text, 0.1),))
    example = ExampleUtterance(Transcript(text, (word,)), (text,), (False,), (0,))
    page = written(tmp_path / "r.html", TINY, title=text, about={text: text}, examples=[example])
    assert_harmless(page)
    assert page.text.count(text) >= 7  # title twice, about twice, utterance, word, reference, alternative


def test_a_long_word_does_not_make_a_large_page(tmp_path: Path) -> None:

    example = ExampleUtterance(
        Transcript("u" * 10**6, (Word("w" * 10**6, "w", 0, 1, 0.5),)), ("r" * 10**6,), (False,), (0,)
    )
    written(tmp_path / "r.html", TINY, title="t" * 10**6, about={"a" * 10**6: "b" * 10**6}, examples=[example])
    assert (tmp_path / "r.html").stat().st_size < 100_000


LOG = [
    {"epoch": 1, "loss": 0.5, "dev_loss": 0.4, "dev_eer": 0.1, "dev_nce": 0.5, "best": True},
    {"epoch": 2, "loss": 0.3, "dev_loss": 0.3, "dev_eer": 0.08, "dev_nce": 0.6, "best": True},
    {"epoch": 3, "loss": 0.2, "dev_loss": 0.35, "dev_eer": 0.09, "dev_nce": 0.55, "best": False},
]
COMPARISON = SubsetComparison(
    utterances=1,
    words=100,
    systems={"a": 0.1, "b": 0.2, "c": 0.2},
    subsets=(
        SubsetRates(("a", "b"), 0.10, None, {"raw": 0.12, "calibrated": 0.09, "joint": 0.08}, 0.05),
        SubsetRates(("a", "c"), 0.10, None, {"raw": 0.10, "calibrated": 0.10, "joint": 0.09}, 0.05),
        SubsetRates(("b", "c"), 0.20, None, {"raw": 0.25, "calibrated": 0.22, "joint": 0.19}, 0.05),
    ),
    better={"raw": 0, "calibrated": 1, "joint": 3},
    equal={"raw": 1, "calibrated": 1, "joint": 0},
    worse={"raw": 2, "calibrated": 1, "joint": 0},
    rate_statistics={},
    none_worse={},
)


def test_the_training_curve_marks_the_model_that_was_kept(tmp_path: Path) -> None:
    page = written(tmp_path / "r.html", Evaluation(), log=LOG)
    assert "Loss while training" in page.text
    assert "8%" in page.text
    loss, eer, nce = training_charts(LOG)
    assert (loss.name, eer.name, nce.name) == ("training-loss", "training-eer", "training-nce")
    assert [mark.x.tolist() for mark in eer.marks if type(mark).__name__ == "Dots"] == [[2.0]]  # type: ignore[union-attr]


def test_subsets_are_counted(tmp_path: Path) -> None:
    assert subset_table(COMPARISON).rows == (
        ("by raw confidence", "0", "1", "2"),
        ("by calibrated confidence", "1", "1", "1"),
        ("jointly", "3", "0", "0"),
    )
    names = [chart.name for chart in subset_charts(COMPARISON.subsets)]
    assert names[0] == "subsets-raw-calibrated"
    assert "subsets-best_member-rover" not in names  # not measured, so not drawn
    page = written(tmp_path / "r.html", Evaluation(), comparison=COMPARISON)
    assert "1 of 3 below the line" not in page.text.split("Calibrated against raw")[0]
    assert "2 of 3 below the line" in page.text.split("Calibrated against raw")[1]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, "1", None, [], True, 1e300])
def test_what_is_no_number_is_left_out(tmp_path: Path, value: object) -> None:
    log: list[dict[str, Any]] = [*LOG, {"epoch": 4, "loss": value}, {"epoch": value, "loss": 0.1, "best": True}]
    assert training_charts(log)[0].marks[0].x.tolist() == [1, 2, 3]  # type: ignore[union-attr]
    written(tmp_path / "r.html", Evaluation(), log=log)


def test_figures_for_papers(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    kind = "../$x^$<script>"
    scores = {("output", kind): Scores.of([0.1, 0.9, 0.4, 0.8], [True] * 4, list("abcd"))}
    for name in ("one", "two"):
        written(tmp_path / "r.html", Evaluation(1, {}, scores), figures=tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == [
        f"output-{name}-____x___script_.{ending}"
        for name in ("histogram", "reliability")
        for ending in ("png", "svg")
    ]
    for file in files:
        data = (tmp_path / "one" / file).read_bytes()
        assert data.startswith(b"\x89PNG" if file.endswith("png") else b"<?xml")
        assert b"<script" not in data
        assert data == (tmp_path / "two" / file).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "r.html", "two"]


def test_many_words_make_a_small_page(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    score = random.random(100_000)
    speakers = [f"s{n % 300}" for n in range(100_000)]
    scores = {("arcs", "confidence"): Scores.of(score, random.random(100_000) < score, speakers)}
    written(tmp_path / "r.html", Evaluation(10_000, {}, scores))
    assert (tmp_path / "r.html").stat().st_size < 200_000


def test_both_themes_name_the_same_colours(tmp_path: Path) -> None:
    style = written(tmp_path / "r.html").inside["style"]
    light, dark, chosen = (set(re.findall(r"--[a-z_]+(?=:)", block)) for block in style.splitlines()[:3])
    assert light == dark == chosen
    assert set(re.findall(r"var\((--[a-z_]+)\)", style)) <= light | {"--c", "--tint"}
