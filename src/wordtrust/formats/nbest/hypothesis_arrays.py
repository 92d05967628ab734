"""The arrays behind `hypotheses`: words of many N-best lists end to end, and the raw lattices that they make."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import csr_offsets, csr_rows
from ...base.errors import InputError
from ...lattices.assemble import RawLattices, Tokens
from ...lattices.lattice import Flags, Floats, Ints, Offsets, Times
from ...lattices.text import is_mark, join_surfaces
from ..chains import Chains, SpreadWords, aligned_times

# How the values of a token that is no word join those of the word that takes it over.
_JOIN: Mapping[str, np.ufunc] = {
    "start": np.minimum,
    "end": np.maximum,
    "logprob": np.add,
    "tokens": np.add,
    "least_token_logprob": np.minimum,
}
_TIMES = ("start", "end")


@dataclass(frozen=True, slots=True)
class Reading:
    """What one or more hypotheses of an utterance say, punctuation and case aside."""

    variant: int  # the most probable of these hypotheses
    members: Sequence[int]
    score: float  # the log of the sum of their probabilities
    share: float  # of all hypotheses


@dataclass(frozen=True, slots=True)
class NBest:
    """The readings of an utterance, with what is known about them and the words of their variants."""

    utt: str
    place: int  # line or record in the file
    readings: Sequence[Reading]
    picked: int  # the hypothesis that the recognizer itself would print
    words: Sequence[Sequence[str]]  # the tokens of each reading
    columns: Mapping[str, Sequence[float]] = field(default_factory=dict)  # one number a word: some keys of _JOIN
    token_logprobs: Sequence[float] = ()  # of all words end to end, as many a word as the column `tokens` says
    evidence: Mapping[str, Sequence[float]] = field(default_factory=dict)  # one number a reading
    finish: float = 0.0  # seconds, where the audio ends as far as that is known


@dataclass(frozen=True, slots=True)
class Packed:
    """An N-best list with its numbers as arrays.

    It holds no part of the parsed text, so that the next record finds that memory free and in the cache.
    """

    utt: str
    place: int
    readings: Sequence[Reading]
    picked: int
    evidence: Mapping[str, Sequence[float]]
    finish: float
    sizes: list[int]  # words of each reading
    token: array[int]
    columns: dict[str, array[float]]
    token_logprobs: array[float]

    @property
    def layout(self) -> tuple[object, ...] | None:
        """What is known about words: utterances of one layout share arrays, one without words fits any."""
        return (self.columns.keys(), not self.token_logprobs) if self.token else None


@dataclass(frozen=True, slots=True)
class Words:
    """The tokens of many utterances end to end, with what is known about each."""

    groups: Offsets  # [utterances + 1] utterance u has the readings groups[u] to groups[u + 1]
    offsets: Offsets  # [readings + 1] reading r has the words offsets[r] to offsets[r + 1]
    token: Ints
    columns: Mapping[str, NDArray[np.float64]]

    @property
    def aligned(self) -> bool:
        """Whether word times were not given but have to be made up."""
        return len(self.token) > 0 and "start" not in self.columns


def spoken(tokens: Tokens, number: int) -> list[str]:
    """The normalised words of a token."""
    return [tokens.vocabulary[word] for word, _ in tokens.pieces[number] if word]


def surface(tokens: Tokens, number: int) -> str:
    """A token as the recognizer wrote it."""
    return join_surfaces(tokens.vocabulary[piece] for _, piece in tokens.pieces[number])


def joined(packed: Sequence[Packed]) -> Words:
    """The words of all of them, which have one layout."""
    model = next((each for each in packed if each.token), packed[0])
    columns = {name: _end_to_end([each.columns.get(name) for each in packed]) for name in model.columns}
    if model.token_logprobs:
        logprobs = _end_to_end([each.token_logprobs for each in packed])
        first = (np.cumsum(columns["tokens"]) - columns["tokens"]).astype(np.int64)
        columns["least_token_logprob"] = np.minimum.reduceat(logprobs, first)
    return Words(
        groups=csr_offsets([len(each.sizes) for each in packed]),
        offsets=csr_offsets([size for each in packed for size in each.sizes]),
        token=np.frombuffer(b"".join([each.token for each in packed]), np.intc).astype(np.int32, copy=False),
        columns=columns,
    )


def _end_to_end(parts: Sequence[array[float] | None]) -> NDArray[np.float64]:
    return np.frombuffer(b"".join([part for part in parts if part]), np.float64)


def without_marks(words: Words, tokens: Tokens) -> Words:
    """Tokens that are no words give what they have to the word before them, or else to the one after.

    Punctuation gives its time as well; that of a mark such as [Music] stays a pause.
    """
    silent = tokens.table()[words.token, 0] == 0
    if not silent.any():
        return words
    heir, keep = _heirs(words.offsets, silent), ~silent
    giving = np.flatnonzero(silent & (heir >= 0))
    punctuation = giving[[not is_mark(surface(tokens, number)) for number in words.token[giving].tolist()]]
    columns = {}
    for name, values in words.columns.items():
        givers, joined = punctuation if name in _TIMES else giving, values.copy()
        _JOIN[name].at(joined, heir[givers], values[givers])
        columns[name] = joined[keep]
    offsets = csr_offsets(keep)[words.offsets]
    return Words(words.groups, offsets, words.token[keep], columns)


def _heirs(offsets: Offsets, silent: Flags) -> NDArray[np.int64]:
    """For every token the nearest word of its reading: before it, else after it, else -1."""
    size = len(silent)
    places = np.arange(size)
    before = np.maximum.accumulate(np.where(silent, -1, places))
    after = np.minimum.accumulate(np.where(silent, size, places)[::-1])[::-1]
    first, last = np.repeat(offsets[:-1], np.diff(offsets)), np.repeat(offsets[1:], np.diff(offsets))
    return np.where(before >= first, before, np.where(after < last, after, -1))


def times(words: Words, tokens: Tokens) -> tuple[Times, Times, dict[int, InputError]]:
    """Starts and ends as given, or else made up along each utterance's best reading; errors by utterance."""
    if not words.aligned:
        none = np.zeros(0)
        return words.columns.get("start", none), words.columns.get("end", none), {}
    said = [tuple(spoken(tokens, number)) for number in words.token.tolist()]
    texts = [said[first:last] for first, last in pairwise(words.offsets.tolist())]
    start, end, errors = np.zeros(len(said)), np.zeros(len(said)), {}
    place = 0
    for utterance, (first, last) in enumerate(pairwise(words.groups.tolist())):
        mine = texts[first:last]
        try:
            found = aligned_times(mine, next((number for number, text in enumerate(mine) if text), 0))
        except InputError as error:
            errors[utterance] = error
            found = []
        for starts, ends in found:
            start[place : place + len(starts)], end[place : place + len(ends)] = starts, ends
            place += len(starts)
        place = int(words.offsets[last])
    return start, end, errors


def raw_lattices(found: Sequence[Packed], words: Words, timed: SpreadWords, made: Chains) -> RawLattices:
    """Raw lattices whose chains have the words' scores and all the evidence."""
    count = len(found)
    return RawLattices(
        utts=[each.utt for each in found],
        place=np.array([each.place for each in found], np.int64),
        node_offsets=made.node_offsets,
        arc_offsets=made.arc_offsets,
        start=np.zeros(count, np.int32),
        end=np.ones(count, np.int32),
        time=made.time,
        source=made.source,
        target=made.target,
        token=np.append(words.token, np.int32(0))[made.word],
        scores={"acoustic": _acoustic(found, words, made)},
        picked=_picked(found, made),
        extra=_evidence(found, words, made),
        spread_words=timed.counts,
    )


def _acoustic(found: Sequence[Packed], words: Words, made: Chains) -> Floats:
    """Word log-probabilities on the word arcs; what is left of a reading's score goes on its last arc."""
    logprob = words.columns.get("logprob", np.zeros(len(words.token)))
    score = np.array([reading.score for each in found for reading in each.readings], np.float64)
    owner = csr_rows(words.offsets)
    acoustic = np.append(logprob, 0.0)[made.word]
    acoustic[made.offsets[1:] - 1] += score - np.bincount(owner, weights=logprob, minlength=len(score))
    return acoustic.astype(np.float32)


def _picked(found: Sequence[Packed], made: Chains) -> Flags:
    flags = [each.picked in reading.members for each in found for reading in each.readings]
    return np.repeat(np.array(flags, np.bool_), np.diff(made.offsets))


def _evidence(found: Sequence[Packed], words: Words, made: Chains) -> dict[str, Floats]:
    """What is known of words, on their arcs (0 on silence arcs), and of whole readings, on all of their arcs."""
    rank = [number for each in found for number in range(len(each.readings))]
    share = [reading.share for each in found for reading in each.readings]
    per_reading: dict[str, Any] = {"rank": rank, "share": share} | {
        name: [value for each in found for value in each.evidence[name]] for name in found[0].evidence
    }
    per_word = {name: values for name, values in words.columns.items() if name not in _TIMES}
    if "tokens" in per_word:  # how long a reading is; the end of the text is a token too
        before = np.concatenate([[0.0], np.cumsum(per_word["tokens"])])
        per_reading["length"] = 1.0 + np.diff(before[words.offsets])
    arcs = np.diff(made.offsets)
    return {name: np.append(values, 0.0).astype(np.float32)[made.word] for name, values in per_word.items()} | {
        name: np.repeat(np.array(values, np.float32), arcs) for name, values in per_reading.items()
    }
