"""GLM: rules, contexts, alternatives and settings, as NIST's csrfilt applies them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wordtrust.base.errors import InputError
from wordtrust.formats.references import read_references
from wordtrust.formats.references.glm import Glm, read_glm

RULES = """;; rules of a test
* name "test.glm"
* copy_no_hit = 'T'
AIR LINES => AIRLINES ;; one word
CANCELLED => CANCELED
[  ] => [ ]
[HE'S] => [{HE IS / HE HAS}] / [ ] __ [ ]
[UH] => [%HESITATION] / [ ] __ [ ]
Falkner => Faulkner / [William ] __
/SLASH => SLASH
;; INPUT_DEPENDENT_APPLICATION = "ctm|hyp"
[GONNA] => [{GOING TO / GONNA}] / [ ] __ [ ]
;; INPUT_DEPENDENT_APPLICATION = "stm"
[GONNA] => [GOING TO] / [ ] __ [ ]
"""


@pytest.fixture
def glm(tmp_path: Path) -> Glm:
    (tmp_path / "test.glm").write_text(RULES)
    return read_glm(tmp_path / "test.glm")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("the air lines cancelled", ["THE", "AIRLINES", "CANCELED"]),
        ("he's there", [[["HE", "IS"], ["HE", "HAS"]], "THERE"]),
        ("she's the uhlan", ["SHE'S", "THE", "UHLAN"]),  # the context keeps rules off parts of words
        ("uh uh-huh th- (uh)", ["%HESITATION", "UH", "HUH", "TH-", "(%HESITATION)"]),
        ("william falkner falkner", ["WILLIAM", "FAULKNER", "FALKNER"]),
        ("/slash", ["SLASH"]),
        ("gonna", ["GOING", "TO"]),
        ("(you gonna)", ["(YOU)", "(GOING)", "(TO)"]),
    ],
)
def test_references(glm: Glm, text: str, parts: list[object]) -> None:
    assert glm.reference(text) == parts


def test_hypotheses_have_rules_of_their_own(glm: Glm) -> None:
    assert glm.hypothesis("gonna") == [[["GOING", "TO"], ["GONNA"]]]
    assert glm.hypothesis("X-ray") == ["X", "RAY"]
    assert glm.hypothesis("uh") == ["%HESITATION"]
    assert glm.hypothesis("{x") == ["{X"]
    assert glm.hypothesis("}") == ["}"]


def test_the_first_line_may_be_a_rule(tmp_path: Path) -> None:
    (tmp_path / "own.glm").write_text("colour => color ;; American\n;; grey stays\n")
    assert read_glm(tmp_path / "own.glm").reference("a grey colour") == ["A", "GREY", "COLOR"]


def test_what_no_rule_fits_may_be_dropped(tmp_path: Path) -> None:
    (tmp_path / "few.glm").write_text("# few\n* COPY_NO_HIT = 'F'\n[A] => [B]\n")
    assert read_glm(tmp_path / "few.glm").reference("a c a") == ["BB"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (";; x\nNO ARROW\n", "line 2: no rule: 'NO ARROW'"),
        (";; x\n => B\n", "line 2: the rule rewrites nothing"),
        (';; x\n;; INPUT_DEPENDENT_APPLICATION = "(stm"\nA => B\n', "the rules are limited by"),
        (
            f';; x\n;; INPUT_DEPENDENT_APPLICATION = "{"(" * 30}.*{")*" * 30}x"\nA => B\n',
            "the rules are limited by",  # and not tried: that would take forever
        ),
        (f';; x\n;; INPUT_DEPENDENT_APPLICATION = "{"(a?|s?|t?)" * 15}x"\nA => B\n', "the rules are limited by"),
        (';; x\n;; INPUT_DEPENDENT_APPLICATION = "{9}"\nA => B\n', "the rules are limited by"),
    ],
)
def test_bad_rules(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / "bad.glm").write_text(content)
    with pytest.raises(InputError, match=told.replace("(", r"\(").replace("{", r"\{")):
        read_glm(tmp_path / "bad.glm")


def test_rules_reach_every_kind_of_reference(tmp_path: Path, glm: Glm) -> None:
    (tmp_path / "text").write_text("u1 he's on air lines\n")
    reference = read_references(tmp_path / "text", glm=glm)["u1"]
    assert reference.words == ("he", "is", "on", "airlines")
    assert reference.segments[0].parts[0] == [["HE", "IS"], ["HE", "HAS"]]


def test_alternatives_that_do_not_fit_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.glm").write_text(";;\nA => { B\n")
    (tmp_path / "text").write_text("u1 a\n")
    with pytest.raises(InputError, match=r"line 1, utterance u1: there is a \{ without a \}"):
        read_references(tmp_path / "text", glm=read_glm(tmp_path / "bad.glm"))


@pytest.mark.parametrize(
    ("pattern", "sides"),
    [
        ("stm", "r"), ("ctm", "h"), ("tm", "rh"), ("ref|hyp", "rh"), ("(ctm|hyp)", "h"), ("^stm$", "r"),
        ("^(REF)$", "r"), (".*", "rh"), ("(.*ctm.*)", "h"), ("", "rh"), ("rttm", ""), ("^ctm$|^hyp$", "h"),
    ],
)  # fmt: skip
def test_which_side_rules_are_limited_to(tmp_path: Path, pattern: str, sides: str) -> None:
    """What Python's own search in the names says."""
    names = {"r": ("stm", "ref"), "h": ("ctm", "hyp")}
    assert sides == "".join(k for k, own in names.items() if any(re.search(pattern.lower(), name) for name in own))
    (tmp_path / "x.glm").write_text(f';; x\n;; INPUT_DEPENDENT_APPLICATION = "{pattern}"\n[A] => [B]\n')
    glm = read_glm(tmp_path / "x.glm")
    assert (glm.reference("a") == ["B"], glm.hypothesis("a") == ["B"]) == ("r" in sides, "h" in sides)
