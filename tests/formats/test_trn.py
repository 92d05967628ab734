"""TRN: words without times, and how they are compared with references of the same kind."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import wordtrust as wt
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.formats.references import read_references
from wordtrust.lattices.paths import one_best

REFERENCE = "so it is (ann-1)\nhm (ann-2)\n{ x-ray / x ray } (uh) the fine (bob-1)\n"


def test_words_last_a_second_each() -> None:
    lattices = wt.read(SAMPLES / "trn/talk.trn")
    first, empty, third = lattices
    assert (first.utt, first.words, first.time.tolist()) == ("ann-1", ("so", "it", "is"), [0, 1, 2, 3])
    assert empty.words == ("",)
    assert sorted(word for word in third.words if word) == ["fine", "ray", "th", "uh", "uh", "um", "x"]
    assert third.picked is not None
    assert [word for word, picked in zip(third.words, third.picked, strict=True) if not picked] == ["uh"]
    path = one_best(lattices[2:])
    assert [third.words[arc] for arc in path.arcs] == ["x", "ray", "um", "th", "uh", "fine"]


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("so { it / that } is", (3, 0, 0, 0)),
        ("so { that / it } is", (3, 0, 0, 0)),
        ("so { that / } is", (2, 1, 0, 0)),  # an alternative without anything is none
        ("so { @ / that } is", (2, 0, 1, 0)),
        ("{ no / so it / so } { it is / was { it / is } }", (3, 0, 0, 0)),
        ("{ yes so / so } it is { now / @ / then }", (3, 0, 0, 0)),
        ("{ @ / @ } so it is", (3, 0, 0, 0)),
    ],
)
def test_alternatives_of_a_hypothesis_count_that_fit_best(
    tmp_path: Path, said: str, wanted: tuple[int, int, int, int]
) -> None:
    (tmp_path / "ref.trn").write_text("so it is (ann-1)\n")
    (tmp_path / "hyp.trn").write_text(f"{said} (ann-1)\n")
    total = wt.evaluate(tmp_path / "hyp.trn", references=tmp_path / "ref.trn").errors["one_best"].total
    assert (total.hits, total.substitutions, total.deletions, total.insertions) == wanted


def test_too_many_alternatives_are_refused(tmp_path: Path) -> None:
    every = "{ a / b / c / d / e / f / g / h / i / j / k }"
    (tmp_path / "hyp.trn").write_text(f"{{ x / {every} {every} }} (ann-1)\n")
    with pytest.raises(InputError, match="utterance ann-1: there are more than 100 alternatives in one place"):
        wt.read(tmp_path / "hyp.trn")
    (tmp_path / "hyp.trn").write_text(f"{every} {every} (ann-1)\n")
    assert wt.read(tmp_path / "hyp.trn")[0].arcs == 22


def some_text(generator: random.Random, braces: float) -> str:
    """Words, here and there alternatives."""
    words = []
    for _ in range(generator.randint(1, 5)):
        one, two = (" ".join(generator.choices("abcd", k=generator.randint(1, 2))) for _ in range(2))
        words.append(f"{{ {one} / {generator.choice([two, '@'])} }}" if generator.random() < braces else one)
    return " ".join(words)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sclite") is None, reason="needs NIST's sclite on the PATH")
@pytest.mark.parametrize("seed", range(30))
def test_what_sclite_says(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    for name, braces in (("ref", 0.2), ("hyp", 0.4)):
        lines = [f"{some_text(generator, braces)} (s-{number})\n" for number in range(8)]
        (tmp_path / f"{name}.trn").write_text("".join(lines))
    command = [
        "sclite",
        "-r",
        "ref.trn",
        "trn",
        "-h",
        "hyp.trn",
        "trn",
        "-i",
        "rm",
        "-F",
        "-D",
        "-o",
        "rsum",
        "stdout",
    ]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    sums = re.search(r"\| Sum\s*\|[\d\s]*\|\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)", said)
    assert sums is not None
    total = wt.evaluate(tmp_path / "hyp.trn", references=tmp_path / "ref.trn").errors["one_best"].total
    assert (total.hits, total.substitutions, total.deletions, total.insertions) == tuple(map(int, sums.groups()))


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
