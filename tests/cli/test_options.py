"""Options that mean the same in every verb, and the verbs in their sections."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from tests.helpers.command_line import refused, run
from tests.helpers.shared import SAMPLES
from wordtrust.cli import cli
from wordtrust.cli.verb_sections import SECTIONS


def options_of(verb: str) -> dict[str, click.Parameter]:
    """The parameters of a verb by each of their names."""
    return {name: parameter for parameter in cli.commands[verb].params for name in parameter.opts}


@pytest.mark.parametrize("verb", cli.commands)
def test_out_has_a_short_name_and_jobs_one_name(verb: str) -> None:
    options = options_of(verb)
    assert options.get("-o") is options.get("--out")
    shown = run(verb, "--help").output
    assert not any(f" {name} " in shown for name in ("--threads", "--workers", "--processes"))


@pytest.mark.parametrize(("verb", "name"), [("score", "--jobs"), ("train", "--jobs"), ("study", "--train-jobs")])
def test_threads_is_still_understood(verb: str, name: str) -> None:
    options = options_of(verb)
    assert options["--threads"] is options[name]
    given = ["x", "--out", "y", "--threads", "3"] if verb != "score" else ["x", "z", "--out", "y", "--threads", "3"]
    context = cli.commands[verb].make_context(verb, given)
    assert context.params[name.strip("-").replace("-", "_")] == 3


def test_convert_takes_its_output_last_or_by_option(tmp_path: Path) -> None:
    ctm = SAMPLES / "ctm"
    run("convert", ctm, tmp_path / "a.jsonl")
    run("convert", ctm, "-o", tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    assert "name the output after" in refused("convert", ctm)


def test_every_verb_is_in_one_section() -> None:
    listed = [verb for verbs in SECTIONS.values() for verb in verbs]
    assert sorted(listed) == sorted(cli.commands)


def test_help_shows_sections_and_whole_purposes() -> None:
    shown = run("--help").output
    lines = [line.strip() for line in shown.splitlines()]
    for heading, verbs in SECTIONS.items():
        assert f"{heading}:" in lines
        for verb, purpose in verbs.items():
            assert any(line.split(maxsplit=1) == [verb, purpose] for line in lines)


def test_a_file_instead_of_a_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talk.wav").touch()
    assert "wordtrust transcribe talk.wav" in refused("talk.wav")
    assert "No such command 'nothing.wav'" in refused("nothing.wav")
