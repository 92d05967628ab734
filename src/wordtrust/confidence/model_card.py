"""What is known about a model besides its weights and sizes: the part of model.json that people may want to read.

`ModelCard.from_json` is the only place that reads it and `ModelCard.to_json` the only one that writes it. Keys that
this version does not know are kept. Needs nothing but numpy, because training from packed files must not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from ..base.errors import InputError, OptionError
from ..base.json_checks import list_of, number, object_of, objects_of, string, string_or_none
from ..lattices.lattice import Lattices
from ..lattices.weights import Scales
from .choice import Choice

JsonObject = Mapping[str, Any]


@dataclass(frozen=True)
class TrainingRecord:
    """How a model was trained. The options are those of `training.options` at the time, whatever they were."""

    options: JsonObject = field(default_factory=dict)

    @property
    def start(self) -> str:
        """The model whose weights the training began with, or nothing."""
        return str(self.options.get("start") or "")

    @property
    def left_out_fold(self) -> tuple[int, int] | None:
        """The number of folds, and the fold of speakers that was left out, if one was."""
        folds, fold = self.options.get("folds", 0), self.options.get("fold", 0)
        is_fold = isinstance(folds, int) and isinstance(fold, int) and 0 <= fold < folds
        return (folds, fold) if is_fold else None


@dataclass(frozen=True)
class CalibrationData:
    """What a calibration was fitted on; speakers are checksums of their names (`base.folds.speaker_id`)."""

    utterances: int
    words: int | None = None
    recognizers: int | None = None  # of a generic model
    speakers: tuple[int, ...] = ()

    @classmethod
    def from_json(cls, record: JsonObject) -> Self:
        """What `to_json` wrote."""
        counts = {
            name: int(number(record, name, "calibrated_on")) for name in ("words", "recognizers") if name in record
        }
        speakers = list_of(record, "speakers", "calibrated_on") if "speakers" in record else []
        if not all(isinstance(speaker, int) for speaker in speakers):
            raise InputError("calibrated_on.speakers are not all whole numbers")
        return cls(int(number(record, "utterances", "calibrated_on")), speakers=tuple(speakers), **counts)

    def to_json(self) -> dict[str, Any]:
        """For model.json."""
        counts = {"utterances": self.utterances, "words": self.words, "recognizers": self.recognizers}
        return {name: n for name, n in counts.items() if n is not None} | {"speakers": list(self.speakers)}


@dataclass(frozen=True)
class Adaptation:
    """Which recognizer's utterances the statistics of features were taken from."""

    utterances: int
    adapted_from: str | None  # the recognizer that the model was for before
    columns: tuple[str, ...]  # whose statistics were replaced

    @classmethod
    def from_json(cls, record: JsonObject) -> Self:
        """What `to_json` wrote."""
        columns = map(str, list_of(record, "columns", "adapted"))
        utterances = int(number(record, "utterances", "adapted"))
        return cls(utterances, string_or_none(record, "from", "adapted"), tuple(columns))

    def to_json(self) -> dict[str, Any]:
        """For model.json."""
        return {"utterances": self.utterances, "from": self.adapted_from, "columns": list(self.columns)}


@dataclass(frozen=True)
class PaperRecord:
    """What is special about a model of the paper's system."""

    differences: tuple[str, ...]  # from the paper
    kernel_widths: Mapping[str, float]  # the L of every part of the calibration

    @classmethod
    def from_json(cls, record: JsonObject) -> Self:
        """What `to_json` wrote."""
        widths = object_of(record, "L", "paper")
        return cls(
            tuple(map(str, list_of(record, "differences", "paper"))),
            {part: number(widths, part, "paper.L") for part in widths},
        )

    def to_json(self) -> dict[str, Any]:
        """For model.json."""
        return {"differences": list(self.differences), "L": dict(self.kernel_widths)}


@dataclass(frozen=True)
class ShippedCard:
    """The card of a model or combination that comes with wordtrust: data, licence, measures and limits, in words."""

    name: str
    recognizer: str  # what it is for
    data: str
    licence: Mapping[str, str]
    metrics: Mapping[str, JsonObject]  # by split, what `wordtrust evaluate` or `wordtrust combine` printed
    limits: tuple[str, ...]
    made: JsonObject  # by which wordtrust, with which training options, and so on
    unseen: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # measures by recognizer, if generic

    @classmethod
    def from_json(cls, record: JsonObject) -> Self:
        """What `to_json` wrote."""
        return cls(
            name=string(record, "name", "card"),
            recognizer=string(record, "recognizer", "card"),
            data=string(record, "data", "card"),
            licence=object_of(record, "licence", "card"),
            metrics=object_of(record, "metrics", "card"),
            limits=tuple(map(str, list_of(record, "limits", "card"))),
            made=object_of(record, "made", "card"),
            unseen=object_of(record, "unseen", "card") if "unseen" in record else {},
        )

    def to_json(self) -> dict[str, Any]:
        """For model.json or card.json."""
        made = asdict(self) | {"limits": list(self.limits)}
        return {name: value for name, value in made.items() if name != "unseen" or value}


@dataclass(frozen=True)
class ModelCard:
    """What is known about a model."""

    recognizer: str | None = None  # that it was trained for, or adapted to
    is_generic: bool = False  # for recognizers it was not trained on: may lack columns, and wants to be adapted
    tolerance: float | None = None  # seconds within which nodes of its networks were merged
    scales: Scales | None = None  # of the posteriors of its networks
    features: str | None = None  # the feature set by name, or columns
    absent: tuple[str, ...] = ()  # columns of that set that the recognizer does not give
    labels: str | None = None  # the rule that made the labels
    equate: str = ""  # kinds of spellings that the labels equate, joined by commas
    silence_loss: bool | None = None
    training: TrainingRecord = TrainingRecord()
    metrics: Mapping[str, float] = field(default_factory=dict)  # on dev, by training: `dev_eer`, `dev_nce`
    trained_together: tuple[str, ...] = ()  # the recognizers that shared one training
    search: tuple[JsonObject, ...] = ()  # the trials of a search over sizes: options and metrics
    choice: Choice | None = None  # how words are chosen
    choice_errors: Mapping[str, int] = field(default_factory=dict)  # of every choice, when it was calibrated
    choice_errors_on_dev: Mapping[str, int] = field(default_factory=dict)  # and when it was trained
    calibration: JsonObject | None = None  # calibrators in their plain form, for `ModelCalibration`, by part
    usual_features: JsonObject | None = None  # in plain form, for `out_of_domain.UsualFeatures`
    calibrated_on: CalibrationData | None = None
    error_estimator: JsonObject | None = None  # in plain form, for `estimation.error_estimator.ErrorEstimator`
    accept: tuple[JsonObject, ...] = ()  # guaranteed thresholds, for `estimation.accepted.AcceptedPrecision`
    adapted: Adaptation | None = None
    unseen: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # a generic model on others' outputs
    paper: PaperRecord | None = None
    shipped: ShippedCard | None = None
    extra: JsonObject = field(default_factory=dict)  # keys that this version does not know

    @classmethod
    def of_networks(cls, networks: Lattices) -> Self:
        """What a model has to know of the networks it is trained on."""
        if networks.origin.tolerance is None:
            raise InputError(
                "these are lattices, not networks",
                file=networks.origin.file,
                remedy="Make networks with: wordtrust build LATTICES --ref REF.tsv --out STORE",
            )
        origin = networks.origin
        return cls(
            origin.recognizer or None, tolerance=origin.tolerance, scales=networks.scales, equate=origin.equate
        )

    @classmethod
    def from_json(cls, record: JsonObject) -> Self:
        """What `to_json` wrote; anything that does not fit is an `InputError`."""
        known = {name: entry.read(record, entry.key) for name, entry in _ENTRIES.items() if entry.key in record}
        keys = {entry.key for entry in _ENTRIES.values()}
        return cls(**known, extra={key: value for key, value in record.items() if key not in keys})

    def to_json(self) -> dict[str, Any]:
        """For model.json: the recognizer, and all else that is not as in an empty card."""
        given = {name: getattr(self, name) for name in _ENTRIES}
        written = {
            entry.key: entry.write(given[name])
            for name, entry in _ENTRIES.items()
            if name == "recognizer" or given[name] != getattr(_EMPTY, name)
        }
        return written | dict(self.extra)


@dataclass(frozen=True)
class _Entry:
    """A field of the card in model.json."""

    key: str
    read: Callable[[JsonObject, str], Any]
    write: Callable[[Any], Any] = lambda value: value


def _texts(record: JsonObject, key: str) -> tuple[str, ...]:
    return tuple(map(str, list_of(record, key)))


def _part(key: str, kind: type[CalibrationData | Adaptation | PaperRecord | ShippedCard]) -> _Entry:
    return _Entry(key, lambda record, key: kind.from_json(object_of(record, key)), lambda part: part.to_json())


def _about_networks(read: Callable[[Any], Any]) -> Callable[[JsonObject, str], Any]:
    """Reads an entry without which networks cannot be built as those of the training, nor words chosen."""

    def checked(record: JsonObject, key: str) -> Any:
        try:
            return read(record[key])
        except (TypeError, ValueError, OverflowError, OptionError) as error:
            raise InputError(f"the model does not say how its networks are built: {error}") from None

    return checked


def _tolerance(value: Any) -> float:
    tolerance = float(value)
    if not 0 <= tolerance < np.inf:
        raise ValueError(f"a tolerance of {tolerance}")
    return tolerance


_ENTRIES: Mapping[str, _Entry] = {
    "recognizer": _Entry("recognizer", lambda record, key: str(record[key]) if record[key] else None),
    "is_generic": _Entry("generic", lambda record, key: record[key] is True),
    "tolerance": _Entry("tolerance", _about_networks(_tolerance)),
    "scales": _Entry("scales", _about_networks(lambda value: Scales(**value) if value else None), asdict),
    "features": _Entry("features", string_or_none),
    "absent": _Entry("absent", _texts, list),
    "labels": _Entry("labels", string_or_none),
    "equate": _Entry("equate", lambda record, key: string_or_none(record, key) or ""),
    "silence_loss": _Entry("silence_loss", lambda record, key: bool(record[key])),
    "training": _Entry(
        "training",
        lambda record, key: TrainingRecord(object_of(record, key)),
        lambda training: dict(training.options),
    ),
    "metrics": _Entry("metrics", object_of, dict),
    "trained_together": _Entry("trained_together", _texts, list),
    "search": _Entry("search", lambda record, key: tuple(objects_of(record, key)), list),
    "choice": _Entry("choice", _about_networks(lambda value: Choice(**value)), Choice.to_json),
    "choice_errors": _Entry("choice_errors", object_of, dict),
    "choice_errors_on_dev": _Entry("choice_errors_on_dev", object_of, dict),
    "calibration": _Entry("calibration", lambda record, key: record[key]),
    "usual_features": _Entry("familiar", lambda record, key: record[key]),
    "calibrated_on": _part("calibrated_on", CalibrationData),
    "error_estimator": _Entry("error_estimator", object_of),
    "accept": _Entry("accept", lambda record, key: tuple(objects_of(record, key)), list),
    "adapted": _part("adapted", Adaptation),
    "unseen": _Entry("unseen", object_of, dict),
    "paper": _part("paper", PaperRecord),
    "shipped": _part("card", ShippedCard),
}
_EMPTY = ModelCard()
