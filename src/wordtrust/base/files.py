"""Files and folders that appear whole or not at all, whatever happens while they are written.

They are written under another name in the same folder, a draft, and renamed when they are finished. Before that, what
they hold is brought to the disk: a crash of the machine leaves the old ones or the new ones, never empty ones. While
one is written its target is locked (`base.locks`), so drafts that lie beside it are those of processes that were
killed, and are removed.

A symbolic link is written through: the link stays, the file that it leads to is replaced. Pipes, terminals,
/dev/null, /dev/stdout and /dev/fd/N are no files that could be replaced: what goes there is written as it comes.
"""

from __future__ import annotations

import ctypes
import errno
import gzip
import io
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from .errors import OptionError
from .locks import claimed, companion, locked

_DESCRIPTOR = re.compile(r"/dev/(?:(stdout)|(stderr)|fd/(\d{1,6}))|/proc/self/fd/(\d{1,6})")
STDOUT = Path("/dev/stdout")
_SHORT, _LONG = 8, 16  # hexadecimal digits in the names of drafts: passing ones, and those that can be resumed
_WORK = "key"  # the file that says which work a folder is of
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # Linux's numbers for renameat2


def require_parent(path: Path) -> None:
    """Refuse a path whose folder does not exist: asked before the work, not after it."""
    with _write_errors(path):
        parent = Path(os.path.realpath(path)).parent
        if not is_stream(path) and not parent.is_dir():
            raise OptionError(f"{path}: there is no folder {parent}")


def require_new(path: Path, *, overwrite: bool) -> None:
    """Refuse a path where something is that would be lost, unless it may be: asked before the work, not after it.

    Empty files and folders, and streams (`is_stream`), are no loss.
    """
    with _write_errors(path):
        if _aside(Path(os.path.realpath(path))).is_dir():
            with claimed(path):
                recover(path)
                remove_drafts(Path(os.path.realpath(path)))
        if overwrite or is_stream(path) or not os.path.lexists(path) or _is_empty(path):
            return
    raise OptionError(f"{path}: is there already; name another output, or replace it with --overwrite")


def _is_empty(path: Path) -> bool:
    """Whether nothing is lost with it; a link is what it leads to."""
    if path.is_dir():
        return not any(path.iterdir())
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def is_stdout(path: Path) -> bool:
    """Whether this names the standard output of this process."""
    match = _DESCRIPTOR.fullmatch(str(path))
    return match is not None and (match[1] is not None or "1" in (match[3], match[4]))


def is_stream(path: Path) -> bool:
    """Whether what is written there is gone at once: a pipe, a terminal, /dev/null, a descriptor."""
    if _DESCRIPTOR.fullmatch(str(path)):
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """A binary file to write `path` through, packed with gzip when the name ends in .gz.

    When the block raises, nothing is left of the draft and what was at `path` before is untouched. What goes to a
    stream (`is_stream`) goes there at once.
    """
    with _write_errors(path), _stream(path) if is_stream(path) else _draft_file(path) as raw:
        if path.suffix == ".gz":
            # Without name and time in it, the same content gives the same bytes.
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        else:
            yield raw


@contextmanager
def _stream(path: Path) -> Iterator[BinaryIO]:
    """A descriptor of this process goes on where it stands; other streams are opened."""
    match = _DESCRIPTOR.fullmatch(str(path))
    if match is None:
        with path.open("wb") as raw:
            yield raw
        return
    sys.stdout.flush()
    out, err, *number = match.groups()
    descriptor = os.dup(1 if out else 2 if err else int(number[0] or number[1]))
    with os.fdopen(descriptor, "wb") as raw:
        yield raw


@contextmanager
def _draft_file(path: Path) -> Iterator[BinaryIO]:
    target = _target_file(path)
    with locked(target) as was_left:
        if was_left:
            remove_drafts(target)
        draft = draft_of(target)
        try:
            with draft.open("xb") as raw:
                with suppress(OSError):  # who may read it stays as it was
                    os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
                yield raw
                raw.flush()
                os.fsync(raw.fileno())
            os.replace(draft, target)
        finally:
            with suppress(OSError):
                draft.unlink(missing_ok=True)


def _target_file(path: Path) -> Path:
    """The file that a path leads to, and that may be replaced."""
    _refuse_strangers_link(path)
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError("it is no regular file")
    return target


def _refuse_strangers_link(path: Path) -> None:
    """In a folder that everybody writes to (/tmp), a link may be a trap: there only our own is followed."""
    if path.is_symlink() and hasattr(os, "geteuid"):
        folder, owner = path.parent.stat(), path.lstat().st_uid
        is_shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
        if is_shared and owner not in (os.geteuid(), folder.st_uid):
            raise OSError("it is another user's link in a folder that everybody can write to")


@contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """The same for text, in UTF-8 with plain line ends; what UTF-8 cannot hold (half characters) becomes `?`."""
    with atomic(path) as file:
        text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            with suppress(OSError, ValueError):  # what could not be written has been said by then
                text.detach()


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """An empty folder to fill in the place of `folder`, which it replaces with all that is in it.

    When the block raises, nothing is left of the draft and what was at `folder` before is untouched.
    """
    with _write_errors(folder):
        target = Path(os.path.realpath(folder))
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target) as was_left:
            recover(target)
            if was_left:
                remove_drafts(target)
            draft = draft_of(target)
            try:
                draft.mkdir()
                yield draft
                replace_folder(draft, target)
            except OptionError as error:  # about a file in it: what people know is the folder
                raise OptionError(str(error).replace(str(draft), str(folder))) from None
            finally:
                shutil.rmtree(draft, ignore_errors=True)


def resume_folder(folder: Path, key: str) -> None:
    """Make a folder for work in progress, or go on with one that a killed run left, if it did the same (`key`)."""
    file = folder / _WORK
    with _write_errors(folder):
        if file.is_file() and file.read_text("utf-8", "replace") != key:
            raise OptionError(
                f"{folder}: an earlier run with other data or options was not finished; give its options again, or "
                "delete that folder"
            )
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_text(file) as written:
            written.write(key)


def draft_of(path: Path, key: str | None = None) -> Path:
    """The name of a draft beside `path`: always the same with a `key` (`resumable_key`), else a new one."""
    return companion(path, f".{key or secrets.token_hex(_SHORT // 2)}.part")


def resumable_key(work: object) -> str:
    """The key of a draft that a killed process leaves for the next one that does the same work."""
    return sha256(repr(work).encode()).hexdigest()[:_LONG]


def remove_drafts(target: Path, *, resumable: bool = False) -> None:
    """Remove what killed processes left beside a target that is locked: also what could be resumed, if so asked."""
    start, end = draft_of(target, "0" * _SHORT).name.rsplit("0" * _SHORT, 1)
    digits = f"[0-9a-f]{{{_SHORT}}}" + (f"|[0-9a-f]{{{_LONG}}}" if resumable else "")
    name = re.compile(f"{re.escape(start)}(?:{digits}){re.escape(end)}")
    with suppress(OSError):
        for draft in target.parent.iterdir():
            if name.fullmatch(draft.name):
                remove(draft)


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, as far as that is possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def replace_folder(draft: Path, folder: Path) -> None:
    """Rename the folder `draft` to `folder`, which is locked; one that is there goes, or stays on an `OSError`.

    In one step where the system can exchange two folders. Elsewhere the old one steps aside, and `recover` puts it
    back after a kill between the two steps.
    """
    for file in draft.rglob("*"):
        if file.is_file() and not file.is_symlink():
            sync(file)
    if not folder.exists():
        os.replace(draft, folder)
        return
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    with suppress(OSError):
        draft.chmod(stat.S_IMODE(folder.stat().st_mode))
    if _exchange(draft, folder):
        shutil.rmtree(draft, ignore_errors=True)
        return
    aside = _aside(folder)
    os.replace(folder, aside)
    try:
        os.replace(draft, folder)
    except BaseException:
        os.replace(aside, folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def recover(folder: Path) -> None:
    """Put back a folder that stepped aside for another one, when the process was killed right then."""
    folder = Path(os.path.realpath(folder))
    aside = _aside(folder)
    if not aside.is_dir() or aside.is_symlink():
        return
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
    else:
        os.replace(aside, folder)


def _aside(folder: Path) -> Path:
    return companion(folder, ".old")


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names in one step; False where the system or the file system cannot."""
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if sys.platform == "linux" else None
    if renameat2 is None:
        return False
    done = renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    if done != 0 and ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return bool(done == 0)


def sync(file: Path) -> None:
    """Bring to the disk what was written to a file."""
    with file.open("rb+") as opened:
        os.fsync(opened.fileno())


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """An error of the system while `path` is written is the user's: a wrong name, a full disk."""
    if "\0" in str(path):
        raise OptionError(f"{str(path)!r}: cannot be written: no name has a NUL in it")
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror or error}") from None
