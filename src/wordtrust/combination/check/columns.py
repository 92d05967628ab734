"""What trees see of each word of a transcript, and of each gap: the columns of two tables.

Listeners take slots by their strength, the one with the lowest error rate first; those beyond the slots count in
what all of them say together. NaN stands for what is not known: an empty slot, a score that nobody gave. How far
listeners agree over a whole file is not among the columns, nor are the times of words: there are too few recognizers
to learn from, and trees that saw these knew them again instead. That a recognizer wrote the transcript is one: where
people may have, words that no listener heard are right more often, and nothing else tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base.arrays import csr_rows
from ...lattices.lattice import Flags, Floats, Ints, Offsets
from .listener import ForcedWords
from .pair_evidence import PairEvidence

SLOTS = 2
_HEARD = (
    "word", "rival", "words", "silence", "posterior", "similarity", "output_similarity", "mean_confidence", "agrees",
    "has_other", "other_confidence",
)  # fmt: skip
_FORCED = ("forced_rate", "forced_least", "forced_margin", "forced_text")
PER_LISTENER = (*_HEARD, "error_rate", *_FORCED)
TOGETHER = (
    "listeners", "share_agrees", "most_word", "least_word", "mean_word", "mean_posterior", "most_rival",
    "mean_similarity", "same_other", "mean_forced_rate", "most_forced_rate", "least_forced_margin",
    "with_networks",
)  # fmt: skip
NEIGHBOURS = (
    "support_before", "support_before_2", "support_after", "support_after_2", "missing_before", "missing_after",
    "support_text", "agreement_text", "to_doubt_before", "to_doubt_after",
)  # fmt: skip
OWN = (
    "letters", "frequency", "words_in_text", "words_before", "words_after", "repeats", "score", "score_rank",
    "by_recognizer",
)  # fmt: skip
WORD_COLUMNS = tuple(f"{name}.{slot}" for slot in range(SLOTS) for name in PER_LISTENER) + TOGETHER + NEIGHBOURS + OWN
GAP_PER_LISTENER = ("missing", "inside", "most_inside", "rivals", "mean_confidence", "error_rate")
GAP_SHARED = (
    "listeners", "share_missing", "mean_inside", "mean_rivals", "seconds", "is_first", "is_last", "words_in_text",
    "support_before", "support_after", "agreement_text", "missing_text", "by_recognizer",
)  # fmt: skip
GAP_COLUMNS = tuple(f"{name}.{slot}" for slot in range(SLOTS) for name in GAP_PER_LISTENER) + GAP_SHARED
_FAR = 10  # words: a doubt that is farther away is as good as none
_LEAST_RATE = -20.0  # log-probabilities of tokens below this are all the same


class TranscriptFacts(NamedTuple):
    """What is known of the words of a transcript without any listener, utterances end to end."""

    offsets: Offsets  # [utterances + 1]
    word: Ints  # [words] numbers; the same word has the same one
    letters: Ints  # [words]
    frequency: Floats  # [words] the log of the rank among the words of the language
    score: Floats  # [words] the confidence that came with the transcript; NaN without one


class Heard(NamedTuple):
    """One listener's evidence, and what is known of it."""

    evidence: PairEvidence
    error_rate: float  # NaN: not known
    forced: ForcedWords | None = None
    covers: Flags | None = None  # [utterances] which it listened to; None: all


def word_table(facts: TranscriptFacts, heard: Sequence[Heard], *, by_recognizer: bool) -> Floats:
    """[words, columns]; listeners are in the order of their strength.

    `by_recognizer`: a recognizer wrote the transcript, and nobody who may have made no errors at all.
    """
    together = _together(heard, len(facts.word))
    columns = {
        f"{name}.{slot}": values
        for slot, listener in enumerate(heard[:SLOTS])
        for name, values in _of_listener(listener, facts.offsets).items()
    }
    columns |= together | _neighbours(facts, heard, together) | _own(facts)
    columns["by_recognizer"] = np.full(len(facts.word), by_recognizer, np.float32)
    return _table(columns, WORD_COLUMNS, len(facts.word))


def gap_table(facts: TranscriptFacts, heard: Sequence[Heard], *, by_recognizer: bool) -> Floats:
    """[gaps, columns] likewise."""
    offsets = facts.offsets + np.arange(len(facts.offsets))
    gaps = int(offsets[-1])
    columns: dict[str, Floats] = {}
    for slot, listener in enumerate(heard[:SLOTS]):
        one = listener.evidence
        columns |= {f"{name}.{slot}": getattr(one, name) for name in ("missing", "inside", "most_inside", "rivals")}
        columns[f"mean_confidence.{slot}"] = _on_gaps(_first_of_texts(one.mean_confidence, facts.offsets), offsets)
        columns[f"error_rate.{slot}"] = np.full(gaps, listener.error_rate, np.float32)
    columns["by_recognizer"] = np.full(gaps, by_recognizer, np.float32)
    return _table(columns | _gaps_together(facts, heard, offsets), GAP_COLUMNS, gaps)


def _table(columns: dict[str, Floats], names: Sequence[str], rows: int) -> Floats:
    table = np.full((rows, len(names)), np.nan, np.float32)
    for index, name in enumerate(names):
        if name in columns:
            table[:, index] = columns[name]
    return table


def _of_listener(listener: Heard, offsets: Offsets) -> dict[str, Floats]:
    one, forced = listener.evidence, listener.forced
    columns = {name: getattr(one, name) for name in _HEARD}
    columns["error_rate"] = np.full(len(one.word), listener.error_rate, np.float32)
    if forced is not None:
        rate = _rate(forced)
        columns |= {
            "forced_rate": rate, "forced_least": forced.least, "forced_margin": forced.margin,
            "forced_text": _on_words(_means(rate, offsets), offsets),
        }  # fmt: skip
    return columns


def _rate(forced: ForcedWords) -> Floats:
    """[words] log-probability a token."""
    rate: Floats = np.maximum(forced.logprob / np.maximum(forced.tokens, 1.0), _LEAST_RATE).astype(np.float32)
    return rate


def _together(heard: Sequence[Heard], words: int) -> dict[str, Floats]:
    if not heard:
        return {"listeners": np.zeros(words, np.float32)}
    stacked = {name: np.stack([getattr(one.evidence, name) for one in heard]) for name in (*_HEARD, "other")}
    word = stacked["word"]
    columns = {
        "listeners": np.full(words, len(heard), np.float32), "share_agrees": stacked["agrees"].mean(axis=0),
        "most_word": word.max(axis=0), "least_word": word.min(axis=0), "mean_word": word.mean(axis=0),
        "mean_posterior": stacked["posterior"].mean(axis=0), "most_rival": stacked["rival"].max(axis=0),
        "mean_similarity": stacked["similarity"].mean(axis=0), "same_other": _same_other(stacked["other"]),
        "with_networks": np.full(words, sum(_has_scores(one) for one in heard), np.float32),
    }  # fmt: skip
    asked = [one.forced for one in heard if one.forced is not None]
    if asked:
        rates, margins = np.stack([_rate(one) for one in asked]), np.stack([one.margin for one in asked])
        for name, reduced, values in (("mean_forced_rate", np.nanmean, rates), ("most_forced_rate", np.nanmax, rates),
                                      ("least_forced_margin", np.nanmin, margins)):  # fmt: skip
            known = ~np.isnan(values).all(axis=0)
            columns[name] = np.full(words, np.nan, np.float32)
            columns[name][known] = reduced(values[:, known], axis=0)
    return columns


def _has_scores(listener: Heard) -> bool:
    return not np.isnan(listener.evidence.mean_confidence).all()


def _same_other(other: Ints) -> Floats:
    """[words] how many listeners have the same other word, at most; `other` is [listeners, words]."""
    votes = np.zeros(other.shape[1], np.float32)
    for one in other:
        votes = np.maximum(votes, ((other == one) & (one > 0)).sum(axis=0, dtype=np.float32))
    return votes


def _neighbours(facts: TranscriptFacts, heard: Sequence[Heard], together: dict[str, Floats]) -> dict[str, Floats]:
    """What is known of the words and gaps beside each word, and of its whole text."""
    if not heard:
        return {}
    offsets, support, agreed = facts.offsets, together["mean_word"], together["share_agrees"]
    missing = np.stack([np.minimum(one.evidence.missing, 3.0) for one in heard]).mean(axis=0)
    gap = np.arange(len(facts.word)) + csr_rows(offsets)
    before, after = _distances(offsets, agreed < 0.5)
    return {
        "support_before": _shifted(support, offsets, 1), "support_before_2": _shifted(support, offsets, 2),
        "support_after": _shifted(support, offsets, -1), "support_after_2": _shifted(support, offsets, -2),
        "missing_before": missing[gap], "missing_after": missing[gap + 1],
        "support_text": _on_words(_means(support, offsets), offsets),
        "agreement_text": _on_words(_means(agreed, offsets), offsets),
        "to_doubt_before": before, "to_doubt_after": after,
    }  # fmt: skip


def _shifted(values: Floats, offsets: Offsets, steps: int) -> Floats:
    """The value `steps` words before (after, where negative) in the same text; NaN beyond its ends."""
    owner, index = csr_rows(offsets), np.arange(len(values)) - steps
    inside = (index >= offsets[:-1][owner]) & (index < offsets[1:][owner])
    shifted = np.full(len(values), np.nan, np.float32)
    shifted[inside] = values[index[inside]]
    return shifted


def _distances(offsets: Offsets, doubted: np.ndarray) -> tuple[Floats, Floats]:
    """[words] how many words it is to the nearest doubted one before, and after."""
    found = np.full((2, len(doubted)), _FAR, np.float32)
    for steps in range(_FAR - 1, 0, -1):
        for side, sign in enumerate((1, -1)):
            there = _shifted(doubted.astype(np.float32), offsets, sign * steps) > 0
            found[side, there] = steps
    return found[0], found[1]


def _own(facts: TranscriptFacts) -> dict[str, Floats]:
    offsets, owner = facts.offsets, csr_rows(facts.offsets)
    index, sizes = np.arange(len(facts.word)), np.diff(facts.offsets)
    return {
        "letters": facts.letters.astype(np.float32), "frequency": facts.frequency,
        "words_in_text": sizes[owner].astype(np.float32),
        "words_before": np.minimum(index - offsets[:-1][owner], _FAR).astype(np.float32),
        "words_after": np.minimum(offsets[1:][owner] - 1 - index, _FAR).astype(np.float32),
        "repeats": repeats(facts.word, offsets), "score": facts.score, "score_rank": _ranks(facts.score),
    }  # fmt: skip


def _ranks(score: Floats) -> Floats:
    """[words] the share of the file's words that have a lower score, or the same to half; NaN without a score."""
    ranks, known = np.full(len(score), np.nan, np.float32), np.flatnonzero(~np.isnan(score))
    if len(known):
        ordered = np.sort(score[known])
        below, up_to = (np.searchsorted(ordered, score[known], side) for side in ("left", "right"))
        ranks[known] = (below + up_to) / (2 * len(known))
    return ranks


def repeats(word: Ints, offsets: Offsets, longest: int = 8) -> Floats:
    """[words] how often what ends with the word was said just before it; a phrase has `longest` words at most."""
    most = np.zeros(len(word), np.float32)
    owner = csr_rows(offsets)
    for period in range(1, longest + 1):
        same = np.zeros(len(word), np.bool_)
        same[period:] = (word[period:] == word[:-period]) & (owner[period:] == owner[:-period])
        run = _run_lengths(same)
        most = np.maximum(most, (run // period).astype(np.float32))
    return most


def _run_lengths(flags: np.ndarray) -> Ints:
    """[entries] how many entries in a row are true up to and with each."""
    count = np.cumsum(flags)
    lengths: Ints = (count - np.maximum.accumulate(np.where(flags, 0, count))).astype(np.int32)
    return lengths


def _gaps_together(facts: TranscriptFacts, heard: Sequence[Heard], offsets: Offsets) -> dict[str, Floats]:
    gaps, owner = int(offsets[-1]), csr_rows(offsets)
    first, last = np.zeros(gaps, np.float32), np.zeros(gaps, np.float32)
    first[offsets[:-1]], last[offsets[1:] - 1] = 1, 1
    columns = {
        "listeners": np.full(gaps, len(heard), np.float32), "is_first": first, "is_last": last,
        "words_in_text": np.diff(facts.offsets)[owner].astype(np.float32),
    }  # fmt: skip
    if not heard:
        return columns
    word, agreed, missing, inside, rivals = (
        np.stack([getattr(one.evidence, name) for one in heard])
        for name in ("word", "agrees", "missing", "inside", "rivals")
    )
    after = np.full(gaps, np.nan, np.float32)
    after[np.arange(len(facts.word)) + csr_rows(facts.offsets)] = word.mean(axis=0)
    return columns | {
        "share_missing": (missing > 0).mean(axis=0, dtype=np.float32), "mean_inside": inside.mean(axis=0),
        "mean_rivals": rivals.mean(axis=0), "seconds": heard[0].evidence.seconds,
        "support_before": _shifted(after, offsets, 1), "support_after": after,
        "agreement_text": _on_gaps(_means(agreed.mean(axis=0), facts.offsets), offsets),
        "missing_text": _on_gaps(_means((missing > 0).mean(axis=0), offsets), offsets),
    }  # fmt: skip


def _means(values: Floats, offsets: Offsets) -> Floats:
    """[utterances] the mean of the values that are known; NaN where none is."""
    owner, known = csr_rows(offsets), ~np.isnan(values)
    count = np.bincount(owner[known], minlength=len(offsets) - 1)
    total = np.bincount(owner[known], values[known], len(offsets) - 1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan).astype(np.float32)


def _on_words(values: Floats, offsets: Offsets) -> Floats:
    return values[csr_rows(offsets)]


_on_gaps = _on_words


def _first_of_texts(values: Floats, offsets: Offsets) -> Floats:
    """[utterances] the first value of each; NaN where there is none."""
    first = np.full(len(offsets) - 1, np.nan, np.float32)
    has = np.diff(offsets) > 0
    first[has] = values[offsets[:-1][has]]
    return first
