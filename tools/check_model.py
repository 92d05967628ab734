"""Make the model that checks transcripts: which words of a transcript are wrong, by what listeners heard.

    python -m tools.check_model STUDY --networks PLAIN --forced FORCED --out CHECK

STUDY is the study of the shipped models (`models/`, and `work/with-trees/` for the models of the folds); PLAIN the
study that has networks of train and dev. FORCED has scores of given texts (`tools.check_data.read_forced`). Each
recognizer takes its turn as one that nobody knows, listeners are dropped at random, and so are scores. References are
the transcripts of people who make no errors: of half of the recognizers' transcripts it is known that a recognizer
wrote them, so that the rest and the references are those of anybody. Trees are fitted on train and calibrated on dev.
`python -m tools.shipped_models check CHECK` puts it in place of the shipped one.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tools.check_data import (
    BARE,
    CONFIDENCE,
    REFERENCES,
    CheckedTranscript,
    Recognizer,
    all_transcripts,
    read_forced,
)
from tools.shipped_models.cards import check_card
from wordtrust.base.files import atomic_folder
from wordtrust.combination.check import CheckModel
from wordtrust.combination.check.columns import gap_table, word_table
from wordtrust.combination.check.model import TreesAndCalibration, score_inputs, sigmoid
from wordtrust.confidence.calibration import make
from wordtrust.confidence.calibration.parametric import fit_logistic
from wordtrust.confidence.shipped import CARD, CHECK
from wordtrust.confidence.trees import Trees
from wordtrust.lattices.lattice import Flags, Floats
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.weights import Reals
from wordtrust.networks.build_store import noted_references
from wordtrust.networks.labels import score_paths
from wordtrust.study.layout import DEV, TRAIN, StudyFolder
from wordtrust.training.trees import tables_of

TREES = {"words": (150, 5, 0.12), "gaps": (120, 4, 0.1)}  # how many, their depth, the learning rate
LEAST_IN_LEAF, PENALTY = 60, 10.0
SMALLEST_FILE, LARGEST_FILE = 3, 300  # utterances that are judged together
SCORED_FILES = 10  # of each transcript, that scores are weighed on
HOW_MANY = (0.55, 0.25, 0.1, 0.1)  # how often there are 1, 2, 3, 4 listeners
EMBEDDED, EMBEDDED_WEIGHT, BARE_WEIGHT = "moonshine-tiny", 3.0, 0.5
SCORED, UNASKED = 0.5, 0.25  # shares of files: with scores of their own, without scores of texts by listeners
KNOWN = 0.5  # share of the recognizers' files that are known to be by a recognizer
SHARE = 1.0  # of the utterances; more: again, with other listeners
USUAL_ERRORS = 0.06  # of transcripts with more wrong words fewer are seen: people check what is nearly right


def tables(
    transcripts: Sequence[CheckedTranscript], left_out: str | None, *, share: float = 1.0, seed: int = 0
) -> dict[str, tuple[Floats, Flags]]:
    """The rows of words and of gaps, and which words are right (in which gaps words are missing)."""
    rng = np.random.default_rng(seed)
    known = [one for one in transcripts if one.whose != left_out]
    rows: dict[str, list[tuple[Floats, Flags]]] = {"words": [], "gaps": []}
    for transcript in known:
        rows_wanted, first = int(np.ceil(share * _weight(transcript) * len(transcript))), 0
        rounds = range(rows_wanted // max(1, len(transcript)) + 1)
        order = np.concatenate([rng.permutation(len(transcript)) for _ in rounds])[:rows_wanted]
        while first < len(order):
            size = int(np.exp(rng.uniform(np.log(SMALLEST_FILE), np.log(LARGEST_FILE))))
            for kind, part in _rows_of(transcript.take(order[first : first + size]), left_out, rng).items():
                rows[kind].append(part)
            first += size
    return {kind: _stacked(parts) for kind, parts in rows.items()}


def _stacked(parts: Sequence[tuple[Floats, Flags]]) -> tuple[Floats, Flags]:
    return np.concatenate([table for table, _ in parts]), np.concatenate([is_so for _, is_so in parts])


def _rows_of(
    file: CheckedTranscript, left_out: str | None, rng: np.random.Generator
) -> dict[str, tuple[Floats, Flags]]:
    names = sorted(name for name in file.heard if name.removesuffix(BARE) != left_out)
    score = str(rng.choice(sorted(file.scores))) if file.scores and rng.random() < SCORED else None
    facts, _, heard, _ = file.gathered(draw_listeners(names, rng), score, forced=rng.random() >= UNASKED)
    is_known = file.whose != REFERENCES and rng.random() < KNOWN
    return {
        "words": (word_table(facts, heard, by_recognizer=is_known), file.right),
        "gaps": (gap_table(facts, heard, by_recognizer=is_known), file.missing > 0),
    }


def draw_listeners(names: Sequence[str], rng: np.random.Generator) -> list[str]:
    """Some of them, each recognizer once."""
    weight = np.array(
        [EMBEDDED_WEIGHT if name == EMBEDDED else BARE_WEIGHT if BARE in name else 1.0 for name in names]
    )
    chosen: dict[str, str] = {}
    for name in rng.choice(np.array(names), len(names), replace=False, p=weight / weight.sum()).tolist():
        chosen.setdefault(name.removesuffix(BARE), name)
    return list(chosen.values())[: int(rng.choice(len(HOW_MANY), p=HOW_MANY)) + 1]


def fit_trees(table: Floats, is_so: Flags, kind: str) -> Trees:
    """Trees that tell which rows are so."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees, depth, rate = TREES[kind]
    boosting = HistGradientBoostingClassifier(
        max_iter=trees, max_depth=depth, max_leaf_nodes=None, learning_rate=rate, min_samples_leaf=LEAST_IN_LEAF,
        l2_regularization=PENALTY, early_stopping=False, random_state=0,
    )  # fmt: skip
    inputs = np.where(np.isnan(table).all(axis=0), np.float32(0), table)  # columns that nobody gave
    fitted: Any = boosting.fit(inputs, is_so)
    return tables_of(fitted, share_weight=0.0, chance_weight=1.0, with_network=False)


def fit(
    train: Sequence[CheckedTranscript], held_out: Sequence[CheckedTranscript], rates: Mapping[str, float],
    left_out: str | None = None, card: Mapping[str, Any] | None = None, *, share: float = 1.0,
) -> CheckModel:  # fmt: skip
    """Trees of `train`, calibrated on speakers that are held out; as if `left_out` had never been heard of."""
    parts, of_train = {}, tables(train, left_out, share=share)
    of_held_out = tables(held_out, left_out, seed=1)
    for kind in TREES:
        trees, (table, is_so) = fit_trees(*of_train[kind], kind), of_held_out[kind]
        parts[kind] = TreesAndCalibration(trees, make("platt").fit(sigmoid(trees.log_odds(table)), is_so))
    weights = _score_weights(parts["words"].trees, held_out, left_out)
    known = {name: rate for name, rate in rates.items() if name != left_out}
    return CheckModel(parts["words"], parts["gaps"], weights, known, card or {})


def _score_weights(trees: Trees, held_out: Sequence[CheckedTranscript], left_out: str | None) -> Reals:
    """How much trees and confidences count, of transcripts that come with calibrated ones."""
    rng, inputs, right = np.random.default_rng(2), list[Reals](), list[Flags]()
    for transcript in held_out:
        if transcript.whose == left_out or CONFIDENCE not in transcript.scores:
            continue
        names = sorted(name for name in transcript.heard if name.removesuffix(BARE) != left_out)
        for _ in range(SCORED_FILES):
            file = transcript.take(rng.choice(len(transcript), int(_weight(transcript) * len(transcript) / 3)))
            gathered = file.gathered(draw_listeners(names, rng), CONFIDENCE, forced=rng.random() >= UNASKED)
            log_odds = trees.log_odds(word_table(gathered.facts, gathered.heard, by_recognizer=True))
            inputs.append(score_inputs(log_odds, gathered.facts.score, gathered.heard))
            right.append(file.right)
    return fit_logistic(np.concatenate(inputs), np.concatenate(right))


def _weight(transcript: CheckedTranscript) -> float:
    """The share of its utterances that is seen."""
    return min(1.0, USUAL_ERRORS / max(1e-9, float((~transcript.right).mean())))


def error_rates(recognizers: Iterable[Recognizer]) -> dict[str, float]:
    """Word errors of each recognizer's 1-best, by the words that were said; another spelling is right."""
    rates = {}
    for one in recognizers:
        references = noted_references(one.networks)
        errors = score_paths(one.networks, one_best(one.networks), references).errors
        rates[one.name] = errors / max(1, len(references.words))
    return rates


def read_split(
    study: StudyFolder, plain: StudyFolder, split: str, names: Sequence[str], *, held_out: bool = True
) -> list[Recognizer]:
    """All recognizers on the networks of a split, the same utterances in the same order."""
    read = [Recognizer.read(name, study, [plain.store(name, split)], held_out=held_out) for name in names]
    return [one.in_order(read[0].networks.utts) for one in read]


def study_parser(module: str, description: str | None) -> argparse.ArgumentParser:
    """The options of everything that fits check models on a study."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("study", type=Path, help="the study of the shipped models")
    parser.add_argument("--networks", type=Path, required=True, help="the study that has networks of all splits")
    parser.add_argument("--forced", type=Path, help="folder of scores of given texts, by listener")
    parser.add_argument("--share", type=float, default=SHARE, help="of the utterances that trees are fitted on")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Make what the command line asks for."""
    parser = study_parser("tools.check_model", __doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the model")
    given = parser.parse_args(arguments)
    study, plain = StudyFolder(given.study), StudyFolder(given.networks)
    names = sorted(path.name for path in study.with_trees.iterdir() if (plain.work / path.name).is_dir())
    train, dev = (read_split(study, plain, split, names) for split in (TRAIN, DEV))
    rates, forced = error_rates(train), read_forced(given.forced, (TRAIN, DEV))
    of_train, of_dev = (
        [transcript.with_forced(forced) for transcript in all_transcripts(recognizers, rates)]
        for recognizers in (train, dev)
    )
    sizes = [len(recognizers[0].networks) for recognizers in (train, dev)]
    card = {"recognizers": names, "utterances": sizes, "forced": sorted(forced)}
    model = fit(of_train, of_dev, rates, card=card, share=given.share)
    with atomic_folder(given.out) as folder:
        model.save(folder / CHECK)
        (folder / CARD).write_text(json.dumps(check_card(model).to_json()) + "\n", "utf-8")
    print(f"{given.out}: {(given.out / CHECK).stat().st_size / 1e6:.2f} MB, for transcripts of anybody")


if __name__ == "__main__":
    main()
