"""One writer for each target: a lock beside it, which the system lets go of when a process dies, however it dies.

The lock is an advisory one (flock) on a hidden file `.NAME.lock`, which is removed afterwards; one that a killed
process left is taken over. Where a file system has no such locks (some network file systems), and on Windows, nothing
is locked. On NFS locks hold between machines if the server's lock daemon runs.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from .errors import OptionError

_LONGEST_NAME = 255  # bytes
_NOFOLLOW, _NONBLOCK = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_NONBLOCK", 0)
_guard = threading.Lock()
_held: dict[Path, _Lock] = {}  # by this process


class _Lock:
    """A lock that this process has."""

    def __init__(self, target: Path, *, writing: bool) -> None:
        self._file = companion(target, ".lock")
        try:
            self._descriptor, self.was_left = _acquire(self._file, target)
        except OSError as error:
            if self._file.is_symlink():
                raise _no_lock(self._file) from None
            raise OptionError(f"{target}: cannot be written: {error.strerror or error}") from None
        self.writing = writing

    def release(self) -> None:
        """Remove the file while it is locked, so that nobody can have it; one that was left is to be seen first."""
        if not self.was_left:
            with suppress(OSError):
                self._file.unlink()
        os.close(self._descriptor)


def companion(path: Path, ending: str) -> Path:
    """The hidden file or folder `.NAME` + `ending` beside `path`; a long name is cut, and gets a checksum."""
    name = path.name.encode("utf-8", "surrogateescape")
    if len(name) + len(ending) + 1 > _LONGEST_NAME:
        name = name[: 200 - len(ending)] + b"-" + sha256(name).hexdigest()[:16].encode()
        name = name.decode("utf-8", "ignore").encode()
    return path.with_name(f".{name.decode('utf-8', 'surrogateescape')}{ending}")


@contextmanager
def claimed(target: Path) -> Iterator[None]:
    """Keep other processes from a target, and other work of this one, from the beginning of long work to its end.

    Within, this process may write the target (`locked`). An `OptionError` if somebody is at work there.
    """
    target = Path(os.path.realpath(target))
    with _guard:
        if target in _held:
            raise busy(target)
        lock = _held[target] = _Lock(target, writing=False)
    try:
        yield
        lock.was_left = False
    finally:
        with _guard:
            del _held[target]
            lock.release()


@contextmanager
def locked(target: Path) -> Iterator[bool]:
    """Keep others from a target while it is written: once at a time, within work that claimed it or without.

    Gives whether a process that was killed left the lock, and maybe more, which is now to be removed.
    """
    target = Path(os.path.realpath(target))
    with _guard:
        lock = _held.get(target)
        if lock is not None and lock.writing:
            raise busy(target)
        is_mine = lock is None
        if lock is None:
            lock = _held[target] = _Lock(target, writing=True)
        lock.writing = True
    try:
        yield lock.was_left
    finally:
        with _guard:
            lock.writing = lock.was_left = False
            if is_mine:
                del _held[target]
                lock.release()


def busy(target: Path) -> OptionError:
    """What to say when the lock of a target is taken."""
    return OptionError(f"{target}: another wordtrust process is writing it; wait for it, or name another output")


def lock_file(descriptor: int, target: Path) -> None:
    """Lock an open file; an `OptionError` about `target` if another process has it."""
    if sys.platform == "win32":
        return
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise busy(target) from None
    except OSError:
        return  # a file system without locks


def is_still_at(descriptor: int, file: Path) -> bool:
    """Whether an open file has not been removed or replaced: its last owner does that before letting go."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(file))
    return False


def _acquire(file: Path, target: Path) -> tuple[int, bool]:
    """The locked file, and whether it was there."""
    while True:
        was_left = os.path.lexists(file)
        descriptor = _open(file)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _no_lock(file)
            lock_file(descriptor, target)
        except BaseException:
            os.close(descriptor)
            raise
        if is_still_at(descriptor, file):
            return descriptor, was_left
        os.close(descriptor)


def _no_lock(file: Path) -> OptionError:
    return OptionError(f"{file}: a lock would be here, but this is no regular file; remove it")


def _open(file: Path) -> int:
    try:
        return os.open(file, os.O_RDWR | os.O_CREAT | _NOFOLLOW | _NONBLOCK, 0o666)
    except PermissionError:
        if not file.is_file():
            raise
        return os.open(file, os.O_RDONLY | _NOFOLLOW | _NONBLOCK)  # another user's process left it
