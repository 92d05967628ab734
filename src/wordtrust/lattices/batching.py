"""Lattices as people hold them (one, a batch, a list of either) as batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .lattice import Lattice, Lattices

SomeLattices = Lattice | Lattices | Iterable[Lattice | Lattices]


def as_batches(lattices: SomeLattices) -> Iterator[Lattices]:
    """Batch after batch; anything else is a TypeError that says what to do."""
    if isinstance(lattices, Lattices):
        yield lattices
    elif isinstance(lattices, Lattice):
        yield lattices.batch()
    elif isinstance(lattices, str | bytes | dict) or not isinstance(lattices, Iterable):
        raise _wrong_type(lattices)
    else:
        for member in lattices:
            if not isinstance(member, Lattice | Lattices):
                raise _wrong_type(member)
            yield from as_batches(member)


def reject_transcripts(value: object) -> None:
    """Transcripts, which people have in their hands as well, are no lattices."""
    first = value[0] if isinstance(value, list | tuple) and value else value
    if hasattr(first, "to_ctm"):
        raise TypeError('lattices are needed, and these are transcripts: they are written with .save("words.srt")')


def _wrong_type(value: object) -> TypeError:
    reject_transcripts(value)
    remedy = "files are read with wt.read, N-best lists in Python with wt.from_nbest"
    return TypeError(f"lattices are needed, not {type(value).__name__}: {remedy}")
