"""How good the words of a corpus are, and the trust put in them: error rates and metrics that add up over batches.

What is evaluated are networks with labels and references, as `wordtrust build --ref` makes them (see `networks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_offsets
from ..base.errors import InputError
from ..lattices.lattice import Floats, Lattices
from ..lattices.paths import Paths, best_confidence, one_best
from ..networks.align import align_all
from ..networks.build_store import (
    ONE_BEST_LABEL,
    ORACLE_LABEL,
    REFERENCE,
    SPEAKER,
    TUNED_MBR,
    TUNED_ONE_BEST,
    noted_references,
)
from ..networks.labels import ReferenceWords, oracle_paths, score_paths
from ..networks.word_confidence import word_confidence
from .metrics import Scores, SpeakerErrors

POPULATIONS = ("arcs", "arcs_paper", "one_best", "output")
METRICS = ("eer", "nce", "auc", "ece")  # what --json shows; reports have more


@dataclass(frozen=True)
class Evaluation:
    """Errors of each way to choose words, and scores of each population; `+` joins shards."""

    utterances: int = 0
    errors: dict[str, SpeakerErrors] = field(default_factory=dict)  # one_best, best_confidence, oracle, ...
    scores: dict[tuple[str, str], Scores] = field(default_factory=dict)  # (population, kind of score)

    def __add__(self, other: Evaluation) -> Evaluation:
        return Evaluation(
            self.utterances + other.utterances,
            _joined(self.errors, other.errors),
            _joined(self.scores, other.scores),
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what DESIGN section 9 promises to scripts."""
        words = self.errors["one_best"].total.reference_words if self.errors else 0
        found: dict[str, Any] = {"utterances": self.utterances, "words": words}
        rates = {name: errors.total.wer for name, errors in self.errors.items()}
        found["wer"] = {name: rate for name, rate in rates.items() if rate is not None}
        for (population, kind), scores in self.scores.items():
            measured = scores.metrics().to_dict()
            found.setdefault(population, {})[kind] = {name: measured[name] for name in METRICS if name in measured}
        return found


def _joined(first: dict[Any, Any], second: dict[Any, Any]) -> dict[Any, Any]:
    """What both have, added; the sum must not mix corpora of which one lacks something."""
    if not first or not second:
        return first or second
    return {name: first[name] + second[name] for name in first if name in second}


Curve = Callable[[NDArray[np.floating]], NDArray[np.floating]]


def _as_it_is(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    return scores


@dataclass(frozen=True, slots=True)
class ArcConfidence:
    """A confidence for every arc, and what becomes of it (calibration) for arcs and for words that are shown."""

    confidence: Floats
    of_arcs: Curve = _as_it_is
    of_words: Curve = _as_it_is
    shown: Floats | None = (
        None  # [arcs] what an arc is worth as a word of the output, unless its arcs together say it
    )


ArcScorer = Callable[[Lattices], Mapping[str, ArcConfidence]]  # by kind of score; words are chosen by the last one
Choose = Callable[[Lattices, Floats], Paths]


def posterior_confidence(networks: Lattices) -> dict[str, ArcConfidence]:
    """The judge that needs no model."""
    _require_references(networks)
    assert networks.posterior is not None
    return {"posterior": ArcConfidence(networks.posterior)}


def evaluate(
    batches: Iterable[Lattices], judge: ArcScorer = posterior_confidence, choose: Choose = best_confidence
) -> Evaluation:
    """Evaluate networks, with their posteriors as confidence unless another judge is given."""
    parts = [evaluate_batch(batch, judge, choose) for batch in batches]
    while len(parts) > 1:  # in pairs: adding one by one would copy everything every time
        parts = [sum(parts[start : start + 2], Evaluation()) for start in range(0, len(parts), 2)]
    return parts[0] if parts else Evaluation()


def evaluate_batch(
    networks: Lattices, judge: ArcScorer = posterior_confidence, choose: Choose = best_confidence
) -> Evaluation:
    """Evaluate one batch of networks."""
    _require_references(networks)
    judged = judge(networks)
    references = [note.split() for note in networks.notes[REFERENCE]]
    spoken, speakers = ReferenceWords.of(references, networks), list(networks.notes[SPEAKER])
    chosen = {
        "one_best": one_best(networks),
        "best_confidence": choose(networks, list(judged.values())[-1].confidence),
        "oracle": oracle_paths(networks, spoken),
    }
    scored = {name: score_paths(networks, path, spoken) for name, path in chosen.items()}
    errors = {name: SpeakerErrors.of(each.alignments, speakers) for name, each in scored.items()}
    for name, note in (("tuned_one_best", TUNED_ONE_BEST), ("tuned_mbr", TUNED_MBR)):
        if note in networks.notes:
            said = [text.split() for text in networks.notes[note]]
            errors[name] = SpeakerErrors.of(align_all(references, said), speakers)
    scores = dict(_arc_scores(networks, judged, speakers))
    for population, name in (("one_best", "one_best"), ("output", "best_confidence")):
        found = scored[name].alignments
        for kind, each in judged.items():
            shown = each.of_words(_word_scores(networks, each, scored[name].paths))
            scores[population, kind] = Scores.of(shown, found.correct, speakers, found.offsets)
    return Evaluation(len(networks), errors, scores)


def path_errors(networks: Lattices, paths: Paths) -> int:
    """How many word errors the words of these paths have."""
    _require_references(networks)
    spoken = noted_references(networks)
    return SpeakerErrors.of(
        score_paths(networks, paths, spoken).alignments, list(networks.notes[SPEAKER])
    ).total.errors


def _require_references(networks: Lattices) -> None:
    missing = [name for name in (REFERENCE, SPEAKER) if name not in networks.notes]
    if missing or ORACLE_LABEL not in networks.extra:
        raise InputError(
            "these are no networks with references",
            remedy="Make them with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )


def _arc_scores(
    networks: Lattices, judged: Mapping[str, ArcConfidence], speakers: list[str]
) -> Iterator[tuple[tuple[str, str], Scores]]:
    words = networks.word > 0
    offsets = csr_offsets(words)[networks.arc_offsets]
    for population, name in (("arcs", ORACLE_LABEL), ("arcs_paper", ONE_BEST_LABEL)):
        right = networks.extra[name][words] > 0
        for kind, each in judged.items():
            score = each.of_arcs(np.minimum(each.confidence[words], np.float32(1)))
            yield (population, kind), Scores.of(score, right, speakers, offsets)


def _word_scores(networks: Lattices, judged: ArcConfidence, paths: Paths) -> NDArray[np.float64]:
    """The shown confidence of the words of paths."""
    arcs = paths.arcs_in(networks)
    if judged.shown is None:
        shown = word_confidence(networks, judged.confidence, paths)
    else:
        shown = judged.shown[arcs].astype(np.float64)
    words: NDArray[np.float64] = shown[networks.word[arcs] > 0]
    return words
