"""Lattices as HTK writes them, with words on links; several utterances follow each other in one file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from pathlib import Path

from ...base.files import atomic_text
from ...lattices.lattice import Lattice, Lattices
from ..format import WriteOptions
from .header import WRITTEN_BY_US

_FIELDS = {"acoustic": "a", "transition": "l", "posterior": "p"}
_NEEDS_QUOTES = re.compile(r"[\x00-\x20\\]|^[\"']|^$")
_NEEDS_ESCAPE = re.compile(r"[\x00-\x1f\"\\]")


def write(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:  # noqa: ARG001  # times are seconds
    """Write all utterances to one file."""
    with atomic_text(path) as file:
        for batch in batches:
            for lattice in batch:
                file.write(_text(lattice))


def _text(lattice: Lattice) -> str:
    scales = lattice.scales
    times = enumerate(lattice.time.tolist())
    return "\n".join((
        WRITTEN_BY_US.decode(),
        "VERSION=1.0",
        f"UTTERANCE={quoted(lattice.utt)}",
        f"base={math.e!r}",
        f"lmscale={scales.transition!r} wdpenalty={scales.word_penalty!r} acscale={scales.acoustic!r}",
        f"start=0 end={lattice.nodes - 1}",
        f"N={lattice.nodes} L={lattice.arcs}",
        *(f"I={node} t={time!r}" for node, time in times),
        *_links(lattice),
        "",
    ))  # fmt: skip


def _links(lattice: Lattice) -> Iterable[str]:
    ends = zip(lattice.source.tolist(), lattice.target.tolist(), strict=True)
    lines = [f"J={link} S={source} E={target}" for link, (source, target) in enumerate(ends)]
    labels: dict[tuple[str, str], str] = {}
    columns = [[_label(pair, labels) for pair in zip(lattice.surfaces, lattice.words, strict=True)]]
    for name, field in _FIELDS.items():
        values = getattr(lattice, name)
        if values is not None:  # single precision, in as few digits as give the same number again
            columns.append([f"{field}={value}" for value in values.astype(str).tolist()])
    return map(" ".join, zip(lines, *columns, strict=True))


def _label(pair: tuple[str, str], labels: dict[tuple[str, str], str]) -> str:
    """W= and the surface form, or the word where it has none (the second of those that "21" stands for)."""
    label = labels.get(pair)
    if label is None:
        surface, word = pair
        label = labels[pair] = f"W={quoted(surface or word or '!NULL')}"
    return label


def quoted(text: str) -> str:
    """A value that HTK reads as `text`: in quotes, with escapes, where it needs them."""
    if not _NEEDS_QUOTES.search(text):
        return text
    escaped = _NEEDS_ESCAPE.sub(lambda match: _escape(match[0]), text)
    return f'"{escaped}"'


def _escape(character: str) -> str:
    return f"\\{ord(character):03o}" if ord(character) < 32 else f"\\{character}"
