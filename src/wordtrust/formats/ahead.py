"""Reading ahead: the next piece of a file is fetched and unpacked while this one is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from .inputs import Stream


def pieces(stream: Stream, size: int) -> Iterator[bytes]:
    """All of a stream in pieces of `size` bytes, the last one smaller.

    A file of more than one piece is read by a second thread, one piece ahead; kernels and unpackers let go of the
    interpreter, so both cores work.
    """
    first = _piece(stream, size)
    if len(first) < size:
        if first:
            yield first
        return
    with ThreadPoolExecutor(1, "read-ahead") as reader:
        following = reader.submit(_piece, stream, size)
        yield first
        while piece := following.result():
            following = reader.submit(_piece, stream, size)
            yield piece


def _piece(stream: Stream, size: int) -> bytes:
    parts, left = [], size
    while left and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)
