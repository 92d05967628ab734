"""A journal of long work, so that it can be resumed after an interrupt or a kill: finished pieces, one line each.

The first line says which work it is; the journal of other work is begun anew. A piece whose line was cut off is done
again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from .errors import OptionError

_KIND = "wordtrust journal"


class Journal:
    """Finished pieces by name. Only their offsets in the file are kept in memory.

        with Journal(path, {"audio": ..., "recognizer": ...}) as journal:
            if "piece 7" not in journal:
                journal.add("piece 7", {...})
            journal["piece 7"]

    The file stays when the block ends: `remove` it when the work is done.
    """

    def __init__(self, path: Path, work: Mapping[str, Any]) -> None:
        self.path = path
        self._head = json.dumps({_KIND: 1, "work": work}, ensure_ascii=True, sort_keys=True).encode() + b"\n"
        self._offsets: dict[str, int] = {}
        self._file: BinaryIO | None = None
        self.resumed = 0  # pieces that were there already

    def __enter__(self) -> Self:
        try:
            self._file = self.path.open("r+b" if self.path.is_file() else "x+b")
            self._resume()
        except OSError as error:
            raise OptionError(f"{self.path}: cannot be written: {error.strerror}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def __contains__(self, name: str) -> bool:
        return name in self._offsets

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def __getitem__(self, name: str) -> Any:
        assert self._file is not None
        self._file.seek(self._offsets[name])
        return json.loads(self._file.readline())["piece"]

    def add(self, name: str, piece: Any) -> None:
        """Keep a finished piece; it is in the file when this returns."""
        assert self._file is not None
        self._offsets[name] = self._file.seek(0, 2)
        self._file.write(json.dumps({"name": name, "piece": piece}, ensure_ascii=True).encode() + b"\n")
        self._file.flush()

    def remove(self) -> None:
        """Delete the file."""
        if self._file is not None:
            self._file.close()
        self.path.unlink(missing_ok=True)

    def _resume(self) -> None:
        """Find the pieces that are there; what comes after the last whole line is cut off."""
        assert self._file is not None
        end = 0
        if self._file.readline() == self._head:
            end = self._file.tell()
            while (name := _name(self._file.readline())) is not None:
                self._offsets[name] = end
                end = self._file.tell()
        self.resumed = len(self._offsets)
        self._file.seek(end)
        self._file.truncate()
        if not end:
            self._file.write(self._head)
            self._file.flush()


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
