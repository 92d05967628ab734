"""TRN: words without times, and how they are compared with references of the same kind."""

from __future__ import annotations

from pathlib import Path

import pytest

import wordtrust as wt
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.formats.references import read_references

REFERENCE = "so it is (ann-1)\nhm (ann-2)\n{ x-ray / x ray } (uh) the fine (bob-1)\n"


def test_words_last_a_second_each() -> None:
    first, empty, third = wt.read(SAMPLES / "trn/talk.trn")
    assert (first.utt, first.words, first.time.tolist()) == ("ann-1", ("so", "it", "is"), [0, 1, 2, 3])
    assert empty.words == ("",)
    assert [word for word in third.words if word] == ["x", "ray", "um", "th", "uh", "fine"]


def test_totals_as_sclite_has_them(tmp_path: Path) -> None:
    """`sclite -F -D`: um is too much, hm is missing, th- is right for the."""
    (tmp_path / "ref.trn").write_text(REFERENCE)
    (tmp_path / "hyp.trn").write_text("SO IT IS (ann-1)\n(ann-2)\nx-ray um th- fine (bob-1)\n")
    total = wt.evaluate(tmp_path / "hyp.trn", references=tmp_path / "ref.trn").errors["one_best"].total
    assert (total.hits, total.substitutions, total.deletions, total.insertions) == (6, 1, 1, 0)


def test_references(tmp_path: Path) -> None:
    (tmp_path / "any.name").write_text(REFERENCE)
    references = read_references(tmp_path / "any.name")
    assert {utt: reference.words for utt, reference in references.items()} == {
        "ann-1": ("so", "it", "is"), "ann-2": ("hm",), "bob-1": ("x", "ray", "the", "fine"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("so it is", "does not end in"),
        ("so it is (a b)", "does not end in"),
        ("so { it (u1)", "utterance u1: there is a { without"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "bad.trn").write_text(f"fine (u0)\n{line}\n")
    with pytest.raises(InputError) as caught:
        wt.read(tmp_path / "bad.trn", format="trn")
    assert told in str(caught.value)
    with pytest.raises(InputError) as caught:
        read_references(tmp_path / "bad.trn")
    assert told in str(caught.value)
