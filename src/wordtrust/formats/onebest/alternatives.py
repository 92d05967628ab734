"""Transcripts whose phrases come with alternatives: each becomes a branch beside the words that the service chose.

The chosen words keep the confidences that the service gave them as posteriors, as without alternatives. What a
confidence leaves of 1 goes to the words that the alternatives have in that place: shared by the confidences of the
alternatives where they have any, else equally. A word that an alternative has in common with the chosen words is
counted there already, so its arc has the posterior 0.

An alternative without times of its own is aligned with the chosen words, word by word, and takes their times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import row_offsets
from ...lattices.assemble import RawLattice, Tokens
from ...lattices.lattice import Times
from ...lattices.text import Normalizer
from ..chains import SegmentChains, SegmentWords, aligned_times, segment_chains
from .recognized import RecognizedPhrase, RecognizedWord

Reals = NDArray[np.float64]
_ROUNDING = 1e-6  # seconds
_SLIGHT = 0.15  # of its length that a word may overlap with another, as times of two hypotheses do
_MAX_PAIRS = 4_000_000  # of words that are compared: longer phrases keep the chosen words alone


@dataclass(frozen=True, slots=True)
class _Branch:
    """One way to say a phrase: words with times and posteriors."""

    words: Sequence[RecognizedWord]
    start: Times
    end: Times
    posterior: Reals


def branched_lattice(
    tokens: Tokens,
    normalizer: Normalizer,
    utt: str,
    phrases: Sequence[RecognizedPhrase],
    chosen: tuple[Times, Times, Reals],
    *,
    finish: float | None,
    times: str,
    extra: Mapping[str, Reals] | None = None,
) -> RawLattice:
    """The lattice of phrases with alternatives; `chosen` has start, end and confidence of all chosen words.

    `extra` are numbers of these; a word of an alternative has those of the first chosen word of its phrase.
    """
    segments, owners, first = list[list[_Branch]](), list[NDArray[np.int64]](), 0
    for phrase in phrases:
        last = first + len(phrase.words)
        start, end, confidence = (values[first:last] for values in chosen)
        if phrase.words:
            segments.append(_branches(phrase, _Branch(phrase.words, start, end, confidence), normalizer))
            owners.append(np.arange(first, last))
            owners += [np.full(len(branch.words), first) for branch in segments[-1][1:]]
        first = last
    branches = [branch for segment in segments for branch in segment]
    graph = segment_chains([_segment_words(segment) for segment in segments], finish=finish)
    is_chosen = np.array([index == 0 for segment in segments for index in range(len(segment))] + [True])
    words = [word.text.strip() for branch in branches for word in branch.words]
    owner = np.concatenate(owners)
    return graph.lattice(
        utt,
        tokens.ids(words),
        times=times,
        posterior=_posteriors(graph, branches, is_chosen),
        picked=is_chosen[graph.hypothesis],
        extra={name: np.append(values[owner], 0.0)[graph.word] for name, values in (extra or {}).items()},
    )


def _posteriors(graph: SegmentChains, branches: Sequence[_Branch], is_chosen: NDArray[np.bool_]) -> Reals:
    """[arcs] those of words; pauses are certain on the chosen path and count nothing beside it."""
    of_words = np.append(np.concatenate([branch.posterior for branch in branches]), 0.0)
    return np.where(graph.word >= 0, of_words[graph.word], np.where(is_chosen[graph.hypothesis], 1.0, 0.0))


def _segment_words(branches: Sequence[_Branch]) -> SegmentWords:
    start, end = (np.concatenate([getattr(branch, name) for branch in branches]) for name in ("start", "end"))
    return SegmentWords(row_offsets(branch.words for branch in branches), start, end)


def _branches(phrase: RecognizedPhrase, chosen: _Branch, normalizer: Normalizer) -> list[_Branch]:
    """The chosen words and the alternatives that say something else."""
    said = {normalizer(_text(chosen.words))}
    others = []
    for alternative in phrase.alternatives:
        text = normalizer(_text(alternative.words))
        if text not in said and alternative.words and len(alternative.words) * len(chosen.words) <= _MAX_PAIRS:
            said.add(text)
            others.append(alternative)
    weighed = zip(others, _weights(others), strict=True)
    return [chosen, *(_branch(other, chosen, weight, normalizer) for other, weight in weighed)]


def _text(words: Sequence[RecognizedWord]) -> str:
    return " ".join(word.text for word in words)


def _weights(alternatives: Sequence[RecognizedPhrase]) -> list[float]:
    """What share of what the chosen words leave each alternative gets."""
    given = [_mean_confidence(alternative) for alternative in alternatives]
    known = [weight for weight in given if weight is not None]
    total = sum(known)
    if len(known) < len(given) or total <= 0:
        return [1 / max(1, len(given))] * len(given)
    return [weight / total for weight in known]


def _mean_confidence(phrase: RecognizedPhrase) -> float | None:
    """That of the phrase, else the mean of its words'."""
    if phrase.confidence is not None:
        return phrase.confidence
    given = [word.confidence for word in phrase.words if word.confidence is not None]
    return sum(given) / len(given) if len(given) == len(phrase.words) else None


def _branch(other: RecognizedPhrase, chosen: _Branch, weight: float, normalizer: Normalizer) -> _Branch:
    start, end = _own_times(other, chosen) or _times_along(other, chosen, normalizer)
    names, chosen_names = ([normalizer(word.text) for word in words] for words in (other.words, chosen.words))
    overlap = np.minimum(end[:, None], chosen.end) - np.maximum(start[:, None], chosen.start)  # [its words, chosen]
    is_same = np.array(names)[:, None] == np.array(chosen_names)
    rivals = _rivals(overlap, end - start)
    is_counted = (is_same & (rivals | (overlap > 0))).any(axis=1)
    left = 1.0 - np.where(rivals, chosen.posterior, 0.0).max(axis=1)
    return _Branch(other.words, start, end, np.where(is_counted, 0.0, weight * left))


def _rivals(overlap: Reals, length: Reals) -> NDArray[np.bool_]:
    """[words, chosen words] which are said at the same time; beside a word in a gap, those next to it."""
    rivals: NDArray[np.bool_] = overlap > np.maximum(_SLIGHT * length, _ROUNDING)[:, None]
    nearest = overlap >= overlap.max(axis=1, keepdims=True) - _ROUNDING
    rivals |= nearest & ~rivals.any(axis=1, keepdims=True)
    return rivals


def _own_times(other: RecognizedPhrase, chosen: _Branch) -> tuple[Times, Times] | None:
    """The alternative's own times, if every word has them, in order and about where the chosen words are."""
    start = np.array([word.start for word in other.words], np.float64)
    end = np.array([word.end for word in other.words], np.float64)
    if np.isnan(start).any() or np.isnan(end).any():
        return None
    in_order = (np.diff(start) >= 0).all() and (end >= start).all()
    near = start[0] >= chosen.start[0] - 1 and end[-1] <= chosen.end[-1] + 1
    return (start, end) if in_order and near else None


def _times_along(other: RecognizedPhrase, chosen: _Branch, normalizer: Normalizer) -> tuple[Times, Times]:
    """Times by the alignment with the chosen words: word k of these lasts from k to k + 1 there."""
    texts = [[normalizer(word.text) for word in words] for words in (chosen.words, other.words)]
    start, end = aligned_times(texts)[1]
    first = np.minimum(start.astype(np.int64), len(chosen.start) - 1)
    last = np.maximum(np.ceil(end).astype(np.int64) - 1, 0)
    length = chosen.end - chosen.start
    begin = chosen.start[first] + (start - first) * length[first]
    finish = chosen.start[last] + (end - last) * length[last]
    # A word where the chosen ones have none stands in the gap between two of them.
    begin, finish = np.minimum(begin, finish), np.maximum(begin, finish)
    return np.maximum.accumulate(begin), np.maximum.accumulate(np.maximum(finish, begin))
