"""PocketSphinx's word graph with the language model in it: pruned, and its nodes split by the words before them.

PocketSphinx keeps acoustic scores only. A word's trigram probability hangs on the two words before it, which a node
of the graph does not know; so each node becomes one state for every pair of words that lead to it, and the scores
are exact. That multiplies the graph: links far from any good path are left out first, judged by word pairs alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...lattices.assemble import RawLattice
from ...lattices.lattice import Ints

START, END = "<s>", "</s>"

Language = Callable[
    [tuple[str, ...]], float
]  # the log-probability of a word, given those that follow it in the tuple
Context = tuple[str, ...]  # the last words before a node, the latest first; two at most

_NOWHERE = float("-inf")
_TIGHTER = 0.75
_SAME = 1e-3


@dataclass(frozen=True, slots=True)
class Weights:
    """How the decoder weighs scores: acoustic + language * log P + penalty; fillers have a score of their own."""

    language: float
    penalty: float


@dataclass(frozen=True)
class WordGraph:
    """Words that start in a frame, and links from each to those that may follow."""

    words: Sequence[str]
    fillers: dict[int, float]  # nodes that the language model does not know: the log-probability that they have
    frames: Sequence[int]  # in which each word starts
    links: Sequence[tuple[int, int, float]]  # node, the next node, acoustic score of the first
    start: int
    end: int
    last_frame: int

    @cached_property
    def onward(self) -> list[tuple[int, int, float]]:
        """The links in the order of time. PocketSphinx puts <s> in mid-sentence too: impossible, so left out."""
        twice = {node for node, word in enumerate(self.words) if word == START and node != self.start}
        kept = (link for link in self.links if not twice.intersection(link[:2]))
        return sorted(kept, key=lambda link: self.frames[link[0]])


def lattice_arrays(
    graph: WordGraph,
    tokens: Ints,
    language: Language,
    weights: Weights,
    *,
    beam: float,
    most_arcs: int,
    frame_rate: float,
) -> RawLattice:
    """The lattice of a graph, without a name. `tokens` has a number for the word of each of the graph's nodes.

    A graph that grows to more than `most_arcs` is built again with a tighter beam.
    """
    losses = _losses(graph, language, weights)
    while True:
        near = [link for link, loss in zip(graph.onward, losses, strict=True) if loss <= beam]
        expansion = _Expansion(graph, language, weights)
        # Where only the best path is left, and those as good, that many arcs it must be.
        if expansion.grow(near, most_arcs if beam > _SAME else math.inf):
            return expansion.lattice(tokens, frame_rate)
        beam *= _TIGHTER


def _losses(graph: WordGraph, language: Language, weights: Weights) -> list[float]:
    """How much worse the best path through each link is than the best of all, by bigrams.

    After a filler the word before it counts: that of the best way there.
    """
    links, count = graph.onward, len(graph.words)
    before, after, word = [_NOWHERE] * count, [_NOWHERE] * count, [START] * count
    before[graph.start] = after[graph.end] = 0.0
    scores = []
    for source, target, acoustic in links:
        filler = graph.fillers.get(target)
        scores.append(acoustic + _weighed(filler, (graph.words[target], word[source]), language, weights))
        if before[source] + scores[-1] > before[target]:
            before[target] = before[source] + scores[-1]
            word[target] = graph.words[target] if filler is None else word[source]
    for (source, target, _), score in zip(reversed(links), reversed(scores), strict=True):
        after[source] = max(after[source], score + after[target])
    best = before[graph.end]
    return [best - before[s] - score - after[t] for (s, t, _), score in zip(links, scores, strict=True)]


def _weighed(filler: float | None, ngram: tuple[str, ...], language: Language, weights: Weights) -> float:
    return filler if filler is not None else weights.language * language(ngram) + weights.penalty


class _Expansion:
    """States, each a node with the words before it, and arcs between them."""

    def __init__(self, graph: WordGraph, language: Language, weights: Weights) -> None:
        self._graph, self._language, self._weights = graph, language, weights
        self._states: dict[tuple[int, Context], int] = {}
        self._contexts: dict[int, list[tuple[int, Context]]] = {}  # the states of each node
        self._node: list[int] = []  # of each state
        self._arcs: list[tuple[int, int, float, float]] = []  # state, next state, acoustic, transition

    def grow(self, links: list[tuple[int, int, float]], most_arcs: float) -> bool:
        """Node by node in the order of time; False when there are too many arcs."""
        graph = self._graph
        self._state(graph.start, ())
        leaving: dict[int, list[tuple[int, float]]] = {}
        for source, target, acoustic in links:
            leaving.setdefault(source, []).append((target, acoustic))
        for node, ways in leaving.items():
            for state, context in self._contexts.get(node, ()):
                transition, onward = self._said(node, context)
                for target, acoustic in ways:
                    self._arcs.append((state, self._state(target, onward), acoustic, transition))
            if len(self._arcs) > most_arcs:
                return False
        return True

    def _said(self, node: int, context: Context) -> tuple[float, Context]:
        """What the decoder gives a node's word after some others, language weight taken off; what comes after it."""
        word, filler = self._graph.words[node], self._graph.fillers.get(node)
        if node == self._graph.start:
            return 0.0, (START,)
        if filler is not None:
            return filler / self._weights.language, context
        return self._language((word, *context)), (word, *context[:1])

    def _state(self, node: int, context: Context) -> int:
        number = self._states.setdefault((node, context), len(self._node))
        if number == len(self._node):
            self._node.append(node)
            self._contexts.setdefault(node, []).append((number, context))
        return number

    def lattice(self, tokens: Ints, frame_rate: float) -> RawLattice:
        """The arcs as columns; the last node's word gets an arc of its own to the end of the audio."""
        graph, end = self._graph, len(self._node)
        arcs = list(self._arcs)
        for state, context in self._contexts.get(graph.end, ()):
            arcs.append((state, end, 0.0, self._said(graph.end, context)[0]))
        source, target, acoustic, transition = zip(*arcs, strict=True)
        return RawLattice(
            utt="",
            time=[graph.frames[node] / frame_rate for node in self._node] + [(graph.last_frame + 1) / frame_rate],
            source=source,
            target=target,
            token=tokens[[self._node[state] for state in source]],
            start=0,
            end=end,
            acoustic=acoustic,
            transition=transition,
        )
