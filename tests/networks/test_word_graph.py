"""Graphs of words aligned with each other: least costs by brute force, ties and totals as sclite has them."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.errors import InputError
from wordtrust.formats.references.nist_text import (
    NO_WORD,
    Parts,
    SpelledWord,
    as_written,
    is_same,
    normalised,
    parse_text,
)
from wordtrust.networks import word_graph
from wordtrust.networks.word_graph import WordGraph, align_graphs


def counts(reference: str, hypothesis: str) -> tuple[int, ...]:
    """Hits, substitutions, deletions, insertions."""
    graphs = [WordGraph.of(parse_text(text), as_written) for text in (reference, hypothesis)]
    return tuple(align_graphs(graphs[:1], graphs[1:]).counts()[0].tolist())


@pytest.mark.parametrize(
    ("reference", "hypothesis", "wanted"),  # what sclite -F -D prints for them
    [
        ("", "", (0, 0, 0, 0)),
        ("a b", "", (0, 0, 2, 0)),
        ("", "a", (0, 0, 0, 1)),
        ("a b c", "A x c", (2, 1, 0, 0)),
        ("a b", "b c", (1, 0, 1, 1)),
        ("i've { um / uh } as", "i've uh as", (3, 0, 0, 0)),
        ("killer { e- / @ } bee", "killer bee", (2, 0, 0, 0)),
        ("killer { e- / @ } bee", "killer eh bee", (3, 0, 0, 0)),
        ("so (uh) yes", "so yes", (3, 0, 0, 0)),  # an optional word that was left out is a hit
        ("so (uh) yes", "so uh yes", (3, 0, 0, 0)),
        ("so (uh) yes", "so er yes", (2, 1, 0, 0)),
        ("a", "a (uh)", (2, 0, 0, 0)),
        ("th- cat", "thanks cat", (2, 0, 0, 0)),
        ("-nks cat", "thanks cat", (2, 0, 0, 0)),
        ("thanks", "th-", (1, 0, 0, 0)),
        ("a { b { c / d } / e } f", "a b d f", (4, 0, 0, 0)),
        ("a { b { c / d } / e } f", "a e f", (3, 0, 0, 0)),
        ("x", "{ a b / x }", (1, 0, 0, 0)),
        ("x-ray", "x ray", (0, 1, 0, 1)),
        ("word;noun d*", "WORD d;verb", (2, 0, 0, 0)),
        ("a <unk>", "a <unk>", (2, 0, 0, 0)),
    ],
)
def test_totals(reference: str, hypothesis: str, wanted: tuple[int, ...]) -> None:
    assert counts(reference, hypothesis) == wanted


def test_the_unknown_word_is_right_for_nothing_by_our_own_rules() -> None:
    graph = WordGraph.of(["a", "<unk>"], normalised)
    assert align_graphs([graph], [graph]).counts().tolist() == [[1, 1, 0, 0]]


def rows(parts: Parts) -> list[list[SpelledWord]]:
    """Every text that the parts allow, by the definition of alternatives."""
    choices = [
        [list(as_written(part))] if isinstance(part, str) else [row for rest in part for row in rows(rest)]
        for part in parts
    ]
    return [[word for piece in chosen for word in piece] for chosen in product(*choices)]


def gap(word: SpelledWord) -> float:
    return 0.001 if word.word == NO_WORD else 2 if word.optional else 3


def pair(one: SpelledWord, other: SpelledWord) -> float:
    if one.word == other.word == NO_WORD:
        return 1
    return 0 if is_same(one, other) else 4


def cost(one: list[SpelledWord], other: list[SpelledWord]) -> float:
    """The least cost of turning one text into another, by the plain recursion."""
    table = [[0.0] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, j in product(range(len(one) + 1), range(len(other) + 1)):
        if i or j:
            ways = []
            if i:
                ways.append(table[i - 1][j] + gap(one[i - 1]))
            if j:
                ways.append(table[i][j - 1] + gap(other[j - 1]))
            if i and j:
                ways.append(table[i - 1][j - 1] + pair(one[i - 1], other[j - 1]))
            table[i][j] = min(ways)
    return table[-1][-1]


words = st.sampled_from(["a", "b", "c", "ab", "a-", "-b", "(a)", "(b-)"])
alternatives = st.lists(
    st.lists(words, min_size=1, max_size=2).map(" ".join) | st.just("@"), min_size=2, max_size=3
).map(lambda options: "{ " + " / ".join(options) + " }")
texts = st.lists(words | alternatives, max_size=4).map(" ".join)


@given(texts, texts)
def test_no_path_costs_less(reference: str, hypothesis: str) -> None:
    ours, theirs = parse_text(reference), parse_text(hypothesis)
    graphs = WordGraph.of(ours, as_written), WordGraph.of(theirs, as_written)
    steps = align_graphs(graphs[:1], graphs[1:], keep_nothing=True)
    found = 0.0
    for a, b in zip(steps.reference.tolist(), steps.hypothesis.tolist(), strict=True):
        if a < 0 or b < 0:
            found += gap(graphs[1].words[b] if a < 0 else graphs[0].words[a])
        else:
            found += pair(graphs[0].words[a], graphs[1].words[b])
    assert found == pytest.approx(min(cost(one, other) for one in rows(ours) for other in rows(theirs)))


def test_many_pairs_are_what_each_is_alone() -> None:
    pairs = [("a b c d", "a c"), ("", "x"), ("{ a / b } c", "b c"), ("q (r)", "")]
    graphs = [[WordGraph.of(parse_text(text), as_written) for text in column] for column in zip(*pairs, strict=True)]
    together = align_graphs(*graphs).counts().tolist()
    assert together == [list(counts(*both)) for both in pairs]


def test_too_much_to_align_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_graph, "MAX_PAIRS", 10)
    with pytest.raises(InputError, match="too many to align"):
        counts("a b c d", "a b c d")
    monkeypatch.setattr(word_graph, "MAX_PAIRS", 10**8)
    monkeypatch.setattr(word_graph, "MAX_STEPS", 100)
    assert counts("a b c d e f g h i j", "a") == (1, 0, 9, 0)
    with pytest.raises(InputError, match="too many to align"):  # ten by ten ways, three times
        counts(f"{{ {' / '.join('abcdefghij')} }} " * 4, "a")
    with pytest.raises(InputError, match="alternatives in one place"):
        counts("{ " + " / ".join("abcdefghij" * 13) + " } x", "a")
