"""Error rates and confidence metrics of a corpus; they add up over batches.

`evaluate_networks` takes networks with labels and references, as `wordtrust build --ref` makes them. `evaluate_words`
takes plain outputs with word confidences, of recognizers that give nothing else: CTM, the JSON of cloud services,
Whisper or Vosk are read like any other format, as lattices with one path, and compared with references.

Speakers are those of the references; in STM, those of its segments. A recording with several speakers that are not
told apart counts as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals, csr_offsets
from ..base.errors import InputError, OptionError
from ..base.problems import Problems
from ..formats.batches import unique_utterances
from ..formats.references import Reference, with_references
from ..lattices.lattice import Floats, Lattices
from ..lattices.paths import Paths, best_confidence, one_best
from ..networks.build_store import (
    ONE_BEST_LABEL,
    ORACLE_LABEL,
    REFERENCE,
    SPEAKER,
    TUNED_MBR,
    TUNED_ONE_BEST,
    noted_references,
)
from ..networks.equivalents import ALL, NONE, Equate
from ..networks.gaps import missing_words, rival_posterior
from ..networks.labels import ScoredPaths, align_texts, score_paths
from ..networks.oracle import oracle_paths
from ..networks.reference_words import ReferenceWords
from ..networks.segments import Comparison, compare_segments, missed_segments
from ..networks.spoken import equated_words, spoken_words
from ..networks.text_probability import text_probability
from ..networks.word_confidence import word_confidence
from .eer_nce import bits_lost, normalised_cross_entropy
from .metrics import Scores, SpeakerErrors
from .output_words import OutputWords

POPULATIONS = ("arcs", "arcs_paper", "one_best", "output")
METRICS = ("eer", "nce", "auc", "ece")  # what --json shows; reports have more
ONE_BEST, CONFIDENCE = "one_best", "confidence"  # population and kind of score of `evaluate_words`
GAPS, UTTERANCES = "gaps", "whole_utterances"  # populations: gaps with words missing; utterances without an error
MEAN_CONFIDENCE = "mean_confidence"  # kind of score of utterances: the mean of the best confidences of their words
_DIGITS = 7  # that float32 keeps: how many of a confidence can have been written


@dataclass(frozen=True)
class Evaluation:
    """Word errors of every criterion to choose words, and scores of every population; `+` joins shards."""

    utterances: int = 0
    errors: dict[str, SpeakerErrors] = field(default_factory=dict)  # one_best, best_confidence, oracle, ...
    scores: dict[tuple[str, str], Scores] = field(default_factory=dict)  # (population, kind of score)
    beyond_words: dict[tuple[str, str], Scores] = field(default_factory=dict)  # of gaps and of whole utterances
    lenient: dict[str, SpeakerErrors] = field(default_factory=dict)  # like `errors`, where spellings are equated
    output: OutputWords | None = None  # by utterance: the output, or else the 1-best, with its best confidences

    def __add__(self, other: Evaluation) -> Evaluation:
        return Evaluation(
            self.utterances + other.utterances,
            _added(self.errors, other.errors),
            _added(self.scores, other.scores),
            _added(self.beyond_words, other.beyond_words),
            _added(self.lenient, other.lenient),
            self.output + other.output if self.output and other.output else self.output or other.output,
        )

    @property
    def words(self) -> Scores:
        """The words of the output, or else of the 1-best, with the best scores there are."""
        for population in ("output", "one_best"):
            for kind in ("calibrated", "confidence", "posterior"):
                if (population, kind) in self.scores:
                    return self.scores[population, kind]
        raise OptionError("no words with confidences found")

    def calibrated(self, curve: Curve) -> Evaluation:
        """Words that came with confidences, measured also as this curve calibrates these."""
        scores, output = self.scores[ONE_BEST, CONFIDENCE], self.output
        shown = replace(scores, score=np.asarray(curve(scores.score), scores.score.dtype))
        output = None if output is None else output.with_confidence(np.asarray(curve(output.confidence), np.float64))
        return replace(self, scores={**self.scores, (ONE_BEST, "calibrated"): shown}, output=output)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        words = self.errors["one_best"].total.reference_words if self.errors else 0
        record: dict[str, Any] = {"utterances": self.utterances, "words": words}
        rates = {name: errors.total.wer for name, errors in self.errors.items()}
        record["wer"] = {name: rate for name, rate in rates.items() if rate is not None}
        record["errors"] = {name: errors.total.to_dict() for name, errors in self.errors.items()}
        if self.lenient:
            rates = {name: errors.total.wer for name, errors in self.lenient.items()}
            record["lenient_wer"] = {name: rate for name, rate in rates.items() if rate is not None}
            record["lenient_errors"] = {name: errors.total.to_dict() for name, errors in self.lenient.items()}
        for (population, kind), scores in self.scores.items():
            metrics = scores.metrics().to_dict()
            record.setdefault(population, {})[kind] = {name: metrics[name] for name in METRICS if name in metrics}
        for (population, kind), scores in self.beyond_words.items():
            record.setdefault(population, {})[kind] = beyond_words_record(scores)
        if self.sclite_nce is not None:
            record["sclite_nce"] = self.sclite_nce
        return record

    @property
    def sclite_nce(self) -> float | None:
        """NCE as sclite prints it, where it differs: optional words that were left out count as right words there."""
        errors, scores = self.errors.get(ONE_BEST), self.scores.get((ONE_BEST, CONFIDENCE))
        if errors is None or scores is None or scores.metrics().nce is None:
            return None
        words, right = errors.total.hypothesis_words, errors.total.hits
        if words == len(scores) or right == words:
            return None
        return float(normalised_cross_entropy(words, right, bits_lost(scores.score, scores.correct).sum()))


def beyond_words_record(scores: Scores) -> dict[str, float]:
    """For JSON: how often it is so, the mean probability that it is, and the measures."""
    metrics = scores.metrics().to_dict()
    mean = float(scores.score.mean(dtype=np.float64)) if len(scores) else 0.0
    shown = {name: metrics[name] for name in (*METRICS, "brier") if name in metrics}
    return {"rate": metrics["correct"] / max(metrics["words"], 1), "mean": mean, **shown}


def _added(first: dict[Any, Any], second: dict[Any, Any]) -> dict[Any, Any]:
    """What both have, added; the sum must not mix corpora of which one lacks something."""
    if not first or not second:
        return first or second
    return {name: first[name] + second[name] for name in first if name in second}


def _total(parts: list[Evaluation]) -> Evaluation:
    while len(parts) > 1:  # in pairs: adding one by one would copy everything every time
        parts = [sum(parts[start : start + 2], Evaluation()) for start in range(0, len(parts), 2)]
    return parts[0] if parts else Evaluation()


Curve = Callable[[NDArray[np.floating]], NDArray[np.floating]]
PathScores = Callable[[Paths], Reals | None]  # None where a model does not tell


def _identity(scores: NDArray[np.floating]) -> NDArray[np.floating]:
    return scores


@dataclass(frozen=True, slots=True)
class ArcConfidence:
    """A confidence for every arc, and the calibration of arcs and of output words."""

    confidence: Floats
    of_arcs: Curve = _identity
    of_words: Curve = _identity
    shown: Floats | None = None  # [arcs] its confidence as an output word, if not that of all its arcs together
    of_gaps: PathScores | None = None  # [gaps] how likely words are missing in each gap of the output
    of_utterances: PathScores | None = None  # [utterances] how likely all of it is right


ArcScorer = Callable[[Lattices], Mapping[str, ArcConfidence]]  # by kind of score; words are chosen by the last one
Choose = Callable[[Lattices, Floats], Paths]
Inspect = Callable[[Lattices, Floats, Paths], None]  # sees every batch with its confidences and the chosen words


def posterior_confidence(networks: Lattices) -> dict[str, ArcConfidence]:
    """The posteriors of networks as confidences: the arc scorer that needs no model."""
    _require_references(networks)
    assert networks.posterior is not None
    return {
        "posterior": ArcConfidence(
            networks.posterior,
            of_gaps=partial(rival_posterior, networks),
            of_utterances=partial(text_probability, networks, networks.posterior),
        )
    }


def evaluate_networks(
    batches: Iterable[Lattices], score_arcs: ArcScorer = posterior_confidence, choose: Choose = best_confidence
) -> Evaluation:
    """Evaluate networks, with their posteriors as confidence unless another scorer is given."""
    return _total([evaluate_batch(batch, score_arcs, choose) for batch in batches])


def evaluate_batch(
    networks: Lattices, score_arcs: ArcScorer = posterior_confidence, choose: Choose = best_confidence
) -> Evaluation:
    """Evaluate one batch of networks."""
    _require_references(networks)
    kinds = score_arcs(networks)
    references, speakers = noted_references(networks), list(networks.notes[SPEAKER])
    chosen = {
        "one_best": one_best(networks),
        "best_confidence": choose(networks, list(kinds.values())[-1].confidence),
    }
    errors = _errors_of(networks, chosen, references.strict, speakers)
    lenient = _errors_of(networks, chosen, references, speakers) if networks.origin.equate else {}
    scored = {name: score_paths(networks, path, references) for name, path in chosen.items()}
    scores, output = dict(_arc_scores(networks, kinds, speakers)), None
    for population, name in (("one_best", "one_best"), ("output", "best_confidence")):
        alignments = scored[name].alignments
        for kind, arcs in kinds.items():
            shown = arcs.of_words(_word_scores(networks, arcs, scored[name].paths))
            scores[population, kind] = Scores.of(shown, alignments.correct, speakers, alignments.offsets)
            output = OutputWords.of(shown, alignments, speakers, tuple(networks.notes[REFERENCE]))
    beyond = dict(_beyond_words(kinds, scored["best_confidence"], references, speakers))
    if output is not None:
        right = scored["best_confidence"].alignments.errors == 0
        beyond[UTTERANCES, MEAN_CONFIDENCE] = Scores.of(output.mean_confidence, right, speakers)
    return Evaluation(len(networks), errors, scores, beyond, lenient, _with_gaps(output, beyond))


def _with_gaps(output: OutputWords | None, beyond: Mapping[tuple[str, str], Scores]) -> OutputWords | None:
    """The output with how many of its gaps lack words, by the best scores of gaps there are."""
    gaps = [scores for (population, _), scores in beyond.items() if population == GAPS]
    return output if output is None or not gaps else output.with_gaps(gaps[-1].score)


def _beyond_words(
    kinds: Mapping[str, ArcConfidence], output: ScoredPaths, references: ReferenceWords, speakers: list[str]
) -> Iterator[tuple[tuple[str, str], Scores]]:
    """Where words are missing in the output, and which of its utterances are right as a whole."""
    missing = missing_words(output.alignments, references.offsets) > 0
    offsets = output.alignments.offsets + np.arange(len(output.alignments.offsets))
    right = output.alignments.errors == 0
    for kind, arcs in kinds.items():
        of_gaps = None if arcs.of_gaps is None else arcs.of_gaps(output.paths)
        if of_gaps is not None:
            yield (GAPS, kind), Scores.of(of_gaps, missing, speakers, offsets)
        of_utterances = None if arcs.of_utterances is None else arcs.of_utterances(output.paths)
        if of_utterances is not None:
            yield (UTTERANCES, kind), Scores.of(of_utterances, right, speakers)


def _errors_of(
    networks: Lattices, chosen: Mapping[str, Paths], references: ReferenceWords, speakers: list[str]
) -> dict[str, SpeakerErrors]:
    """The errors of chosen paths, of the best path there is, and of what other decoders printed."""
    paths = {**chosen, "oracle": oracle_paths(networks, references)}
    alignments = {name: score_paths(networks, path, references).alignments for name, path in paths.items()}
    for name, note in (("tuned_one_best", TUNED_ONE_BEST), ("tuned_mbr", TUNED_MBR)):
        if note in networks.notes:
            tuned = [text.split() for text in networks.notes[note]]
            alignments[name] = align_texts(networks, references, tuned)
    return {name: SpeakerErrors.of(aligned, speakers) for name, aligned in alignments.items()}


def path_errors(networks: Lattices, paths: Paths) -> int:
    """Word errors of these paths, by what the labels of the networks equate."""
    _require_references(networks)
    return score_paths(networks, paths, noted_references(networks)).errors


def _require_references(networks: Lattices) -> None:
    missing = [name for name in (REFERENCE, SPEAKER) if name not in networks.notes]
    if missing or ORACLE_LABEL not in networks.extra:
        raise InputError(
            "these are no networks with references",
            remedy="Make them with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )


def _arc_scores(
    networks: Lattices, kinds: Mapping[str, ArcConfidence], speakers: list[str]
) -> Iterator[tuple[tuple[str, str], Scores]]:
    is_word = networks.word > 0
    offsets = csr_offsets(is_word)[networks.arc_offsets]
    for population, label in (("arcs", ORACLE_LABEL), ("arcs_paper", ONE_BEST_LABEL)):
        correct = networks.extra[label][is_word] > 0
        for kind, arcs in kinds.items():
            score = arcs.of_arcs(np.minimum(arcs.confidence[is_word], np.float32(1)))
            yield (population, kind), Scores.of(score, correct, speakers, offsets)


def _word_scores(networks: Lattices, arcs: ArcConfidence, paths: Paths) -> Reals:
    """The confidence of the words of paths, before calibration."""
    on_path = paths.arcs_in(networks)
    if arcs.shown is None:
        shown = word_confidence(networks, arcs.confidence, paths)
    else:
        shown = arcs.shown[on_path].astype(np.float64)
    words: Reals = shown[networks.word[on_path] > 0]
    return words


def evaluate_words(
    batches: Iterable[Lattices],
    references: Mapping[str, Reference],
    problems: Problems | None = None,
    inspect: Inspect | None = None,
    how: Comparison = Comparison(),  # noqa: B008  # it is frozen
    heard: set[str] | None = None,
) -> Evaluation:
    """Evaluate the 1-best words of outputs by the confidences that they came with; without any, the words alone.

    An utterance counts only if every word has a confidence, or none of the words of all utterances has: a recognizer
    that leaves some out gives no number for them, and the words that it is sure of would be judged alone. Utterances
    without a reference or without confidences raise an error, or go to `problems` when that skips them. `inspect`
    sees every batch that counts, with its references noted; words without confidences have 1, and no posteriors.

    References with segments (STM) are compared by sclite's rules (networks/segments.py), or as `how` says, and plain
    ones by sclite's if it says so; what wordtrust's rules equate, they do not. CTM
    cannot say that nothing was recognized: the words of recordings that it lacks count as deleted. `heard` gets the
    names of the references that there are words for.
    """
    problems = problems or Problems()
    measured, words_alone = list[Evaluation](), list[tuple[Lattices, Evaluation]]()
    seen = set[str]() if heard is None else heard
    known = (with_references(_without_silent(batch, references), references, problems) for batch in batches)
    for kept in unique_utterances(known, problems):
        seen.update(kept.utts)
        if not len(kept):
            continue
        if kept.posterior is None and not _has_scores(kept):
            words_alone.append((kept, _evaluate_words(kept, references, how)))
            continue
        with_posteriors = with_confidences(kept, problems)
        if len(with_posteriors):
            measured.append(_evaluate_words(with_posteriors, references, how))
            if inspect:
                _inspect_words(with_posteriors, references, inspect, how)
    parts = measured or [evaluation for _, evaluation in words_alone]
    for lacking, _ in words_alone:
        if measured:
            with_confidences(lacking, problems)
        elif inspect:
            _inspect_words(lacking, references, inspect, how)
    return _total([*parts, *_missed(references, seen, parts)])


def _without_silent(batch: Lattices, references: Mapping[str, Reference]) -> Lattices:
    """The batch without utterances of CTM that have no words and no reference: a comment may call them otherwise."""
    if batch.origin.format != "ctm":
        return batch
    has_words = np.bincount(batch.utterance_of_arc, (batch.word > 0) | (batch.surface > 0), len(batch)) > 0
    kept = has_words | np.array([utt in references for utt in batch.utts], np.bool_)
    return batch if kept.all() else batch[kept]


def _inspect_words(
    lattices: Lattices, references: Mapping[str, Reference], inspect: Inspect, how: Comparison
) -> None:
    """Show the batch without what is to be ignored, with its references noted, and what they equate."""
    kept, spoken = spoken_words(lattices, references)
    texts = tuple(" ".join(words) for words in spoken)
    confidence = np.ones(len(kept.word), np.float32) if kept.posterior is None else kept.posterior
    origin = replace(kept.origin, equate=str(_equated(kept, references, how)))
    inspect(replace(kept, notes={**kept.notes, REFERENCE: texts}, origin=origin), confidence, one_best(kept))


def _has_scores(lattices: Lattices) -> bool:
    return lattices.acoustic is not None or lattices.transition is not None


def _missed(references: Mapping[str, Reference], seen: set[str], parts: Sequence[Evaluation]) -> list[Evaluation]:
    """Recordings of an STM that nothing was recognized in."""
    lacking = [
        reference for utt, reference in references.items() if reference.channel is not None and utt not in seen
    ]
    if not lacking or not parts:
        return []
    missed = missed_segments(lacking)
    nothing = Scores.of(np.zeros(0), np.zeros(0, np.bool_), ())
    scores = dict.fromkeys(parts[0].scores, nothing)
    output = OutputWords.of(np.zeros(0), missed.alignments, missed.speakers) if scores else None
    errors = {ONE_BEST: SpeakerErrors.of(missed.alignments, missed.speakers)}
    return [Evaluation(len(lacking), errors, scores, output=output)]


def _evaluate_words(lattices: Lattices, references: Mapping[str, Reference], how: Comparison) -> Evaluation:
    chosen = [references[utt] for utt in lattices.utts]
    try:
        if _by_segments(chosen, how):
            return _evaluate_segments(lattices, [reference.in_segments() for reference in chosen], how)
        return _evaluate_plain(lattices, chosen, _equated(lattices, references, how))
    except InputError as error:
        raise error.at(file=lattices.origin.file) from None


def _by_segments(chosen: Sequence[Reference], how: Comparison) -> bool:
    """Whether words are compared as NIST's programs do."""
    return how.rules == "sclite" or how.glm is not None or any(reference.segments for reference in chosen)


def _equated(lattices: Lattices, references: Mapping[str, Reference], how: Comparison) -> Equate:
    """The spellings that count as the same: none where words are compared as NIST's programs do."""
    if _by_segments([references[utt] for utt in lattices.utts], how):
        return NONE
    return equated_words(references, ALL if how.equate is None else how.equate)


def _evaluate_segments(lattices: Lattices, references: Sequence[Reference], how: Comparison) -> Evaluation:
    confidence = None
    if lattices.posterior is not None:
        confidence = as_written(lattices.posterior.astype(np.float64))
        if lattices.origin.format != "ctm":  # there, words have the confidences that are written beside them
            paths, shown = one_best_words(lattices)
            confidence[paths.arcs_in(lattices)] = shown
    compared = compare_segments(lattices, references, confidence, how)
    alignments, speakers = compared.alignments, compared.speakers
    scores, output = {}, None
    if confidence is not None:
        words = Scores.of(compared.confidence, alignments.correct, speakers, alignments.offsets)
        scores[ONE_BEST, CONFIDENCE] = words
        output = OutputWords.of(compared.confidence, alignments, speakers)
    return Evaluation(len(lattices), {ONE_BEST: SpeakerErrors.of(alignments, speakers)}, scores, output=output)


def _evaluate_plain(lattices: Lattices, references: Sequence[Reference], equate: Equate) -> Evaluation:
    speakers = [reference.speaker_or_utt for reference in references]
    words, scores = ReferenceWords.of([reference.words for reference in references], lattices, equate), {}
    paths, confidence, output = one_best(lattices), None, None
    if lattices.posterior is not None:
        paths, confidence = one_best_words(lattices)
    strict, alignments = (score_paths(lattices, paths, said).alignments for said in (words.strict, words))
    if confidence is not None:
        is_word = lattices.word[paths.arcs_in(lattices)] > 0
        scores[ONE_BEST, CONFIDENCE] = Scores.of(
            confidence[is_word], alignments.correct, speakers, alignments.offsets
        )
        output = OutputWords.of(confidence[is_word], alignments, speakers)
    lenient = {ONE_BEST: SpeakerErrors.of(alignments, speakers)} if equate else {}
    return Evaluation(
        len(lattices), {ONE_BEST: SpeakerErrors.of(strict, speakers)}, scores, lenient=lenient, output=output
    )


def with_confidences(batch: Lattices, problems: Problems) -> Lattices:
    """The batch if its words have confidences; else an empty one, and its utterances go to `problems`."""
    if batch.posterior is not None:
        return batch
    if _has_scores(batch):
        found, remedy = "this is a lattice with scores but no confidences", "Make networks of it: wordtrust build"
    else:
        found = "the utterance has no confidences, or not for all of its words"
        remedy = "Let the recognizer write one for every word, or go on without the utterance (--skip-bad)"
    for lattice in batch:
        problems.report(InputError(found, file=lattice.origin.file, utt=lattice.utt, remedy=remedy))
    return batch[:0]


def one_best_words(lattices: Lattices) -> tuple[Paths, Reals]:
    """The 1-best of each utterance, and the confidence of every arc on it; that of silence is meaningless."""
    assert lattices.posterior is not None
    paths = one_best(lattices)
    return paths, as_written(word_confidence(lattices, lattices.posterior, paths))


def as_written(confidence: Reals) -> Reals:
    """The decimal number that a float32 was read from: a threshold of 0.98 must accept words that say 0.98."""
    positive = np.maximum(confidence, 1e-12)
    scale = 10.0 ** np.clip(_DIGITS - 1 - np.floor(np.log10(positive)), 0, 22)  # exact powers, for exact decimals
    return np.asarray(np.rint(confidence * scale) / scale)
