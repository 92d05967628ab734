"""How long a report of 10,000 utterances takes, and how large it gets: all populations, all four kinds of scores.

CPU seconds are those of all threads; other work on the machine stretches the others.
Run with `python -m benchmarks report`.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from wordtrust.evaluation.evaluation import Evaluation
from wordtrust.evaluation.metrics import Scores, SpeakerErrors
from wordtrust.networks.align import Alignments
from wordtrust.report import ExampleUtterance, write_report
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, Word

UTTERANCES, WORDS, ARCS, SPEAKERS = 10_000, 100_000, 1_000_000, 1_000
KINDS = ("posterior", "calibrated_posterior", "confidence", "calibrated")


def _scores(size: int, seed: int) -> Scores:
    """Words of many speakers, some of them certain."""
    random = np.random.default_rng(seed)
    logits = random.normal(2.0, 2.0, size)
    score = (1 / (1 + np.exp(-logits))).astype(np.float32)
    score[random.random(size) < 0.3] = 1
    names = tuple(f"speaker {number:04}" for number in range(SPEAKERS))
    speaker = random.integers(0, SPEAKERS, size).astype(np.int32)
    return Scores(score, random.random(size) < score, speaker, names)


def _errors(seed: int) -> SpeakerErrors:
    """Utterances of ten words with an error each, about."""
    wrong = np.random.default_rng(seed).binomial(3, (0.2, 0.07, 0.05), (UTTERANCES, 3))
    counts = np.column_stack([10 - wrong[:, 0] - wrong[:, 1], wrong]).astype(np.int32)
    aligned = Alignments(np.zeros(UTTERANCES + 1, np.int64), np.zeros(0, np.bool_), np.zeros(0, np.int32), counts)
    return SpeakerErrors.of(aligned, [f"speaker {number % SPEAKERS:04}" for number in range(UTTERANCES)])


def evaluation() -> Evaluation:
    """One that is as large as they come."""
    sizes = {"arcs": ARCS, "arcs_paper": ARCS, "one_best": WORDS, "output": WORDS}
    scores = {
        (population, kind): _scores(size, seed)
        for population, size in sizes.items()
        for seed, kind in enumerate(KINDS)
    }
    ways = ("one_best", "tuned_one_best", "tuned_mbr", "best_confidence", "oracle")
    return Evaluation(UTTERANCES, {way: _errors(seed) for seed, way in enumerate(ways)}, scores)


def _examples() -> list[ExampleUtterance]:
    others = tuple(Alternative("word", 0.1) for _ in range(5))
    words = tuple(Word("word", "word", i / 3, i / 3 + 0.3, 0.5, others) for i in range(100))
    return [
        ExampleUtterance(
            Transcript(f"utterance {number}", words), ("word",) * 100, (number % 2 == 0,) * 100, tuple(range(100))
        )
        for number in range(18)
    ]


def run() -> None:
    """Print seconds and megabytes, without and with the plots as files (the second run finds scores sorted)."""
    measured, examples = evaluation(), _examples()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        for figures in (None, Path(folder) / "figures"):
            begin, worked = time.perf_counter(), time.process_time()
            write_report(path, measured, title="A large report", examples=examples, figures=figures)
            taken, worked = time.perf_counter() - begin, time.process_time() - worked
            with_figures = "" if figures is None else f", with {len(list(figures.iterdir()))} files of plots"
            print(
                f"report of {UTTERANCES:,} utterances, {WORDS:,} words, {ARCS:,} arcs, {len(KINDS)} kinds of scores"
                f"{with_figures}: {taken:.1f} s ({worked:.1f} s CPU), {path.stat().st_size / 1e6:.2f} MB"
            )


if __name__ == "__main__":
    run()
