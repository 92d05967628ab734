"""Files of sound and pictures, made by PyAV: what people have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from wordtrust.audio import RATE

Array = NDArray[np.float32]

KINDS: dict[str, tuple[str, int]] = {  # codec and rate for each ending
    "m4a": ("aac", 16_000),
    "mp4": ("aac", 44_100),
    "mov": ("pcm_s16le", 16_000),
    "mkv": ("aac", 16_000),
    "webm": ("libopus", 48_000),
    "wma": ("wmav2", 44_100),
    "amr": ("libopencore_amrnb", 8_000),
    "3gp": ("libopencore_amrnb", 8_000),
    "aac": ("aac", 16_000),
    "ts": ("aac", 44_100),
    "avi": ("mp3", 16_000),
    "mp3": ("mp3", 16_000),
}
_FORMATS = {"wma": "asf", "ts": "mpegts", "m4a": "mp4"}
_PICTURES = ("mp4", "mkv", "avi")
_PICTURES_A_SECOND = 5


def steps(seconds: int) -> Array:
    """A tone that is 40 Hz higher every second, so that each second tells which one it is."""
    hertz = np.repeat(200.0 + 40.0 * np.arange(seconds), RATE)
    return np.asarray(0.4 * np.sin(2 * np.pi * np.cumsum(hertz) / RATE), np.float32)


def second_of(samples: Array, at: float) -> int:
    """Which second of `steps` is heard at a time."""
    heard = samples[round(at * RATE) : round((at + 0.5) * RATE)]
    spectrum = np.abs(np.fft.rfft(heard * np.hanning(len(heard))))
    return round((np.argmax(spectrum) * RATE / len(heard) - 200.0) / 40.0)


def write_media(path: Path, *tracks: Array, options: dict[str, str] | None = None, codec: str | None = None) -> Path:
    """A file of the kind that its name ends in, with these tracks of sound; films have pictures too."""
    ending = path.suffix[1:]
    named, rate = KINDS[ending]
    with av.open(str(path), "w", format=_FORMATS.get(ending), options=options or {}) as container:
        film = container.add_stream("mpeg4", rate=_PICTURES_A_SECOND) if ending in _PICTURES else None
        streams = [container.add_stream(codec or named, rate=rate, layout="mono") for _ in tracks]
        if film is not None:
            _add_pictures(container, film, len(tracks[0]) / RATE if tracks else 2.0)
        for stream, samples in zip(streams, tracks, strict=True):
            _encode(container, stream, samples, rate)
    return path


def _add_pictures(container: Any, stream: Any, seconds: float) -> None:
    stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
    for index in range(round(seconds * _PICTURES_A_SECOND)):
        picture = np.full((48, 64, 3), index % 200, np.uint8)
        container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
    container.mux(stream.encode())


def _encode(container: Any, stream: Any, samples: Array, rate: int) -> None:
    frame = av.AudioFrame.from_ndarray(np.asarray(samples * 32_767, np.int16)[None], format="s16", layout="mono")
    frame.sample_rate = RATE
    context, fifo = stream.codec_context, av.AudioFifo()
    if context.name.startswith("wma"):
        context.bit_rate = 64_000
    resampler = av.AudioResampler(format=context.format, layout="mono", rate=rate)
    for converted in (*resampler.resample(frame), *resampler.resample(None)):
        converted.pts = None
        fifo.write(converted)
    while (piece := fifo.read(context.frame_size or 1024, partial=True)) is not None:
        container.mux(stream.encode(piece))
    container.mux(stream.encode(None))
