"""What trees beside the network are worth, on dev: trees alone, means of logits, stacking, and what was chosen.

    python -m experiments.trees STUDY --recognizers moonshine-base,kaldi-zamia --out FOLDER

STUDY is a study as far as its trained models with their folds (`work/trained`). Trees are trained on train, scored
out of fold; the network never saw dev but to stop. Figures are of confidences that are not calibrated; words are
chosen by the criterion that makes the fewest errors. Writes trees.json and trees.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from wordtrust.base.errors import OptionError, WordtrustError
from wordtrust.base.files import atomic_text
from wordtrust.base.table import Table
from wordtrust.confidence import features
from wordtrust.confidence.choice import choose
from wordtrust.confidence.lattice_rnn import LatticeRNNScorer, path_shares
from wordtrust.confidence.model_file import Model, load_model
from wordtrust.confidence.trees import Trees, network_inputs
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.confidence.word_table import known_arcs
from wordtrust.evaluation.evaluation import ArcConfidence, evaluate_networks, path_errors, posterior_confidence
from wordtrust.formats.batches import read_batches
from wordtrust.lattices.lattice import Floats, Lattices
from wordtrust.networks.word_confidence import capped_confidence
from wordtrust.study.layout import DEV, TRAIN, StudyFolder
from wordtrust.study.steps import write_json
from wordtrust.training.stacked_trees import CHANCE_WEIGHT, SHARE_WEIGHT, WordRows, word_rows
from wordtrust.training.study_training import model_folders
from wordtrust.training.trees import fit_trees

Scorer = Callable[[Lattices], Floats]
COLUMNS = {"arcs": "all arcs", "one_best": "1-best words"}


def variants(model: Model, rows: WordRows) -> Iterator[tuple[str, Scorer]]:
    """Ways to use trees that were trained on words of train, by name."""
    columns = len(model.config.columns)
    no_weight: dict[str, Any] = {"share_weight": 0.0, "chance_weight": 0.0}
    plain = fit_trees(rows.inputs[:, :columns], rows.right, **no_weight, with_network=False)
    stacked = fit_trees(rows.inputs, rows.right, **no_weight, with_network=True)
    yield "network alone", WordScorer(model).confidence
    yield "trees alone", _mixed(model, plain, 1.0)
    for weight in (0.25, 0.5):
        yield f"logits, {weight:g} of trees", _mixed(model, plain, weight)
    yield "stacking", _mixed(model, stacked, 1.0)
    for name, trees, share, chance in (
        ("correction, trees that see features only", plain, 0.0, 0.5),
        ("correction of the chance alone", stacked, 0.0, 1.0),
        ("correction (chosen)", stacked, SHARE_WEIGHT, CHANCE_WEIGHT),
        ("correction, more of the share", stacked, 0.5, 1.0),
    ):
        weighed = replace(trees, share_weight=share, chance_weight=chance)
        yield name, WordScorer(replace(model, trees=weighed)).confidence


def _mixed(model: Model, trees: Trees, weight: float) -> Scorer:
    """The network's logit and that of trees, mixed; capped where rivals would sum to more than 1."""
    scorer = LatticeRNNScorer(model.config, model.weights, model.table, model.statistics)

    def confidence(networks: Lattices) -> Floats:
        outputs = scorer.outputs(networks)
        share = path_shares(networks, outputs[:, 0])
        said = network_inputs(share, outputs[:, -1])
        inputs = features.normalised(known_arcs(networks, model.table)[0], model.statistics)
        z = trees.log_odds(np.concatenate([inputs, said], axis=1) if trees.with_network else inputs)
        logit = (1 - weight) * said[:, 0] + weight * z
        mixed = np.where(networks.word == 0, share, 1.0 / (1.0 + np.exp(-logit)))
        return capped_confidence(networks, mixed).astype(np.float32)

    return confidence


def measured(networks: list[Lattices], scorer: Scorer) -> dict[str, Any]:
    """NCE and EER of all arcs and of 1-best words, and the error rate of the words that the confidences choose."""
    scored = [scorer(batch) for batch in networks]
    by_name = {batch.utts[0]: confidence for batch, confidence in zip(networks, scored, strict=True)}
    choice, errors = choose(zip(networks, scored, strict=True), path_errors)
    evaluation = evaluate_networks(
        networks, lambda batch: posterior_confidence(batch) | {"confidence": ArcConfidence(by_name[batch.utts[0]])},
        choice.paths,
    )  # fmt: skip
    scores = {name: evaluation.scores[name, "confidence"].metrics() for name in COLUMNS}
    words = evaluation.errors["one_best"].total
    figures: dict[str, Any] = {name: {"nce": metrics.nce, "eer": metrics.eer} for name, metrics in scores.items()}
    return figures | {"errors": errors[str(choice)], "words": words.reference_words, "choice": str(choice)}


def compare(study: StudyFolder, name: str) -> dict[str, dict[str, Any]]:
    """All variants on the dev split of one recognizer."""
    whole, *folds = (load_model(folder) for folder in model_folders(name, study.trained))
    rows = word_rows(whole, folds, str(study.store(name, TRAIN)), [])
    networks = list(read_batches(str(study.store(name, DEV))))
    return {variant: measured(networks, scorer) for variant, scorer in variants(replace(whole, trees=None), rows)}


def table_of(results: dict[str, dict[str, dict[str, Any]]]) -> str:
    """As Markdown."""
    heads = [f"{measure}, {named}" for named in COLUMNS.values() for measure in ("NCE", "EER %")]
    rows = []
    for name, of_name in results.items():
        for variant, figures in of_name.items():
            scores = [figures[column] for column in COLUMNS]
            cells = [text for one in scores for text in (f"{one['nce']:.3f}", f"{100 * one['eer']:.2f}")]
            rows.append((name, variant, *cells, f"{100 * figures['errors'] / figures['words']:.2f}"))
    columns = ("recognizer", "variant", *heads, "WER % of the output")
    return Table("Trees beside the network", columns, tuple(rows), texts=(1,), grouped=True).to_markdown()


@click.command()
@click.argument("study", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--recognizers", required=True, help="Names, joined by commas.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A folder for trees.json and trees.md.")
def main(study: Path, recognizers: str, out: Path) -> None:
    """Compare ways to use trees on the dev split of a study."""
    names = [name.strip() for name in recognizers.split(",")]
    missing = [name for name in names if not (study / "work" / "trained" / name).is_dir()]
    if missing:
        raise OptionError(f"{study}: there is no trained model of {missing[0]}")
    results = {name: compare(StudyFolder(study), name) for name in names}
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "trees.json", results)
    with atomic_text(out / "trees.md") as file:
        file.write(table_of(results))


if __name__ == "__main__":
    try:
        main(standalone_mode=False)
    except (WordtrustError, click.ClickException) as error:
        sys.exit(f"experiments.trees: {error}")
