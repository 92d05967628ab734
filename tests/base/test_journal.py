"""Journals: what was finished is there after a kill at any byte, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.errors import OptionError
from wordtrust.base.journal import Journal

WORK = {"audio": "talk.wav"}
PIECES: dict[str, Any] = {"a": {"text": "one\ntwo"}, "b": [1, 2.5, None], "ä ü": "drei"}


def write(path: Path) -> bytes:
    with Journal(path, WORK) as journal:
        for name, piece in PIECES.items():
            journal.add(name, piece)
    return path.read_bytes()


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
    path.write_bytes(kept + noise.replace(b"\n", b" "))
    whole = max(0, kept.count(b"\n") - 1)
    with Journal(path, WORK) as journal:
        assert list(journal) == list(PIECES)[:whole]
        journal.add("z", 1)
    with Journal(path, WORK) as journal:
        assert list(journal) == [*list(PIECES)[:whole], "z"]
        assert journal["z"] == 1


def test_other_work_begins_anew(tmp_path: Path) -> None:
    write(tmp_path / "j")
    with Journal(tmp_path / "j", {"audio": "other.wav"}) as journal:
        assert (journal.resumed, list(journal)) == (0, [])
    with Journal(tmp_path / "j", WORK) as journal:
        assert list(journal) == []


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be written"), Journal(tmp_path / "no" / "j", WORK):
        pass
