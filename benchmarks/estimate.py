"""What estimating the errors of an output costs, as a share of reading and scoring it, and of scoring alone.

    python -m benchmarks.estimate [MODEL ...]

Models are those that come with wordtrust, or folders that are named after their recognizer. One thread, seconds of
the processor, the best of some rounds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import wordtrust as wt
from benchmarks.timing import SHARED, best_cpu
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.transcripts.transcript import Transcripts

NAMES = ("kaldi-small-2020", "moonshine-tiny", "whisper-base")
_ROUNDS = 30  # of what takes milliseconds


def estimate_all(heard: Transcripts, scorer: WordScorer) -> int:
    """Errors, rates and intervals of all utterances, all speakers (in columns) and the corpus."""
    estimates = wt.estimate(heard, scorer)
    return len(estimates.utterances) + len(estimates.speakers) + estimates.corpus.words


def list_all(heard: Transcripts, scorer: WordScorer) -> int:
    """The same, and an object for each, as whoever walks over all of them has it; texts are made when asked for."""
    estimates = wt.estimate(heard, scorer)
    return len([*estimates.utterances, *estimates.speakers, estimates.corpus, *estimates.spoken])


def measure(model: str) -> None:
    """Print seconds and share for one recognizer."""
    file = next(SHARED.glob(f"{Path(model).name}/dev.*"), None)
    if file is None:
        print(f"{model}: no outputs in {SHARED}")
        return
    lattices, scorer = wt.read(file), wt.load(model, threads=1)
    heard = scorer(lattices)
    estimate_all(heard, scorer)
    reading, scoring = best_cpu(lambda: wt.read(file)), best_cpu(lambda: scorer(lattices))
    estimating = best_cpu(lambda: estimate_all(heard, scorer), _ROUNDS)
    listing = best_cpu(lambda: list_all(heard, scorer), _ROUNDS)
    intervals = "with" if wt.estimate(heard, scorer).corpus.interval else "without"
    print(
        f"{Path(model).name}: {len(heard):,} utterances, reading {reading:.2f} s, scoring {scoring:.2f} s, "
        f"estimating errors ({intervals} intervals) {1000 * estimating:.1f} ms, "
        f"{estimating / (reading + scoring):.1%} of both, {estimating / scoring:.1%} of scoring; "
        f"with an object for each {1000 * listing:.1f} ms, {listing / (reading + scoring):.1%} of both, "
        f"{listing / scoring:.1%} of scoring"
    )


def run() -> None:
    """Measure some recognizers."""
    for name in NAMES:
        measure(name)


if __name__ == "__main__":
    for given in sys.argv[1:] or NAMES:
        measure(given)
