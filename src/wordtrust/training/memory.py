"""Memory for training on the processor."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's numbers for mallopt
_NEVER = 2**31 - 1


def keep_freed_memory() -> None:
    """Let this process keep what it frees, until it ends.

    Every batch of training takes and frees the same hundreds of megabytes. glibc gives arrays of that size back to
    the system at once, and having them again costs a page fault for each 4 KB: a fifth of the time of training.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:  # other C libraries have none
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, _NEVER)
