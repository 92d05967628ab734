"""Weights of recognizers that are fetched for tests, and speech to try them on."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from wordtrust.recognizers import RATE, Samples

WEIGHTS = Path(__file__).resolve().parents[2] / "build" / "weights"


def folder_of(name: str) -> str:
    """The folder with these weights; the test is skipped when they are not there."""
    folder = WEIGHTS / name
    if not folder.is_dir():
        pytest.skip(f"needs the weights of {name}: `make test-recognizers` fetches them")
    return str(folder)


def beckett() -> Samples:
    """Ten seconds of real reading, which the wheel of Moonshine carries."""
    soundfile = pytest.importorskip("soundfile")
    spec = find_spec("moonshine_voice")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("needs the recording inside the package moonshine-voice")
    samples, rate = soundfile.read(
        Path(next(iter(spec.submodule_search_locations))) / "assets" / "beckett.wav", dtype="float32"
    )
    assert rate == RATE
    return np.asarray(samples, np.float32)


def shared_clip(path: Path) -> Samples:
    """A clip of the shared data at the rate that recognizers take."""
    soundfile, soxr = pytest.importorskip("soundfile"), pytest.importorskip("soxr")
    samples, rate = soundfile.read(path, dtype="float32")
    return np.asarray(soxr.resample(samples, rate, RATE), np.float32)
