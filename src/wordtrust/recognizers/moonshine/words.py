"""From Moonshine's tokens to words with times.

Some heads of the cross-attention follow the speech. Their attention says for every token and frame how well the two
fit; the best path through tokens and frames, each token at least one frame, with an optional pause before each word
and around the text, gives the times. All hypotheses of an utterance are aligned together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...audio import RATE
from ...base.errors import InputError
from .model_files import REMEDY, STRIDES, Floats

FRAME = prod(STRIDES)  # samples from one frame of the encoder to the next
FRAME_SECONDS = FRAME / RATE
# A frame sees 894 samples centred on sample 447: it stands for the 384 in the middle of these.
FIRST_FRAME = (447 - FRAME / 2) / RATE  # seconds

# How well frames fit a pause, where tokens have the z-score of their attention: chosen on dev clips, where these gave
# little difference from the times in the training data and from Kaldi's (40 ms for starts, 30 for ends, median).
PAUSE = 0.2  # between words
EDGE = 0.8  # before the first and after the last
SHORTEST_PAUSE = 0.55  # seconds; less belongs to the word before it: attention leaves a word early

_SPACE = "▁".encode()
_WORD = 64  # letters that are merged to pieces at once: no word is longer
_UNKNOWN = 0  # the token of bytes that no token spells
_SPECIAL = re.compile(rb"<unk>|<s>|</s>|<<ST_\d+>>")  # tokens that spell nothing
_SPARE = re.compile(rb"<<ST_\d+>>")  # of these, what the model was never trained on
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


class WordTokens(NamedTuple):
    """A word as it is written, and the tokens that spell it: those from `first` up to, not including, `last`."""

    text: str
    first: int
    last: int


class MoonshineTokenizer:
    """The tokens of a model by id."""

    def __init__(self, spelling: Sequence[bytes]) -> None:
        self._spelling = [b"" if _SPECIAL.fullmatch(token) else token.replace(_SPACE, b" ") for token in spelling]
        spare = (token_id for token_id, token in enumerate(spelling) if _SPARE.fullmatch(token))
        self.n_text_tokens = next(spare, len(spelling))  # those that the model may write come first

    @cached_property
    def _pieces(self) -> dict[bytes, int]:
        """The tokens that may be written, by spelling. Where a byte and a letter have the same, it is the letter."""
        return {token: token_id for token_id, token in enumerate(self._spelling[: self.n_text_tokens]) if token}

    @cached_property
    def _bytes(self) -> dict[bytes, int]:
        """The tokens of single bytes, which come before those of letters."""
        written = list(enumerate(self._spelling[: self.n_text_tokens]))
        return {token: token_id for token_id, token in reversed(written) if len(token) == 1}

    def __len__(self) -> int:
        return len(self._spelling)

    def text(self, tokens: Iterable[int]) -> str:
        """What tokens spell, with single spaces."""
        return " ".join(b"".join(self._spelling[token] for token in tokens).decode("utf-8", "replace").split())

    def encode(self, written: str) -> list[int]:
        """The tokens of a word, with a space before it where one is written; none if it has no letters.

        Pairs of neighbouring pieces are merged as in byte-pair encoding: first what makes the piece that was learned
        first, which has the least id. A letter that is no piece is spelled in bytes.
        """
        letters = " ".join(written.split()).encode("utf-8", "replace").decode()
        if not letters:
            return []
        letters = " " * written[:1].isspace() + letters
        parts = [letters[begin : begin + _WORD] for begin in range(0, len(letters), _WORD)]
        return [token for part in parts for piece in self._merge(part) for token in self._spell(piece)]

    def _merge(self, letters: str) -> list[bytes]:
        """Letters as the pieces of byte-pair encoding."""
        pieces = [letter.encode() for letter in letters]
        while True:
            pairs = [self._pieces.get(left + right) for left, right in pairwise(pieces)]
            known = [(token_id, index) for index, token_id in enumerate(pairs) if token_id is not None]
            if not known:
                return pieces
            _, index = min(known)
            pieces[index : index + 2] = [pieces[index] + pieces[index + 1]]

    def _spell(self, piece: bytes) -> list[int]:
        """A piece as one token, or as one for each of its bytes."""
        if piece in self._pieces:
            return [self._pieces[piece]]
        return [self._bytes.get(bytes([byte]), _UNKNOWN) for byte in piece]

    def words(self, tokens: Sequence[int]) -> list[WordTokens]:
        """The words of a text. Every token belongs to one: a lone space to the next, at the end to the last."""
        firsts = [0]
        for index, token in enumerate(tokens):
            if self._spelling[token][:1].isspace() and self.text(tokens[firsts[-1] : index]):
                firsts.append(index)
        if len(firsts) > 1 and not self.text(tokens[firsts[-1] :]):
            firsts.pop()
        spans = zip(firsts, [*firsts[1:], len(tokens)], strict=True)
        words = [WordTokens(self.text(tokens[first:last]), first, last) for first, last in spans]
        return [word for word in words if word.text]


def read_tokenizer(folder: Path) -> MoonshineTokenizer:
    """The tokenizer of a model's folder, from tokenizer.bin or, where there is none, tokenizer.json."""
    binary, described = folder / "tokenizer.bin", folder / "tokenizer.json"
    path = described if described.is_file() and not binary.is_file() else binary
    try:
        content = path.read_bytes()
        return MoonshineTokenizer(_from_json(json.loads(content)) if path == described else _from_binary(content))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path), remedy=REMEDY) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError("not a list of tokens as Moonshine has it", file=str(path), remedy=REMEDY) from None


def _from_binary(content: bytes) -> list[bytes]:
    """Byte strings one after another, each preceded by its length: one byte, or two from 128 on, the lower first."""
    tokens, offset = [], 0
    while offset < len(content):
        length = content[offset]
        offset += 1
        if length >= 128:
            length += 128 * (content[offset] - 1)
            offset += 1
        if offset + length > len(content):
            raise ValueError("the last token is cut off")
        tokens.append(content[offset : offset + length])
        offset += length
    return tokens


def _from_json(tokenizer: Any) -> list[bytes]:
    """The format of Hugging Face's tokenizers: pieces with their ids, bytes as <0x41>."""
    ids = dict(tokenizer["model"]["vocab"])
    ids |= {token["content"]: token["id"] for token in tokenizer.get("added_tokens", [])}
    pieces = {int(token_id): piece for piece, token_id in ids.items()}
    if sorted(pieces) != list(range(len(pieces))):
        raise ValueError("the ids of the tokens have gaps")
    return [_piece_bytes(pieces[token_id]) for token_id in range(len(pieces))]


def _piece_bytes(piece: str) -> bytes:
    match = _BYTE.fullmatch(piece)
    return bytes([int(match[1], 16)]) if match else piece.encode("utf-8", "replace")


def fit_of_frames(attention: Floats) -> Floats:
    """How well each frame fits what was written: attention [heads, rows, frames] to [rows, frames].

    The z-score over frames makes heads comparable, the median of three removes single outlying frames.
    """
    deviation = attention.std(axis=-1, keepdims=True) + np.float32(1e-9)
    fit = (attention - attention.mean(axis=-1, keepdims=True)) / deviation
    before, after = np.roll(fit, 1, axis=-1), np.roll(fit, -1, axis=-1)
    before[..., 0], after[..., -1] = fit[..., 0], fit[..., -1]
    median = np.maximum(np.minimum(before, fit), np.minimum(np.maximum(before, fit), after))
    return np.asarray(median.mean(axis=0))


def token_spans(fits: Sequence[Floats], begins: Sequence[NDArray[np.bool_]]) -> list[Reals]:
    """First and last frame (exclusive) of every token of several texts, each [tokens, 2].

    `fits` are [tokens, frames], the last token of each being the end of the text; `begins` says which tokens a pause
    may precede. Where there are fewer frames than tokens, frames are cut into smaller ones.
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
    """[frames, texts] the token that each frame belongs to on the best path; -1 in a pause.

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
    return _trace_back(token_from, pause_from, np.where(is_pause, lengths, lengths - 1), is_pause)


def _trace_back(
    token_from: NDArray[np.int8], pause_from: NDArray[np.bool_], state: Ints, is_pause: NDArray[np.bool_]
) -> Ints:
    """Back along the best path from its last state, a token or the pause before it."""
    frames, texts = token_from.shape[:2]
    rows, path = np.arange(texts), np.empty((frames, texts), np.int64)
    for frame in range(frames - 1, -1, -1):
        path[frame] = np.where(is_pause, -1, state)
        step = token_from[frame, rows, np.minimum(state, token_from.shape[2] - 1)]
        left = is_pause & pause_from[frame, rows, state]
        state = state - ((~is_pause & (step == 2)) | left)
        is_pause = np.where(is_pause, ~left, step == 1)
    return path


def _spans(path: Ints, count: int) -> Reals:
    tokens = np.arange(count)
    frames = np.flatnonzero(path >= 0)
    spoken = path[frames]
    first = frames[np.searchsorted(spoken, tokens)]
    last = frames[np.searchsorted(spoken, tokens, side="right") - 1] + 1
    return np.stack([first, last], axis=1).astype(np.float64)


def word_times(spans: Reals, words: Sequence[WordTokens], duration: float) -> Reals:
    """[words, 2] start and end of words in seconds, rounded to hundredths."""
    frames = np.array([(spans[word.first, 0], spans[word.last - 1, 1]) for word in words]).reshape(-1, 2)
    times = np.clip(np.round(frames * FRAME_SECONDS + FIRST_FRAME, 2), 0.0, np.floor(duration * 100) / 100)
    is_short = times[1:, 0] - times[:-1, 1] < SHORTEST_PAUSE
    times[:-1, 1] = np.where(is_short, times[1:, 0], times[:-1, 1])
    return times
