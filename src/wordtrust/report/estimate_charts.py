"""Plots of estimated word error rates: who has how many errors, and how they are distributed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.number_format import percentage
from ..confidence.estimate import Estimate, Estimates
from .chart import Axis, Bars, Chart, Dots, fitted_axis, round_step

_MOST_DOTS = 60  # of more, evenly chosen ones are drawn
_BINS = 20
_HIGHEST = 1.0  # rates above are in the last bin


def estimate_charts(estimates: Estimates, groups: Sequence[Estimate], what: str) -> list[Chart]:
    """The rates of groups (`what`: speakers, files), sorted, with intervals; and the histogram of utterances."""
    return [_sorted_rates(groups, what, estimates.level), _histogram(estimates)]


def _sorted_rates(groups: Sequence[Estimate], what: str, level: float) -> Chart:
    ranked = sorted(groups, key=lambda each: each.wer)
    chosen = np.unique(np.linspace(0, len(ranked) - 1, _MOST_DOTS).astype(int))
    shown = [ranked[index] for index in chosen.tolist()]
    rate = np.array([each.wer for each in shown])
    ends = np.array([each.interval or (np.nan, np.nan) for each in shown])
    hints = tuple(f"{each.name}: {percentage(round(each.wer, 4))} of {each.words:,} words" for each in shown)
    top = np.concatenate([rate, ends[~np.isnan(ends)], [0.0]])
    return Chart(
        "estimate-groups",
        f"Estimated word error rate of {what}",
        f"Sorted from the best to the worst, with {100 * level:g}% intervals for new speakers.",
        _counting_axis(what, len(ranked)),
        fitted_axis("estimated word error rate", np.minimum(top, 2.0), shares=True),
        (Dots(chosen + 1.0, rate, "confidence", 2.5, hints, ends[:, 0], ends[:, 1]),),
    )


def _counting_axis(title: str, count: int) -> Axis:
    step = round_step(max(1.0, count / 5))
    return Axis(
        title, 0.0, count + 1.0, tuple((tick, f"{tick:g}") for tick in np.arange(0, count + 1, step).tolist())
    )


def _histogram(estimates: Estimates) -> Chart:
    rate = np.minimum(np.array([each.wer for each in estimates.utterances]), _HIGHEST)
    counts, edges = np.histogram(rate, _BINS, (0.0, _HIGHEST))
    share = counts / max(1, len(rate))
    hints = tuple(
        f"{percentage(low)} to {percentage(high)}: {count:,} utterances"
        for low, high, count in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    )
    high = float(share.max())
    step = round_step(high / 4)
    ticks = tuple((tick, percentage(tick)) for tick in np.arange(0, high + step, step).tolist())
    return Chart(
        "estimate-utterances",
        "Estimated word error rates of utterances",
        "Utterances far to the right are worth a look; rates over 100% are in the last bar.",
        Axis("estimated word error rate", 0.0, _HIGHEST, tuple((tick / 5, f"{20 * tick}%") for tick in range(6))),
        Axis("utterances", 0.0, 1.1 * high, ticks),
        (Bars(edges[:-1], edges[1:], np.zeros(_BINS), share, "confidence", hints),),
    )
