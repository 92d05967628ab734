"""What goes through a model in one pass: the tokens of many tries as rows of one matrix.

- `tree_passes`: tries side by side in a row; a token attends to those on its own path and to no others, which a mask
  says. Every token is computed once.
- `path_passes`: a hypothesis is a row of its own, as in any text. For models that take no such mask, and for tries
  that are too large for one; hypotheses longer than the context are cut into windows that overlap.

Only tokens that others follow are computed: the last one's probability comes from those before it. Needs numpy only.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .tries import Numbers, TokenTries

OVERLAP = 128  # tokens of context at the beginning of a window


class Pass(NamedTuple):
    """Rows of tokens, and where in them the tokens are that nodes of tries follow."""

    tokens: Numbers  # [rows, length] filled up with the token of the start
    position: Numbers | None  # [rows, length] in the text; None: as they stand in the row
    attends: NDArray[np.bool_] | None  # [rows, length, length] which tokens each one sees; None: all before it
    node: Numbers  # nodes of the batch whose probability comes from this pass
    row: Numbers  # of the token before each of these
    column: Numbers


def tree_passes(tries: TokenTries, start: int, *, row_tokens: int, rows: int) -> Iterator[Pass]:
    """Passes of at most so many rows, each with tries side by side up to so many tokens (or one larger trie)."""
    layout = _TreeLayout(tries)
    bounds = _cut(layout.size, row_tokens)
    for first in range(0, len(bounds) - 1, rows):
        yield layout.make(bounds[first : first + rows + 1], start)


def _cut(sizes: Numbers, most: int) -> list[int]:
    """Where to cut a list so that the sizes of each part sum up to `most`, or it is a single one."""
    bounds, total = [0], 0
    for index, size in enumerate(sizes.tolist()):
        if total and total + size > most:
            bounds.append(index)
            total = 0
        total += size
    return [*bounds, len(sizes)] if len(sizes) else [0]


class _TreeLayout:
    """Which tokens of tries are computed."""

    def __init__(self, tries: TokenTries) -> None:
        self._tries, self._depth = tries, tries.depth
        first = np.repeat(tries.offsets[:-1], np.diff(tries.offsets))
        self._parent = np.where(tries.parent < 0, -1, first + tries.parent)  # in the batch
        self._has_child = np.zeros(len(tries.token), bool)
        self._has_child[self._parent[self._parent >= 0]] = True
        self._has_child[tries.offsets[:-1]] = True  # a start, also of nothing
        before = np.concatenate([[0], np.cumsum(self._has_child)])
        self._before = before[:-1]  # [nodes] computed tokens before each
        self.size = np.diff(before[tries.offsets])  # [utterances]

    def make(self, bounds: list[int], start: int) -> Pass:
        """The pass whose rows have the tries between the bounds."""
        offsets = self._tries.offsets
        spans = [(int(offsets[begin]), int(offsets[end])) for begin, end in pairwise(bounds)]
        length = max(int(self._has_child[begin:end].sum()) for begin, end in spans)
        tokens = np.full((len(spans), length), start)
        position, attends = np.zeros_like(tokens), np.zeros((len(spans), length, length), bool)
        attends[:, np.arange(length), np.arange(length)] = True
        parts = []
        for row, (begin, end) in enumerate(spans):
            nodes = begin + np.flatnonzero(self._has_child[begin:end])
            tokens[row, : len(nodes)] = np.where(self._parent[nodes] < 0, start, self._tries.token[nodes])
            position[row, : len(nodes)] = self._depth[nodes]
            self._mark_ancestors(nodes, attends[row])
            followers = begin + np.flatnonzero(self._parent[begin:end] >= 0)
            columns = self._before[self._parent[followers]] - self._before[begin]
            parts.append((followers, np.full(len(followers), row), columns))
        return Pass(tokens, position, attends, *(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _mark_ancestors(self, nodes: Numbers, attends: NDArray[np.bool_]) -> None:
        """Let each token see those on its path."""
        column = np.arange(len(nodes))
        above = self._parent[nodes]
        while len(above):
            kept = above >= 0
            column, above = column[kept], above[kept]
            attends[column, self._before[above] - self._before[nodes[0]]] = True
            above = self._parent[above]


def path_passes(tries: TokenTries, start: int, *, context: int, tokens: int) -> Iterator[Pass]:
    """Passes of at most so many tokens (or one row), in rows of at most `context`, those of one length together."""
    windows = sorted(_windows(tries, context), key=lambda window: len(window.tokens))
    first = 0
    while first < len(windows):
        end = first + 1
        while end < len(windows) and (end + 1 - first) * (1 + len(windows[end].tokens)) <= tokens:
            end += 1
        yield _plain_pass(windows[first:end], start)
        first = end


def _plain_pass(chosen: list[_Window], start: int) -> Pass:
    """Windows as rows, the longest last."""
    tokens = np.full((len(chosen), 1 + len(chosen[-1].tokens)), start)
    for row, window in enumerate(chosen):
        tokens[row, 1 : 1 + len(window.tokens)] = window.tokens
    return Pass(
        tokens, None, None,
        np.concatenate([window.nodes for window in chosen]),
        np.repeat(np.arange(len(chosen)), [len(window.nodes) for window in chosen]),
        np.concatenate([np.arange(w.first, w.first + len(w.nodes)) for w in chosen]),
    )  # fmt: skip


class _Window(NamedTuple):
    tokens: Numbers  # all but the last of the nodes' own, the start not counted
    nodes: Numbers  # whose probabilities are computed
    first: int  # column of the token before the first of them


def _windows(tries: TokenTries, context: int) -> Iterator[_Window]:
    """Every node in one window, with what comes before it as far as that fits."""
    step, overlap = max(1, context - OVERLAP), min(OVERLAP, context - 1)
    for begin, end in pairwise(tries.offsets.tolist()):
        parent, token = tries.parent[begin:end], tries.token[begin:end]
        is_done = np.zeros(end - begin, bool)
        is_done[0] = True
        leaves = np.setdiff1d(np.arange(end - begin), parent)
        for leaf in leaves.tolist():
            path = _path_to(leaf, parent)
            fresh = int(is_done[path].sum())  # the beginning of a path is done before its rest
            while fresh < len(path):
                begin_at = 1 if fresh <= context else fresh - overlap
                stop = min(len(path), begin_at + (context if begin_at == 1 else step + overlap))
                is_done[path[fresh:stop]] = True
                yield _Window(token[path[begin_at : stop - 1]], begin + path[fresh:stop], fresh - begin_at)
                fresh = stop


def _path_to(node: int, parent: Numbers) -> Numbers:
    path = [node]
    while parent[path[-1]] >= 0:
        path.append(int(parent[path[-1]]))
    return np.array(path[::-1])
