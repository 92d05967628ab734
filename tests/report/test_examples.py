"""Which utterances a report shows, and what it shows of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.strategies import assembled, batch_of
from wordtrust.base.arrays import Reals
from wordtrust.base.errors import InputError
from wordtrust.formats.nbest.from_python import from_nbest
from wordtrust.formats.references import Reference, References
from wordtrust.lattices.lattice import Floats, Lattices
from wordtrust.lattices.paths import best_confidence, one_best
from wordtrust.networks.build_store import BuildOptions, build_networks
from wordtrust.networks.equivalents import ALL, NONE
from wordtrust.report import ExampleKeeper, ExampleUtterance
from wordtrust.report.examples import MOST_LETTERS, MOST_WORDS, page_utterance, pick
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, Word


def example(utt: str, words: str, said: str, sure: float = 0.9) -> ExampleUtterance:
    """Words and reference of equal length, `-` for none."""
    pairs = list(zip(words.split(), said.split(), strict=True))
    reference = tuple(spoken for _, spoken in pairs if spoken != "-")
    shown, correct, aligned = [], [], []
    place = 0
    for word, spoken in pairs:
        if word != "-":
            shown.append(Word(word, word, 0.0, 0.1, sure))
            correct.append(word == spoken)
            aligned.append(place if spoken != "-" else -1)
        place += spoken != "-"
    return ExampleUtterance(Transcript(utt, tuple(shown)), reference, tuple(correct), tuple(aligned))


EXAMPLES = [
    example("a", "i will sit there", "i will sit there"),
    example("b", "i will", "i will"),
    example("c", "i will sit here", "i will sit there", 0.99),
    example("d", "i - set -", "- will sit there", 0.1),
]


def test_errors_are_counted() -> None:
    assert [each.errors for each in EXAMPLES] == [0, 0, 1, 4]
    assert [each.missed for each in EXAMPLES] == [0, 0, 0, 2]


def test_words_in_another_spelling_are_right() -> None:
    heard = from_nbest({"u": [("21 good bye colours too", -1.0)]})
    said = References([Reference("u", "", ("twenty", "one", "goodbye", "colors", "two"))])
    for equate, errors in ((ALL, 1), (NONE, 5)):
        networks = build_networks(heard, BuildOptions(references=said, equate=equate))
        keeper = ExampleKeeper()
        assert networks.posterior is not None
        keeper.add(networks, networks.posterior, one_best(networks))
        (shown,) = keeper.examples
        assert shown.errors == errors


def test_so_are_those_of_words_that_came_with_confidences(tmp_path: Path) -> None:
    (tmp_path / "a.ctm").write_text("u 1 0.0 0.5 21 0.9\nu 1 0.5 0.5 too 0.8\n")
    (tmp_path / "text").write_text("u twenty one two\n")
    keeper = ExampleKeeper()
    wt.evaluate(tmp_path / "a.ctm", references=tmp_path / "text", inspect=keeper.add)
    (shown,) = keeper.examples
    assert shown.errors == 1
    assert [word.marks for word in page_utterance(shown).said] == ["", "", "sub"]


def test_sorts() -> None:
    assert [each.transcript.utt for each in pick(EXAMPLES, "best")] == ["a", "b"]
    assert [each.transcript.utt for each in pick(EXAMPLES, "worst")] == ["d", "c"]
    # c is sure of a wrong word, d makes more errors but says so
    assert [each.transcript.utt for each in pick(EXAMPLES, "misleading")] == ["c", "d"]
    assert pick([], "best") == []


def test_labels_must_fit_the_words() -> None:
    with pytest.raises(ValueError, match="2 words, 1 labels"):
        replace(EXAMPLES[1], correct=(True,))


def corpus(utterances: int) -> Lattices:
    """Each says `a` or `b` twice; the posterior of `a` is another in each, and `a` is right in two of three."""
    made, references = [], []
    for number in range(utterances):
        score = -0.3 - 0.01 * ((number * 7) % 50)
        ends, acoustic = [(0, 1), (0, 1), (1, 2), (1, 2)], [score, -2, score, -2]
        arrays: dict[str, Any] = {"tokens": ["a", "b"] * 2, "acoustic": acoustic, "transition": [0] * 4}
        made.append(assembled(f"u{number:02}", time=[0, 0.5, 1.0], ends=ends, **arrays))
        words = ("a", "a") if number % 3 else ("a", "c", "d")
        references.append(Reference(f"u{number:02}", " ".join(words), words, speaker=f"s{number % 4}"))
    return build_networks(batch_of(*made), BuildOptions(references=References(references)))


def posterior(networks: Lattices) -> Floats:
    assert networks.posterior is not None
    return networks.posterior


def examples_of(
    *batches: Lattices, most: int = 6, show: Callable[[Reals], Reals] | None = None
) -> list[ExampleUtterance]:
    keeper = ExampleKeeper(most, show)
    for networks in batches:
        keeper.add(networks, posterior(networks), best_confidence(networks, posterior(networks)))
    return keeper.examples


def test_any_batches_give_the_same_examples() -> None:
    networks = corpus(30)
    whole = examples_of(networks, most=3)
    assert examples_of(*(networks[start : start + 7] for start in range(0, 30, 7)), most=3) == whole
    assert len(whole) <= 9


def test_what_is_kept_is_the_first_of_each_sort() -> None:
    networks = corpus(30)
    everything = examples_of(networks, most=30)
    kept = examples_of(networks, most=4)
    assert len(everything) == 30
    for sort in ("best", "worst", "misleading"):
        assert pick(kept, sort, 4) == pick(everything, sort, 4)


def test_words_are_aligned_with_what_was_said() -> None:
    networks = corpus(1)
    (found,) = examples_of(networks)
    assert [word.word for word in found.transcript.words] == ["a", "a"]
    assert found.reference == ("a", "c", "d")
    assert found.correct == (True, False)
    assert found.aligned == (0, 1)
    assert found.errors == 2
    assert found.transcript.words[0].alternatives[0].word == "b"


def test_calibrated_confidences_are_shown() -> None:
    networks = corpus(3)
    plain = examples_of(networks)
    halved = examples_of(networks, show=lambda scores: scores / 2)
    for before, after in zip(plain, halved, strict=True):
        for old, new in zip(before.transcript.words, after.transcript.words, strict=True):
            assert new.confidence == pytest.approx(old.confidence / 2)


def test_networks_without_references_are_refused() -> None:
    networks = corpus(2)
    bare = replace(networks, notes={})
    with pytest.raises(InputError, match="no references"):
        examples_of(bare)


def test_what_is_shown_of_an_utterance() -> None:
    shown = page_utterance(EXAMPLES[3])
    assert [(word.text, word.marks) for word in shown.recognized] == [("i", "w c1 bad"), ("set", "w c1 bad")]
    assert [(word.text, word.marks) for word in shown.said] == [("will", "gone"), ("sit", "sub"), ("there", "gone")]
    assert shown.recognized[0].hints[0] == "0.10, wrong, nothing was said"
    assert shown.recognized[1].hints[0] == "0.10, wrong, said was: sit"
    assert shown.facts == "4 errors, 3 words said, mean confidence 0.10"


def test_alternatives_are_shown() -> None:
    word = Word("seat", "seat", 1.0, 1.25, 0.74, (Alternative("sit", 0.2), Alternative("set", 0.05)))
    shown = page_utterance(ExampleUtterance(Transcript("u", (word,)), ("seat",), (True,), (0,)))
    assert shown.recognized[0].hints == ("0.74, right", "1.00 to 1.25 s", "or: sit 0.20, set 0.05")


def test_long_words_and_utterances_are_cut() -> None:
    words = tuple(Word("x" * 1000, "x", 0.0, 0.1, 0.5) for _ in range(1000))
    shown = page_utterance(ExampleUtterance(Transcript("u" * 1000, words), (), (False,) * 1000, (-1,) * 1000))
    assert len(shown.recognized) == MOST_WORDS
    assert {len(word.text) for word in shown.recognized} == {MOST_LETTERS}
    assert len(shown.name) == 200
    assert "1,000 words" in shown.more


def test_an_utterance_without_words() -> None:
    shown = page_utterance(ExampleUtterance(Transcript("u", ()), ("a",), (), ()))
    assert shown.facts == "1 error, 1 word said"
    assert np.array([word.marks for word in shown.said]).tolist() == ["gone"]


def test_words_without_confidences_show_none() -> None:
    bare = [replace(each, has_confidences=False) for each in EXAMPLES]
    shown = page_utterance(bare[2])
    assert shown.facts == "1 error, 4 words said"
    assert [word.marks for word in shown.recognized] == ["w", "w", "w", "w bad"]
    assert shown.recognized[-1].hints == ("wrong, said was: there", "0.00 to 0.10 s")
    assert [each.transcript.utt for each in pick(bare, "worst")] == ["d", "c"]
    assert pick(bare, "misleading") == []
