"""Where bytes come from: files, folders, globs, archives, packed or damaged."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats.inputs import Stream, streams, unpacked

DATA = b"one\ntwo\r\nthree"


def names(*paths: Path | str) -> dict[str, bytes]:
    return {stream.name: stream.document() for stream in streams(paths)}


def in_memory(data: bytes, name: str = "x") -> Stream:
    return unpacked(io.BytesIO(data), name, Path(name))


@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, bz2.compress, lzma.compress, lambda data: gzip.compress(gzip.compress(data))]
)
def test_packing_is_seen_in_the_bytes(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    (tmp_path / "no-ending").write_bytes(pack(DATA))
    assert names(tmp_path / "no-ending") == {str(tmp_path / "no-ending"): DATA}


def test_folders_are_walked_in_order_without_side_files(tmp_path: Path) -> None:
    for name in ("b.lat", "a/z.lat", ".hidden", "words.txt", "recognizer.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(DATA)
    assert list(names(tmp_path)) == [str(tmp_path / "a/z.lat"), str(tmp_path / "b.lat")]
    assert list(names(f"{tmp_path}/*.lat")) == [str(tmp_path / "b.lat")]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_tar_members(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "lattices.tar"
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in (("a.slf", DATA), ("deep/b.slf.gz", gzip.compress(DATA))):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    assert names(path) == {f"{path}:a.slf": DATA, f"{path}:deep/b.slf.gz": DATA}


def test_zip_members(tmp_path: Path) -> None:
    path = tmp_path / "lattices.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.slf", DATA)
        archive.writestr("deep/b.slf.gz", gzip.compress(DATA))
    assert names(path) == {f"{path}:a.slf": DATA, f"{path}:deep/b.slf.gz": DATA}


def test_a_missing_file_says_so() -> None:
    with pytest.raises(InputError, match=r"no-such-file\.lat: no such file, folder or pattern"):
        names("no-such-file.lat")


@pytest.mark.parametrize("cut", [15, 40, -1])
def test_a_cut_off_gzip_names_file_and_place(cut: int) -> None:
    with pytest.raises(InputError, match=r"cut.gz, byte \d+ of the unpacked data: cannot be read on"):
        in_memory(gzip.compress(DATA * 1000)[:cut], "cut.gz").document()


@pytest.mark.parametrize("data", [b"PK\x03\x04" + b"x" * 50, b"\x1f\x8b\x08" + b"x" * 50, b"BZh9" + b"x" * 50])
def test_damaged_archives_give_our_error(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(InputError):
        names(tmp_path / "bad")


def test_a_bomb_is_not_unpacked_whole() -> None:
    stream = in_memory(gzip.compress(bytes(50_000_000)))
    with pytest.raises(InputError, match="larger than 1,000,000 bytes"):
        stream.document(limit=1_000_000)


@given(st.binary(max_size=200), st.integers(1, 50))
def test_lines_are_those_of_the_plain_way(data: bytes, head: int) -> None:
    stream = Stream(io.BytesIO(data), "x", Path("x"))
    assert stream.head(head) == data[:head]
    expected = [line.removesuffix(b"\r") for line in data.split(b"\n")]
    if expected[-1] == b"" and not data.endswith(b"\r"):
        expected.pop()
    assert [line for _, line in stream.lines()] == expected


@pytest.mark.parametrize(
    ("name", "stem"),
    [("a/b.slf.gz", "b"), ("x.tar:deep/utt-1.lat", "utt-1"), ("plain", "plain"), ("a.b.c", "a.b"), (".gz", "")],
)
def test_stem_names_the_utterance(name: str, stem: str) -> None:
    assert Stream(io.BytesIO(), name, Path(name)).stem == stem


def test_bytes_are_watched(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(DATA))
    seen: list[int] = []
    for stream in streams([tmp_path / "a.gz"], watch=seen.append):
        stream.document()
    assert sum(seen) == (tmp_path / "a.gz").stat().st_size


def test_what_cannot_be_opened_does_not_lose_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "some.tar"
    with tarfile.open(path, "w") as archive:
        for name, data in (("bad.gz", gzip.compress(DATA)[:12]), ("good", DATA)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    (tmp_path / "bad.gz").write_bytes(gzip.compress(DATA)[:12])
    problems = Problems(skip=True)
    found = [stream.name for stream in streams(["missing", tmp_path / "bad.gz", path], problems)]
    assert found == [f"{path}:good"]
    assert [error.file for error in problems.errors] == ["missing", str(tmp_path / "bad.gz"), f"{path}:bad.gz"]


@pytest.mark.parametrize("size", [1, 3, 10, 11, 100])
def test_pieces_are_of_the_size_that_is_asked_for(size: int) -> None:
    stream = Stream(io.BytesIO(b"0123456789"), "x", Path("x"))
    stream.head(4)
    found = list(stream.pieces(size))
    assert b"".join(found) == b"0123456789"
    assert all(len(piece) == size for piece in found[:-1])
