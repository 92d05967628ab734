"""Whether a text is of what was heard: texts of many lengths, their own and others, excerpts, other scripts."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from wordtrust.transcription.belonging import LEAST, evidence_of_belonging
from wordtrust.transcription.read_aloud import match_texts

FREQUENCY = 1 / (np.arange(20_000) + 2.7)
UP_TO = np.cumsum(FREQUENCY / FREQUENCY.sum())
HEARD = "so we went down to the river and saw that the boat was gone".split()


def speech(words: int, rng: np.random.Generator) -> list[str]:
    """Words as frequent as those of a language."""
    return [f"w{rank}x" for rank in np.searchsorted(UP_TO, rng.random(words)).tolist()]


def misheard(words: list[str], share: float, rng: np.random.Generator) -> list[str]:
    others = speech(len(words), rng)
    return [other if rng.random() < share else word for word, other in zip(words, others, strict=True)]


def evidence(words: list[str], heard: list[str]) -> float:
    return evidence_of_belonging(match_texts(words, heard))


@pytest.mark.parametrize("heard_words", [60, 600, 6000])
@pytest.mark.parametrize("words", [25, 100, 1000])
def test_texts_of_others_are_known_and_bad_texts_of_this_speech_are_not_taken_for_them(
    words: int, heard_words: int
) -> None:
    rng = np.random.default_rng(words * heard_words)
    refused, times = 0, 20
    for _ in range(times):
        said = speech(heard_words, rng)
        heard = misheard(said, 0.15, rng)
        first = int(rng.integers(max(1, heard_words - words)))
        assert evidence(misheard(said[first : first + words], 0.35, rng), heard) >= LEAST
        refused += evidence(speech(words, rng), heard) < LEAST
    assert refused >= (0.6 if words == 25 else 1.0) * times


def test_a_few_words_tell_nothing_and_none_are_no_evidence() -> None:
    assert evidence("elephants eat apples in winter".split(), HEARD) == pytest.approx(5 * log(0.5))
    assert evidence([], HEARD) == 0
    assert 0 > evidence(["so"], []) > LEAST


def test_what_a_copy_saves_is_what_it_costs_to_write_less_the_choice_of_its_place() -> None:
    saved = 4 * log(0.5 / (1 / 14)) - log(14) + 3 * log(0.7)  # words that come once among fourteen
    assert evidence("river and saw that".split(), HEARD) == pytest.approx(saved)
    assert evidence("river and saw that elephants".split(), HEARD) == pytest.approx(saved + log(0.5))
    assert evidence(["the"], HEARD) == pytest.approx(log(0.5))  # chance finds it: not worth the choice of a place


def test_an_excerpt_of_either_side_belongs() -> None:
    rng = np.random.default_rng(5)
    said = speech(5000, rng)
    assert evidence(misheard(said[2000:2030], 0.2, rng), said) > 0
    assert evidence(misheard(said, 0.2, rng), said[2000:2500]) > 0
    assert evidence(misheard(said, 0.2, rng), speech(10, rng)) < LEAST  # not in a few seconds


def test_other_scripts_have_words_too() -> None:
    chinese = "".join(map(chr, range(0x4E00, 0x4E00 + 22)))
    assert evidence([chinese], HEARD) < LEAST
    assert evidence([chinese], [chinese[:8], chinese[8:]]) > 0
