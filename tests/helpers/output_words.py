"""Outputs whose errors are drawn from what their confidences say, speaker by speaker."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from wordtrust.base.arrays import csr_offsets
from wordtrust.evaluation.output_words import OutputWords


def drawn_output(
    generator: np.random.Generator, speakers: int, *, off: float = 0.5, most_utterances: int = 6
) -> OutputWords:
    """Utterances of about ten words each; a speaker's odds of errors are off by a factor of about exp(off).

    An eighth of the wrong words are insertions; words are missing where many others are wrong.
    """
    names, sizes = list[str](), list[int]()
    for speaker in range(speakers):
        for _ in range(int(generator.integers(1, most_utterances + 1))):
            names.append(f"s{speaker:05}")
            sizes.append(int(generator.integers(3, 18)))
    offsets = csr_offsets(sizes)
    hard = np.repeat(generator.normal(1.8, 1.2, len(names)), sizes)  # utterances differ
    confidence = 1 / (1 + np.exp(-(hard + generator.normal(0.5, 1.5, int(offsets[-1])))))
    shift = {name: generator.normal(0, off) for name in sorted(set(names))}
    logit = np.log(confidence / (1 - confidence)) + np.repeat([shift[name] for name in names], sizes)
    correct = generator.random(len(confidence)) < 1 / (1 + np.exp(-logit))
    counts = np.zeros((len(names), 4), np.int32)
    for row, (first, last) in enumerate(pairwise(offsets.tolist())):
        wrong = int(np.count_nonzero(~correct[first:last]))
        inserted = int(generator.binomial(wrong, 0.125))
        doubt = float((1 - confidence[first:last]).sum())
        counts[row] = last - first - wrong, wrong - inserted, generator.poisson(0.15 * doubt), inserted
    return OutputWords(offsets, confidence, tuple(names), correct=correct, counts=counts)
