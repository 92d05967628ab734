"""Lattices as JSON lines: one lattice a line, for people, scripts and other languages.

    {"wordtrust": 1, "utt": "u1", "time": [0.0, 0.3, 0.7], "source": [0, 1], "target": [1, 2], "word": ["i", "will"],
     "surface": ["I", "will"], "acoustic": [-3.5, -7.25], "transition": [-1.0, -0.5]}

`time` has one entry for each node, the first node is the start and the last the end; all other lists have one entry
for each arc. `word` is normalised and stays as it is, "" where none is said; `surface` is what people see, the word
itself if left out. Scores (`acoustic`, `transition`, `posterior`), `picked` and further evidence (`extra`, lists by
name) are there if the recognizer gave them, `notes` (texts by name) if something else is known of the utterance.
`scales` and `origin` are those of `Lattice`. Numbers come back exactly.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sized
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base import json_checks as check
from ..base.errors import InputError
from ..base.files import atomic_text
from ..base.problems import Problems
from ..base.visible_text import json_text
from ..lattices.assemble import Builder, RawLattice, Tokens
from ..lattices.lattice import ARC_SCORES, Floats, Ints, Lattice, Lattices, Origin
from ..lattices.weights import LARGEST_SCALE, Scales
from .format import Format, ReadOptions, WriteOptions
from .inputs import Stream

VERSION = 1
# Evidence of such a name would be taken for what every lattice has.
_RESERVED = frozenset({"utt", "time", "source", "target", "word", "surface", "picked", *ARC_SCORES})
_KINDS = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
_OURS = re.compile(rb'\s*\{\s*"wordtrust"\s*:\s*[0-9]')
_GRAPH = tuple(re.compile(rb'"%s"\s*:\s*\[' % name) for name in (b"time", b"source", b"target", b"word"))


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the content says enough
    """Our own lines begin with a version; others have the lists of a graph in the first one."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    if _OURS.match(head):
        return 1.0
    line = head.lstrip().partition(b"\n")[0]
    if not line.startswith(b"{"):
        return 0.0
    lists = sum(pattern.search(line) is not None for pattern in _GRAPH)
    return 0.9 if lists == len(_GRAPH) else 0.3 if lists == len(_GRAPH) - 1 else 0.0


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The lattices of the lines; a bad line is reported, and reading goes on with the next."""
    own = Origin(stream.name, "jsonl")
    tokens, origin = Tokens(), own
    builder = Builder(tokens, problems, origin=own)
    for line_number, line in stream.lines():
        if not line.strip():
            continue
        utt = f"{stream.stem}-{line_number}"
        try:
            record = check.record(check.parse(line))
            utt = check.string_or_none(record, "utt") or utt
            lattice = _lattice(record, utt, tokens, options)
            its_origin = _origin(record, own)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=utt, place=f"line {line_number}"))
            continue
        if its_origin != origin:
            yield from _from(origin, builder.flush())
            origin = its_origin
        yield from _from(origin, builder.add(replace(lattice, place=line_number, times=origin.times)))
    yield from _from(origin, builder.flush())


def _from(origin: Origin, batches: Iterable[Lattices]) -> Iterator[Lattices]:
    return (replace(batch, origin=origin) for batch in batches)


def _lattice(record: dict[str, Any], utt: str, tokens: Tokens, options: ReadOptions) -> RawLattice:
    """The lattice of a line."""
    if "wordtrust" in record and check.number(record, "wordtrust") != VERSION:
        raise InputError(
            f"the line has version {check.number(record, 'wordtrust'):g}, this wordtrust reads version {VERSION}",
            remedy="Use a newer wordtrust",
        )
    word = _entries(record, "word", {str}, "a string")
    if len(word) > options.max_arcs:
        raise options.too_many_arcs(len(word))
    surface = _entries(record, "surface", {str}, "a string") if "surface" in record else word
    scores = {name: _scores(record, name) for name in ARC_SCORES if name in record}
    picked = _entries(record, "picked", {bool}, "true or false") if "picked" in record else None
    extra = _extra(record)
    source, target = _nodes(record, "source"), _nodes(record, "target")
    lists: dict[str, Sized | None] = {"surface": surface, **scores, "picked": picked, **extra}
    for name, values in (lists | {"source": source, "target": target}).items():
        if values is not None and len(values) != len(word):
            raise InputError(f"{name} has {len(values)} entries and word has {len(word)}", remedy="One for each arc")
    time = _numbers(record, "time")
    token = [tokens.pair(*pair) for pair in zip(word, surface, strict=True)]
    return RawLattice(
        utt=utt,
        time=time,
        source=source,
        target=target,
        token=np.array(token, np.int32),
        start=0,
        end=len(time) - 1,
        acoustic=scores.get("acoustic"),
        transition=scores.get("transition"),
        posterior=scores.get("posterior"),
        picked=picked,
        extra=extra,
        notes=_notes(record),
        scales=_scales(record),
    )


def _entries(record: dict[str, Any], name: str, kinds: set[type], wanted: str, where: str = "") -> list[Any]:
    """A list in which everything is of these kinds."""
    entries = check.list_of(record, name, where)
    if not set(map(type, entries)) <= kinds:
        index = next(index for index, item in enumerate(entries) if type(item) not in kinds)
        raise InputError(f"{name}[{index}] is {_KINDS.get(type(entries[index]), 'another number')}, not {wanted}")
    return entries


def _numbers(record: dict[str, Any], name: str, where: str = "") -> NDArray[np.float64]:
    entries = _entries(record, name, {int, float}, "a number", where)
    try:
        return np.array(entries, np.float64)
    except OverflowError:
        raise InputError(f"{name} has a number that is too large") from None


def _scores(record: dict[str, Any], name: str, where: str = "") -> Floats:
    with np.errstate(over="ignore"):  # too large for float32 is infinite, which `assemble` reports
        return _numbers(record, name, where).astype(np.float32)


def _nodes(record: dict[str, Any], name: str) -> Ints:
    entries = _entries(record, name, {int}, "a node number")
    for index, node in enumerate(entries):
        if not 0 <= node < 2**31:
            raise InputError(f"{name}[{index}] is no node number", remedy="Nodes are counted from 0")
    return np.array(entries, np.int32)


def _extra(record: dict[str, Any]) -> dict[str, Floats]:
    names = check.object_of(record, "extra") if "extra" in record else {}
    for name in names:
        if not name or name in _RESERVED:
            raise InputError(f"evidence cannot be named {name!r}", remedy="The name means something else: rename it")
    return {name: _scores(names, name, "extra") for name in names}


def _scales(record: dict[str, Any]) -> Scales:
    weights = check.object_of(record, "scales") if "scales" in record else {}
    scales = {name: check.number(weights, name, "scales") for name in Scales.__slots__ if name in weights}
    if any(abs(scale) > LARGEST_SCALE for scale in scales.values()):
        raise InputError(f"a scale is larger than {LARGEST_SCALE:g}")
    return Scales(**scales)


def _notes(record: dict[str, Any]) -> dict[str, str]:
    notes = check.object_of(record, "notes") if "notes" in record else {}
    return {name: check.string(notes, name, "notes") for name in notes}


_ORIGIN = ("file", "format", "recognizer", "equate")


def _origin(record: dict[str, Any], own: Origin) -> Origin:
    if "origin" not in record:
        return own
    source = check.object_of(record, "origin")
    texts = {name: check.string_or_none(source, name, "origin") or "" for name in _ORIGIN}
    times = check.string_or_none(source, "times", "origin") or own.times
    frame_length = check.number_or_none(source, "frame_length", "origin")
    if frame_length is not None and not 0 < frame_length < 10:
        raise InputError(f"origin.frame_length is {frame_length:g}", remedy="It is in seconds, such as 0.01")
    tolerance = check.number_or_none(source, "tolerance", "origin")
    return Origin(**texts, times=times, frame_length=frame_length, tolerance=tolerance)


def write(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:  # noqa: ARG001  # a Writer
    """One line for each lattice."""
    with atomic_text(path) as file:
        for batch in batches:
            for lattice in batch:
                file.write(lattice_line(lattice))


def lattice_line(lattice: Lattice) -> str:
    """A lattice as one line, with its end."""
    scores = {name: getattr(lattice, name) for name in ARC_SCORES}
    fields = {
        "wordtrust": str(VERSION),
        "utt": json_text(lattice.utt),
        "time": json_text(lattice.time.tolist()),
        "source": json_text(lattice.source.tolist()),
        "target": json_text(lattice.target.tolist()),
        "word": json_text(lattice.words),
        "surface": json_text(lattice.surfaces) if lattice.surfaces != lattice.words else None,
        **{name: None if values is None else _decimals(values) for name, values in scores.items()},
        "picked": None if lattice.picked is None else json_text(lattice.picked.tolist()),
        "extra": _object({name: _decimals(values) for name, values in lattice.extra.items()}),
        "scales": json_text(asdict(lattice.scales)) if lattice.scales != Scales() else None,
        "notes": json_text(dict(lattice.notes)) if lattice.notes else None,
        "origin": json_text(
            {name: value for name, value in asdict(lattice.origin).items() if value not in ("", None)}
        ),
    }
    return (_object(fields) or "{}") + "\n"


def _object(fields: dict[str, str | None]) -> str | None:
    """A JSON object out of JSON texts; fields without text are left out, and an empty object has none."""
    inner = ", ".join(f"{json_text(name)}: {text}" for name, text in fields.items() if text is not None)
    return f"{{{inner}}}" if inner else None


def _decimals(values: Floats) -> str:
    """The shortest decimals that stand for the same float32 numbers; as doubles they would be twice as long."""
    return f"[{', '.join(map(str, values))}]"


FORMAT = Format(
    "jsonl", "wordtrust lattices as JSON lines", (".jsonl",), sniff=sniff, read=read, write=write,
    keeps_scales=lambda head: True,  # noqa: ARG005
    keeps_words=True,
)  # fmt: skip
