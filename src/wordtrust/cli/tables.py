"""Tables for people, on stdout."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..evaluation.corpus_counts import CorpusCounts, total
from ..evaluation.metrics import Interval, intervals

if TYPE_CHECKING:
    from ..combination.subset_comparison import SubsetComparison
    from ..confidence.shipped import ShippedModel
    from ..evaluation.evaluate import Evaluation
    from ..evaluation.threshold import Thresholds
    from ..formats.format import Format
    from ..networks.tuned_scales import TunedScales
    from ..recognizers import RecognizerEntry

_MOST_ROWS = 25
_WIDE = 110  # columns of a terminal that has room for everything
_WIDE_ENOUGH = 70  # columns for a table with sentences in it
_WIDTH_OF_FILES = 140  # when the output is not a terminal


def console() -> Console:
    """Where tables are printed."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDTH_OF_FILES)


def print_counts(files: Mapping[str, CorpusCounts]) -> None:
    """What `wordtrust info` shows."""
    rows, out = _grouped(files), console()
    # A narrow terminal gets the columns that matter most, and the end of long names.
    shown = [0, *range(1, 8)] if out.width >= _WIDE else [0, 1, 3, 6, 7]
    names = ("format", *_NUMBERS)
    table = _table("input", *(names[place] for place in shown))
    widest = max(12, out.width - sum(2 + max(len(names[place]), 9) for place in shown) - 2)
    for name, counts in rows.items():
        cells = _cells(counts)
        table.add_row(Text(_end_of(name, widest)), *(cells[place] for place in shown))
    everything = total(files.values())
    if len(rows) > 1:
        table.add_section()
        cells = _cells(everything)
        table.add_row("all", *(cells[place] for place in shown), style="bold")
    out.print(table)
    for line in _remarks(everything):
        out.print(Text(line))


def _end_of(name: str, most: int) -> str:
    """The end of a name that is too long for its column: it tells files of a folder apart."""
    return name if len(name) <= most else "…" + name[1 - most :]


_NUMBERS = ("utterances", "nodes", "arcs", "arcs/s", "arcs/word", "hours", "1-best words")
_TEXTS = (
    "input",
    "format",
    "name",
    "what it is",
    "endings",
    "read",
    "written",
    "for",
    "words by",
    "confidence of",
    "score",
    "recognizer",
    "combined by",
    "measured on",
)


def print_threshold(thresholds: Thresholds) -> None:
    """What `wordtrust threshold` shows."""
    here, sure = thresholds.on_these_words, thresholds.on_new_speakers
    out, wanted = console(), f"{100 * sure.wanted:g}%"
    if here is None:
        out.print(f"No threshold reaches {wanted} on these {thresholds.words:,} words.")
    else:
        out.print(
            f"On these {thresholds.words:,} words: from {_rounded_up(here.threshold)} on, "
            f"{100 * here.precision:.2f}% are right; that accepts {100 * here.accepted:.1f}% of the words."
        )
    if sure.threshold is None or sure.accepted is None or sure.precision is None:
        out.print(f"For new speakers nothing can be promised at the level of {100 * sure.level:g}%: {sure.reason}.")
        if sure.method == "betting":
            out.print("--method bootstrap is approximate, and finds thresholds with fewer speakers.")
    else:
        out.print(
            f"For new speakers: from {_rounded_up(sure.threshold)} on, at least {wanted} are right, which is "
            f"{100 * sure.level:g}% sure ({sure.speakers:,} speakers, {sure.method}); that accepts "
            f"{100 * sure.accepted:.1f}% of the words, {100 * sure.precision:.2f}% of them right here."
        )
    caught = [
        f"{100 * share:g}% of the words: {100 * errors:.0f}%"
        for share, errors in thresholds.errors_caught.items()
        if errors is not None
    ]
    if caught:
        out.print("Errors found by reviewing the least trusted words: " + "; ".join(caught))


def _rounded_up(threshold: float) -> str:
    """Never a lower threshold than the one that was found."""
    return f"{ceil(threshold * 1e6) / 1e6:.6f}"


def print_combination(found: SubsetComparison) -> None:
    """What `wordtrust combine` shows."""
    out = console()
    alone = _table("recognizer", "WER %")
    for name, rate in sorted(found.systems.items(), key=lambda each: each[1]):
        alone.add_row(Text(name), f"{100 * rate:.2f}")
    out.print(alone)
    rates = {way: sum(subset.ways[way] for subset in found.subsets) / len(found.subsets) for way in found.better}
    ways = _table("combined by", "WER %", "better", "equal", "worse")
    for way, rate in rates.items():
        counts = (str(each[way]) for each in (found.better, found.equal, found.worse))
        ways.add_row(_COMBINED.get(way, way), f"{100 * rate:.2f}", *counts)
    oracle = sum(subset.oracle for subset in found.subsets) / len(found.subsets)
    ways.add_row("best of them for each utterance", f"{100 * oracle:.2f}")
    best = sum(subset.best_member for subset in found.subsets) / len(found.subsets)
    ways.add_row("best recognizer alone", f"{100 * best:.2f}")
    out.print(ways)
    if len(found.subsets) > 1:
        out.print(f"Means over {len(found.subsets)} subsets; better, equal and worse than the best member of each.")


_COMBINED = {
    "raw": "largest mean confidence",
    "calibrated": "largest mean calibrated confidence",
    "rover": "ROVER",
    "informed": "fewest expected errors, given all",
    "joint": "joint network",
}


def _table(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        numeric = column not in _TEXTS
        table.add_column(column, justify="right" if numeric else "left", overflow="fold", no_wrap=numeric)
    return table


def _grouped(files: Mapping[str, CorpusCounts]) -> dict[str, CorpusCounts]:
    """One row a file; one row a folder or archive where there would be too many."""
    for name_of in (str, _archive, _folder):
        rows: dict[str, CorpusCounts] = {}
        for file, counts in files.items():
            rows[name_of(file)] = rows.get(name_of(file), CorpusCounts()) + counts
        if len(rows) <= _MOST_ROWS:
            break
    return rows


def _archive(file: str) -> str:
    path = file.partition(":")[0]
    return path if Path(path).is_file() else file


def _folder(file: str) -> str:
    return str(Path(_archive(file)).parent)


def _cells(counts: CorpusCounts) -> tuple[str, ...]:
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


def _remarks(counts: CorpusCounts) -> Iterable[str]:
    """What a person should know before trusting the numbers."""
    for name in ("acoustic", "transition", "posterior"):
        having = counts.scores[name]
        if having:
            share = "all" if having == counts.utterances else f"{having:,} of {counts.utterances:,}"
            yield f"{name} scores: {share} utterances"
    if not counts.scores:
        yield "no scores: nothing tells the hypotheses apart"
    if counts.one_best.wer is not None and counts.oracle.wer is not None:
        yield f"word error rate: 1-best {counts.one_best.wer:.2%}, best path there is {counts.oracle.wer:.2%}"
    yield f"largest lattice: {counts.largest:,} arcs"
    if counts.trimmed_nodes or counts.trimmed_arcs:
        yield f"left out, on no path from start to end: {counts.trimmed_nodes:,} nodes, {counts.trimmed_arcs:,} arcs"
    if counts.spread_words:
        yield f"words of zero length, given time by their neighbours: {counts.spread_words:,}"
    if counts.aligned:
        yield f"without word times (one second a word): {counts.aligned:,} utterances"


def print_formats(formats: Iterable[Format]) -> None:
    """What `wordtrust formats` shows."""
    table = _table("name", "what it is", "endings", "read", "written")
    for each in formats:
        marks = ("yes" if each.read else "", "yes" if each.write else "")
        table.add_row(each.name, each.title, " ".join(each.suffixes), *marks)
    console().print(table)


def print_tuned(tuned: TunedScales) -> None:
    """What `wordtrust tune` shows."""
    table = _table("for", "acoustic", "transition", "word penalty", "length exponent")
    for name in ("one_best", "posterior", "mbr"):
        scales = getattr(tuned, name)
        numbers = (scales.acoustic, scales.transition, scales.word_penalty, scales.length_exponent)
        table.add_row(name, *(f"{number:.3g}" for number in numbers))
    out = console()
    out.print(table)
    dev = tuned.dev
    out.print(
        f"word error rate: as given {dev['as_given']:.2%}, tuned 1-best {dev['one_best']:.2%}, MBR {dev['mbr']:.2%}; "
        f"NCE of posteriors: {dev['nce_as_given']:.3f} as given, {dev['nce']:.3f} tuned"
    )


def print_models(models: Iterable[ShippedModel]) -> None:
    """What `wordtrust models` shows."""
    from ..confidence.shipped.cards import best_measure

    table = _table("name", "recognizer", "MB", "measured on", "EER %", "NCE", "ECE")
    for each in models:
        split, found = best_measure(each.card)
        numbers = (_percent(found.get("eer")), _number(found.get("nce")), _number(found.get("ece")))
        name = each.name if each.fits else f"{each.name} (does not fit this version)"
        table.add_row(Text(name), Text(each.recognizer), f"{each.bytes / 1e6:.2f}", split, *numbers)
    out = console()
    out.print(table if table.rows else "No models come with this wordtrust.")
    if table.rows:
        out.print("EER, NCE, ECE: over the words of the 1-best. More about one of them: wordtrust models NAME")


def print_recognizers(recognizers: Iterable[RecognizerEntry]) -> None:
    """What `wordtrust recognizers` shows: a table, or where it is narrow a paragraph for each."""
    out, found = console(), [(each.name, _state(each), each.description) for each in recognizers]
    if out.width < _WIDE_ENOUGH:
        for name, state, about in found:
            out.print(Text(f"{name}: {state}", "bold"))
            out.print(Padding(Text(about), (0, 0, 0, 2)))
        return
    table = _table("name", "what it is", "state")
    for column in table.columns:
        column.justify = "left"
    for name, state, about in found:
        table.add_row(Text(name), Text(about), Text(state))
    out.print(table)


def _state(recognizer: RecognizerEntry) -> str:
    if not recognizer.is_ready:
        return f"missing: {recognizer.install}"
    return "ready, name a model" if recognizer.needs_model else "ready"


_WAYS = {
    "one_best": "1-best as given",
    "tuned_one_best": "1-best, tuned",
    "tuned_mbr": "minimum Bayes risk, tuned",
    "best_confidence": "best confidence",
    "oracle": "best path there is",
}
_POPULATIONS = {
    "arcs": "all words of the network",
    "arcs_paper": "the same, the paper's labels",
    "one_best": "words of the 1-best",
    "output": "words of the output",
}


def print_evaluation(evaluation: Evaluation) -> None:
    """What `wordtrust evaluate` shows."""
    out = console()
    errors = _table("words by", "WER %", "95%", "substituted", "deleted", "inserted")
    for name, title in _WAYS.items():
        if name in evaluation.errors:
            found = evaluation.errors[name]
            total, interval = found.total, intervals(found)["wer"]
            counts = (total.substitutions, total.deletions, total.insertions)
            errors.add_row(title, _percent(total.wer), _range(interval), *(f"{each:,}" for each in counts))
    out.print(errors)
    scores = _table("confidence of", "score", "number", "right %", "EER %", "NCE", "AUC", "ECE")
    for (population, kind), found_scores in evaluation.scores.items():
        m = found_scores.metrics()
        right = float(found_scores.correct.mean()) if len(found_scores) else None
        numbers = (_percent(right), _percent(m.eer), *(_number(value) for value in (m.nce, m.auc, m.ece)))
        scores.add_row(_POPULATIONS[population], kind, f"{len(found_scores):,}", *numbers)
    out.print(scores)


def _percent(rate: float | None) -> str:
    return "-" if rate is None else f"{100 * rate:.2f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _range(interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return "-"
    return f"{100 * interval.low:.1f}-{100 * interval.high:.1f}"
