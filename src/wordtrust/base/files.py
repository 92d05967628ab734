"""Files and folders that appear whole or not at all, whatever happens while they are written.

They are written under another name in the same folder, a draft, and renamed when they are finished. Before that, what
they hold is brought to the disk: a crash of the machine leaves the old ones or the new ones, never empty ones.
"""

from __future__ import annotations

import gzip
import io
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from .errors import OptionError


def require_parent(path: Path) -> None:
    """Refuse a path whose folder does not exist: asked before the work, not after it."""
    if not path.resolve().parent.is_dir():
        raise OptionError(f"{path}: there is no folder {path.resolve().parent}")


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """A binary file to write `path` through, packed with gzip when the name ends in .gz.

    When the block raises, nothing is left of the draft and what was at `path` before is untouched.
    """
    draft = draft_of(path)
    with _write_errors(path):
        try:
            with draft.open("xb") as raw:
                if path.suffix == ".gz":
                    # Without name and time in it, the same content gives the same bytes.
                    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                        yield cast(BinaryIO, packed)
                else:
                    yield raw
                raw.flush()
                os.fsync(raw.fileno())
            os.replace(draft, path)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


@contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """The same for text, in UTF-8 with plain line ends; what UTF-8 cannot hold (half characters) becomes `?`."""
    with atomic(path) as file:
        text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            text.detach()


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill in the place of `folder`, which it replaces with all that is in it.

    When the block raises, nothing is left of the draft and what was at `folder` before is untouched.
    """
    target = folder.resolve()
    draft = draft_of(target)
    with _write_errors(folder):
        try:
            draft.mkdir(parents=True)
            yield draft
            replace_folder(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)


def draft_of(path: Path, key: str | None = None) -> Path:
    """The name of a draft beside `path`: always the same with a `key`, else one that nobody has."""
    return path.with_name(f".{path.name}.{key or secrets.token_hex(4)}.part")


def replace_folder(draft: Path, folder: Path) -> None:
    """Rename the folder `draft` to `folder`; one that is there goes, or stays if an `OSError` is raised.

    A folder cannot be replaced in one step, so the old one steps aside.
    """
    for file in draft.rglob("*"):
        if file.is_file():
            sync(file)
    aside = draft.with_name(f"{draft.name}.old")
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)  # of a crash between these two steps
        os.replace(folder, aside)
    try:
        os.replace(draft, folder)
    except BaseException:
        if aside.exists():
            os.replace(aside, folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def sync(file: Path) -> None:
    """Bring to the disk what was written to a file."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """An error of the system while `path` is written is the user's: a wrong name, a full disk."""
    try:
        yield
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror or error}") from None
