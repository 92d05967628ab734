"""Word times to chains: spreading, gaps, overlaps, and times made up by alignment."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wordtrust.base.errors import InputError
from wordtrust.formats.chains import END, START, Chains, aligned_times, chain, link_words, spread_words
from wordtrust.lattices.lattice import Offsets, Times

Pairs = list[tuple[float, float]]


def spread(pairs: Pairs, *, begin: float = 0.0, finish: float = -np.inf) -> tuple[Times, Times, int]:
    """One hypothesis alone, and how many of its words had no length."""
    starts, ends = (np.array(column, np.float64) for column in columns(pairs))
    alone, offsets = np.array([0, 1]), np.array([0, len(pairs)])
    start, end, counts, errors = spread_words(alone, offsets, starts, ends, np.array([finish]), begin=begin)
    for error in errors.values():
        raise error
    return start, end, int(counts[0])


def chains(offsets: Offsets, start: Times, end: Times, finish: float = 0.0) -> Chains:
    """The hypotheses of one utterance."""
    alone = np.array([0, len(offsets) - 1])
    words = spread_words(alone, offsets, start, end, np.array([finish]))
    return link_words(alone, offsets, words.start, words.end, np.array([finish]))


def rounded(pairs: Pairs, **limits: float) -> tuple[Pairs, int]:
    start, end, count = spread(pairs, **limits)
    return list(zip(start.round(4).tolist(), end.round(4).tolist(), strict=True)), count


def columns(pairs: Pairs) -> tuple[list[float], list[float]]:
    return [start for start, _ in pairs], [end for _, end in pairs]


@pytest.mark.parametrize(
    ("given_", "expected", "count"),
    [
        ([(0.9, 1.2), (1.2, 1.2), (1.2, 1.5)], [(0.9, 1.195), (1.195, 1.205), (1.205, 1.5)], 1),
        # Two in a row: 20 ms around the place where they stood.
        ([(0.5, 1), (1, 1), (1, 1), (1, 2)], [(0.5, 0.99), (0.99, 1.0), (1.0, 1.01), (1.01, 2)], 2),
        # At the beginning and at the end there is only one neighbour.
        ([(0, 0), (0, 0), (0, 0.5)], [(0, 0.01), (0.01, 0.02), (0.02, 0.5)], 2),
        ([(0, 1), (1, 1), (1, 1), (1, 1)], [(0, 0.97), (0.97, 0.98), (0.98, 0.99), (0.99, 1.0)], 3),
        # Nothing but words without length: before their place, or after it where there is no room before.
        ([(3, 3), (3, 3), (3, 3)], [(2.97, 2.98), (2.98, 2.99), (2.99, 3.0)], 3),
        ([(0, 0), (0, 0)], [(0, 0.01), (0.01, 0.02)], 2),
        # A pause is taken before a word.
        ([(0.5, 1), (1.2, 1.2), (1.4, 2)], [(0.5, 1), (1.195, 1.205), (1.4, 2)], 1),
        # Negative by rounding.
        ([(0.5, 1), (1.2, 1.19), (1.4, 2)], [(0.5, 1), (1.195, 1.205), (1.4, 2)], 1),
        # Overlaps meet in the middle; of a word inside another only the overlap counts.
        ([(0, 1.02), (1, 2)], [(0, 1.01), (1.01, 2)], 0),
        ([(1, 2), (1.2, 1.3)], [(1, 1.25), (1.25, 1.3)], 0),
        # A start a little before the one before it.
        ([(1, 1.5), (0.95, 2)], [(1, 1.25), (1.25, 2)], 0),
        ([], [], 0),
    ],
)
def test_spread_by_hand(given_: Pairs, expected: Pairs, count: int) -> None:
    assert rounded(given_) == (expected, count)


def test_spread_uses_the_audio_after_the_last_word() -> None:
    assert rounded([(0, 1), (1, 1)], finish=2.0) == ([(0, 0.9967), (0.9967, 1.0067)], 1)
    assert rounded([(0.5, 0.5), (0.5, 0.5)], begin=0.5, finish=0.5) == ([(0.5, 0.51), (0.51, 0.52)], 2)


def least_squares(pairs: Pairs, begin: float, finish: float) -> Pairs:
    """The isotonic regression by its max-min formula, clipped: what `spread` has to find for words in order."""
    room = [0.01 * (k // 2 + k % 2) for k in range(2 * len(pairs))]
    values = [time - used for time, used in zip(itertools.chain.from_iterable(pairs), room, strict=True)]
    size = len(values)
    level = [
        max(min(sum(values[j : k + 1]) / (k + 1 - j) for k in range(i, size)) for j in range(i + 1))
        for i in range(size)
    ]
    high = max(begin, max(finish, pairs[-1][1]) - 0.01 * len(pairs))
    times = [min(max(y, begin), high) + used for y, used in zip(level, room, strict=True)]
    return list(zip(times[::2], times[1::2], strict=True))


@st.composite
def word_times(draw: st.DrawFn, *, max_size: int = 6) -> Pairs:
    """Words in order, on a grid of 2 ms, with many of no or little length and gaps of any size."""
    steps = st.lists(st.sampled_from([0, 0, 0, 1, 2, 5, 10, 40, 50, 51, 200]), max_size=2 * max_size)
    edges = np.cumsum([0, *draw(steps)])[1:] * 0.002
    whole = edges[: len(edges) // 2 * 2].tolist()
    return list(zip(whole[::2], whole[1::2], strict=True))


@settings(max_examples=150, deadline=None)
@given(pairs=word_times(), finish=st.sampled_from([0.0, 0.3, 2.0]))
def test_spread_moves_as_little_as_possible(pairs: Pairs, finish: float) -> None:
    start, end, count = spread(pairs, finish=finish)
    short = [b - a < 0.01 - 1e-9 for a, b in pairs]
    assert count == sum(short)
    if not any(short):
        assert list(zip(start.tolist(), end.tolist(), strict=True)) == pairs  # to the last bit
    else:
        assert np.allclose(np.stack([start, end], 1), least_squares(pairs, 0.0, finish), atol=1e-9)


@settings(max_examples=150, deadline=None)
@given(
    starts=st.lists(st.integers(0, 300), min_size=1, max_size=8).map(sorted),
    lengths=st.lists(st.integers(-9, 60), min_size=8, max_size=8),
)
def test_spread_words_are_in_order_and_long_enough(starts: list[int], lengths: list[int]) -> None:
    pairs = [(start / 100, (start + length) / 100) for start, length in zip(starts, lengths, strict=False)]
    new_start, new_end, _ = spread(pairs)
    assert np.all(new_end - new_start >= 0.01 - 1e-9)
    assert np.all(new_start[1:] >= new_end[:-1] - 1e-9)
    assert new_start[0] >= 0


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([(1, 2), (0.5, 3)], r"word 2 starts at 0\.500 s, but what comes before it starts at 1\.000 s\. Words stand"),
        ([(-0.2, 2)], r"word 1 starts at -0\.200 s, but what comes before it starts at 0\.000 s"),
        ([(0, 1), (2, 1.8)], r"word 2 ends at 1\.800 s, before its start at 2\.000 s"),
        ([(0, float("inf"))], r"word 1 lasts from 0 to inf s\. Times are seconds, finite"),
        ([(0, 1), (float("nan"), 2)], r"word 2 lasts from nan to 2 s"),
        ([(0, 1e10)], r"word 1 lasts from 0 to 1e\+10 s"),
    ],
)
def test_times_that_cannot_be(pairs: Pairs, message: str) -> None:
    with pytest.raises(InputError, match=message):
        spread(pairs)
    with pytest.raises(InputError, match=message):
        chain(*columns(pairs))


def test_chain_by_hand() -> None:
    # 100 ms are no silence yet, 101 ms are; a gap of 50 ms becomes a node at its middle.
    made, spread_count = chain([0.1, 0.5, 1.05, 2.101], [0.5, 1.0, 2.0, 3.0], finish=3.5)
    assert made.word.tolist() == [0, 1, 2, -1, 3, -1]
    path = [START, *made.target.tolist()]
    assert made.source.tolist() == path[:-1]
    assert made.time[path].round(6).tolist() == [0, 0.5, 1.025, 2.0, 2.101, 3.0, 3.5]
    assert spread_count == 0
    assert made.on_arcs([1, 2, 3, 4], silence=9).tolist() == [1, 2, 3, 9, 4, 9]


def test_chain_ends_with_the_last_word_or_the_audio() -> None:
    assert chain([0.0], [1.0])[0].time.tolist() == [0, 1]
    assert chain([0.0], [1.0], finish=1.1)[0].word.tolist() == [0]  # drawn out to the end
    assert chain([0.0], [1.0], finish=1.2)[0].word.tolist() == [0, -1]
    assert chain([0.0], [1.0], finish=0.5)[0].time.max() == 1.0  # no word is cut
    assert chain([5.2], [6.0], begin=5.0)[0].word.tolist() == [-1, 0]


def test_no_words_are_one_silence() -> None:
    made, _ = chain([], [], finish=2.5)
    assert (made.time.tolist(), made.word.tolist()) == ([0, 2.5], [-1])
    assert chain([], [])[0].word.tolist() == [-1]


def test_several_hypotheses_share_start_and_end() -> None:
    made = chains(np.array([0, 2, 2, 3]), np.array([0.0, 1.0, 0.3]), np.array([1.0, 2.0, 2.4]))
    assert made.offsets.tolist() == [0, 3, 4, 6]
    assert made.word.tolist() == [0, 1, -1, -1, -1, 2]
    assert made.source[made.offsets[:-1]].tolist() == [0, 0, 0]
    assert made.target[made.offsets[1:] - 1].tolist() == [1, 1, 1]
    assert made.time[:2].tolist() == [0, 2.4]


def plain_chain(pairs: Pairs, finish: float) -> list[tuple[float, float, int]]:
    """(start, end, word) of every arc, one rule after the other."""
    arcs: list[tuple[float, float, int]] = []
    now = 0.0
    for word, (start, end) in enumerate(pairs):
        if start - now > 0.1 + 1e-9:
            arcs.append((now, start, -1))
            now = start
        elif arcs:
            middle = (now + start) / 2
            arcs[-1] = (arcs[-1][0], middle, arcs[-1][2])
            now = middle
        arcs.append((now, end, word))
        now = end
    end = max([finish, *(end for _, end in pairs)])
    if not arcs or end - now > 0.1 + 1e-9:
        return [*arcs, (now, end, -1)]
    return [*arcs[:-1], (arcs[-1][0], end, arcs[-1][2])]


@settings(max_examples=150, deadline=None)
@given(pairs=word_times(), finish=st.sampled_from([0.0, 0.5, 2.0]))
def test_chain_against_a_plain_one(pairs: Pairs, finish: float) -> None:
    start, end, count = spread(pairs, finish=finish)
    made, spread_count = chain(*columns(pairs), finish=finish)
    expected = plain_chain(list(zip(start.tolist(), end.tolist(), strict=True)), finish)
    assert made.word.tolist() == [word for _, _, word in expected]
    assert np.allclose(made.time[made.source], [a for a, _, _ in expected])
    assert np.allclose(made.time[made.target], [b for _, b, _ in expected])
    assert made.source.tolist() == [START, *made.target.tolist()[:-1]]
    assert made.target[-1] == END
    assert spread_count == count


@settings(max_examples=40, deadline=None)
@given(utterances=st.lists(st.lists(word_times(max_size=3), min_size=1, max_size=3), min_size=1, max_size=4))
def test_a_batch_is_what_its_utterances_are(utterances: list[list[Pairs]]) -> None:
    hypotheses = [pairs for utterance in utterances for pairs in utterance]
    groups = np.cumsum([0, *map(len, utterances)])
    offsets = np.cumsum([0, *map(len, hypotheses)])
    start, end = (
        np.array(list(itertools.chain.from_iterable(times))) for times in zip(*map(columns, hypotheses), strict=True)
    )
    finish = np.linspace(0, 2, len(utterances))
    timed = spread_words(groups, offsets, start, end, finish)
    made = link_words(groups, offsets, timed.start, timed.end, finish)
    for u in range(len(utterances)):
        words = slice(offsets[groups[u]], offsets[groups[u + 1]])
        own = offsets[groups[u] : groups[u + 1] + 1] - words.start
        alone = chains(own, start[words], end[words], finish=float(finish[u]))
        nodes = slice(made.node_offsets[u], made.node_offsets[u + 1])
        arcs = slice(made.arc_offsets[u], made.arc_offsets[u + 1])
        assert made.time[nodes].tolist() == alone.time.tolist()
        assert made.source[arcs].tolist() == alone.source.tolist()
        assert made.target[arcs].tolist() == alone.target.tolist()
        word = made.word[arcs]
        assert np.where(word < 0, -1, word - words.start).tolist() == alone.word.tolist()


def test_errors_of_a_batch_name_utterance_and_word() -> None:
    start, end = np.array([0.0, 1.0, 5.0, 1.0, 0.0]), np.array([1.0, 2.0, 6.0, 2.0, 1.0])
    timed = spread_words(np.array([0, 1, 3, 4]), np.array([0, 2, 2, 4, 5]), start, end, np.zeros(3))
    assert list(timed.errors) == [1]
    assert "word 2 of hypothesis 2 starts at 1.000 s, but what comes before it starts at 5.000 s" in str(
        timed.errors[1]
    )
    named = spread_words(
        np.array([0, 1]), np.array([0, 1]), start[2:3], np.zeros(1), np.zeros(1), name=lambda word: f"#{word}"
    )
    assert "#0 ends at 0.000 s" in str(named.errors[0])


def times(*texts: str, best: int = 0) -> list[Pairs]:
    made = aligned_times([text.split() for text in texts], best)
    return [list(zip(start.round(3).tolist(), end.round(3).tolist(), strict=True)) for start, end in made]


def test_the_best_hypothesis_has_one_second_a_word() -> None:
    assert times("a b c") == [[(0, 1), (1, 2), (2, 3)]]
    assert times("x", "a b", best=1)[1] == [(0, 1), (1, 2)]
    assert aligned_times([["a"] * 100_000])[0][1][-1] == 100_000  # alone it has nothing to be aligned with


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a x c d", [(0, 1), (1, 2), (2, 3), (3, 4)]),  # takes the place of what it replaces
        ("a d", [(0, 1), (3, 4)]),  # what is missing is a pause
        ("a x y c d", [(0, 1), (1, 1.5), (1.5, 2), (2, 3), (3, 4)]),  # two in the place of one share it
        ("a x y z c d", [(0, 1), (1, 1.333), (1.333, 1.667), (1.667, 2), (2, 3), (3, 4)]),
        ("a b x c d", [(0, 1), (1, 2), (2, 2), (2, 3), (3, 4)]),  # no gap to share: no length yet
        ("x a b c d", [(0, 0), (0, 1), (1, 2), (2, 3), (3, 4)]),
        ("a b c d x y", [(0, 1), (1, 2), (2, 3), (3, 4), (4, 4), (4, 4)]),
        ("", []),
    ],
)
def test_others_are_aligned_with_it(text: str, expected: Pairs) -> None:
    assert times("a b c d", text)[1] == expected


def test_nothing_to_align_with() -> None:
    assert times("", "a b") == [[], [(0, 0), (0, 0)]]
    assert aligned_times([]) == []


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(st.lists(st.sampled_from("abc"), max_size=7), min_size=1, max_size=3))
def test_aligned_times_make_good_chains(texts: list[list[str]]) -> None:
    best, *others = aligned_times(texts)
    assert best[0].tolist() == list(range(len(texts[0])))
    for (start, end), words in zip(others, texts[1:], strict=True):
        assert np.all(end >= start)
        assert np.all(start[1:] >= end[:-1])
        assert np.all((start >= 0) & (end <= len(texts[0])))
        chain(start, end, finish=len(texts[0]))
        if words == texts[0]:
            assert start.tolist() == best[0].tolist()
