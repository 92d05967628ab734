"""Tables and sentences for people, on stdout, or on stderr where the output of a verb goes to stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ..base.number_format import counted, decimal, percent, percentage, rounded_up, span
from ..base.table import Table
from .messages import is_stdout_taken

if TYPE_CHECKING:
    from ..combination.subset_comparison import SubsetComparison
    from ..confidence.drift import Drift
    from ..confidence.estimate import Estimate, Estimates
    from ..confidence.shipped import ShippedModel
    from ..evaluation.corpus_counts import CorpusCounts
    from ..evaluation.evaluation import Evaluation
    from ..evaluation.metrics import AcceptedShare, GuaranteedThreshold
    from ..evaluation.threshold import Thresholds
    from ..formats.format import Format
    from ..lattices.weights import Scales
    from ..networks.tuned_scales import TunedScales
    from ..recognizers import RecognizerEntry

_MOST_FILES = 25  # rows of `wordtrust info`
_MOST_ROWS = 20  # of `wordtrust estimate`
_WIDE = 110  # columns of a terminal that has room for everything
_WIDE_ENOUGH = 70  # columns for a table with sentences in it
_WIDTH_OF_FILES = 140  # when the output is not a terminal
_COUNTS = ("format", "utterances", "nodes", "arcs", "arcs/s", "arcs/word", "hours", "1-best words")
_MAIN_COUNTS = (0, 1, 3, 6, 7)  # those that a narrow terminal gets
_MEASURES = ("eer", "nce", "auc", "ece")


def console(width: int = _WIDTH_OF_FILES) -> Console:
    """Where tables are printed; `width` is for output that is no terminal."""
    taken = is_stdout_taken()
    is_terminal = (sys.stderr if taken else sys.stdout).isatty()
    return Console(stderr=taken) if is_terminal else Console(stderr=taken, width=width)


def print_counts(files: Mapping[str, CorpusCounts]) -> None:
    """What `wordtrust info` shows."""
    from ..evaluation.corpus_counts import total

    out, everything, grouped = console(), total(files.values()), _grouped(files)
    # A narrow terminal gets the columns that matter most, and the end of long names, which tells files apart.
    shown = range(len(_COUNTS)) if out.width >= _WIDE else _MAIN_COUNTS
    columns = [_COUNTS[index] for index in shown]
    widest = max(12, out.width - sum(2 + max(len(column), 9) for column in columns) - 2)
    rows = [(name if len(name) <= widest else "…" + name[1 - widest :], counts) for name, counts in grouped.items()]
    rows += [("all", everything)] if len(rows) > 1 else []
    cells = tuple((name, *(_count_cells(counts)[index] for index in shown)) for name, counts in rows)
    strong = (len(rows) - 1,) if len(rows) > 1 else ()
    out.print(Table("", ("input", *columns), cells, texts=(1,), strong=strong).to_rich())
    for line in _remarks(everything):
        out.print(Text(line))


def _grouped(files: Mapping[str, CorpusCounts]) -> dict[str, CorpusCounts]:
    """Counts for each file, or for each archive or folder where there would be too many rows."""
    for name_of in (str, _archive, _folder):
        groups: dict[str, CorpusCounts] = {}
        for file, counts in files.items():
            name = name_of(file)
            groups[name] = groups[name] + counts if name in groups else counts
        if len(groups) <= _MOST_FILES:
            break
    return groups


def _archive(file: str) -> str:
    path = file.partition(":")[0]
    return path if Path(path).is_file() else file


def _folder(file: str) -> str:
    return str(Path(_archive(file)).parent)


def _count_cells(counts: CorpusCounts) -> tuple[str, ...]:
    return (
        ", ".join(counts.formats),
        f"{counts.utterances:,}",
        f"{counts.nodes:,}",
        f"{counts.arcs:,}",
        f"{counts.arcs_per_second:.1f}",
        f"{counts.arcs_per_word:.1f}",
        f"{counts.duration / 3600:.2f}",
        f"{counts.words:,}",
    )


def _remarks(counts: CorpusCounts) -> Iterator[str]:
    """What a person should know before trusting the numbers."""
    for name in ("acoustic", "transition", "posterior"):
        having = counts.scores[name]
        if having:
            share = "all" if having == counts.utterances else f"{having:,} of {counts.utterances:,}"
            yield f"{name} scores: {share} utterances"
    for scales, having in counts.scales.items():
        where = "" if len(counts.scales) == 1 else f" ({counted(having, 'utterance')})"
        yield f"weights{where}: {_weights(scales)}"
    if not counts.scores:
        yield "no scores: nothing tells the hypotheses apart"
    if counts.one_best.wer is not None and counts.oracle.wer is not None:
        yield f"word error rate: 1-best {counts.one_best.wer:.2%}, best path there is {counts.oracle.wer:.2%}"
    if counts.lenient_one_best.wer is not None and counts.lenient_oracle.wer is not None:
        rates = f"1-best {counts.lenient_one_best.wer:.2%}, best path there is {counts.lenient_oracle.wer:.2%}"
        yield f"with spellings equated: {rates}"
    yield f"largest lattice: {counted(counts.largest, 'arc')}"
    if counts.trimmed_nodes or counts.trimmed_arcs:
        nodes, arcs = counted(counts.trimmed_nodes, "node"), counted(counts.trimmed_arcs, "arc")
        yield f"left out, on no path from start to end: {nodes}, {arcs}"
    if counts.spread_words:
        yield f"words of zero length, given time by their neighbours: {counts.spread_words:,}"
    if counts.aligned:
        yield f"without word times (one second a word): {counted(counts.aligned, 'utterance')}"


def _weights(scales: Scales) -> str:
    acoustic = f"acoustic {scales.acoustic:.4g}"
    if 0 < scales.acoustic < 1 and scales.transition == 1:
        acoustic += f" (LMWT {1 / scales.acoustic:.4g})"
    penalty = f", word penalty {scales.word_penalty:.4g}" if scales.word_penalty else ""
    return f"{acoustic}, transition {scales.transition:.4g}{penalty}"


def print_formats(formats: Iterable[Format]) -> None:
    """What `wordtrust formats` shows."""
    rows = tuple(
        (each.name, each.title, " ".join(each.suffixes), "yes" if each.read else "", "yes" if each.write else "")
        for each in formats
    )
    columns = ("name", "what it is", "endings", "read", "written")
    console().print(Table("", columns, rows, texts=(1, 2, 3, 4)).to_rich())


def print_tuned(tuned: TunedScales) -> None:
    """What `wordtrust tune` shows."""
    rows = tuple(
        (name, *(f"{value:.3g}" for value in (s.acoustic, s.transition, s.word_penalty, s.length_exponent)))
        for name, s in (("one_best", tuned.one_best), ("posterior", tuned.posterior), ("mbr", tuned.mbr))
    )
    out, dev = console(), tuned.dev
    out.print(Table("", ("for", "acoustic", "transition", "word penalty", "length exponent"), rows).to_rich())
    out.print(
        f"word error rate: as given {dev['as_given']:.2%}, tuned 1-best {dev['one_best']:.2%}, MBR {dev['mbr']:.2%}; "
        f"NCE of posteriors: {dev['nce_as_given']:.3f} as given, {dev['nce']:.3f} tuned"
    )
    if "lenient_one_best" in dev:
        rates = f"as given {dev['lenient_as_given']:.2%}, tuned 1-best {dev['lenient_one_best']:.2%}"
        out.print(f"with spellings equated: {rates}")


def print_models(models: Iterable[ShippedModel]) -> None:
    """What `wordtrust models` shows."""
    from ..confidence.shipped.cards import best_measure

    rows = []
    for model in models:
        split, measures = best_measure(model.card)
        numbers = (percent(measures.get("eer")), decimal(measures.get("nce")), decimal(measures.get("ece")))
        name = model.name if model.fits else f"{model.name} (does not fit this version)"
        rows.append((name, model.recognizer, f"{model.bytes / 1e6:.2f}", split, *numbers))
    out = console()
    if not rows:
        out.print("No models come with this wordtrust.")
        return
    columns = ("name", "recognizer", "MB", "measured on", "EER %", "NCE", "ECE")
    out.print(Table("", columns, tuple(rows), texts=(1, 3)).to_rich())
    out.print("EER, NCE, ECE: over the words of the 1-best. More about one of them: wordtrust models NAME")


def print_recognizers(recognizers: Iterable[RecognizerEntry]) -> None:
    """What `wordtrust recognizers` shows: a table, or paragraphs on a narrow terminal."""
    out, rows = console(), [(each.name, each.description, _state(each)) for each in recognizers]
    if out.width < _WIDE_ENOUGH:
        for name, description, state in rows:
            out.print(Text(f"{name}: {state}", "bold"))
            out.print(Padding(Text(description), (0, 0, 0, 2)))
        return
    out.print(Table("", ("name", "what it is", "state"), tuple(rows), texts=(1,)).to_rich())


def _state(recognizer: RecognizerEntry) -> str:
    if not recognizer.is_ready:
        return f"missing: {recognizer.install}"
    return "ready, name a model" if recognizer.needs_model else "ready"


def print_evaluation(evaluation: Evaluation) -> None:
    """What `wordtrust evaluate` shows."""
    from ..report.summary import beyond_words_table, error_table, score_table

    out = console()
    out.print(error_table(evaluation).to_rich())
    out.print(_shares(evaluation))
    if evaluation.scores:
        out.print(score_table(evaluation, _MEASURES, with_intervals=False).to_rich())
    if evaluation.beyond_words:
        out.print(beyond_words_table(evaluation).to_rich())
    if evaluation.sclite_nce is not None:
        out.print(f"NCE as sclite prints it (optional words left out count as right): {evaluation.sclite_nce:.3f}")


def _shares(evaluation: Evaluation) -> str:
    """The 1-best as sclite sums it up."""
    total = evaluation.errors["one_best"].total
    if not total.reference_words:
        return "1-best: no reference words"
    kinds = {"correct": total.hits, "substituted": total.substitutions, "deleted": total.deletions,
             "inserted": total.insertions}  # fmt: skip
    shares = ", ".join(f"{100 * count / total.reference_words:.1f}% {kind}" for kind, count in kinds.items())
    return f"1-best: {total.reference_words:,} reference words, {shares}, {100 * (total.wer or 0):.1f}% errors"


def print_threshold(thresholds: Thresholds) -> None:
    """What `wordtrust threshold` shows."""
    point, guaranteed = thresholds.on_these_words, thresholds.on_new_speakers
    out, wanted, level = console(), f"{100 * guaranteed.wanted:g}%", f"{100 * guaranteed.level:g}%"
    if thresholds.table:
        rows = tuple(map(_accepted_row, thresholds.table))
        out.print(Table("", ("confidence from", "accepted %", "right %"), rows).to_rich())
        out.print(f"Intervals: {level}, over {counted(guaranteed.speakers, 'speaker')}.")
    if point is None:
        out.print(f"No threshold reaches {wanted} on these {thresholds.words:,} words.")
    else:
        out.print(
            f"On these {thresholds.words:,} words: from {rounded_up(point.threshold, 6)} on, "
            f"{percentage(point.precision, 2)} are right; that accepts {percentage(point.accepted, 1)} of the words."
        )
    if guaranteed.method != "bootstrap":
        _print_promise(thresholds.by_bootstrap, f"roughly {level} sure")
    _print_promise(guaranteed, f"{level} sure")
    if guaranteed.threshold is None:
        out.print(_needs(thresholds))
    caught = [
        f"{100 * share:g}% of the words: {100 * errors:.0f}%"
        for share, errors in thresholds.errors_caught.items()
        if errors is not None
    ]
    if caught:
        out.print("Errors found by reviewing the least trusted words: " + "; ".join(caught))


def _accepted_row(row: AcceptedShare) -> tuple[str, ...]:
    accepted, right = percent(row.accepted, 1), percent(row.precision, 1)
    intervals = [f"\n{span(ends)}" if ends else "" for ends in (row.accepted_interval, row.precision_interval)]
    return f"{row.threshold:g}", accepted + intervals[0], right + intervals[1]


def _print_promise(guaranteed: GuaranteedThreshold, how_sure: str) -> None:
    by, wanted = f"by {guaranteed.method}", f"{100 * guaranteed.wanted:g}%"
    if guaranteed.threshold is None or guaranteed.accepted is None or guaranteed.precision is None:
        console().print(f"For new speakers, {by}: {wanted} cannot be promised: {guaranteed.reason}.")
        return
    console().print(
        f"For new speakers, {by}: from {rounded_up(guaranteed.threshold, 6)} on, at least {wanted} are right, which "
        f"is {how_sure} ({counted(guaranteed.speakers, 'speaker')}); that accepts "
        f"{percentage(guaranteed.accepted, 1)} of the words, "
        f"{percentage(guaranteed.precision, 2)} of them right here."
    )


def _needs(thresholds: Thresholds) -> str:
    """What a guarantee takes, and which one there is."""
    wanted, promised = f"{100 * thresholds.on_new_speakers.wanted:g}%", thresholds.promised
    needed = thresholds.speakers_needed
    needs = (
        f"{wanted} is more than these confidences reach for speakers like these, however many there are"
        if needed is None
        else f"{wanted} needs about {counted(needed, 'speaker')}"
    )
    if promised is None or promised.threshold is None or promised.accepted is None:
        return f"{needs}; with yours nothing can be promised."
    return (
        f"{needs}; with yours {percentage(promised.wanted, 1)} can be promised, from "
        f"{rounded_up(promised.threshold, 6)} on, which accepts {percentage(promised.accepted, 1)} of the words."
    )


def print_estimates(estimates: Estimates, by: str) -> None:
    """What `wordtrust estimate` shows: a line for each group, the worst first, and all together."""
    out = console()
    groups = {"speaker": estimates.speakers, "file": estimates.files, "utterance": estimates.utterances}[by]
    ranked = sorted(groups, key=lambda each: -each.wer)
    rows = [*map(_estimate_row, ranked[:_MOST_ROWS])]
    columns = (by, "words", "subst.", "insert.", "delet.", "WER %")
    if len(groups) > 1:
        out.print(Table("", columns, tuple(rows)).to_rich())
    if len(ranked) > _MOST_ROWS:
        out.print(f"... and {len(ranked) - _MOST_ROWS:,} better ones (--json lists all).")
    total = estimates.corpus
    errors = total.substitutions + total.insertions + total.deletions
    ends = f" ({span(total.interval)})" if total.interval else ""
    out.print(
        f"All: estimated WER {percent(total.wer, 1)}%{ends}: {counted(round(errors), 'error')} in "
        f"{counted(total.words, 'word')} "
        f"({total.substitutions:,.0f} substituted, {total.insertions:,.0f} inserted, {total.deletions:,.0f} missing)."
    )
    if total.interval:
        out.print(
            f"In parentheses: intervals that hold for new speakers with {percentage(estimates.level)} "
            f"({counted(len(estimates.speakers), 'speaker')} here)."
        )


def _estimate_row(each: Estimate) -> tuple[str, ...]:
    counts = (f"{value:.1f}" for value in (each.substitutions, each.insertions, each.deletions))
    ends = f"\n{span(each.interval)}" if each.interval else ""
    return each.name, f"{each.words:,}", *counts, percent(each.wer, 1) + ends


_DRIFT_NAMES = {
    "wer": "estimated WER %", "missing": "missing words %", "confidence": "mean confidence %",
    "unsure": "words under 50%", "unknown": "words the model does not know %",
    "words_per_utterance": "words in an utterance", "words_per_second": "words in a second",
}  # fmt: skip


def print_drift(drift: Drift) -> None:
    """What `wordtrust estimate --against` shows."""
    rows = []
    for name, shift in drift.measures.items():
        scale = 1 if name.startswith("words_per") else 100
        new, old, change, *ends = (
            f"{scale * value:.2f}" for value in (shift.new, shift.old, shift.difference, *shift.interval)
        )
        rows.append((_DRIFT_NAMES[name], old, new, f"{change}\n{ends[0]} to {ends[1]}", decimal(shift.p_adjusted)))
    rows.append(("distribution of confidences", "", "", f"{drift.distance:.3f}", decimal(drift.distance_p_adjusted)))
    out = console()
    out.print(Table("", ("", "old", "new", "change", "p"), tuple(rows)).to_rich())
    sides = f"{counted(drift.new_speakers, 'new speaker')}, {drift.old_speakers:,} old"
    told = ", ".join(_DRIFT_NAMES.get(name, "distribution of confidences") for name in drift.changed)
    verdict = f"Something changed: {told}" if drift.changed else "No change was shown"
    out.print(f"{verdict} ({sides}; p for testing all of these at once, level {percentage(drift.level)}).")


def print_combination(comparison: SubsetComparison) -> None:
    """What `wordtrust combine` shows."""
    out, lenient = console(), comparison.lenient
    _print_subsets(comparison)
    if len(comparison.subsets) > 1:
        counted = f"Means over {len(comparison.subsets)} subsets"
        out.print(f"{counted}; better, equal and worse than the best member of each.")
    if lenient is not None and lenient.systems != comparison.systems:
        out.print("With spellings equated:")
        _print_subsets(lenient)


def _print_subsets(comparison: SubsetComparison) -> None:
    """The recognizers alone, and every way to combine them."""
    from ..report.wording import COMBINED_BY, label_for

    out, subsets = console(), comparison.subsets
    alone = sorted(comparison.systems.items(), key=lambda item: item[1])
    out.print(Table("", ("recognizer", "WER %"), tuple((name, percent(rate)) for name, rate in alone)).to_rich())
    rows = []
    for method in comparison.better:
        counts = (str(counts[method]) for counts in (comparison.better, comparison.equal, comparison.worse))
        rows.append(
            (label_for(COMBINED_BY, method), percent(_mean(subset.methods[method] for subset in subsets)), *counts)
        )
    oracle, best = _mean(subset.oracle for subset in subsets), _mean(subset.best_member for subset in subsets)
    rows.append(("best of them for each utterance", percent(oracle), "", "", ""))
    rows.append(("best recognizer alone", percent(best), "", "", ""))
    out.print(Table("", ("combined by", "WER %", "better", "equal", "worse"), tuple(rows)).to_rich())


def _mean(rates: Iterable[float]) -> float:
    listed = list(rates)
    return sum(listed) / len(listed)
