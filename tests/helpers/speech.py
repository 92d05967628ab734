"""Real speech and noise to try recognizers on, and weights of recognizers that are fetched for tests."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from wordtrust.audio import RATE, Samples
from wordtrust.audio.audio_file import AudioFile

WEIGHTS = Path(__file__).resolve().parents[2] / "build" / "weights"


def weights_folder(name: str) -> str:
    """The folder with these weights; the test is skipped if they are not there."""
    folder = WEIGHTS / name
    if not folder.is_dir():
        pytest.skip(f"needs the weights of {name}: `make test-recognizers` fetches them")
    return str(folder)


def recording_path(name: str = "beckett.wav") -> Path:
    """A real recording inside the Moonshine wheel: beckett.wav, ten seconds, or two_cities.wav, 44 seconds."""
    spec = find_spec("moonshine_voice")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs the recordings inside the package moonshine-voice")
    return Path(spec.submodule_search_locations[0]) / "assets" / name


@cache
def recording(name: str = "beckett.wav") -> Samples:
    """The samples of a recording inside the Moonshine wheel."""
    samples = AudioFile.open(recording_path(name)).samples()
    samples.flags.writeable = False
    return samples


def noises(seconds: float, seed: int = 7) -> dict[str, Samples]:
    """Sounds that are not speech, with a standard deviation of 1 (but silence)."""
    rng, times = np.random.default_rng(seed), np.arange(round(seconds * RATE)) / RATE
    white = rng.standard_normal(len(times))
    spectrum = np.fft.rfft(white)
    pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(1, np.arange(len(spectrum)))), len(times))
    clicks = np.zeros(len(times))
    clicks[rng.integers(0, len(times), max(2, int(seconds * 4)))] = 1
    hum = np.sum([np.sin(2 * np.pi * 50 * k * times) / k for k in range(1, 12)], axis=0)
    chord = np.sum([np.sin(2 * np.pi * hertz * times) for hertz in (220, 277, 330)], axis=0)
    sounds = {"silence": 0 * white, "white": white, "pink": pink, "clicks": clicks, "hum": hum, "chord": chord}
    sounds["babble"] = np.sum([_voice(rng, times) for _ in range(6)], axis=0)
    return {name: np.asarray(sound / max(1e-9, np.std(sound)), np.float32) for name, sound in sounds.items()}


def _voice(rng: np.random.Generator, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pulses through formants, coming and going like syllables: a detector takes it for speech now and then."""
    pitch = rng.uniform(90, 220) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(0.5, 3) * times))
    pulses = (np.cumsum(pitch / RATE) % 1 < 0.1) - 0.1
    hertz = np.fft.rfftfreq(len(times), 1 / RATE)
    formants = ((rng.uniform(300, 800), 80), (rng.uniform(900, 2200), 120), (2600, 200))
    shape = sum(1 / (1 + ((hertz - middle) / width) ** 2) for middle, width in formants)
    voiced = np.fft.irfft(np.fft.rfft(pulses) * shape, len(times))
    syllables = np.maximum(0, np.sin(2 * np.pi * rng.uniform(2, 5) * times + rng.uniform(0, 6)))
    return np.asarray(voiced / voiced.std() * syllables)
