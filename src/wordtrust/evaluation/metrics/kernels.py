"""Measures of ranking and calibration, from how many right and wrong words have each distinct score.

All arrays are in rising order of the score; words of equal score are one entry, so ties are exact and the order of
the words cannot matter. Counts are whole numbers (a speaker drawn twice counts twice). NaN stands for undefined,
inside these kernels only.
"""

from __future__ import annotations

import numpy as np

from ...base.jit import compiled
from ...lattices.lattice import Flags, Ints
from ..eer_nce import Counts, Values, equal_error_rate

ECE_BINS = 15
REVIEWED = 0.1  # share of the words, for `errors_caught`
RANK_METRICS = ("eer", "auc", "auc_pr_correct", "auc_pr_wrong", "ece", "errors_caught")


eer = compiled(equal_error_rate)


@compiled
def auc(right: Counts, wrong: Counts) -> float:
    """The chance that a right word scores above a wrong one, ties counting half."""
    pairs, below = 0, 0
    for k in range(len(right)):
        pairs += right[k] * (2 * below + wrong[k])
        below += wrong[k]
    all_pairs = 2 * right.sum() * below
    return pairs / all_pairs if all_pairs else np.nan


@compiled
def average_precision(found: Counts, others: Counts, from_top: bool) -> float:
    """Area under precision and recall as steps: the mean, over the words looked for, of the precision there."""
    total = found.sum()
    if total == 0:
        return np.nan
    area, found_so_far, others_so_far, last = 0.0, 0, 0, len(found) - 1
    for step in range(len(found)):
        k = last - step if from_top else step
        found_so_far += found[k]
        others_so_far += others[k]
        if found[k]:
            area += found[k] * (found_so_far / (found_so_far + others_so_far))
    return float(area / total)


@compiled
def ece(value: Values, right: Counts, wrong: Counts, bins: int) -> float:
    """Mean distance between mean score and share of right words over bins of equal count.

    Words of equal score are alike, so those on the border of two bins are shared out between them. Every word
    counts `bins` units and every bin holds as many units as there are words: whole numbers.
    """
    words = right.sum() + wrong.sum()
    if words == 0:
        return np.nan
    total, gap, room = 0.0, 0.0, words
    for k in range(len(value)):
        here = right[k] + wrong[k]
        units = here * bins
        while units > 0:
            taken = min(units, room)
            gap += taken * (value[k] - right[k] / here)
            units -= taken
            room -= taken
            if room == 0:
                total += abs(gap)
                gap, room = 0.0, words
    return float(total / (bins * words))


@compiled
def caught(right: Counts, wrong: Counts, reviewed: float) -> float:
    """The share of the wrong words among the given share of all words with the lowest scores, ties shared out."""
    all_wrong = wrong.sum()
    if all_wrong == 0:
        return np.nan
    left, found = reviewed * (right.sum() + all_wrong), 0.0
    for k in range(len(right)):
        here = right[k] + wrong[k]
        if here >= left:
            found += wrong[k] * (left / here) if here else 0.0
            break
        found += wrong[k]
        left -= here
    return float(found / all_wrong)


@compiled
def count(place: Ints, correct: Flags, speaker: Ints, weight: Ints, right: Counts, wrong: Counts) -> None:
    """How many right and wrong words have each score, when each speaker is drawn `weight` times."""
    right[:] = 0
    wrong[:] = 0
    for word in range(len(place)):
        if correct[word]:
            right[place[word]] += weight[speaker[word]]
        else:
            wrong[place[word]] += weight[speaker[word]]


@compiled
def rank_metrics(value: Values, place: Ints, correct: Flags, speaker: Ints, weights: Ints, out: Values) -> None:
    """All of RANK_METRICS for each row of `weights`; word w has the score value[place[w]]."""
    right = np.empty(len(value), np.int64)
    wrong = np.empty(len(value), np.int64)
    for row in range(len(weights)):
        count(place, correct, speaker, weights[row], right, wrong)
        out[row, 0] = eer(right, wrong)
        out[row, 1] = auc(right, wrong)
        out[row, 2] = average_precision(right, wrong, True)
        out[row, 3] = average_precision(wrong, right, False)
        out[row, 4] = ece(value, right, wrong, ECE_BINS)
        out[row, 5] = caught(right, wrong, REVIEWED)
