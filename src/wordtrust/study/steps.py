"""The steps of a study that are done: each leaves its output and a line here, so that a killed run can go on.

A step is done if its output exists and was made from the same inputs. To repeat a step, delete its output.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path
from time import monotonic
from typing import Any

from ..base import json_checks
from ..base.errors import InputError, OptionError
from ..base.files import atomic_text


def write_json(path: Path, record: Any) -> None:
    """Write figures, whole or not at all; what is not a finite number becomes null."""
    with atomic_text(path) as file:
        file.write(json.dumps(_plain(record), ensure_ascii=False, allow_nan=False) + "\n")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_json(path: Path) -> dict[str, Any]:
    """Read what `write_json` wrote."""
    try:
        record = json_checks.load(path)
    except (OSError, InputError) as error:
        found = error.found if isinstance(error, InputError) else error.strerror
        raise InputError(f"cannot be read: {found}", file=str(path), remedy="Delete it and start again") from None
    if not isinstance(record, dict):
        raise InputError("these are no figures", file=str(path), remedy="Delete it and start again")
    return record


Notify = Callable[[str], None]


def key_of(*inputs: object) -> str:
    """A short key for what a step depends on."""
    return sha256(repr(inputs).encode()).hexdigest()[:16]


def file_key(files: Iterable[str | Path]) -> str:
    """A key for the names and contents of files; their folders and times do not matter."""
    return key_of(sorted((path.name, _digest(path)) for path in map(Path, files)))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def contents_key(files: Sequence[Path]) -> str:
    """A key for the contents of files; a missing file counts as missing."""
    try:
        return key_of([_digest(path) if path.is_file() else None for path in files])
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(files[0].parent)) from None


class Steps:
    """The steps of a study by name, kept in one small file."""

    def __init__(self, file: Path, notify: Notify) -> None:
        self.notify = notify
        self._file = file
        self._records = _read(file)

    @property
    def seconds(self) -> dict[str, float]:
        """How long each took, over all runs."""
        return {
            name: round(float(record["seconds"]), 3) for name, record in self._records.items() if record["seconds"]
        }

    def is_done(self, name: str, key: str, outputs: Sequence[Path]) -> bool:
        """Whether a step was finished from these inputs, and its outputs still exist."""
        record = self._records.get(name, {})
        return record.get("key") == key and bool(record.get("done")) and all(path.exists() for path in outputs)

    def run(self, name: str, key: str, outputs: Sequence[Path], work: Callable[[], object]) -> None:
        """Do a step unless it is done."""
        if not self.is_done(name, key, outputs):
            self.notify(f"{name} ...")
            with self._timed(name, key):
                work()

    def adopt(self, name: str, key: str, outputs: Sequence[Path]) -> bool:
        """Whether the outputs of a step exist already, made here or on another machine.

        Outputs that were made here from other inputs are an `OptionError`: they took hours, so only the user may
        delete them.
        """
        record = self._records.get(name, {})
        if any(path.exists() for path in outputs) and record.get("key", key) != key:
            path = next(path for path in outputs if path.exists())
            raise OptionError(
                f"{path}: was made from other data or with other options; delete the models in "
                f"{path.parent.parent}, or name another folder with --out"
            )
        if all(path.exists() for path in outputs):
            return True
        self._record(name, key, 0.0, done=False)
        return False

    @contextmanager
    def _timed(self, name: str, key: str) -> Iterator[None]:
        began, same = monotonic(), self._records.get(name, {}).get("key") == key
        before = float(self._records[name]["seconds"]) if same else 0.0
        self._record(name, key, before, done=False)
        try:
            yield
        except BaseException:
            self._record(name, key, before + monotonic() - began, done=False)
            raise
        self._record(name, key, before + monotonic() - began, done=True)

    def _record(self, name: str, key: str, seconds: float, *, done: bool) -> None:
        self._records[name] = {"key": key, "seconds": seconds, "done": done}
        with atomic_text(self._file) as file:
            file.write(json.dumps(self._records, indent=1) + "\n")


def _read(file: Path) -> dict[str, dict[str, Any]]:
    """The records of earlier runs; none if the file is damaged."""
    try:
        records = json_checks.load(file)
    except (OSError, InputError):
        return {}
    if not isinstance(records, dict):
        return {}
    return {str(name): record for name, record in records.items() if _is_step(record)}


def _is_step(record: object) -> bool:
    return isinstance(record, dict) and isinstance(record.get("seconds"), (int, float)) and "key" in record
