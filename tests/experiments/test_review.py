"""Simulated reviewers on words that are as wrong as their confidences say."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.review import Recording, Set, by_marks, course, promise_row, reviewed, saving_row, until_half
from experiments.review_words import KnownWords, joined

from wordtrust.transcripts.review.stretches import find_stretches


def made(utterances: int = 40, *, worse: float = 1.0, seed: int = 0) -> KnownWords:
    """Utterances of ten words; `worse` times as many are wrong as confidences say."""
    random = np.random.default_rng(seed)
    words = 10 * utterances
    confidence = random.beta(4, 0.5, words)
    missing = random.beta(0.2, 8, words + utterances)
    lacking = (random.random(len(missing)) < missing * worse) * random.choice([1, 1, 1, 2], len(missing))
    start = np.tile(np.arange(10) * 0.4, utterances)
    return KnownWords(
        tuple(f"u{index}" for index in range(utterances)), tuple(f"s{index // 4}" for index in range(utterances)),
        np.arange(0, words + 1, 10), start, start + 0.35, confidence, np.sqrt(confidence),
        random.random(words) < (1 - confidence) * worse, missing, lacking,
    )  # fmt: skip


def test_the_promise_is_kept_where_confidences_hold() -> None:
    outcomes = []
    for seed in range(60):
        recording = Recording.of(made(30, seed=seed), np.arange(30), {})
        outcomes.append(reviewed(recording, course(recording, find_stretches(recording.items)), 0.03))
    assert np.mean([each.kept for each in outcomes]) >= 0.93
    assert 0.1 < np.mean([each.share for each in outcomes]) < 0.9


def test_worse_recordings_take_longer() -> None:
    shares = []
    for worse in (0.5, 1.0, 2.0):
        recording = Recording.of(made(60, worse=worse), np.arange(60), {})
        shares.append(reviewed(recording, course(recording, find_stretches(recording.items)), 0.03).share)
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]


def test_a_course_hears_everything_in_the_end() -> None:
    recording = Recording.of(made(), np.random.default_rng(1).permutation(40), {"u0": 9.0})
    assert recording.seconds == pytest.approx(39 * (9 * 0.4 + 0.35) + 9)
    done = course(recording, find_stretches(recording.items))
    assert done.fixed[-1] == recording.true.sum()
    assert done.left[-1] == pytest.approx(0, abs=1e-9)
    assert done.expected[-1] == pytest.approx(recording.items.chance.sum())
    seconds, fixed = until_half(recording)
    assert fixed >= recording.true.sum() / 2
    marked_seconds, marked = by_marks(recording, 0.9)
    assert seconds < marked_seconds < 1.01 * recording.seconds
    assert fixed < marked <= recording.true.sum()
    assert by_marks(recording, 0.0) == (0.0, 0.0)


def test_rows_of_the_tables() -> None:
    both = Set(joined([made(24), made(24, seed=1)]), {})
    name, errors, plan, *_ = saving_row("r", both)
    assert name == "r"
    assert int(errors.replace(",", "")) == both.words.wrong.sum() + both.words.lacking.sum()
    assert plan.endswith("s)")
    name, wrong, *kept = promise_row("r", both, 12)
    assert wrong.endswith("%")
    assert len(kept) == 2
