"""What a model knows about words: rows, phones, how often each was heard, vectors, and words it does not know."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.strategies import assembled, batch_of
from wordtrust import build
from wordtrust.confidence import word_vectors
from wordtrust.confidence.phones import estimate_phones
from wordtrust.confidence.word_table import BatchWords, WordTable, expected_counts, own_mass
from wordtrust.confidence.word_vectors import make_rank_table, make_table
from wordtrust.lattices.lattice import Lattices

LEXICON = "see S IY\nseat S IY T\nseat(2) S EH T\n"
VECTORS = "the 1 2\nsea 0.5 0.25\nseat -1 0.1\n, 9 9\nof 3 4\nrare 5 6\n"


def networks() -> Lattices:
    """Two utterances; `seat` is in both, twice in the first; the silence has posteriors too."""
    one = assembled(
        "one",
        time=[0, 0.4, 1.0, 2.0],
        ends=[(0, 1), (0, 1), (1, 2), (2, 3)],
        tokens=["see", "seat", "<sil>", "seat"],
        acoustic=[np.log(0.75), np.log(0.25), 0, 0],
    )
    two = assembled(
        "two", time=[0, 1.0], ends=[(0, 1), (0, 1)], tokens=["seat", "a"], acoustic=[np.log(0.4), np.log(0.6)]
    )
    return build(batch_of(one, two)).lattices


def posterior_by_arc(batch: Lattices) -> list[tuple[str, str, float]]:
    assert batch.posterior is not None
    words = (word for lattice in batch for word in lattice.words)
    utts = (batch.utts[index] for index in batch.utterance_of_arc)
    return list(zip(utts, words, batch.posterior.tolist(), strict=True))


def test_mass_is_the_posterior_of_a_word_over_all_networks() -> None:
    batch = networks()
    assert expected_counts([batch]) == pytest.approx({"see": 0.75, "seat": 0.25 + 1.0 + 0.4, "a": 0.6}, abs=1e-6)
    assert expected_counts([batch[:1], batch[1:]]) == pytest.approx(expected_counts([batch]), abs=1e-6)
    assert expected_counts([]) == {}
    twice = [networks(), networks()]  # with vocabularies of their own
    assert expected_counts(twice) == pytest.approx({"see": 1.5, "seat": 3.3, "a": 1.2}, abs=1e-6)


def test_own_mass_is_that_of_the_word_in_its_utterance() -> None:
    batch = networks()
    arcs = posterior_by_arc(batch)
    plain = [sum(p for utt, word, p in arcs if (utt, word) == (mine, own)) for mine, own, _ in arcs]
    assert own_mass(batch) == pytest.approx(plain, abs=1e-6)


def test_a_word_heard_only_here_was_never_heard_before() -> None:
    batch = networks()
    table = make_table(expected_counts([batch]), ())
    words = BatchWords.of(batch)
    left = table.mass_of(table.rows(words.words))[words.index] - own_mass(batch)
    for (utt, word, _), mass in zip(posterior_by_arc(batch), left.tolist(), strict=True):
        elsewhere = {("seat", "one"): 0.4, ("seat", "two"): 1.25}.get((word, utt), 0.0)
        assert not word or mass == pytest.approx(elsewhere, abs=1e-5)


def test_words_of_a_batch_are_told_apart() -> None:
    batch = networks()
    words = BatchWords.of(batch)
    assert sorted(words.words) == ["", "a", "seat", "see"]
    assert [words.words[number] for number in words.index] == [word for _, word, _ in posterior_by_arc(batch)]
    nothing = BatchWords.of(batch[:0])
    assert (nothing.words, len(nothing.index)) == ((), 0)


def test_rows_are_those_of_known_words() -> None:
    table = WordTable(("b", "a"))
    assert table.rows(["a", "b", "c", "", "a"]).tolist() == [1, 0, -1, -1, 1]
    assert WordTable().rows(["a"]).tolist() == [-1]


def test_phones_are_those_of_the_lexicon_and_else_estimated(tmp_path: Path) -> None:
    (tmp_path / "lexicon.txt").write_text(LEXICON, "utf-8")
    table = make_table({"see": 1.0, "seat": 1.0, "though": 1.0}, (), lexicon=tmp_path / "lexicon.txt")
    words = ["seat", "see", "though", "squirrel", ""]
    rows = table.rows(words)
    assert table.phones_of(words, rows).tolist() == [
        3, 2, estimate_phones("though"), estimate_phones("squirrel"), 0
    ]  # fmt: skip
    assert table.phones is not None
    assert dict(zip(table.words, table.phones.tolist(), strict=True)) == {"see": 2, "seat": 3, "though": 0}


def test_phones_without_a_lexicon_are_estimated() -> None:
    table, words = make_table({"see": 1.0}, ()), ["see", "squirrel", ""]
    assert table.phones is None
    expected = [estimate_phones("see"), estimate_phones("squirrel"), 0]
    assert table.phones_of(words, table.rows(words)).tolist() == expected


def test_mass_of_a_word_that_was_not_heard_is_0() -> None:
    table = make_table({"a": 2.5}, {"b", ""})
    assert table.words == ("a", "b")
    assert table.mass_of(table.rows(["a", "b", "c", ""])).tolist() == [2.5, 0, 0, 0]
    assert WordTable(("a",)).mass_of(np.array([0, -1], np.int32)).tolist() == [0, 0]


def test_vectors_of_words_in_use_and_of_the_top_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vectors.txt").write_text(VECTORS, "utf-8")
    monkeypatch.setattr(word_vectors, "MORE_WORDS", 2)
    table = make_table({"seat": 1.0, "zebra": 2.0}, {"sea"}, vectors=tmp_path / "vectors.txt")
    assert table.words == ("sea", "seat", "zebra", "the", "of")  # in use by letter, then by the file
    assert table.mass is not None
    assert table.mass.tolist() == [0, 1, 2, 0, 0]
    vectors = table.vectors_of(table.rows(["sea", "zebra", "of", "rare", ""]))
    assert vectors.tolist() == [[0.5, 0.25], [0, 0], [3, 4], [0, 0], [0, 0]]


def test_how_rare_words_are_by_their_place_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vectors.txt").write_text(VECTORS, "utf-8")
    monkeypatch.setattr(word_vectors, "MORE_WORDS", 12)
    table = make_rank_table({"sea", "zebra", ""}, tmp_path / "vectors.txt")
    assert table.vectors is None
    assert table.words == ("the", "sea", "seat", "of", "rare", "zebra")
    assert table.mass_of(table.rows(table.words)) == pytest.approx([12, 6, 4, 3, 2.4, 0])


def test_vectors_are_those_that_a_model_keeps(tmp_path: Path) -> None:
    """Or training would see other numbers than scoring."""
    (tmp_path / "vectors.txt").write_text("a 0.1 1e9\n", "utf-8")
    table = make_table({"a": 1.0}, (), vectors=tmp_path / "vectors.txt")
    assert table.vectors is not None
    assert table.vectors.tolist() == [[float(np.float16(0.1)), 65504.0]]


def test_a_lexicon_knows_words_from_the_top_of_the_vectors_too(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text(VECTORS, "utf-8")
    (tmp_path / "lexicon.txt").write_text("the DH AH\n", "utf-8")
    table = make_table({"sea": 1.0}, (), vectors=tmp_path / "vectors.txt", lexicon=tmp_path / "lexicon.txt")
    assert table.phones_of(["the"], table.rows(["the"])).tolist() == [2]


@pytest.mark.slow
def test_many_words_take_no_more_than_a_moment(tmp_path: Path) -> None:
    """Looking each word of the file up among all words in use, one by one, took most of a minute."""
    (tmp_path / "vectors.txt").write_text("".join(f"w{number} 1 2\n" for number in range(20_000)), "utf-8")
    begin = time.process_time()
    table = make_table({f"w{number}": 1.0 for number in range(0, 40_000, 4)}, (), vectors=tmp_path / "vectors.txt")
    assert time.process_time() - begin < 5
    assert len(table.words) == 20_000 + 5_000
