"""The aligner, against an enumeration of all alignments and against the libraries people compare with."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import jiwer
import kaldialign
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.shared import SHARED, needs_shared
from wordtrust.base.errors import InputError
from wordtrust.formats.references import read_references
from wordtrust.lattices.text import DEFAULT
from wordtrust.networks import align as module
from wordtrust.networks.align import Alignment, align, align_all, align_ids

short = st.lists(st.sampled_from("abc"), max_size=5)
sentence = st.lists(st.sampled_from("the a cat sat on mat".split()), max_size=12)


def all_alignments(reference: list[str], hypothesis: list[str]) -> Iterator[str]:
    """Every alignment as its steps: 0 for match or substitution, 1 for deletion, 2 for insertion."""
    if not reference and not hypothesis:
        yield ""
    if reference and hypothesis:
        yield from ("0" + rest for rest in all_alignments(reference[1:], hypothesis[1:]))
    if reference:
        yield from ("1" + rest for rest in all_alignments(reference[1:], hypothesis))
    if hypothesis:
        yield from ("2" + rest for rest in all_alignments(reference, hypothesis[1:]))


def follow(steps: str, reference: list[str], hypothesis: list[str]) -> Alignment:
    i = 0
    places: list[int] = []
    correct: list[bool] = []
    for step in steps:
        if step != "1":
            word = hypothesis[len(places)]
            places.append(i if step == "0" else -1)
            correct.append(step == "0" and reference[i] == word)
        i += step != "2"
    return Alignment(
        tuple(correct),
        tuple(places),
        hits=sum(correct),
        substitutions=steps.count("0") - sum(correct),
        deletions=steps.count("1"),
        insertions=steps.count("2"),
    )


def errors(alignment: Alignment) -> int:
    return alignment.substitutions + alignment.deletions + alignment.insertions


def by_enumeration(reference: list[str], hypothesis: list[str]) -> Alignment:
    """The three rules of the module, word for word."""
    rows = [(steps, follow(steps, reference, hypothesis)) for steps in all_alignments(reference, hypothesis)]
    return min(rows, key=lambda row: (errors(row[1]), -row[1].hits, row[0]))[1]


@given(short, short)
def test_is_the_alignment_that_the_rules_name(reference: list[str], hypothesis: list[str]) -> None:
    assert align(reference, hypothesis) == by_enumeration(reference, hypothesis)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "correct", "places"),
    [
        ("a b", "b c", (True, False), (1, -1)),  # a match rather than two substitutions
        ("a b", "b a", (True, False), (1, -1)),  # the earlier word of the hypothesis
        ("the", "the the", (True, False), (0, -1)),  # the repetition is the insertion
        ("x the", "y the the", (False, True, False), (0, 1, -1)),
        ("no no no", "no", (True,), (0,)),
        ("going to", "gonna", (False,), (0,)),
        ("gonna", "going to", (False, False), (0, -1)),
        ("", "a b", (False, False), (-1, -1)),
        ("a b", "", (), ()),
        ("", "", (), ()),
        ("a <unk> b", "a <unk> b", (True, False, True), (0, 1, 2)),  # the unknown word is never right
    ],
)
def test_ties(reference: str, hypothesis: str, correct: tuple[bool, ...], places: tuple[int, ...]) -> None:
    alignment = align(reference.split(), hypothesis.split())
    assert (alignment.correct, alignment.reference) == (correct, places)


def test_counts() -> None:
    alignment = align("the cat sat on the mat".split(), "a cat sat the old mat".split())
    assert alignment.correct == (False, True, True, True, False, True)
    assert alignment.reference == (0, 1, 2, 4, -1, 5)
    counts = alignment.hits, alignment.substitutions, alignment.deletions, alignment.insertions
    assert counts == (4, 1, 1, 1)


@given(st.lists(st.tuples(sentence, sentence), max_size=6))
def test_a_batch_is_its_utterances(pairs: list[tuple[list[str], list[str]]]) -> None:
    batch = align_all([reference for reference, _ in pairs], [hypothesis for _, hypothesis in pairs])
    assert len(batch) == len(pairs)
    assert [batch[number] for number in range(len(pairs))] == [align(*pair) for pair in pairs]


@given(sentence.filter(bool), sentence)
def test_as_many_errors_as_jiwer_and_kaldialign(reference: list[str], hypothesis: list[str]) -> None:
    alignment = align(reference, hypothesis)
    out = jiwer.process_words(" ".join(reference), " ".join(hypothesis))
    assert errors(alignment) == out.substitutions + out.deletions + out.insertions
    assert errors(alignment) == kaldialign.edit_distance(reference, hypothesis)["total"]


@given(sentence, sentence)
def test_as_many_matches_as_sclite_where_it_finds_as_few_errors(reference: list[str], hypothesis: list[str]) -> None:
    alignment = align(reference, hypothesis)
    sclite = kaldialign.edit_distance(reference, hypothesis, sclite_mode=True)
    if sclite["total"] == errors(alignment):
        assert alignment.substitutions == sclite["sub"]


@given(sentence, sentence)
def test_counts_fit_the_lengths(reference: list[str], hypothesis: list[str]) -> None:
    a = align(reference, hypothesis)
    assert a.hits + a.substitutions + a.deletions == len(reference)
    assert a.hits + a.substitutions + a.insertions == len(hypothesis) == len(a.correct) == len(a.reference)
    assert sum(a.correct) == a.hits
    assert a.reference.count(-1) == a.insertions
    aligned = [place for place in a.reference if place >= 0]
    assert aligned == sorted(set(aligned))


@pytest.mark.parametrize("length", [1, 7, 40, 300])
def test_long_utterances_in_two_passes_give_the_same(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(length)
    reference, hypothesis = ([str(word) for word in random.integers(0, 9, length + shift)] for shift in (0, 3))
    in_one = align(reference, hypothesis)
    monkeypatch.setattr(module, "_BLOCK", 0)
    assert align(reference, hypothesis) == in_one


def test_an_hour_of_words() -> None:
    random = np.random.default_rng(0)
    reference = random.integers(0, 1000, 6000, np.int32)
    hypothesis = np.delete(reference, random.choice(6000, 300, replace=False))
    alignment = align_ids(reference, np.array([0, 6000]), hypothesis, np.array([0, 5700]))
    assert alignment.correct.all()
    assert alignment.counts.tolist() == [[5700, 0, 300, 0]]


def test_refuses_what_would_take_hours() -> None:
    words = np.zeros(300_000, np.int32)
    ends = np.array([0, len(words)])
    with pytest.raises(InputError, match=r"utterance number 1.*300,000 reference words.*Cut the recording"):
        align_ids(words, ends, words, ends)


def test_refuses_batches_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="1 references for 2 hypotheses"):
        align_all([["a"]], [["a"], ["b"]])
    words = np.zeros(3, np.int32)
    for ends in ([0, 2], [1, 3], [0, 4, 3]):
        with pytest.raises(ValueError, match="the offsets do not cut 3 words"):
            align_ids(words, np.array(ends), words, np.array(ends))


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize(
    ("recognizer", "pick", "wer"), [("whisper-small", "best_avg", 8.7), ("moonshine-base", "", 9.0)]
)
def test_error_rates_of_real_recognizers(recognizer: str, pick: str, wer: float) -> None:
    """The figures that DATA.md has, computed by others."""
    references = read_references(SHARED / "refs.tsv")
    with gzip.open(SHARED / recognizer / "eval.jsonl.gz", "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    hypotheses = [DEFAULT.words(record["nbest"][record[pick] if pick else 0]["text"]) for record in records]
    batch = align_all([references[record["utt"]].words for record in records], hypotheses)
    rate = batch.counts[:, 1:].sum() / batch.counts[:, :3].sum()
    assert round(100 * rate, 1) == wer
