"""What a confidence is worth on a development set: how well it tells right from wrong, and the words it chooses.

A threshold that is chosen on the words it is measured on looks too good. So each half of the speakers gets the one
that makes the fewest errors on the other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from wordtrust.base.folds import speaker_id
from wordtrust.confidence.choice import Choice
from wordtrust.evaluation.evaluate import ArcConfidence, Evaluation, evaluate_batch
from wordtrust.evaluation.metrics import SpeakerErrors
from wordtrust.lattices.lattice import Floats, Lattices
from wordtrust.networks.build_store import SPEAKER, noted_references
from wordtrust.networks.labels import score_paths

POPULATIONS = ("arcs", "arcs_paper", "one_best")


def measure(confidence: Callable[[Lattices], Floats], batches: Iterable[Lattices]) -> dict[str, Any]:
    """`eer` and `nce` of arcs (by both rules for labels) and of 1-best words, and `wer` of every way to choose words.

    `wer` has the recognizer's own `one_best`, `mean`, `mean-silence`, `gain`, `chosen` (the best of these three) and
    the network's `oracle`; the threshold of `gain` and the way of `chosen` come from the other half of the speakers.
    """
    found, errors = Evaluation(), {way: SpeakerErrors() for way in Choice.all()}
    for networks in batches:
        scores = confidence(networks)
        found += evaluate_batch(networks, lambda _, scores=scores: {"confidence": ArcConfidence(scores)})  # type: ignore[misc]
        spoken = noted_references(networks)
        for way in errors:
            aligned = score_paths(networks, way.paths(networks, scores), spoken).alignments
            errors[way] += SpeakerErrors.of(aligned, networks.notes[SPEAKER])
    measured: dict[str, Any] = {}
    for population in POPULATIONS:
        metrics = found.scores[population, "confidence"].metrics()
        measured[population] = {"eer": metrics.eer, "nce": metrics.nce}
    rates = {name: found.errors[name].total.wer for name in ("one_best", "oracle")}
    return measured | {"wer": {"one_best": rates["one_best"], **ways(errors), "oracle": rates["oracle"]}}


def ways(errors: dict[Choice, SpeakerErrors]) -> dict[str, float]:
    """The word error rate of each criterion, nothing chosen on what it is measured on."""
    words = next(iter(errors.values())).total.reference_words
    kinds = {name: [way for way in errors if way.criterion == name] for name in ("mean", "mean-silence", "gain")}
    kinds["chosen"] = list(errors)
    return {name: crossed([errors[way] for way in tried]) / max(words, 1) for name, tried in kinds.items()}


def crossed(tried: list[SpeakerErrors]) -> int:
    """The errors of both halves of the speakers, each with what makes the fewest on the other; ties to the first."""
    half = np.array([is_in_first_half(name) for name in tried[0].speakers], np.bool_)
    first, second = (np.array([each.counts[part, 1:].sum() for each in tried]) for part in (half, ~half))
    return int(first[second.argmin()] + second[first.argmin()])


def is_in_first_half(speaker: str) -> bool:
    """Which half of the speakers one belongs to, whoever else there is."""
    return bool(speaker_id(speaker) >> 8 & 1)
