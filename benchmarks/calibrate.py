"""How fast ten million words are calibrated on one core, against the kernel sum written out.

The sum costs words times words, so it is timed on a small sample and scaled. All seconds are of one core: what all
threads took together. Run with `python -m benchmarks calibrate`.
"""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import best_cpu
from wordtrust.confidence.calibration import KernelCalibrator, make, names

WORDS = 10_000_000
DIRECT = 5_000  # words of the sum written out, fitted and applied

Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]


def _words(size: int, at_one: float) -> tuple[Reals, Flags]:
    """Overconfident words, a share of them certain of themselves."""
    random = np.random.default_rng(0)
    logits = random.normal(2.0, 2.0, size)
    correct = random.random(size) < 1 / (1 + np.exp(-0.6 * logits))
    score = 1 / (1 + np.exp(-logits))
    score[random.random(size) < at_one] = 1
    return score, correct


def _direct(score: Reals, correct: Flags, width: float) -> Reals:
    """The paper's formula, a row of kernels for each word."""
    logits = np.log(score) - np.log1p(-score)
    found = np.empty(len(logits))
    for word, logit in enumerate(logits):
        tail = np.exp(-np.abs(width * (logits - logit)))
        kernel = tail / np.square(1 + tail)
        found[word] = kernel[correct].sum() / kernel.sum()
    return found


def _exact() -> None:
    score, correct = _words(DIRECT, 0)
    seconds = best_cpu(lambda: _direct(score, correct, 1.8))
    worst = np.abs(KernelCalibrator(1.8, 0).fit(score, correct).predict(score) - _direct(score, correct, 1.8)).max()
    score, correct = _words(WORDS, 0)
    calibrator = KernelCalibrator(1.8, 0)
    fit, apply = best_cpu(lambda: calibrator.fit(score, correct)), best_cpu(lambda: calibrator.predict(score))
    scaled = seconds * (WORDS / DIRECT) ** 2
    print(
        f"kernel sum of {WORDS:,} words at {WORDS:,} places: fit {fit:.2f} s, apply {apply:.2f} s; written out "
        f"{seconds:.2f} s for {DIRECT:,}, so {scaled / 86400:.0f} days: {scaled / (fit + apply):,.0f} times faster, "
        f"off by {worst:.0e} at most"
    )


def _all(at_one: float) -> None:
    score, correct = _words(WORDS, at_one)
    for name in names():
        calibrator = make(name)
        fit, apply = best_cpu(lambda: calibrator.fit(score, correct)), best_cpu(lambda: calibrator.predict(score))  # noqa: B023
        size = len(json.dumps(calibrator.to_dict())) / 1000
        print(f"{name}, {at_one:.0%} of the scores 1: fit {fit:.2f} s, apply {apply:.2f} s, {size:.1f} kB")


def run() -> None:
    """Print seconds for ten million words, for the paper's form and for every calibrator as it comes."""
    for name in names():
        make(name).fit([0.2, 0.7], [0, 1]).predict([0.5])  # compiles the kernels
    _exact()
    for at_one in (0.0, 0.78):
        _all(at_one)


if __name__ == "__main__":
    run()
