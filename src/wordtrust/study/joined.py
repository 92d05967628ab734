"""All recognizers joined: how good their words are, and how much is known of the words of each one's 1-best."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ..combination.joint import Decoded
from ..combination.system_output import SystemOutput, SystemOutputs
from ..evaluation.evaluate import METRICS
from ..evaluation.metrics import Scores, SpeakerErrors, compare, intervals
from ..lattices.paths import Paths
from ..networks.align import align_numbers
from ..networks.build_store import REFERENCE, SPEAKER
from ..networks.labels import Spoken, score_paths
from ..report.curves import reliability


def joint_record(decoded: Decoded, alone: SystemOutputs) -> dict[str, Any]:
    """Errors and confidences of the joint output, and its confidences in what recognizers print themselves.

    `alone` are the outputs of the recognizers with their own models: the best of them is what has to be beaten.
    """
    words, errors = _judged(decoded, decoded.paths)
    drawn, tested = intervals(errors)["wer"], compare(errors, _best_member(alone))["wer"]
    return {
        "members": list(decoded.names),
        "errors": errors.total.to_dict(),
        "interval": [drawn.low, drawn.high],
        "against_best_member": {"value": tested.value, "low": tested.low, "high": tested.high, "p": tested.p},
        "output": _measures(words),
        "one_best": {name: _measures(_judged(decoded, decoded.printed(name))[0]) for name in decoded.names},
        "reliability": [asdict(each) for each in reliability(words)],
    }


def _best_member(alone: SystemOutputs) -> SpeakerErrors:
    best = alone.outputs[int(alone.errors.sum(axis=1).argmin())]
    found = align_numbers(alone.spoken, alone.spoken_offsets, best.word, best.offsets, unknown=alone.unknown)
    return SpeakerErrors.of(found, list(alone.speakers))


def _judged(decoded: Decoded, paths: Paths) -> tuple[Scores, SpeakerErrors]:
    """The words of paths through the joint network, with their confidences as people see them."""
    lattices = decoded.lattices
    spoken = Spoken.of([note.split() for note in lattices.notes[REFERENCE]], lattices)
    found, speakers = score_paths(lattices, paths, spoken).alignments, list(lattices.notes[SPEAKER])
    sure = SystemOutput.of(lattices, decoded.confidence, paths).confidence
    assert sure is not None
    return Scores.of(sure, found.correct, speakers, found.offsets), SpeakerErrors.of(found, speakers)


def _measures(scores: Scores) -> dict[str, float]:
    measured = scores.metrics().to_dict()
    return {name: measured[name] for name in METRICS if name in measured}
