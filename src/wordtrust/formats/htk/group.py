"""Many HTK lattices at once, where they are written alike and hold no surprises: what most files are.

Whatever is not so simple is left to `htk_lattice`, which takes lattices one by one, knows every rule of the format,
and knows what to say when one is broken. Where both can read a lattice they give the same (tested).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...base.errors import InputError
from ...lattices.assemble import RawLattices, Tokens
from ...lattices.lattice import Flags, Floats, Ints, Offsets, Times
from ...lattices.weights import Scales
from ..format import ReadOptions
from . import kernels
from .header import Author, Header, read_header
from .kernels import ACOUSTIC, FIRST, PLACE, POSTERIOR, SECOND, TIME, WORD
from .lattice import ROUNDING, label_tokens, silent_tokens, single, weighted
from .scan import Items, Scanned, Scanner, Text


class NotSimple(Exception):
    """None of these lattices can be taken with the others."""


@dataclass(frozen=True, slots=True)
class Group:
    """Lattices that were read together."""

    raw: RawLattices
    scales: Scales
    simple: Flags  # [lattices] the others have to be read one by one; what `raw` has of them means nothing

    def runs(self) -> Iterator[tuple[int, int, RawLattices | None]]:
        """From which to which lattice they are simple, with what to assemble, or are not."""
        cuts = np.flatnonzero(np.diff(self.simple)) + 1
        bounds = [0, *cuts.tolist(), len(self.simple)]
        for first, last in pairwise(bounds):
            yield first, last, _part(self.raw, first, last) if self.simple[first] else None


def _part(raw: RawLattices, first: int, last: int) -> RawLattices:
    """Some of the utterances."""
    node_offsets, arc_offsets = raw.node_offsets[first : last + 1], raw.arc_offsets[first : last + 1]
    nodes, arcs = slice(node_offsets[0], node_offsets[-1]), slice(arc_offsets[0], arc_offsets[-1])
    return RawLattices(
        utts=raw.utts[first:last],
        place=raw.place[first:last],
        node_offsets=node_offsets - node_offsets[0],
        arc_offsets=arc_offsets - arc_offsets[0],
        start=raw.start[first:last],
        end=raw.end[first:last],
        time=raw.time[nodes],
        source=raw.source[arcs],
        target=raw.target[arcs],
        token=raw.token[arcs],
        scores={name: values[arcs] for name, values in raw.scores.items()},
    )


@np.errstate(all="ignore")  # what is not finite is refused later
def read_group(
    texts: Sequence[Text], names: Sequence[str], scanner: Scanner, tokens: Tokens, options: ReadOptions
) -> Group:
    """Read lattices together. `names` are for those whose header gives none."""
    author = Author.of(texts[0])
    together = Text(texts[0].data, texts[0].start, texts[-1].end, texts[0].line)
    try:
        scanned = scanner.scan(
            together, quotes=author.quotes, limit=(together.end - together.start) // 8 + 1, lattices=len(texts)
        )
        _check(scanned)
        return _Reading(texts, scanned, author, tokens, options).group(names)
    except InputError as error:
        raise NotSimple from error


def _check(scanned: Scanned) -> None:
    """All nodes have times, all links the same scores, and all words are on links or all on nodes."""
    nodes, links = scanned.nodes, scanned.links
    simple = (
        0 < scanned.node_count == len(nodes) == nodes.count(TIME)
        and 0 < scanned.link_count == len(links)
        and (links.count(WORD), nodes.count(WORD)) in ((len(links), 0), (0, len(nodes)))
        and all(links.count(slot) in (0, len(links)) for slot in range(ACOUSTIC, POSTERIOR + 1))
        and not any(nodes.count(slot) for slot in range(ACOUSTIC, POSTERIOR + 1))
    )
    if not simple:
        raise NotSimple


class _Reading:
    """Lattices while they are read together."""

    def __init__(
        self, texts: Sequence[Text], scanned: Scanned, author: Author, tokens: Tokens, options: ReadOptions
    ) -> None:
        self._texts, self._scanned, self._author, self._tokens = texts, scanned, author, tokens
        starts = np.array([text.start for text in texts] + [texts[-1].end])
        self._nodes, self._links = _offsets(scanned.nodes, starts), _offsets(scanned.links, starts)
        self._headers = self._read_headers(starts)
        self._manner = self._headers[0]
        self._simple = self._fit(options)

    def _read_headers(self, starts: Offsets) -> list[Header]:
        fields = np.searchsorted(self._scanned.header[:, 0], starts).tolist()
        rows = (self._scanned.header[first:last] for first, last in pairwise(fields))
        return [read_header(text, row, self._author) for text, row in zip(self._texts, rows, strict=True)]

    def _fit(self, options: ReadOptions) -> Flags:
        """Which headers say the same as the first one, and are right about the sizes."""
        sizes = zip(np.diff(self._nodes).tolist(), np.diff(self._links).tolist(), strict=True)
        return np.array([
            Author.of(text) == self._author
            and header.manner == self._manner.manner
            and header.nodes in (None, nodes)
            and header.links in (None, links)
            and max(nodes, links) <= options.max_arcs
            for text, header, (nodes, links) in zip(self._texts, self._headers, sizes, strict=True)
        ])  # fmt: skip

    def group(self, names: Sequence[str]) -> Group:
        """All of them."""
        source, target, start, end = self._graphs()
        raw = RawLattices(
            utts=[header.utterance or name for header, name in zip(self._headers, names, strict=True)],
            place=np.array([text.line for text in self._texts], np.int64),
            node_offsets=self._nodes,
            arc_offsets=self._links,
            start=start,
            end=end,
            time=self._scanned.nodes.column(TIME) * self._manner.tscale,
            source=source,
            target=target,
            token=self._words(source, target, start, end),
            scores=self._scores(),
        )
        return Group(raw, self._manner.scales(), self._simple)

    def _graphs(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The two nodes of every link, and the start and end node of every lattice."""
        nodes, links = self._scanned.nodes, self._scanned.links
        start = np.array([_outer_node(header.start) for header in self._headers], np.int32)
        end = np.array([_outer_node(header.end) for header in self._headers], np.int32)
        source, target = np.zeros(len(links), np.int32), np.zeros(len(links), np.int32)
        number, pairs = nodes.whole[:, FIRST], links.whole[:, FIRST : SECOND + 1]
        kernels.all_ends(number, pairs, self._nodes, self._links, source, target, start, end, self._simple)
        return source, target, start, end

    def _words(self, source: Ints, target: Ints, start: Ints, end: Ints) -> Ints:
        """The token of every link. A word on an outer node, which no link shares, is not simple."""
        nodes, links = self._scanned.nodes, self._scanned.links
        labelled = links if links.count(WORD) else nodes
        token = label_tokens(self._texts[0], labelled, self._tokens, quotes=self._author.quotes)
        if labelled is links:
            return token
        owner, outer = (source, end) if self._manner.word_first else (target, start)
        first, largest = self._nodes[:-1], len(token) - 1  # what is not simple may lead anywhere
        self._simple &= silent_tokens(self._tokens, token[np.minimum(first + outer, largest)])
        shared: Ints = token[np.minimum(owner + np.repeat(first, np.diff(self._links)), largest)]
        return shared

    def _scores(self) -> dict[str, Floats]:
        """What the links have, weighed as `htk_lattice` does."""
        links, header = self._scanned.links, self._manner
        natural = {
            slot: header.natural(links.column(slot)) for slot in range(ACOUSTIC, POSTERIOR) if links.count(slot)
        }  # fmt: skip
        made: dict[str, Floats] = {}
        if ACOUSTIC in natural:
            made["acoustic"] = single(natural.pop(ACOUSTIC))
        if natural:
            first, *others = (weighted(header, slot, values) for slot, values in natural.items())
            made["transition"] = single(sum(others, first))
        if links.count(POSTERIOR):
            made["posterior"] = self._posterior(links.column(POSTERIOR))
        return made

    def _posterior(self, values: Times) -> Floats:
        """Probabilities. Those of a lattice that are all 1, or no probabilities at all, take a closer look."""
        filled = np.flatnonzero(np.diff(self._links))  # reduceat knows no empty parts
        low = np.minimum.reduceat(values, self._links[filled])
        high = np.maximum.reduceat(values, self._links[filled])
        self._simple[filled] &= (low >= 0) & (low < 1) & (high <= 1 + ROUNDING)
        return single(np.clip(values, 0.0, 1.0))


def _offsets(items: Items, starts: Offsets) -> Offsets:
    """Where the items of each lattice begin."""
    return np.searchsorted(items.whole[:, PLACE], starts).astype(np.int64)


def _outer_node(given: int | None) -> int:
    """A start or end node: as the header says, -1 to find it, or one that there cannot be."""
    return -1 if given is None else given if 0 <= given < 2**31 - 1 else 2**31 - 1
