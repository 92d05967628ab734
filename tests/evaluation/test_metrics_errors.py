"""Error counts: what they mean, that they add, and that the rate is jiwer's."""

from __future__ import annotations

import jiwer
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.errors import InputError
from wordtrust.evaluation.metrics import ErrorCounts, SpeakerErrors
from wordtrust.networks.align import align_all

counts = st.builds(ErrorCounts, *[st.integers(0, 50)] * 4)
sentence = st.lists(st.sampled_from("the a cat sat".split()), max_size=6)
corpus = st.lists(st.tuples(sentence, sentence, st.sampled_from("xyz")), max_size=8)


def measured(rows: list[tuple[list[str], list[str], str]]) -> SpeakerErrors:
    alignments = align_all([row[0] for row in rows], [row[1] for row in rows])
    return SpeakerErrors.of(alignments, [row[2] for row in rows])


def test_rates() -> None:
    errors = ErrorCounts(hits=6, substitutions=1, deletions=3, insertions=2)
    assert (errors.errors, errors.reference_words, errors.hypothesis_words, errors.wer) == (6, 10, 9, 0.6)
    assert errors.to_dict() == {"wer": 0.6, "words": 10, "substitutions": 1, "deletions": 3, "insertions": 2}


def test_nothing_was_said() -> None:
    assert ErrorCounts().wer is None
    assert ErrorCounts(insertions=3).wer is None
    assert "wer" not in ErrorCounts(insertions=3).to_dict()


@given(counts, counts, counts)
def test_counts_add(a: ErrorCounts, b: ErrorCounts, c: ErrorCounts) -> None:
    assert (a + b) + c == a + (b + c) == sum([c, b, a], ErrorCounts())
    assert a + ErrorCounts() == a
    assert (a + b).errors == a.errors + b.errors


@given(corpus.filter(lambda rows: any(row[0] for row in rows)))
def test_rate_is_that_of_jiwer(rows: list[tuple[list[str], list[str], str]]) -> None:
    rows = [row for row in rows if row[0]]  # jiwer takes no empty reference
    alignments = align_all([row[0] for row in rows], [row[1] for row in rows])
    wanted = jiwer.wer([" ".join(row[0]) for row in rows], [" ".join(row[1]) for row in rows])
    assert ErrorCounts.of(alignments).wer == pytest.approx(wanted, abs=1e-12)


@given(corpus, st.integers(0, 8))
def test_shards_add_up_to_the_whole(rows: list[tuple[list[str], list[str], str]], cut: int) -> None:
    whole, parts = measured(rows), measured(rows[cut:]) + measured(rows[:cut])
    assert whole.speakers == parts.speakers
    assert np.array_equal(whole.counts, parts.counts)
    assert whole.total == (SpeakerErrors() + whole).total
    assert whole.total == ErrorCounts.of(align_all([row[0] for row in rows], [row[1] for row in rows]))


def test_errors_of_each_speaker() -> None:
    errors = measured([(["a"], ["b"], "y"), (["a", "b"], ["a", "b"], "x"), (["a"], [], "y")])
    assert errors.speakers == ("x", "y")
    assert errors.counts.tolist() == [[2, 0, 0, 0], [0, 1, 1, 0]]
    assert errors.among(("w", "x", "y")).counts.tolist() == [[0, 0, 0, 0], [2, 0, 0, 0], [0, 1, 1, 0]]


def test_every_utterance_needs_a_speaker() -> None:
    with pytest.raises(ValueError, match="1 speakers for 2 utterances"):
        SpeakerErrors.of(align_all([["a"], ["b"]], [["a"], ["b"]]), ["x"])


def test_only_the_same_references_can_be_paired() -> None:
    first, second = measured([(["a"], ["a"], "x")]), measured([(["a", "b"], ["a"], "x")])
    first.check_pair(measured([(["a"], [], "x")]))
    with pytest.raises(InputError, match="1 reference words of 1 speakers cannot be paired with 2 of 1"):
        first.check_pair(second)
