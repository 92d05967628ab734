"""Archives that lie about themselves: one clear line, and neither endless loops nor endless memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import struct
import tarfile
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.shared import SHARED
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats import unpacking
from wordtrust.formats.archives import tar_members
from wordtrust.formats.inputs import Stream, streams, unpacked

LATTICE = b'{"wordtrust": 1, "utt": "u", "time": [0, 1], "source": [0], "target": [1], "word": ["a"]}\n'
OCTAL_SIZE, CHECKSUM, KIND = slice(124, 136), slice(148, 156), 156


def tar_header(name: bytes = b"a", kind: bytes = b"0", size: bytes = b"00000000000\0") -> bytes:
    block = bytearray(512)
    block[: len(name)] = name
    block[OCTAL_SIZE] = size
    block[KIND] = ord(kind)
    block[257:265] = b"ustar  \0"
    block[CHECKSUM] = b" " * 8
    block[CHECKSUM] = b"%06o\0 " % sum(block)
    return bytes(block)


def read_all(path: Path, problems: Problems | None = None) -> dict[str, bytes]:
    return {stream.name: stream.document() for stream in streams([path], problems)}


def refusal(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_all(path)
    assert caught.value.file.startswith(str(path))
    return str(caught.value)


member_names = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=90).filter(
    lambda name: name not in (".", "..")
)


@given(
    st.lists(st.tuples(member_names, st.integers(0, 3), st.binary(max_size=1500)), max_size=4),
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_tar_archives_are_read_as_they_were_written(files: list[tuple[str, int, bytes]], form: int) -> None:
    made = io.BytesIO()
    expected = []
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for name, depth, data in files:
            member = tarfile.TarInfo("/".join([name] * (depth + 1)))  # long ones take headers of their own
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
            expected.append((member.name, data))
            archive.addfile(tarfile.TarInfo("folder/"))
    found = [(name, file.read()) for name, file in tar_members(io.BytesIO(made.getvalue()).read)]
    assert found == expected


def test_members_that_are_not_read_are_passed_over() -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in ("deep/" * 25 + "a", "b"):
            member = tarfile.TarInfo(name)
            member.size = 3000
            archive.addfile(member, io.BytesIO(bytes(3000)))
    assert [name for name, _ in tar_members(io.BytesIO(made.getvalue()).read)] == ["deep/" * 25 + "a", "b"]


@pytest.mark.parametrize("kind", [b"0", b"Z", b"L", b"x", b"5"])
@pytest.mark.parametrize(
    "size", [b"\x80\0\0\0@\0\0\0\0\0\0\0", b"\xff" * 12, b"26264057000\0", b"00077777777\0", b"9x"]
)
def test_a_tar_that_lies_about_a_size_ends(kind: bytes, size: bytes, tmp_path: Path) -> None:
    text = refusal(
        tmp_path / "lie.tar", tar_header(kind=kind, size=size.ljust(12, b"\0")) + LATTICE.ljust(512, b"\0")
    )
    assert "cut off" in text or "no proper size" in text or "a name or header of" in text


@pytest.mark.parametrize(
    "field",
    [b"13 size=abc\n", b"30 size=99999999999999999999\n", b"size=1\n", b"999 size=1\n", b"-5 size=1\n", b"7 a=b\n"],
)
def test_a_pax_header_that_is_none(field: bytes, tmp_path: Path) -> None:
    header = tar_header(kind=b"x", size=b"%011o\0" % len(field)) + field.ljust(512, b"\0")
    text = refusal(tmp_path / "pax.tar", header + tar_header() + bytes(1024))
    assert "pax header has the wrong form" in text or "no proper size" in text


def test_sparse_files_are_refused(tmp_path: Path) -> None:
    assert "a in the tar archive is a sparse file" in refusal(tmp_path / "a.tar", tar_header(kind=b"S"))


def test_a_header_with_another_checksum(tmp_path: Path) -> None:
    data = bytearray(tar_header())
    data[3] = 7
    assert "wrong checksum" in refusal(tmp_path / "a.tar", bytes(data))


def zip_with(name: bytes, data: bytes = LATTICE) -> bytearray:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x" * len(name), data)
    return bytearray(made.getvalue().replace(b"x" * len(name), name))


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (42, struct.pack("<I", 0xFFFFFFF0)),  # the offset of the member
        (42, struct.pack("<I", 3)),
        (8, struct.pack("<H", 1)),  # a password
        (10, struct.pack("<H", 99)),  # a way of packing that nobody knows
        (10, struct.pack("<H", 14)),  # LZMA, and the data are not
        (6, struct.pack("<H", 255)),  # the version that is needed
        (46, b"\0\0"),  # the name
    ],
)
def test_a_zip_that_lies(at: int, value: bytes, tmp_path: Path) -> None:
    data = zip_with(b"ab")
    entry = data.index(b"PK\x01\x02")
    data[entry + at : entry + at + len(value)] = value
    refusal(tmp_path / "a.zip", bytes(data))


def test_a_zip_with_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    data = zip_with(b"\xe9a")
    entry = data.index(b"PK\x01\x02")
    data[entry + 8 : entry + 10] = struct.pack("<H", 0x800)
    assert "the zip archive cannot be read" in refusal(tmp_path / "a.zip", bytes(data))


def test_a_bad_member_does_not_lose_the_others(tmp_path: Path) -> None:
    path = tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bad", LATTICE)
        archive.writestr("good", LATTICE)
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 42] = 9
    path.write_bytes(bytes(data))
    problems = Problems(skip=True)
    assert read_all(path, problems) == {f"{path}:good": LATTICE}
    assert [error.file for error in problems.errors] == [f"{path}:bad"]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_what_unpacks_to_too_much_is_refused(pack: Callable[[bytes], bytes]) -> None:
    packed = pack(bytes(40_000_000))
    stream = unpacked(io.BytesIO(packed), "x.gz", Path("x.gz"))
    with pytest.raises(InputError, match=r"x\.gz: [\d,]+ bytes unpack to more than [\d,]+.*unpack it first"):
        stream.document()


def test_all_members_and_layers_count(tmp_path: Path) -> None:
    inner = gzip.compress(bytes(unpacking.FREE // 2))
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in "abc":
            archive.writestr(f"{name}.gz", inner)
    found: list[str] = []

    def read_on() -> None:
        for stream in streams([path]):
            stream.document()
            found.append(stream.name)

    with pytest.raises(InputError, match="bytes unpack to more than"):
        read_on()
    assert len(found) == 2


def test_what_real_data_pack_to_is_read() -> None:
    text = os.urandom(1_000_000) * 30  # packs 30 times smaller, and comes to more than what is free
    packed = lzma.compress(text, preset=1)
    assert len(packed) < len(text) / 28
    assert len(text) > unpacking.FREE
    assert unpacked(io.BytesIO(packed), "x.xz", Path("x.xz")).document() == text


@pytest.mark.parametrize("values", [b"{}," * 6_000_000, b"1," * 9_000_000])
def test_json_that_would_fill_the_memory_is_refused(values: bytes) -> None:
    text = b'["' + os.urandom(300_000).hex().encode() + b'",' + values + b"0]"  # the first part does not pack well
    packed = gzip.compress(text, 1)
    for read in (Stream.document, lambda stream: list(stream.lines())):
        with pytest.raises(InputError, match=r"hold JSON that needs [0-9,]+ MB of memory"):
            read(unpacked(io.BytesIO(packed), "x.json.gz", Path("x.json.gz")))
        assert read(unpacked(io.BytesIO(text), "x.json", Path("x.json")))  # it is as large as it looks


@pytest.mark.parametrize("make", [bz2.compress, lzma.compress])
def test_packed_streams_one_after_the_other(make: Callable[[bytes], bytes]) -> None:
    padding = b"" if make is bz2.compress else bytes(8)
    packed = make(b"one ") + padding + make(b"two ") + make(b"") + make(b"three") + padding
    assert unpacked(io.BytesIO(packed), "x", Path("x")).document() == b"one two three"
    assert unpacked(io.BytesIO(packed + b"rest"), "x", Path("x")).document() == b"one two three"
    with pytest.raises(InputError, match="ends in the middle"):
        unpacked(io.BytesIO(packed[: len(make(b"one ")) - 3]), "x", Path("x")).document()


def test_xz_with_an_enormous_window() -> None:
    packed = lzma.compress(LATTICE, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}])
    assert unpacked(io.BytesIO(packed), "x", Path("x")).document() == LATTICE
    packed = lzma.compress(LATTICE, filters=[{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1 << 28}])
    with pytest.raises(InputError, match="cannot be read on"):
        unpacked(io.BytesIO(packed), "x", Path("x")).document()


def test_pipes_and_devices_in_folders_are_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "null.jsonl").symlink_to("/dev/null")
    (tmp_path / "a.jsonl").write_bytes(LATTICE)
    assert list(read_all(tmp_path)) == [str(tmp_path / "a.jsonl")]
    assert list(read_all(Path(f"{tmp_path}/*.jsonl"))) == [str(tmp_path / "a.jsonl")]


@pytest.mark.parametrize("packed", [LATTICE, gzip.compress(LATTICE)], ids=["plain", "packed"])
def test_a_pipe_that_is_named_is_read(packed: bytes, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(packed,))
    writer.start()
    assert list(read_all(tmp_path / "pipe").values()) == [LATTICE]
    writer.join()


def test_a_zip_in_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(bytes(zip_with(b"a")),))
    writer.start()
    with pytest.raises(InputError, match="a zip archive cannot be read from a pipe"):
        read_all(tmp_path / "pipe")
    writer.join()


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "x/" * 3000])
def test_a_name_that_no_file_can_have(name: str) -> None:
    with pytest.raises(InputError, match="no such file, folder or pattern"):
        list(streams([name]))


@pytest.mark.skipif(not (SHARED / "hostile").is_dir(), reason="needs ../shared")
@pytest.mark.parametrize(
    "name",
    [
        "bomb.tar.xz",
        "cdoff.zip",
        "empty.zip",
        "name.zip",
        "pax.tar",
        "hang.tar",
        "hang2.tar",
        "b.json.gz",
        "v.jsonl.gz",
    ],
)
def test_files_of_an_attack(name: str) -> None:
    with pytest.raises(InputError):
        read_all(SHARED / "hostile" / name)
