"""What recognizers say about the gaps of a joint output, where words may be missing: inputs of the gap model.

Of each recognizer: its words that would stand in the gap and are not there (rivals, and those of them that fit in as
a whole, `networks.gaps`), by confidence, in its output and in its 1-best; how many words it has around the gap beyond
the two beside it; and how likely words are missing there in its own output, by its own model.

Of all together: what the head of a single recognizer sees (`confidence.gap_inputs`), with the shares and chances of
the joint network in place of those of a model, and means and maxima over recognizers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...base.jit import compiled
from ...confidence.gap_head import fixed_gap_inputs, near_sums
from ...confidence.gap_inputs import FIXED, LEAST_MASS, MASS, MOST_WORDS, OF_MODEL, model_inputs
from ...lattices.lattice import Flags, Floats, Ints, Offsets, Times
from ...lattices.weights import Reals
from ...networks.gaps import Gaps
from .arc_models import Matrix
from .union import JointLattice

# The names of the inputs are part of the model file.
PER_SYSTEM = (
    "there", "rival", "inside", "rival_words", "inside_words", "one_best_words", "excess", "missing", "missing_known",
)  # fmt: skip
SHARED = (
    "one", *FIXED, *OF_MODEL, "mean_rival", "largest_rival", "mean_inside", "largest_inside", "rival_votes",
    "inside_votes", "mean_excess", "mean_missing", "largest_missing",
)  # fmt: skip
_MOST_IN_GAP = 2.0  # words of one recognizer that count


class GapEvidence(NamedTuple):
    """[gaps, recognizers] each: sums over a recognizer's words near the gap."""

    rival: Floats  # confidence of words that would stand in the gap
    inside: Floats  # confidence of those that fit between the two words beside it
    rival_words: Floats  # how many of the first kind its output has
    inside_words: Floats  # and of the second
    one_best_words: Floats  # rivals in its 1-best
    output_words: Floats  # words of its output near the gap, those beside it among them
    missing: Floats  # the largest chance that words are missing there in its output; 0: not known


def gap_evidence(union: JointLattice, gaps: Gaps) -> GapEvidence:
    """Gather what every recognizer says about every gap."""
    lattices, shape = union.lattices, (len(gaps), union.confidence.shape[1])
    start, end = lattices.start_time, lattices.end_time
    middle = np.append((start + end) / 2, 0.0)  # arcs are -1 where there is no word
    gathered = GapEvidence(*(np.zeros(shape, np.float32) for _ in GapEvidence._fields))
    _gather(
        gaps.near_offsets, gaps.near, gaps.is_rival, gaps.is_inside, start, end,
        np.where(gaps.before >= 0, middle[gaps.before], -np.inf),
        np.where(gaps.after >= 0, middle[gaps.after], np.inf), union.confidence, union.in_output, union.in_one_best,
        union.missing_before, union.missing_after, gathered,
    )  # fmt: skip
    return gathered


@compiled
def _gather(near_offsets: Offsets, near: Ints, is_rival: Flags, is_inside: Flags, start: Times, end: Times,
            lower: Times, upper: Times, confidence: Floats, in_output: Flags, in_one_best: Flags,
            missing_before: Floats, missing_after: Floats, out: GapEvidence) -> None:  # fmt: skip
    """`lower` and `upper` are the middles of the words beside each gap: gaps of outputs between them are meant."""
    for gap in range(len(near_offsets) - 1):
        for index in range(near_offsets[gap], near_offsets[gap + 1]):
            arc = near[index]
            begins = lower[gap] <= start[arc] <= upper[gap]
            ends = lower[gap] <= end[arc] <= upper[gap]
            for system in range(confidence.shape[1]):
                value, said = confidence[arc, system], in_output[arc, system]
                if is_rival[index]:
                    out.rival[gap, system] += value
                    out.rival_words[gap, system] += said
                    out.one_best_words[gap, system] += in_one_best[arc, system]
                if is_inside[index]:
                    out.inside[gap, system] += value
                    out.inside_words[gap, system] += said
                out.output_words[gap, system] += said
                if begins:
                    out.missing[gap, system] = max(out.missing[gap, system], missing_before[arc, system])
                if ends:
                    out.missing[gap, system] = max(out.missing[gap, system], missing_after[arc, system])


def gap_inputs(union: JointLattice, gaps: Gaps, said: GapEvidence, share: Reals, chance: Reals) -> Matrix:
    """[gaps, columns] the inputs of the gap model: `PER_SYSTEM` for each member in turn, then `SHARED`.

    `share` and `chance` are those of the joint network: of each arc in all paths, and of its word to be right.
    """
    members, per_system = said.rival.shape[1], len(PER_SYSTEM)
    table = np.empty((len(gaps), members * per_system + len(SHARED)), np.float32)
    for column, values in enumerate(_per_system(gaps, said)):
        table[:, column : members * per_system : per_system] = values
    of_model = model_inputs(gaps.before, gaps.after, near_sums(gaps, share), share, chance)
    one = np.ones((len(gaps), 1), np.float32)
    shared = (one, fixed_gap_inputs(union.lattices, gaps), of_model, _of_all(gaps, said))
    table[:, members * per_system :] = np.concatenate(shared, axis=1)
    return table


def _per_system(gaps: Gaps, said: GapEvidence) -> tuple[Floats | Flags | float, ...]:
    """[gaps, members] each: the columns of `PER_SYSTEM`."""
    known = said.missing > 0
    return (
        1.0, _logarithm(said.rival), _logarithm(said.inside), np.minimum(said.rival_words, _MOST_IN_GAP),
        np.minimum(said.inside_words, _MOST_IN_GAP), np.minimum(said.one_best_words, _MOST_IN_GAP),
        _excess(gaps, said), np.where(known, _logarithm(said.missing), 0), known,
    )  # fmt: skip


def _of_all(gaps: Gaps, said: GapEvidence) -> Floats:
    """[gaps, columns] means and maxima over the members."""
    known = said.missing > 0
    mean_missing = said.missing.sum(axis=1) / np.maximum(known.sum(axis=1), 1)
    any_known, largest = known.any(axis=1), said.missing.max(axis=1)
    columns = [
        _logarithm(said.rival.mean(axis=1)), _logarithm(said.rival.max(axis=1)),
        _logarithm(said.inside.mean(axis=1)), _logarithm(said.inside.max(axis=1)),
        (said.rival_words > 0).mean(axis=1), (said.inside_words > 0).mean(axis=1),
        _excess(gaps, said).mean(axis=1),
        np.where(any_known, _logarithm(mean_missing), 0), np.where(any_known, _logarithm(largest), 0),
    ]  # fmt: skip
    return np.stack(columns, axis=1).astype(np.float32)


def _excess(gaps: Gaps, said: GapEvidence) -> Floats:
    """How many words of an output are near the gap, beyond the two beside it."""
    beside = (gaps.before >= 0).astype(np.float32) + (gaps.after >= 0)
    excess: Floats = np.clip(said.output_words - beside[:, np.newaxis], -MOST_WORDS, MOST_WORDS)
    return excess


def _logarithm(mass: Floats) -> Floats:
    """Scaled as the head of a single recognizer has it."""
    scaled: Floats = (np.log(mass + np.float32(LEAST_MASS)) + np.float32(MASS.shift)) / np.float32(MASS.size)
    return scaled
