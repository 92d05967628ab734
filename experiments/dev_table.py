"""What lattices and networks of many recognizers hold, on a development set: one row a recognizer, as Markdown.

    python -m experiments.dev_table DATA [--split dev]

DATA has a folder for each recognizer (with a recognizer.json and dev.*) and a refs.tsv. Scales are tuned on the same
split, so this is a look at the data, not a result.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from wordtrust import Lattices, stream
from wordtrust.base.table import Table
from wordtrust.evaluation.evaluation import evaluate_networks
from wordtrust.evaluation.tune import tune
from wordtrust.formats.references import References, read_references
from wordtrust.networks.build_store import BuildOptions, build_networks
from wordtrust.networks.labels import score_paths
from wordtrust.networks.oracle import oracle_paths
from wordtrust.networks.reference_words import ReferenceWords
from wordtrust.networks.tuned_scales import TunedScales

TOLERANCES = (0.0, 0.05, 0.1, 0.15)
COLUMNS = (
    "recognizer", "1-best", "tuned 1-best", "tuned MBR", "best mean posterior", "lattice oracle",
    *(f"HWCN oracle {1000 * tolerance:.0f} ms" for tolerance in TOLERANCES),
    "EER arcs", "NCE arcs", "EER 1-best words", "NCE 1-best words", "EER output words", "NCE output words",
)  # fmt: skip


def oracle_rate(batches: list[Lattices], references: References) -> float:
    """The error rate of the best paths there are."""
    errors = words = 0
    for batch in batches:
        spoken = ReferenceWords.of([references[utt].words for utt in batch.utts], batch)
        errors += score_paths(batch, oracle_paths(batch, spoken), spoken).errors
        words += len(spoken.words)
    return errors / words


def networks(batches: list[Lattices], references: References, tuned: TunedScales, tolerance: float) -> list[Lattices]:
    """Labelled networks of all batches."""
    options = BuildOptions(tolerance=tolerance, tuned=tuned, references=references)
    return [build_networks(batch, options) for batch in batches]


def row(name: str, file: Path, references: References) -> tuple[str, ...]:
    """The figures of one recognizer."""
    batches = list(stream(file))
    tuned = tune(batches, references)
    evaluation = evaluate_networks(networks(batches, references, tuned, 0.1)).to_dict()
    outputs = ("one_best", "tuned_one_best", "tuned_mbr", "best_confidence")
    rates = [evaluation["wer"][output] for output in outputs] + [oracle_rate(batches, references)]
    rates += [oracle_rate(networks(batches, references, tuned, tolerance), references) for tolerance in TOLERANCES]
    scores = [evaluation[population]["posterior"] for population in ("arcs", "one_best", "output")]
    shown = [text for metrics in scores for text in (f"{100 * metrics['eer']:.2f}", f"{metrics['nce']:.3f}")]
    return (name, *(f"{100 * rate:.2f}" for rate in rates), *shown)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="dev")
    arguments = parser.parse_args()
    references = read_references(arguments.data / "refs.tsv").of_split(arguments.split)
    rows = []
    for folder in sorted(path.parent for path in arguments.data.glob("*/recognizer.json")):
        [file] = folder.glob(f"{arguments.split}.*")
        rows.append(row(folder.name, file, references))
    print(Table(f"Lattices and networks of {arguments.split}", COLUMNS, tuple(rows)).to_markdown())


if __name__ == "__main__":
    main()
