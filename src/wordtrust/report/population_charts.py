"""The plots of one population: reliability, histograms, DET, precision and recall, review."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from ..base.number_format import percentage, rounded_up
from ..evaluation.metrics import Scores, errors_caught, operating_point
from ..evaluation.metrics.scores import REVIEWED
from ..evaluation.metrics.thresholds import PRECISION
from ..transcripts.page.style import role
from .chart import Axis, Bars, Chart, Dots, LineSeries, Mark, Note, Reals, probability_axis, share_axis
from .curves import Bin, Sweep, deviate, histograms, reliability, thin
from .wording import KINDS, label_for

_DET_TICKS = (0.001, 0.005, 0.02, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
_DIAGONAL = LineSeries(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "ideal")
_STRIP = 0.2  # of a reliability diagram, below 0: how many words there are
_HISTOGRAM_TICKS = (0.05, 0.2, 0.5, 1.0)


def population_charts(population: str, kinds: Mapping[str, Scores]) -> list[Chart]:
    """All plots that can be drawn; `kinds` are the scores of the same words, by the name of the score."""
    words = {kind: scores for kind, scores in kinds.items() if len(scores)}
    single = [
        chart
        for kind, scores in reversed(words.items())
        if scores.are_probabilities
        for chart in (_reliability(population, kind, scores), _histogram(population, kind, scores))
    ]
    sweeps = {kind: sweep for kind, scores in words.items() if (sweep := Sweep.of(scores))}
    if not sweeps:
        return single
    together = [draw(population, sweeps, words) for draw in (_review, _det, _finding_wrong, _accepting)]
    return [*single[:2], *together, *single[2:]]


def _reliability(population: str, kind: str, scores: Scores) -> Chart:
    return reliability_chart(f"{population}-reliability-{kind}", kind, reliability(scores))


def reliability_chart(file: str, kind: str, bins: list[Bin], title: str | None = None) -> Chart:
    """Whether words of some confidence are right as often as it claims."""
    name = label_for(KINDS, kind)
    claimed, share = np.array([b.claimed for b in bins]), np.array([b.share for b in bins])
    ranges = np.array([b.interval or (np.nan, np.nan) for b in bins])
    hints = tuple(map(_hint, bins))
    return Chart(
        file,
        title or f"Is the {name} true?",
        "Points on the diagonal mean what they say; below it the score claims too much. Bars: how many words.",
        probability_axis(f"{name} claimed"),
        replace(share_axis("words that are right"), low=-_STRIP),
        (
            _DIAGONAL,
            *_sizes(bins, hints),
            LineSeries(claimed, share, role(kind)),
            Dots(claimed, share, role(kind), 3.5, hints, ranges[:, 0], ranges[:, 1]),
        ),
    )


def _sizes(bins: list[Bin], hints: tuple[str, ...]) -> Iterator[Mark]:
    """A bar below the diagram for each bin, on a square-root scale: often nine words in ten are in the last one."""
    edges = np.array([[b.low, b.high] for b in bins])
    sizes = np.sqrt([b.words for b in bins])
    top = -_STRIP + 0.55 * _STRIP * sizes / sizes.max()
    yield Bars(edges[:, 0], edges[:, 1], np.full(len(bins), -_STRIP), top, "ideal", hints)
    for b, bar in zip(bins, top.tolist(), strict=True):
        yield Note((b.low + b.high) / 2, bar, _short(b.words), "plain", "middle", (0, -3))


def _hint(b: Bin) -> str:
    text = f"{b.low:g} to {b.high:g}: {b.words:,} words, claimed {b.claimed:.3f}, right {b.share:.3f}"
    return text if b.interval is None else f"{text} ({b.interval[0]:.3f} to {b.interval[1]:.3f})"


def _short(count: int) -> str:
    """A count in at most four characters."""
    for size, unit in ((1_000_000, "M"), (1000, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}" if count < 10 * size else f"{count // size}{unit}"
    return str(count)


def _histogram(population: str, kind: str, scores: Scores) -> Chart:
    counts, name = histograms(scores), label_for(KINDS, kind)
    shares = [count / max(1.0, count.sum()) for count in counts]
    most = float(np.sqrt(max(share.max() for share in shares)))
    marks = [
        mark
        for label, sign, count, share in zip(("right", "wrong"), (1, -1), counts, shares, strict=True)
        for mark in (
            _side(label, sign, count, share),
            Note(0.02, sign * 1.14 * most, f"{int(count.sum()):,} {label} words", label, "start", (0, 4)),
        )
    ]
    ticks = [
        (sign * tick**0.5, percentage(tick))
        for tick in _HISTOGRAM_TICKS
        for sign in (1, -1)
        if tick**0.5 <= 1.25 * most
    ]
    title = "of the right words (up), the wrong (down)"
    return Chart(
        f"{population}-histogram-{kind}",
        f"Right and wrong, by {name}",
        "Right words belong on the right, wrong words on the left. Square-root scale; each colour adds up to 100%.",
        probability_axis(name),
        Axis(title, -1.25 * most, 1.25 * most, tuple(sorted([(0.0, "0"), *ticks]))),
        tuple(marks),
    )


def _side(label: str, sign: int, count: Reals, share: Reals) -> Bars:
    """The bars of the right words upwards, of the wrong ones downwards."""
    edges, none = np.linspace(0, 1, len(count) + 1), np.zeros(len(count))
    hints = tuple(
        f"{low:.2f} to {high:.2f}: {int(words):,} {label} words ({percentage(round(part, 4))} of them)"
        for low, high, words, part in zip(edges[:-1], edges[1:], count, share, strict=True)
    )
    low, high = (none, np.sqrt(share)) if sign > 0 else (-np.sqrt(share), none)
    return Bars(edges[:-1], edges[1:], low, high, label, hints)


def _review(population: str, sweeps: Mapping[str, Sweep], words: Mapping[str, Scores]) -> Chart:
    caught = {kind: errors_caught(words[kind], REVIEWED) or 0.0 for kind in sweeps}
    wrong = 1 - float(next(iter(words.values())).correct.mean())
    marks: list[Mark] = [_DIAGONAL, LineSeries(np.array([0.0, wrong, 1.0]), np.array([0.0, 1.0, 1.0]), "ideal")]
    marks += [LineSeries(*thin(*sweep.review()), role(kind)) for kind, sweep in sweeps.items()]
    marks += [Dots(np.array([REVIEWED]), np.array([value]), role(kind)) for kind, value in caught.items()]
    return Chart(
        f"{population}-review",
        "Checking the least trusted words",
        "Steeper is better: fewer words to check. Dotted: in random order, and with perfect confidences.",
        share_axis("words checked, least trusted first"),
        share_axis("errors found"),
        tuple(marks),
        _key(sweeps, {kind: f"{percentage(round(value, 3))} in the first 10%" for kind, value in caught.items()}),
    )


def _key(sweeps: Mapping[str, Sweep], values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The name of each curve, and its number."""
    return tuple((role(kind), f"{label_for(KINDS, kind)}: {values[kind]}") for kind in sweeps)


def _det(population: str, sweeps: Mapping[str, Sweep], words: Mapping[str, Scores]) -> Chart:
    fewest = min(float(counts[-1]) for sweep in sweeps.values() for counts in (sweep.right, sweep.wrong))
    low = max(tick for tick in _DET_TICKS if tick <= min(0.05, max(1 / fewest, _DET_TICKS[0])))
    normal = NormalDist()
    ticks = tuple((normal.inv_cdf(tick), percentage(tick)) for tick in _DET_TICKS if tick >= low)
    marks: list[Mark] = [
        LineSeries(np.array([ticks[0][0], ticks[-1][0]]), np.array([ticks[0][0], ticks[-1][0]]), "ideal")
    ]
    eers = {kind: words[kind].metrics().eer or 0.0 for kind in sweeps}
    for kind, sweep in sweeps.items():
        accepted, rejected = sweep.rates()
        marks.append(LineSeries(*thin(deviate(accepted), deviate(rejected)), role(kind)))
        crossing = deviate(np.array([eers[kind]]))
        hint = f"{label_for(KINDS, kind)}: EER {percentage(round(eers[kind], 4))}"
        marks.append(Dots(crossing, crossing, role(kind), 3.5, (hint,)))
    return Chart(
        f"{population}-det",
        "Detection error trade-off",
        "Every threshold is a point; closer to the lower left is better. The dot is the equal error rate.",
        Axis("wrong words accepted (fewer is better)", ticks[0][0], ticks[-1][0], ticks),
        Axis("right words rejected (fewer is better)", ticks[0][0], ticks[-1][0], ticks),
        tuple(marks),
        _key(sweeps, {kind: f"EER {percentage(round(eers[kind], 4))}" for kind in sweeps}),
    )


def _finding_wrong(population: str, sweeps: Mapping[str, Sweep], words: Mapping[str, Scores]) -> Chart:
    area = {kind: words[kind].metrics().auc_pr_wrong or 0.0 for kind in sweeps}
    wrong = 1 - float(next(iter(words.values())).correct.mean())
    chance = LineSeries(np.array([0.0, 1.0]), np.array([wrong, wrong]), "ideal")
    return Chart(
        f"{population}-find-wrong",
        "Finding the wrong words",
        "Further up and to the right is better. Dotted: chance.",
        share_axis("wrong words found"),
        share_axis("of the words called wrong, truly wrong"),
        (chance, *(LineSeries(*thin(*sweep.finding_wrong()), role(kind)) for kind, sweep in sweeps.items())),
        _key(sweeps, {kind: f"area {value:.3f}" for kind, value in area.items()}),
    )


def _accepting(population: str, sweeps: Mapping[str, Sweep], words: Mapping[str, Scores]) -> Chart:
    last = list(sweeps)[-1]
    curves = {kind: thin(*sweep.accepting()) for kind, sweep in sweeps.items()}
    area = {kind: words[kind].metrics().auc_pr_correct or 0.0 for kind in sweeps}
    marks: list[Mark] = [LineSeries(x, y, role(kind)) for kind, (x, y) in curves.items()]
    point = operating_point(words[last], PRECISION)
    dot = ""
    if point:
        marks.append(Dots(np.array([point.correct_accepted]), np.array([point.precision]), role(last)))
        dot = f" The dot: from {rounded_up(point.threshold)} on, {percentage(PRECISION)} are right."
    lowest = _floor(min(float(y.min()) for _, y in curves.values()))
    step = (1 - lowest) / 5
    ticks = tuple((lowest + step * n, percentage(round(lowest + step * n, 4))) for n in range(6))
    return Chart(
        f"{population}-accept",
        "Accepting the right words",
        f"Further up and to the right is better.{dot}",
        share_axis("right words accepted"),
        Axis("of the words accepted, right", lowest, 1.0, ticks),
        tuple(marks),
        _key(sweeps, {kind: f"area {value:.3f}" for kind, value in area.items()}),
    )


def _floor(value: float) -> float:
    """A round number below, so that what lies above it fills the picture."""
    return next((low for low in (0.9, 0.8, 0.75, 0.5) if low < value - 0.2 * (1 - low)), 0.0)
