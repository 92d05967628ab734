"""How good a joint model is on the data it was fitted on: every fold by the model that has not seen its speakers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...lattices.lattice import Ints, Lattices
from ...lattices.paths import Paths, one_best
from ...lattices.posterior import Flat
from ...networks.build_store import SPEAKER
from ...networks.labels import score_paths
from .evidence import evidence
from .examples import spoken_in
from .model import BATCH, JointModel, Members, Settings, best_words
from .union import JointHypotheses, Union
from .weigh import Weigher, inputs, marginals


def path_errors(lattices: Lattices, paths: Paths) -> Ints:
    """[utterances] word errors of paths through networks that carry their references."""
    counts = score_paths(lattices, paths, spoken_in(lattices)).alignments.counts
    errors: Ints = counts[:, 1:].sum(axis=1, dtype=np.int32)
    return errors


def own_errors(hypotheses: Lattices) -> Ints:
    """[utterances] word errors of a recognizer's own output."""
    return path_errors(hypotheses, one_best(hypotheses))


@dataclass(frozen=True, slots=True, eq=False)
class Folds:
    """The utterances of all folds, one after the other, with what each recognizer makes of them alone."""

    parts: Sequence[JointHypotheses]
    alone: Ints  # [recognizers, utterances] errors of each one's own output
    speaker: NDArray[np.int64]  # [utterances]

    @classmethod
    def of(cls, parts: Sequence[JointHypotheses]) -> Folds:
        """Count the errors of each recognizer."""
        alone = [np.stack([own_errors(each) for each in part.hypotheses]) for part in parts]
        names = [name for part in parts for name in part.hypotheses[0].notes[SPEAKER]]
        return cls(parts, np.concatenate(alone, axis=1), np.unique(names, return_inverse=True)[1])

    def errors(self, model: JointModel, members: Members, thresholds: Sequence[float]) -> Ints:
        """[thresholds, utterances] word errors of recognizers together."""
        found = []
        for part, weigher in zip(self.parts, model.weighers, strict=True):
            found += [_errors(batch.union(members), weigher, members, thresholds) for batch in part.batches(BATCH)]
        return np.concatenate(found, axis=1)

    def settings(self, model: JointModel, members: Members, least_gain: float) -> Settings:
        """What a subset gains over its best member, and whether that is sure enough."""
        best, errors = self.alone[members[0]], self.errors(model, members, [model.threshold])[0]
        gain = np.bincount(self.speaker, best - errors)
        deviation = float(np.sqrt(np.square(gain).sum()))
        alone = not gain.sum() > max(0.0, least_gain * deviation)
        return Settings(alone, int(errors.sum()), int(best.sum()), deviation)


def _errors(union: Union, weigher: Weigher, members: Members, thresholds: Sequence[float]) -> Ints:
    """[thresholds, utterances] word errors of what one weigher makes of a union."""
    x, silent = inputs(union, evidence(union)), union.lattices.word == 0
    marginal = marginals(Flat.of(union.lattices), weigher.potentials(x, silent, members))
    tried = [best_words(union, marginal, each) for each in thresholds]
    return np.stack([path_errors(union.lattices, paths) for paths in tried])
