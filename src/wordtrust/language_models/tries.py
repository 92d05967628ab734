"""Sentences as tries of tokens: what begins alike is scored once.

Of each utterance there are several hypotheses, which differ in a word or two. Their tokens make a tree; every token
has one probability given those before it, whatever comes after. Needs numpy only, for machines that only score.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import concatenate_offsets, csr_items, csr_offsets

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]


class TokenizedPath(NamedTuple):
    """A hypothesis: its tokens, and for each word and the end of the sentence after how many of them it ends."""

    tokens: Sequence[int]
    ends: Sequence[int]


@dataclass(frozen=True, slots=True)
class TokenTries:
    """One trie for each utterance, end to end. Node 0 of each is its start; every node comes after its parent."""

    offsets: Numbers  # [utterances + 1] utterance u has the nodes offsets[u] to offsets[u + 1]
    token: Numbers  # [nodes] -1 at the start
    parent: Numbers  # [nodes] within the utterance; -1 at the start
    end_offsets: Numbers  # [utterances + 1]
    end: Numbers  # nodes within the utterance at which words, and sentences, of its hypotheses end
    before: Numbers  # and those at which they begin

    @classmethod
    def of(cls, utterances: Sequence[Sequence[TokenizedPath]]) -> TokenTries:
        """The tries of the hypotheses of some utterances."""
        builders = [_TrieBuilder(paths) for paths in utterances]
        return cls(
            csr_offsets([len(builder.token) for builder in builders]),
            _joined(builder.token for builder in builders),
            _joined(builder.parent for builder in builders),
            csr_offsets([len(builder.end) for builder in builders]),
            _joined(builder.end for builder in builders),
            _joined(builder.before for builder in builders),
        )

    @classmethod
    def concatenate(cls, parts: Sequence[TokenTries]) -> TokenTries:
        """Tries end to end."""
        offsets, ends = (
            concatenate_offsets(getattr(part, name) for part in parts) for name in ("offsets", "end_offsets")
        )
        token, parent, end, before = (
            np.concatenate([np.zeros(0, np.int64), *(getattr(part, name) for part in parts)])
            for name in ("token", "parent", "end", "before")
        )
        return cls(offsets, token, parent, ends, end, before)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def select(self, rows: Numbers) -> TokenTries:
        """The tries of some utterances."""
        nodes, ends = csr_items(self.offsets, rows), csr_items(self.end_offsets, rows)
        counts = np.diff(self.offsets)[rows], np.diff(self.end_offsets)[rows]
        parts = self.token[nodes], self.parent[nodes], self.end[ends], self.before[ends]
        return TokenTries(csr_offsets(counts[0]), *parts[:2], csr_offsets(counts[1]), *parts[2:])

    @property
    def depth(self) -> Numbers:
        """[nodes] how many tokens come before each, 0 at the start."""
        depth = np.zeros(len(self.token), np.int64)
        for _, nodes in self.ancestors():
            depth[nodes] += 1
        return depth

    def ancestors(self) -> Iterator[tuple[Numbers, Numbers]]:
        """The parents of all nodes, then their parents, and so on: (ancestor, node), as indices into the batch."""
        first = np.repeat(self.offsets[:-1], np.diff(self.offsets))
        parent = np.where(self.parent < 0, -1, first + self.parent)
        nodes, above = np.arange(len(parent)), parent
        while len(nodes):
            kept = above >= 0
            nodes, above = nodes[kept], above[kept]
            if len(nodes):
                yield above, nodes
            above = parent[above]

    def word_logprobs(self, logprob: Reals) -> Reals:
        """[ends] the log-probability of each word, and of each sentence's end; `logprob` has that of every token."""
        total = logprob.copy()
        for above, nodes in self.ancestors():
            total[nodes] += logprob[above]
        first = np.repeat(self.offsets[:-1], np.diff(self.end_offsets))
        words: Reals = total[first + self.end] - total[first + self.before]
        return words


class _TrieBuilder:
    """The trie of one utterance."""

    def __init__(self, paths: Sequence[TokenizedPath]) -> None:
        self.token, self.parent = [-1], [-1]
        self.end: list[int] = []
        self.before: list[int] = []
        self._children: dict[tuple[int, int], int] = {}
        for path in paths:
            nodes = self._nodes(path.tokens)
            ends = [nodes[end] for end in path.ends]
            self.end += ends
            self.before += [0, *ends[:-1]]

    def _nodes(self, tokens: Sequence[int]) -> list[int]:
        """The nodes on the way of these tokens, the start first."""
        node, nodes = 0, [0]
        for token in tokens:
            child = self._children.setdefault((node, token), len(self.token))
            if child == len(self.token):
                self.token.append(token)
                self.parent.append(node)
            node = child
            nodes.append(node)
        return nodes


def _joined(parts: Iterable[list[int]]) -> Numbers:
    return np.fromiter((value for part in parts for value in part), np.int64)
