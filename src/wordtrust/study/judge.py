"""One recognizer on the test split: what `wordtrust evaluate` gives, with intervals, paired tests and baselines."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ..confidence.calibrate_model import arc_confidences
from ..confidence.word_scorer import WordScorer, load
from ..evaluation.evaluate import ArcConfidence, Evaluation, evaluate
from ..evaluation.metrics import Difference, Interval, Scores, compare, errors_caught, intervals, operating_point
from ..formats import stream
from ..lattices.lattice import Lattices
from ..report.curves import reliability
from .baselines import NAME as BASELINES
from .baselines import PACKED, Baselines

PRECISION = 0.98
_REPLICATES, _DRAWN = (200, 1000), 100_000_000  # at least and at most; arcs drawn for one comparison
_ERROR_RIVALS = ("one_best", "tuned_one_best", "tuned_mbr")
_SCORE_RIVALS = ("posterior", "calibrated_posterior", "logistic", "confidence")
_MEASURES = ("eer", "nce")


def judge_recognizer(model: Path, store: str) -> dict[str, Any]:
    """Everything about one recognizer that study.json holds."""
    scorer = load(model)
    found = evaluate(stream(store), partial(_judged, scorer, _baselines(model)), scorer.choice.paths)
    record = found.to_dict()
    record["speakers"] = len(found.errors["one_best"].speakers)
    record["errors"] = {way: each.total.to_dict() for way, each in found.errors.items()}
    record["intervals"] = _intervals(found)
    record["differences"] = _differences(found)
    record["model"] = {"choice": asdict(scorer.choice), "calibrated_on_test": _seen(scorer, found)}
    output = found.scores.get(("output", "calibrated"))
    if output is not None and len(output):
        point = operating_point(output, PRECISION)
        record["reliability"] = [asdict(each) for each in reliability(output)]
        record["errors_caught"] = errors_caught(output)
        record["operating_point"] = None if point is None else asdict(point)
    return record


def _baselines(model: Path) -> Baselines | None:
    found = next((model / name for name in (BASELINES, PACKED) if (model / name).is_file()), None)
    return Baselines.load(found) if found else None


def _judged(scorer: WordScorer, baselines: Baselines | None, networks: Lattices) -> dict[str, ArcConfidence]:
    """Posteriors, baselines and the model; words are chosen by the last one."""
    own = arc_confidences(scorer, networks)
    return own if baselines is None else baselines.judge(networks) | own


def _seen(scorer: WordScorer, found: Evaluation) -> int:
    """Speakers of this split that the calibration was fitted on: figures look too good then."""
    return scorer.calibrated_on(found.errors["one_best"].speakers)


def _intervals(found: Evaluation) -> dict[str, Any]:
    made: dict[str, Any] = {"wer": {way: _range(intervals(each)["wer"]) for way, each in found.errors.items()}}
    for (population, kind), scores in found.scores.items():
        if population in ("arcs", "one_best", "output"):
            drawn = intervals(scores, replicates=_replicates(scores))
            made.setdefault(population, {})[kind] = {name: _range(drawn[name]) for name in _MEASURES}
    return made


def _differences(found: Evaluation) -> dict[str, Any]:
    """The model less each rival, by measure: below 0 is better for errors, above 0 for NCE."""
    best = found.errors["best_confidence"]
    rivals = {way: compare(best, found.errors[way])["wer"] for way in _ERROR_RIVALS if way in found.errors}
    made: dict[str, Any] = {"wer": {way: _tested(each) for way, each in rivals.items()}}
    for population in ("arcs", "one_best"):
        own = found.scores.get((population, "calibrated"))
        if own is None:
            continue
        made[population] = {}
        for kind in _SCORE_RIVALS:
            if (population, kind) in found.scores:
                tested = compare(own, found.scores[population, kind], replicates=_replicates(own))
                made[population][kind] = {name: _tested(tested[name]) for name in _MEASURES}
    return made


def _replicates(scores: Scores) -> int:
    fewest, most = _REPLICATES
    return min(most, max(fewest, _DRAWN // max(1, len(scores))))


def _range(found: Interval) -> list[float] | None:
    return None if found.low is None or found.high is None else [found.low, found.high]


def _tested(found: Difference) -> dict[str, Any]:
    return {"value": found.value, "low": found.low, "high": found.high, "p": found.p}
