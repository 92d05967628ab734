"""Votes of words without confidences: by hand, and as NIST's rover where it is on the PATH."""

from __future__ import annotations

import json
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
    transcripts = wt.combine(names).transcripts or wt.Transcripts()
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


@pytest.mark.parametrize(("pause", "is_cut"), [(1.01, True), (1.2, True), (1.0, False), (0.9, False)])
def test_a_pause_is_longer_than_a_second(tmp_path: Path, pause: float, is_cut: bool) -> None:
    """NIST's rover says the same. Without the cut, the second `b` of the first stands beside nothing."""
    later = 0.75 + pause
    systems = [ctm(before) + ctm(after, start=later) for before, after in (("b a", "b a"), ("b", "a"), ("b a", "a"))]
    assert [word for word, *_ in elected(tmp_path, *systems)] == (["b", "a", "a"] if is_cut else list("baba"))


def test_plain_references_have_the_rules_of_wordtrust(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.ctm").write_text("f 1 0.1 0.2 Middle-earth 0.5\n")
    (tmp_path / "text").write_text("f middle earth\n")
    systems = {name: tmp_path / f"{name}.ctm" for name in "ab"}
    for rules, words, rate in ((None, 2, 0.0), ("wordtrust", 2, 0.0), ("sclite", 2, 1.0)):
        found = wt.combine(systems, tmp_path / "text", rules=rules).comparison
        assert found is not None
        assert (found.words, found.systems["a"]) == (words, rate)


# Hyphens, tags, case, points and noise; of two recordings.
TALKS = """\
f A 0.10 0.20 x-ray
f A 0.40 0.20 {}
f A 0.70 0.20 [noise]
f A 1.00 0.20 U.S.;tag
f B 0.30 0.20 A\\;B
"""


def talks(folder: Path) -> list[str]:
    for name, word in {"a": "cafe", "b": "Cafe;odd", "c": "café"}.items():
        (folder / f"{name}.ctm").write_text(TALKS.format(word))
    return [f"{name}={folder / name}.ctm" for name in "abc"]


def test_words_files_and_channels_stay_as_they_are(tmp_path: Path) -> None:
    run("combine", *talks(tmp_path), "--transcripts", tmp_path / "all.ctm")
    assert (tmp_path / "all.ctm").read_text().splitlines() == [
        "f A 0.100 0.200 x-ray 1.000000", "f A 0.400 0.200 cafe 0.666667", "f A 1.000 0.200 U.S. 1.000000",
        "f B 0.300 0.200 A;B 1.000000",
    ]  # fmt: skip


def test_errors_are_counted_as_sclite_does(tmp_path: Path) -> None:
    """Alternatives, optional words, segments; a GLM; and wordtrust's own rules."""
    systems, stm, glm = talks(tmp_path), tmp_path / "ref.stm", tmp_path / "en.glm"
    stm.write_text("F A s 0 0.6 x-ray { coffee house / cafe } (uh)\nF A t 0.6 9 US\nF B s 0 9 a\\;b\n")
    glm.write_text(";;\n[CAFÉ] => [CAFE] / __\n[U.S.] => [US] / __\n")

    def rates(*options: object) -> dict[str, float]:
        found = json.loads(run("combine", *systems, "--ref", stm, "--json", *options).stdout)
        return {name: round(found["words"] * rate, 6) for name, rate in found["systems"].items()}

    assert rates() == {"a": 1, "b": 1, "c": 2}
    assert rates("--glm", glm) == {"a": 0, "b": 0, "c": 0}
    assert rates("--rules", "wordtrust")["c"] == 3  # café is cafe there; U.S.;tag are three words
    for name, errors in (("a", 1), ("c", 2)):
        marked = tmp_path / f"{name}.ctm"
        marked.write_text(marked.read_text().replace("f A 0.70 0.20 [noise]\n", ""))
        assert wt.evaluate(marked, references=stm).errors["one_best"].total.errors == errors


def test_words_with_confidences_are_counted_likewise(tmp_path: Path) -> None:
    for name, word in (("a", "coffee"), ("b", "tea")):
        (tmp_path / f"{name}.ctm").write_text(f"f 1 0.1 0.2 x-ray 0.9\nf 1 0.4 0.2 {word} 0.8\n")
    (tmp_path / "ref.stm").write_text("f 1 s 0 9 x-ray { cup / coffee }\n")
    found = wt.combine({name: tmp_path / f"{name}.ctm" for name in "ab"}, tmp_path / "ref.stm").comparison
    assert found is not None
    assert (found.words, found.systems) == (2, {"a": 0.0, "b": 0.5})
    assert found.subsets[0].methods == {"raw": 0.0, "rover": 0.0}


def test_a_calibrator_keeps_files_and_channels(tmp_path: Path) -> None:
    lines = [
        f"f {channel} {at} 0.5 {'yes' if at % 3 else 'no'} 0.{at % 9 + 1}" for channel in "AB" for at in range(60)
    ]
    (tmp_path / "f.ctm").write_text("\n".join(lines) + "\n")
    (tmp_path / "f.stm").write_text("".join(f"f {channel} {channel} 0 99 {'yes ' * 60}\n" for channel in "AB"))
    run("calibrate", "--scores", tmp_path / "f.ctm", "--ref", tmp_path / "f.stm", "--out", tmp_path / "cal.json")
    run("score", tmp_path / "cal.json", tmp_path / "f.ctm", "--out", tmp_path / "out.ctm")
    written = [line.split()[:2] for line in (tmp_path / "out.ctm").read_text().splitlines()]
    assert written == [["f", "A"]] * 60 + [["f", "B"]] * 60


def random_system(generator: random.Random, said: list[tuple[str, float]]) -> str:
    lines: list[str] = []
    for word, time in said:
        luck = generator.random()
        if luck < 0.15 and len(lines) > 1:
            continue
        spoken = generator.choice([*"abcdef", "G-h"]) if luck < 0.35 else word
        lines.append(f"f 1 {time + generator.choice([0, 0.05]):.2f} 0.20 {spoken}\n")
    return "".join(lines)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("rover") is None, reason="needs NIST's rover on the PATH")
@pytest.mark.parametrize("seed", range(30))
def test_what_rover_says(tmp_path: Path, seed: int) -> None:
    generator = random.Random(seed)
    said, time = [], 0.0
    for _ in range(generator.randint(3, 20)):
        said.append((generator.choice([*"abcd", "x-Y"]), time))
        time += 0.3 + (generator.choice([1, 2]) if generator.random() < 0.15 else 0)
    systems = [random_system(generator, said) for _ in range(generator.randint(2, 4))]
    found = elected(tmp_path, *systems)
    inputs = [word for number in range(len(systems)) for word in ("-h", f"s{number}.ctm", "ctm")]
    command = ["rover", *inputs, "-o", "rover.ctm", "-m", "avgconf"]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    lines = (tmp_path / "rover.ctm").read_text().splitlines()
    assert [word for word, *_ in found] == [line.split()[4] for line in lines]


def test_transcripts_say_which_systems_were_combined(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.ctm").write_text("call A 0.00 0.50 so 0.9\ncall A 0.50 0.50 what 0.5\n")
    systems = [f"{name}={tmp_path / name}.ctm" for name in "ab"]
    result = run("combine", *systems, "--transcripts", tmp_path / "rover.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "rover.json").read_text())["recognizers"] == [{"name": "a"}, {"name": "b"}]
