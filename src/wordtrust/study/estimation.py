"""How good the estimates of errors are on the test split: correlation, corpus rate, coverage of intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..confidence.estimation.held_out import KnownOfOutputs
from ..confidence.estimation.speaker_intervals import LEVEL
from ..evaluation.output_words import OutputWords


def estimation_record(known: KnownOfOutputs, output: OutputWords | None) -> dict[str, Any]:
    """What study.json says about the estimates for one recognizer; nothing where the model makes none.

    `speakers` are counted as where the estimator is fitted: one whose utterances are there twice counts twice (see
    `OutputWords.occasions`); `speakers_at_once` are all that each said, copies included.
    """
    estimator = known.estimator
    if estimator is None or output is None or output.counts is None:
        return {}
    counts, expected = output.counts.astype(np.float64), estimator.expected(output)
    occasion, _ = output.occasions()
    _, speaker = np.unique(np.array(output.speakers), return_inverse=True)
    measured = {"utterances": _measured(expected.wer, counts, estimator.off(expected, LEVEL, of_utterances=True))}
    for name, group in (("speakers", occasion), ("speakers_at_once", speaker)):
        spoken, true = expected.summed(group, int(group.max()) + 1), np.zeros((group.max() + 1, 4))
        np.add.at(true, group, counts)
        measured[name] = _measured(spoken.wer, true, estimator.off(spoken, LEVEL))
    total, errors = counts[:, :3].sum(), counts[:, 1:].sum()
    estimated = expected.errors.sum() / max(1.0, float(expected.reference_words.sum()))
    corpus = {"estimated": float(estimated), "true": float(errors / max(1.0, total)), "level": LEVEL}
    if estimator.of_speakers is not None:
        scale = estimator.spread(spoken) * np.maximum(spoken.reference_words, 1.0)
        ends = estimator.of_speakers.of_groups(scale, np.zeros(len(scale), np.int64), 1, LEVEL)[0]
        corpus["low"], corpus["high"] = (float(estimated + end / spoken.reference_words.sum()) for end in ends)
    kinds = {
        name: [float(getattr(expected, name).sum()), float(counts[:, column].sum())]
        for name, column in (("substitutions", 1), ("deletions", 2), ("insertions", 3))
    }
    plain = _plain_sum(output, counts)
    return {"estimation": {"corpus": corpus, "expected_and_true": kinds, **measured, "plain_sum": plain}}


def _plain_sum(output: OutputWords, counts: Any) -> dict[str, Any]:
    """The baseline: the sum of 1 - confidence for each word of the output, and nothing else."""
    doubt = output.sums(1.0 - output.confidence)
    made = _measured(doubt / np.maximum(output.sizes, 1.0), counts, None)
    return {"corpus": float(doubt.sum() / max(1.0, float(output.sizes.sum()))), "utterances": made}


def _measured(rate: Any, counts: Any, ends: Any) -> dict[str, Any]:
    said = counts[:, :3].sum(axis=1)
    spoke = said > 0
    true = counts[spoke, 1:].sum(axis=1) / said[spoke]
    off, rate = true - rate[spoke], rate[spoke]
    made: dict[str, Any] = {"rmse": float(np.sqrt(np.mean(off**2)))}
    if len(true) > 1 and true.std() > 0 and rate.std() > 0:
        made["correlation"] = float(np.corrcoef(rate, true)[0, 1])
    if ends is not None:
        low, high = ends[spoke].T
        made["coverage"] = float(np.mean((off >= low - 1e-9) & (off <= high + 1e-9)))
    return made
