"""Texts in the style of a recognizer, and the scores of their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.audio import Samples
from wordtrust.lattices.text import DEFAULT, JOINER, join_surfaces
from wordtrust.recognizers import NOTHING, ForcedScores, NBestRecord, RecognizerIdentity
from wordtrust.recognizers.forced import heard_scores, printed, score_words, spaced, word_scores, written_like


def heard(text: str) -> dict[str, Any]:
    return {"words": [{"word": word} for word in text.split()]}


@pytest.mark.parametrize(
    ("words", "own", "written"),
    [
        ("i think so too", "I think, so to.", "I think, so too."),
        ("hello there", "", "Hello there."),
        ("", "Hi.", ""),
        ("and i'm o'brien", "And Im O'Brian?", "And I'm O'brien?"),
        ("5% tax", "five percent tax", "5% tax"),
        ("nerve wracking", "It's nerve-wracking.", "Nerve-wracking."),
        ("nerve racking", '"Nerve-wracking!"', '"Nerve-racking!"'),
        ("the nerve very wracking thing", "The nerve-wracking thing", "The nerve very wracking thing"),
        ("we went to paris", "They went to Paris, France.", "We went to Paris."),
    ],
)
def test_words_are_written_as_the_recognizer_would(words: str, own: str, written: str) -> None:
    in_style = written_like(words.split(), heard(own))
    assert len(in_style) == len(words.split())
    assert join_surfaces(in_style) == written
    assert "".join(spaced(in_style)) == (f" {written}" if written else "")


def test_a_record_with_texts_only_has_a_style_too() -> None:
    assert written_like(["yes"], {"score": -1.0, "text": "Oh yes!"}) == ["Yes!"]


words_of = st.lists(st.sampled_from("a i it's the cat hat 5 x-y naïve".split()), max_size=8)


@given(words_of, words_of)
def test_style_changes_no_word(words: list[str], own: list[str]) -> None:
    normal = [piece for word in words for piece in DEFAULT.words(word)]
    text = ", ".join(own).title() + "."
    assert DEFAULT.words(join_surfaces(written_like(normal, heard(text)))) == normal
    of_text = DEFAULT.words(text)
    assert join_surfaces(written_like(of_text, heard(text))) == " ".join(text.split()) or not of_text


@given(st.lists(st.integers(0, 4), max_size=7), st.integers(0, 30), st.integers(0, 999))
def test_words_add_up_from_tokens(counts: list[int], scored: int, seed: int) -> None:
    """Each word by itself, from its own slice; NaN from the first token on that has no score."""
    total = sum(counts) + 1
    logprobs, margins = -np.random.default_rng(seed).exponential(3.0, (2, total))
    scores = word_scores(counts, logprobs[:scored], margins[:scored])
    assert scores.tokens.tolist() == counts
    for word, count in enumerate(counts):
        first = sum(counts[:word])
        if count == 0 or first + count > scored:
            assert np.isnan([scores.logprob[word], scores.least[word], scores.margin[word]]).all()
            continue
        assert scores.logprob[word] == pytest.approx(logprobs[first : first + count].sum())
        assert scores.least[word] == logprobs[first : first + count].min()
        assert scores.margin[word] == margins[first : first + count].min()
    assert scores.end == logprobs[-1] if scored >= total else np.isnan(scores.end)


def test_the_impossible_is_very_improbable() -> None:
    scores = word_scores([2], np.array([-np.inf, -1.0, -np.inf]), np.array([-np.inf, 0.0, -1.0]))
    assert (scores.logprob[0], scores.least[0], scores.margin[0], scores.end) == (-101.0, -100.0, -100.0, -100.0)


OWN: dict[str, Any] = {
    "words": [{"word": "Oh,", "tokens": 2}, {"word": "yes.", "tokens": 1}],
    "token_logprobs": [-1.0, -2.0, -0.5],
    "token_margins": [3.0, -1.5, 0.25],
    "eot_logprob": -0.125,
}


@dataclass
class Listener:
    """It writes down what it is asked."""

    identity: RecognizerIdentity = field(default_factory=lambda: RecognizerIdentity("listener", "1"))
    asked: list[list[str]] = field(default_factory=list)

    def recognize(self, samples: Samples) -> NBestRecord:  # noqa: ARG002
        return NOTHING

    def score_texts(self, samples: Samples, texts: Sequence[Sequence[str]]) -> list[ForcedScores]:  # noqa: ARG002
        self.asked += [list(text) for text in texts]
        return [word_scores([1] * len(text), np.zeros(len(text) + 1), np.zeros(len(text) + 1)) for text in texts]


def test_what_it_wrote_itself_is_not_scored_again() -> None:
    listener = Listener()
    texts = [["no"], ["oh", "yes"], ["oh"]]
    scores = score_words(listener, np.zeros(9, np.float32), texts, {"nbest": [OWN]})
    assert listener.asked == [["No."], ["Oh."]]
    assert scores[1].logprob.tolist() == [-3.0, -0.5]
    assert scores[1].least.tolist() == [-2.0, -0.5]
    assert scores[1].margin.tolist() == [-1.5, 0.0]
    assert scores[1].end == -0.125
    assert [len(one.logprob) for one in scores] == [1, 2, 1]


def test_the_hypothesis_is_the_one_that_it_prints() -> None:
    other = heard("OH YES")
    record = {"nbest": [OWN, other], "best_avg": 1}
    assert printed(record, "total") is OWN
    assert printed(record, "average") is other
    assert printed(NOTHING, "average") == NOTHING["nbest"][0]
    listener = Listener(RecognizerIdentity("listener", "1", pick="average"))
    score_words(listener, np.zeros(9, np.float32), [["oh", "yes"]], record)
    assert listener.asked == [["OH", "YES"]]


@pytest.mark.parametrize("missing", ["words", "token_logprobs", "token_margins", "eot_logprob"])
def test_a_record_without_scores_has_none_to_give(missing: str) -> None:
    own = {"text": "Oh, yes.", **{name: value for name, value in OWN.items() if name != missing}}
    assert heard_scores(["oh", "yes"], own) is None


def test_pieces_of_a_token_have_no_scores_of_their_own() -> None:
    joined = {**OWN, "words": [{"word": "Oh-yes.", "tokens": 3}]}
    assert heard_scores(["oh", "yes"], joined) is None
    assert written_like(["oh", "yes"], joined) == [f"Oh-{JOINER}", "yes."]
