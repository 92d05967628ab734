"""A corpus through a recognizer: the store, splits, what goes wrong, and resuming after an interrupt."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner

from tests.helpers.plugin_recognizer import install
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.journal import journal_path
from wordtrust.base.problems import Problems
from wordtrust.cli import cli
from wordtrust.formats import read
from wordtrust.transcription.corpus_job import CorpusResult, Watch, recognize_corpus
from wordtrust.transcription.manifest import read_manifest

SECONDS = {"a": 1.5, "b": 3.2, "c": 0.4, "d": 2.0}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    install(tmp_path / "site", monkeypatch)
    rows = ["utt\taudio\tsplit\ttext"]
    for number, (name, seconds) in enumerate(SECONDS.items()):
        soundfile.write(tmp_path / f"{name}.wav", np.zeros(int(seconds * 8000)), 8000)
        rows.append(f"{name}\t{name}.wav\t{'dev' if number > 2 else 'train'}\tone two")
    (tmp_path / "m.tsv").write_text("\n".join(rows) + "\n")
    return tmp_path


def run(
    corpus: Path,
    recognizer: str = "ears",
    *,
    by_split: bool = False,
    skip: bool = False,
    watch: Watch = lambda _: None,
    overwrite: bool = True,
) -> tuple[CorpusResult, Problems]:
    problems = Problems(skip=skip)
    entries = read_manifest(corpus / "m.tsv")
    result = recognize_corpus(
        entries, recognizer, corpus / "out", jobs=1, problems=problems, by_split=by_split, watch=watch,
        overwrite=overwrite,
    )  # fmt: skip
    return result, problems


def test_a_store(corpus: Path) -> None:
    result, _ = run(corpus)
    found = read(corpus / "out")
    assert (result.utterances, result.resumed, round(result.seconds, 2)) == (4, 0, 7.1)
    texts = {lattice.utt: lattice.text for lattice in found}
    assert texts == {"a": "one", "b": "one two three", "c": "", "d": "one two"}
    assert {lattice.origin.recognizer for lattice in found} == {"ears"}
    assert not journal_path(corpus / "out").exists()


def test_a_store_for_each_split(corpus: Path) -> None:
    run(corpus, by_split=True)
    assert [lattice.utt for lattice in read(corpus / "out" / "train")] == ["a", "b", "c"]
    assert [lattice.utt for lattice in read(corpus / "out" / "dev")] == ["d"]
    about = json.loads((corpus / "out" / "recognizer.json").read_text())
    assert about == {"name": "ears", "pick": "total", "version": "1.0", "settings": {"model": None}}
    (corpus / "m.tsv").write_text("utt\taudio\na\ta.wav\n")
    with pytest.raises(InputError, match="the split has no name that a folder can have"):
        run(corpus, by_split=True)


def test_a_run_that_was_killed_between_two_stores_goes_on(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wordtrust.transcription import corpus_job

    real = corpus_job._lattices

    def stop(entries: Any, *rest: Any) -> Any:
        if entries[0].split == "dev":
            raise KeyboardInterrupt
        return real(entries, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(corpus_job, "_lattices", stop)
        with pytest.raises(KeyboardInterrupt):
            run(corpus, by_split=True, overwrite=False)
    assert [path.name for path in (corpus / "out").iterdir()] == ["train"]
    result, _ = run(corpus, by_split=True, overwrite=False)  # its own store it may replace
    assert (result.utterances, result.resumed) == (4, 4)
    assert sorted(path.name for path in (corpus / "out").iterdir()) == ["dev", "recognizer.json", "train"]
    with pytest.raises(OptionError, match=r"train: is there already"):
        run(corpus, by_split=True, overwrite=False)


def test_a_journal_that_is_a_link_is_not_followed(corpus: Path) -> None:
    (corpus / "precious").write_text("mine")
    journal_path(corpus / "out").symlink_to("precious")
    with pytest.raises(OptionError, match="is no journal"):
        run(corpus)
    assert (corpus / "precious").read_text() == "mine"


def test_parts_of_a_recording(corpus: Path) -> None:
    soundfile.write(corpus / "long.wav", np.zeros((40 * 8000, 2)), 8000)
    (corpus / "m.tsv").write_text(
        "utt\taudio\tstart\tend\tchannel\nx\tlong.wav\t0\t3.5\t1\ny\tlong.wav\t36\t\t2\nz\tlong.wav\t38.5\t40.1\t\n"
    )
    run(corpus)
    assert {lattice.utt: lattice.text for lattice in read(corpus / "out")} == {
        "x": "one two three",
        "y": "one two three four",
        "z": "one",
    }


def test_parts_that_are_not_there(corpus: Path) -> None:
    for times in ("1000\t1005", "0\t500"):
        (corpus / "m.tsv").write_text(f"utt\taudio\tstart\tend\nx\tb.wav\t{times}\n")
        with pytest.raises(InputError, match=r"utterance x: it should go on until \d+ s, but the file has 3\.20 s"):
            run(corpus)


def test_a_bad_result_is_an_error_and_not_kept(corpus: Path) -> None:
    for model in ("mad", "wrong", "odd"):
        with pytest.raises(InputError, match="utterance a"):
            run(corpus, f"ears={model}")
        assert len(journal_path(corpus / "out").read_text().splitlines()) == 1
    with pytest.raises(InputError, match="no utterance is left"):
        run(corpus, "ears=odd", skip=True)


def test_what_is_too_long_or_unreadable(corpus: Path) -> None:
    soundfile.write(corpus / "b.wav", np.zeros(31 * 8000), 8000)
    (corpus / "c.wav").write_bytes(b"this is no audio")
    with pytest.raises(InputError, match=r"b\.wav, utterance b: longer than 30 s"):
        run(corpus)
    assert not (corpus / "out").exists()
    result, problems = run(corpus, skip=True)
    assert (result.utterances, [error.utt for error in problems.errors]) == (2, ["b", "c"])
    assert [lattice.utt for lattice in read(corpus / "out")] == ["a", "d"]


def test_it_resumes_after_an_interrupt(corpus: Path) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(corpus, watch=stop)
    assert journal_path(corpus / "out").exists()
    result, _ = run(corpus)
    assert (result.utterances, result.resumed) == (4, 1)
    assert [lattice.utt for lattice in read(corpus / "out")] == ["a", "b", "c", "d"]


def test_audio_that_has_changed_is_recognised_again(corpus: Path) -> None:
    """A file of the same size, but of another time: the same samples at twice the rate, so half as long."""

    def stop(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(corpus, watch=stop)
    audio = corpus / "a.wav"
    before = audio.stat()
    soundfile.write(audio, np.zeros(int(SECONDS["a"] * 8000)), 16000)
    os.utime(audio, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert audio.stat().st_size == before.st_size
    result, _ = run(corpus)
    assert (result.utterances, result.resumed) == (4, 0)
    assert read(corpus / "out")[0].text == ""


def test_on_the_command_line(corpus: Path) -> None:
    words = ["recognize", str(corpus / "m.tsv"), "--recognizer", "ears", "--jobs", "2", "--out", str(corpus / "s")]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout == f"{corpus / 's'}: 4 utterances by ears 1.0\n"
    assert len(read(corpus / "s")) == 4
    (corpus / "full").mkdir()
    (corpus / "full" / "thesis.txt").touch()
    for options, message in (
        (["--recognizer", "ears,ears=x"], "one recognizer at a time"),
        (["--out", str(corpus / "no" / "s")], "there is no folder"),
        (["--out", str(corpus / "full")], "is there already, and is no store"),
    ):
        with pytest.raises(OptionError, match=message):
            CliRunner().invoke(cli, [*words, *options], catch_exceptions=False)
