"""--overwrite means the same in all verbs: without it nothing that is there is replaced."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.command_line import refused, run
from wordtrust.base.locks import claimed
from wordtrust.cli import cli

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "src" / "wordtrust" / "sample"
CORPUS = SAMPLE / "corpus"
LATTICES = SAMPLE / "lattices" / "flite-slt-0[1-3].slf.gz"
WORDS = CORPUS / "moonshine-tiny" / "eval.jsonl.gz"
REFERENCES = CORPUS / "refs.tsv"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with networks, and words with confidences."""
    folder = tmp_path_factory.mktemp("made")
    run("build", WORDS, "--ref", REFERENCES, "--scales", "moonshine-tiny", "--out", folder / "networks")
    run("score", "moonshine-tiny", WORDS, "--out", folder / "words.ctm")
    return folder


def commands(made: Path, out: Path) -> dict[str, tuple[object, ...]]:
    """For each output of a verb, a command that writes `out`."""
    networks = made / "networks"
    pair = [f"a={made / 'words.ctm'}", f"b={made / 'words.ctm'}", "--ref", REFERENCES]
    return {
        "score": ("score", "moonshine-tiny", WORDS, "--out", out.with_suffix(".jsonl")),
        "convert to a file": ("convert", LATTICES, out.with_suffix(".ctm")),
        "convert to a store": ("convert", LATTICES, out, "--to", "store"),
        "tune": ("tune", WORDS, "--ref", REFERENCES, "--out", out),
        "build": ("build", LATTICES, "--out", out),
        "evaluate": ("evaluate", networks, "--report", out.with_suffix(".html")),
        "evaluate with figures": ("evaluate", networks, "--report", made / "r.html", "--figures", out),
        "calibrate scores": ("calibrate", "--scores", made / "words.ctm", "--ref", REFERENCES, "--out", out),
        "calibrate a model": ("calibrate", "moonshine-tiny", networks, "--out", out),
        "adapt": ("adapt", "generic", networks, "--out", out),
        "combine": ("combine", *pair, "--transcripts", out.with_suffix(".ctm")),
        "train a pack": ("train", networks, "--dev", networks, "--pack", out),
    }


NAMES = list(commands(Path(), Path("out")))


def test_every_verb_that_writes_has_the_option() -> None:
    writes = {"-o", "--out", "--report", "--transcripts", "--pack"}
    for name, verb in cli.commands.items():
        options = {option for parameter in verb.params for option in parameter.opts}
        if options & writes and name not in ("study", "demo"):  # which go on with the folder that they made
            assert "--overwrite" in options, name


def content(path: Path) -> object:
    return sorted(path.iterdir()) if path.is_dir() else path.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_there_is_replaced_only_when_that_is_said(made: Path, tmp_path: Path, name: str) -> None:
    command = commands(made, tmp_path / "out")[name]
    run(*command)
    (path,) = tmp_path.iterdir()
    before = content(path)
    stamp = path.stat().st_mtime_ns, path.stat().st_ino
    if name == "evaluate with figures":
        (made / "r.html").unlink()
    assert "--overwrite" in refused(*command)
    assert (content(path), (path.stat().st_mtime_ns, path.stat().st_ino)) == (before, stamp)
    run(*command, "--overwrite")
    assert content(path) == before or name in ("evaluate", "calibrate a model")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["score", "convert to a file", "evaluate", "combine"])
def test_a_file_of_somebody_else_stays(made: Path, tmp_path: Path, name: str) -> None:
    command = commands(made, tmp_path / "out")[name]
    path = next(Path(str(word)) for word in reversed(command) if str(word).startswith(str(tmp_path)))
    path.write_text("mine")
    assert "is there already" in refused(*command)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["convert to a store", "build", "calibrate a model", "adapt"])
def test_a_folder_of_other_files_stays_whatever_is_said(made: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    assert "no " in refused(*commands(made, tmp_path / "out")[name], "--overwrite")
    assert [path.name for path in tmp_path.rglob("*")] == ["out", "notes.txt"]


def test_a_forgotten_output_costs_no_input(tmp_path: Path) -> None:
    """`wordtrust convert *.ctm` takes the last of them for the output."""
    for name in ("a.ctm", "b.ctm"):
        (tmp_path / name).write_text("utt 1 0.00 0.50 word 0.9\n")
    assert "b.ctm: is there already" in refused("convert", tmp_path / "a.ctm", tmp_path / "b.ctm")


def test_devices_and_pipes_need_no_permission(made: Path, tmp_path: Path) -> None:
    run("score", "moonshine-tiny", WORDS, "--out", "/dev/null")
    run("convert", LATTICES, "/dev/null", "--to", "ctm")
    run("evaluate", made / "networks", "--report", "/dev/null")
    assert Path("/dev/null").is_char_device()
    os.mkfifo(tmp_path / "pipe.ctm")
    heard: list[str] = []
    listener = threading.Thread(target=lambda: heard.append((tmp_path / "pipe.ctm").read_text()))
    listener.start()
    run("convert", LATTICES, tmp_path / "pipe.ctm")
    listener.join()
    run("convert", LATTICES, tmp_path / "file.ctm")
    assert heard == [(tmp_path / "file.ctm").read_text()]
    assert (tmp_path / "pipe.ctm").is_fifo()


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "words.ctm").symlink_to(tmp_path / "real.ctm")
    run("convert", LATTICES, tmp_path / "words.ctm")
    assert (tmp_path / "words.ctm").is_symlink()
    assert "flite-slt-01 1 " in (tmp_path / "real.ctm").read_text()
    (tmp_path / "words.store").symlink_to(tmp_path / "real")
    run("convert", LATTICES, tmp_path / "words.store")
    assert (tmp_path / "words.store").is_symlink()
    assert (tmp_path / "real" / "store.json").is_file()


def test_training_data_have_one_writer(made: Path, tmp_path: Path) -> None:
    out = tmp_path / "data.safetensors"
    with claimed(out):
        said = refused("train", made / "networks", "--dev", made / "networks", "--pack", out)
    assert "another wordtrust process is writing it" in said


def test_what_another_process_wrote_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the first look at a place and the lock of it."""
    out = tmp_path / "a.jsonl"

    @contextmanager
    def claimed_after_another(path: Path) -> Iterator[None]:
        path.write_text("theirs")
        with claimed(path):
            yield

    monkeypatch.setattr("wordtrust.cli.options.claimed", claimed_after_another)
    assert "is there already" in refused("convert", LATTICES, out)
    assert out.read_text() == "theirs"


def test_a_model_that_another_training_made_meanwhile_stays(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While this one read its data."""
    pytest.importorskip("torch")
    out = tmp_path / "model"

    def read_while_another_ends(*_args: object) -> None:
        run("calibrate", "moonshine-tiny", made / "networks", "--out", out)

    monkeypatch.setattr("wordtrust.training.prepare.read_training_data", read_while_another_ends)
    assert "--overwrite" in refused("train", made / "networks", "--dev", made / "networks", "--out", out)
