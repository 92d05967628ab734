"""Votes of words without confidences: by hand, and as NIST's rover where it is on the PATH."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

import wordtrust as wt
from tests.helpers.command_line import refused, run


def elected(folder: Path, *systems: str) -> list[tuple[str, float, float, float]]:
    """The words that win, with start, end and share."""
    names = {}
    for number, system in enumerate(systems):
        names[f"s{number}"] = folder / f"s{number}.ctm"
        names[f"s{number}"].write_text(system)
    transcripts = wt.combine(names).transcripts or []
    return [
        (word.norm, round(word.start, 3), round(word.end, 3), round(word.confidence, 3))
        for transcript in transcripts
        for word in transcript.words
    ]


def ctm(text: str, start: float = 0.0) -> str:
    """A word every half second; `-` is a pause."""
    words = enumerate(text.split())
    return "".join(f"f 1 {start + place / 2:.2f} 0.25 {word}\n" for place, word in words if word != "-")


def test_most_votes_win(tmp_path: Path) -> None:
    found = elected(tmp_path, ctm("a b c"), ctm("a x c"), ctm("a b d"))
    assert found == [("a", 0.0, 0.25, 1.0), ("b", 0.5, 0.75, 0.667), ("c", 1.0, 1.25, 0.667)]


def test_times_are_means_over_those_who_say_it(tmp_path: Path) -> None:
    found = elected(tmp_path, ctm("a"), ctm("a", start=0.3), ctm("b", start=0.9))
    assert found == [("a", 0.15, 0.4, 0.667)]


def test_a_tie_goes_to_the_first_and_a_word_that_was_added_before_nothing(tmp_path: Path) -> None:
    assert [word for word, *_ in elected(tmp_path, ctm("a b"), ctm("a c"))] == ["a", "b"]
    assert [word for word, *_ in elected(tmp_path, ctm("a - c"), ctm("a b c"))] == ["a", "b", "c"]
    assert [word for word, *_ in elected(tmp_path, ctm("a b c"), ctm("a - c"))] == ["a", "b", "c"]


def test_nothing_can_win(tmp_path: Path) -> None:
    assert [word for word, *_ in elected(tmp_path, ctm("a b c"), ctm("a - c"), ctm("a - c"))] == ["a", "c"]


def test_words_are_not_aligned_over_a_shared_pause(tmp_path: Path) -> None:
    """Without the cut, the second `a` of the first would stand beside the `a` of the others, five seconds before."""
    one, two = ctm("b") + ctm("a b", start=5), ctm("a b") + ctm("b", start=5)
    assert [word for word, *_ in elected(tmp_path, one, two, two)] == ["a", "b", "b"]


def test_a_recording_that_one_lacks(tmp_path: Path) -> None:
    one = ctm("a b") + ctm("c d").replace("f 1", "g 1")
    assert [word for word, *_ in elected(tmp_path, one, ctm("a b"), one)] == ["a", "b", "c", "d"]


def test_the_table_has_the_errors_of_the_words_that_are_written(tmp_path: Path) -> None:
    for name, said in {"a": "so it - is", "b": "so it was is", "c": "so it - is"}.items():
        (tmp_path / f"{name}.ctm").write_text(ctm(said))
    (tmp_path / "ref.stm").write_text("f 1 s 0 9 so it is\n")
    systems = {name: tmp_path / f"{name}.ctm" for name in "abc"}
    result = wt.combine(systems, tmp_path / "ref.stm", subsets=True)
    assert result.comparison is not None
    assert [transcript.text for transcript in result.transcripts or []] == ["so it is"]
    rates = {"".join(row.members): row.methods["rover"] for row in result.comparison.subsets}
    assert rates == {"ab": pytest.approx(1 / 3), "ac": 0.0, "bc": pytest.approx(1 / 3), "abc": 0.0}


def test_the_command_needs_no_references_for_words_alone(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.ctm").write_text(ctm("so it is"))
    systems = [f"{name}={tmp_path / name}.ctm" for name in "ab"]
    run("combine", *systems, "--transcripts", tmp_path / "both.ctm")
    assert (tmp_path / "both.ctm").read_text().splitlines()[1] == "f 1 0.500 0.250 it 1.000000"
    assert "no references" in refused("combine", *systems)
    fit = [part for system in systems for part in ("--fit", system)]
    assert "--ref" in refused("combine", *systems, *fit, "--out", tmp_path / "fit")


def random_system(generator: random.Random, said: list[tuple[str, float]]) -> str:
    lines: list[str] = []
    for word, time in said:
        luck = generator.random()
        if luck < 0.15 and len(lines) > 1:
            continue
        spoken = generator.choice("abcdefg") if luck < 0.35 else word
        lines.append(f"f 1 {time + generator.choice([0, 0.05]):.2f} 0.20 {spoken}\n")
    return "".join(lines)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rover") is None, reason="needs NIST's rover on the PATH")
@pytest.mark.parametrize("seed", range(30))
def test_what_rover_says(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    said, time = [], 0.0
    for _ in range(generator.randint(3, 20)):
        said.append((generator.choice("abcde"), time))
        time += 0.3 + (generator.choice([1, 2]) if generator.random() < 0.15 else 0)
    systems = [random_system(generator, said) for _ in range(generator.randint(2, 4))]
    found = elected(tmp_path, *systems)
    inputs = [word for number in range(len(systems)) for word in ("-h", f"s{number}.ctm", "ctm")]
    command = ["rover", *inputs, "-o", "rover.ctm", "-m", "avgconf"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    lines = (tmp_path / "rover.ctm").read_text().splitlines()
    assert [word for word, *_ in found] == [line.split()[4] for line in lines]
