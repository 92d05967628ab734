"""N-best lists to lattices: equal hypotheses merge, each distinct one becomes a chain (DESIGN, section 2).

A reader asks the `HypothesesBuilder` to `merge` the hypotheses of an utterance into readings, collects what is known
about the words of each reading's most probable variant, and adds it; batches of lattices come out.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...base.errors import InputError
from ...lattices.assemble import Problems, Tokens, assemble
from ...lattices.lattice import Lattices, Origin
from ...lattices.text import Normalizer
from ..chains import link_words, spread_words
from .hypothesis_arrays import (
    NBest,
    Packed,
    Reading,
    Words,
    joined,
    raw_lattices,
    spoken,
    surface,
    times,
    without_marks,
)

__all__ = ["LARGEST_SCORE", "HypothesesBuilder", "NBest", "Reading"]

LARGEST_SCORE = 1e30  # far more than any, and sums of them still fit 32 bits
BATCH_WORDS = 1 << 16  # enough to make the array operations worth it, few enough to stay in memory


class HypothesesBuilder:
    """Collects N-best lists and gives them out as batches of checked lattices.

    With times, they have the columns `start` and `end`; without, times are made up by alignment. The word
    log-probabilities (`logprob`) are the arcs' acoustic scores, and what is left of a reading's score goes on the
    last arc of its chain: all of it, if there are none. What else is known of words is evidence on their arcs, 0 on
    silence arcs; what is known of a reading stands on all of its arcs, with its `rank` (0: the best) and the `share`
    of the hypotheses that were merged into it.
    """

    def __init__(
        self, normalizer: Normalizer, problems: Problems, *, origin: Origin, place_name: str = "line"
    ) -> None:
        self._tokens, self._problems = Tokens(normalizer), problems
        self._origin, self._place_name = origin, place_name
        self._spoken = _Spoken(self._tokens)
        self._waiting: list[Packed] = []
        self._layout: tuple[object, ...] | None = None
        self._words = 0

    def merge(self, hypotheses: Sequence[Sequence[str]], scores: Sequence[float]) -> list[Reading]:
        """The readings of hypotheses with these tokens and log-probabilities; that of the best comes first."""
        _check_scores(scores)
        members: dict[str, list[int]] = {}
        known = self._spoken
        for number, tokens in enumerate(hypotheses):
            said = "".join([known[token] for token in tokens])
            members.setdefault(said, []).append(number)
        readings = [_reading(same, scores) for same in members.values()]
        return sorted(readings, key=lambda reading: -scores[reading.variant])

    def add(self, found: NBest) -> Iterator[Lattices]:
        """Add an utterance; gives a batch when one is full, or when this one knows other things than those before."""
        packed = self._pack(found)
        if self._waiting and not self._fits(packed):
            yield from self.flush()
        self._waiting.append(packed)
        self._layout = packed.layout or self._layout
        self._words += len(packed.token)
        if self._words >= BATCH_WORDS:
            yield from self.flush()

    def _fits(self, packed: Packed) -> bool:
        same_words = packed.layout is None or self._layout is None or packed.layout == self._layout
        return same_words and packed.evidence.keys() == self._waiting[0].evidence.keys()

    def _pack(self, found: NBest) -> Packed:
        token = self._tokens.id
        return Packed(
            utt=found.utt,
            place=found.place,
            readings=found.readings,
            picked=found.picked,
            evidence=found.evidence,
            finish=found.finish,
            sizes=[len(words) for words in found.words],
            token=array("i", [token(each) for words in found.words for each in words]),
            columns={name: array("d", values) for name, values in found.columns.items()},
            token_logprobs=array("d", found.token_logprobs),
        )

    def flush(self) -> Iterator[Lattices]:
        """What was collected so far, as a batch."""
        waiting, self._waiting, self._words, self._layout = self._waiting, [], 0, None
        if waiting:
            yield from self._batch(waiting)

    def _batch(self, found: list[Packed]) -> Iterator[Lattices]:
        words = without_marks(joined(found), self._tokens)
        finish = np.array([0.0 if words.aligned else each.finish for each in found], np.float64)
        start, end, errors = times(words, self._tokens)
        timed = spread_words(words.groups, words.offsets, start, end, finish, name=self._word_name(words))
        errors |= timed.errors
        for number, error in errors.items():
            place = f"{self._place_name} {found[number].place}"
            self._problems.report(error.at(file=self._origin.file, utt=found[number].utt, place=place))
        if errors:
            good = [each for number, each in enumerate(found) if number not in errors]
            yield from self._batch(good) if good else ()
            return
        batch = assemble(
            raw_lattices(
                found, words, timed, link_words(words.groups, words.offsets, timed.start, timed.end, finish)
            ),
            self._tokens,
            origin=replace(self._origin, times="aligned" if words.aligned else "given"),
            problems=self._problems,
            place_name=self._place_name,
        )
        if len(batch):
            yield batch

    def _word_name(self, words: Words) -> Callable[[int], str]:
        return lambda number: f"the word {surface(self._tokens, int(words.token[number]))!r}"


class _Spoken(dict[str, str]):
    """The normalised words of a token, each with a space after it; worked out once."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def __missing__(self, token: str) -> str:
        words = spoken(self._tokens, self._tokens.id(token))
        self[token] = "".join(word + " " for word in words)
        return self[token]


def _check_scores(scores: Sequence[float]) -> None:
    """Refuse scores that look like probabilities, or like costs with the best and least first, and not like logs."""
    if not scores or min(scores) < 0 or max(scores) == 0:
        return
    if max(scores) <= 1:
        raise InputError(
            f"the scores look like probabilities: {_listed(scores)}", remedy="Give their natural logarithms as scores"
        )
    if len(scores) > 1 and all(a <= b for a, b in pairwise(scores)) and scores[0] < scores[-1]:
        raise InputError(
            f"the scores look like costs, the least first: {_listed(scores)}",
            remedy="Give log-probabilities, of which the largest is best: costs with a minus sign",
        )


def _listed(scores: Sequence[float]) -> str:
    return ", ".join(f"{score:g}" for score in scores[:4]) + (", ..." if len(scores) > 4 else "")


def _reading(same: list[int], scores: Sequence[float]) -> Reading:
    best = same[0] if len(same) == 1 else max(same, key=scores.__getitem__)
    # The likeliest is taken out of the sum, which then neither overflows nor vanishes.
    merged = math.log(math.fsum(math.exp(scores[each] - scores[best]) for each in same)) if len(same) > 1 else 0.0
    return Reading(best, same, scores[best] + merged, len(same) / len(scores))
