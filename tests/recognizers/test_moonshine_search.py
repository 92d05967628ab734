"""The beam search against brute force and against a plain beam search, over made-up decoders."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wordtrust.recognizers.moonshine.graphs import END
from wordtrust.recognizers.moonshine.search import BEGIN, Ints, NextTokens, beam_search

pytestmark = pytest.mark.slow

WORDS = 6  # tokens of a made-up decoder; 1 begins, 2 ends
BEST = WORDS

Logprobs = NDArray[np.float32]


def _normal(scores: NDArray[np.float64]) -> Logprobs:
    found: Logprobs = (scores - np.log(np.exp(scores).sum())).astype(np.float32)
    return found


class Made:
    """A decoder that draws the next token's distribution from the text so far, whatever the row."""

    def __init__(self, seed: int, best: int = BEST, sharpness: float = 1.5) -> None:
        self.seed, self.best, self.sharpness = seed, best, sharpness
        self.texts: list[tuple[int, ...]] = [()]
        self.calls = 0

    def logprobs(self, text: tuple[int, ...]) -> Logprobs:
        scores = np.random.default_rng([self.seed, *text]).normal(0, self.sharpness, WORDS)
        scores[BEGIN] = -20.0
        return _normal(scores)

    def step(self, tokens: Ints, parents: Ints) -> NextTokens:
        self.calls += 1
        pairs = zip(tokens.tolist(), parents.tolist(), strict=True)
        self.texts = [(*self.texts[parent], token) for token, parent in pairs]
        rows = np.stack([self.logprobs(text) for text in self.texts])
        order = np.argsort(-rows, axis=1, kind="stable")[:, : self.best]
        entropy = -(np.exp(rows) * rows).sum(axis=1)
        return NextTokens(order, np.take_along_axis(rows, order, axis=1), rows[:, END], entropy)

    def score(self, tokens: tuple[int, ...]) -> float:
        """Of a whole text, with its end."""
        text: tuple[int, ...] = (BEGIN,)
        total = 0.0
        for token in (*tokens, END):
            total += float(self.logprobs(text)[token])
            text = (*text, token)
        return total


@given(st.integers(0, 10_000), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_a_beam_that_holds_everything_finds_the_best_texts(seed: int, longest: int) -> None:
    made = Made(seed)
    known = [token for token in range(WORDS) if token != END]
    every = [text for length in range(1, longest + 1) for text in product(known, repeat=length)]
    expected = sorted((made.score(text) for text in every), reverse=True)
    found = beam_search(made, beam=len(every), max_tokens=longest)
    assert [one.score for one in found.hypotheses] == pytest.approx(expected, abs=1e-4)
    assert len({tuple(one.tokens) for one in found.hypotheses}) == len(every)


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 8), st.sampled_from([0.5, 1.5, 3.0]))
@settings(max_examples=60, deadline=None)
def test_as_a_plain_beam_search(seed: int, beam: int, longest: int, sharpness: float) -> None:
    expected = _plain(Made(seed, sharpness=sharpness), beam, longest)
    found = beam_search(Made(seed, best=beam + 1, sharpness=sharpness), beam=beam, max_tokens=longest)
    assert [tuple(one.tokens) for one in found.hypotheses] == [text for _, text in expected]
    assert [one.score for one in found.hypotheses] == pytest.approx([score for score, _ in expected], abs=1e-4)


def _plain(made: Made, beam: int, longest: int) -> list[tuple[float, tuple[int, ...]]]:
    """Without stopping early: every text of the beam may end, the best go on."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    ended: list[tuple[float, tuple[int, ...]]] = []
    for _ in range(longest):
        following = []
        for score, text in live:
            logprobs = made.logprobs((BEGIN, *text))
            following += [(score + float(logprobs[token]), (*text, token)) for token in range(WORDS) if token != END]
        live = sorted(following, reverse=True)[:beam]
        ended += [(made.score(text), text) for _, text in live]
    return sorted(ended, reverse=True)[:beam]


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_parts_of_a_hypothesis_fit_together(seed: int) -> None:
    made = Made(seed)
    found = beam_search(made, beam=4, max_tokens=6)
    assert found.empty_logprob == pytest.approx(float(made.logprobs((BEGIN,))[END]))
    for one in found.hypotheses:
        tokens = tuple(one.tokens.tolist())
        assert tokens
        assert END not in tokens
        assert one.score == pytest.approx(made.score(tokens), abs=1e-5)
        assert len(one.rows) == len(tokens) + 1 == len(one.logprobs) + 1
    scores = [one.score for one in found.hypotheses]
    assert scores == sorted(scores, reverse=True)


def test_rows_name_where_each_token_was_foretold() -> None:
    """Attention is looked up by them: the row of step n had written the first n tokens."""

    class Keeping(Made):
        def step(self, tokens: Ints, parents: Ints) -> NextTokens:
            found = super().step(tokens, parents)
            history.append(list(self.texts))
            return found

    history: list[list[tuple[int, ...]]] = []
    for one in beam_search(Keeping(5), beam=4, max_tokens=6).hypotheses:
        text = (BEGIN, *one.tokens.tolist())
        assert [history[step][row] for step, row in enumerate(one.rows)] == [
            text[: step + 1] for step in range(len(text))
        ]


@given(st.integers(0, 10_000))
def test_evidence_is_that_of_the_distribution_each_token_was_chosen_from(seed: int) -> None:
    made = Made(seed)
    found = beam_search(made, beam=3, max_tokens=5)
    for one in found.hypotheses:
        evidence = found.evidence(one)
        text: tuple[int, ...] = (BEGIN,)
        for index, token in enumerate(one.tokens.tolist()):
            logprobs = made.logprobs(text)
            assert evidence.entropies[index] == pytest.approx(-sum(math.exp(lp) * lp for lp in logprobs.tolist()))
            assert evidence.ranks[index] == sum(logprobs > logprobs[token])
            other = max(logprob for rival, logprob in enumerate(logprobs) if rival != token)
            assert evidence.margins[index] == pytest.approx(logprobs[token] - other)
            text = (*text, token)


def test_it_stops_when_nothing_better_can_come() -> None:
    class Ending(Made):
        def logprobs(self, text: tuple[int, ...]) -> Logprobs:  # noqa: ARG002
            scores = np.full(WORDS, -8.0)
            scores[END] = 8.0
            return _normal(scores)

    made = Ending(0)
    assert len(beam_search(made, beam=2, max_tokens=100).hypotheses) == 2
    assert made.calls <= 3
