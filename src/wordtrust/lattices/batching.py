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


def _wrong_type(value: object) -> TypeError:
    remedy = "files are read with wt.read, N-best lists in Python with wt.from_nbest"
    if hasattr(value, "to_ctm"):
        remedy = 'this has its words already: .save("words.srt") writes them'
    return TypeError(f"lattices are needed, not {type(value).__name__}: {remedy}")
