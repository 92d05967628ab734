"""Files that appear whole or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wordtrust.base.errors import OptionError
from wordtrust.base.files import atomic, atomic_folder, atomic_text


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


def test_a_folder_replaces_the_old_one_with_all_that_is_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "model"
    for name in ("old", "new"):
        with atomic_folder(folder) as draft:
            (draft / name).write_text(name)
            assert name == "old" or (folder / "old").exists()
    assert [path.name for path in folder.iterdir()] == ["new"]
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.parametrize("moment", ["while it is written", "when the old one stepped aside"])
def test_a_folder_stays_as_it_was_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    folder, real = tmp_path / "model", os.replace
    folder.mkdir()
    (folder / "old").write_text("old")

    def fail(source: Path, target: Path) -> None:
        if target == folder and not source.name.endswith(".old"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises((OptionError, ZeroDivisionError)) as error, atomic_folder(folder) as draft:
        (draft / "new").write_text(f"{1 / (moment != 'while it is written')}")
    assert (
        error.type is ZeroDivisionError or str(error.value) == f"{folder}: cannot be written: No space left on device"
    )
    assert [path.name for path in folder.iterdir()] == ["old"]
    assert list(tmp_path.iterdir()) == [folder]


def _noting(events: list[str], name: str, function: Callable[..., None]) -> Callable[..., None]:
    def noted(*arguments: object) -> None:
        events.append(name)
        function(*arguments)

    return noted


def test_content_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, _noting(events, name, getattr(os, name)))
    with atomic(tmp_path / "file") as file:
        file.write(b"x")
    with atomic_folder(tmp_path / "folder") as draft:
        (draft / "a").write_bytes(b"a")
        (draft / "b").write_bytes(b"b")
    assert events == ["fsync", "replace", "fsync", "fsync", "replace"]
