"""When each word was said, from where the decoder looked while it wrote it.

Some heads of the cross-attention follow the speech. Their attention says for every token and frame how well the two
fit; the best path through tokens and frames, each token at least one frame, with an optional pause before each word
and around the text, gives the times. All hypotheses of an utterance are aligned together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...audio import RATE
from .search import Floats, Ints, Reals
from .sizes import FRAME
from .tokens import WordTokens

SECONDS = FRAME / RATE  # a frame
# A frame sees 894 samples with its middle at 447: it stands for the 384 in the middle of these.
FIRST = (447 - FRAME / 2) / RATE

# How well frames fit a pause, where tokens have the z-score of their attention: chosen on dev clips, where these gave
# little difference from the times of the developers' data and from Kaldi's (40 ms for starts, 30 for ends, median).
PAUSE = 0.2  # between words
EDGE = 0.8  # before the first and after the last
SHORTEST_PAUSE = 0.55  # seconds; less belongs to the word before it: attention leaves a word early


def fit_of_frames(attention: Floats) -> Floats:
    """How well each frame fits what was written: attention [heads, rows, frames] to [rows, frames].

    The z-score over frames makes heads comparable, the median of three takes out single frames.
    """
    spread = attention.std(axis=-1, keepdims=True) + np.float32(1e-9)
    fit = (attention - attention.mean(axis=-1, keepdims=True)) / spread
    before, after = np.roll(fit, 1, axis=-1), np.roll(fit, -1, axis=-1)
    before[..., 0], after[..., -1] = fit[..., 0], fit[..., -1]
    middle = np.maximum(np.minimum(before, fit), np.minimum(np.maximum(before, fit), after))
    mean: Floats = middle.mean(axis=0)
    return mean


def token_spans(fits: Sequence[Floats], begins: Sequence[NDArray[np.bool_]]) -> list[Reals]:
    """First and last frame (exclusive) of every token of several texts, each [tokens, 2].

    `fits` are [tokens, frames], the last token of each being the end of the text; `begins` says which tokens a pause
    may stand before. Where there are fewer frames than tokens, frames are cut into smaller ones.
    """
    frames = fits[0].shape[1]
    longest = max(len(fit) for fit in fits)
    parts = -(-longest // frames)
    token_fit = np.full((parts * frames, len(fits), longest), -np.inf)
    pause_fit = np.full((len(fits), longest + 1), -np.inf)
    for row, (fit, begin) in enumerate(zip(fits, begins, strict=True)):
        count = len(fit)
        token_fit[:, row, :count] = np.repeat(fit.T, parts, axis=0)
        pause_fit[row, :count] = np.where(begin, PAUSE, -np.inf)
        pause_fit[row, [0, count - 1, count]] = EDGE
    tokens = _best_path(token_fit, pause_fit, np.array([len(fit) for fit in fits]))
    return [_spans(tokens[:, row], len(fit)) / parts for row, fit in enumerate(fits)]


def _best_path(token_fit: Reals, pause_fit: Reals, lengths: Ints) -> Ints:
    """[frames, texts] which token each frame belongs to on the best path; -1 in a pause.

    Pause t stands before token t. A token is reached from itself, from the pause before it or from the token before
    it; a pause from itself or from the token before it.
    """
    frames, texts, longest = token_fit.shape
    token_from = np.zeros((frames, texts, longest), np.int8)
    pause_from = np.zeros((frames, texts, longest + 1), bool)  # whether from the token before
    token, pause = np.full((texts, longest), -np.inf), np.full((texts, longest + 1), -np.inf)
    token[:, 0], pause[:, 0] = token_fit[0, :, 0], pause_fit[:, 0]
    before = np.full((texts, longest + 1), -np.inf)
    for frame in range(1, frames):
        before[:, 1:] = token
        choices = np.stack([token, pause[:, :-1], before[:, :-1]])
        token_from[frame] = choices.argmax(axis=0)
        pause_from[frame] = before > pause
        token = choices.max(axis=0) + token_fit[frame]
        pause = np.maximum(pause, before) + pause_fit
    rows = np.arange(texts)
    is_pause = pause[rows, lengths] >= token[rows, lengths - 1]
    return _trace(token_from, pause_from, np.where(is_pause, lengths, lengths - 1), is_pause)


def _trace(
    token_from: NDArray[np.int8], pause_from: NDArray[np.bool_], place: Ints, is_pause: NDArray[np.bool_]
) -> Ints:
    """Back along the best path from where it ends."""
    frames, texts = token_from.shape[:2]
    rows, found = np.arange(texts), np.empty((frames, texts), np.int64)
    for frame in range(frames - 1, -1, -1):
        found[frame] = np.where(is_pause, -1, place)
        step = token_from[frame, rows, np.minimum(place, token_from.shape[2] - 1)]
        left = is_pause & pause_from[frame, rows, place]
        place = place - ((~is_pause & (step == 2)) | left)
        is_pause = np.where(is_pause, ~left, step == 1)
    return found


def _spans(tokens: Ints, count: int) -> Reals:
    numbers = np.arange(count)
    spoken = tokens[tokens >= 0]
    frames = np.flatnonzero(tokens >= 0)
    first = frames[np.searchsorted(spoken, numbers)]
    last = frames[np.searchsorted(spoken, numbers, side="right") - 1] + 1
    return np.stack([first, last], axis=1).astype(np.float64)


def word_times(spans: Reals, words: Sequence[WordTokens], duration: float) -> Reals:
    """[words, 2] start and end of words in seconds, in whole hundredths."""
    found = np.array([(spans[word.first, 0], spans[word.last - 1, 1]) for word in words]).reshape(-1, 2)
    found = np.clip(np.round(found * SECONDS + FIRST, 2), 0.0, np.floor(duration * 100) / 100)
    short = found[1:, 0] - found[:-1, 1] < SHORTEST_PAUSE
    found[:-1, 1] = np.where(short, found[1:, 0], found[:-1, 1])
    return found
