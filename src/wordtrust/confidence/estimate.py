"""The word error rate of outputs without references: expected errors of utterances, files, speakers and a corpus.

wt.estimate("words.json").corpus.wer
wt.estimate("words.jsonl", "whisper-base", speakers={"call-1": "anna"}).utterances[0].interval
wt.estimate(scorer(lattices), scorer)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import InputError, OptionError
from ..evaluation.output_words import OutputWords
from ..formats.transcript.records import MODELS, language_models_of
from ..transcripts.reader import TranscriptSource, transcript_sources
from ..transcripts.transcript import Transcript
from .calibrate_scores import CalibratedWords
from .calibrator_file import is_calibrator
from .estimation.error_estimator import ErrorEstimator, ExpectedErrors
from .estimation.held_out import KnownOfOutputs
from .estimation.speaker_intervals import LEVEL, check_level
from .estimation.utterances import KeptUtterance, OutputUtterance, OutputUtterances, output_utterances
from .joint_outputs import is_combination, known_of_joint
from .lm_part import LanguageModelCard
from .model_file import load_card
from .shipped import folder_of, is_model
from .word_scorer import WordScorer

_LEAST_SPEAKERS = "the model was calibrated on too few speakers for intervals of this level"
_NO_INTERVALS = "the model knows no errors of held-out speakers, so there are no intervals: calibrate it anew"
_NO_DELETIONS = "the model does not know how many words are missing: only wrong words are counted; calibrate it anew"


class Estimate(NamedTuple):
    """The expected errors of something that was said, and its word error rate with an interval."""

    name: str
    utterances: int
    words: int  # of the output
    substitutions: float
    insertions: float
    deletions: float
    reference_words: float
    wer: float
    interval: tuple[float, float] | None = None  # None where the model cannot tell

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what is unknown is left out."""
        rounded = {
            name: round(getattr(self, name), 6)
            for name in ("wer", "substitutions", "insertions", "deletions", "reference_words")
        }
        ends = {} if self.interval is None else {"interval": [round(end, 6) for end in self.interval]}
        return {"utterances": self.utterances, "words": self.words, **rounded, **ends}


@dataclass(frozen=True, eq=False)
class EstimateTable(Sequence[Estimate]):
    """Estimates in columns, a row for each; a row is made an `Estimate` when somebody asks for it."""

    names: Sequence[str]
    sizes: NDArray[np.int64]  # utterances
    expected: ExpectedErrors
    wer: Reals
    intervals: Reals | None  # [rows, 2]; None where the model cannot tell

    @classmethod
    def of(cls, names: Sequence[str], sizes: NDArray[np.int64], expected: ExpectedErrors, offs: Reals | None) -> Self:
        """Given how far each rate may be off, below and above."""
        wer = expected.wer
        return cls(names, sizes, expected, wer, None if offs is None else np.maximum(wer[:, np.newaxis] + offs, 0.0))

    @cached_property
    def rows(self) -> tuple[Estimate, ...]:
        """All of them."""
        expected = self.expected
        ends: list[tuple[float, float] | None] = [None] * len(self)
        if self.intervals is not None:
            ends = [*zip(*self.intervals.T.tolist(), strict=True)]
        columns = zip(
            self.names, self.sizes.tolist(), expected.words.astype(np.int64).tolist(),
            expected.substitutions.tolist(), expected.insertions.tolist(), expected.deletions.tolist(),
            expected.reference_words.tolist(), self.wer.tolist(), ends, strict=True,
        )  # fmt: skip
        return tuple(map(Estimate._make, columns))

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Estimate: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Estimate, ...]: ...

    def __getitem__(self, index: int | slice) -> Estimate | tuple[Estimate, ...]:
        return self.rows[index]

    def __iter__(self) -> Iterator[Estimate]:
        return iter(self.rows)

    def __eq__(self, other: object) -> bool:
        return self.rows == (other.rows if isinstance(other, EstimateTable) else other)

    def __hash__(self) -> int:
        return hash(self.rows)

    def __repr__(self) -> str:
        return repr(self.rows)


@dataclass(frozen=True)
class Estimates:
    """Expected errors by utterance, and in sums."""

    spoken: Sequence[OutputUtterance]
    estimator: ErrorEstimator
    level: float = LEVEL
    warnings: tuple[str, ...] = field(default=())

    @cached_property
    def _outputs(self) -> OutputUtterances:
        return OutputUtterances.of(self.spoken)

    @property
    def output(self) -> OutputWords:
        """The words of all utterances."""
        return self._outputs.words

    @cached_property
    def expected(self) -> ExpectedErrors:
        """Of each utterance."""
        return self.estimator.expected(self.output)

    @cached_property
    def utterances(self) -> Sequence[Estimate]:
        """Of each utterance, in their order."""
        offs = self.estimator.off(self.expected, self.level, of_utterances=True)
        return EstimateTable.of(self._outputs.utts, np.ones(len(self.spoken), np.int64), self.expected, offs)

    @cached_property
    def speakers(self) -> Sequence[Estimate]:
        """Of each speaker, sorted by name."""
        return self._groups(*self._speakers)

    @cached_property
    def recordings(self) -> Sequence[Estimate]:
        """Of each recording, or utterance: all that has the same name, sorted by it."""
        return self._groups(*_numbered(self._outputs.utts))

    @cached_property
    def files(self) -> Sequence[Estimate]:
        """Of each file, sorted by name."""
        return self._groups(*_numbered([utterance.file for utterance in self.spoken]))

    @cached_property
    def corpus(self) -> Estimate:
        """Of all together."""
        return self._groups(["all"], np.zeros(len(self.spoken), np.int64))[0]

    @cached_property
    def _speakers(self) -> tuple[list[str], NDArray[np.int64]]:
        return _numbered(self.output.speakers)

    def _groups(self, names: Sequence[str], group: NDArray[np.int64]) -> Sequence[Estimate]:
        """The estimates of groups of utterances, given the group of each; speakers are what varies."""
        by_group = self.expected.summed(group, len(names))
        sizes = np.bincount(group, minlength=len(names))
        return EstimateTable.of(names, sizes, by_group, self._offs(group, by_group))

    def _offs(self, group: NDArray[np.int64], by_group: ExpectedErrors) -> NDArray[np.float64] | None:
        """[groups, 2] how far the rate of each group may be off, below and above."""
        residuals, offs = self.estimator.of_speakers, self.estimator.off(by_group, self.level)
        if residuals is None or offs is None:
            return None
        names, speaker = self._speakers
        pairs, unit = np.unique(group * len(names) + speaker, return_inverse=True)
        owner = pairs // len(names)
        by_unit = self.expected.summed(unit, len(pairs))  # the speakers of each group
        scale = self.estimator.spread(by_unit) * np.maximum(by_unit.reference_words, 1.0)
        several = np.bincount(owner, minlength=len(by_group.words)) > 1
        if several.any():
            drawn = residuals.of_groups(scale, owner, len(by_group.words), self.level)
            words = np.maximum(by_group.reference_words, 1.0)[:, np.newaxis]
            offs = np.where(several[:, np.newaxis], drawn / words, offs)
        return np.asarray(offs)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        made: dict[str, Any] = {
            "level": self.level,
            "corpus": self.corpus.to_dict() | {"speakers": len(self.speakers)},
            "files": {each.name: each.to_dict() for each in self.files},
            "speakers": {each.name: each.to_dict() for each in self.speakers},
            "utterances": [
                {
                    "utt": spoken.utt,
                    "file": spoken.file,
                    "speaker": spoken.speaker,
                    **_times(spoken),
                    **each.to_dict(),
                }
                for spoken, each in zip(self.spoken, self.utterances, strict=True)
            ],
        }
        return made | ({"warnings": list(self.warnings)} if self.warnings else {})


def estimate(
    outputs: Iterable[Transcript] | str | Path | Sequence[str | Path],
    model: WordScorer | CalibratedWords | str | Path | None = None,
    *,
    speakers: Mapping[str, str] | None = None,
    level: float = LEVEL,
) -> Estimates:
    """Estimate the errors of transcripts, or of files of them (`wordtrust score`, `transcribe`), without references.

    `model` is what gave the words their confidences: a scorer, a model folder, a shipped model, the file of a
    calibrator, or a combination with a joint network; None takes the one that the files name. `speakers` says who
    spoke, by the name of the utterance or recording; without it each is a speaker of its own. Intervals hold with the
    probability `level` for new speakers like those that the model was calibrated on.
    """
    spoken: Sequence[OutputUtterance]
    if isinstance(outputs, str | Path) or _are_paths(outputs):
        spoken, made_by = read_outputs(transcript_sources(outputs), speakers)  # type: ignore[arg-type]  # paths
    else:
        spoken, made_by = _heard(outputs, speakers), MadeBy()  # type: ignore[arg-type]  # no path
        made_by.add(getattr(outputs, "about", {}))
    return estimates_of(spoken, made_by.known(model), level)


def estimates_of(spoken: Sequence[OutputUtterance], known: KnownOfOutputs, level: float = LEVEL) -> Estimates:
    """The estimates of these utterances, by what is known of the outputs of a model."""
    check_level(level)
    if not spoken:
        raise OptionError("there are no utterances to estimate the errors of")
    estimator = known.estimator or ErrorEstimator()
    outputs = OutputUtterances.of(spoken)
    warnings = [] if estimator.knows_deletions(outputs.words) else [_NO_DELETIONS]
    if estimator.of_speakers is None:
        warnings.append(_NO_INTERVALS)
    elif estimator.of_speakers.interval(level) is None:
        warnings.append(_LEAST_SPEAKERS)
    return Estimates(outputs, estimator, level, tuple(warnings))


def known_of(model: WordScorer | CalibratedWords | str | Path, language_model: str | None = None) -> KnownOfOutputs:
    """What a model, a joint network or the file of a calibrator knows about its outputs.

    With `language_model`, about those that this one has read.
    """
    if isinstance(model, CalibratedWords):
        return model.known
    if isinstance(model, WordScorer):
        return model.known
    if Path(model).is_file():
        return CalibratedWords.load(Path(model)).known
    if is_combination(model):
        return known_of_joint(model)
    part = None if language_model is None else LanguageModelCard.load(folder_of(model))
    if part is None:
        return KnownOfOutputs.of_model(load_card(model))
    known = KnownOfOutputs.of_model(part.card)
    return known if part.language_model.name == language_model else known.without_promises()


class MadeBy:
    """What gave the words of transcripts their confidences, as files say it."""

    def __init__(self) -> None:
        self._models: list[str] = []
        self._language_models: list[str | None] = []

    def add(self, about: Mapping[str, Any]) -> None:
        """What one file says, or the transcripts of one run."""
        models = about.get(MODELS)
        self._models += [str(name) for name in models] if isinstance(models, list | tuple) else []
        self._language_models += language_models_of(about)

    def model(self) -> str:
        """The one model that all name (see `named_model`)."""
        return named_model(self._models)

    def known(self, model: WordScorer | CalibratedWords | str | Path | None = None) -> KnownOfOutputs:
        """What that model knows about such outputs, or another one that somebody names instead."""
        distinct = list(dict.fromkeys(self._language_models)) or [None]
        if len(distinct) > 1:
            names = ", ".join("without" if name is None else f"with {name}" for name in distinct)
            raise OptionError(f"transcripts with and without a language model are estimated apart: some are {names}")
        return known_of(self.model() if model is None else model, distinct[0])


def named_model(names: Iterable[str]) -> str:
    """The one model that files of transcripts name; an `OptionError` that says what to do if that is not clear."""
    distinct = sorted(set(names))
    if len(distinct) != 1:
        several = f"these transcripts are of {', '.join(distinct)}" if distinct else "the transcripts name no model"
        raise OptionError(f"{several}: name the MODEL that gave the words their confidences before them")
    if not any((is_model(distinct[0]), is_calibrator(Path(distinct[0])), is_combination(distinct[0]))):
        raise OptionError(
            f"the transcripts were made with {distinct[0]}, which is not here: name MODEL or calibrator first"
        )
    return distinct[0]


def read_outputs(
    sources: Iterable[TranscriptSource], speakers: Mapping[str, str] | None = None
) -> tuple[list[KeptUtterance], MadeBy]:
    """What estimates are made from, of files of transcripts, and what these say gave their words confidences."""
    spoken, made_by = list[KeptUtterance](), MadeBy()
    for source in sources:
        if source.about.get("calibrated") is False:
            raise InputError(
                "the confidences are another program's, and say nothing about errors until they are calibrated",
                file=source.name,
                remedy="Calibrate them (wordtrust calibrate --scores), then: wordtrust estimate CALIBRATOR FILE",
            )
        spoken += output_utterances(source.transcripts, source.name, speakers)
        made_by.add(source.about)  # lines of .jsonl have said it one by one
    return spoken, made_by


def _heard(transcripts: Iterable[Transcript], speakers: Mapping[str, str] | None) -> Sequence[OutputUtterance]:
    """Of a stream of transcripts, only what is needed is kept."""
    if isinstance(transcripts, list | tuple):
        return OutputUtterances.of_transcripts(transcripts, "", speakers)
    return list(output_utterances(transcripts, "", speakers))


def _are_paths(outputs: Any) -> bool:
    return isinstance(outputs, list | tuple) and bool(outputs) and isinstance(outputs[0], str | Path)


def _times(spoken: OutputUtterance) -> dict[str, float]:
    if spoken.start is None or spoken.end is None:
        return {}
    return {"start": round(spoken.start, 3), "end": round(spoken.end, 3)}


def _numbered(names: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    distinct = sorted(set(names))
    index = {name: number for number, name in enumerate(distinct)}
    return distinct, np.array([index[name] for name in names], np.int64)
