"""The lattice: what a recognizer knows about an utterance, as immutable arrays of nodes and arcs.

`Lattices` is the batch form that readers make and kernels run over: the arrays of many utterances end to end,
with offsets. `Lattice` is one utterance of it, a view that copies nothing. Both are made by `lattices.assemble`,
which checks what this module promises:

- nodes are in topological order (by time, then depth): the first is the start, the last the end, and every arc
  goes from a smaller to a larger node number; arcs are sorted by source node, else in the order of the file;
- every node and arc lies on a path from start to end, every score is finite, no arc runs backwards in time;
- scores are natural logarithms, larger is better; a score that the recognizer did not give is None.

This module knows no format.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, SupportsIndex, TypeVar, cast, overload

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import concatenate_offsets, csr_rows
from ..base.number_format import counted
from . import draw
from .evidence import OPTIONAL_NAMES, is_missing
from .text import join_surfaces
from .vocabulary import Vocabulary, renumbered
from .weights import Reals, Scales, log_scores, printed_scores

Ints = NDArray[np.int32]
Offsets = NDArray[np.int64]
Floats = NDArray[np.float32]
Times = NDArray[np.float64]
Flags = NDArray[np.bool_]

ARC_SCORES = ("acoustic", "transition", "posterior")
_Array = TypeVar("_Array", bound=NDArray[Any])


@dataclass(frozen=True, slots=True)
class Origin:
    """Where lattices come from: the file, its format, the recognizer, and what was made of them on the way."""

    file: str = ""
    format: str = ""
    times: str = "given"  # or "aligned": one second a word, along the best hypothesis
    frame_length: float | None = None  # seconds, where the format counts time in frames
    recognizer: str = ""  # its name, where one is known
    tolerance: float | None = None  # seconds within which nodes were merged: these are networks, not lattices
    equate: str = ""  # kinds of spellings that networks and their labels equate, joined by commas
    container: str = field(default="", compare=False)  # what was read, where `file` is what that was made from


CHANNEL = "channel"  # the note that names the channel of a file, where it has names; others may lack it


@dataclass(frozen=True, slots=True)
class ReadingFacts:
    """What reading did to the utterances of a batch, as arrays with an entry for each."""

    place: Offsets  # line (text) or byte (binary) where the utterance starts in its file
    trimmed_nodes: Ints  # on no path from start to end
    trimmed_arcs: Ints
    spread_words: Ints  # words of no length that took time from their neighbours

    @classmethod
    def none(cls, utterances: int) -> ReadingFacts:
        """Nothing was done."""
        zeros = np.zeros(utterances, np.int32)
        return cls(np.zeros(utterances, np.int64), zeros, zeros, zeros)

    def __getitem__(self, rows: slice | NDArray[Any]) -> ReadingFacts:
        return ReadingFacts(
            self.place[rows], self.trimmed_nodes[rows], self.trimmed_arcs[rows], self.spread_words[rows]
        )


@dataclass(frozen=True, eq=False, repr=False)
class Lattice:
    """One utterance: nodes with times, arcs with words and scores. Compare with `equals`."""

    utt: str
    time: Times  # [nodes] seconds, never falling; time[0] is the start, time[-1] the end
    source: Ints  # [arcs] node numbers
    target: Ints
    word: Ints  # [arcs] id of the normalised word in `vocabulary`; 0 for silence
    surface: Ints  # [arcs] the word as the recognizer wrote it, likewise
    vocabulary: Vocabulary
    acoustic: Floats | None = None  # log p(X|e)
    transition: Floats | None = None  # log P(e|v): language and pronunciation model
    posterior: Floats | None = None  # P(e|X), where the recognizer itself gave one
    picked: Flags | None = None  # the arcs of the recognizer's own choice, where it is not the best path
    extra: Mapping[str, Floats] = field(default_factory=dict)  # further evidence per arc, by name
    notes: Mapping[str, str] = field(default_factory=dict)  # what else is known of the utterance: reference, speaker
    scales: Scales = Scales()
    origin: Origin = Origin()
    facts: ReadingFacts = field(default_factory=lambda: ReadingFacts.none(1))

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.time)

    @property
    def arcs(self) -> int:
        """How many arcs there are."""
        return len(self.source)

    @property
    def duration(self) -> float:
        """Seconds from start to end."""
        return float(self.time[-1] - self.time[0])

    @property
    def silence(self) -> Flags:
        """Which arcs say no word."""
        silent: Flags = self.word == 0
        return silent

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The normalised word of every arc, "" where none is said."""
        return self.vocabulary.lookup(self.word.tolist())

    @cached_property
    def surfaces(self) -> tuple[str, ...]:
        """What the recognizer wrote on every arc."""
        return self.vocabulary.lookup(self.surface.tolist())

    def scores(self) -> Reals:
        """Each arc's score as its recognizer weighs it: scaled scores, or else the log of the posterior."""
        return log_scores(self)

    def one_best(self) -> tuple[int, ...]:
        """The arcs of what the recognizer itself would print, in order."""
        from .path_kernels import best_paths  # numba is loaded when it is first needed

        batch = self.batch()
        _, arcs = best_paths(batch.node_offsets, batch.arc_offsets, self.source, self.target, printed_scores(self))
        return tuple(arcs.tolist())

    @property
    def text(self) -> str:
        """What the recognizer itself would print, with its own spelling."""
        return join_surfaces(self.surfaces[arc] for arc in self.one_best() if self.word[arc])

    def batch(self) -> Lattices:
        """This lattice as a batch of one."""
        return Lattices(
            utts=(self.utt,),
            node_offsets=np.array([0, self.nodes], np.int64),
            arc_offsets=np.array([0, self.arcs], np.int64),
            notes={name: (note,) for name, note in self.notes.items()},
            **{name: getattr(self, name) for name in _SHARED_FIELDS},
        )

    def equals(self, other: Lattice, *, tolerance: float = 0.0) -> bool:
        """Same graph, words and times, and the same scores up to `tolerance`; origin does not count."""
        if (self.utt, self.nodes, self.arcs) != (other.utt, other.nodes, other.arcs):
            return False
        exact = ("source", "target")
        return (
            all(np.array_equal(getattr(self, name), getattr(other, name)) for name in exact)
            and self.words == other.words
            and self.surfaces == other.surfaces
            and _close(self.time, other.time, tolerance)
            and all(_close(getattr(self, n), getattr(other, n), tolerance) for n in (*ARC_SCORES, "picked"))
            and self.extra.keys() == other.extra.keys()
            and all(_close(self.extra[name], other.extra[name], tolerance) for name in self.extra)
            and self.scales == other.scales
            and dict(self.notes) == dict(other.notes)
        )

    def __repr__(self) -> str:
        given = [name for name in ARC_SCORES if getattr(self, name) is not None]
        return (
            f"<Lattice {self.utt}: {counted(self.nodes, 'node')}, {counted(self.arcs, 'arc')}, "
            f"{self.duration:.2f} s, {' + '.join(given) or 'no scores'}\n  {self.text or '(no words)'}>"
        )

    def to_dot(self) -> str:
        """The lattice as a Graphviz file."""
        return draw.to_dot(drawing_of(self))

    def to_svg(self) -> str:
        """The lattice as a picture, drawn over a time axis."""
        return draw.to_svg(drawing_of(self))

    def _repr_svg_(self) -> str:
        return self.to_svg()


def drawing_of(lattice: Lattice) -> draw.Drawing:
    """What a picture of a lattice shows."""
    from .path_kernels import best_through  # numba is loaded when it is first needed

    ends = lattice.source.astype(np.uint32), lattice.target.astype(np.uint32)
    first, last = np.array([0]), np.array([lattice.nodes - 1])
    through, _ = best_through(*ends, lattice.scores(), first, last, lattice.nodes)
    given = [getattr(lattice, name) for name in ARC_SCORES if getattr(lattice, name) is not None]
    return draw.Drawing(
        name=lattice.utt,
        time=lattice.time.tolist(),
        ends=list(zip(lattice.source.tolist(), lattice.target.tolist(), strict=True)),
        labels=[draw.label(surface, word) for surface, word in zip(lattice.surfaces, lattice.words, strict=True)],
        silent=lattice.silence.tolist(),
        one_best=frozenset(lattice.one_best()),
        worth=through,
        scores=[values.tolist() for values in given],
    )


def _close(a: NDArray[Any] | None, b: NDArray[Any] | None, tolerance: float) -> bool:
    if a is None or b is None:
        return a is b
    if a.dtype == bool or tolerance == 0:
        return np.array_equal(a, b)
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance))


def _read_only(array: _Array) -> _Array:
    """A view that cannot be written through; the array itself stays as it is, for it is the caller's."""
    if not array.flags.writeable:
        return array
    view = array.view()
    view.flags.writeable = False
    return view


_ARC_ARRAYS = ("source", "target", "word", "surface", *ARC_SCORES, "picked")
_SHARED_FIELDS = ("time", *_ARC_ARRAYS, "vocabulary", "extra", "scales", "origin", "facts")


@dataclass(frozen=True, eq=False, repr=False)
class Lattices(Sequence[Lattice]):
    """Many utterances, their arrays end to end. `source` and `target` count from each utterance's first node."""

    utts: tuple[str, ...]
    node_offsets: Offsets  # [utterances + 1] utterance u has nodes node_offsets[u] to node_offsets[u + 1]
    arc_offsets: Offsets
    time: Times
    source: Ints
    target: Ints
    word: Ints
    surface: Ints
    vocabulary: Vocabulary
    acoustic: Floats | None = None
    transition: Floats | None = None
    posterior: Floats | None = None
    picked: Flags | None = None
    extra: Mapping[str, Floats] = field(default_factory=dict)  # NaN where an utterance lacks optional evidence
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # one string an utterance, by name
    scales: Scales = Scales()
    origin: Origin = Origin()
    facts: ReadingFacts = field(default_factory=lambda: ReadingFacts.none(0))
    files: tuple[str, ...] = ()  # [utterances] where they come from more than one file, else `origin` says it

    def __post_init__(self) -> None:
        extra = {name: _read_only(values) for name, values in self.extra.items()}
        object.__setattr__(self, "extra", MappingProxyType(extra))
        object.__setattr__(self, "notes", MappingProxyType(dict(self.notes)))
        for name in ("node_offsets", "arc_offsets", "time", *_ARC_ARRAYS):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _read_only(getattr(self, name)))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that has one entry per arc and is there, by name."""
        arrays = {name: getattr(self, name) for name in _ARC_ARRAYS if getattr(self, name) is not None}
        return arrays | dict(self.extra)

    @property
    def utterance_of_arc(self) -> Offsets:
        """[arcs] the index of the utterance that each belongs to."""
        return csr_rows(self.arc_offsets)

    @property
    def utterance_of_node(self) -> Offsets:
        """[nodes] the index of the utterance that each belongs to."""
        return csr_rows(self.node_offsets)

    @property
    def batch_source(self) -> Offsets:
        """[arcs] the node that each leaves, as an index into `time`."""
        return self._first_node() + self.source

    @property
    def batch_target(self) -> Offsets:
        """[arcs] the node that each enters, as an index into `time`."""
        return self._first_node() + self.target

    @property
    def start_time(self) -> Times:
        """[arcs] seconds."""
        start: Times = self.time[self.batch_source]
        return start

    @property
    def end_time(self) -> Times:
        """[arcs] seconds."""
        end: Times = self.time[self.batch_target]
        return end

    def _first_node(self) -> Offsets:
        return np.repeat(self.node_offsets[:-1], np.diff(self.arc_offsets))

    def __len__(self) -> int:
        return len(self.utts)

    @overload
    def __getitem__(self, index: int | str) -> Lattice: ...
    @overload
    def __getitem__(self, index: slice | list[int] | NDArray[Any]) -> Lattices: ...

    def __getitem__(self, index: int | str | slice | list[int] | NDArray[Any]) -> Lattice | Lattices:
        """One by its number or its name; or those of a slice, of a list of numbers, or of a mask."""
        if isinstance(index, slice):
            return self._slice(*index.indices(len(self)))
        if isinstance(index, str):
            if index not in self.utts:
                raise KeyError(f"no utterance {index!r} among {len(self)}")
            return self._view(self.utts.index(index))
        if isinstance(index, list) or (isinstance(index, np.ndarray) and index.ndim):
            return self._rows(np.arange(len(self))[np.asarray(index, None if len(index) else int)].tolist())
        return self._view(range(len(self))[operator.index(cast(SupportsIndex, index))])

    def __contains__(self, item: object) -> bool:
        """Whether there is an utterance of this name, or this very lattice."""
        if isinstance(item, Lattice):
            return item.utt in self.utts and self[item.utt].equals(item)
        return item in self.utts

    def _rows(self, rows: Iterable[int]) -> Lattices:
        chosen = [self._slice(row, row + 1, 1) for row in rows]
        return concatenate(chosen) if chosen else self._slice(0, 0, 1)

    def _view(self, index: int) -> Lattice:
        nodes = slice(self.node_offsets[index], self.node_offsets[index + 1])
        arcs = slice(self.arc_offsets[index], self.arc_offsets[index + 1])
        notes = {name: values[index] for name, values in self.notes.items()}
        part = self._part(nodes, arcs, slice(index, index + 1))
        part["extra"] = {name: values for name, values in part["extra"].items() if not is_missing(name, values)}
        if self.files:
            part["origin"] = replace(self.origin, file=self.files[index])
        return Lattice(utt=self.utts[index], notes=notes, **part)

    def _slice(self, start: int, stop: int, step: int) -> Lattices:
        if step != 1:
            return self._rows(range(start, stop, step))
        stop = max(start, stop)
        node_offsets, arc_offsets = self.node_offsets[start : stop + 1], self.arc_offsets[start : stop + 1]
        nodes, arcs = slice(node_offsets[0], node_offsets[-1]), slice(arc_offsets[0], arc_offsets[-1])
        return Lattices(
            utts=self.utts[start:stop],
            node_offsets=node_offsets - node_offsets[0],
            arc_offsets=arc_offsets - arc_offsets[0],
            notes={name: values[start:stop] for name, values in self.notes.items()},
            files=self.files[start:stop],
            **self._part(nodes, arcs, slice(start, stop)),
        )

    def _part(self, nodes: slice, arcs: slice, rows: slice) -> dict[str, Any]:
        part: dict[str, Any] = {name: getattr(self, name) for name in _SHARED_FIELDS}
        part["time"] = self.time[nodes]
        for name in _ARC_ARRAYS:
            part[name] = None if part[name] is None else part[name][arcs]
        part["extra"] = {name: values[arcs] for name, values in self.extra.items()}
        part["facts"] = self.facts[rows]
        return part

    def __iter__(self) -> Iterator[Lattice]:
        return map(self._view, range(len(self)))

    def __repr__(self) -> str:
        listed = "".join(f"\n  {lattice!r}" for lattice in self[:3]) + ("\n  ..." if len(self) > 3 else "")
        sizes = counted(len(self.time), "node"), counted(len(self.source), "arc")
        return f"<Lattices: {counted(len(self), 'utterance')}, {', '.join(sizes)}{listed}>"


def concatenate(batches: Iterable[Lattices]) -> Lattices:
    """One batch out of many. Scores that some of them lack are an error: absent is not zero.

    Optional evidence (`lattices.evidence`) that some of them lack is NaN there.
    """
    parts = _with_optional(_with_picks([batch for batch in batches if len(batch)]))
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return _empty()
    notes = {name for part in parts for name in part.notes}
    layouts = {(*sorted(part.arrays()), *sorted({*part.notes} - {CHANNEL})) for part in parts}
    if len(layouts) > 1 or len({part.scales for part in parts}) > 1:
        raise ValueError("these lattices have different scores or scales and cannot share arrays; keep them apart")
    recognizers = {part.origin.recognizer for part in parts}
    if len(recognizers) > 1:
        names = ", ".join(sorted(name or "one without a name" for name in recognizers))
        raise ValueError(f"these lattices come from several recognizers ({names}); keep them apart")
    vocabulary = parts[0].vocabulary
    arcs = {name: np.concatenate([part.arrays()[name] for part in parts]) for name in parts[0].arrays()}
    for name in ("word", "surface"):
        arcs[name] = np.concatenate([renumbered(getattr(part, name), part.vocabulary, vocabulary) for part in parts])
    arcs_of: dict[str, Any] = {name: values for name, values in arcs.items() if name not in parts[0].extra}
    facts = [part.facts for part in parts]
    return replace(
        parts[0],
        utts=tuple(utt for part in parts for utt in part.utts),
        files=_joined_files(parts),
        node_offsets=concatenate_offsets(part.node_offsets for part in parts),
        arc_offsets=concatenate_offsets(part.arc_offsets for part in parts),
        time=np.concatenate([part.time for part in parts]),
        extra={name: arcs[name] for name in parts[0].extra},
        notes={
            name: tuple(note for part in parts for note in part.notes.get(name, ("",) * len(part)))
            for name in sorted(notes)
        },
        facts=ReadingFacts(*(np.concatenate([getattr(f, n) for f in facts]) for n in ReadingFacts.__slots__)),
        **arcs_of,
    )


def _with_picks(parts: list[Lattices]) -> list[Lattices]:
    """The batches; where some say what was picked, those with one path each say so too."""
    if len({part.picked is None for part in parts}) < 2:
        return parts
    return [
        replace(part, picked=np.ones(len(part.source), np.bool_))
        if part.picked is None and len(part.source) == len(part.time) - len(part)
        else part
        for part in parts
    ]


def _with_optional(parts: list[Lattices]) -> list[Lattices]:
    """The batches, all with the optional evidence that any of them has.

    Where nothing was said there is nothing to know of words: other evidence is then 0.
    """
    names = {name for part in parts for name in part.extra}
    return [part if names <= part.extra.keys() else replace(part, extra=_filled(part, names)) for part in parts]


def _filled(part: Lattices, names: set[str]) -> dict[str, Floats]:
    size = len(part.source)
    others = dict.fromkeys(names - OPTIONAL_NAMES, np.zeros(size, np.float32)) if not part.word.any() else {}
    return others | dict.fromkeys(names & OPTIONAL_NAMES, np.full(size, np.nan, np.float32)) | dict(part.extra)


def _joined_files(parts: Sequence[Lattices]) -> tuple[str, ...]:
    if len({part.origin.file for part in parts}) == 1 and not any(part.files for part in parts):
        return ()
    return tuple(file for part in parts for file in part.files or (part.origin.file,) * len(part))


def _empty() -> Lattices:
    offsets, ints = np.zeros(1, np.int64), np.zeros(0, np.int32)
    return Lattices((), offsets, offsets.copy(), np.zeros(0), ints, ints, ints, ints, Vocabulary())
