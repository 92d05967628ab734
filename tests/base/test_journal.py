"""Journals: what was finished is there after a kill at any byte, and nothing else."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.journal import Journal, journal_path

WORK = {"audio": "talk.wav"}
PIECES: dict[str, Any] = {"a": {"text": "one\ntwo"}, "b": [1, 2.5, None], "ä ü": "drei"}


def write(out: Path) -> bytes:
    with Journal(out, WORK) as journal:
        for name, piece in PIECES.items():
            journal.add(name, piece)
    return journal_path(out).read_bytes()


def test_pieces_are_there_again(tmp_path: Path) -> None:
    write(tmp_path / "j")
    with Journal(tmp_path / "j", WORK) as journal:
        assert (journal.resumed, list(journal)) == (3, list(PIECES))
        assert {name: journal[name] for name in journal} == PIECES
        journal.add("c", "more")
        assert ("c" in journal, journal["c"], journal["a"]) == (True, "more", PIECES["a"])
        journal.remove()
    assert list(tmp_path.iterdir()) == []


@given(cut=st.integers(0, 200), noise=st.binary(max_size=10))
def test_a_file_cut_anywhere_gives_its_whole_pieces(
    tmp_path_factory: pytest.TempPathFactory, cut: int, noise: bytes
) -> None:
    path = tmp_path_factory.mktemp("j") / "j"
    data = write(path)
    kept = data[:cut]
    journal_path(path).write_bytes(kept + noise.replace(b"\n", b" "))
    whole = max(0, kept.count(b"\n") - 1)
    with Journal(path, WORK) as journal:
        assert list(journal) == list(PIECES)[:whole]
        journal.add("z", 1)
    with Journal(path, WORK) as journal:
        assert list(journal) == [*list(PIECES)[:whole], "z"]
        assert journal["z"] == 1


def test_any_text_is_kept(tmp_path: Path) -> None:
    """Half characters too, which no encoding has; and the file is one that others may read, but not run."""
    texts = {"\ud800": "\udfff x", "\u2028": "\x00\x1b[2J", "": ""}
    with Journal(tmp_path / "j", {"file": "\ud800.wav"}) as journal:
        for name, text in texts.items():
            journal.add(name, text)
    with Journal(tmp_path / "j", {"file": "\ud800.wav"}) as journal:
        assert journal.resumed == 3
        assert {name: journal[name] for name in journal} == texts
        assert journal.path.read_bytes().isascii()
        assert journal.path.stat().st_mode & 0o111 == 0


def test_a_journal_says_at_once_which_work_it_is(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", WORK) as journal:
        assert json.loads(journal.path.read_bytes()) == {"wordtrust journal": 1, "work": WORK}


def test_the_order_of_what_describes_the_work_does_not_matter(tmp_path: Path) -> None:
    with Journal(tmp_path / "j", {"a": 1, "b": 2}) as journal:
        journal.add("piece", 5)
    with Journal(tmp_path / "j", {"b": 2, "a": 1}) as journal:
        assert journal["piece"] == 5


@pytest.mark.parametrize(
    "line", [b'{"name": 5, "piece": 1}', b'{"name": "x"}', b"[1]", b"[" * 100_000, b"\xff", b"null"]
)
def test_what_is_no_piece_ends_the_journal(tmp_path: Path, line: bytes) -> None:
    write(tmp_path / "j")
    path = journal_path(tmp_path / "j")
    whole = path.read_bytes()
    path.write_bytes(whole + line + b"\n" + b'{"name": "later", "piece": 1}\n')
    with Journal(tmp_path / "j", WORK) as journal:
        assert list(journal) == list(PIECES)
    assert path.read_bytes() == whole


def test_other_work_begins_anew(tmp_path: Path) -> None:
    write(tmp_path / "j")
    with Journal(tmp_path / "j", {"audio": "other.wav"}) as journal:
        assert (journal.resumed, list(journal)) == (0, [])
    with Journal(tmp_path / "j", WORK) as journal:
        assert list(journal) == []


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be written"), Journal(tmp_path / "no" / "j", WORK):
        pass


def test_a_journal_is_no_file_that_a_link_leads_to(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    journal_path(tmp_path / "out").symlink_to(precious)
    with pytest.raises(OptionError, match=r"\.out\.heard: .* is no journal"), Journal(tmp_path / "out", WORK):
        pass
    journal_path(tmp_path / "out").unlink()
    journal_path(tmp_path / "out").hardlink_to(precious)
    with pytest.raises(OptionError, match="is no journal"), Journal(tmp_path / "out", WORK):
        pass
    assert precious.read_text() == "keep me"


@pytest.mark.parametrize("content", ["notes\nmore\n", "x" * 1000, '{"name": "a", "piece": 1}\n'])
def test_a_file_that_is_no_journal_stays(tmp_path: Path, content: str) -> None:
    journal_path(tmp_path / "out").write_text(content)
    with pytest.raises(OptionError, match="is no journal"), Journal(tmp_path / "out", WORK):
        pass
    assert journal_path(tmp_path / "out").read_text() == content


def test_a_pipe_in_its_place_is_no_journal(tmp_path: Path) -> None:
    os.mkfifo(journal_path(tmp_path / "out"))
    with pytest.raises(OptionError, match="is no journal"), Journal(tmp_path / "out", WORK):
        pass


def test_two_processes_never_mix_their_pieces(tmp_path: Path) -> None:
    with Journal(tmp_path / "out", WORK) as journal:
        journal.add("a", 1)
        with pytest.raises(OptionError, match="another wordtrust process is writing it"):
            Journal(tmp_path / "out", WORK).__enter__()
        journal.add("b", 2)
        journal.remove()
    with Journal(tmp_path / "out", WORK) as journal:  # the lock went with the file
        assert list(journal) == []


def test_a_piece_that_another_program_moved_is_not_taken_for_another(tmp_path: Path) -> None:
    with Journal(tmp_path / "out", WORK) as journal:
        journal.add("a", "first")
        journal.add("b", "other")
        data = journal.path.read_bytes()
        journal.path.write_bytes(data.replace(b'"a"', b'"x"'))
        with pytest.raises(InputError, match="another program wrote to it"):
            journal["a"]
        assert journal["b"] == "other"


def test_a_journal_that_is_gone_already_is_removed_without_a_word(tmp_path: Path) -> None:
    with Journal(tmp_path / "out", WORK) as journal:
        journal.path.unlink()
        journal.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_piece_that_does_not_fit_is_not_there(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with Journal(tmp_path / "out", WORK) as journal:
            journal.add("a", 1)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
            with pytest.raises(OptionError, match="cannot be written: File too large"):
                journal.add("b", "x" * 10_000)
            assert list(journal) == ["a"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def test_a_full_disk_is_said_in_a_line_and_what_was_kept_is_there_again(tmp_path: Path) -> None:
    script = f"""
import resource, signal
from pathlib import Path
from wordtrust.base.journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
with Journal(Path({str(tmp_path / "out")!r}), {WORK!r}) as journal:
    journal.add("a", 1)
    journal.add("b", "x" * 10_000)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "OptionError" in ended.stderr.splitlines()[-1]
    assert "cannot be written: File too large" in ended.stderr
    with Journal(tmp_path / "out", WORK) as journal:
        assert list(journal) == ["a"]
