"""The weights of a Whisper decoder, read from the `model.bin` that CTranslate2 runs.

CTranslate2 searches, but does not tell how probable each token of a hypothesis was; our own pass over the decoder
(decoder.py) does, and needs the weights. The file: a header, then each variable with its name, shape, type
and bytes, then second names. Nothing in it is trusted: sizes are checked before anything is read.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.errors import InputError

VERSION = 6  # of the file's layout: since CTranslate2 2.0
KEEP = 1 << 30  # bytes in float32: a larger decoder is converted anew for every piece of audio, layer by layer
_TYPES = {0: "<f4", 1: "<i1", 2: "<i2", 3: "<i4", 4: "<f2"}  # CTranslate2's numbers for them
_NEEDED = (
    "decoder/embeddings/weight",
    "decoder/position_encodings/encodings",
    "decoder/num_heads",
    "encoder/conv1/weight",
)


class Sizes(NamedTuple):
    """The dimensions of a Whisper model, which tell which one it is."""

    width: int
    encoder_layers: int
    decoder_layers: int
    heads: int  # of the decoder
    vocabulary: int
    mels: int


@dataclass(frozen=True, slots=True)
class Weights:
    """Variables of a model by name; those of one layer are made float32 when asked for."""

    stored: Mapping[str, NDArray[Any]]
    sizes: Sizes
    _kept: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        if name in self._kept:
            return self._kept[name]
        found = self._converted(name)
        if self._is_small:
            self._kept[name] = found
        return found

    def _converted(self, name: str) -> NDArray[np.float32]:
        if name not in self.stored:
            raise InputError(
                f"model.bin has no {name}", remedy="It is not a Whisper model as CTranslate2 writes them"
            )
        values = self.stored[name].astype(np.float32)
        scale = self.stored.get(f"{name}_scale")  # of 8-bit and 16-bit integers
        if scale is None:
            return values
        per_row = scale.astype(np.float32).reshape(-1, *[1] * (values.ndim - 1))
        return np.divide(values, per_row, out=values)

    @property
    def _is_small(self) -> bool:
        return sum(4 * each.size for name, each in self.stored.items() if name.startswith("decoder/")) <= KEEP


def read_weights(folder: Path) -> Weights:
    """The weights in a folder with a Whisper model of CTranslate2; they stay on disk until used."""
    path = folder / "model.bin"
    if not path.is_file():
        raise InputError(
            "there is no model.bin", file=str(folder), remedy="A folder as CTranslate2 writes them is needed"
        )
    if not path.stat().st_size:
        raise InputError("the file is empty", file=str(path))
    try:
        stored = _variables(np.memmap(path, np.uint8, "r"))
        return Weights(stored, _sizes(stored))
    except (InputError, struct.error, UnicodeDecodeError, ValueError, IndexError) as error:
        found = error.found if isinstance(error, InputError) else "it ends too early or is damaged"
        raise InputError(found, file=str(path), remedy="Fetch or convert the model again") from None


class _Reader:
    """Goes through the bytes of a file from its beginning."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data
        self.place = 0

    def take(self, size: int) -> NDArray[np.uint8]:
        if size > len(self.data) - self.place:
            raise InputError("it ends too early")
        self.place += size
        return self.data[self.place - size : self.place]

    def number(self, kind: str) -> int:
        return int(struct.unpack("<" + kind, self.take(struct.calcsize("<" + kind)).tobytes())[0])

    def string(self) -> str:
        return self.take(self.number("H")).tobytes().rstrip(b"\0").decode()


def _variables(data: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    reader = _Reader(data)
    version = reader.number("I")
    if version != VERSION:
        raise InputError(f"this is version {version} of the file format of CTranslate2, or none; {VERSION} is known")
    kind = reader.string()
    if kind != "WhisperSpec":
        raise InputError(f"this is a {kind[:40]!r}, not a Whisper model")
    reader.number("I")  # revision of the kind of model
    found = {}
    for _ in range(reader.number("I")):
        name = reader.string()
        found[name] = _variable(reader, name)
    if not all(name in found for name in _NEEDED):
        raise InputError("parts of a Whisper model are missing")
    return found


def _variable(reader: _Reader, name: str) -> NDArray[Any]:
    shape = [reader.number("I") for _ in range(reader.number("B"))]
    kind = reader.number("B")
    size = reader.number("I")
    if kind not in _TYPES:
        raise InputError(f"{name[:80]} has numbers of type {kind}", remedy="Convert the model to float16 or int8")
    if size != np.dtype(_TYPES[kind]).itemsize * np.prod(shape, dtype=object):
        raise InputError(f"{name[:80]} has {size} bytes, which do not fit its shape")
    return np.frombuffer(reader.take(size), _TYPES[kind]).reshape(shape)


def _sizes(stored: Mapping[str, NDArray[Any]]) -> Sizes:
    vocabulary, width = stored["decoder/embeddings/weight"].shape
    found = Sizes(
        width=width,
        encoder_layers=_layers(stored, "encoder"),
        decoder_layers=_layers(stored, "decoder"),
        heads=int(stored["decoder/num_heads"]),
        vocabulary=vocabulary,
        mels=stored["encoder/conv1/weight"].shape[1],
    )
    if min(found) < 1 or width % found.heads:
        raise InputError(f"its sizes make no sense: {found}")
    return found


def _layers(stored: Mapping[str, NDArray[Any]], part: str) -> int:
    names = (name.split("/") for name in stored if name.startswith(f"{part}/layer_") and name.count("/") > 2)
    return len({each[1] for each in names})
