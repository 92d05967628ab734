"""Bytes of an input file, whatever it is packed in, read once from front to back, never more than asked for.

Files, folders, globs, tar and zip archives become a row of streams; gzip, bzip2 and xz are unpacked on the way,
recognised by their first bytes. Whatever goes wrong with the bytes becomes an `InputError` that names file and place.
"""

from __future__ import annotations

import bz2
import glob
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from isal.isal_zlib import IsalError

from ..base.errors import InputError
from ..base.problems import Problems

HEAD = 1 << 16
CHUNK = 1 << 22
MAX_LINE = 1 << 28  # a longer one is not a text file
MAX_DOCUMENT = 1 << 30
STORE_FILE = "store.json"  # marks a folder as a store
_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz"}
_SIDE_FILES = ("recognizer.json", "words.txt", "words.txt.gz", "symbols.txt")
_ISAL_ERROR = cast("type[Exception]", IsalError)  # its stub has the type wrong
_BYTE_ERRORS = (
    OSError, EOFError, RuntimeError, zlib.error, _ISAL_ERROR, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile,
)  # fmt: skip


class Stream:
    """The unpacked bytes of one input. `head` looks ahead; `read`, `lines` and `document` consume."""

    def __init__(self, raw: BinaryIO, name: str, path: Path, watch: Callable[[int], None] | None = None) -> None:
        self.name = name  # for messages: the path, or archive:member
        self.path = path  # on disk; of the archive for its members
        self._raw = raw
        self._watch = watch
        self._buffer = b""
        self._offset = 0  # bytes fetched so far
        self._ended = False

    @property
    def stem(self) -> str:
        """The file's name without folders and endings: the utterance, where a file holds one."""
        name = self.name.replace("\\", "/").rpartition(":")[2].rpartition("/")[2]
        for packed in (".gz", ".bz2", ".xz"):
            name = name.removesuffix(packed)
        stem, _, suffix = name.rpartition(".")
        return stem if stem and suffix else name  # as pathlib has it, which takes five times as long

    def head(self, size: int = HEAD) -> bytes:
        """The first bytes that are left, without consuming them."""
        while len(self._buffer) < size and not self._ended:
            self._buffer += self._fetch(size - len(self._buffer))
        return self._buffer[:size]

    def read(self, size: int = CHUNK) -> bytes:
        """Up to `size` bytes, b"" at the end."""
        if self._buffer:
            taken, self._buffer = self._buffer[:size], self._buffer[size:]
            return taken
        return b"" if self._ended else self._fetch(size)

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """All that is left, piece by piece."""
        while chunk := self.read(size):
            yield chunk

    def pieces(self, size: int) -> Iterator[bytes]:
        """All that is left in pieces of exactly `size` bytes; only the last one is smaller."""
        while piece := self._piece(size):
            yield piece
            if len(piece) < size:
                return

    def _piece(self, size: int) -> bytes:
        parts, left = [], size
        while left and (part := self.read(left)):
            parts.append(part)
            left -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def document(self, limit: int = MAX_DOCUMENT) -> bytes:
        """All that is left at once, at most `limit` bytes."""
        parts, size = [], 0
        for chunk in self.chunks():
            parts.append(chunk)
            size += len(chunk)
            if size > limit:
                raise self.error(f"the file is larger than {limit:,} bytes unpacked", remedy="Split it by utterance")
        return b"".join(parts)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Numbered lines (from 1), without their line ends."""
        line_number, rest = 0, b""
        for chunk in self.chunks():
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                line_number += 1
                yield line_number, line.removesuffix(b"\r")
            if len(rest) > MAX_LINE:
                raise self.error(
                    "a line is longer than 268 MB", place=f"line {line_number + 1}", remedy="Is this a text file?"
                )
        if rest:
            yield line_number + 1, rest.removesuffix(b"\r")

    def error(self, found: str, *, utt: str = "", place: str = "", remedy: str = "") -> InputError:
        """An error about this input."""
        return InputError(found, file=self.name, utt=utt, place=place, remedy=remedy)

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()

    def _fetch(self, size: int) -> bytes:
        try:
            data = self._raw.read(size)
        except _BYTE_ERRORS as error:
            self._ended = True
            raise self.error(
                f"cannot be read on: {str(error) or type(error).__name__}",
                place=f"byte {self._offset} of the unpacked data",
                remedy="The file is cut off or damaged; copy or make it again",
            ) from None
        self._offset += len(data)
        if self._watch:
            self._watch(len(data))
        self._ended = not data
        return data


def unpacked(raw: BinaryIO, name: str, path: Path, watch: Callable[[int], None] | None = None) -> Stream:
    """A stream over `raw`, through gzip, bzip2 or xz where its first bytes say so."""
    stream = Stream(raw, name, path, watch)
    for _ in range(2):  # packed twice happens; more is an attack
        kind = next((kind for magic, kind in _PACKED.items() if stream.head(8).startswith(magic)), None)
        if kind is None:
            return stream
        stream = Stream(_unpacker(kind, stream), name, path)
    return stream


class _Readable(io.RawIOBase):
    """A stream as a file object, for the libraries that unpack."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def _unpacker(kind: str, stream: Stream) -> BinaryIO:
    from isal import igzip

    file = cast(BinaryIO, _Readable(stream))
    if kind == "gzip":
        return cast(BinaryIO, igzip.IGzipFile(fileobj=file, mode="rb"))
    return cast(BinaryIO, bz2.BZ2File(file) if kind == "bzip2" else lzma.LZMAFile(file))


def streams(
    paths: Iterable[str | Path], problems: Problems | None = None, watch: Callable[[int], None] | None = None
) -> Iterator[Stream]:
    """All inputs that `paths` (files, folders, globs) name, archives opened. Use each before asking for the next.

    What cannot be opened goes to `problems`, and the rest still comes.
    """
    problems = problems or Problems()
    for given in paths:
        try:
            files = _files(given)
        except InputError as error:
            problems.report(error)
            continue
        for path in files:
            try:
                yield from _inside(path, problems, watch)
            except InputError as error:
                problems.report(error)


def side_files(given: str | Path) -> list[Path]:
    """The files that a path, folder or pattern stands for, with what lies beside them and says how to read them."""
    try:
        files = [file for path in _files(given) for file in (sorted(path.iterdir()) if path.is_dir() else [path])]
    except InputError:
        return []
    beside = {file.parent / name for file in files for name in _SIDE_FILES}
    return [*files, *sorted(file for file in beside if file.is_file())]


def _files(given: str | Path) -> list[Path]:
    path = Path(given)
    if path.is_dir():
        return [path] if (path / STORE_FILE).is_file() else _folder(path)
    if path.exists():
        return [path]
    matches = sorted(Path(name) for name in glob.glob(str(given), recursive=True))
    if not matches:
        raise InputError("no such file, folder or pattern", file=str(given), remedy="Check the path")
    return [file for match in matches for file in ([match] if match.is_file() else _files(match))]


def _folder(folder: Path) -> list[Path]:
    files: list[Path] = []
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(".") or entry.name in _SIDE_FILES:
            continue
        files += _files(entry) if entry.is_dir() else [entry]
    return files


def _inside(path: Path, problems: Problems, watch: Callable[[int], None] | None) -> Iterator[Stream]:
    if path.is_dir():  # a store: its reader opens the files
        yield Stream(io.BytesIO(), str(path), path)
        return
    try:
        raw = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(path)) from None
    with raw:
        stream = unpacked(raw, str(path), path, watch)
        if stream.head(4) == b"PK\x03\x04":
            yield from _members(_zip_members(path), path, problems)
        elif stream.head(512)[257:262] == b"ustar":
            yield from _members(_tar_members(stream), path, problems)
        else:
            yield stream


def _members(files: Iterator[tuple[str, BinaryIO]], path: Path, problems: Problems) -> Iterator[Stream]:
    for name, file in files:
        try:
            stream = unpacked(file, f"{path}:{name}", path)
        except InputError as error:
            problems.report(error)
        else:
            yield stream


def _tar_members(stream: Stream) -> Iterator[tuple[str, BinaryIO]]:
    try:
        with tarfile.open(fileobj=cast(BinaryIO, _Readable(stream)), mode="r|") as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() else None
                if file is not None:
                    yield member.name, cast(BinaryIO, file)
    except tarfile.TarError as error:
        raise stream.error(f"the tar archive is damaged: {error}", remedy="Make it again") from None


def _zip_members(path: Path) -> Iterator[tuple[str, BinaryIO]]:
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.is_dir():
                    with archive.open(member) as file:
                        yield member.filename, cast(BinaryIO, file)
    # NotImplementedError is zipfile's answer to a way of packing that it does not know, RuntimeError to a password.
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise InputError(f"the zip archive cannot be read: {error}", file=str(path), remedy="Make it again") from None
