"""How confidences hold under other conditions than those of training: a row for each kind of speech.

    python -m experiments.conditions MODEL OUTPUTS... --refs REFS.tsv --by condition --out FOLDER [--before MODEL]

OUTPUTS are what a recognizer heard (`wordtrust recognize`), REFS.tsv says what was said and, in the column `--by`,
under which condition. All figures are over the words of the output, which users see, or of the recognizer's own
1-best (`--words one_best`), with the confidences that the model shows; `--before` is another model. ECE stands beside
what it would be by chance, if every confidence were exactly right: a row of 600 words has 0.02 and more. Further
tables have what `wordtrust estimate` would say: the word error rate of the output and the estimate of it, and how
often intervals for utterances and speakers hold it. Writes conditions.json and conditions.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from wordtrust.base.errors import InputError, OptionError, WordtrustError
from wordtrust.base.table import Table
from wordtrust.confidence.estimation.held_out import KnownOfOutputs
from wordtrust.confidence.evaluate_model import arc_confidences
from wordtrust.confidence.word_scorer import WordScorer, load
from wordtrust.evaluation.evaluation import Evaluation, evaluate_networks
from wordtrust.evaluation.metrics import Scores
from wordtrust.formats.references import read_references
from wordtrust.lattices.lattice import Lattices
from wordtrust.study.estimation import estimation_record

from .shift import measures, networks_with_references, write_results

_DRAWS = 20  # of what is right, by chance
WORDS = ("output", "one_best")
_NOTE = (
    "Intervals of 90%. Speakers: clips that are there several times, each differently, count as several occasions; "
    "at once: all that each said together, copies of one sentence included."
)
ENOUGH_WRONG = 0.05  # of the words: where fewer are wrong, NCE says little


def conditions_of(references: Path, column: str) -> dict[str, str]:
    """The condition of every utterance: what the table of references has in a column."""
    head, *lines = references.read_text("utf-8").splitlines()
    names = head.split("\t")
    if column not in names or "utt" not in names:
        raise InputError(f"there is no column {column!r}", file=str(references), remedy="Name another one with --by")
    rows = [line.split("\t") for line in lines]
    return {row[names.index("utt")]: row[names.index(column)] for row in rows}


def by_condition(batches: Sequence[Lattices], conditions: Mapping[str, str]) -> dict[str, list[Lattices]]:
    """The utterances of each condition, in the order of their names."""
    groups: dict[str, list[Lattices]] = {}
    for batch in batches:
        names = np.array([conditions[utt] for utt in batch.utts])
        for name in np.unique(names).tolist():
            groups.setdefault(name, []).append(batch[np.flatnonzero(names == name)])
    return dict(sorted(groups.items()))


def row_of(evaluation: Evaluation, known: KnownOfOutputs) -> dict[str, Any]:
    """What the tables show of one condition."""
    kind = "calibrated" if ("one_best", "calibrated") in evaluation.scores else "confidence"
    errors = {name: evaluation.errors[name].total.wer for name in ("one_best", "best_confidence")}
    rows = {
        words: measures(evaluation.scores[words, kind]) | ece_by_chance(evaluation.scores[words, kind])
        for words in WORDS
    }
    return {"utterances": evaluation.utterances, "wer": errors, **rows} | estimation_record(known, evaluation.output)


def ece_by_chance(scores: Scores) -> dict[str, float]:
    """The calibration error that so many words with these confidences have if each is exactly right."""
    rng, found = np.random.default_rng(0), list[float]()
    for _ in range(_DRAWS if len(scores) else 0):
        ece = replace(scores, correct=rng.random(len(scores)) < scores.score).metrics().ece
        found += [] if ece is None else [ece]
    return {"ece_by_chance": float(np.mean(found))} if found else {}


def measure(scorer: WordScorer, groups: Mapping[str, Sequence[Lattices]]) -> dict[str, Any]:
    """A row for each condition, and one for all of them together."""
    rows, total, known = {}, Evaluation(), KnownOfOutputs.of_model(scorer.model.card)
    for name, batches in groups.items():
        found = evaluate_networks(batches, partial(arc_confidences, scorer), scorer.choice.paths)
        rows[name], total = row_of(found, known), total + found
    return rows | ({"all": row_of(total, known)} if len(groups) > 1 else {})


def summary(rows: Mapping[str, Any], words: str) -> dict[str, Any]:
    """The mean over conditions, and the worst: of NCE where enough words are wrong for it to mean something."""
    single = {name: row[words] for name, row in rows.items() if name != "all" and "ece" in row[words]}
    judged = {name: row for name, row in single.items() if row["right"] <= 1 - ENOUGH_WRONG and "nce" in row}
    made: dict[str, Any] = {}
    for measure_name, kept, worst in (("ece", single, max), ("nce", judged, min)):
        if kept:
            name = worst(kept, key=lambda each: kept[each][measure_name])  # called at once
            values = [row[measure_name] for row in kept.values()]
            made[measure_name] = {"mean": float(np.mean(values)), "worst": kept[name][measure_name], "where": name}
    return made


def markdown(results: Mapping[str, Any]) -> str:
    """The tables of one model, or of two side by side."""
    models = results["models"]
    estimates = (_estimates(model["rows"], name) for name, model in models.items())
    return "\n".join(["# Conditions\n", _words(models, results["words"]), *estimates])


def _words(models: Mapping[str, Any], words: str) -> str:
    head = ("speech", "utterances", "WER: 1-best", "output", "right %", "mean %", "NCE", "ECE", "by chance", "AUC")
    cells = []
    for condition, row in next(iter(models.values()))["rows"].items():
        own = [model["rows"][condition] for model in models.values()]
        measured = [each[words] for each in own]
        cells.append((
            condition, f"{row['utterances']:,}", _percent(row["wer"]["one_best"]),
            _both(_percent(each["wer"]["best_confidence"]) for each in own),
            *(_both(_percent(each.get(name)) for each in measured) for name in ("right", "mean")),
            *(_both(_number(each.get(name)) for each in measured) for name in ("nce", "ece")),
            _number(measured[-1].get("ece_by_chance")),
            _both(_number(each.get("auc")) for each in measured),
        ))  # fmt: skip
    notes = [f"{name}: {_told(model['summary'])}." for name, model in models.items()]
    return Table("Words", head, tuple(cells), " ".join(notes)).to_markdown()


def _both(cells: Iterable[str]) -> str:
    """Of one model, or of the one before and the one now."""
    return " → ".join(cells)


def _estimates(rows: Mapping[str, Any], model: str) -> str:
    """Error rates of the output beside what is estimated of them; nothing of a model that cannot."""
    cells = []
    for condition, row in rows.items():
        if "estimation" in row:
            made = row["estimation"]
            wholes = (made[name] for name in ("utterances", "speakers", "speakers_at_once"))
            rates = [made["corpus"].get(name) for name in ("true", "estimated", "low", "high")]
            coverages = [_percent(each.get("coverage")) for each in wholes]
            correlation = _number(made["utterances"].get("correlation"))
            cells.append((condition, *map(_percent, rates), *coverages, correlation))
    head = (
        "speech",
        "WER",
        "estimated",
        "from",
        "to",
        "utterances inside %",
        "speakers inside %",
        "at once",
        "correlation",
    )
    if not cells:
        return ""
    return Table(f"Estimated error rates, {model}", head, tuple(cells), _NOTE).to_markdown()


def _told(made: Mapping[str, Any]) -> str:
    return "; ".join(
        f"{name.upper()} {one['mean']:.3f} on average, at worst {one['worst']:.3f} ({one['where']})"
        for name, one in made.items()
    )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


@click.command()
@click.argument("model")
@click.argument("outputs", nargs=-1, required=True)
@click.option("--refs", type=click.Path(path_type=Path, exists=True), required=True, help="References, as a table.")
@click.option("--by", default="condition", show_default=True, help="Its column that says the condition.")
@click.option("--before", help="Another model, to compare with.")
@click.option("--words", type=click.Choice(WORDS), default=WORDS[0], show_default=True, help="Which the table is of.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of conditions.json and .md.")
def main(
    model: str, outputs: tuple[str, ...], refs: Path, by: str, before: str | None, words: str, out: Path
) -> None:
    """Measure how confidences hold under each condition."""
    references, conditions = read_references(refs), conditions_of(refs, by)
    models = {}
    for name, where in {"before": before, "now": model}.items():
        if where is not None:
            scorer = load(where, allow_mismatch=True)
            groups = by_condition(networks_with_references(scorer, outputs, references), conditions)
            if not groups:
                raise OptionError("none of the utterances has a reference")
            rows = measure(scorer, groups)
            made = {"model": where, "rows": rows, "summary": summary(rows, words)}
            models[name if before else Path(where).name] = made
    results = {"by": by, "words": words, "models": models}
    write_results(out, "conditions", results, markdown(results))


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except (WordtrustError, click.ClickException) as error:
        sys.exit(f"experiments.conditions: {error}")
