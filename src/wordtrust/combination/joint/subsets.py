"""Joint combination of many subsets at once: what a study needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from ...lattices.lattice import Ints, Lattices, concatenate
from .measure import path_errors
from .model import JointModel
from .union import JointHypotheses


def matched(hypotheses: Sequence[Lattices]) -> list[Lattices]:
    """The utterances that all recognizers have, in the order of the first."""
    shared = set(hypotheses[0].utts).intersection(*(each.utts for each in hypotheses[1:]))
    wanted = [utt for utt in hypotheses[0].utts if utt in shared]
    return [_ordered(each, wanted) for each in hypotheses]


def _ordered(lattices: Lattices, utts: Sequence[str]) -> Lattices:
    if list(lattices.utts) == list(utts):
        return lattices
    row = {utt: place for place, utt in enumerate(lattices.utts)}
    return concatenate(lattices[row[utt] : row[utt] + 1] for utt in utts)


def joint_errors(
    model: JointModel, systems: JointHypotheses, names: Sequence[str], subsets: Sequence[Sequence[int]], *,
    jobs: int = 1, tell: Callable[[int], None] | None = None,
) -> Ints:  # fmt: skip
    """[subsets, utterances] word errors of the joint output.

    Subsets are numbers of `names`, which are those of `systems`; `tell` hears how many are done.
    """
    errors = np.empty((len(subsets), len(systems)), np.int32)
    model = replace(model, trusts=())  # words alone are counted, and trust takes as long as they do
    with ThreadPoolExecutor(jobs) as pool:
        for row, found in enumerate(pool.map(lambda subset: _errors(model, systems, names, subset), subsets)):
            errors[row] = found
            if tell:
                tell(row + 1)
    return errors


def _errors(model: JointModel, systems: JointHypotheses, names: Sequence[str], subset: Sequence[int]) -> Ints:
    parts = model.decode_parts(systems.order(subset), [names[number] for number in subset])
    return np.concatenate([path_errors(each.lattices, each.paths) for each in parts])
