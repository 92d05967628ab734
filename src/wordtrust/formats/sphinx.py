"""Lattices of the CMU Sphinx decoders in their own format (.lat), as PocketSphinx and Sphinx 3 write them.

A node is a word that starts in one frame and may end in several; an edge says that one word follows another, with the
acoustic score of the *first* of them in logarithms of a base close to 1. So each edge becomes an arc with the word of
the node it leaves. -424242 x 1024 stands for edges that PocketSphinx could not score; it is kept (see `htk`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..base.errors import InputError
from ..base.problems import Problems
from ..lattices.assemble import Builder, RawLattice
from ..lattices.lattice import Lattices, Origin
from ..lattices.text import is_mark
from .format import Format, ReadOptions
from .inputs import Stream

_VARIANT = re.compile(r"(.+)\([0-9]+\)")  # tomato(2): another pronunciation
_SETTING = re.compile(rb"#\s*-(logbase|frate)\s+(\S+)")
_NUMBER = re.compile(r"[0-9]++(?:\.[0-9]*+)?(?:[eE][+-]?[0-9]++)?")
_SENSIBLE = {"logbase": (1, 10), "frate": (1, 100_000)}
_CUT = "Was the decoder interrupted, or the file cut?"
_SIGNS = (b"\n# getcwd:", b"\n# -logbase ", b"(NODEID WORD", b"(FROM-NODEID TO-NODEID")


@dataclass(slots=True)
class SphinxLattice:
    """What a file says, node by node and edge by edge; incomplete while it is read."""

    settings: dict[str, float] = field(default_factory=lambda: {"logbase": 1.0001, "frate": 100.0})
    counts: dict[str, int] = field(default_factory=dict)  # the numbers after Frames, Nodes, Initial, Final
    words: list[str] = field(default_factory=list)
    start: list[int] = field(default_factory=list)  # frame in which each word starts
    last: list[int] = field(default_factory=list)  # the last frame in which it may end
    ends: list[tuple[int, int]] = field(default_factory=list)  # the two nodes of each edge
    scores: list[int] = field(default_factory=list)
    ended: bool = False


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The lattice of one file."""
    try:
        lattice = parse(stream, options)
    except InputError as error:
        problems.report(error.at(file=stream.name, utt=stream.stem))
        return
    origin = Origin(stream.name, "sphinx", frame_length=options.frame_length or 1 / lattice.settings["frate"])
    builder = Builder(options.shared_tokens(), problems, origin=origin, max_arcs=options.max_arcs)
    yield from builder.add(_lattice(stream.stem, lattice, options.frame_length))
    yield from builder.flush()


def parse(stream: Stream, options: ReadOptions) -> SphinxLattice:
    """What a file says, whole and consistent, before anything is made of it."""
    lattice, section = SphinxLattice(), ""
    for line_number, raw in stream.lines():
        line = raw.strip()
        try:
            if line.startswith(b"#") or not line:
                _read_setting(lattice, line)
            elif line[:1].isalpha():
                section = _read_section(lattice, line.split())
            elif section == "Nodes":
                _read_node(lattice, line)
            elif section == "Edges":
                _read_edge(lattice, line)
            elif section != "BestSegAscr":  # scores by end frame, which the edges have as well
                raise ValueError("a node, an edge or a section was expected")
        except ValueError as error:
            shown = line[:60].decode("utf-8", "replace")
            what = "not in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            raise stream.error(f"{shown!r}: {what}", place=f"line {line_number}", remedy=_CUT) from None
        if lattice.ended:
            break
        if max(len(lattice.ends), len(lattice.words)) > options.max_arcs:
            raise options.too_many_arcs(max(len(lattice.ends), len(lattice.words)), place=f"line {line_number}")
    _check(stream, lattice)
    return lattice


def _read_setting(lattice: SphinxLattice, line: bytes) -> None:
    """What the decoder was called with stands in comments; two of its options matter."""
    setting = _SETTING.match(line)
    if setting:
        name, text = setting[1].decode(), setting[2].decode("utf-8", "replace")
        low, high = _SENSIBLE[name]
        if not (_NUMBER.fullmatch(text) and low < float(text) < high):
            raise ValueError(f"{name} should be between {low} and {high}")
        lattice.settings[name] = float(text)


def _read_section(lattice: SphinxLattice, fields: list[bytes]) -> str:
    name = fields[0].decode("utf-8")
    if name == "End":
        lattice.ended = True
    elif name in ("Frames", "Nodes", "Initial", "Final"):
        if len(fields) > 1 and not fields[1].startswith(b"("):
            lattice.counts[name] = _whole(fields[1])
    elif name not in ("BestSegAscr", "Edges"):
        raise ValueError("no section of a Sphinx lattice begins like this")
    return name


def _read_node(lattice: SphinxLattice, line: bytes) -> None:
    fields = line.decode("utf-8").split()
    if len(fields) < 5:
        raise ValueError("a node has a number, a word, its first frame, and its first and last end")
    if _whole(fields[0]) != len(lattice.words):
        raise ValueError(f"this should be node {len(lattice.words)}")
    variant = _VARIANT.fullmatch(fields[1])
    lattice.words.append(variant[1] if variant else fields[1])
    lattice.start.append(_whole(fields[2]))
    lattice.last.append(_whole(fields[4]))


def _read_edge(lattice: SphinxLattice, line: bytes) -> None:
    fields = line.split()
    if len(fields) < 3:
        raise ValueError("an edge has two nodes and an acoustic score")
    lattice.ends.append((_whole(fields[0]), _whole(fields[1])))
    lattice.scores.append(_whole(fields[2]))


def _whole(text: bytes | str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError("a whole number was expected") from None
    if abs(value) > 2**53:
        raise ValueError("a number is too large")
    return value


def _check(stream: Stream, lattice: SphinxLattice) -> None:
    """What only the whole can tell: that it is whole, and that its parts fit together."""
    counts, nodes = lattice.counts, len(lattice.words)
    missing = [name for name in ("Initial", "Final") if name not in counts]
    if missing or not lattice.ended:
        raise stream.error(f"the line {missing[0] if missing else 'End'} is missing", remedy=_CUT)
    if counts.get("Nodes", nodes) != nodes:
        raise stream.error(f"{counts['Nodes']:,} nodes are announced, but there are {nodes:,}", remedy=_CUT)
    if not lattice.ends:
        raise stream.error("the lattice has no edges", remedy=_CUT)
    for node in (counts["Initial"], counts["Final"], *(node for pair in lattice.ends for node in pair)):
        if not 0 <= node < nodes:
            raise stream.error(f"node {node} is not among the {nodes:,} nodes", remedy=_CUT)


def _lattice(utt: str, lattice: SphinxLattice, frame_length: float | None) -> RawLattice:
    """Arcs with the words of the nodes that they leave."""
    start, end = lattice.counts["Initial"], lattice.counts["Final"]
    source, target = (list(nodes) for nodes in zip(*lattice.ends, strict=True))
    acoustic = (np.array(lattice.scores, np.float64) * math.log(lattice.settings["logbase"])).tolist()
    begin, last = list(lattice.start), lattice.words[end]
    if not is_mark(last):  # a word that no edge leaves would be lost; it is on every path, so its score is no matter
        begin.append(max(lattice.last[end] + 1, lattice.start[end]))
        source.append(end)
        target.append(len(lattice.words))
        acoustic.append(0.0)
        end = len(lattice.words)
    frames = np.array(begin, np.float64)
    return RawLattice(
        utt=utt,
        time=frames * frame_length if frame_length else frames / lattice.settings["frate"],
        source=source,
        target=target,
        token=[lattice.words[node] for node in source],
        start=start,
        end=end,
        acoustic=acoustic,
        place=1,
    )


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the name says less than the content
    """How the decoders begin a file, and what they write above nodes and edges."""
    text = b"\n" + head
    return (0.0, 0.3, 0.8, 1.0, 1.0)[sum(sign in text for sign in _SIGNS)]


FORMAT = Format("sphinx", "a CMU Sphinx lattice", (".lat",), sniff=sniff, read=read)
