"""A journal of long work, so that it can be resumed after an interrupt or a kill: finished pieces, one line each.

The first line says which work it is; the journal of other work is begun anew. A piece whose line was cut off is done
again. The file is locked while it is open, so that no two processes mix their pieces in it, and it is never one that
a link leads to or that has another name as well: a file that is no journal is not touched.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from .errors import InputError, OptionError
from .locks import companion, is_still_at, lock_file

_KIND = "wordtrust journal"
_START = f'{{"{_KIND}": '.encode()
_NOFOLLOW, _NONBLOCK = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)


class Journal:
    """Finished pieces by name. Only their offsets in the file are kept in memory.

        with Journal(out, {"audio": ..., "recognizer": ...}) as journal:
            if "piece 7" not in journal:
                journal.add("piece 7", {...})
            journal["piece 7"]

    `out` is what the work will make; the journal is a hidden file beside it (`journal_path`). It stays when the block
    ends: `remove` it when the work is done.
    """

    def __init__(self, out: Path, work: Mapping[str, Any]) -> None:
        self.path = journal_path(out)
        self._out = out
        self._head = json.dumps({_KIND: 1, "work": work}, ensure_ascii=True, sort_keys=True).encode() + b"\n"
        self._offsets: dict[str, int] = {}
        self._file: BinaryIO | None = None
        self.resumed = 0  # pieces that were there already

    def __enter__(self) -> Self:
        try:
            self._file = self._open()
            self._resume(self._file)
        except OSError as error:
            self._close()
            raise self._failed(error) from None
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def __contains__(self, name: str) -> bool:
        return name in self._offsets

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def __getitem__(self, name: str) -> Any:
        assert self._file is not None
        self._file.seek(self._offsets[name])
        line = self._file.readline()
        if _name(line) != name:
            found = "another program wrote to it: a piece is not where it was"
            raise InputError(found, file=str(self.path), remedy="Remove it and start again")
        return json.loads(line)["piece"]

    def add(self, name: str, piece: Any) -> None:
        """Keep a finished piece; it is in the file when this returns."""
        assert self._file is not None
        try:
            offset = self._file.seek(0, 2)
            self._file.write(json.dumps({"name": name, "piece": piece}, ensure_ascii=True).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from None
        self._offsets[name] = offset

    def remove(self) -> None:
        """Delete the file, before others can lock it."""
        self.path.unlink(missing_ok=True)
        self._close()

    def _open(self) -> BinaryIO:
        """The file, locked; one that its last owner removed meanwhile is opened again."""
        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | _NOFOLLOW | _NONBLOCK, 0o666)
            try:
                facts = os.fstat(descriptor)
                if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
                    raise self._not_ours()
                lock_file(descriptor, self._out)
                if is_still_at(descriptor, self.path):
                    return os.fdopen(descriptor, "r+b")
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _resume(self, file: BinaryIO) -> None:
        """Find the pieces that are there; what comes after the last whole line is cut off."""
        first, end = file.readline(), 0
        is_cut = not first.endswith(b"\n") and len(first) < len(self._head)
        if not first.startswith(_START) and not is_cut:
            raise self._not_ours()
        if first == self._head:
            end = file.tell()
            while (name := _name(file.readline())) is not None:
                self._offsets[name] = end
                end = file.tell()
        self.resumed = len(self._offsets)
        file.seek(end)
        file.truncate()
        if not end:
            file.write(self._head)
            file.flush()

    def _close(self) -> None:
        if self._file is not None:
            with suppress(OSError):  # what could not be written has been said by then
                self._file.close()

    def _failed(self, error: OSError) -> OptionError:
        if os.path.islink(self.path):
            return self._not_ours()
        return OptionError(f"{self.path}: cannot be written: {error.strerror or error}")

    def _not_ours(self) -> OptionError:
        return OptionError(f"{self.path}: finished work would be kept here, but this is no journal; remove it")


def journal_path(out: Path) -> Path:
    """Where finished pieces are kept until all are done: beside the output."""
    return companion(Path(os.path.realpath(out)), ".heard")


def _name(line: bytes) -> str | None:
    """The name of the piece on a line; None if it is no whole line of ours."""
    if not line.endswith(b"\n"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    name = record.get("name") if isinstance(record, dict) and "piece" in record else None
    return name if isinstance(name, str) else None
