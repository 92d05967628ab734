"""What a run of the ablations measures on dev, and the table of all runs.

A threshold that is chosen on the words it is measured on looks too good. So each half of the speakers gets the one
that makes the fewest errors on the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

import numpy as np

from wordtrust.base.folds import speaker_id
from wordtrust.base.table import Table
from wordtrust.confidence.choice import CRITERIA, Choice
from wordtrust.evaluation.evaluation import ArcConfidence, Evaluation, evaluate_batch
from wordtrust.evaluation.metrics import SpeakerErrors
from wordtrust.lattices.lattice import Floats, Lattices
from wordtrust.networks.build_store import SPEAKER, noted_references
from wordtrust.networks.labels import score_paths

POPULATIONS = ("arcs", "arcs_paper", "one_best")
# Heading, where it stands in a run, and what it is shown as: a factor and the number of digits.
COLUMNS: Sequence[tuple[str, tuple[str, str], float, int]] = (
    ("arcs EER %", ("arcs", "eer"), 100, 2),
    ("arcs NCE", ("arcs", "nce"), 1, 4),
    ("one-best labels: EER %", ("arcs_paper", "eer"), 100, 2),
    ("NCE", ("arcs_paper", "nce"), 1, 4),
    ("1-best words: EER %", ("one_best", "eer"), 100, 2),
    ("NCE", ("one_best", "nce"), 1, 4),
    ("WER %: mean", ("wer", "mean"), 100, 2),
    ("mean-silence", ("wer", "mean-silence"), 100, 2),
    ("gain", ("wer", "gain"), 100, 2),
)
NOTE = (
    "Dev, mean of the seeds and their standard deviation. Arcs of other tolerances and of posteriors that are not "
    "tuned are not the same arcs; 1-best words are the same throughout, and error rates can be compared. Thresholds "
    "of `gain` come from the other half of the speakers.\n"
)


def measure(confidence: Callable[[Lattices], Floats], batches: Iterable[Lattices]) -> dict[str, Any]:
    """`eer` and `nce` of arcs (by both rules for labels) and of 1-best words, and `wer` of every way to choose words.

    `wer` has the recognizer's own `one_best`, `mean`, `mean-silence`, `gain`, `chosen` (the best of these three) and
    the network's `oracle`; the threshold of `gain` and the way of `chosen` come from the other half of the speakers.
    """
    evaluation, errors = Evaluation(), {choice: SpeakerErrors() for choice in Choice.all()}
    for networks in batches:
        scores = confidence(networks)
        evaluation += evaluate_batch(networks, lambda _, scores=scores: {"confidence": ArcConfidence(scores)})  # type: ignore[misc]
        spoken = noted_references(networks)
        for choice in errors:
            aligned = score_paths(networks, choice.paths(networks, scores), spoken).alignments
            errors[choice] += SpeakerErrors.of(aligned, networks.notes[SPEAKER])
    measured: dict[str, Any] = {}
    for population in POPULATIONS:
        metrics = evaluation.scores[population, "confidence"].metrics()
        measured[population] = {"eer": metrics.eer, "nce": metrics.nce}
    rates = {name: evaluation.errors[name].total.wer for name in ("one_best", "oracle")}
    return measured | {"wer": {"one_best": rates["one_best"], **error_rates(errors), "oracle": rates["oracle"]}}


def error_rates(errors: dict[Choice, SpeakerErrors]) -> dict[str, float]:
    """The word error rate of each criterion, nothing chosen on what it is measured on."""
    words = next(iter(errors.values())).total.reference_words
    tried = {name: [choice for choice in errors if choice.criterion == name] for name in CRITERIA}
    tried["chosen"] = list(errors)
    return {name: crossed([errors[choice] for choice in some]) / max(words, 1) for name, some in tried.items()}


def crossed(tried: list[SpeakerErrors]) -> int:
    """The errors of both halves of the speakers, each with what makes the fewest on the other; ties to the first."""
    half = np.array([is_in_first_half(name) for name in tried[0].speakers], np.bool_)
    first, second = (np.array([errors.counts[part, 1:].sum() for errors in tried]) for part in (half, ~half))
    return int(first[second.argmin()] + second[first.argmin()])


def is_in_first_half(speaker: str) -> bool:
    """Which half of the speakers one belongs to, whoever else there is."""
    return bool(speaker_id(speaker) >> 8 & 1)


def runs_markdown(runs: Sequence[Mapping[str, Any]], title: str = "Ablations") -> str:
    """A table for each recognizer, variants in the order of their first run."""
    parts = [f"# {title}\n", NOTE]
    for recognizer in dict.fromkeys(str(run["recognizer"]) for run in runs):
        parts.append(_recognizer_table(recognizer, [run for run in runs if run["recognizer"] == recognizer]))
    return "\n".join(parts)


def _recognizer_table(recognizer: str, runs: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for variant in dict.fromkeys(str(run["variant"]) for run in runs):
        own = [run for run in runs if run["variant"] == variant]
        cells = [
            _mean_cell([_value(run, *keys) for run in own], factor, digits) for _, keys, factor, digits in COLUMNS
        ]
        rows.append((variant, str(len(own)), *cells))
    return Table(recognizer, ("variant", "seeds", *(heading for heading, *_ in COLUMNS)), tuple(rows)).to_markdown()


def _value(run: Mapping[str, Any], population: str, name: str) -> float | None:
    measured = run.get(population)
    value = measured.get(name) if isinstance(measured, Mapping) else None
    return float(value) if isinstance(value, int | float) else None


def _mean_cell(values: Sequence[float | None], factor: float, digits: int) -> str:
    known = [factor * value for value in values if value is not None]
    if not known:
        return ""
    mean = f"{fmean(known):.{digits}f}"
    return mean if len(known) < 2 else f"{mean} ± {stdev(known):.{digits}f}"
