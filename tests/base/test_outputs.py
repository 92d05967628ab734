"""Files that appear whole or not at all."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from wordtrust.base.errors import OptionError
from wordtrust.base.files import atomic, atomic_text


def test_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.bin"
    path.write_bytes(b"old")
    with atomic(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "out.txt.gz"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_text(path) as file:
        file.write(f"half {1 / 0}")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_packed_files_depend_on_nothing_but_their_content(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        with atomic_text(tmp_path / name) as file:
            file.write("naïve\n")
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()).decode() == "naïve\n"
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_half_characters(tmp_path: Path) -> None:
    with atomic_text(tmp_path / "a") as file:
        file.write("a\ud800b\r\n")
    assert (tmp_path / "a").read_bytes() == b"a?b\r\n"


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be written: No such file"), atomic(tmp_path / "no" / "out"):
        pass
    (tmp_path / "folder").mkdir()
    with pytest.raises(OptionError, match="cannot be written: Is a directory"), atomic(tmp_path / "folder"):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
