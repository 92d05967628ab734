"""Warnings about an utterance: each fires on what is made for it, and none depends on the utterances beside it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust as wt
from wordtrust.confidence.unusual import model_warnings
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.formats.transcript.records import Word
from wordtrust.lattices.lattice import Lattices, concatenate

SAMPLE = Path(wt.__file__).parent / "sample" / "corpus" / "moonshine-tiny"


@cache
def scorer() -> WordScorer:
    return wt.load("moonshine-tiny")


@cache
def sample() -> Lattices:
    """What Moonshine heard in the sample's eval split, every fourth of it strange."""
    networks = scorer().networks(wt.read(SAMPLE / "eval.jsonl.gz"))[:24]
    assert networks.acoustic is not None
    far = np.isin(networks.utterance_of_arc, np.arange(0, 24, 4))
    return replace(networks, acoustic=np.where(far, 40 * networks.acoustic, networks.acoustic).astype("f4"))


@cache
def together() -> dict[str, wt.Transcript]:
    """All of the sample scored at once."""
    return {each.utt: each for each in scorer()(sample(), alternatives=2)}


def word(norm: str, start: float, end: float) -> Word:
    return Word(norm, norm, start, end, 0.9)


def names(words: list[Word]) -> dict[str, float]:
    (found,) = model_warnings(scorer().model, None, sample()[:1], [words])
    return {warning.name: warning.figure for warning in found}


def test_words_that_were_never_heard() -> None:
    assert names([word("the", 0, 0.2), word("xqzzv", 0.2, 0.8), word("vvrkx", 0.8, 1.4)]) == {"words": 0.667}
    assert names([word("the", 0, 0.2), word("day", 0.2, 0.5), word("vvrkx", 0.5, 1.1)]) == {}
    assert names([]) == {}


def test_speed() -> None:
    sentence = ["the", "train", "never", "came"]
    for seconds, expected in ((0.35, {}), (0.05, {"speed": 85.0}), (2.0, {"speed": 2.1})):
        assert names([word(norm, at * 3.0, at * 3.0 + seconds) for at, norm in enumerate(sentence)]) == expected
    assert names([word("a", 1.0, 1.0)]) == {}


def test_scores_and_the_sample() -> None:
    """Synthetic speech is unlike people's in some utterances, never in as many as strange scores are."""
    told = scorer()(sample())
    unusual = [any(warning.name == "scores" for warning in each.warnings) for each in told]
    assert all(unusual[::4])
    usual = scorer()(scorer().networks(wt.read(SAMPLE / "eval.jsonl.gz")))
    assert not any(warning.name in ("words", "speed") for each in usual for warning in each.warnings)


@settings(max_examples=15)
@given(st.permutations(range(24)), st.integers(1, 24))
def test_neighbours_change_neither_confidences_nor_warnings(order: list[int], size: int) -> None:
    whole = together()
    picked = concatenate([sample()[at : at + 1] for at in order[:size]])
    for each in scorer()(picked, alternatives=2):
        assert each.warnings == whole[each.utt].warnings
        assert [one.norm for one in each.words] == [one.norm for one in whole[each.utt].words]
        shown, expected = ([one.confidence for one in said.words] for said in (each, whole[each.utt]))
        assert shown == pytest.approx(expected, abs=1e-6)
