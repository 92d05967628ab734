"""How good the sound of an utterance is, estimated from its samples: noise, level, clipping.

The noise is what is left in the quietest frames, so the ratio is only known where there are short pauses, as nearly
all speech has; a steady second voice counts as speech. An echo fills pauses and looks like noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..formats.transcript.records import SpeechWarning
from . import RATE, Samples

LEAST_SNR = 12.0  # dB: below, there is much noise
LEAST_LEVEL = -45.0  # dB below full scale: quieter speech is very quiet
MOST_CLIPPED = 0.003  # share of the samples of speech at the limit, beyond which the sound is clipped
_FRAME = RATE // 50
_BEST_SNR, _LOWEST_LEVEL = 60.0, -100.0  # dB, where there is digital silence
_ACTIVE_DB = 30.0  # frames this far below the loud ones are pauses
_QUIETEST, _LOUD = 0.07, 0.95  # quantiles of the frames' energies: noise, loud speech
_AT_LIMIT = 0.985  # of the highest sample


@dataclass(frozen=True, slots=True)
class AudioQuality:
    """What a recording sounds like."""

    snr: float  # dB, of speech over noise
    level: float  # dB of full scale, of the speech
    clipped: float  # share of the samples of the speech that are at the limit

    def warnings(self) -> tuple[SpeechWarning, ...]:
        """What is wrong with it, if anything."""
        found = []
        if self.snr < LEAST_SNR:
            found.append(SpeechWarning("noise", round(self.snr, 1), f"noise: speech is {self.snr:.0f} dB above it"))
        if self.level < LEAST_LEVEL:
            found.append(
                SpeechWarning("quiet", round(self.level, 1), f"very quiet: {self.level:.0f} dB of full scale")
            )
        if self.clipped > MOST_CLIPPED:
            message = f"clipped or overdriven: {self.clipped:.1%} of the samples are at the limit"
            found.append(SpeechWarning("clipping", round(self.clipped, 4), message))
        return tuple(found)


def audio_quality(samples: Samples) -> AudioQuality:
    """Estimate it from the samples of an utterance; silence, or less than a tenth of a second, has no faults."""
    energies = _energies(samples)
    loud = float(np.quantile(energies, _LOUD)) if len(energies) >= 5 else 0.0
    if loud <= 0:
        return AudioQuality(_BEST_SNR, 0.0, 0.0)
    active = energies >= loud * 10 ** (-_ACTIVE_DB / 10)
    speech, noise = float(energies[active].mean()), float(np.quantile(energies, _QUIETEST))
    snr = _decibel(max(speech - noise, 0.0), noise, _BEST_SNR)
    level = max(_LOWEST_LEVEL, 10 * float(np.log10(speech)))
    return AudioQuality(snr, level, _clipped(samples, active))


def _energies(samples: Samples) -> NDArray[np.float64]:
    frames = samples[: len(samples) // _FRAME * _FRAME].reshape(-1, _FRAME).astype(np.float64)
    return np.asarray(np.mean(frames**2, axis=1))


def _clipped(samples: Samples, active: NDArray[np.bool_]) -> float:
    """The share of the samples of speech that are at the highest one, all but: of sound as it is there is one."""
    size = np.abs(samples[: len(active) * _FRAME].reshape(-1, _FRAME)[active])
    return float(np.mean(size >= _AT_LIMIT * size.max()))


def _decibel(signal: float, noise: float, most: float) -> float:
    if noise <= 0:
        return most
    return min(most, 10 * float(np.log10(max(signal, 1e-12) / noise)))
