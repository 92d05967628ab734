"""Scores of given texts under Moonshine ("teacher forcing"): all tokens of all texts in one pass, no search.

Every prefix of a text is a row of the decoder that sees the rows before it; texts with a common beginning share its
rows. Many rows are computed in blocks, through the cache that the search uses, so that memory stays small.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..prefix_tree import Ints, PrefixTree, prefix_tree
from .graphs import END, POSITIONS
from .search import BEGIN, MASKED, Reals, UtteranceDecoder

Bools = NDArray[np.bool_]

BLOCK = 256  # rows at once: of each there are 32,000 log-probabilities
ROWS = 384  # of one tree: more texts than these hold are scored one after another
LONGEST_TEXT = POSITIONS  # tokens; what comes after these is not scored


class TokenScores(NamedTuple):
    """Of the tokens of a text and its end: [tokens + 1]; of the first LONGEST_TEXT at most."""

    logprobs: Reals
    margins: Reals  # log-probability less that of the most probable token there


def force(decoder: UtteranceDecoder, texts: Sequence[Sequence[int]]) -> list[TokenScores]:
    """The scores of texts (token ids without begin and end) of the utterance of a decoder."""
    return [scores for group in _groups(texts) for scores in _force_tree(decoder.restart(), group)]


def _groups(texts: Sequence[Sequence[int]]) -> Iterator[list[Sequence[int]]]:
    """Neighbouring texts that are scored together."""
    group: list[Sequence[int]] = []
    rows = 0
    for text in texts:
        if group and rows + len(text) + 1 > ROWS:
            yield group
            group, rows = [], 0
        group.append(text)
        rows += len(text) + 1
    if group:
        yield group


def _force_tree(decoder: UtteranceDecoder, texts: Sequence[Sequence[int]]) -> list[TokenScores]:
    following = [[*text, END][:LONGEST_TEXT] for text in texts]
    tree = prefix_tree([[BEGIN, *tokens[:-1]] for tokens in following])
    rows = [of_text[: len(tokens)] for of_text, tokens in zip(tree.rows, following, strict=True)]
    wanted = np.column_stack([np.concatenate(rows), np.concatenate(following)])
    pairs, index = np.unique(wanted, axis=0, return_inverse=True)
    logprobs, margins = _run_blocks(decoder, tree, _visible(tree, rows), pairs)
    cuts = np.cumsum([len(tokens) for tokens in following])[:-1]
    return [TokenScores(logprobs[of_text], margins[of_text]) for of_text in np.split(index.ravel(), cuts)]


def _visible(tree: PrefixTree, rows: Sequence[Ints]) -> Bools:
    """[prefixes, prefixes] whether a prefix is the other one, or begins it."""
    visible = np.zeros((len(tree.token), len(tree.token)), bool)
    for of_text in rows:
        visible[np.ix_(of_text, of_text)] |= np.tri(len(of_text), dtype=bool)
    return visible


def _run_blocks(decoder: UtteranceDecoder, tree: PrefixTree, visible: Bools, pairs: Ints) -> tuple[Reals, Reals]:
    """Log-probabilities and margins of (row, token) pairs, whose rows rise."""
    logprobs, margins = np.empty(len(pairs)), np.empty(len(pairs))
    for begin in range(0, len(tree.token), BLOCK):
        block = slice(begin, begin + BLOCK)
        here = slice(*np.searchsorted(pairs[:, 0], [begin, begin + BLOCK]))
        outputs = decoder.run(
            tokens=tree.token[block],
            positions=tree.position[block],
            kept=np.arange(begin),
            mask=np.where(visible[block, : begin + BLOCK], np.float32(0), MASKED),
            wanted=pairs[here] - [begin, 0],
        )
        logprobs[here] = outputs["logprobs_wanted"]
        margins[here] = logprobs[here] - outputs["logprobs"][pairs[here, 0] - begin, 0]
    return logprobs, margins
