"""What the fields of HTK lattices mean: from scanned nodes and links to raw lattices in our terms.

Everything here works on arrays of one or many lattices that are written in the same way. What is wrong with a
lattice is noted in `errors` and concerns no other.

Words on nodes come in two conventions. HTK's own: a node's time is the *end* of its word, and a link scores the word
of the node it leads to. PocketSphinx's, and that of lattices with `dir=b`: a node's time is the *start* of its word,
and a link scores the word of the node it leaves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from ...base.arrays import csr_offsets, csr_rows
from ...base.errors import InputError
from ...lattices.assemble import RawLattices, Tokens
from ...lattices.lattice import Flags, Floats, Ints, Offsets, Times
from ...lattices.weights import Scales
from ..format import ReadOptions
from . import kernels
from .header import Author, SlfHeader, read_header
from .kernels import ACOUSTIC, FIRST, LANGUAGE, NGRAM, PLACE, POSTERIOR, PRONUNCIATION, SECOND, TIME, WORD, WORD_FROM
from .posteriors import MEANING as POSTERIOR_MEANING
from .posteriors import read_posteriors
from .scan import ALL, NONE, SOME, TITLES, Items, LatticeText, ScannedText, unescaped

_NULL = "!NULL"
_SPECIAL = re.compile(rb"""[\\"']""")
_LAST_WORD_LENGTH = 0.01  # seconds, where only the start of the last word is known
_CUT = "The file was cut, or lattices were joined without a VERSION= line before each"


def alike(
    texts: Sequence[LatticeText], names: Sequence[str], scanned: ScannedText, author: Author, options: ReadOptions
) -> Iterator[SlfLattices | InputError]:
    """The lattices of some texts that were scanned together: those written alike in groups, or what is wrong.

    `names` are for those whose header gives none.
    """
    starts = np.array([text.start for text in texts] + [texts[-1].end])
    nodes, links = scanned.nodes.offsets(starts), scanned.links.offsets(starts)
    fields = np.searchsorted(scanned.header[:, 0], starts)
    counts = [(scanned.node_count, scanned.link_count)]  # of a single one, perhaps more than were kept
    if len(texts) > 1:
        counts = list(zip(np.diff(nodes).tolist(), np.diff(links).tolist(), strict=True))
    headers: list[SlfHeader | InputError] = []
    for row, (text, name) in enumerate(zip(texts, names, strict=True)):
        try:
            header = read_header(text, scanned.header[fields[row] : fields[row + 1]], author)
            _check_counts(text, header, *counts[row], options, utt=header.utterance or name)
            headers.append(header)
        except InputError as error:
            headers.append(error.at(utt=name))
    layouts = scanned.layouts(nodes, links)
    for first, last in pairwise([0, *_changes(headers, layouts), len(texts)]):
        group = headers[first:last]
        if isinstance(group[0], InputError):
            yield group[0]
            continue
        yield SlfLattices(
            texts[first:last],
            [header for header in group if isinstance(header, SlfHeader)],
            names[first:last],
            scanned.nodes.part(nodes[first : last + 1]),
            scanned.links.part(links[first : last + 1]),
            layouts[first],
            quotes=author.quotes,
        )


def _changes(headers: Sequence[SlfHeader | InputError], layouts: Offsets) -> list[int]:
    """The lattices that are not written as the one before them, or cannot be read."""
    if len(headers) == 1:
        return []
    manners = [header.manner if isinstance(header, SlfHeader) else header for header in headers]
    changed = (layouts[1:] != layouts[:-1]).any(axis=1).tolist()
    return [row for row in range(1, len(headers)) if changed[row - 1] or manners[row] != manners[row - 1]]


def _check_counts(
    text: LatticeText, header: SlfHeader, nodes: int, links: int, options: ReadOptions, *, utt: str
) -> None:
    """Too many nodes or links, none, or not as many as the header announces."""
    try:
        if links > options.max_arcs:
            raise options.too_many_arcs(links, place=f"line {text.line}")
        if nodes > options.max_arcs:
            raise text.error(f"the lattice has {nodes:,} nodes, more than {options.max_arcs:,}", text.start)
        if links == 0:
            raise text.error("the lattice has no links (J=)", text.end - 1, _CUT)
        if header.links not in (None, links):
            message = f"the header announces {header.links:,} links, but there are {links:,}"
            raise text.error(message, text.end - 1, _CUT)
        if nodes and header.nodes not in (None, nodes):
            message = f"the header announces {header.nodes:,} nodes, but there are {nodes:,}"
            raise text.error(message, text.end - 1, _CUT)
    except InputError as error:
        raise error.at(utt=utt) from None


class SlfLattices:
    """Lattices that follow each other in a file and are written in the same way.

    All have at least one link. The header of the first tells scales, log base and conventions of all; a field is on
    all nodes of each of them, on some, or on none, and likewise for links.
    """

    def __init__(
        self,
        texts: Sequence[LatticeText],
        headers: Sequence[SlfHeader],
        names: Sequence[str],
        nodes: tuple[Items, Offsets],
        links: tuple[Items, Offsets],
        layout: Offsets,
        *,
        quotes: bool,
    ) -> None:
        self.errors: dict[int, InputError] = {}  # by lattice: the first thing that is wrong with it
        self.header = headers[0]
        self._texts, self._headers, self._quotes = texts, headers, quotes
        self._utts = [header.utterance or name for header, name in zip(headers, names, strict=True)]
        (self._nodes, self._node_offsets), (self._links, self._link_offsets) = nodes, links
        self._on_nodes, self._on_links = layout[: kernels.SLOTS], layout[kernels.SLOTS :]

    @cached_property
    def _link_rows(self) -> Offsets:
        """[links] the lattice of each."""
        return csr_rows(self._link_offsets)

    @cached_property
    def _owner(self) -> Offsets:
        """[links] the node that shares its word and its scores with the link."""
        node = self._source if self.header.word_first else self._target
        owner: Offsets = np.repeat(self._node_offsets[:-1], np.diff(self._link_offsets)) + node
        return owner

    @np.errstate(all="ignore")  # what is not finite is refused later
    def read(self, tokens: Tokens) -> Iterator[RawLattices | InputError]:
        """In the order of the file: lattices to assemble, as many at once as have the same scores, and errors."""
        self._source, self._target = self._graph()
        start, end = self._outer_nodes()
        token, node_token = self._words(tokens)
        silent = _silent_tokens(tokens, token) if self._needs_silence() else np.zeros(0, np.bool_)
        scores = self._scores(silent)
        time = self._times(start, silent)
        raw = RawLattices(
            utts=self._utts, place=np.array([text.line for text in self._texts], np.int64),
            node_offsets=self._node_offsets, arc_offsets=self._link_offsets, start=start, end=end, time=time,
            source=self._source, target=self._target, token=token, scores=scores,
        )  # fmt: skip
        posterior, has_posterior = self._posterior()
        if len(node_token):
            raw, posterior = self._with_outer_words(raw, posterior, tokens, node_token)
        return self._runs(raw, posterior, has_posterior)

    def _runs(
        self, raw: RawLattices, posterior: Floats | None, has_posterior: Flags
    ) -> Iterator[RawLattices | InputError]:
        """The good lattices in runs with the same scores, between them what is wrong with the others."""
        count, cuts = len(self._utts), list[int]()
        if self.errors or has_posterior.any() != has_posterior.all():
            bad = np.isin(np.arange(count), list(self.errors))
            cuts = (np.flatnonzero(np.diff(has_posterior) | bad[1:] | bad[:-1]) + 1).tolist()
        for first, last in pairwise([0, *cuts, count]):
            if first in self.errors:
                yield self.errors[first].at(utt=self._utts[first])
                continue
            part = raw if last - first == count else raw.select(range(first, last))
            if posterior is not None and has_posterior[first]:
                part.scores = {**part.scores, "posterior": posterior[raw.arc_offsets[first] : raw.arc_offsets[last]]}
            yield part

    def _blame(self, row: int, error: InputError) -> None:
        self.errors.setdefault(row, error)

    def _blame_link(self, link: int, message: str, remedy: str = _CUT) -> None:
        """Note an error about a link. `link` counts through all lattices."""
        row = int(self._link_rows[link])
        self._blame(row, self._texts[row].error(message, int(self._links.whole[link, PLACE]), remedy))

    def _blame_links(self, bad: Offsets, message: str, remedy: str) -> None:
        """Note an error about the first of these links in each lattice that has any."""
        for index in np.unique(self._link_rows[bad], return_index=True)[1].tolist():
            self._blame_link(int(bad[index]), message, remedy)

    def _graph(self) -> tuple[Ints, Ints]:
        """[links] the nodes at the two ends, counted from 0 in each lattice."""
        pairs = self._links.whole[:, FIRST : SECOND + 1]
        if not len(self._nodes):  # a lattice may leave its nodes to its links
            node_ids = [np.unique(pairs[first:last]) for first, last in pairwise(self._link_offsets.tolist())]
            self._node_offsets = csr_offsets([len(own) for own in node_ids])
            self._node_ids = np.concatenate(node_ids)
        else:
            self._node_ids = self._nodes.whole[:, FIRST]
        source, target = np.zeros(len(pairs), np.int32), np.zeros(len(pairs), np.int32)
        status = np.empty(len(self._texts), np.int64)
        kernels.number_ends(
            self._node_ids, self._node_offsets, pairs, self._link_offsets, source, target, status
        )  # fmt: skip
        for row in np.flatnonzero(status != kernels.NUMBERED).tolist():
            links = slice(self._link_offsets[row], self._link_offsets[row + 1])
            if status[row] == kernels.OTHERWISE:
                source[links], target[links] = self._renumbered(row, pairs[links]).T
            else:
                self._blame_missing_node(row, int(status[row]))
        return source, target

    def _node_ids_of(self, row: int) -> Offsets:
        """[nodes] of one lattice, as the file numbers them."""
        node_ids: Offsets = self._node_ids[self._node_offsets[row] : self._node_offsets[row + 1]]
        return node_ids

    def _renumbered(self, row: int, pairs: Offsets) -> Offsets:
        """[links, 2] the ends of a lattice's links counted from 0 in the order of its nodes."""
        node_ids = self._node_ids_of(row)
        order = np.argsort(node_ids, kind="stable")
        twice = np.flatnonzero(np.diff(node_ids[order]) == 0)
        if len(twice):
            again = int(order[twice[0] + 1])
            position = int(self._nodes.whole[self._node_offsets[row] + again, PLACE])
            self._blame(row, self._texts[row].error(f"node {node_ids[again]} appears twice", position, _CUT))
        rank = np.minimum(np.searchsorted(node_ids[order], pairs), len(node_ids) - 1)
        is_node = node_ids[order[rank]] == pairs
        bad = np.flatnonzero(~is_node.all(axis=1))
        if len(bad):
            self._blame_missing_node(row, int(bad[0]))
        ends: Offsets = np.where(is_node, order[rank], 0)
        return ends

    def _blame_missing_node(self, row: int, link: int) -> None:
        link += int(self._link_offsets[row])
        nodes = set(self._node_ids_of(row).tolist())
        ends = self._links.whole[link, FIRST : SECOND + 1].tolist()
        missing = next(node_id for node_id in ends if node_id not in nodes)
        self._blame_link(link, f"a link leads to or from node {missing}, which is not there")

    def _outer_nodes(self) -> tuple[Ints, Ints]:
        """[lattices] start and end nodes."""
        given = np.array([(_outer(header.start), _outer(header.end)) for header in self._headers], np.int64).T
        outer, candidates = np.zeros(given.shape, np.int32), np.zeros(given.shape, np.int64)
        kernels.outer_nodes(
            self._node_ids, self._node_offsets, self._source, self._target, self._link_offsets,
            given, outer, candidates,
        )  # fmt: skip
        for side, row in zip(*np.nonzero(candidates != 1), strict=True):
            links = slice(self._link_offsets[row], self._link_offsets[row + 1])
            source, target = self._source[links], self._target[links]
            fits = np.setdiff1d(target, source) if side else np.setdiff1d(source, target)
            self._blame(row, self._outer_error(row, ("start", "end")[side], self._node_ids_of(row)[fits]))
        return outer[0], outer[1]

    def _outer_error(self, row: int, name: str, candidates: Offsets) -> InputError:
        text, given = self._texts[row], getattr(self._headers[row], name)
        if given is not None:
            return text.error(f"the {name} node {given} is not there", text.start, _CUT)
        links = "leads into" if name == "start" else "leaves"
        if not len(candidates):
            return text.error(
                f"there is no {name} node: no node that no link {links}", text.start,
                "A lattice has no cycles: this looks like a grammar",
            )  # fmt: skip
        listed = ", ".join(str(node_id) for node_id in candidates[:10].tolist()) + ", ..." * (len(candidates) > 10)
        return text.error(
            f"{len(candidates)} nodes could be the {name}, because no link {links} them: {listed}", text.start,
            f"Say which one: {name}=NUMBER in the header",
        )  # fmt: skip

    def _words(self, tokens: Tokens) -> tuple[Ints, Ints]:
        """[links] tokens, on the link or on the node that it shares them with; [nodes] tokens, if those matter."""
        on_links, on_nodes = self._on_links[WORD], self._on_nodes[WORD]
        if on_links == ALL:
            return self._labels(self._links, self._link_offsets, tokens), np.zeros(0, np.int32)
        if on_links == on_nodes == NONE:
            for row, text in enumerate(self._texts):
                message = "neither nodes nor links have words (W=)"
                self._blame(row, text.error(message, text.start, "Have the words written as well"))
        node_token = np.zeros(0, np.int32)
        token = np.zeros(len(self._links), np.int32)
        if on_nodes != NONE:
            node_token = np.maximum(self._labels(self._nodes, self._node_offsets, tokens), 0)
            token = node_token[self._owner]
        if on_links == SOME:
            of_link = self._labels(self._links, self._link_offsets, tokens)
            token = np.where(of_link >= 0, of_link, token)
        return token, node_token

    def _labels(self, items: Items, offsets: Offsets, tokens: Tokens) -> Ints:
        """[items] the token of each node or link, -1 for those without label."""
        data = self._texts[0].data
        label_ids, starts, ends = items.labels(data)
        labels = [data[start:end] for start, end in zip(starts, ends, strict=True)]
        words = _decoded_labels(labels, quotes=self._quotes)
        table = [-1 if word is None else tokens.id("" if word == _NULL else word) for word in words]
        if None in words:
            bad = np.flatnonzero(np.array([*(word is None for word in words), False])[label_ids])
            rows, first = np.unique(np.searchsorted(offsets, bad, "right") - 1, return_index=True)
            for row, item in zip(rows.tolist(), bad[first].tolist(), strict=True):
                plain = unescaped(labels[label_ids[item]], quotes=self._quotes)
                message, position = f"the word {plain[:40]!r} is not in UTF-8", int(items.whole[item, WORD_FROM])
                self._blame(row, self._texts[row].error(message, position, "Convert the file (iconv -t utf-8)"))
        return np.array([*table, -1], np.int32)[label_ids]

    def _needs_silence(self) -> bool:
        """Whether something depends on which links say a word: scores or times that are missing."""
        scores_missing = any(self._on_links[slot] != ALL and self._has(slot) for slot in (ACOUSTIC, LANGUAGE, NGRAM))
        return scores_missing or self._on_nodes[TIME] == NONE

    def _has(self, slot: int) -> bool:
        return bool(self._on_links[slot] != NONE or self._on_nodes[slot] != NONE)

    def _scores(self, silent: Flags) -> dict[str, Floats]:
        """[links] acoustic scores, and those of language and pronunciation as one, if the lattices have them."""
        scores: dict[str, Floats] = {}
        if self._has(ACOUSTIC):
            scores["acoustic"] = _single(self._score(ACOUSTIC, silent))
        if self._transition_slots:
            first, *others = (self._weighted(slot, silent) for slot in self._transition_slots)
            scores["transition"] = _single(sum(others, first))
        return scores

    @cached_property
    def _transition_slots(self) -> list[int]:
        return [slot for slot in (LANGUAGE, NGRAM, PRONUNCIATION) if self._has(slot)]

    @property
    def _transition_scale(self) -> float:
        """The weight of language and pronunciation scores together: `lmscale`, or 1 if only that is 0."""
        return self.header.lmscale or float(self._transition_slots not in ([], [LANGUAGE]))

    @property
    def scales(self) -> Scales:
        """How the recognizer weighs its scores."""
        return self.header.scales(self._transition_scale)

    def _weighted(self, slot: int, silent: Flags) -> Times:
        """[links] scores of a language or pronunciation model, so weighed that one scale fits their sum."""
        scores, weight, scale = self._score(slot, silent), self.header.weight(slot), self._transition_scale
        if weight == scale:
            return scores
        return scores * (weight / scale) if weight else np.zeros_like(scores)  # infinite ones too

    def _score(self, slot: int, silent: Flags) -> Times:
        """[links] one kind of score as natural logarithms.

        HTK reads a score that is missing on a link as 0, probability one. That fits pronunciations, and links on
        which nothing is said; for anything else it would make the link the best of all.
        """
        values = self._links.column(slot)
        if self._on_links[slot] == ALL:
            return self.header.natural(values)
        if self._on_nodes[slot] != NONE:
            values = np.where(np.isnan(values), self._nodes.column(slot)[self._owner], values)
        missing = np.isnan(values)
        if slot != PRONUNCIATION:
            worded = np.flatnonzero(missing & ~silent)
            self._blame_links(worded, f"a link has no {TITLES[slot]}, but others have", "Give all words a score")
        return np.where(missing, 0.0, self.header.natural(np.where(missing, 1.0, values)))

    def _times(self, start: Ints, silent: Flags) -> Times:
        """[nodes] seconds; a second a word where there are no times at all."""
        if self._on_nodes[TIME] == NONE:
            depths, sizes = [], np.diff(self._node_offsets).tolist()
            for size, (first, last) in zip(sizes, pairwise(self._link_offsets.tolist()), strict=True):
                source, target = self._source[first:last], self._target[first:last]
                depths.append(_depths(size, source, target, silent[first:last]))
            return np.concatenate(depths)
        time = self._nodes.column(TIME) * self.header.tscale
        if self._on_nodes[TIME] == SOME:
            outer = self._node_offsets[:-1] + start
            time[outer] = np.where(np.isnan(time[outer]), 0.0, time[outer])
            missing = np.flatnonzero(np.isnan(time))
            rows, first = np.unique(np.searchsorted(self._node_offsets, missing, "right") - 1, return_index=True)
            for row, node in zip(rows.tolist(), missing[first].tolist(), strict=True):
                node_id, position = self._nodes.whole[node, [FIRST, PLACE]].tolist()
                message = f"node {node_id} has no time t, but others have"
                self._blame(row, self._texts[row].error(message, position, "Give all nodes a time"))
        return time

    @property
    def has_times(self) -> bool:
        """Whether the times are those of the file, not made up."""
        return bool(self._on_nodes[TIME] != NONE)

    def _posterior(self) -> tuple[Floats | None, Flags]:
        """[links] posteriors, if all have one; [lattices] whether they were computed at all."""
        if self._on_links[POSTERIOR] != ALL:
            return None, np.zeros(len(self._texts), np.bool_)
        values = self._links.column(POSTERIOR)
        found = read_posteriors(values, self._link_offsets, self._source, self.header)
        for link in found.bad.tolist():
            self._blame_link(link, f"the posterior p is {values[link]}", POSTERIOR_MEANING)
        return _single(found.probability), found.computed

    def _with_outer_words(
        self, raw: RawLattices, posterior: Floats | None, tokens: Tokens, node_token: Ints
    ) -> tuple[RawLattices, Floats | None]:
        """An arc for each word that no link carries: the start node's, or the end node's. It is on every path."""
        word_first = self.header.word_first
        outer = raw.end if word_first else raw.start
        token = node_token[self._node_offsets[:-1] + outer]
        rows = np.flatnonzero(~_silent_tokens(tokens, token))
        if not len(rows):
            return raw, posterior
        added, inner = np.diff(self._node_offsets)[rows].astype(np.int32), outer[rows]
        at_node, at_arc = self._node_offsets[rows + 1], self._link_offsets[rows + 1]
        time = raw.time[self._node_offsets[rows] + inner]
        start, end = raw.start.copy(), raw.end.copy()
        (end if word_first else start)[rows] = added
        more = np.zeros(len(self._texts), np.int64)
        more[rows] = 1
        made = RawLattices(
            utts=raw.utts,
            place=raw.place,
            node_offsets=csr_offsets(np.diff(raw.node_offsets) + more),
            arc_offsets=csr_offsets(np.diff(raw.arc_offsets) + more),
            start=start,
            end=end,
            time=np.insert(raw.time, at_node, time + _LAST_WORD_LENGTH if word_first else np.minimum(time, 0.0)),
            source=np.insert(raw.source, at_arc, inner if word_first else added),
            target=np.insert(raw.target, at_arc, added if word_first else inner),
            token=np.insert(raw.token, at_arc, token[rows]),
            scores={name: np.insert(values, at_arc, 0) for name, values in raw.scores.items()},
        )
        return made, None if posterior is None else np.insert(posterior, at_arc, 1)


def _outer(given: int | None) -> int:
    """The number of a start or end node for the kernel; no node has one as large as the limits."""
    return kernels.NOT_GIVEN if given is None else max(-(2**61), min(given, 2**61))


def _decoded_labels(labels: Sequence[bytes], *, quotes: bool) -> Sequence[str | None]:
    """The words of labels; None for those that are not in UTF-8."""
    joined = b"\n".join(labels)  # none of them has a newline
    if not (quotes and _SPECIAL.search(joined)):
        try:
            return joined.decode("utf-8").split("\n")[: len(labels)]
        except UnicodeDecodeError:
            pass
    return [_decoded(unescaped(label, quotes=quotes)) for label in labels]


def _decoded(label: bytes) -> str | None:
    try:
        return label.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _silent_tokens(tokens: Tokens, token: Ints) -> Flags:
    """Which tokens say no word."""
    return np.array([tokens.pieces[token_id][0][0] == 0 for token_id in token.tolist()], np.bool_)


def _depths(nodes: int, source: Ints, target: Ints, silent: Flags) -> Times:
    """The most words on any path to each node. Nodes on a cycle get something: they are refused later."""
    depth, waiting = [0] * nodes, np.bincount(target, minlength=nodes).tolist()
    order = np.argsort(source, kind="stable")
    first = np.searchsorted(source[order], np.arange(nodes + 1)).tolist()
    following, length = target[order].tolist(), (~silent[order]).tolist()
    ready = [node for node in range(nodes) if not waiting[node]]
    while ready:
        node = ready.pop()
        for arc in range(first[node], first[node + 1]):
            other = following[arc]
            depth[other] = max(depth[other], depth[node] + length[arc])
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return np.array(depth, np.float64)


def _single(values: Times) -> Floats:
    """In single precision; what is too large becomes infinite."""
    return values.astype(np.float32)
