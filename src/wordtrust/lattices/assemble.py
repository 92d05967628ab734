"""Checked `Lattices` from what a reader finds in a file: the only door into the lattice type.

A reader collects raw lattices (any node order, dead ends, its recognizer's own tokens); `assemble` turns tokens
into normalised words, checks and orders the graphs in one kernel call, and reports each bad utterance.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_items, csr_offsets, csr_rows, row_offsets
from ..base.errors import InputError
from ..base.problems import Problems
from . import graph
from .lattice import ARC_SCORES, Flags, Floats, Ints, Lattices, Offsets, Origin, ReadingFacts, Times
from .text import DEFAULT, Normalizer
from .vocabulary import Vocabulary
from .weights import Scales

BATCH_ARCS = 200_000  # enough to make a kernel call worth it, few enough to stay in memory
MAX_ARCS = 2_000_000  # of one utterance; more is taken for damage, or for something that needs pruning
_MOST_PIECES = 32  # words that a token stands for, on average over an utterance
_FEW_PIECES = 100  # words that the tokens of an utterance may stand for whatever that average is


class Tokens:
    """The tokens of a recognizer, each normalised once: its words and surface forms, as ids of a vocabulary."""

    def __init__(self, normalizer: Normalizer = DEFAULT, vocabulary: Vocabulary | None = None) -> None:
        self.vocabulary = vocabulary or Vocabulary()
        self.pieces: list[tuple[tuple[int, int], ...]] = []  # per token: (word, surface) of every piece
        self._normalizer = normalizer
        self._ids: dict[str | tuple[str, str], int] = {}
        self._rows = array("i")  # three numbers a token: see `table`
        self.id("")

    def id(self, token: str) -> int:
        """The id of a token; id 0 is the empty one."""
        token_id = self._ids.get(token)
        if token_id is None:
            token_id = self._ids[token] = self.new(token)
        return token_id

    def ids(self, tokens: Iterable[str]) -> Ints:
        """The ids of many tokens."""
        return np.array([self.id(token) for token in tokens], np.int32)

    def new(self, token: str) -> int:
        """A new id for a token; the caller remembers it, as symbol tables do."""
        return self._enter(self._normalizer.pieces(token) or [("", token)])

    def pair(self, word: str, surface: str) -> int:
        """The id of a token that was normalised before: `word` stays as it is, whatever the normaliser says."""
        token_id = self._ids.get((word, surface))
        if token_id is None:
            token_id = self._ids[word, surface] = self._enter([(word, surface)])
        return token_id

    def table(self) -> Ints:
        """[tokens, 3]: first word, first surface, number of pieces."""
        return np.frombuffer(self._rows.tobytes(), np.int32).reshape(-1, 3)

    def _enter(self, words: list[tuple[str, str]]) -> int:
        vocabulary = self.vocabulary
        pieces = tuple([(vocabulary.id(word), vocabulary.id(surface)) for word, surface in words])
        self.pieces.append(pieces)
        self._rows.extend((*pieces[0], len(pieces)))
        return len(self.pieces) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RawLattice:
    """One utterance as a reader finds it: nodes in any order, dead ends and all, in the recognizer's own tokens.

    Plain sequences become arrays in `Builder.add`. Scores are natural logarithms, posteriors are from 0 to 1; None
    is for what the file does not have.
    """

    utt: str
    time: Sequence[float] | Times  # [nodes] seconds
    source: Sequence[int] | Ints  # [arcs] node that each arc leaves
    target: Sequence[int] | Ints  # [arcs] node that it enters
    token: Sequence[str] | Ints  # [arcs] what it says: the recognizer's tokens, or their ids in `Tokens`
    start: int  # node
    end: int  # node
    acoustic: Sequence[float] | NDArray[np.floating] | None = None  # [arcs]
    transition: Sequence[float] | NDArray[np.floating] | None = None  # [arcs] language model and pronunciation
    posterior: Sequence[float] | NDArray[np.floating] | None = None  # [arcs]
    picked: Sequence[bool] | Flags | None = None  # [arcs] whether the recognizer's own 1-best takes the arc
    extra: Mapping[str, Sequence[float] | NDArray[np.generic]] = field(default_factory=dict)  # [arcs] by name
    notes: Mapping[str, str] = field(default_factory=dict)  # texts about the utterance, by name
    scales: Scales = Scales()  # how the recognizer weighs its scores
    times: str = "given"  # or "aligned", where the file has none and they were made up
    spread_words: int = 0  # words whose times are a share of a longer span
    place: int = -1  # line or byte of the file, for messages; -1 for nowhere


@dataclass(slots=True)
class RawLattices:
    """A batch of raw lattices, end to end. Nodes are numbered within their utterance."""

    utts: Sequence[str]
    place: Offsets  # line or byte of each utterance, for messages
    node_offsets: Offsets
    arc_offsets: Offsets
    start: Ints  # [utterances] node
    end: Ints
    time: Times  # [nodes]
    source: Ints  # [arcs]
    target: Ints
    token: Ints  # [arcs] ids in `Tokens`
    scores: Mapping[str, Floats]  # acoustic, transition, posterior: those that the format has
    picked: NDArray[np.bool_] | None = None
    extra: Mapping[str, Floats] = field(default_factory=dict)
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)  # one string an utterance, by name
    spread_words: Ints | None = None

    def select(self, rows: Iterable[int]) -> RawLattices:
        """Some of the utterances."""
        chosen = np.fromiter(rows, np.int64)
        nodes, arcs = csr_items(self.node_offsets, chosen), csr_items(self.arc_offsets, chosen)
        return RawLattices(
            utts=[self.utts[row] for row in chosen.tolist()],
            place=self.place[chosen],
            node_offsets=csr_offsets(np.diff(self.node_offsets)[chosen]),
            arc_offsets=csr_offsets(np.diff(self.arc_offsets)[chosen]),
            start=self.start[chosen],
            end=self.end[chosen],
            time=self.time[nodes],
            source=self.source[arcs],
            target=self.target[arcs],
            token=self.token[arcs],
            scores={name: values[arcs] for name, values in self.scores.items()},
            picked=None if self.picked is None else self.picked[arcs],
            extra={name: values[arcs] for name, values in self.extra.items()},
            notes={name: [values[row] for row in chosen.tolist()] for name, values in self.notes.items()},
            spread_words=None if self.spread_words is None else self.spread_words[chosen],
        )

    def numbers(self) -> dict[str, Floats]:
        """All numbers that arcs carry, by name."""
        return {**self.scores, **self.extra}


def assemble(
    raw: RawLattices,
    tokens: Tokens,
    *,
    origin: Origin,
    scales: Scales = Scales(),
    problems: Problems | None = None,
    place_name: str = "line",
) -> Lattices:
    """Checked lattices out of raw ones; bad utterances go to `problems` and are left out."""
    problems = problems or Problems()
    status, culprit = _score_status(raw)
    good, facts = _ordered(raw, status, culprit)
    for index in np.flatnonzero(status).tolist():
        place = f"{place_name} {raw.place[index]}" if raw.place[index] >= 0 else ""
        found, remedy = _describe(raw, index, int(status[index]), int(culprit[index]))
        problems.report(InputError(found, file=origin.file, utt=raw.utts[index], place=place, remedy=remedy))
    table = tokens.table()
    if len(good.token) and table[good.token, 2].max() > 1:
        good, word, surface = _cut_tokens(good, tokens)
    else:
        word, surface = table[good.token, 0], table[good.token, 1]
    return Lattices(
        utts=tuple(good.utts), node_offsets=good.node_offsets, arc_offsets=good.arc_offsets, time=good.time,
        source=good.source, target=good.target, word=word, surface=surface, vocabulary=tokens.vocabulary,
        acoustic=good.scores.get("acoustic"), transition=good.scores.get("transition"),
        posterior=good.scores.get("posterior"),
        picked=good.picked, extra=good.extra, notes={name: tuple(values) for name, values in good.notes.items()},
        scales=scales, origin=origin, facts=facts,
    )  # fmt: skip


def assemble_parts(
    raw: RawLattices,
    tokens: Tokens,
    *,
    origin: Origin,
    scales: Scales = Scales(),
    problems: Problems | None = None,
    place_name: str = "line",
    max_arcs: int = MAX_ARCS,
) -> Iterator[Lattices]:
    """`assemble`, bounded: utterances whose tokens stand for too many words are reported and left out.

    What still comes to more than MAX_ARCS arcs comes in several batches.
    """
    problems = problems or Problems()
    for part in _bounded_parts(raw, tokens, max_arcs, problems, origin.file, place_name):
        batch = assemble(part, tokens, origin=origin, scales=scales, problems=problems, place_name=place_name)
        if len(batch):
            yield batch


def _bounded_parts(
    raw: RawLattices, tokens: Tokens, max_arcs: int, problems: Problems, file: str, place_name: str
) -> Iterator[RawLattices]:
    counts = tokens.table()[raw.token, 2]
    if not len(counts) or counts.max() == 1:
        yield raw
        return
    words = np.diff(np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[raw.arc_offsets])
    most = np.minimum(max_arcs, _MOST_PIECES * np.diff(raw.arc_offsets) + _FEW_PIECES)
    for row in np.flatnonzero(words > most).tolist():
        place = f"{place_name} {raw.place[row]}" if raw.place[row] >= 0 else ""
        found = f"the words of the lattice are {words[row]:,} once they are cut at hyphens and the like"
        remedy = f"At most {most[row]:,} are read: is there text where a word should be?"
        problems.report(InputError(found, file=file, utt=raw.utts[row], place=place, remedy=remedy))
    good = np.flatnonzero(words <= most)
    part = np.cumsum(words[good]) // MAX_ARCS
    for rows in np.split(good, np.flatnonzero(np.diff(part)) + 1) if len(good) else ():
        yield raw if len(rows) == len(words) else raw.select(rows)


BAD_SCORE = -1
_REMEDIES = {
    BAD_SCORE: "Scores must be finite numbers: decode again, or prune arcs of zero probability",
    graph.EMPTY: "An utterance needs at least two nodes and an arc; remove it or decode it again",
    graph.DANGLING: "The node list and the arc list do not fit: the file is damaged or was cut",
    graph.BAD_TIME: "Node times are seconds, finite and below 1e9",
    graph.BACKWARDS: "Check the frame length, and whether node times are starts or ends of words",
    graph.NO_PATH: "Check the start and end node, and whether the lattice was pruned too far",
    graph.CYCLE: "A lattice has no cycles: this looks like a decoding graph or a grammar, not a lattice",
}


def _score_status(raw: RawLattices) -> tuple[Ints, Offsets]:
    """Which utterances have a score that is not a finite number, and on which arc."""
    status, culprit = np.zeros(len(raw.utts), np.int32), np.zeros(len(raw.utts), np.int64)
    for values in raw.numbers().values():
        finite = np.isfinite(values)
        if finite.all():
            continue
        bad = np.flatnonzero(~finite)[::-1]  # so that the first of an utterance is the one that stays
        owner = np.searchsorted(raw.arc_offsets, bad, "right") - 1
        status[owner] = BAD_SCORE
        culprit[owner] = bad - raw.arc_offsets[owner]
    return status, culprit


def _describe(raw: RawLattices, index: int, status: int, culprit: int) -> tuple[str, str]:
    """What is wrong with an utterance, and what to do; `culprit` is the node or arc that is to blame."""
    nodes = raw.node_offsets[index + 1] - raw.node_offsets[index]
    start, end, arc = raw.start[index], raw.end[index], raw.arc_offsets[index] + culprit
    if status == graph.EMPTY:
        found = "the lattice has no arcs"
    elif status == BAD_SCORE:
        values = {name: values[arc] for name, values in raw.numbers().items()}
        name = next(name for name, value in values.items() if not np.isfinite(value))
        found = f"arc {culprit} has the {name} score {values[name]}"
    elif status == graph.BAD_TIME:
        found = f"node {culprit} has the time {raw.time[raw.node_offsets[index] + culprit]}"
    elif status == graph.DANGLING and culprit < 0:
        found = f"start node {start} or end node {end} is not among the {nodes} nodes"
    elif status == graph.DANGLING:
        found = f"arc {culprit} goes from node {raw.source[arc]} to {raw.target[arc]}, but there are {nodes} nodes"
    elif status == graph.BACKWARDS:
        found = f"arc {culprit} (node {raw.source[arc]} to {raw.target[arc]}) runs backwards in time"
    elif status == graph.NO_PATH:
        found = f"no path leads from start node {start} to end node {end}"
    else:
        found = "the graph has a cycle"
    return found, _REMEDIES[status]


def _ordered(raw: RawLattices, status: Ints, culprit: Offsets) -> tuple[RawLattices, ReadingFacts]:
    """The good lattices, trimmed and in canonical order; fills in `status` and `culprit` of the others."""
    ordered = graph.order(
        raw.node_offsets, raw.arc_offsets, raw.start, raw.end, raw.time, raw.source, raw.target, status, culprit
    )
    nodes_kept, arcs_kept = ordered.nodes, ordered.arcs
    rows = np.flatnonzero(status == graph.OK)
    keep = ordered.permutation
    good = RawLattices(
        utts=raw.utts if len(rows) == len(raw.utts) else [raw.utts[row] for row in rows.tolist()],
        place=raw.place[rows],
        node_offsets=csr_offsets(nodes_kept[rows]),
        arc_offsets=csr_offsets(arcs_kept[rows]),
        start=np.zeros(len(rows), np.int32),
        end=(nodes_kept[rows] - 1).astype(np.int32),
        time=ordered.time,
        source=ordered.source,
        target=ordered.target,
        token=raw.token[keep],
        scores={name: values[keep] for name, values in raw.scores.items()},
        picked=None if raw.picked is None else raw.picked[keep],
        extra={name: values[keep] for name, values in raw.extra.items()},
        notes={name: [values[row] for row in rows.tolist()] for name, values in raw.notes.items()},
    )
    trimmed_nodes = (np.diff(raw.node_offsets) - nodes_kept)[rows].astype(np.int32)
    trimmed_arcs = (np.diff(raw.arc_offsets) - arcs_kept)[rows].astype(np.int32)
    spread = np.zeros(len(rows), np.int32) if raw.spread_words is None else raw.spread_words[rows]
    return good, ReadingFacts(good.place, trimmed_nodes, trimmed_arcs, spread)


def _cut_tokens(raw: RawLattices, tokens: Tokens) -> tuple[RawLattices, Ints, Ints]:
    """Arcs whose token is several words become chains: time by letters, scores on the first piece."""
    counts = tokens.table()[raw.token, 2].astype(np.int64)
    origin = np.repeat(np.arange(len(counts)), counts)  # [new arcs] the arc each piece comes from
    piece = np.arange(len(origin)) - np.repeat(csr_offsets(counts)[:-1], counts)
    word, surface, share = _piece_table(tokens, raw.token, origin, piece)
    owner = csr_rows(raw.arc_offsets)
    added = np.bincount(owner, weights=counts - 1, minlength=len(raw.utts)).astype(np.int64)
    # The node before piece k > 0 of an arc: numbered after the utterance's own nodes, in arc order.
    inner = np.cumsum(piece > 0) - 1
    before = inner - (csr_offsets(added)[:-1] - np.diff(raw.node_offsets))[owner[origin]]
    first, last = piece == 0, piece == counts[origin] - 1
    source = np.where(first, raw.source[origin], before).astype(np.int32)
    target = np.where(last, raw.target[origin], np.append(before[1:], 0)).astype(np.int32)
    base = raw.node_offsets[owner[origin]]
    begin, end = raw.time[base + raw.source[origin]], raw.time[base + raw.target[origin]]
    inner_time = (begin + (end - begin) * share)[~first]
    node_owner = np.concatenate([csr_rows(raw.node_offsets), owner[origin][~first]])
    time = np.concatenate([raw.time, inner_time])[np.argsort(node_owner, kind="stable")]
    arc_counts = np.bincount(owner, weights=counts, minlength=len(raw.utts)).astype(np.int64)
    cut = replace(
        raw, time=time, source=source, target=target, token=np.arange(len(origin), dtype=np.int32),
        node_offsets=csr_offsets(np.diff(raw.node_offsets) + added), arc_offsets=csr_offsets(arc_counts),
        scores={name: _on_first(name, values[origin], first) for name, values in raw.scores.items()},
        picked=None if raw.picked is None else raw.picked[origin],
        extra={name: values[origin] for name, values in raw.extra.items()},
    )  # fmt: skip
    cut, _ = _ordered(cut, np.zeros(len(raw.utts), np.int32), np.zeros(len(raw.utts), np.int64))
    return cut, word[cut.token], surface[cut.token]


def _on_first(name: str, values: Floats, first: NDArray[np.bool_]) -> Floats:
    """A log score goes to the first piece of a token; a posterior is that of each."""
    return values if name == "posterior" else np.where(first, values, np.float32(0))


def _piece_table(
    tokens: Tokens, token: Ints, origin: Offsets, piece: Offsets
) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Word and surface of each piece, and the share of the token's letters that stand before it."""
    used = np.unique(token)
    pieces = [tokens.pieces[token_id] for token_id in used.tolist()]
    starts = row_offsets(pieces)
    flat = np.array([pair for pairs in pieces for pair in pairs], np.int32)
    letters = np.array([max(1, len(tokens.vocabulary[word])) for word in flat[:, 0].tolist()], np.float64)
    total = np.add.reduceat(letters, starts[:-1])
    before = np.cumsum(letters) - letters
    share = (before - np.repeat(before[starts[:-1]], np.diff(starts))) / np.repeat(total, np.diff(starts))
    row = starts[np.searchsorted(used, token[origin])] + piece
    return flat[row, 0], flat[row, 1], share[row]


class Builder:
    """Collects raw lattices one by one and gives them out as checked batches of about `BATCH_ARCS` arcs."""

    def __init__(self, tokens: Tokens, problems: Problems, *, origin: Origin, max_arcs: int = MAX_ARCS) -> None:
        self._tokens, self._problems, self._origin, self._max_arcs = tokens, problems, origin, max_arcs
        self._lattices: list[tuple[RawLattice, dict[str, Any]]] = []  # each with its arrays
        self._key: _BatchKey | None = None
        self._arcs = 0

    def add(self, lattice: RawLattice) -> Iterator[Lattices]:
        """Add an utterance; gives a batch when one is full, or when this one does not fit into it."""
        arrays = self._arrays(lattice)
        origin = replace(self._origin, times=lattice.times)
        key = _BatchKey(frozenset(arrays), frozenset(lattice.extra), frozenset(lattice.notes), lattice.scales, origin)
        if self._key is not None and key != self._key:
            yield from self.flush()
        self._key = key
        self._lattices.append((lattice, arrays))
        self._arcs += len(arrays["source"])
        if self._arcs >= BATCH_ARCS:
            yield from self.flush()

    def _arrays(self, lattice: RawLattice) -> dict[str, NDArray[np.generic]]:
        """The node and arc arrays that a lattice has, by name, each of its type."""
        token = lattice.token
        arrays: dict[str, NDArray[np.generic]] = {
            "time": np.asarray(lattice.time, np.float64),
            "source": np.asarray(lattice.source, np.int32),
            "target": np.asarray(lattice.target, np.int32),
            "token": token if isinstance(token, np.ndarray) else self._tokens.ids(token),
        }
        if lattice.picked is not None:
            arrays["picked"] = np.asarray(lattice.picked, bool)
        for name in ARC_SCORES:
            scores = getattr(lattice, name)
            if scores is not None:
                arrays[name] = np.asarray(scores, np.float32)
        return arrays

    def flush(self) -> Iterator[Lattices]:
        """What was collected so far, as a batch."""
        if self._key is None:
            return
        key, lattices, arrays = self._key, *zip(*self._lattices, strict=True)
        self._lattices, self._arcs, self._key = [], 0, None
        joined = {name: np.concatenate([part[name] for part in arrays]) for name in key.arrays}
        numbers = [(lattice.place, lattice.start, lattice.end, lattice.spread_words) for lattice in lattices]
        place, start, end, spread_words = np.array(numbers, np.int64).T
        raw = RawLattices(
            utts=[lattice.utt for lattice in lattices],
            place=place,
            node_offsets=row_offsets(part["time"] for part in arrays),
            arc_offsets=row_offsets(part["source"] for part in arrays),
            start=start.astype(np.int32),
            end=end.astype(np.int32),
            spread_words=spread_words.astype(np.int32),
            time=joined["time"],
            source=joined["source"],
            target=joined["target"],
            token=joined["token"],
            scores={name: joined[name] for name in ARC_SCORES if name in joined},
            picked=joined.get("picked"),
            extra={
                name: np.concatenate([np.asarray(lattice.extra[name], np.float32) for lattice in lattices])
                for name in sorted(key.extra)
            },
            notes={name: [lattice.notes[name] for lattice in lattices] for name in sorted(key.notes)},
        )
        yield from assemble_parts(
            raw, self._tokens, origin=key.origin, scales=key.scales, problems=self._problems, max_arcs=self._max_arcs
        )


@dataclass(frozen=True, slots=True)
class _BatchKey:
    """What the lattices of a batch have in common."""

    arrays: frozenset[str]
    extra: frozenset[str]
    notes: frozenset[str]
    scales: Scales
    origin: Origin
