"""Noise, level and clipping, estimated from samples whose faults are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordtrust as wt
from tests.helpers.speech import noises, recording
from wordtrust.audio import RATE, Samples
from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.quality import AudioQuality, audio_quality

BUNDLED = Path(wt.__file__).parent / "sample" / "corpus" / "audio"


def found(samples: Samples) -> dict[str, float]:
    return {warning.name: warning.figure for warning in audio_quality(samples).warnings()}


def with_noise(kind: str, snr: float) -> Samples:
    """Real speech with noise at this ratio to the frames within 30 dB of the loud ones."""
    speech = recording()
    frames = np.mean(speech[: len(speech) // 320 * 320].reshape(-1, 320) ** 2, axis=1)
    active = np.sqrt(frames[frames > np.quantile(frames, 0.95) / 1000].mean())
    noise = noises(len(speech) / RATE)[kind][: len(speech)]
    return np.asarray(0.3 * (speech + noise * active * 10 ** (-snr / 20)), np.float32)


@pytest.mark.parametrize("kind", ["white", "pink"])
@pytest.mark.parametrize("snr", [0.0, 5.0, 10.0, 20.0])
def test_noise_is_measured(kind: str, snr: float) -> None:
    samples = with_noise(kind, snr)
    assert audio_quality(samples).snr == pytest.approx(snr, abs=2.5 if snr else 4)
    assert ("noise" in found(samples)) is (snr < 12)


def test_level_and_clipping() -> None:
    speech = recording()
    assert found(speech) == {}
    assert set(found(speech * np.float32(0.003))) == {"quiet"}
    for share in (0.01, 0.1):
        most = np.float32(np.quantile(np.abs(speech), 1 - share))
        figures = found(np.clip(speech, -most, most))
        assert set(figures) == {"clipping"}
        assert share < figures["clipping"] < 4 * share  # of the speech alone, and of what is nearly at the limit


@given(st.floats(0.01, 1.0))
def test_only_the_level_depends_on_the_volume(volume: float) -> None:
    quality, turned = audio_quality(recording()), audio_quality(recording() * np.float32(volume))
    assert turned.snr == pytest.approx(quality.snr, abs=0.01)
    assert turned.clipped == pytest.approx(quality.clipped, abs=1e-4)
    assert turned.level == pytest.approx(quality.level + 20 * np.log10(volume), abs=0.01)


def test_the_bundled_clips_are_fine_and_so_is_nothing() -> None:
    for file in BUNDLED.iterdir():
        assert found(AudioFile.open(file).samples()) == {}
    for samples in (np.zeros(0, np.float32), np.zeros(RATE, np.float32), np.ones(100, np.float32)):
        assert found(samples) == {}
    assert audio_quality(np.zeros(RATE, np.float32)) == AudioQuality(60.0, 0.0, 0.0)
