"""The command line as a user meets it: all of it in this process, and the main ways in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.command_line import wordtrust
from tests.helpers.shared import SAMPLES
from wordtrust import read, write
from wordtrust.cli import cli, main
from wordtrust.cli.walkthrough import PICTURE

SAMPLE = Path(__file__).parents[2] / "src" / "wordtrust" / "sample" / "lattices"


def process(*words: str | Path, code: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own and check its exit code."""
    command = [sys.executable, "-m", "wordtrust", *map(str, words)]
    wide = {**os.environ, "COLUMNS": "140"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, env=wide)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.slow
def test_info_counts() -> None:
    found = json.loads(wordtrust("info", SAMPLE, "--json").stdout)
    lattices = read(f"{SAMPLE}/*.slf.gz")
    assert found["utterances"] == 39
    slf = [counts for file, counts in found["files"].items() if file.endswith(".slf.gz")]
    assert sum(counts["arcs"] for counts in slf) == len(lattices.source)
    assert sum(counts["nodes"] for counts in slf) == len(lattices.time)
    assert sum(counts["words"] for counts in slf) == sum(len(lattice.text.split()) for lattice in lattices)
    assert sum(counts["duration"] for counts in slf) == pytest.approx(sum(x.duration for x in lattices), abs=0.05)


@pytest.mark.slow
def test_info_for_people() -> None:
    shown = wordtrust("info", SAMPLE / f"{PICTURE}.slf.gz", SAMPLE / f"{PICTURE}.lat").stdout
    assert "htk" in shown
    assert "sphinx" in shown
    assert "acoustic scores: all utterances" in shown
    assert "posterior scores: 1 of 2 utterances" in shown


@pytest.mark.slow
@pytest.mark.parametrize("out", ["x.store", "x.slf", "x.ark", "x.ark.gz", "x.ctm", "x.jsonl", "x.dot"])
def test_convert_writes_what_the_ending_says(out: str, tmp_path: Path) -> None:
    done = (process if out == "x.store" else wordtrust)("convert", f"{SAMPLE}/*.slf.gz", tmp_path / out)
    assert "36 utterances" in done.stdout
    if not out.endswith(".dot"):
        again = json.loads(wordtrust("info", tmp_path / out, "--json").stdout)
        words = json.loads(wordtrust("info", f"{SAMPLE}/*.slf.gz", "--json").stdout)["words"]
        assert again["utterances"] == 36
        assert again["words"] == words or ".ark" in out  # Kaldi text has no posteriors, which PocketSphinx goes by


@pytest.mark.slow
def test_convert_one_utterance_to_a_picture(tmp_path: Path) -> None:
    wordtrust("convert", SAMPLE, tmp_path / "x.svg", code=1)
    wordtrust("convert", f"{SAMPLE}/*.slf.gz", tmp_path / "x.svg", "--utt", PICTURE)
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
    missing = wordtrust("convert", SAMPLE, tmp_path / "y.svg", "--utt", "nobody", code=1)
    assert "no utterance nobody in the input" in missing.stderr
    assert not (tmp_path / "y.svg").exists()


@pytest.mark.slow
def test_bad_input_fails_or_is_skipped(tmp_path: Path) -> None:
    bad = tmp_path / "bad.slf"
    bad.write_text("VERSION=1.0\nN=2 L=1\nI=0 t=0\nI=1 t=1\nJ=0 S=0 E=7 W=a a=-1\n")
    good = SAMPLES / "htk"
    failed = process("convert", bad, good, tmp_path / "out.jsonl", code=1)
    assert "bad.slf" in failed.stderr
    assert not (tmp_path / "out.jsonl").exists()
    done = wordtrust("convert", bad, good, tmp_path / "out.jsonl", "--skip-bad")
    assert "skipped:" in done.stderr
    assert "left out 1 bad" in done.stderr
    assert (tmp_path / "out.jsonl").exists()


@pytest.mark.slow
def test_no_input_and_bad_options_are_explained(tmp_path: Path) -> None:
    assert "no such file" in wordtrust("info", tmp_path / "nothing", code=1).stderr
    assert "frame length" in wordtrust("info", SAMPLE, "--frame-length", "0", code=1).stderr
    assert "cannot read the format" in wordtrust("info", SAMPLE, "--format", "nope", code=1).stderr
    assert "Usage" in process("info", code=2).stderr


@pytest.mark.parametrize("verb", cli.commands)
def test_help_has_an_explanation_with_an_example(verb: str) -> None:
    assert f"wordtrust {verb}" in (cli.commands[verb].help or "").partition("Example")[2]


def test_help_lists_the_verbs() -> None:
    assert set(cli.commands) <= set(process("--help").stdout.split())


def test_formats_are_listed() -> None:
    shown = wordtrust("formats").stdout
    assert all(name in shown for name in ("kaldi-text", "htk", "whisper", "store", "assemblyai"))


@pytest.mark.slow
def test_tune_build_evaluate(tmp_path: Path) -> None:
    """On lattices with a language score, made from the sample's acoustics: each verb and its JSON."""
    lattices = read(f"{SAMPLE}/*.slf.gz")
    with_language = replace(lattices, transition=lattices.posterior, posterior=None)
    write(with_language, tmp_path / "in.store")
    ref, scales, out = SAMPLE.parent / "ref.tsv", tmp_path / "scales.json", tmp_path / "out.networks"
    tuned = json.loads(wordtrust("tune", tmp_path / "in.store", "--ref", ref, "--out", scales, "--json").stdout)
    assert tuned["dev"]["one_best"] <= tuned["dev"]["as_given"]
    assert set(tuned) == {"one_best", "posterior", "mbr", "dev"}
    done = wordtrust("build", tmp_path / "in.store", "--ref", ref, "--scales", scales, "--out", out)
    assert "36 utterances" in done.stdout
    found = json.loads(wordtrust("evaluate", out, "--json").stdout)
    assert (found["utterances"], found["words"]) == (36, 279)
    assert set(found["wer"]) == {"one_best", "tuned_one_best", "tuned_mbr", "best_confidence", "oracle"}
    assert found["wer"]["tuned_one_best"] == pytest.approx(tuned["dev"]["one_best"])
    for population in ("arcs", "arcs_paper", "one_best", "output"):
        assert set(found[population]["posterior"]) == {"eer", "nce", "auc", "ece"}
    counts = json.loads(wordtrust("info", tmp_path / "in.store", "--ref", ref, "--json").stdout)
    assert counts["one_best_wer"] == pytest.approx(found["wer"]["one_best"])
    assert counts["oracle_wer"] >= found["wer"]["oracle"]
    assert json.loads((out / "store.json").read_text())["network"]["tolerance"] == 0.1
    missing = wordtrust("tune", tmp_path / "in.store", "--ref", ref, "--out", tmp_path / "no" / "x.json", code=1)
    assert "there is no folder" in missing.stderr


@pytest.mark.slow
def test_what_is_undefined_is_left_out(tmp_path: Path) -> None:
    """Only right words: nothing to tell apart, so there is no EER; an empty reference has no error rate."""
    (tmp_path / "words.ctm").write_text("u1 1 0.0 0.5 hello 0.9\nu2 1 0.0 0.5 hello 0.8\n")
    (tmp_path / "ref.tsv").write_text("utt\ttext\nu1\thello\nu2\thello\n")
    (tmp_path / "empty.tsv").write_text("utt\ttext\nu1\t\nu2\t\n")
    for ref, rates in (("ref.tsv", 3), ("empty.tsv", 0)):
        wordtrust("build", tmp_path / "words.ctm", "--ref", tmp_path / ref, "--out", tmp_path / "s", "--overwrite")
        found = json.loads(wordtrust("evaluate", tmp_path / "s", "--json").stdout)
        assert len(found["wer"]) == rates
        assert "eer" not in found["one_best"]["posterior"]
        wordtrust("evaluate", tmp_path / "s")


@pytest.mark.slow
def test_labels_do_not_change_what_is_measured(tmp_path: Path) -> None:
    found = []
    for labels in ("oracle", "one-best"):
        out = tmp_path / labels
        wordtrust("build", f"{SAMPLE}/*.slf.gz", "--ref", SAMPLE.parent / "ref.tsv", "--labels", labels, "--out", out)
        found.append(json.loads(wordtrust("evaluate", out, "--json").stdout))
    assert found[0] == found[1]
    assert found[0]["arcs"] != found[0]["arcs_paper"]


@pytest.mark.slow
def test_an_utterance_without_reference_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "ref.tsv").write_text("utt\ttext\nflite-slt-05\tplease turn off the light\n")
    words = ("info", f"{SAMPLE}/flite-slt-0*.slf.gz", "--ref", tmp_path / "ref.tsv", "--json")
    assert "there is no reference for this utterance" in wordtrust(*words, code=1).stderr
    found = json.loads(wordtrust(*words, "--skip-bad").stdout)
    assert (found["utterances"], found["one_best_wer"]) == (1, 0.2)


@pytest.mark.parametrize(
    ("verb", "broken", "message"),
    [
        (
            "build",
            "wordtrust.networks.build_store.build_store",
            "interrupted; the same command resumes it",
        ),
        ("info", "wordtrust.evaluation.corpus_counts.count_by_file", "interrupted"),
    ],
)
def test_an_interrupted_command_says_whether_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    verb: str, broken: str, message: str,
) -> None:  # fmt: skip
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(broken, interrupt)
    out = ["--out", str(tmp_path / "out")] if verb == "build" else []
    monkeypatch.setattr(sys, "argv", ["wordtrust", verb, f"{SAMPLE}/{PICTURE}.slf.gz", *out])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130
    assert capsys.readouterr().err.splitlines()[-1] == f"wordtrust: {message}"


def test_a_dash_is_stdout_and_nothing_else_is_printed_there(tmp_path: Path) -> None:
    """In every verb that writes a file: what it says for people goes to stderr."""
    ctm, ref = tmp_path / "a.ctm", tmp_path / "ref.tsv"
    ctm.write_text("u 1 0.00 0.50 so 0.9\nu 1 0.50 0.50 far 0.8\n")
    ref.write_text("utt\ttext\nu\tso far\n")
    lines = process("convert", ctm, "-", cwd=tmp_path).stdout.splitlines()
    assert [json.loads(line)["utt"] for line in lines] == ["u"]
    printed = process("convert", ctm, "-o", "-", "--to", "ctm", cwd=tmp_path)
    assert len(printed.stdout.splitlines()) == 2
    assert "as NIST CTM" in printed.stderr
    words = process("combine", f"a={ctm}", f"b={ctm}", "--ref", ref, "--transcripts", "-", cwd=tmp_path)
    assert [json.loads(line)["text"] for line in words.stdout.splitlines()] == ["so far"]
    assert "ROVER" in words.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.ctm", "ref.tsv"]


@pytest.mark.slow
@pytest.mark.parametrize("out", ["-", "/dev/stdout"])
def test_tune_prints_its_scales_alone(out: str, tmp_path: Path) -> None:
    corpus = SAMPLE.parent / "corpus"
    nbest, ref = corpus / "moonshine-tiny" / "eval.jsonl.gz", corpus / "refs.tsv"
    done = process("tune", nbest, "--ref", ref, "--out", out, cwd=tmp_path)
    assert isinstance(json.loads(done.stdout), dict)
    assert "scale" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_folder_does_not_go_to_stdout(tmp_path: Path) -> None:
    for verb in (("build", SAMPLE, "--out"), ("convert", SAMPLE, "--to", "store")):
        for out in ("-", "/dev/stdout"):
            assert "name a folder" in wordtrust(*verb, out, code=1, cwd=tmp_path).stderr
    assert not list(tmp_path.iterdir())


def test_a_name_without_an_ending_is_no_store_unasked(tmp_path: Path) -> None:
    slf = SAMPLE / f"{PICTURE}.slf.gz"
    assert "no ending names a format" in wordtrust("convert", slf, tmp_path / "x", code=1).stderr
    assert not list(tmp_path.iterdir())
    wordtrust("convert", slf, tmp_path / "x", "--to", "store")
    wordtrust("convert", slf, tmp_path / "x", "--overwrite")  # it is a store already
    assert [lattice.utt for lattice in read(tmp_path / "x")] == [PICTURE]


def test_advice_that_fits_the_mistake(tmp_path: Path) -> None:
    ctm = tmp_path / "a.ctm"
    ctm.write_text("u 1 0.00 0.50 so 0.9\n")
    swapped = wordtrust("score", ctm, "moonshine-tiny", "--out", tmp_path / "b.ctm", code=1)
    assert f"the MODEL comes first: moonshine-tiny {ctm}" in swapped.stderr
    joint = wordtrust("score", "joint", ctm, "--out", tmp_path / "b.ctm", code=1)
    assert "joins several recognizers: combine ... --joint joint" in joint.stderr
    (tmp_path / "folder.ctm" / "x").mkdir(parents=True)
    for more in ([], ["--overwrite"]):
        folder = wordtrust("score", "generic", ctm, "--out", tmp_path / "folder.ctm", *more, code=1)
        assert "it is a folder; name a file in it" in folder.stderr
    ending = wordtrust("convert", ctm, tmp_path / "x.docx", code=1)
    assert "Words that have confidences also go to .txt, .srt, .vtt and .html" in ending.stderr


def test_references_that_are_none_are_asked_about(tmp_path: Path) -> None:
    ctm, ref = tmp_path / "a.ctm", tmp_path / "utt2spk"
    ctm.write_text("u 1 0.00 0.50 so 0.9\nu 1 0.50 0.50 far 0.8\n")
    ref.write_text("u speaker\n")
    for verb in (("info", ctm), ("evaluate", "--scores", ctm)):
        done = wordtrust(*verb, "--ref", ref)
        assert f"more than there are words: does {ref} say what was said" in done.stderr
    ref.write_text("u so far\n")
    done = wordtrust("evaluate", "--scores", ctm, "--ref", ref)
    assert "does" not in done.stderr
    assert "against 1-best" not in done.stdout  # there is nothing else


def test_converted_words_are_counted(tmp_path: Path) -> None:
    done = wordtrust("convert", SAMPLE / f"{PICTURE}.slf.gz", tmp_path / "a.ctm")
    assert f"{len((tmp_path / 'a.ctm').read_text().splitlines())} words as NIST CTM" in done.stdout
