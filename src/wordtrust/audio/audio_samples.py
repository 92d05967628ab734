"""Samples that Python code holds, as if they were an audio file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.errors import InputError, OptionError
from . import Samples
from .audio_file import BLOCK, RATES, AudioFile, resample

MOST_CHANNELS = 64  # the shorter axis of a table of samples is its channels


@dataclass(slots=True)
class AudioSamples(AudioFile):
    """Samples in memory; they can be read any number of times, channel by channel, like a file."""

    values: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 1), np.float32), repr=False)

    @classmethod
    def of(cls, samples: ArrayLike, rate: float, name: str = "samples") -> AudioSamples:
        """Numbers from -1 to 1, or integers, at `rate` a second: one channel, or [samples, channels] either way."""
        if isinstance(rate, bool) or not RATES[0] <= rate <= RATES[1]:
            raise OptionError(f"a rate of {rate} samples a second, speech needs {RATES[0]} to {RATES[1]}")
        values = _table(np.asarray(samples))
        if not len(values):
            raise InputError("there are no samples", remedy="Is the array empty?")
        return cls(name, round(rate), values.shape[1], len(values) / round(rate), values=values)

    def _blocks(self, channel: int | None, first: int = 0) -> Iterator[Samples]:
        size = max(1, int(BLOCK * self.rate))
        pieces = (self.values[at : at + size] for at in range(first, len(self.values), size))
        for block in resample((self._mono(piece, channel) for piece in pieces), self.rate):
            yield np.clip(block, -1.0, 1.0)


def _table(values: NDArray[Any]) -> NDArray[np.float32]:
    """[samples, channels], from -1 to 1."""
    if values.dtype.kind not in "fiu" or values.ndim not in (1, 2):
        raise TypeError(
            f"samples are numbers, [samples] or [samples, channels]; this is {values.dtype} of shape {values.shape}"
        )
    if values.ndim == 1:
        values = values[:, None]
    elif values.shape[0] < values.shape[1] and values.shape[0] <= MOST_CHANNELS:
        values = values.T  # as torchaudio and librosa have it
    if values.dtype.kind == "f":
        return np.ascontiguousarray(values, np.float32)
    limits = np.iinfo(values.dtype)
    middle = (int(limits.max) + 1) // 2 if values.dtype.kind == "u" else 0
    return ((values.astype(np.float64) - middle) / ((int(limits.max) + 1) / (2 if middle else 1))).astype(np.float32)
