"""How fast words are aligned, against jiwer in the same run, and how long measures of ten million scores take.

Run with `python -m benchmarks.metrics`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import jiwer
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from benchmarks.synthetic import words
from benchmarks.timing import best
from benchmarks.timing import seconds as seconds_of
from wordtrust.evaluation.metrics import Scores, compare, intervals
from wordtrust.networks.align import align_all, align_ids

UTTERANCES, LENGTH, VOCABULARY, WER = 100_000, 10, 10_000, 0.15
LONG = (2_000, 4_000, 8_000, 16_000)  # words: the last is an hour and a half of speech
SCORES, SPEAKERS = 10_000_000, 1_000
RESAMPLED = 10_000  # words, of 250 speakers

Numbers = NDArray[np.int32]


def _corpus(random: np.random.Generator, size: int) -> tuple[Numbers, Numbers]:
    """Reference words and what a recognizer makes of them."""
    reference = random.integers(0, VOCABULARY, size, np.int32)
    wrong = random.random(size) < WER
    return reference, np.where(wrong, random.integers(0, VOCABULARY, size, np.int32), reference)


def _population(random: np.random.Generator, size: int, speakers: int, at_one: float = 0.0) -> Scores:
    """Words, 85% of them right, and a share of them with a score of exactly 1."""
    correct = random.random(size) < 1 - WER
    score = 1 / (1 + np.exp(-random.normal(2.0 * correct, 1.0).astype(np.float32)))
    score[random.random(size) < at_one] = 1
    speaker = random.integers(0, speakers, size, np.int32)
    return Scores(score, correct, speaker, tuple(f"speaker {number:04d}" for number in range(speakers)))


def _alignments(random: np.random.Generator) -> None:
    reference, hypothesis = _corpus(random, UTTERANCES * LENGTH)
    offsets = np.arange(UTTERANCES + 1) * LENGTH
    strings = words(VOCABULARY)
    said, heard = (
        [[strings[number] for number in row] for row in each.reshape(-1, LENGTH)] for each in (reference, hypothesis)
    )
    said_text, heard_text = ([" ".join(row) for row in each] for each in (said, heard))
    numbers = list(zip(reference.reshape(-1, LENGTH).tolist(), hypothesis.reshape(-1, LENGTH).tolist(), strict=True))
    align_ids(reference, offsets, hypothesis, offsets)  # compiles the kernels
    taken = best(
        lambda: align_ids(reference, offsets, hypothesis, offsets),
        lambda: [Levenshtein.editops(*pair) for pair in numbers],
        lambda: align_all(said, heard),
        lambda: jiwer.process_words(said_text, heard_text),
    )
    by_number, rapidfuzz, by_word, by_jiwer = taken
    print(
        f"alignments of {LENGTH} words: {UTTERANCES / by_number:,.0f}/s from numbers (rapidfuzz editops "
        f"{UTTERANCES / rapidfuzz:,.0f}/s), {UTTERANCES / by_word:,.0f}/s from words; jiwer "
        f"{UTTERANCES / by_jiwer:,.0f}/s: {by_jiwer / by_word:.1f} times faster from words, "
        f"{by_jiwer / by_number:.0f} times from numbers"
    )


def _long_alignments(random: np.random.Generator) -> None:
    shown = []
    for length in LONG:
        reference, hypothesis = _corpus(random, length)
        ends = np.array([0, length])
        seconds = seconds_of(partial(align_ids, reference, ends, hypothesis, ends))
        shown.append(f"{length:,} words {seconds:.2f} s")
    print(f"one long alignment: {', '.join(shown)}")


def _measure_anew(scores: Scores) -> None:
    replace(scores).metrics()  # a copy has to sort again


def _metrics(random: np.random.Generator) -> None:
    for at_one in (0.0, 0.78):
        scores = _population(random, SCORES, SPEAKERS, at_one)
        seconds = best(partial(_measure_anew, scores))[0]
        print(f"all measures of {SCORES:,} scores ({at_one:.0%} of them 1): {seconds:.2f} s")


def _intervals(random: np.random.Generator) -> None:
    first, second = (_population(random, RESAMPLED, 250) for _ in range(2))
    taken = best(lambda: intervals(first), lambda: compare(first, second))
    print(f"1,000 replicates of {RESAMPLED:,} words: intervals {taken[0]:.2f} s, paired test {taken[1]:.2f} s")


def run() -> None:
    """Print alignments a second beside jiwer's, and the seconds that measures and intervals take."""
    random = np.random.default_rng(0)
    _population(random, 100, 2).metrics()  # compiles the kernels
    _alignments(random)
    _long_alignments(random)
    _metrics(random)
    _intervals(random)


if __name__ == "__main__":
    run()
