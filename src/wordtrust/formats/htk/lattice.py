"""One HTK lattice: from the fields of its nodes and links to a raw lattice in our terms.

Words on nodes come in two conventions. HTK's own: a node's time is the *end* of its word, and a link scores the word
of the node it leads to. PocketSphinx's, and that of lattices with `dir=b`: a node's time is the *start* of its word,
and a link scores the word of the node it leaves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import numpy as np

from ...base.errors import InputError
from ...lattices.assemble import RawLattice, Tokens
from ...lattices.lattice import Flags, Floats, Ints, Offsets, Times
from ..format import ReadOptions
from . import kernels
from .header import Header
from .kernels import ACOUSTIC, FIRST, LANGUAGE, NGRAM, PLACE, POSTERIOR, PRONUNCIATION, SECOND, TIME, WORD
from .scan import TITLES, Items, Scanned, Text, unescaped

_NULL = "!NULL"
_SPECIAL = re.compile(rb"""[\\"']""")
_LAST_WORD_LENGTH = 0.01  # seconds, where only the start of the last word is known
ROUNDING = 0.01  # by which a posterior may be over 1: decoders add logs in whole numbers
_CUT = "The file was cut, or lattices were joined without a VERSION= line before each"


@dataclass(frozen=True, slots=True)
class Draft:
    """A lattice as far as it is read."""

    text: Text
    scanned: Scanned
    header: Header
    quotes: bool  # whether values may be quoted and escaped

    def at_link(self, found: str, link: int, remedy: str = _CUT) -> InputError:
        """An error about a link."""
        return self.text.error(found, int(self.scanned.links.whole[link, PLACE]), remedy)


@np.errstate(all="ignore")  # what is not finite is refused later
def raw_lattice(utt: str, draft: Draft, tokens: Tokens, options: ReadOptions) -> RawLattice:
    """A lattice in our terms."""
    _check_counts(draft, options)
    source, target, start, end = _graph(draft)
    owner = source if draft.header.word_first else target
    token, node_token = _words(draft, tokens, owner)
    acoustic, transition = _score(draft, tokens, ACOUSTIC, owner, token), _transition(draft, tokens, owner, token)
    raw = RawLattice(
        utt=utt, time=_times(draft, tokens, start, source, target, token), source=source, target=target,
        token=token, start=start, end=end, place=draft.text.line, scales=draft.header.scales(),
        times="given" if draft.scanned.nodes.count(TIME) else "aligned",
        acoustic=None if acoustic is None else single(acoustic),
        transition=None if transition is None else single(transition),
        posterior=_posterior(draft, source),
    )  # fmt: skip
    outer = end if draft.header.word_first else start
    if len(node_token) and not silent_tokens(tokens, node_token[outer : outer + 1])[0]:
        return _with_outer_word(raw, int(node_token[outer]), word_first=draft.header.word_first)
    return raw


def _check_counts(draft: Draft, options: ReadOptions) -> None:
    """Too many, none, or not as many as the header announces."""
    text, scanned, header = draft.text, draft.scanned, draft.header
    if scanned.link_count > options.max_arcs:
        raise options.too_many_arcs(scanned.link_count, place=f"line {text.line}")
    if scanned.node_count > options.max_arcs:
        raise text.error(f"the lattice has {scanned.node_count:,} nodes, more than {options.max_arcs:,}", text.start)
    if scanned.link_count == 0:
        raise text.error("the lattice has no links (J=)", text.end - 1, _CUT)
    if header.links not in (None, scanned.link_count):
        found = f"the header announces {header.links:,} links, but there are {scanned.link_count:,}"
        raise text.error(found, text.end - 1, _CUT)
    if scanned.node_count and header.nodes not in (None, scanned.node_count):
        found = f"the header announces {header.nodes:,} nodes, but there are {scanned.node_count:,}"
        raise text.error(found, text.end - 1, _CUT)


def _graph(draft: Draft) -> tuple[Ints, Ints, int, int]:
    """The nodes, counted from 0, at the two ends of each link, and the lattice's start and end node."""
    known: Offsets = draft.scanned.nodes.whole[:, FIRST]
    pairs = draft.scanned.links.whole[:, FIRST : SECOND + 1]
    if not len(known):  # a lattice may leave its nodes to its links
        known = np.unique(pairs)
    source, target = np.empty(len(pairs), np.int32), np.empty(len(pairs), np.int32)
    entered, left = np.zeros(len(known), bool), np.zeros(len(known), bool)
    bad = kernels.ends(known, pairs, source, target, entered, left)
    if bad == -2:
        rows = _renumbered(draft, known, pairs)
        bad = kernels.ends(np.arange(len(known)), rows, source, target, entered, left)
    if bad >= 0:
        missing = [number for number in pairs[bad].tolist() if number not in known]
        raise draft.at_link(f"a link leads to or from node {missing[0]}, which is not there", bad)
    start = _outer(draft, "start", draft.header.start, known, left & ~entered)
    return source, target, start, _outer(draft, "end", draft.header.end, known, entered & ~left)


def _renumbered(draft: Draft, known: Offsets, pairs: Offsets) -> Offsets:
    """The ends of links counted from 0 in the order of the nodes, -1 for those that are no nodes."""
    order = np.argsort(known, kind="stable")
    twice = np.flatnonzero(np.diff(known[order]) == 0)
    if len(twice):
        again = order[twice[0] + 1]
        place = int(draft.scanned.nodes.whole[again, PLACE])
        raise draft.text.error(f"node {known[again]} is there twice", place, _CUT)
    rank = np.minimum(np.searchsorted(known[order], pairs), len(known) - 1)
    rows: Offsets = np.where(known[order[rank]] == pairs, order[rank], -1)
    return rows


def _outer(draft: Draft, name: str, given: int | None, known: Offsets, candidate: Flags) -> int:
    found = np.flatnonzero(candidate if given is None else known == given)
    if len(found) == 1:
        return int(found[0])
    if given is not None:
        raise draft.text.error(f"the {name} node {given} is not there", draft.text.start, _CUT)
    links = "leads into" if name == "start" else "leaves"
    if not len(found):
        raise draft.text.error(
            f"there is no {name} node: no node that no link {links}", draft.text.start,
            "A lattice has no cycles: this looks like a grammar",
        )  # fmt: skip
    listed = ", ".join(str(number) for number in known[found[:10]].tolist()) + (", ..." if len(found) > 10 else "")
    raise draft.text.error(
        f"{len(found)} nodes could be the {name}, because no link {links} them: {listed}", draft.text.start,
        f"Say which one: {name}=NUMBER in the header",
    )  # fmt: skip


def label_tokens(text: Text, items: Items, tokens: Tokens, *, quotes: bool) -> Ints:
    """The token of each item, -1 for those without label."""
    data = text.data
    number, starts, ends = items.labels(data)
    labels = [data[start:end] for start, end in zip(starts, ends, strict=True)]
    joined = b"\n".join(labels)  # none of them has a newline
    words = None if quotes and _SPECIAL.search(joined) else _split(joined)
    if words is None:
        words = [_word(text, label, start, quotes) for label, start in zip(labels, starts, strict=True)]
    table = [tokens.id("" if word == _NULL else word) for word in words[: len(labels)]]
    return np.array([*table, -1], np.int32)[number]


def _split(joined: bytes) -> list[str] | None:
    """All labels at once, if they are in UTF-8."""
    try:
        return joined.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        return None


def _word(text: Text, label: bytes, at: int, quotes: bool) -> str:
    """One label, which may be quoted, escaped or damaged."""
    plain = unescaped(label, quotes=quotes)
    try:
        return plain.decode("utf-8")
    except UnicodeDecodeError:
        found, remedy = f"the word {plain[:40]!r} is not in UTF-8", "Convert the file (iconv -t utf-8)"
        raise text.error(found, at, remedy) from None


def silent_tokens(tokens: Tokens, token: Ints) -> Flags:
    """Which tokens say no word."""
    return np.array([tokens.pieces[number][0][0] == 0 for number in token.tolist()])


def _words(draft: Draft, tokens: Tokens, owner: Ints) -> tuple[Ints, Ints]:
    """The token of each link, on it or on the node that it shares it with; and of each node, if those matter."""
    links, nodes = draft.scanned.links, draft.scanned.nodes
    if links.count(WORD) == len(links):
        return label_tokens(draft.text, links, tokens, quotes=draft.quotes), np.zeros(0, np.int32)
    if not links.count(WORD) and not nodes.count(WORD):
        raise draft.text.error(
            "neither nodes nor links have words (W=)", draft.text.start, "Have the words written as well"
        )
    of_node = (
        np.maximum(label_tokens(draft.text, nodes, tokens, quotes=draft.quotes), 0)
        if nodes.count(WORD)
        else np.zeros(int(owner.max()) + 1, np.int32)
    )
    token = of_node[owner]
    if links.count(WORD):
        of_link = label_tokens(draft.text, links, tokens, quotes=draft.quotes)
        token = np.where(of_link >= 0, of_link, token)
    return token, of_node if nodes.count(WORD) else np.zeros(0, np.int32)


def _times(draft: Draft, tokens: Tokens, start: int, source: Ints, target: Ints, token: Ints) -> Times:
    """Seconds of each node; a second a word where there are no times at all."""
    nodes = draft.scanned.nodes
    given = nodes.count(TIME)
    if not given:
        count = max(source.max(), target.max(), len(nodes) - 1) + 1
        return _depths(count, source, target, silent_tokens(tokens, token))
    time = nodes.column(TIME) * draft.header.tscale
    if given < len(nodes):
        if np.isnan(time[start]):
            time[start] = 0.0
        missing = np.flatnonzero(np.isnan(time))
        if len(missing):
            number, place = nodes.whole[missing[0], [FIRST, PLACE]].tolist()
            raise draft.text.error(f"node {number} has no time t, but others have", place, "Give all nodes a time")
    return time


def _depths(nodes: int, source: Ints, target: Ints, silent: Flags) -> Times:
    """The most words on any path to each node. Nodes on a cycle get something: they are refused later."""
    depth, waiting = [0] * nodes, np.bincount(target, minlength=nodes).tolist()
    order = np.argsort(source, kind="stable")
    first = np.searchsorted(source[order], np.arange(nodes + 1)).tolist()
    following, length = target[order].tolist(), (~silent[order]).tolist()
    ready = [node for node in range(nodes) if not waiting[node]]
    while ready:
        node = ready.pop()
        for place in range(first[node], first[node + 1]):
            other = following[place]
            depth[other] = max(depth[other], depth[node] + length[place])
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return np.array(depth, np.float64)


def _score(draft: Draft, tokens: Tokens, slot: int, owner: Ints, token: Ints) -> Times | None:
    """One kind of score of every link as natural logarithm; None if the lattice does not have it.

    HTK reads a score that is missing on a link as 0, probability one. That fits pronunciations, and links on which
    nothing is said; for anything else it would make the link the best of all.
    """
    links, nodes = draft.scanned.links, draft.scanned.nodes
    if not links.count(slot) and not nodes.count(slot):
        return None
    values = links.column(slot)
    if links.count(slot) == len(links):
        return draft.header.natural(values)
    if nodes.count(slot):
        values = np.where(np.isnan(values), nodes.column(slot)[owner], values)
    missing = np.isnan(values)
    worded = np.flatnonzero(missing & ~silent_tokens(tokens, token))
    if len(worded) and slot != PRONUNCIATION:
        found = f"a link has no {TITLES[slot]}, but others have"
        raise draft.at_link(found, int(worded[0]), "Give all words a score")
    return np.where(missing, 0.0, draft.header.natural(np.where(missing, 1.0, values)))


def _transition(draft: Draft, tokens: Tokens, owner: Ints, token: Ints) -> Times | None:
    """Language and pronunciation scores as one."""
    total = None
    for slot in (LANGUAGE, NGRAM, PRONUNCIATION):
        values = _score(draft, tokens, slot, owner, token)
        if values is not None:
            values = weighted(draft.header, slot, values)
            total = values if total is None else total + values
    return total


def weighted(header: Header, slot: int, values: Times) -> Times:
    """Scores of one of the models in natural logarithms, so weighed that `lmscale` fits their sum."""
    scale = {LANGUAGE: header.lmscale, NGRAM: header.ngscale, PRONUNCIATION: header.prscale}[slot]
    plain = scale == header.lmscale or not header.lmscale
    return values if plain else values * (scale / header.lmscale)


def _posterior(draft: Draft, source: Ints) -> Floats | None:
    """The links' posteriors, if all have one and if they were computed at all."""
    links = draft.scanned.links
    if links.count(POSTERIOR) < len(links):
        return None
    values = links.column(POSTERIOR)
    low, high = values.min(), values.max()
    if low < 0 and high <= 0 and draft.header.base:
        values = np.exp(draft.header.natural(values))
    elif not (low >= 0 and high <= 1 + ROUNDING):
        link = int(np.argmax((values < 0) | (values > 1 + ROUNDING)))
        raise draft.at_link(f"the posterior p is {values[link]}", link, "Posteriors are from 0 to 1")
    elif low == high == 1 and draft.header.all_ones_is_unknown and len(np.unique(source)) < len(links):
        return None
    return single(np.minimum(values, 1.0))


def single(values: Times) -> Floats:
    """In single precision; what is too large becomes infinite."""
    return values.astype(np.float32)


def _with_outer_word(raw: RawLattice, token: int, *, word_first: bool) -> RawLattice:
    """An arc for the word that no link carries: the start node's, or the end node's. It is on every path."""
    added = len(raw.time)
    inner = raw.end if word_first else raw.start
    time = raw.time[inner]
    return replace(
        raw,
        time=np.append(raw.time, time + _LAST_WORD_LENGTH if word_first else min(time, 0.0)),
        source=np.append(raw.source, np.int32(inner if word_first else added)),
        target=np.append(raw.target, np.int32(added if word_first else inner)),
        token=np.append(raw.token, np.int32(token)),
        start=raw.start if word_first else added,
        end=added if word_first else raw.end,
        acoustic=None if raw.acoustic is None else np.append(raw.acoustic, np.float32(0)),
        transition=None if raw.transition is None else np.append(raw.transition, np.float32(0)),
        posterior=None if raw.posterior is None else np.append(raw.posterior, np.float32(1)),
    )
