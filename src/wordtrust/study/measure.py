"""The results of final models on the test split: recognizers alone, then all subsets. Nothing is fitted here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..base.version import __version__
from ..combination.combination_file import FILE as COMBINATION
from ..combination.combination_file import JOINT as JOINT_FILE
from ..combination.combination_file import FittedCombination
from ..combination.joint import JointDecoding
from ..combination.system_output import SystemOutput, SystemOutputs
from ..confidence.estimation.held_out import KnownOfOutputs
from ..confidence.evaluate_model import arc_confidences
from ..confidence.lm_part import FILE as LM_PART
from ..confidence.model_file import MODEL_JSON, SCALES
from ..confidence.word_scorer import WordScorer, load
from ..evaluation.evaluation import (
    GAPS,
    METRICS,
    ArcConfidence,
    Evaluation,
    beyond_words_record,
    evaluate_networks,
)
from ..evaluation.metrics import (
    Difference,
    Interval,
    Scores,
    SpeakerErrors,
    compare,
    errors_caught,
    intervals,
    operating_point,
)
from ..evaluation.metrics.thresholds import PRECISION
from ..formats import stream
from ..lattices.lattice import Floats, Ints, Lattices
from ..lattices.paths import Paths
from ..lattices.weights import Reals
from ..networks.build_store import SPEAKER, noted_references
from ..networks.equivalents import Equate
from ..networks.gaps import k_best_missing
from ..networks.labels import score_paths
from ..report.curves import reliability
from .baselines import NAME as BASELINES
from .baselines import PACKED, Baselines
from .combination import SubsetsOnTest, counts_against, systems_on
from .estimation import estimation_record
from .language_model import StudyLanguageModel
from .layout import JOINT, StudyFolder, StudyOptions
from .paper_examples import examples, reference_text
from .paper_steps import PAPER, evaluate_paper_model, measure_paper
from .same_inputs import NAME as SAME_INPUTS
from .same_inputs import SameInputs
from .steps import Steps, contents_key, key_of, read_json, write_json
from .stores import StoreBuilder

_MIN_REPLICATES, _MAX_REPLICATES = 200, 1000
_MAX_RESAMPLED = 100_000_000  # arcs of all replicates of one comparison
_ERROR_RIVALS = ("one_best", "tuned_one_best", "tuned_mbr")
_SCORE_RIVALS = ("posterior", "calibrated_posterior", "logistic", "confidence")
_COMBINATION_RIVALS = {"against_one_best": "best_member_one_best", "against_rover": "rover"}
_MEASURES = ("eer", "nce")
_LONGEST_EXAMPLE = 20  # words of the reference: longer ones are hard to read in a table


@dataclass(frozen=True, slots=True)
class StudyMeasurement:
    """Measures final models on one split, in steps that a killed run need not repeat."""

    names: tuple[str, ...]
    models: Path
    folder: StudyFolder
    options: StudyOptions
    steps: Steps
    stores: StoreBuilder
    lm: StudyLanguageModel | None = None

    def measure(self) -> dict[str, Any]:
        """The content of study.json."""
        test, models = self.options.test, {name: self.models / name for name in self.names}
        networks = {name: self.stores.networks(name, test, models[name] / SCALES) for name in self.names}
        papers = contents_key([model / PAPER / MODEL_JSON for model in models.values()])
        alone = {
            name: self._measure_recognizer(name, networks[name]) | self._measure_with_lm(name, networks[name])
            for name in self.names
        }
        scored = {name: contents_key([models[name] / MODEL_JSON]) for name in self.names}
        combined = self._measure_combination(key_of(sorted(scored.items()), sorted(networks.items())), papers)
        return {"recognizers": alone} | combined | {"seconds": self.steps.seconds}

    def _measure_recognizer(self, name: str, networks_key: str) -> dict[str, Any]:
        test, model = self.options.test, self.models / name
        path, store = self.folder.results / f"{test}-{name}.json", self._store(name)
        files = [model / part for part in (MODEL_JSON, BASELINES, SAME_INPUTS, Path(PAPER) / MODEL_JSON)]
        model_key = contents_key(files)

        def work() -> None:
            write_json(path, measure_recognizer(model, store) | evaluate_paper_model(model, store))

        self.steps.run(f"{name}: figures of {test}", key_of(__version__, networks_key, model_key), [path], work)
        return read_json(path)

    def _measure_with_lm(self, name: str, networks_key: str) -> dict[str, Any]:
        """The same with the language model, where there is one and the model was fitted with it."""
        test, model = self.options.test, self.models / name
        if self.lm is None or not (model / LM_PART).is_file():
            return {}
        path, lm = self.folder.results / f"{test}-{name}-lm.json", self.lm
        store = str(lm.read(name, test, networks_key))
        key = key_of(__version__, networks_key, lm.key, contents_key([model / MODEL_JSON, model / LM_PART]))
        work = partial(_write_with_lm, path, model, store, lm)
        self.steps.run(f"{name}: figures of {test} with the language model", key, [path], work)
        return {"with_lm": read_json(path)}

    def _store(self, name: str) -> str:
        return str(self.folder.store(name, self.options.test))

    def _measure_combination(self, key: str, papers: str) -> dict[str, Any]:
        test, fitted = self.options.test, self.models / JOINT
        path = self.folder.results / f"{test}-together.json"
        key = key_of(key, contents_key([fitted / COMBINATION, fitted / JOINT_FILE]), self.options.with_joint)

        def work() -> None:
            write_json(path, self._combination_record(fitted, key))

        self.steps.run(f"combination on {test}", key_of(__version__, key, papers), [path], work)
        return read_json(path)

    def _combination_record(self, folder: Path, key: str) -> dict[str, Any]:
        fitted = self._load_combination(folder)
        names = [name for name in self.names if fitted is None or name in fitted.order]
        systems = systems_on(
            {name: load(self.models / name) for name in names},
            {name: (self._store(name),) for name in names},
            equate=self.options.equate,
        )
        counted = self.folder.results / f"joint-{key}"
        subsets = SubsetsOnTest(systems, fitted, counted, self.options.jobs, self.steps.notify)
        record = _subsets_record(subsets) if len(names) > 1 else _no_subsets()
        models = {name: self.models / name for name in self.names}
        paper = measure_paper(models, {name: self._store(name) for name in self.names})
        return record | paper | {"repairs": repair_examples(subsets.outputs, subsets.one_best)}

    def _load_combination(self, folder: Path) -> FittedCombination | None:
        """The fitted combination, if there is one for at least two of these recognizers."""
        if len(self.names) < 2:
            return None
        if not (folder / COMBINATION).is_file():
            self.steps.notify(f"{folder} has no fitted combination: joint network and informed choice are left out")
            return None
        fitted = FittedCombination.load(folder, with_joint=self.options.with_joint)
        lacking = [name for name in self.names if name not in fitted.order]
        if lacking:
            self.steps.notify(f"left out of the combination, which was fitted without them: {', '.join(lacking)}")
        return None if len(lacking) > len(self.names) - 2 else fitted


def _no_subsets() -> dict[str, Any]:
    """For a single recognizer."""
    return {"systems": {}, "subsets": [], "better": {}, "equal": {}, "worse": {}, "examples": []}


def _subsets_record(subsets: SubsetsOnTest) -> dict[str, Any]:
    record = subsets.comparison().to_dict()
    for each in (record, record.get("lenient", {})):
        rows = each.get("subsets", [])
        each |= {key: counts_against(rows, rival) for key, rival in _COMBINATION_RIVALS.items() if rows}
    decoded = subsets.joint_output()
    if decoded is not None:
        record["joint_of_all"] = joint_record(decoded, subsets.outputs)
    return record | {"examples": [example.to_dict() for example in examples(subsets.outputs)]}


def measure_recognizer(model: Path, store: str) -> dict[str, Any]:
    """One recognizer: what `wordtrust evaluate` gives, with intervals, paired tests and baselines."""
    scorer = load(model)
    by_lists = list[Reals]()  # for each gap of the output, what k-best lists alone say about missing words

    def choose(networks: Lattices, confidence: Floats) -> Paths:
        paths = scorer.choice.paths(networks, confidence)
        by_lists.append(k_best_missing(networks, paths))
        return paths

    judge = partial(_judge, scorer, _load_baselines(model), _load_same_inputs(model, scorer))
    evaluation = evaluate_networks(stream(store), judge, choose)
    record = evaluation.to_dict()
    if (gaps := evaluation.beyond_words.get((GAPS, "posterior"))) is not None:
        record[GAPS]["k_best"] = beyond_words_record(replace(gaps, score=np.concatenate(by_lists)))
    record["speakers"] = len(evaluation.errors["one_best"].speakers)
    record["errors"] = {source: errors.total.to_dict() for source, errors in evaluation.errors.items()}
    record["intervals"] = _intervals(evaluation)
    record["differences"] = _differences(evaluation)
    # Figures look too good on speakers that the calibration was fitted on.
    seen = scorer.calibrated_on(evaluation.errors["one_best"].speakers)
    record["model"] = {"choice": asdict(scorer.choice), "calibrated_on_test": seen}
    output = evaluation.scores.get(("output", "calibrated"))
    if output is not None and len(output):
        point = operating_point(output, PRECISION)
        record["reliability"] = [asdict(each) for each in reliability(output)]
        record["errors_caught"] = errors_caught(output)
        record["operating_point"] = None if point is None else asdict(point)
    return record | estimation_record(KnownOfOutputs.of_model(scorer.model.card), evaluation.output)


def calibrated_posteriors(model: Path, store: str) -> dict[str, dict[str, Any]]:
    """By population, the measures of posteriors as the baselines of a model calibrate them; empty if it has none."""
    if (baselines := _load_baselines(model)) is None:
        return {}
    scorer = load(model)
    judge = partial(_judge, scorer, baselines, None)
    record = evaluate_networks(stream(store), judge, scorer.choice.paths).to_dict()
    return {name: record[name]["calibrated_posterior"] for name in ("arcs", "one_best", "output")}


def _write_with_lm(path: Path, model: Path, store: str, lm: StudyLanguageModel) -> None:
    write_json(path, {"name": lm.fitted.name} | measure_with_lm(load(model), load(model, lm=lm.evidence), store))


def measure_with_lm(plain: WordScorer, reading: WordScorer, store: str) -> dict[str, Any]:
    """What `wordtrust evaluate` gives with a language model, and how much that is more than without, in pairs."""
    without, with_lm = (
        evaluate_networks(stream(store), partial(arc_confidences, scorer), scorer.choice.paths)
        for scorer in (plain, reading)
    )
    record = with_lm.to_dict() | {"model": {"choice": asdict(reading.choice)}}
    record |= estimation_record(KnownOfOutputs.of_model(reading.model.card), with_lm.output)
    differences: dict[str, Any] = {
        name: _test_record(compare(own["best_confidence"], other["best_confidence"])["wer"])
        for name, own, other in (
            ("wer", with_lm.errors, without.errors),
            ("lenient_wer", with_lm.lenient, without.lenient),
        )
    }
    for population in ("arcs", "one_best"):
        pair = [evaluation.scores.get((population, "calibrated")) for evaluation in (with_lm, without)]
        if pair[0] is not None and pair[1] is not None:
            test = compare(pair[0], pair[1], replicates=_replicates(pair[0]))
            differences[population] = {name: _test_record(test[name]) for name in _MEASURES}
    return record | {"differences": differences}


def _load_baselines(model: Path) -> Baselines | None:
    path = next((model / name for name in (BASELINES, PACKED) if (model / name).is_file()), None)
    return Baselines.load(path) if path else None


def _load_same_inputs(model: Path, scorer: WordScorer) -> SameInputs | None:
    path = model / SAME_INPUTS
    return SameInputs.load(path, scorer.model) if path.is_file() else None


def _judge(
    scorer: WordScorer, baselines: Baselines | None, same_inputs: SameInputs | None, networks: Lattices
) -> dict[str, ArcConfidence]:
    """Posteriors, baselines and the model; words are chosen by the last one.

    Of two calibrated posteriors the baselines' own counts: a model's was fitted with whatever it was trained on.
    """
    judged = {} if baselines is None else baselines.judge(networks)
    judged |= {} if same_inputs is None else same_inputs.judge(scorer.model, networks)
    return judged | {name: own for name, own in arc_confidences(scorer, networks).items() if name not in judged}


def _intervals(evaluation: Evaluation) -> dict[str, Any]:
    record: dict[str, Any] = {
        "wer": {source: _ends(intervals(each)["wer"]) for source, each in evaluation.errors.items()},
        "lenient_wer": {source: _ends(intervals(each)["wer"]) for source, each in evaluation.lenient.items()},
    }
    for (population, kind), scores in evaluation.scores.items():
        if population in ("arcs", "one_best", "output"):
            resampled = intervals(scores, replicates=_replicates(scores))
            record.setdefault(population, {})[kind] = {name: _ends(resampled[name]) for name in _MEASURES}
    return record


def _differences(evaluation: Evaluation) -> dict[str, Any]:
    """The model less each rival, by measure: below 0 is better for errors, above 0 for NCE."""
    record: dict[str, Any] = {
        "wer": _error_differences(evaluation.errors),
        "lenient_wer": _error_differences(evaluation.lenient),
    }
    for population in ("arcs", "one_best"):
        own = evaluation.scores.get((population, "calibrated"))
        if own is None:
            continue
        record[population] = {}
        for kind in _SCORE_RIVALS:
            if (population, kind) in evaluation.scores:
                test = compare(own, evaluation.scores[population, kind], replicates=_replicates(own))
                record[population][kind] = {name: _test_record(test[name]) for name in _MEASURES}
    return record


def _error_differences(errors: Mapping[str, SpeakerErrors]) -> dict[str, Any]:
    return {
        source: _test_record(compare(errors["best_confidence"], errors[source])["wer"])
        for source in _ERROR_RIVALS
        if source in errors
    }


def _replicates(scores: Scores) -> int:
    return min(_MAX_REPLICATES, max(_MIN_REPLICATES, _MAX_RESAMPLED // max(1, len(scores))))


def _ends(interval: Interval) -> list[float] | None:
    return None if interval.low is None or interval.high is None else [interval.low, interval.high]


def _test_record(test: Difference) -> dict[str, Any]:
    return {"value": test.value, "low": test.low, "high": test.high, "p": test.p}


def joint_record(decoded: JointDecoding, outputs: SystemOutputs) -> dict[str, Any]:
    """Errors and confidences of the joint network of all recognizers, and its confidences in the 1-best of each.

    `outputs` are those of the recognizers with their own models: the best of them is what has to be beaten.
    """
    words, strict, lenient = _score_joint(decoded, decoded.paths, outputs.equate)
    equated = outputs.leniently
    return {
        "members": list(decoded.names),
        **_joint_errors_record(strict, outputs),
        **({} if equated is None else {"lenient": _joint_errors_record(lenient, equated)}),
        "output": _measures(words),
        "whole_utterances": _whole_utterances(decoded),
        "one_best": {
            name: _measures(_score_joint(decoded, decoded.one_best(name), outputs.equate)[0])
            for name in decoded.names
        },
        "reliability": [asdict(each) for each in reliability(words)],
    }


def _joint_errors_record(errors: SpeakerErrors, outputs: SystemOutputs) -> dict[str, Any]:
    """The errors of the joint network, beside those of the best member as `outputs` count them."""
    interval = intervals(errors)["wer"]
    best = outputs.outputs[int(outputs.errors.sum(axis=1).argmin())]
    alone = SpeakerErrors.of(outputs.align(best), list(outputs.speakers))
    return {
        "errors": errors.total.to_dict(),
        "interval": [interval.low, interval.high],
        "against_best_member": _test_record(compare(errors, alone)["wer"]),
    }


def _score_joint(decoded: JointDecoding, paths: Paths, equate: Equate) -> tuple[Scores, SpeakerErrors, SpeakerErrors]:
    """The words of paths through the joint network, with the confidences that people see, and errors both ways."""
    lattices = decoded.lattices
    spoken = noted_references(lattices, equate)
    strict, alignments = (score_paths(lattices, paths, said).alignments for said in (spoken.strict, spoken))
    speakers = list(lattices.notes[SPEAKER])
    confidence = SystemOutput.of(lattices, decoded.confidence, paths).confidence
    assert confidence is not None
    scores = Scores.of(confidence, alignments.correct, speakers, alignments.offsets)
    return scores, SpeakerErrors.of(strict, speakers), SpeakerErrors.of(alignments, speakers)


def _whole_utterances(decoded: JointDecoding) -> dict[str, float]:
    right = score_paths(decoded.lattices, decoded.paths, noted_references(decoded.lattices)).alignments.errors == 0
    return beyond_words_record(Scores.of(decoded.correct, right, list(decoded.lattices.notes[SPEAKER])))


def _measures(scores: Scores) -> dict[str, float]:
    record = scores.metrics().to_dict()
    return {name: record[name] for name in METRICS if name in record}


def repair_examples(outputs: SystemOutputs, printed: SystemOutputs) -> list[dict[str, Any]]:
    """For each recognizer the utterance whose best-confidence words repair most of what it would print."""
    records = []
    for system, name in enumerate(outputs.names):
        index = _largest_gain(outputs, printed.errors[system] - outputs.errors[system])
        if index is not None:
            records.append(
                {
                    "recognizer": name,
                    "utt": outputs.utts[index],
                    "said": reference_text(outputs, index),
                    "printed": " ".join(printed.outputs[system].words(index)),
                    "best_confidence": " ".join(outputs.outputs[system].words(index)),
                }
            )
    return records


def _largest_gain(outputs: SystemOutputs, gain: Ints) -> int | None:
    """The utterance with the largest gain, if there is any; the first of those with equal gains."""
    eligible = np.where(np.diff(outputs.reference_offsets) <= _LONGEST_EXAMPLE, gain, 0)
    best = int(eligible.argmax())
    return best if eligible[best] > 0 else None
