"""What a model is made of: everything about it that is not a weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from ..base.errors import OptionError

CELLS = ("lstm",)
MERGES = ("mean", "posterior")
DROPPED = {"cell": ("gru",), "merge": ("max", "attention")}  # by field: what models of wordtrust 0.1.0 could have
EMBEDDINGS = ("hashed", "table", "none")
HEADS = {"independent": 1, "normalised": 2}  # numbers that a model gives for an arc
GAP_INPUTS = 13  # numbers about a gap between two words (see `gap_inputs`)
GATES = 4  # of an LSTM: input, forget, cell, output
IDENTITY = "recognizer:"  # begins the names of columns that say whose network it is (see `together`)
GENERIC = "generic"  # the name of a model for recognizers that nobody has seen
LARGEST = 100_000


@dataclass(frozen=True, slots=True)
class Config:
    """Sizes and kinds of a lattice RNN. The defaults are in the range of the paper."""

    cell: str = "lstm"
    merge: str = "mean"  # how the states of the arcs that enter a node become its state
    state: int = 128
    hidden: int = 32
    embedding: str = "hashed"  # learned from character n-grams; `table`: from a file; or none
    dimension: int = 25  # of the embedding
    buckets: int = 8192  # of hashed n-grams
    columns: tuple[str, ...] = ()  # features, in order
    skip: bool = True  # the posterior goes straight to the output as well
    head: str = "independent"  # a sigmoid for each arc, or shares of all paths (see `normalise`)
    gap: int = 0  # size of the hidden layer that tells where words are missing; 0: the model does not tell

    def __post_init__(self) -> None:
        for name, choices in (("cell", CELLS), ("merge", MERGES), ("embedding", EMBEDDINGS), ("head", tuple(HEADS))):
            check_choice(name, getattr(self, name), choices)
        for name in ("state", "hidden", "dimension", "buckets"):
            if not (isinstance(getattr(self, name), int) and 1 <= getattr(self, name) <= LARGEST):
                raise OptionError(f"{name} is a whole number from 1 to {LARGEST}, not {getattr(self, name)!r}")
        if not (isinstance(self.gap, int) and 0 <= self.gap <= LARGEST):
            raise OptionError(f"gap is a whole number from 0 to {LARGEST}, not {self.gap!r}")

    @property
    def gates(self) -> int:
        """How many numbers a cell takes for each of its gates together."""
        return GATES * self.state

    @property
    def outputs(self) -> int:
        """Numbers that a model gives for an arc."""
        return HEADS[self.head]

    @property
    def inputs(self) -> int:
        """Numbers that a cell sees of an arc."""
        return len(self.columns) + (0 if self.embedding == "none" else self.dimension)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        record = asdict(self) | {"columns": list(self.columns)}
        return {name: value for name, value in record.items() if name != "gap" or value}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Self:
        """From JSON; anything that does not fit is an `OptionError`."""
        names = {field.name for field in fields(cls)}
        record = {"head": "independent", "gap": 0, **record}  # models made before there was another
        if set(record) != names or not isinstance(record["columns"], list):
            raise OptionError(
                f"a model has {', '.join(sorted(names))}; found {', '.join(sorted(map(str, record)))[:300]}"
            )
        return cls(**{**record, "columns": tuple(map(str, record["columns"])), "skip": bool(record["skip"])})


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise an `OptionError` unless the value is one of the choices; it names variants that no longer exist."""
    if value in choices:
        return
    dropped = f"; {value} was dropped: use {choices[0]}" if value in DROPPED.get(name, ()) else ""
    raise OptionError(f"{name} is one of {', '.join(choices)}, not {value!r}{dropped}")


def weight_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """The name and shape of every weight of a model."""
    shapes: dict[str, tuple[int, ...]] = {}
    if config.embedding == "hashed":
        shapes["embedding.weight"] = (config.buckets, config.dimension)
    for direction in ("forwards.", "backwards."):
        shapes[direction + "input.weight"] = (config.gates, config.inputs)
        shapes[direction + "recurrent.weight"] = (config.gates, config.state)
        shapes |= dict.fromkeys((direction + "input.bias", direction + "recurrent.bias"), (config.gates,))
    shapes["hidden.weight"], shapes["hidden.bias"] = (config.hidden, 2 * config.state), (config.hidden,)
    shapes["output.weight"], shapes["output.bias"] = (config.outputs, config.hidden), (config.outputs,)
    return shapes | ({"skip": (config.outputs,)} if config.skip else {}) | (_gap_shapes(config) if config.gap else {})


def _gap_shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Of the head for missing words: two words and what is known of the gap, a hidden layer, a logit."""
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(
        ("gap.before.weight", "gap.after.weight"), (config.gap, config.hidden)
    )
    shapes["gap.inputs.weight"], shapes["gap.inputs.bias"] = (config.gap, GAP_INPUTS), (config.gap,)
    return shapes | {"gap.output.weight": (1, config.gap), "gap.output.bias": (1,)}
