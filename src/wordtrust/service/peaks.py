"""The waveform of a stretch of sound: the lowest and the highest sample of each of its parts."""

from __future__ import annotations

import numpy as np

from ..audio import RATE
from ..audio.audio_file import AudioFile
from ..base.errors import OptionError

LONGEST = 120.0  # seconds of a waveform
MOST = 2_000  # parts


def peaks(audio: AudioFile, start: float, end: float, parts: int) -> list[tuple[float, float]]:
    """Of each of so many parts between two times; what is beyond the end of the sound is silence."""
    if not (0 <= start < end and end - start <= LONGEST):
        raise OptionError(f"a waveform from {start:g} to {end:g} s: {LONGEST:g} s at most, from 0 s on")
    if not 1 <= parts <= MOST:
        raise OptionError(f"a waveform of {parts} parts: 1 to {MOST:,}")
    samples = audio.samples(start, end)
    edges = np.linspace(0, (end - start) * RATE, parts + 1).astype(np.int64)
    padded = np.zeros(max(int(edges[-1]), parts) + 1, np.float32)
    padded[: len(samples[: len(padded)])] = samples[: len(padded)]
    starts = np.minimum(edges[:-1], len(padded) - 1)
    low, high = (np.round(ends.reduceat(padded, starts), 3).tolist() for ends in (np.minimum, np.maximum))
    return list(zip(low, high, strict=True))
