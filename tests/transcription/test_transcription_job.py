"""`wordtrust transcribe`: files of every format, channels, bad input, what cannot be written, closed pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner, Result

from tests.helpers.command_line import refused
from tests.helpers.plugin_recognizer import install
from tests.helpers.speech import recording, recording_path
from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.errors import InputError, OptionError
from wordtrust.cli import cli
from wordtrust.transcription.transcriber import Transcriber, recordings
from wordtrust.transcription.transcription_job import TranscriptionJob


@pytest.fixture(autouse=True)
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)


def run(*words: object) -> Result:
    given = ["transcribe", *map(str, words)]
    return CliRunner().invoke(cli, given if "--recognizer" in given else [*given, "--recognizer", "ears"])


def test_files_of_every_format(tmp_path: Path) -> None:
    endings = ("json", "jsonl", "ctm", "srt", "vtt", "html", "parquet")
    done = run(recording_path(), *(word for ending in endings for word in ("--out", tmp_path / f"w.{ending}")))
    assert done.exit_code == 0, done.output
    assert "[0:0" in done.stdout
    assert "no model was trained for it, so its words are scored by the generic one" in done.stderr
    document = json.loads((tmp_path / "w.json").read_text())
    assert document["recognizers"][0]["name"] == "ears"
    assert (document["models"], document["duration"]) == (["generic"], pytest.approx(9.963, abs=0.001))
    assert all((tmp_path / f"w.{ending}").stat().st_size > 50 for ending in endings)
    assert sorted(path.name for path in tmp_path.glob(".*")) == []  # no journal is left


def test_channels(tmp_path: Path) -> None:
    speech, stereo = recording(), tmp_path / "call.wav"
    soundfile.write(stereo, np.stack([speech, np.zeros_like(speech)], axis=1), 16000)
    done = run(stereo, "--channels", "each", "--out", tmp_path / "{name}.json")
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "call-1.json").read_text())["segments"]
    assert json.loads((tmp_path / "call-2.json").read_text())["segments"] == []
    assert "call-2: no speech was found" in done.stderr
    run(stereo, "--channels", "each", "--out", tmp_path / "w.ctm")
    lines = (tmp_path / "w.ctm").read_text().splitlines()
    assert next(line for line in lines if not line.startswith(";;")).startswith("call 1 0.")
    assert run(stereo, "--channels", "2").exit_code == 0


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("w.srt", "one file holds one recording, here are 2"),
        ("no/no/{name}.srt", "there is no folder"),
        ("no/w.jsonl", "there is no folder"),
        ("{name}.doc", "should end in"),
        ("folder.jsonl", "it is a folder"),
    ],
)
def test_what_cannot_be_written_is_refused_first(tmp_path: Path, out: str, message: str) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    assert message in str(run(recording_path(), recording_path(), "--out", tmp_path / out).exception)


def test_the_folder_of_many_files_is_made(tmp_path: Path) -> None:
    done = run(recording_path(), "--out", tmp_path / "words" / "{name}.srt")
    assert done.exit_code == 0, done.output
    assert [path.name for path in (tmp_path / "words").iterdir()] == ["beckett.srt"]


def test_bad_input_is_an_error_or_skipped(tmp_path: Path) -> None:
    (tmp_path / "empty.wav").touch()
    (tmp_path / "text.wav").write_text("hello")
    soundfile.write(tmp_path / "short.wav", np.zeros(1200), 16000)
    for name in ("empty.wav", "text.wav", "absent.wav", "."):
        done = run(tmp_path / name)
        assert isinstance(done.exception, InputError), name
        assert str(tmp_path) in str(done.exception)
    done = run(tmp_path / "text.wav", tmp_path / "short.wav", "--skip-bad")
    assert done.exit_code == 0, done.output
    assert "skipped" in done.stderr
    assert "short: no speech was found" in done.stderr
    assert isinstance(run(tmp_path / "text.wav", "--skip-bad").exception, OptionError)


def test_as_json_lines() -> None:
    lines = [json.loads(line) for line in run(recording_path(), "--json").stdout.splitlines()]
    assert lines[0]["utt"] == "beckett"
    assert lines[0]["words"][0]["norm"] == "one"


def test_a_bad_result_is_not_kept(tmp_path: Path) -> None:
    done = run(recording_path(), "--recognizer", "ears=odd", "--out", tmp_path / "w.json")
    assert isinstance(done.exception, InputError)
    assert "at 0." in str(done.exception)
    assert not (tmp_path / ".w.json.heard").exists()


def test_a_file_named_twice_is_written_once(tmp_path: Path) -> None:
    once = run(recording_path(), "--out", tmp_path / "a.jsonl")
    twice = run(recording_path(), "--out", tmp_path / "b.jsonl", "--out", tmp_path / "b.jsonl")
    assert (once.exit_code, twice.exit_code) == (0, 0)
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()


def test_a_recording_that_has_changed_is_transcribed_again(tmp_path: Path) -> None:
    """Of the same size, but of another time: one recording, then another of as many samples."""
    talk, out = tmp_path / "talk.wav", tmp_path / "w.json"
    soundfile.write(talk, recording(), 16000)
    with Transcriber(["ears"]) as transcriber:
        for silenced in (False, True):
            if silenced:
                before = talk.stat()
                soundfile.write(talk, np.zeros_like(recording()), 16000)
                os.utime(talk, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
                assert talk.stat().st_size == before.st_size
            [one] = recordings([AudioFile.open(talk)])
            with TranscriptionJob(transcriber, [one], {out: [one]}, "ears") as job:  # interrupted: nothing is written
                assert job.resumed == 0
                segments = list(job.segments(one))
            assert bool(segments) is not silenced


@pytest.mark.slow
def test_files_are_written_though_nobody_reads_the_output(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wordtrust", "transcribe", str(recording_path()), "--recognizer", "ears"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *sys.path])}

    def status(*options: str) -> int:
        with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, cwd=tmp_path, env=environment) as process:
            assert process.stdout is not None
            process.stdout.close()
        return process.returncode

    assert status("--out", "w.json") == 0
    assert json.loads((tmp_path / "w.json").read_text())["segments"]
    assert status() == 141


def test_two_jobs_with_one_output_among_others(tmp_path: Path) -> None:
    of = recordings([AudioFile.open(recording_path())], "mix")
    with Transcriber(["ears"]) as transcriber:
        first = {tmp_path / "a.json": of, tmp_path / "both.json": of}
        second = {tmp_path / "b.json": of, tmp_path / "both.json": of}
        with TranscriptionJob(transcriber, of, first, "ears"):
            with pytest.raises(OptionError, match=r"both\.json: another wordtrust process is writing it"):
                TranscriptionJob(transcriber, of, second, "ears").__enter__()
            with TranscriptionJob(transcriber, of, {tmp_path / "b.json": of}, "ears"):
                pass


def test_more_outputs_than_a_process_may_have_files_open(tmp_path: Path) -> None:
    of = recordings([AudioFile.open(recording_path())], "mix")
    outputs = {tmp_path / f"{number}.json": of for number in range(3000)}
    with Transcriber(["ears"]) as transcriber, TranscriptionJob(transcriber, of, outputs, "ears") as job:
        assert job.resumed == 0


def test_what_is_there_is_replaced_only_when_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text("mine")
    assert "w.json: is there already" in str(run(recording_path(), "--out", tmp_path / "w.json").exception)
    assert (tmp_path / "w.json").read_text() == "mine"
    assert run(recording_path(), "--out", tmp_path / "w.json", "--overwrite").exit_code == 0
    assert json.loads((tmp_path / "w.json").read_text())["segments"]


def test_a_pipe_has_no_journal(tmp_path: Path) -> None:
    done = run(recording_path(), "--out", "/dev/null", "--out", tmp_path / "w.json")
    assert done.exit_code == 0, done.output
    assert [path.name for path in tmp_path.iterdir() if path.name != "site"] == ["w.json"]
    assert Path("/dev/null").is_char_device()


def test_output_on_stdout_is_alone_there(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wordtrust", "transcribe", str(recording_path()), "--recognizer", "ears"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *sys.path])}

    def done(*options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *options], capture_output=True, text=True, check=False, env=environment)

    for out in ("-", "/dev/stdout"):
        printed = done("--out", out)
        assert printed.returncode == 0, printed.stderr
        assert all(json.loads(line)["words"] for line in printed.stdout.splitlines())
    refused_words = ("transcribe", recording_path(), "--recognizer", "ears", "--out", "-", "--json")
    assert "--json prints to stdout" in refused(*refused_words)
