"""Close recognizers against distant ones: when does choosing outputs by their mean confidence beat the best member?

    python -m experiments.close_systems DATA STUDY --recognizer kaldi-small-2020 --models paper --out FOLDER

The paper had nine recognizers of one family, and its rule (the output with the largest mean confidence, raw or
calibrated) was better than the best member in all 502 subsets. Nine close recognizers are made here from the lattices
of one: other scales, word penalties and beams, and models of other folds (of other training data). Beside them stand
the nine recognizers of the study, which are far apart. Both are combined over all 502 subsets. A mean does not see
the words that an output lacks; a third rule that does, the largest sum of calibrated confidences less 1/2, tells how
much of a loss that explains.

`--models` are those of STUDY/work/paper (the paper's system) or STUDY/work/trained (ours). Words are chosen by the
largest mean confidence; calibrators (L = 1.8, no prior curve) are fitted on the words of the other half of the
speakers. FOLDER gets close_systems.md and close_systems.json.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from wordtrust.base.errors import WordtrustError
from wordtrust.base.files import atomic_text
from wordtrust.base.problems import Problems
from wordtrust.base.table import Table
from wordtrust.combination.subset_comparison import all_subsets, compare_subsets, errors_of, select_system
from wordtrust.combination.system_output import SystemOutput, SystemOutputs
from wordtrust.confidence.calibration import KernelCalibrator
from wordtrust.confidence.word_scorer import load
from wordtrust.formats import stream, stream_files
from wordtrust.formats.references import References, with_references
from wordtrust.lattices.lattice import Flags, Ints, Lattices
from wordtrust.lattices.weights import Scales
from wordtrust.networks.align import align_all
from wordtrust.networks.build_store import BuildOptions, build_networks
from wordtrust.networks.tuned_scales import TunedScales
from wordtrust.study.layout import Corpus, StudyFolder
from wordtrust.study.paper import paper_outputs
from wordtrust.study.steps import write_json
from wordtrust.training.study_training import model_folders

from .ablation_measures import is_in_first_half

L = 1.8  # of the paper's calibrator
GAIN = "gain"
METHODS = ("raw", "calibrated", GAIN)
MODELS = ("paper", "trained")


@dataclass(frozen=True, slots=True)
class CloseSystem:
    """A recognizer made from the lattices of another: scales relative to those tuned on dev, a beam, and a model."""

    name: str
    acoustic: float = 1.0
    transition: float = 1.0
    more_penalty: float = 0.0
    beam: float | None = None
    model: int = 0  # 0: trained on all speakers; k: without fold k - 1

    def scales(self, tuned: Scales) -> Scales:
        """The scales of its posteriors."""
        return Scales(
            tuned.acoustic * self.acoustic, tuned.transition * self.transition, tuned.word_penalty + self.more_penalty
        )


CLOSE = (
    CloseSystem("tuned"),
    CloseSystem("acoustic x 1.15", acoustic=1.15, model=1),
    CloseSystem("acoustic x 0.85", acoustic=0.85, model=2),
    CloseSystem("penalty + 0.7", more_penalty=0.7, model=3),
    CloseSystem("penalty - 0.7", more_penalty=-0.7, model=4),
    CloseSystem("beam 6", beam=6.0, model=1),
    CloseSystem("beam 4", beam=4.0, model=2),
    CloseSystem("language x 1.15", transition=1.15, model=3),
    CloseSystem("language x 0.85", transition=0.85, model=4),
)


def close_outputs(
    corpus: Corpus, study: StudyFolder, recognizer: str, models: Path, split: str
) -> Iterator[tuple[str, SystemOutput]]:
    """The words and confidences of every close system."""
    references = corpus.references(split)
    tuned = TunedScales.load(study.scales(recognizer)).posterior
    folders = model_folders(recognizer, models)
    for system in CLOSE:
        scales = system.scales(tuned)
        options = BuildOptions(tuned=TunedScales(scales, scales, scales, {}), beam=system.beam)
        scorer = load(folders[system.model], allow_mismatch=True)
        networks = (build_networks(batch, options) for batch in _lattices(corpus, recognizer, split, references))
        yield system.name, paper_outputs(scorer, networks)


def _lattices(corpus: Corpus, recognizer: str, split: str, references: References) -> Iterator[Lattices]:
    for batch in stream_files(corpus.files(recognizer, split)):
        kept = with_references(batch, references, Problems(skip=True))
        if len(kept):
            yield kept


def distant_outputs(study: StudyFolder, names: Sequence[str], models: Path, split: str) -> dict[str, SystemOutput]:
    """The words and confidences of the recognizers of the study."""
    return {
        name: paper_outputs(load(model_folders(name, models)[0]), stream(str(study.store(name, split))))
        for name in names
    }


def cross_calibrated(systems: SystemOutputs) -> SystemOutputs:
    """With calibrated confidences: those of each half of the speakers by the words of the other half."""
    first = np.array([is_in_first_half(speaker) for speaker in systems.speakers])
    outputs = []
    for output in systems.outputs:
        assert output.confidence is not None
        right, half = _right_words(systems, output), np.repeat(first, output.lengths)
        calibrated = np.empty(len(output.word))
        for side in (True, False):
            seen, held = half != side, half == side
            curve = KernelCalibrator(L, prior=0).fit(output.confidence[seen], right[seen])
            calibrated[held] = curve.predict(output.confidence[held])
        outputs.append(replace(output, calibrated=calibrated))
    return replace(systems, outputs=tuple(outputs))


def _right_words(systems: SystemOutputs, output: SystemOutput) -> Flags:
    said = [list(reference.words) for reference in systems.references]
    heard = [list(output.words(utterance)) for utterance in range(len(systems))]
    return np.asarray(align_all(said, heard).correct, np.bool_)


def disagreement(systems: SystemOutputs) -> float:
    """The mean error rate of one output measured against another, over all pairs."""
    texts = [[list(output.words(utterance)) for utterance in range(len(systems))] for output in systems.outputs]
    rates = []
    for one, other in combinations(texts, 2):
        rates.append(align_all(one, other).errors.sum() / max(sum(map(len, one)), 1))
    return float(np.mean(rates))


def gain_errors(systems: SystemOutputs) -> Ints:
    """[subsets, utterances] the errors of the outputs with the largest sum of calibrated confidences less 1/2."""
    sums = [output.sums(output.calibrated - 0.5) for output in systems.outputs if output.calibrated is not None]
    chosen = select_system(np.stack(sums), all_subsets(len(systems.names)))
    return errors_of(chosen, systems.errors)


def record_of(systems: SystemOutputs) -> dict[str, Any]:
    """All figures of one kind of recognizers."""
    calibrated = cross_calibrated(systems)
    compared = compare_subsets(calibrated, others={GAIN: gain_errors(calibrated)})
    return {"disagreement": disagreement(systems), **compared.to_dict()}


def table_of(records: Mapping[str, Mapping[str, Any]]) -> Table:
    """A row for each kind of recognizers."""
    rows = []
    for name, record in records.items():
        rates, subsets = list(record["systems"].values()), record["subsets"]
        counts = [
            f"{record['better'][method]}/{record['equal'][method]}/{record['worse'][method]}" for method in METHODS
        ]
        shown = ("best_member", *METHODS, "oracle")
        means = [100 * float(np.mean([row[key] for row in subsets])) for key in shown]
        rows.append((
            name, f"{100 * min(rates):.1f} to {100 * max(rates):.1f}", f"{100 * record['disagreement']:.1f}",
            *(f"{mean:.2f}" for mean in means), *counts,
        ))  # fmt: skip
    columns = (
        "recognizers", "WER alone", "apart", "best member", "raw", "calibrated", "gain", "oracle",
        "raw: better/equal/worse", "calibrated", "gain",
    )  # fmt: skip
    note = (
        "WER in %, means over all subsets; apart: the mean WER of one output against another; gain: by the largest "
        "sum of calibrated confidences less 1/2. Better, equal and worse subsets, against the best member."
    )
    return Table("Close and distant recognizers", columns, tuple(rows), note)


def measure(corpus: Corpus, study: StudyFolder, recognizer: str, models: Path, split: str) -> dict[str, Any]:
    """The figures of both kinds."""
    references = corpus.references(split)
    side_by_side = partial(SystemOutputs.of, references=references, missing="leave out")
    close = dict(close_outputs(corpus, study, recognizer, models, split))
    distant = distant_outputs(study, corpus.names, models, split)
    return {
        f"{len(close)} made from {recognizer}": record_of(side_by_side(close)),
        f"the {len(distant)} of the study": record_of(side_by_side(distant)),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("study", type=Path)
    parser.add_argument("--recognizer", default="kaldi-small-2020")
    parser.add_argument("--models", choices=MODELS, default=MODELS[0])
    parser.add_argument("--test", default="dev")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    try:
        corpus, study = Corpus.of(given.data), StudyFolder(given.study)
        records = measure(corpus, study, given.recognizer, study.work / given.models, given.test)
    except WordtrustError as error:
        sys.stderr.write(f"wordtrust: {error}\n")
        return 1
    given.out.mkdir(parents=True, exist_ok=True)
    write_json(given.out / "close_systems.json", records)
    table = table_of(records)
    with atomic_text(given.out / "close_systems.md") as file:
        file.write(f"# {table.title}\n\n{table.to_markdown()}\n")
    sys.stdout.write(table.to_markdown() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
