"""Bytes of an input file, whatever it is packed in, read once from front to back, never more than asked for.

Files, folders, globs, tar and zip archives become a row of streams; gzip, bzip2 and xz are unpacked on the way,
recognised by their first bytes. Whatever goes wrong with the bytes becomes an `InputError` that names file and place.
"""

from __future__ import annotations

import glob
import io
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ..base.errors import InputError
from ..base.problems import Problems
from .archives import tar_members, zip_members
from .unpacking import BYTE_ERRORS, Budget, packed_as, unpacker

HEAD = 1 << 16
CHUNK = 1 << 22
MAX_LINE = 1 << 28  # a longer one is not a text file
MAX_DOCUMENT = 1 << 30
STORE_FILE = "store.json"  # marks a folder as a store
_MEMBER = 4096  # bytes that a file in an archive counts for, however small it is
_SIDE_FILES = ("recognizer.json", "words.txt", "words.txt.gz", "symbols.txt")


class Stream:
    """The unpacked bytes of one input. `head` looks ahead; `read`, `lines` and `document` consume."""

    def __init__(
        self,
        raw: BinaryIO,
        name: str,
        path: Path,
        watch: Callable[[int], None] | None = None,
        *,
        budget: Budget | None = None,
    ) -> None:
        self.name = name  # for messages: the path, or archive:member
        self.path = path  # on disk; of the archive for its members
        self.folder = ""  # that was named instead of this file, if one was
        self.budget = budget or Budget()  # of the file, shared by all that is unpacked from it
        self._raw = raw
        own = self.budget.read if budget is None else None
        self._watches = [told for told in (watch, own) if told is not None]
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
        """All that is left at once, at most `limit` bytes; if it is JSON, its values fit into the memory."""
        parts, size = [], 0
        for chunk in self.chunks():
            parts.append(chunk)
            size += len(chunk)
            if size > limit:
                raise self.error(f"the file is larger than {limit:,} bytes unpacked", remedy="Split it by utterance")
        return self._checked(b"".join(parts))

    def _checked(self, text: bytes) -> bytes:
        try:
            self.budget.check_json(text)
        except InputError as error:
            raise error.at(file=self.name) from None
        return text

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Numbered lines (from 1), without their line ends; if they are JSON, their values fit into the memory."""
        line_number, parts, size = 0, list[bytes](), 0
        for chunk in self.chunks():
            parts.append(chunk)
            size += len(chunk)
            if b"\n" not in chunk:
                if size > MAX_LINE:
                    place = f"line {line_number + 1}"
                    raise self.error("a line is longer than 268 MB", place=place, remedy="Is this a text file?")
                continue
            *whole, rest = b"".join(parts).split(b"\n")
            parts, size = [rest], len(rest)
            for line in whole:
                line_number += 1
                yield line_number, self._checked(line.removesuffix(b"\r"))
        if size:
            yield line_number + 1, self._checked(b"".join(parts).removesuffix(b"\r"))

    def error(self, found: str, *, utt: str = "", place: str = "", remedy: str = "") -> InputError:
        """An error about this input."""
        return InputError(found, file=self.name, utt=utt, place=place, remedy=remedy)

    def close(self) -> None:
        """Let go of the file."""
        self._raw.close()

    def _fetch(self, size: int) -> bytes:
        try:
            data = self._raw.read(size)
        except InputError as error:
            raise error.at(file=self.name) from None
        except (*BYTE_ERRORS, zipfile.BadZipFile) as error:
            self._ended = True
            raise self.error(
                f"cannot be read on: {str(error) or type(error).__name__}",
                place=f"byte {self._offset} of the unpacked data",
                remedy="The file is cut off or damaged; copy or make it again",
            ) from None
        self._offset += len(data)
        self._ended = not data
        try:
            for told in self._watches:
                told(len(data))
        except InputError as error:
            raise error.at(file=self.name) from None
        return data


def unpacked(
    raw: BinaryIO,
    name: str,
    path: Path,
    watch: Callable[[int], None] | None = None,
    *,
    budget: Budget | None = None,
) -> Stream:
    """A stream over `raw`, through gzip, bzip2 or xz where its first bytes say so, bounded by a `budget`."""
    stream = Stream(raw, name, path, watch, budget=budget)
    for _ in range(2):  # packed twice happens; more is an attack
        kind = packed_as(stream.head(8))
        if kind is None:
            return stream
        budget = stream.budget
        stream = Stream(unpacker(kind, stream.read), name, path, budget.unpack, budget=budget)
    return stream


def streams(
    paths: Iterable[str | Path], problems: Problems | None = None, watch: Callable[[int], None] | None = None
) -> Iterator[Stream]:
    """All inputs that `paths` (files, folders, globs) name, archives opened. Use each before asking for the next.

    What cannot be opened goes to `problems`, and the rest still comes.
    """
    problems = problems or Problems()
    for given in paths:
        try:
            files = [(path, file) for path in _named(given) for file in _files(path)]
        except InputError as error:
            problems.report(error)
            continue
        for path, file in files:
            try:
                for stream in _inside(file, problems, watch):
                    stream.folder = "" if file == path else str(path)
                    yield stream
            except InputError as error:
                problems.report(error)


def listed_paths(paths: Any) -> list[str | Path]:
    """One path, or several, as Python code gives them; anything else is a TypeError that says what to do."""
    given = [paths] if isinstance(paths, str | Path) else paths
    if isinstance(given, list | tuple | set | frozenset | Iterator):
        given = list(given)
        if all(isinstance(path, str | Path) for path in given):
            return given
        paths = next(path for path in given if not isinstance(path, str | Path))
    raise TypeError(
        f"the name of a file, folder or pattern is needed, or a list of these, not {type(paths).__name__}; "
        "N-best lists in Python become lattices with wt.from_nbest"
    )


def side_files(given: str | Path) -> list[Path]:
    """The files that a path, folder or pattern stands for, with what lies beside them and says how to read them."""
    try:
        files = [
            file
            for name in _named(given)
            for path in _files(name)
            for file in (sorted(_entries(path)) if path.is_dir() else [path])
        ]
    except InputError:
        return []
    beside = {file.parent / name for file in files for name in _SIDE_FILES}
    return [*files, *sorted(file for file in beside if file.is_file())]


def _named(given: str | Path) -> list[Path]:
    """The files and folders that a user names, by a path or a pattern."""
    if os.path.exists(given):  # unlike the methods of a path, this takes any name
        return [Path(given)]
    matches = [] if "\0" in str(given) else sorted(Path(name) for name in glob.glob(str(given), recursive=True))
    if not matches:
        raise InputError("no such file, folder or pattern", file=str(given), remedy="Check the path")
    return [match for match in matches if not _is_odd(match)]


def _files(path: Path) -> list[Path]:
    """The file, the store, or the files and stores in the folder."""
    if not os.path.isdir(path) or (path / STORE_FILE).is_file():
        return [path]
    return _folder(path)


def _folder(folder: Path) -> list[Path]:
    files: list[Path] = []
    for entry in sorted(_entries(folder)):
        if entry.name.startswith(".") or entry.name in _SIDE_FILES or _is_odd(entry):
            continue
        files += _files(entry) if entry.is_dir() else [entry]
    return files


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(folder)) from None


def _is_odd(path: Path) -> bool:
    """Whether this is a device, pipe or socket, which is read only where a user names it."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


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
            yield from _of_zip(path, problems)
        elif stream.head(512)[257:262] == b"ustar":
            yield from _of_tar(stream, problems)
        else:
            yield stream


def _of_tar(archive: Stream, problems: Problems) -> Iterator[Stream]:
    """The files in a tar archive; what they are packed to was counted when the archive was read."""
    try:
        for name, file in tar_members(archive.read):
            yield from _member(file, name, archive.path, problems, archive.budget, None)
    except InputError as error:
        raise error.at(file=archive.name) from None


def _of_zip(path: Path, problems: Problems) -> Iterator[Stream]:
    """The files in a zip archive, which may all stand for the same bytes of it."""
    try:
        budget = Budget(path.stat().st_size)
        for name, file in zip_members(path, problems.report):
            yield from _member(file, name, path, problems, budget, budget.unpack)
    except InputError as error:
        raise error.at(file=str(path)) from None


def _member(
    file: BinaryIO, name: str, path: Path, problems: Problems, budget: Budget, watch: Callable[[int], None] | None
) -> Iterator[Stream]:
    budget.unpack(_MEMBER)
    try:
        stream = unpacked(file, f"{path}:{name}", path, watch, budget=budget)
    except InputError as error:
        problems.report(error)
    else:
        yield stream
