"""Kaldi lattices in binary, CompactLattice and Lattice, single or double precision: archives, and single lattices.

What Kaldi's decoders write by default (`ark:lat.1`). `kaldi_fst` describes the bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from ...base.errors import InputError
from ...lattices.assemble import Problems
from ...lattices.lattice import Lattices
from ..ahead import ahead, pieces
from ..base import Format, ReadOptions
from ..inputs import Stream
from . import fst
from .archive import Archive, Batch
from .common import Reading

NAME = "kaldi-binary"
_PIECE = 1 << 22
_BEGINNING = re.compile(rb"(?:[^\s\0]{1,%d} (?:\0B)?)?%s" % (fst.MAX_KEY, re.escape(fst.MAGIC)))


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # all formats are asked alike
    """OpenFst's magic number, alone or after a name, and arcs of a lattice."""
    found = _BEGINNING.match(head)
    if not found:
        return 0.0
    header = fst.read_header(head[found.end() - len(fst.MAGIC) :])
    return 1.0 if isinstance(header, fst.Header) else 0.3


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """Lattices of a binary file, batch by batch."""
    reading = Reading(stream.name, options, problems, form=NAME, place="byte")
    for item in _batches(stream, reading):
        if isinstance(item, InputError):
            problems.report(item)
        else:
            yield from reading.lattices(item.found(reading))


def _batches(stream: Stream, reading: Reading) -> Iterator[Batch | InputError]:
    """A file in batches. If it is not a small one, threads unpack and parse while the last batch is worked on."""
    source = pieces(stream, _PIECE)
    first = next(source, b"")
    if len(first) < _PIECE:
        return iter(Archive(iter([first]), reading, stream.stem))
    return ahead(iter(Archive(chain([first], ahead(source)), reading, stream.stem)))


FORMAT = Format(name=NAME, title="Kaldi binary lattices", suffixes=(), sniff=sniff, read=read)
