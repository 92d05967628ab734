"""What of a study is done: every step leaves its output and a line here, so that a killed run goes on where it was.

A step is done when what it makes is there and was made from the same inputs. To do a step again, delete its output.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path
from time import monotonic
from typing import Any

from ..base.errors import InputError, OptionError
from ..base.files import atomic_text

Tell = Callable[[str], None]


def key_of(*inputs: object) -> str:
    """A short name for what a step depends on."""
    return sha256(repr(inputs).encode()).hexdigest()[:16]


def file_key(files: Iterable[str | Path]) -> str:
    """A name for what files are called and hold; where they lie, and since when, does not matter."""
    return key_of(sorted((path.name, _digest(path)) for path in map(Path, files)))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def contents_key(files: Sequence[Path]) -> str:
    """A name for what is in files; one that is not there counts as such."""
    try:
        return key_of([_digest(path) if path.is_file() else None for path in files])
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(files[0].parent)) from None


class Steps:
    """The steps of a study by name, kept in one small file."""

    def __init__(self, file: Path, tell: Tell) -> None:
        self.tell = tell
        self._file = file
        self._known = _read(file)

    @property
    def seconds(self) -> dict[str, float]:
        """How long each took, over all runs."""
        return {name: round(float(each["seconds"]), 3) for name, each in self._known.items() if each["seconds"]}

    def is_done(self, name: str, key: str, outputs: Sequence[Path]) -> bool:
        """Whether a step was finished from these inputs, and what it made is still there."""
        known = self._known.get(name, {})
        return known.get("key") == key and bool(known.get("done")) and all(path.exists() for path in outputs)

    def run(self, name: str, key: str, outputs: Sequence[Path], work: Callable[[], object]) -> None:
        """Do a step, unless it is done."""
        if not self.is_done(name, key, outputs):
            self.tell(f"{name} ...")
            with self._timed(name, key):
                work()

    def adopt(self, name: str, key: str, outputs: Sequence[Path]) -> bool:
        """Whether what a step makes is there already, from here or from another machine.

        What was made here from something else is an `OptionError`: it took hours, so only the user throws it away.
        """
        known = self._known.get(name, {})
        if any(path.exists() for path in outputs) and known.get("key", key) != key:
            there = next(path for path in outputs if path.exists())
            raise OptionError(
                f"{there}: was made from other data or with other options; delete the models in "
                f"{there.parent.parent}, or name another folder with --out"
            )
        if all(path.exists() for path in outputs):
            return True
        self._record(name, key, 0.0, done=False)
        return False

    @contextmanager
    def _timed(self, name: str, key: str) -> Iterator[None]:
        began, same = monotonic(), self._known.get(name, {}).get("key") == key
        before = float(self._known[name]["seconds"]) if same else 0.0
        self._record(name, key, before, done=False)
        try:
            yield
        except BaseException:
            self._record(name, key, before + monotonic() - began, done=False)
            raise
        self._record(name, key, before + monotonic() - began, done=True)

    def _record(self, name: str, key: str, seconds: float, *, done: bool) -> None:
        self._known[name] = {"key": key, "seconds": seconds, "done": done}
        with atomic_text(self._file) as file:
            file.write(json.dumps(self._known, indent=1) + "\n")


def _read(file: Path) -> dict[str, dict[str, Any]]:
    """What earlier runs did; a damaged file means that nothing is known."""
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(name): each for name, each in found.items() if _is_step(each)}


def _is_step(found: object) -> bool:
    return isinstance(found, dict) and isinstance(found.get("seconds"), (int, float)) and "key" in found
