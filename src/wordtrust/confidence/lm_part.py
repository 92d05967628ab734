"""What a model has for networks that a language model has read: a file in its folder, beside the rest of it.

The network itself knows nothing of language models. Trees beside it do (`trees`): other ones than without, with a
calibration and a way to choose words of their own. They were fitted to what one language model says, which is known
again by what it says of some sentences (`language_models.fingerprint`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..base.errors import InputError, OptionError
from ..base.json_checks import list_of, number, object_of, string
from ..base.tensors import read_tensors, write_tensors
from .estimation.held_out import KnownOfOutputs
from .model_card import ModelCard
from .model_file import Model, in_half
from .trees import Trees

if TYPE_CHECKING:
    from ..language_models.evidence import LanguageEvidence

FILE = "lm.safetensors"
KIND, VERSION = "wordtrust model with a language model", 1
CHOSEN = ("choice", "calibration", "error_estimator", "accept")  # fields of a card that differ with a language model
_DAMAGED = "The file is damaged or from another version: get the model again, or fit it again"


@dataclass(frozen=True, slots=True)
class FittedLanguageModel:
    """The language model that something was fitted with."""

    name: str
    paths: int  # best sentences of each network that it read
    weight: float  # of its log-probabilities against posteriors
    fingerprint: tuple[float, ...]

    @classmethod
    def of(cls, evidence: LanguageEvidence) -> Self:
        """One at work."""
        from ..language_models.fingerprint import fingerprint

        about = evidence.to_json()
        return cls(
            Path(evidence.model.name).name, evidence.k, float(str(about["weight"])), fingerprint(evidence.model)
        )

    def is_like(self, other: FittedLanguageModel) -> bool:
        """Whether another one says the same of as many sentences."""
        from ..language_models.fingerprint import is_same

        reads_alike = (self.paths, self.weight) == (other.paths, other.weight)
        return reads_alike and is_same(self.fingerprint, other.fingerprint)

    def check(self, other: FittedLanguageModel, model: str) -> None:
        """Raise an `OptionError` unless this is the one, and reads as many sentences."""
        from ..language_models.fingerprint import is_same

        if not is_same(self.fingerprint, other.fingerprint):
            raise OptionError(
                f"{model} was fitted with the language model {self.name}; {other.name} says other things. Use that "
                "one, fit a model with this one (wordtrust study DATA --lm), or try it all the same "
                "(--allow-mismatch; allow_mismatch=True)"
            )
        if not self.is_like(other):
            raise OptionError(f"{model} was fitted with the {self.paths} best sentences, not with {other.paths}")

    def to_json(self) -> dict[str, Any]:
        """For the file."""
        about = {"name": self.name, "paths": self.paths, "weight": self.weight}
        return about | {"fingerprint": list(self.fingerprint)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Self:
        """What `to_json` wrote."""
        where = "language_model"
        said = [{"value": value} for value in list_of(record, "fingerprint", where)]
        return cls(
            string(record, "name", where), int(number(record, "paths", where)), number(record, "weight", where),
            tuple(number(value, "value", f"{where}.fingerprint") for value in said),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class LanguageModelPart:
    """All that differs where a language model reads."""

    language_model: FittedLanguageModel
    trees: Trees
    card: ModelCard  # with what was chosen for these trees (see CHOSEN), and no more

    @classmethod
    def of(cls, language_model: FittedLanguageModel, calibrated: Model) -> Self:
        """What a model has that was calibrated with such trees."""
        assert calibrated.trees is not None
        chosen = {name: getattr(calibrated.card, name) for name in CHOSEN}
        if chosen["calibration"] is not None:  # posteriors are what they are without
            parts = chosen["calibration"].items()
            chosen["calibration"] = {part: fitted for part, fitted in parts if not part.startswith("posterior")}
        return cls(language_model, calibrated.trees, ModelCard(**chosen))

    def applied(self, model: Model) -> Model:
        """The model as it is for networks that the language model has read."""
        chosen = {name: getattr(self.card, name) for name in CHOSEN}
        if self.card.calibration is not None:
            chosen["calibration"] = {**(model.card.calibration or {}), **self.card.calibration}
        return replace(model, trees=self.trees, card=replace(model.card, choice_errors={}, **chosen))

    def save(self, folder: Path) -> None:
        """Write the file into the folder of the model."""
        arrays = {name: in_half(values) for name, values in self.trees.arrays().items()}
        about = {"kind": KIND, "version": VERSION, "language_model": self.language_model.to_json()}
        write_tensors(folder / FILE, arrays, {**about, "trees": self.trees.to_json(), "card": self.card.to_json()})

    @classmethod
    def load(cls, folder: Path, model: Model) -> Self | None:
        """That of a model in its folder, if it has one; what does not fit together is an `InputError`."""
        path = folder / FILE
        if not path.exists():
            return None
        with _damaged(path):
            arrays, about = read_tensors(path)
            known = LanguageModelCard.of(about)
            trees = Trees.from_arrays(about["trees"], arrays, len(model.config.columns))
            return cls(known.language_model, trees, known.card)


class ReadBy(NamedTuple):
    """The language model that reads for a model: the one that it was fitted with, or another one instead of it."""

    name: str
    fitted_with: str | None = (
        None  # these where it is another one: the name of the one that the model was fitted with,
    )
    here: FittedLanguageModel | None = None  # and what the one here is known by


def without_promises(model: Model) -> Model:
    """The model, used with a language model that it was not fitted with: what held with the other one is not said."""
    known = KnownOfOutputs.of_model(model.card).without_promises()
    estimator = None if known.estimator is None else known.estimator.to_dict()
    return replace(model, card=replace(model.card, error_estimator=estimator, accept=()))


class LanguageModelCard(NamedTuple):
    """What a model knows about its words where a language model reads, without the trees."""

    language_model: FittedLanguageModel
    card: ModelCard

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> Self:
        """What the file says beside its arrays."""
        if about.get("kind") != KIND or about.get("version") != VERSION:
            raise ValueError(f"does not say that it is a {KIND} of version {VERSION}")
        language_model = FittedLanguageModel.from_json(dict(object_of(about, "language_model")))
        return cls(language_model, ModelCard.from_json(object_of(about, "card")))

    @classmethod
    def load(cls, folder: Path) -> Self | None:
        """That of a model in its folder, if it has one."""
        path = folder / FILE
        if not path.exists():
            return None
        with _damaged(path):
            return cls.of(read_tensors(path)[1])


@contextmanager
def _damaged(path: Path) -> Iterator[None]:
    """What does not fit together is an `InputError` that names the file."""
    try:
        yield
    except InputError as error:
        raise InputError(error.found, file=str(path), remedy=error.remedy or _DAMAGED) from None
    except (OptionError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"not whole: {error}", file=str(path), remedy=_DAMAGED) from None
