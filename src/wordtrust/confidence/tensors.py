"""The parts of a model as arrays of a safetensors file (`base.tensors`): its table of words, its statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.tensors import Arrays, typed
from .features import Statistics
from .phones import RULES
from .word_table import WordTable


def table_arrays(table: WordTable) -> dict[str, NDArray[Any]]:
    """A table of words as arrays, the words themselves as text with a line for each."""
    text = "\n".join(table.words).encode("utf-8", "surrogatepass")
    arrays: dict[str, NDArray[Any]] = {"words.text": np.frombuffer(text, np.uint8)}
    arrays["words.phone_rules"] = np.array([table.phone_rules], np.uint8)
    if table.phones is not None:
        arrays["words.phones"] = np.minimum(table.phones, 255).astype(np.uint8)
    if table.mass is not None:
        arrays["words.mass"] = table.mass.astype(np.float32)
    if table.vectors is not None:
        arrays["words.vectors"] = table.vectors.astype(np.float16)
    return arrays


def with_heard_only(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """The same with the mass of words that were heard only, and a bit for every word that says whether it was."""
    if "words.mass" not in arrays:
        return dict(arrays)
    mass = arrays["words.mass"]
    return {**arrays, "words.heard": np.packbits(mass != 0), "words.mass": mass[mass != 0]}


def _all_mass(arrays: Arrays, rows: int) -> Arrays:
    """The mass of every word again."""
    if "words.heard" not in arrays:
        return arrays
    heard = np.unpackbits(typed(arrays, "words.heard", np.uint8))[:rows].astype(np.bool_)
    mass = np.zeros(len(heard), np.float32)
    mass[heard] = typed(arrays, "words.mass", np.float32)
    return {**arrays, "words.mass": mass}


def table_from(arrays: Arrays) -> WordTable:
    """The table again; a `KeyError` or `ValueError` where something does not fit."""
    text = arrays["words.text"].tobytes().decode("utf-8", "surrogatepass")
    words = tuple(text.split("\n")) if text else ()
    arrays = _all_mass(arrays, len(words))
    table = WordTable(
        words,
        phones=_column(arrays, "words.phones", len(words), np.int32, 1),
        mass=_column(arrays, "words.mass", len(words), np.float32, 1),
        vectors=_column(arrays, "words.vectors", len(words), np.float32, 2),
        phone_rules=_phone_rules(arrays),
    )
    if len(set(words)) != len(words):
        raise ValueError("a word is in the table twice")
    return table


def _phone_rules(arrays: Arrays) -> int:
    """Older models do not say: they were trained with the first rules."""
    rules = typed(arrays, "words.phone_rules", np.uint8).tolist() if "words.phone_rules" in arrays else [1]
    if len(rules) != 1 or not 1 <= rules[0] <= RULES:
        raise ValueError(f"phones are estimated by the rules 1 to {RULES}, not by {rules}")
    return int(rules[0])


def _column(arrays: Arrays, name: str, rows: int, kind: type[np.generic], dimensions: int) -> Any:
    if name not in arrays:
        return None
    values = typed(arrays, name, kind)
    if values.ndim != dimensions or len(values) != rows or not np.isfinite(values).all():
        raise ValueError(f"{name} does not fit {rows} words")
    return values


def statistics_arrays(statistics: Statistics) -> dict[str, NDArray[Any]]:
    """Mean and standard deviation of the columns."""
    return {"statistics.mean": statistics.mean, "statistics.spread": statistics.std}


def statistics_from(arrays: Arrays, columns: tuple[str, ...]) -> Statistics:
    """The statistics of these columns again."""
    mean, std = (typed(arrays, f"statistics.{name}", np.float32) for name in ("mean", "spread"))
    if mean.shape != (len(columns),) or std.shape != mean.shape or not np.isfinite([*mean, *std]).all():
        raise ValueError(f"statistics do not fit {len(columns)} columns")
    if not (std > 0).all():
        raise ValueError("a column has no standard deviation")
    return Statistics(columns, mean, std)
