"""When each token of a hypothesis was said, from where the decoder's alignment heads looked, as Whisper does it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...base.jit import compiled

STEP = 0.02  # seconds a frame of the encoder
MEDIAN = 7  # frames


def token_starts(attention: NDArray[np.float32], frames: int, prompt: int) -> NDArray[np.float64]:
    """Seconds at which each token begins, and at the end when the last one ends: [tokens + 1].

    `attention` has the scores [heads, prompt + tokens + end, frames]; the first `frames` hold audio, not padding.
    """
    frames = max(1, min(frames, attention.shape[-1]))
    looked = attention[..., :frames]
    looked = np.exp(looked - looked.max(-1, keepdims=True))
    looked /= looked.sum(-1, keepdims=True)
    spread = np.maximum(looked.std(1, keepdims=True), np.finfo(np.float32).tiny)
    sharp = _smooth((looked - looked.mean(1, keepdims=True)) / spread)
    # The row of a token is that of the position before it, which had to find it; the last token's own row is where
    # the end was found.
    costs = -sharp.mean(0)[prompt - 1 : -1].astype(np.float64)
    return _first_frames(np.ascontiguousarray(costs)).astype(np.float64) * STEP


@compiled
def _smooth(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The median over MEDIAN neighbouring frames, mirrored at the edges: [heads, rows, frames]."""
    heads, rows, frames = values.shape
    found = np.empty_like(values)
    window = np.empty(MEDIAN, np.float32)
    last = frames - 1
    for head in range(heads):
        for row in range(rows):
            for frame in range(frames):
                for place in range(MEDIAN):
                    near = abs(frame + place - MEDIAN // 2)
                    value = values[head, row, min(max(last - abs(last - near), 0), last)]
                    free = place
                    while free > 0 and window[free - 1] > value:
                        window[free] = window[free - 1]
                        free -= 1
                    window[free] = value
                found[head, row, frame] = window[MEDIAN // 2]
    return found


@compiled
def _first_frames(costs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The frame at which the cheapest monotone path enters each row of [rows, frames]."""
    rows, frames = costs.shape
    total = np.full((rows + 1, frames + 1), np.inf)
    total[0, 0] = 0.0
    for row in range(rows):
        for frame in range(frames):
            best = min(total[row, frame], total[row, frame + 1], total[row + 1, frame])
            total[row + 1, frame + 1] = costs[row, frame] + best
    found = np.zeros(rows, np.int64)
    row, frame = rows, frames
    while row > 0:
        found[row - 1] = frame - 1
        both, up, left = total[row - 1, frame - 1], total[row - 1, frame], total[row, frame - 1]
        if both < up and both < left:
            row, frame = row - 1, frame - 1
        elif up < both and up < left:
            row -= 1
        else:
            frame -= 1
    return found
