"""Trigram expansion of PocketSphinx's word graph, with its language model's scores on the arcs.

PocketSphinx keeps acoustic scores only. A word's trigram probability depends on the two words before it, which a node
of the graph does not know; so each node becomes one state for every pair of words that lead to it, and the scores
are exact. That multiplies the graph, so links far from any good path, judged by bigrams, are pruned first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...lattices.assemble import RawLattice
from ...lattices.lattice import Ints

START, END = "<s>", "</s>"

# The log-probability of the first word of the tuple, given those after it, the latest first.
LanguageModel = Callable[[tuple[str, ...]], float]
Context = tuple[str, ...]  # the last words before a node, the latest first; two at most

_UNREACHABLE = float("-inf")
_TIGHTER = 0.75  # factor of the beam when a graph grows too large
_BEST_ONLY = 1e-3  # a beam that keeps only the best path and its equals


@dataclass(frozen=True, slots=True)
class DecoderWeights:
    """How the decoder weights scores: acoustic + language * log P + penalty; fillers have a score of their own."""

    language: float
    penalty: float


@dataclass(frozen=True)
class WordGraph:
    """Words with their first frame, and links from each to those that may follow."""

    words: Sequence[str]
    fillers: dict[int, float]  # nodes that the language model does not know: the log-probability that they have
    frames: Sequence[int]  # in which each word starts
    links: Sequence[tuple[int, int, float]]  # node, the next node, acoustic score of the first
    start: int
    end: int
    last_frame: int

    @cached_property
    def onward(self) -> list[tuple[int, int, float]]:
        """The links in time order. PocketSphinx puts <s> in mid-sentence too: impossible, so left out."""
        twice = {node for node, word in enumerate(self.words) if word == START and node != self.start}
        kept = (link for link in self.links if not twice.intersection(link[:2]))
        return sorted(kept, key=lambda link: self.frames[link[0]])


def expand(
    graph: WordGraph,
    tokens: Ints,
    language: LanguageModel,
    weights: DecoderWeights,
    *,
    beam: float,
    most_arcs: int,
    frame_rate: float,
) -> RawLattice:
    """The lattice of a graph, without an utterance id. `tokens` has a token id for the word of each of its nodes.

    A graph that grows to more than `most_arcs` is built again with a tighter beam.
    """
    losses = _losses(graph, language, weights)
    while True:
        near = [link for link, loss in zip(graph.onward, losses, strict=True) if loss <= beam]
        expansion = _Expansion(graph, language, weights)
        # With only the best path and its equals left, there is nothing more to prune.
        if expansion.grow(near, most_arcs if beam > _BEST_ONLY else math.inf):
            return expansion.lattice(tokens, frame_rate)
        beam *= _TIGHTER


def _losses(graph: WordGraph, language: LanguageModel, weights: DecoderWeights) -> list[float]:
    """How much worse the best path through each link is than the best of all, by bigrams.

    After a filler, the history is the word before it on the best path.
    """
    links, count = graph.onward, len(graph.words)
    before, after, word = [_UNREACHABLE] * count, [_UNREACHABLE] * count, [START] * count
    before[graph.start] = after[graph.end] = 0.0
    scores = []
    for source, target, acoustic in links:
        filler = graph.fillers.get(target)
        scores.append(acoustic + _weighted(filler, (graph.words[target], word[source]), language, weights))
        if before[source] + scores[-1] > before[target]:
            before[target] = before[source] + scores[-1]
            word[target] = graph.words[target] if filler is None else word[source]
    for (source, target, _), score in zip(reversed(links), reversed(scores), strict=True):
        after[source] = max(after[source], score + after[target])
    best = before[graph.end]
    return [best - before[s] - score - after[t] for (s, t, _), score in zip(links, scores, strict=True)]


def _weighted(
    filler: float | None, ngram: tuple[str, ...], language: LanguageModel, weights: DecoderWeights
) -> float:
    return filler if filler is not None else weights.language * language(ngram) + weights.penalty


class _Expansion:
    """States, each a node with its word history, and arcs between them."""

    def __init__(self, graph: WordGraph, language: LanguageModel, weights: DecoderWeights) -> None:
        self._graph, self._language, self._weights = graph, language, weights
        self._states: dict[tuple[int, Context], int] = {}
        self._contexts: dict[int, list[tuple[int, Context]]] = {}  # the states of each node
        self._node: list[int] = []  # of each state
        self._arcs: list[tuple[int, int, float, float]] = []  # state, next state, acoustic, transition

    def grow(self, links: list[tuple[int, int, float]], most_arcs: float) -> bool:
        """Expand node by node in time order; False when there are too many arcs."""
        graph = self._graph
        self._state(graph.start, ())
        leaving: dict[int, list[tuple[int, float]]] = {}
        for source, target, acoustic in links:
            leaving.setdefault(source, []).append((target, acoustic))
        for node, targets in leaving.items():
            for state, context in self._contexts.get(node, ()):
                transition, following = self._score(node, context)
                for target, acoustic in targets:
                    self._arcs.append((state, self._state(target, following), acoustic, transition))
            if len(self._arcs) > most_arcs:
                return False
        return True

    def _score(self, node: int, context: Context) -> tuple[float, Context]:
        """The transition score of a node's word after its history (language weight removed), and the next history."""
        word, filler = self._graph.words[node], self._graph.fillers.get(node)
        if node == self._graph.start:
            return 0.0, (START,)
        if filler is not None:
            return filler / self._weights.language, context
        return self._language((word, *context)), (word, *context[:1])

    def _state(self, node: int, context: Context) -> int:
        state = self._states.setdefault((node, context), len(self._node))
        if state == len(self._node):
            self._node.append(node)
            self._contexts.setdefault(node, []).append((state, context))
        return state

    def lattice(self, tokens: Ints, frame_rate: float) -> RawLattice:
        """The arcs as columns; the last node's word gets an arc of its own to the end of the audio."""
        graph, end = self._graph, len(self._node)
        arcs = list(self._arcs)
        for state, context in self._contexts.get(graph.end, ()):
            arcs.append((state, end, 0.0, self._score(graph.end, context)[0]))
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
