"""Scores of given texts under Moonshine: against plain numpy, the search's own scores, and one step after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import made_moonshine as made
from tests.helpers import reference_moonshine as reference
from tests.helpers.speech import recording
from wordtrust.base.errors import InputError
from wordtrust.lattices.text import DEFAULT
from wordtrust.recognizers.base import ForcedScorer, ForcedScores
from wordtrust.recognizers.forced import heard_scores
from wordtrust.recognizers.moonshine import adapter as moonshine
from wordtrust.recognizers.moonshine import forced
from wordtrust.recognizers.moonshine.adapter import MoonshineRecognizer
from wordtrust.recognizers.moonshine.forced import force
from wordtrust.recognizers.moonshine.graphs import END
from wordtrust.recognizers.moonshine.search import BEGIN

SAMPLES = np.random.default_rng(3).normal(0, 0.3, 6_000).astype(np.float32)
texts_of_tokens = st.lists(st.lists(st.integers(3, made.SPOKEN - 1), max_size=9), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> MoonshineRecognizer:
    return moonshine.load(str(made.write_model(tmp_path_factory.mktemp("made") / "moonshine-nano")))


@pytest.fixture(scope="module")
def frames() -> reference.Array:
    return reference.encode(SAMPLES, made.encoder_weights(), made.HEADS)


@pytest.fixture(scope="module")
def tiny() -> MoonshineRecognizer:
    return moonshine.load()


def expected(tokens: list[int], frames: reference.Array) -> tuple[reference.Array, reference.Array]:
    """Log-probabilities of tokens and end, and how much less these are than the greatest there."""
    rows, _ = reference.decode([BEGIN, *tokens], frames, made.decoder_weights(), made.HEADS, made.SPOKEN)
    logprobs = rows[np.arange(len(tokens) + 1), [*tokens, END]]
    return logprobs, logprobs - rows.max(axis=1)


@given(texts=texts_of_tokens)
@settings(max_examples=20)
def test_many_texts_at_once_are_scored_as_each_alone(
    small: MoonshineRecognizer, frames: reference.Array, texts: list[list[int]]
) -> None:
    """Also where they share prefixes, are the same, or empty."""
    texts = [*texts, texts[0], texts[0][:2], []]
    scores = force(small.model.encode(SAMPLES), texts)
    for tokens, (logprobs, margins) in zip(texts, scores, strict=True):
        wanted, less = expected(tokens, frames)
        assert logprobs == pytest.approx(wanted, abs=2e-4)
        assert margins == pytest.approx(less, abs=2e-4)


def test_blocks_and_groups_change_nothing(
    small: MoonshineRecognizer, frames: reference.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(5)
    texts = [random.integers(3, made.SPOKEN, length).tolist() for length in (13, 0, 5, 7, 1, 4)]
    monkeypatch.setattr(forced, "BLOCK", 4)
    for rows in (1, 9, 1_000):
        monkeypatch.setattr(forced, "ROWS", rows)
        for tokens, (logprobs, _) in zip(texts, force(small.model.encode(SAMPLES), texts), strict=True):
            assert logprobs == pytest.approx(expected(tokens, frames)[0], abs=2e-4)


def test_what_is_too_long_is_scored_as_far_as_it_goes(
    small: MoonshineRecognizer, frames: reference.Array, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forced, "LONGEST_TEXT", 5)
    words = ["abc", "", "de", "fg"]  # 3, 0, 2 and 2 letters, each with a token
    (scores,) = small.score_texts(SAMPLES, [words])
    tokens = [token for word in words for token in small.tokenizer.encode(f" {word}")]
    chain, _ = expected(tokens, frames)
    assert scores.tokens.tolist() == [3, 0, 2, 2]
    assert scores.logprob == pytest.approx([chain[:3].sum(), np.nan, chain[3:5].sum(), np.nan], abs=5e-4, nan_ok=True)
    assert np.isnan(scores.end)


def test_words_have_the_scores_of_their_tokens(small: MoonshineRecognizer, frames: reference.Array) -> None:
    words = ["cab", "e", "fed."]
    (scores,) = small.score_texts(SAMPLES, [words])
    spelled = [small.tokenizer.encode(f" {word}") for word in words]
    logprobs, margins = expected([token for word in spelled for token in word], frames)
    cuts = np.cumsum([len(word) for word in spelled])
    parts, less = np.split(logprobs, cuts)[:-1], np.split(margins, cuts)[:-1]
    assert scores.logprob == pytest.approx([part.sum() for part in parts], abs=5e-4)
    assert scores.least == pytest.approx([part.min() for part in parts], abs=2e-4)
    assert scores.margin == pytest.approx([part.min() for part in less], abs=2e-4)
    assert scores.end == pytest.approx(logprobs[-1], abs=2e-4)


@pytest.mark.parametrize("samples", [np.zeros(0), np.ones(3_999), np.zeros(16_000)], ids=["none", "short", "silence"])
def test_where_nothing_can_be_heard_nothing_is_scored(small: MoonshineRecognizer, samples: reference.Array) -> None:
    scores = small.score_texts(samples.astype(np.float32), [["a", "b"], []])
    assert [len(one.logprob) for one in scores] == [2, 0]
    assert np.isnan([*scores[0].logprob, *scores[0].margin, scores[0].end]).all()


def test_bad_samples_are_refused(small: MoonshineRecognizer) -> None:
    with pytest.raises(InputError, match="finite"):
        small.score_texts(np.full(16_000, np.nan, np.float32), [["a"]])
    assert small.score_texts(SAMPLES, []) == []


def test_samples_that_change_in_place_are_heard_anew(small: MoonshineRecognizer) -> None:
    samples = SAMPLES.copy()
    (before,) = small.score_texts(samples, [["abc"]])
    samples[::3] = 0.0
    (after,), (again,) = small.score_texts(samples, [["abc"]]), small.score_texts(SAMPLES, [["abc"]])
    assert before.logprob.tolist() == again.logprob.tolist() != after.logprob.tolist()


def _token_scores(hypothesis: dict[str, object]) -> list[float]:
    logprobs, end = hypothesis["token_logprobs"], hypothesis["eot_logprob"]
    assert isinstance(logprobs, list)
    assert isinstance(end, float)
    return [*logprobs, end]


@pytest.mark.slow
def test_texts_that_the_search_found_have_its_scores(tiny: MoonshineRecognizer) -> None:
    hypotheses = tiny.recognize(recording()[: 5 * 16_000])["nbest"]
    decoder = tiny.model.encode(recording()[: 5 * 16_000])
    scores = force(decoder, [one["token_ids"] for one in hypotheses])
    words = hypotheses[0]["text"].split()
    (own,) = tiny.score_texts(recording()[: 5 * 16_000], [words])
    known = heard_scores(DEFAULT.words(hypotheses[0]["text"]), hypotheses[0])
    assert known is not None
    for one, other in zip(own, known, strict=True):
        assert one == pytest.approx(other, abs=2e-4)
    for hypothesis, (logprobs, margins) in zip(hypotheses, scores, strict=True):
        assert logprobs == pytest.approx(_token_scores(hypothesis), abs=1e-4)
        assert margins[:-1] == pytest.approx(np.minimum(hypothesis["token_margins"], 0), abs=1e-4)


@pytest.mark.slow
def test_other_texts_are_scored_step_by_step_alike(tiny: MoonshineRecognizer) -> None:
    """Through the cache of the search, a token at a time: digits, apostrophes, capitals, letters in bytes."""
    samples = recording()[: 3 * 16_000]
    words = ["EVER", "don't", "3.5%", "naïve", "ʘŋ", "猫ﾂ", "tried"]
    tokens = [token for word in words for token in tiny.tokenizer.encode(f" {word}")]
    decoder, chain = tiny.model.encode(samples), []
    for position, (token, following) in enumerate(zip([BEGIN, *tokens], [*tokens, END], strict=True)):
        outputs = decoder.run(
            tokens=np.array([token]),
            positions=np.array([position]),
            kept=np.arange(position),
            mask=np.zeros((1, position + 1), np.float32),
            wanted=np.array([[0, following]]),
        )
        chain.append(float(outputs["logprobs_wanted"][0]))
    (scores,) = tiny.score_texts(samples, [words])
    assert isinstance(scores, ForcedScores)
    assert scores.logprob.sum() + scores.end == pytest.approx(sum(chain), abs=1e-3)
    cuts = np.cumsum(scores.tokens)[:-1]
    assert scores.least == pytest.approx([part.min() for part in np.split(np.array(chain[:-1]), cuts)], abs=1e-4)


@pytest.mark.slow
def test_what_was_said_scores_above_what_was_not(tiny: MoonshineRecognizer) -> None:
    samples = recording()[: 5 * 16_000]
    said, other = tiny.recognize(samples)["nbest"][0]["text"].split(), "I'd paint it blue, please.".split()
    right, wrong, long, empty = tiny.score_texts(samples, [said, other, ["ever"] * 1_000, []])
    assert np.median(right.logprob) > -1 > -6 > np.median(wrong.logprob)
    assert np.median(right.margin) == 0 > -4 > np.median(wrong.margin)
    assert right.end > -1 > -6 > empty.end
    assert np.isfinite(long.logprob).all()
    assert isinstance(tiny, ForcedScorer)
