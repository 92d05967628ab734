"""How confidences hold where a model was not trained for: other accents, other recognizers, another domain.

    python -m experiments.shift OUT/models OUT/work --refs DATA/refs.tsv --split dev --out SHIFT \
        --folds OUT/work/trained --outside DATA/out-of-domain/NAME --outside-model NAME

OUT/models has a model for each recognizer, OUT/work the networks NAME/SPLIT; all figures are over the words of the
recognizers' own 1-best, with calibrated confidences. Writes shift.json and shift.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from wordtrust.base.errors import InputError, OptionError, WordtrustError
from wordtrust.base.files import atomic_text
from wordtrust.confidence.adapt import adapt
from wordtrust.confidence.calibrate_model import OutOfFoldScorer
from wordtrust.confidence.evaluate_model import arc_confidences
from wordtrust.confidence.features import available
from wordtrust.confidence.model_file import load_model
from wordtrust.confidence.shipped import MODEL
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.evaluation.evaluation import evaluate_networks
from wordtrust.evaluation.metrics import Scores
from wordtrust.formats import stream
from wordtrust.formats.references import References, read_references
from wordtrust.lattices.lattice import Lattices
from wordtrust.networks.build_store import BuildOptions, build_networks
from wordtrust.networks.tuned_scales import TunedScales
from wordtrust.study.steps import write_json

from .recalibration import Recalibration, SpeakerWords, recalibrate, some
from .shift_table import markdown

SURE = 0.9  # a confidence that people act on
LEAST_SPEAKERS = 5  # of an accent to be shown by itself
FEW = ("kaldi-small-2020", "whisper-base", "moonshine-tiny")
PAIRS = (
    "kaldi-small-2020:kaldi-zamia", "kaldi-zamia:kaldi-small-2020", "kaldi-small-2020:kaldi-comprise",
    "kaldi-comprise:kaldi-small-2020", "whisper-base:whisper-small", "whisper-small:whisper-base",
    "whisper-base:whisper-tiny.en", "whisper-base:moonshine-tiny", "moonshine-tiny:moonshine-base",
    "moonshine-tiny:whisper-base",
)  # fmt: skip
REPAIRS = (
    "kaldi-small-2020:kaldi-small-2020", "kaldi-zamia:kaldi-small-2020", "kaldi-small-2020:kaldi-comprise",
    "whisper-base:moonshine-tiny", "whisper-base:whisper-base",
)  # fmt: skip


def write_results(out: Path, name: str, results: Mapping[str, Any], text: str) -> None:
    """Write what an experiment found, as NAME.json and as NAME.md, and print the latter."""
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / f"{name}.json", results)
    with atomic_text(out / f"{name}.md") as file:
        file.write(text)
    click.echo(text)


def measures(scores: Scores) -> dict[str, Any]:
    """What the tables show of words with confidences."""
    metrics, sure = scores.metrics(), scores.score >= SURE
    shown = {
        name: getattr(metrics, name) for name in ("eer", "auc", "nce", "ece") if getattr(metrics, name) is not None
    }
    if not len(scores):
        return {"words": 0}
    about = {
        "words": len(scores),
        "speakers": len(np.unique(scores.speaker)),
        "right": float(scores.correct.mean()),
        "mean": float(scores.score.mean()),
        "sure": float(sure.mean()),
    }
    return about | ({"sure_right": float(scores.correct[sure].mean())} if sure.any() else {}) | shown


def one_best(scorer: WordScorer, batches: Iterable[Lattices], kind: str = "calibrated") -> Scores:
    """The words of the 1-best with the confidences of a model."""
    scores = evaluate_networks(batches, partial(arc_confidences, scorer), scorer.choice.paths).scores
    if ("one_best", kind) not in scores:
        raise InputError("this model is not calibrated", remedy="Calibrate it with: wordtrust calibrate MODEL STORE")
    return scores["one_best", kind]


@dataclass(frozen=True)
class ShiftData:
    """Models and networks of recognizers."""

    models: Path
    networks: Path
    references: References
    split: str
    fold_models: Path | None = None  # where NAME-fold-0 and so on are

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Recognizers that have both."""
        folders = sorted(file.parent.name for file in self.models.glob(f"*/{MODEL}"))
        return tuple(
            name for name in folders if "-fold-" not in name and (self.networks / name / self.split).is_dir()
        )

    def scorer(self, name: str) -> WordScorer:
        """The model of a recognizer, which also takes what others made."""
        return WordScorer(load_model(self.models / name), allow_mismatch=True)

    def folds(self, name: str) -> list[WordScorer]:
        """The model of a recognizer and those trained without a fold of speakers each, or nothing."""
        if self.fold_models is None or not (self.networks / name / "train").is_dir():
            return []
        folders = sorted(file.parent for file in self.fold_models.glob(f"{name}-fold-*/{MODEL}"))
        others = [WordScorer(load_model(folder), allow_mismatch=True) for folder in folders]
        return [self.scorer(name), *others] if others else []

    def batches(self, name: str, split: str | None = None) -> list[Lattices]:
        """The networks of a recognizer."""
        return list(stream([str(self.networks / name / (split or self.split))]))

    def adapted(self, scorer: WordScorer, name: str) -> WordScorer:
        """The model with the statistics of a recognizer's networks, of those to train on where there are any."""
        split = "train" if (self.networks / name / "train").is_dir() else self.split
        return WordScorer(adapt(scorer.model, self.batches(name, split)), allow_mismatch=True)


def accents(data: ShiftData, names: Sequence[str]) -> dict[str, Any]:
    """Measures by accent, for each recognizer."""
    of_speaker = {one.speaker_or_utt: accent_of(one.accent) for one in data.references.values()}
    tables = {}
    for name in names:
        scores = one_best(data.scorer(name), data.batches(name))
        groups = _groups([of_speaker.get(speaker, accent_of(None)) for speaker in scores.speakers])
        group_of_word = np.array(groups)[scores.speaker]
        rows = {group: measures(some(scores, group_of_word == group)) for group in sorted(set(groups))}
        ordered = dict(sorted(rows.items(), key=lambda item: -item[1]["words"]))
        tables[name] = {"all": measures(scores)} | ordered
    return tables


def accent_of(text: str | None) -> str:
    """The first accent that a speaker named, without what stands in brackets."""
    plain = (text or "").split("(")[0].split(",")[0].strip()
    return plain or "not given"


def _groups(accents: Sequence[str]) -> list[str]:
    """Accents of too few speakers are one group."""
    counts = {accent: accents.count(accent) for accent in set(accents)}
    return [accent if counts[accent] >= LEAST_SPEAKERS else "others" for accent in accents]


def strangers(data: ShiftData, pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """A model on another recognizer's networks, as it is and adapted, beside that recognizer's own model."""
    rows, own = [], {}
    for trained, used in pairs:
        scorer, batches = data.scorer(trained), data.batches(used)
        if used not in own:
            own[used] = measures(one_best(data.scorer(used), batches))
        row: dict[str, Any] = {"model": trained, "recognizer": used, "own": own[used]}
        lacking = lacking_columns(scorer, batches)
        if lacking:
            row["lacking"] = lacking
        else:
            row["as_it_is"] = measures(one_best(scorer, batches))
            row["adapted"] = measures(one_best(data.adapted(scorer, used), batches))
        rows.append(row)
    return rows


def lacking_columns(scorer: WordScorer, batches: Sequence[Lattices]) -> list[str]:
    """What the model needs and the networks do not have; a generic model needs nothing."""
    columns = scorer.model.config.columns
    if scorer.model.is_generic:
        return []
    return [column for column in columns if any(column not in available(batch, columns) for batch in batches)]


def networks_with_references(scorer: WordScorer, files: Sequence[str], references: References) -> list[Lattices]:
    """Outputs of a recognizer as networks of the kind that the model knows; what has no reference is left out."""
    scales = scorer.scales
    tuned = None if scales is None else TunedScales(scales, scales, scales, {})
    options = BuildOptions(scorer.tolerance, tuned=tuned, references=references)
    known = (batch[[row for row, utt in enumerate(batch.utts) if utt in references]] for batch in stream(list(files)))
    return [build_networks(batch, options) for batch in known if len(batch)]


def outside_networks(scorer: WordScorer, folder: Path, data: ShiftData) -> list[Lattices]:
    """Lattices of a recognizer outside its domain."""
    files = sorted(str(file) for file in folder.glob(f"{data.split}.*"))
    if not files:
        raise OptionError(f"{folder}: there is no {data.split}.*")
    return networks_with_references(scorer, files, data.references)


def outside(scorer: WordScorer, batches: Sequence[Lattices], inside: Sequence[Lattices]) -> dict[str, Any]:
    """What a model says about words that are nearly all wrong, beside what posteriors say."""
    scores = evaluate_networks(batches, partial(arc_confidences, scorer), scorer.choice.paths).scores
    kinds = ("posterior", "calibrated_posterior", "confidence", "calibrated")
    rows = {kind: measures(scores["one_best", kind]) for kind in kinds if ("one_best", kind) in scores}
    return {"inside": measures(one_best(scorer, inside)), "outside": rows}


def repairs(data: ShiftData, pairs: Iterable[tuple[str, str]]) -> list[Recalibration]:
    """How many utterances with references repair the calibration of a model used on another recognizer.

    They are drawn from the training data, whose speakers are scored by models that were trained without them.
    """
    made = []
    for trained, used in pairs:
        folds, batches = data.folds(trained), data.batches(used)
        if not folds or lacking_columns(folds[0], batches):
            continue
        train = data.batches(used, "train")
        scorer, *others = (WordScorer(adapt(fold.model, train), allow_mismatch=True) for fold in folds)
        own = SpeakerWords.of(train, OutOfFoldScorer(scorer, others).arc_confidences)
        tested = SpeakerWords.of(batches, partial(arc_confidences, scorer))
        made.append(recalibrate(f"{trained} on {used}", own, tested))
    return made


def shift(
    data: ShiftData,
    pairs: Sequence[tuple[str, str]],
    repair: Sequence[tuple[str, str]],
    names: Sequence[str],
    folder: Path | None,
    name: str,
) -> dict[str, Any]:
    """All that shift.json holds."""
    results: dict[str, Any] = {"split": data.split, "accents": accents(data, names)}
    results["strangers"] = strangers(data, pairs)
    recalibrated = repairs(data, repair)
    if folder is not None:
        scorer = data.scorer(name)
        far = outside_networks(scorer, folder, data)
        results["outside"] = {"model": name, "recognizer": folder.name}
        results["outside"] |= outside(scorer, far, data.batches(name))
        judge = partial(arc_confidences, scorer)
        recalibrated.append(recalibrate(f"{name} outside its domain", SpeakerWords.of(far, judge)))
    results["repairs"] = [one.to_dict() for one in recalibrated]
    return results


def _pairs(data: ShiftData, option: str, given: Sequence[str], usual: Sequence[str]) -> list[tuple[str, str]]:
    """Those that were given, all of which must be there; else the usual ones that are."""
    pairs = [(model, used) for model, _, used in (pair.partition(":") for pair in given or usual)]
    unknown = [":".join(pair) for pair in pairs if not set(pair) <= set(data.names)]
    if given and unknown:
        raise OptionError(f"{option} is MODEL:RECOGNIZER, both of {', '.join(data.names)}, not {unknown[0]!r}")
    return [pair for pair in pairs if ":".join(pair) not in unknown]


def _names(data: ShiftData, given: Sequence[str]) -> list[str]:
    unknown = [name for name in given if name not in data.names]
    if unknown:
        raise OptionError(f"--name is one of {', '.join(data.names)}, not {unknown[0]!r}")
    return list(given) or [name for name in FEW if name in data.names]


@click.command()
@click.argument("models", type=click.Path(path_type=Path, exists=True))
@click.argument("networks", type=click.Path(path_type=Path, exists=True))
@click.option("--refs", type=click.Path(path_type=Path), required=True, help="References, with accents.")
@click.option("--split", default="dev", show_default=True, help="What is measured.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The folder for shift.json and shift.md.")
@click.option("--pair", "pairs", multiple=True, help="MODEL:RECOGNIZER, a model used on another.")
@click.option("--repair", multiple=True, help="The same, for how few utterances repair it.")
@click.option("--folds", type=click.Path(path_type=Path), help="Where models trained without a fold of speakers are.")
@click.option("--name", "names", multiple=True, help="Recognizers whose accents are shown.")
@click.option("--outside", "folder", type=click.Path(path_type=Path), help="Lattices outside the domain.")
@click.option("--outside-model", default="kaldi-small-2020", show_default=True, help="The model used on them.")
def main(
    models: Path,
    networks: Path,
    refs: Path,
    split: str,
    out: Path,
    pairs: tuple[str, ...],
    repair: tuple[str, ...],
    folds: Path | None,
    names: tuple[str, ...],
    folder: Path | None,
    outside_model: str,
) -> None:
    """Measure how confidences hold elsewhere."""
    data = ShiftData(models, networks, read_references(refs), split, folds)
    if not data.names:
        raise OptionError(f"{models} and {networks} have no recognizer in common")
    if folder is not None and outside_model not in data.names:
        raise OptionError(f"--outside-model is one of {', '.join(data.names)}, not {outside_model!r}")
    if repair and folds is None:
        raise OptionError("--repair needs models that were trained without a fold of speakers each: --folds FOLDER")
    tried = _pairs(data, "--pair", pairs, PAIRS), _pairs(data, "--repair", repair, REPAIRS)
    results = shift(data, *tried, _names(data, names), folder, outside_model)
    write_results(out, "shift", results, markdown(results))


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except (WordtrustError, click.ClickException) as error:
        sys.exit(f"experiments.shift: {error}")
