"""The `config.json` beside a Whisper model of CTranslate2: tokens never to say, and heads that tell times."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...base.errors import InputError
from ...base.json_checks import parse, record
from .weights import Sizes

_LARGEST = 1 << 20  # bytes


class Config(NamedTuple):
    """What decoding needs to know besides the weights."""

    suppressed: list[int]
    suppressed_first: list[int]
    heads: list[tuple[int, int]]  # (layer, head)


def read_config(folder: Path, sizes: Sizes) -> Config:
    """The configuration in a model's folder, checked against the model's sizes."""
    path = folder / "config.json"
    try:
        if not path.is_file():
            raise InputError("there is no such file", remedy="Copy it from the model's own folder")
        if path.stat().st_size > _LARGEST:
            raise InputError("far too large", remedy="Copy it from the model's own folder")
        found = record(parse(path.read_bytes()))
        return Config(
            _tokens(found, "suppress_ids", sizes), _tokens(found, "suppress_ids_begin", sizes), _heads(found, sizes)
        )
    except InputError as error:
        raise error.at(file=str(path)) from None


def _tokens(config: Mapping[str, Any], name: str, sizes: Sizes) -> list[int]:
    """Numbers of tokens; none where nothing is said of them."""
    found = config.get(name) or []
    if not isinstance(found, list) or not all(_is_below(each, sizes.vocabulary) for each in found):
        raise InputError(f"{name} is not a list of tokens below {sizes.vocabulary}")
    return found


def _heads(config: Mapping[str, Any], sizes: Sizes) -> list[tuple[int, int]]:
    """The published alignment heads; without them all heads of the upper half of the layers, as Whisper does."""
    found = config.get("alignment_heads")
    if found is None:
        upper = range(sizes.decoder_layers // 2, sizes.decoder_layers)
        return [(layer, head) for layer in upper for head in range(sizes.heads)]
    if not isinstance(found, list) or not found or not all(_is_head(each, sizes) for each in found):
        raise InputError("alignment_heads is not a list of [layer, head] of this model")
    return [(layer, head) for layer, head in found]


def _is_head(pair: object, sizes: Sizes) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and _is_below(pair[0], sizes.decoder_layers)
        and _is_below(pair[1], sizes.heads)
    )


def _is_below(value: object, limit: int) -> bool:
    return type(value) is int and 0 <= value < limit
