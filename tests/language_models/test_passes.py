"""Tries in passes, against every hypothesis alone: by a function of all that a token sees."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.language_models.passes import OVERLAP, Pass, path_passes, tree_passes
from wordtrust.language_models.tries import Numbers, Reals, TokenizedPath, TokenTries

START = 9
_paths = st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=5)


def _value(token: int, before: list[tuple[int, int]]) -> float:
    """Any function of a token and of what comes before it, as (position, token)."""
    return float(np.sin(token + 1 + sum((place + 1) ** 2 * (seen + 2) for place, seen in before)))


def _run(part: Pass, tries: TokenTries) -> Iterator[tuple[int, float]]:
    for node, row, column in zip(part.node.tolist(), part.row.tolist(), part.column.tolist(), strict=True):
        if part.attends is None or part.position is None:
            columns, places = list(range(column + 1)), list(range(part.tokens.shape[1]))
        else:
            columns, places = np.flatnonzero(part.attends[row, column]).tolist(), part.position[row].tolist()
        seen = sorted((places[c], int(part.tokens[row, c])) for c in columns)
        yield node, _value(int(tries.token[node]), seen)


def _expected(paths: list[list[int]]) -> list[float]:
    """The sum over the first half of each path's tokens, as one word, and over the second."""
    values = []
    for path in paths:
        line = list(enumerate([START, *path]))
        tokens = [_value(token, line[: i + 1]) for i, token in enumerate(path)]
        half = len(path) // 2
        values += [sum(tokens[:half]), sum(tokens[half:])]
    return values


def _tries(utterances: list[list[list[int]]]) -> TokenTries:
    return TokenTries.of(
        [[TokenizedPath(path, [len(path) // 2, len(path)]) for path in paths] for paths in utterances]
    )


def _words(tries: TokenTries, passes: Iterator[Pass]) -> Reals:
    logprob, nodes = np.zeros(len(tries.token)), list[int]()
    for part in passes:
        for node, value in _run(part, tries):
            logprob[node] = value
            nodes.append(node)
    assert sorted(nodes) == np.flatnonzero(tries.parent >= 0).tolist(), "every token once"
    return tries.word_logprobs(logprob)


@given(st.lists(_paths, min_size=1, max_size=4), st.integers(1, 20), st.integers(1, 3))
def test_trees_give_what_each_path_gives_alone(utterances: list[list[list[int]]], size: int, rows: int) -> None:
    tries = _tries(utterances)
    values = _words(tries, tree_passes(tries, START, row_tokens=size, rows=rows))
    assert values == pytest.approx([value for paths in utterances for value in _expected(paths)], abs=1e-9)


@given(st.lists(_paths, min_size=1, max_size=4), st.integers(1, 30))
def test_so_do_paths_as_rows(utterances: list[list[list[int]]], size: int) -> None:
    tries = _tries(utterances)
    values = _words(tries, path_passes(tries, START, context=8, tokens=size))
    assert values == pytest.approx([value for paths in utterances for value in _expected(paths)], abs=1e-9)


def test_windows_of_a_long_path_overlap() -> None:
    path = np.random.default_rng(1).integers(0, 5, 1000).tolist()
    tries, context = _tries([[path, path[:700]]]), 300
    seen: dict[int, Numbers] = {}
    for part in path_passes(tries, START, context=context, tokens=1):
        assert part.tokens.shape[1] <= context
        for node, column in zip(part.node.tolist(), part.column.tolist(), strict=True):
            assert node not in seen
            seen[node] = part.tokens[0, : column + 1]
    assert len(seen) == 1000
    for node, line in seen.items():  # node n is the nth token of the path
        assert line[1:].tolist() == path[node - len(line) : node - 1]
        assert len(line) >= min(node, OVERLAP)


def test_some_of_many_tries() -> None:
    tries = _tries([[[1, 2]], [[3], [1, 1]], [[]]])
    some = tries.select(np.array([2, 1]))
    assert (len(some), some.token.tolist()) == (2, [-1, -1, 3, 1, 1])
    joined = TokenTries.concatenate([tries, some])
    assert joined.select(np.array([3, 4])).token.tolist() == some.token.tolist()
