"""The numbers of an evaluation for people: tables, the tiles above them, and a summary in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..base.number_format import NONE, counted, decimal, percent, percentage, rounded_up
from ..base.table import Table
from ..combination.subset_comparison import SubsetComparison
from ..evaluation.evaluation import GAPS, MEAN_CONFIDENCE, UTTERANCES, Evaluation, beyond_words_record
from ..evaluation.metrics import (
    Interval,
    Scores,
    SpeakerErrors,
    compare,
    errors_caught,
    intervals,
    operating_point,
)
from ..evaluation.metrics.scores import REVIEWED
from ..evaluation.metrics.thresholds import PRECISION
from ..transcripts.words import MISSING
from .wording import BEYOND_WORDS, COMBINED, KINDS, POPULATIONS, WORD_SOURCES, label_for

MEASURES = {
    "eer": "EER %", "nce": "NCE", "auc": "AUC", "auc_pr_wrong": "PR wrong", "ece": "ECE", "brier": "Brier",
    "errors_caught": "caught %",
}  # fmt: skip
_BEYOND = ("auc", "nce", "ece", "brier")
_RATES = ("eer", "errors_caught")
_WITH_INTERVALS = ("output", "one_best")  # those people act on; others are far larger, and their intervals narrow
_MAX_RESAMPLED = 20_000_000  # words of all replicates of a population: half a second
_MIN_REPLICATES, _MAX_REPLICATES = 200, 1000
_CHANCE = 0.05  # a difference with a larger p may be chance


def error_table(evaluation: Evaluation) -> Table:
    """For each way to choose words: WER with its interval, errors by kind, and their change against the 1-best."""
    rows, own = list[tuple[str, ...]](), evaluation.errors.get("one_best")
    sources = [source for source in dict.fromkeys([*WORD_SOURCES, *evaluation.errors]) if source in evaluation.errors]
    for source in sources:
        errors, total = evaluation.errors[source], evaluation.errors[source].total
        counts = (total.substitutions, total.deletions, total.insertions)
        change = "" if own is None or source == "one_best" else f"{total.errors - own.total.errors:+,}"
        wer = _with_interval(total.wer, intervals(errors)["wer"], rate=True)
        rows.append((label_for(WORD_SOURCES, source), wer, *(f"{count:,}" for count in counts), change))
        if evaluation.lenient:
            lenient = evaluation.lenient[source]
            equated = _with_interval(lenient.total.wer, intervals(lenient)["wer"], rate=True)
            rows[-1] = (*rows[-1][:2], equated, *rows[-1][2:])
    columns: tuple[str, ...] = ("words by", "WER %, 95%", "substituted", "deleted", "inserted", "against 1-best")
    if evaluation.lenient:
        columns = (*columns[:2], "lenient %, 95%", *columns[2:])
    strong = tuple(index for index, source in enumerate(sources) if source == "best_confidence")
    shown = len(columns) if any(row[-1] for row in rows) else -1  # without the change, where nothing is compared
    return Table("Word errors", columns[:shown], tuple(row[:shown] for row in rows), strong=strong)


def score_table(
    evaluation: Evaluation, measures: Sequence[str] = tuple(MEASURES), *, with_intervals: bool = True
) -> Table:
    """For each population and kind of score: how many words, how many of them right, and the measures."""
    order = {name: index for index, name in enumerate(POPULATIONS)}
    rows = []
    for population, kind in sorted(evaluation.scores, key=lambda key: order.get(key[0], len(order))):
        scores = evaluation.scores[population, kind]
        resampled = _intervals(scores) if with_intervals and population in _WITH_INTERVALS else {}
        metrics = scores.metrics()
        right = metrics.correct / metrics.words if metrics.words else None
        cells = (
            _with_interval(getattr(metrics, name), resampled.get(name), rate=name in _RATES) for name in measures
        )
        names = label_for(POPULATIONS, population), label_for(KINDS, kind)
        rows.append((*names, f"{metrics.words:,}", _with_interval(right, None, rate=True), *cells))
    columns = ("confidence of", "score", "number", "right %", *(MEASURES[name] for name in measures))
    return Table("Measures of confidence", columns, tuple(rows), texts=(1,), grouped=True)


def beyond_words_table(evaluation: Evaluation) -> Table:
    """Missing words and whole utterances: how often it is so, the mean probability of it, and the measures."""
    rows = []
    for population in BEYOND_WORDS:
        for kind in (kind for name, kind in evaluation.beyond_words if name == population):
            scores = evaluation.beyond_words[population, kind]
            record, number = beyond_words_record(scores), f"{len(scores):,}"
            cells = (
                percent(record["rate"]),
                percent(record["mean"]),
                *(decimal(record.get(name)) for name in _BEYOND),
            )
            rows.append((BEYOND_WORDS[population], label_for(KINDS, kind), number, *cells))
    columns = ("probability of", "score", "number", "are %", "said %", *(MEASURES[name] for name in _BEYOND))
    return Table("Missing words and whole utterances", columns, tuple(rows), texts=(1,), grouped=True)


def _intervals(scores: Scores) -> dict[str, Interval]:
    replicates = min(_MAX_REPLICATES, max(_MIN_REPLICATES, _MAX_RESAMPLED // max(1, len(scores))))
    return intervals(scores, replicates=replicates)


def _with_interval(value: float | None, interval: Interval | None, *, rate: bool) -> str:
    """A number with its interval on a second line; rates are in percent."""
    if value is None:
        return NONE
    factor, decimals = (100, 1) if rate else (1, 3)
    text = f"{factor * value:.{2 if rate else 3}f}"
    if interval is None or interval.low is None or interval.high is None:
        return text
    return f"{text}\n{factor * interval.low:.{decimals}f} to {factor * interval.high:.{decimals}f}"


def subset_table(comparison: SubsetComparison) -> Table:
    """For each way to combine: how many subsets are better than, equal to and worse than their best member."""
    counts = (comparison.better, comparison.equal, comparison.worse)
    rows = tuple(
        (name, *(f"{count[method]:,}" for count in counts))
        for method, name in COMBINED.items()
        if method in comparison.better
    )
    columns = ("combined", "sets better than their best member", "equal", "worse")
    return Table("Combinations against their best member", columns, rows)


@dataclass(frozen=True, slots=True)
class Tile:
    """A number to see first."""

    value: str
    name: str
    remark: str


def tiles(evaluation: Evaluation) -> list[Tile]:
    """Word errors, the quality of the confidences, and what to do with them."""
    listed = []
    output, scores = evaluation.errors.get("best_confidence"), _output_scores(evaluation)
    if output is None and scores is None:
        return _word_tiles(evaluation)
    if output is not None and output.total.wer is not None:
        own = evaluation.errors.get("one_best")
        remark = "" if own is None or own.total.wer is None else f"1-best as given: {percentage(own.total.wer, 2)}"
        listed.append(Tile(percentage(output.total.wer, 2), "word error rate", remark))
    if scores is None:
        return listed
    kind, words = scores
    metrics = words.metrics()
    if metrics.nce is not None:
        listed.append(
            Tile(_typeset(metrics.nce), "NCE of the " + label_for(KINDS, kind), "1 is perfect, 0 is no help")
        )
    point = operating_point(words, PRECISION) if len(words) else None
    if point:
        name, remark = f"{percentage(PRECISION)} right from here on", f"{percentage(point.accepted, 0)} of the words"
        listed.append(Tile(rounded_up(point.threshold), name, remark))
    if metrics.errors_caught is not None:
        remark = f"in the least trusted {percentage(REVIEWED)} of the words"
        listed.append(Tile(percentage(metrics.errors_caught, 0), "of the wrong words found", remark))
    return listed


def _word_tiles(evaluation: Evaluation) -> list[Tile]:
    """Of words alone: how many errors there are, how many words were said and are right."""
    own = evaluation.errors.get("one_best")
    total = None if own is None else own.total
    if total is None or total.wer is None:
        return []
    wrong = ((total.substitutions, "substituted"), (total.deletions, "deleted"), (total.insertions, "inserted"))
    right = total.reference_words - total.substitutions - total.deletions
    return [
        Tile(percentage(total.wer, 2), "word error rate", counted(total.errors, "error")),
        Tile(f"{total.reference_words:,}", "words were said", counted(evaluation.utterances, "utterance")),
        Tile(percentage(right / total.reference_words, 1), "of them correct", counted(right, "word")),
        Tile(
            percentage(total.insertions / total.reference_words, 1),
            "inserted words",
            ", ".join(f"{percentage(count / total.reference_words, 1)} {kind}" for count, kind in wrong[:2]),
        ),
    ]


def summary(evaluation: Evaluation) -> list[str]:
    """The main results, a paragraph each for words, confidences and their use."""
    lines = [" ".join(_about_words(evaluation))]
    scores = _output_scores(evaluation)
    if scores and len(scores[1]):
        lines += [" ".join(_about_confidence(evaluation, *scores)), " ".join(_about_use(scores[1]))]
        lines.append(" ".join(_about_missing(evaluation)))
    return [line for line in lines if line]


def _output_scores(evaluation: Evaluation) -> tuple[str, Scores] | None:
    """The last scores of the output: those that chose its words, as people see them."""
    kinds = [(kind, words) for (population, kind), words in evaluation.scores.items() if population == "output"]
    return kinds[-1] if kinds else None


def _typeset(value: float) -> str:
    """With a true minus sign."""
    return decimal(value).replace("-", "\u2212")


def _about_words(evaluation: Evaluation) -> Iterator[str]:
    output, own, best = (evaluation.errors.get(name) for name in ("best_confidence", "one_best", "oracle"))
    name = "The output has"
    if output is None:  # words alone, or with confidences that chose nothing
        output, own, name = own, None, "The recognizer's words have"
    if output is None or output.total.wer is None:
        return
    total, rate = output.total, percentage(output.total.wer, 2)
    who = f"{counted(evaluation.utterances, 'utterance')} of {counted(len(output.speakers), 'speaker')}"
    yield f"In {who}, {counted(total.reference_words, 'word')} were said."
    yield f"{name} {counted(total.errors, 'error')}: a word error rate of {rate}{_between(output)}."
    if own is not None:
        yield _difference(output, own)
    if best is not None and total.errors:
        kept = best.total.errors / total.errors
        yield f"No choice of words from these networks could have fewer than {kept:.0%} of the errors."


def _between(errors: SpeakerErrors) -> str:
    interval = intervals(errors)["wer"]
    if interval.low is None or interval.high is None:
        return ""
    return f" (95%: {percentage(interval.low, 1)} to {percentage(interval.high, 1)})"


def _difference(output: SpeakerErrors, own: SpeakerErrors) -> str:
    fewer = own.total.errors - output.total.errors
    if not fewer:
        return "The recognizer's own 1-best has as many."
    amount = f"{abs(fewer):,} {'fewer' if fewer > 0 else 'more'}"
    share = f" ({abs(fewer) / own.total.errors:.1%})" if own.total.errors else ""
    p = compare(output, own)["wer"].p
    verdict = "" if p is None else "; the difference may be chance" if p > _CHANCE else "; hardly by chance"
    p_value = "" if p is None else f" (p = {p:.2g})"
    return f"That is {amount}{share} than the recognizer's own 1-best{verdict}{p_value}."


def _about_confidence(evaluation: Evaluation, kind: str, words: Scores) -> Iterator[str]:
    metrics, name = words.metrics(), label_for(KINDS, kind)
    right = percentage(metrics.correct / metrics.words, 1)
    yield f"Of the {counted(len(words), 'word')} of the output, {right} are right."
    if metrics.ece is not None:
        yield (
            f"The {name} of a word is off from its true chance to be right by {100 * metrics.ece:.1f} percentage "
            "points on average (ECE)."
        )
    if metrics.nce is not None:
        worth = f"worth {metrics.nce:.0%} of what knowing right from wrong would be"
        worth = "worse than no confidence at all" if metrics.nce < 0 else worth
        yield f"It is {worth} (NCE {_typeset(metrics.nce)}; 1 would be perfect)."
    first = next(other for population, other in evaluation.scores if population == "output")
    nce = evaluation.scores["output", first].metrics().nce
    if first != kind and nce is not None:
        yield f"For the same words, the {label_for(KINDS, first)} has an NCE of {_typeset(nce)}."


def _about_use(words: Scores) -> Iterator[str]:
    point = operating_point(words, PRECISION)
    if point is None:
        yield f"No threshold gives {percentage(PRECISION)} right words."
    else:
        yield (
            f"Accept words from {rounded_up(point.threshold)} on: {percentage(point.precision, 1)} of these are "
            f"right, and they are {percentage(point.accepted, 0)} of all words."
        )
        if point.errors_rejected is not None:
            yield f"{percentage(point.errors_rejected, 0)} of the wrong words are kept out."
        yield (
            "(Measured on these very words; the command wordtrust threshold gives one to rely on with new speakers.)"
        )
    caught = errors_caught(words, REVIEWED)
    if caught is not None:
        yield (
            f"Checking the least trusted {percentage(REVIEWED)} of the words finds {percentage(caught, 0)} of the "
            "wrong ones. Missing words are not among these."
        )


def _about_missing(evaluation: Evaluation) -> Iterator[str]:
    """Missing words and whole utterances, by the best probabilities there are."""
    last = {
        population: scores
        for (population, kind), scores in evaluation.beyond_words.items()
        if len(scores) and kind != MEAN_CONFIDENCE
    }
    gaps, utterances = last.get(GAPS), last.get(UTTERANCES)
    if gaps is not None:
        lacking, marked = int(gaps.correct.sum()), gaps.score >= MISSING
        found = int((gaps.correct & marked).sum())
        yield f"Words are missing in {lacking:,} of {counted(len(gaps), 'gap')} between words."
        if lacking:
            yield (
                f"Marking those from {percentage(MISSING)} on as `something may be missing here` finds "
                f"{percentage(found / lacking, 0)} of them"
                + (f", and {percentage(found / marked.sum(), 0)} of the marks are right." if marked.any() else ".")
            )
    if utterances is not None:
        right, mean = utterances.correct.mean(), utterances.score.mean()
        yield (
            f"{percentage(right, 1)} of the utterances have no error at all; their confidences say "
            f"{percentage(mean, 1)}."
        )
