"""Fitting the model that checks transcripts, on made-up recognizers: who is left out is as if it had never been."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import experiments.check
import numpy as np
import pytest
import tools.check_model as tested
from tools.check_data import BARE, REFERENCES, CheckedTranscript, Recognizer, all_transcripts, changed_words
from tools.check_model import draw_listeners, error_rates, fit, tables

import wordtrust as wt
from wordtrust.combination.check import CheckModel
from wordtrust.combination.check.columns import WORD_COLUMNS
from wordtrust.lattices.paths import one_best
from wordtrust.networks.build_store import REFERENCE, SPEAKER
from wordtrust.networks.hwcn import build
from wordtrust.networks.word_confidence import word_confidence

SPY = "whisper-small"  # hears all as it was said; it also comes as its 1-best alone
ERRORS = {"a": 0.3, "b": 0.15, SPY: 0.0}
TRAIN = 30  # utterances
WORDS = "so we went down to the river and saw that boat was gone for good".split()


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tested, "TREES", {"words": (5, 3, 0.3), "gaps": (3, 2, 0.3)})
    monkeypatch.setattr(tested, "LEAST_IN_LEAF", 10)


def recognizers(names: Sequence[str], utterances: int, seed: int) -> list[Recognizer]:
    rng = np.random.default_rng(seed)
    said = [rng.choice(WORDS, 6).tolist() for _ in range(utterances)]
    return [_recognizer(name, said, np.random.default_rng([seed, len(name)])) for name in names]


def _recognizer(name: str, said: list[list[str]], rng: np.random.Generator) -> Recognizer:
    """Two hypotheses each, of which the first has some errors."""
    heard = [[w if rng.random() >= ERRORS[name] else str(rng.choice(WORDS)) for w in words] for words in said]
    lists = {
        f"u{index:03}": [{"score": -1.0, "text": " ".join(one)}, {"score": -2.0, "text": " ".join(one[::-1])}]
        for index, one in enumerate(heard)
    }
    speakers = tuple(f"s{index % 20}" for index in range(len(said)))
    notes = {REFERENCE: tuple(map(" ".join, said)), SPEAKER: speakers}
    networks = replace(build(wt.from_nbest(lists)).lattices, notes=notes)
    assert networks.posterior is not None
    words = one_best(networks)
    shown = word_confidence(networks, networks.posterior, words.without_silence(networks)).astype(np.float32)
    return Recognizer(name, networks, networks.posterior, words, shown)


@cache
def data(*names: str) -> tuple[list[CheckedTranscript], list[CheckedTranscript], dict[str, float]]:
    train, held_out = recognizers(names, TRAIN, 1), recognizers(names, 10, 2)
    rates = error_rates(train)
    return list(all_transcripts(train, rates)), list(all_transcripts(held_out, rates)), rates


def content(model: CheckModel) -> dict[str, Any]:
    parts = {"words": model.words, "gaps": model.gaps}
    trees = {part: {name: v.tolist() for name, v in one.trees.arrays().items()} for part, one in parts.items()}
    calibrators = {part: one.calibrator.to_dict() for part, one in parts.items()}
    return {"trees": trees, "calibrators": calibrators, "weights": model.score_weights.tolist(),
            "rates": dict(model.error_rates)}  # fmt: skip


@pytest.mark.slow
def test_who_is_left_out_is_neither_an_author_nor_a_listener(monkeypatch: pytest.MonkeyPatch) -> None:
    with_spy, without = data(*ERRORS), data(*(name for name in ERRORS if name != SPY))
    assert any(SPY + BARE in transcript.heard for transcript in with_spy[0])
    left_out = content(fit(*with_spy, left_out=SPY))
    assert left_out == content(fit(*without))
    assert left_out != content(fit(*with_spy))


def test_experiments_leave_out_whoever_wrote_the_transcript(monkeypatch: pytest.MonkeyPatch) -> None:
    train, held_out, rates = data(*ERRORS)
    asked: list[str | None] = []

    def fit_nothing(*_: object, left_out: str | None = None, **__: object) -> None:
        asked.append(left_out)

    monkeypatch.setattr(experiments.check, "fit", fit_nothing)
    monkeypatch.setattr(experiments.check, "of_transcript", lambda *_: {})
    tests = [one for one in held_out if one.scores]
    found = [whose for whose, _ in experiments.check.run(train, held_out, tests, rates, share=1.0)]
    assert found == asked == list(ERRORS)


def test_references_are_by_anybody_and_recognizers_are_known_as_such_half_of_the_time() -> None:
    train, _, _ = data("a", "b")
    column = WORD_COLUMNS.index("by_recognizer")
    typed = [one for one in train if one.whose == REFERENCES]
    assert any(one.right.all() and len(one) == TRAIN for one in typed)  # all of them, as they were said
    assert not tables(typed, None)["words"][0][:, column].any()
    known = tables([one for one in train if one.whose != REFERENCES], None, share=20.0)["words"][0][:, column]
    assert 0.3 < known.mean() < 0.7


def test_every_recognizer_listens_once() -> None:
    names = ["a", "b", SPY, SPY + BARE]
    for seed in range(50):
        drawn = draw_listeners(names, np.random.default_rng(seed))
        owners = [name.removesuffix(BARE) for name in drawn]
        assert 1 <= len(drawn) == len(set(owners))


def test_transcripts_are_labelled_and_taken_apart_as_they_are() -> None:
    train, _, rates = data("a", "b")
    assert 0.1 < rates["b"] < rates["a"] < 0.4
    one = next(transcript for transcript in train if transcript.whose == "a" and transcript.scores)
    assert (~one.right).mean() == pytest.approx(rates["a"], abs=0.05)
    rows = np.array([5, 2, 29])
    part = one.take(rows)
    offsets = one.facts.offsets
    words = np.concatenate([np.arange(offsets[row], offsets[row + 1]) for row in rows])
    assert part.texts == tuple(one.texts[row] for row in rows)
    assert part.right.tolist() == one.right[words].tolist()
    assert part.heard["b"].evidence.agrees.tolist() == one.heard["b"].evidence.agrees[words].tolist()
    assert len(part.missing) == len(words) + len(rows)


def test_changed_words_are_made_up_repeated_or_left_out() -> None:
    words, others = list("abcdef"), list("uvwxyz")
    made = {tuple(changed_words(words, others, np.random.default_rng(seed))) for seed in range(200)}
    assert tuple(words) in made
    assert any(set(text) & set(others) for text in made)
    assert any(len(text) > 12 for text in made)
    assert any(len(text) < 6 for text in made)
    assert changed_words([], others, np.random.default_rng(0)) == []
