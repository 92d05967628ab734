"""A Whisper model as CTranslate2 stores it: the weights in `model.bin`, the settings in `config.json`, its name.

CTranslate2 searches, but does not tell how probable each token of a hypothesis was; our own pass over the decoder
does, and needs the weights. `model.bin` has a header, then each variable with its name, shape, type and bytes, then
aliases. Nothing in it is trusted: sizes are checked before anything is read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError
from ...base.json_checks import parse, record

VERSION = 6  # of the file format: since CTranslate2 2.0
MAX_CACHED = 1 << 30  # bytes in float32: a larger decoder is converted anew for every segment, layer by layer
_MAX_CONFIG = 1 << 20  # bytes
_TYPES = {0: "<f4", 1: "<i1", 2: "<i2", 3: "<i4", 4: "<f2"}  # by CTranslate2's type ids
_REQUIRED = {
    "decoder/embeddings/weight", "decoder/position_encodings/encodings", "decoder/num_heads", "encoder/conv1/weight",
}  # fmt: skip


class WhisperSizes(NamedTuple):
    """The dimensions of a Whisper model, which tell which one it is."""

    width: int
    encoder_layers: int
    decoder_layers: int
    heads: int  # of the decoder
    vocabulary: int
    mels: int


@dataclass(frozen=True, slots=True)
class WhisperWeights:
    """Variables of a model by name, converted to float32 when they are first used."""

    stored: Mapping[str, NDArray[Any]]
    sizes: WhisperSizes
    _cache: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        if name in self._cache:
            return self._cache[name]
        weights = self._to_float(name)
        if self._fits_cache:
            self._cache[name] = weights
        return weights

    def _to_float(self, name: str) -> NDArray[np.float32]:
        if name not in self.stored:
            remedy = "It is not a Whisper model as CTranslate2 writes them"
            raise InputError(f"model.bin has no {name}", remedy=remedy)
        values = self.stored[name].astype(np.float32)
        scale = self.stored.get(f"{name}_scale")  # of 8-bit and 16-bit integers
        if scale is None:
            return values
        per_row = scale.astype(np.float32).reshape(-1, *[1] * (values.ndim - 1))
        return np.divide(values, per_row, out=values)

    @property
    def _fits_cache(self) -> bool:
        decoder = (values.size for name, values in self.stored.items() if name.startswith("decoder/"))
        return 4 * sum(decoder) <= MAX_CACHED


def read_weights(folder: Path) -> WhisperWeights:
    """The weights in a folder with a Whisper model of CTranslate2; they stay on disk until used."""
    path = folder / "model.bin"
    if not path.is_file():
        remedy = "A folder as CTranslate2 writes them is needed"
        raise InputError("there is no model.bin", file=str(folder), remedy=remedy)
    if not path.stat().st_size:
        raise InputError("the file is empty", file=str(path))
    try:
        stored = _read_variables(_ByteReader(np.memmap(path, np.uint8, "r")))
        return WhisperWeights(stored, _sizes(stored))
    except (InputError, struct.error, UnicodeDecodeError, ValueError, IndexError) as error:
        message = error.found if isinstance(error, InputError) else "it ends too early or is damaged"
        raise InputError(message, file=str(path), remedy="Fetch or convert the model again") from None


class _ByteReader:
    """Reads the bytes of a file from its beginning."""

    def __init__(self, content: NDArray[np.uint8]) -> None:
        self._content = content
        self._offset = 0

    def take(self, size: int) -> NDArray[np.uint8]:
        if size > len(self._content) - self._offset:
            raise InputError("it ends too early")
        self._offset += size
        return self._content[self._offset - size : self._offset]

    def integer(self, code: str) -> int:
        return int(struct.unpack("<" + code, self.take(struct.calcsize("<" + code)).tobytes())[0])

    def string(self) -> str:
        return self.take(self.integer("H")).tobytes().rstrip(b"\0").decode()


def _read_variables(reader: _ByteReader) -> dict[str, NDArray[Any]]:
    version = reader.integer("I")
    if version != VERSION:
        raise InputError(f"this is version {version} of the file format of CTranslate2, or none; {VERSION} is known")
    kind = reader.string()
    if kind != "WhisperSpec":
        raise InputError(f"this is a {kind[:40]!r}, not a Whisper model")
    reader.integer("I")  # revision of the kind of model
    variables = {}
    for _ in range(reader.integer("I")):
        name = reader.string()
        variables[name] = _read_variable(reader, name)
    if not variables.keys() >= _REQUIRED:
        raise InputError("parts of a Whisper model are missing")
    return variables


def _read_variable(reader: _ByteReader, name: str) -> NDArray[Any]:
    shape = [reader.integer("I") for _ in range(reader.integer("B"))]
    type_id = reader.integer("B")
    size = reader.integer("I")
    if type_id not in _TYPES:
        raise InputError(f"{name[:80]} has numbers of type {type_id}", remedy="Convert the model to float16 or int8")
    if size != np.dtype(_TYPES[type_id]).itemsize * np.prod(shape, dtype=object):
        raise InputError(f"{name[:80]} has {size} bytes, which do not fit its shape")
    return np.frombuffer(reader.take(size), _TYPES[type_id]).reshape(shape)


def _sizes(stored: Mapping[str, NDArray[Any]]) -> WhisperSizes:
    vocabulary, width = stored["decoder/embeddings/weight"].shape
    sizes = WhisperSizes(
        width=width,
        encoder_layers=_count_layers(stored, "encoder"),
        decoder_layers=_count_layers(stored, "decoder"),
        heads=int(stored["decoder/num_heads"]),
        vocabulary=vocabulary,
        mels=stored["encoder/conv1/weight"].shape[1],
    )
    if min(sizes) < 1 or width % sizes.heads:
        raise InputError(f"its sizes make no sense: {sizes}")
    return sizes


def _count_layers(stored: Mapping[str, NDArray[Any]], part: str) -> int:
    names = (name.split("/") for name in stored if name.startswith(f"{part}/layer_") and name.count("/") > 2)
    return len({parts[1] for parts in names})


class WhisperConfig(NamedTuple):
    """What decoding needs to know besides the weights."""

    suppressed: list[int]  # tokens that are never written
    suppressed_first: list[int]  # tokens that are never written first
    heads: list[tuple[int, int]]  # (layer, head) of the cross-attention that follow the speech


def read_config(folder: Path, sizes: WhisperSizes) -> WhisperConfig:
    """The `config.json` in a model's folder, checked against the model's sizes."""
    path = folder / "config.json"
    try:
        if not path.is_file():
            raise InputError("there is no such file", remedy="Copy it from the model's own folder")
        if path.stat().st_size > _MAX_CONFIG:
            raise InputError("far too large", remedy="Copy it from the model's own folder")
        config = record(parse(path.read_bytes()))
        suppressed, first = (_tokens(config, name, sizes) for name in ("suppress_ids", "suppress_ids_begin"))
        return WhisperConfig(suppressed, first, _alignment_heads(config, sizes))
    except InputError as error:
        raise error.at(file=str(path)) from None


def _tokens(config: Mapping[str, Any], name: str, sizes: WhisperSizes) -> list[int]:
    """A list of token ids; empty where the configuration has none."""
    tokens = config.get(name) or []
    if not isinstance(tokens, list) or not all(_is_below(token, sizes.vocabulary) for token in tokens):
        raise InputError(f"{name} is not a list of tokens below {sizes.vocabulary}")
    return tokens


def _alignment_heads(config: Mapping[str, Any], sizes: WhisperSizes) -> list[tuple[int, int]]:
    """The published alignment heads; without them all heads of the upper half of the layers, as in Whisper itself."""
    heads = config.get("alignment_heads")
    if heads is None:
        upper = range(sizes.decoder_layers // 2, sizes.decoder_layers)
        return [(layer, head) for layer in upper for head in range(sizes.heads)]
    if not isinstance(heads, list) or not heads or not all(_is_head(pair, sizes) for pair in heads):
        raise InputError("alignment_heads is not a list of [layer, head] of this model")
    return [(layer, head) for layer, head in heads]


def _is_head(pair: object, sizes: WhisperSizes) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and _is_below(pair[0], sizes.decoder_layers)
        and _is_below(pair[1], sizes.heads)
    )


def _is_below(value: object, limit: int) -> bool:
    return type(value) is int and 0 <= value < limit


# (width, layers of the encoder, layers of the decoder)
_NAMES_BY_SIZE = {
    (384, 4, 4): "tiny",
    (512, 6, 6): "base",
    (768, 12, 12): "small",
    (768, 12, 4): "distil-small",
    (1024, 24, 24): "medium",
    (1024, 24, 2): "distil-medium",
    (1280, 32, 4): "large-v3-turbo",
    (1280, 32, 32): "large",
    (1280, 32, 2): "distil-large",
}
_VERSIONED = ("large", "distil-large")  # of one size, but in versions
_ALIASES = {"large": "large-v3", "turbo": "large-v3-turbo"}  # as faster-whisper takes them
_ENGLISH_VOCABULARY = 51_864  # one less than that of the first multilingual ones


def name_of_model(model: str) -> str:
    """`whisper-` and the size, from a name as faster-whisper takes it (`base`, `Systran/faster-whisper-base`).

    Confidence models are trained for `whisper-base` and its kin under these names, wherever the weights come from.
    """
    last = model.rstrip("/").rpartition("/")[2].lower()
    plain = re.sub(r"-ct2\b.*$", "", last)
    size = re.sub(r"^(?:faster-)?(?:distil-)?(?:whisper-)?", "", plain)
    return f"whisper-{'distil-' if 'distil' in plain else ''}{_ALIASES.get(size, size)}"


def name_of_folder(folder: str, sizes: WhisperSizes) -> str:
    """The same from a folder's sizes; where these leave several, the folder's name decides."""
    size = _NAMES_BY_SIZE.get(sizes[:3])
    if size is None:
        return name_of_model(folder)
    if size in _VERSIONED:
        version = re.search(r"v[123](?:\.\d)?", folder.lower())
        guess = "v3" if sizes.mels == 128 else "v2"
        size = f"{size}-{version.group() if version else guess}"
    return f"whisper-{size}{'.en' if sizes.vocabulary <= _ENGLISH_VOCABULARY else ''}"
