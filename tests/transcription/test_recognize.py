"""A corpus through a recognizer: the store, splits, what goes wrong, and going on after an interrupt."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.helpers.ears import install
from wordtrust.base.errors import InputError, OptionError
from wordtrust.cli import cli
from wordtrust.formats import read
from wordtrust.lattices.assemble import Problems
from wordtrust.transcription.corpus_job import CorpusResult, recognize_corpus
from wordtrust.transcription.manifest import read_manifest
from wordtrust.transcription.transcription_job import journal_path

soundfile = pytest.importorskip("soundfile")
SECONDS = {"a": 1.5, "b": 3.2, "c": 0.4, "d": 2.0}


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(install(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "my_ears", raising=False)
    rows = ["utt\taudio\tsplit\ttext"]
    for number, (name, seconds) in enumerate(SECONDS.items()):
        soundfile.write(tmp_path / f"{name}.wav", np.zeros(int(seconds * 8000)), 8000)
        rows.append(f"{name}\t{name}.wav\t{'dev' if number > 2 else 'train'}\tone two")
    (tmp_path / "m.tsv").write_text("\n".join(rows) + "\n")
    return tmp_path


def run(
    corpus: Path, out: str = "out", *, by_split: bool = False, skip: bool = False
) -> tuple[CorpusResult, Problems]:
    problems = Problems(skip=skip)
    done = recognize_corpus(
        read_manifest(corpus / "m.tsv"), "ears", corpus / out, jobs=1, problems=problems, by_split=by_split,
        watch=lambda _: None,
    )  # fmt: skip
    return done, problems


def test_a_store(corpus: Path) -> None:
    done, _ = run(corpus)
    found = read(corpus / "out")
    assert (done.utterances, done.resumed, round(done.seconds, 2)) == (4, 0, 7.1)
    assert {each.utt: each.text for each in found} == {"a": "one", "b": "one two three", "c": "", "d": "one two"}
    assert {each.origin.recognizer for each in found} == {"ears"}
    assert not journal_path(corpus / "out").exists()


def test_a_store_for_each_split(corpus: Path) -> None:
    run(corpus, by_split=True)
    assert [each.utt for each in read(corpus / "out" / "train")] == ["a", "b", "c"]
    assert [each.utt for each in read(corpus / "out" / "dev")] == ["d"]
    about = json.loads((corpus / "out" / "recognizer.json").read_text())
    assert about == {"name": "ears", "pick": "total", "version": "1.0", "settings": {"model": None}}
    (corpus / "m.tsv").write_text("utt\taudio\na\ta.wav\n")
    with pytest.raises(InputError, match="the split has no name that a folder can have"):
        run(corpus, by_split=True)


def test_parts_of_a_recording(corpus: Path) -> None:
    soundfile.write(corpus / "long.wav", np.zeros((40 * 8000, 2)), 8000)
    (corpus / "m.tsv").write_text(
        "utt\taudio\tstart\tend\tchannel\nx\tlong.wav\t0\t3.5\t1\ny\tlong.wav\t36\t\t2\nz\tlong.wav\t38.5\t40.1\t\n"
    )
    run(corpus)
    assert {each.utt: each.text for each in read(corpus / "out")} == {
        "x": "one two three",
        "y": "one two three four",
        "z": "one",
    }


def test_parts_that_are_not_there(corpus: Path) -> None:
    for times in ("1000\t1005", "0\t500"):
        (corpus / "m.tsv").write_text(f"utt\taudio\tstart\tend\nx\tb.wav\t{times}\n")
        with pytest.raises(InputError, match=r"utterance x: it should go on until \d+ s, but the file has 3\.20 s"):
            run(corpus)


def test_a_bad_answer_is_told_and_not_kept(corpus: Path) -> None:
    for model in ("mad", "wrong", "odd"):
        with pytest.raises(InputError, match="utterance a"):
            recognize_corpus(
                read_manifest(corpus / "m.tsv"), f"ears={model}", corpus / "out", jobs=1, problems=Problems(),
                by_split=False, watch=lambda _: None,
            )  # fmt: skip
        assert len(journal_path(corpus / "out").read_text().splitlines()) == 1
    with pytest.raises(InputError, match="no utterance is left"):
        recognize_corpus(
            read_manifest(corpus / "m.tsv"), "ears=odd", corpus / "out", jobs=1, problems=Problems(skip=True),
            by_split=False, watch=lambda _: None,
        )  # fmt: skip


def test_what_is_too_long_or_unreadable(corpus: Path) -> None:
    soundfile.write(corpus / "b.wav", np.zeros(31 * 8000), 8000)
    (corpus / "c.wav").write_bytes(b"this is no audio")
    with pytest.raises(InputError, match=r"b\.wav, utterance b: longer than 30 s"):
        run(corpus)
    assert not (corpus / "out").exists()
    done, problems = run(corpus, skip=True)
    assert (done.utterances, [error.utt for error in problems.errors]) == (2, ["b", "c"])
    assert [each.utt for each in read(corpus / "out")] == ["a", "d"]


def test_it_goes_on_where_it_was(corpus: Path) -> None:
    def stop(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recognize_corpus(
            read_manifest(corpus / "m.tsv"), "ears", corpus / "out", jobs=1, problems=Problems(), by_split=False,
            watch=stop,
        )  # fmt: skip
    assert journal_path(corpus / "out").exists()
    done, _ = run(corpus)
    assert (done.utterances, done.resumed) == (4, 1)
    assert [each.utt for each in read(corpus / "out")] == ["a", "b", "c", "d"]


def test_on_the_command_line(corpus: Path) -> None:
    words = ["recognize", str(corpus / "m.tsv"), "--recognizer", "ears", "--jobs", "2", "--out", str(corpus / "s")]
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout == f"{corpus / 's'}: 4 utterances by ears 1.0\n"
    assert len(read(corpus / "s")) == 4
    with pytest.raises(OptionError, match="one recognizer at a time"):
        CliRunner().invoke(cli, [*words, "--recognizer", "ears,ears=x"], catch_exceptions=False)
    with pytest.raises(OptionError, match="there is no folder"):
        CliRunner().invoke(cli, [*words, "--out", str(corpus / "no" / "s")], catch_exceptions=False)
    (corpus / "full").mkdir()
    (corpus / "full" / "thesis.txt").touch()
    with pytest.raises(OptionError, match="is there already, and is no store"):
        CliRunner().invoke(cli, [*words, "--out", str(corpus / "full")], catch_exceptions=False)
