"""Listeners that heard a part of a recording only: what they say nothing of is judged by the others.

Another transcript may lack passages. In these its listener has not heard nothing, it was not there: utterances are
judged in groups, each by the listeners that cover it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import csr_items, csr_offsets
from ...lattices.lattice import Floats, Offsets
from .checked_words import CheckedWords
from .columns import Heard, TranscriptFacts
from .gathered import Gathered
from .heard_instead import HeardInstead
from .listener import ForcedWords
from .pair_evidence import GAP_FIELDS, PairEvidence

_PROBABILITIES = ("confidence", "missing_before", "missing_end", "if_recognizer")


def judged_by_coverage(
    gathered: Gathered, verdict: Callable[[Gathered], CheckedWords], *, trust_scores: bool
) -> CheckedWords:
    """The verdict on all utterances, each by those who were there.

    Where nobody was, words are as sure as they came, with `trust_scores`; else as the rest is on average.
    """
    if all(one.covers is None or one.covers.all() for one in gathered.heard):
        return verdict(gathered)
    groups = list(_groups(gathered))
    checked = [verdict(some(gathered, rows, listeners)) for rows, listeners in groups]
    told = [one for one, (_, listeners) in zip(checked, groups, strict=True) if listeners]
    for index, (rows, listeners) in enumerate(groups):
        if not listeners and told:
            score = some_facts(gathered.facts, rows).score if trust_scores else None
            checked[index] = _as_sure_as(checked[index], told, score)
    return _put_together(checked, [rows for rows, _ in groups], gathered.facts.offsets)


def _groups(gathered: Gathered) -> Iterator[tuple[Offsets, list[int]]]:
    """Utterances that the same listeners cover, and these."""
    everywhere = np.ones(len(gathered), np.bool_)
    covers = np.stack([everywhere if one.covers is None else one.covers for one in gathered.heard])
    kinds, kind = np.unique(covers, axis=1, return_inverse=True)
    for index in range(kinds.shape[1]):
        yield np.flatnonzero(kind == index), np.flatnonzero(kinds[:, index]).tolist()


def some(gathered: Gathered, rows: Offsets, listeners: Sequence[int]) -> Gathered:
    """Some utterances, and some of those who listened."""
    offsets = gathered.facts.offsets
    words, gaps = csr_items(offsets, rows), csr_items(offsets + np.arange(len(offsets)), rows)
    return Gathered(
        some_facts(gathered.facts, rows),
        tuple(gathered.names[index] for index in listeners),
        tuple(some_heard(gathered.heard[index], words, gaps, rows) for index in listeners),
        tuple(_some_instead(gathered.instead[index], words) for index in listeners),
    )


def some_facts(facts: TranscriptFacts, rows: Offsets) -> TranscriptFacts:
    """Those of some utterances."""
    words = csr_items(facts.offsets, rows)
    return TranscriptFacts(csr_offsets(np.diff(facts.offsets)[rows]), *_indexed(facts[1:], words))


def some_heard(heard: Heard, words: Offsets, gaps: Offsets, rows: Offsets) -> Heard:
    """What a listener says of some utterances, with these words and gaps."""
    fields = {name: getattr(heard.evidence, name) for name in PairEvidence._fields}
    evidence = PairEvidence(**{name: v[gaps if name in GAP_FIELDS else words] for name, v in fields.items()})
    forced = heard.forced
    if forced is not None:
        forced = ForcedWords(*_indexed(forced[:4], words), *_indexed(forced[4:], rows))
    return Heard(evidence, heard.error_rate, forced)


def _some_instead(instead: HeardInstead, words: Offsets) -> HeardInstead:
    place = {word: index for index, word in enumerate(words.tolist())}
    return HeardInstead(len(words), {place[word]: text for word, text in instead.text.items() if word in place})


def _indexed(arrays: Sequence[NDArray[Any]], index: Offsets) -> list[NDArray[Any]]:
    return [values[index] for values in arrays]


def _as_sure_as(checked: CheckedWords, others: Sequence[CheckedWords], score: Floats | None) -> CheckedWords:
    """Words that nobody was asked about: as likely right as they came or as the others are on average."""

    def filled(name: str) -> NDArray[Any]:
        known = np.concatenate([getattr(one, name) for one in others])
        mean = np.full(len(getattr(checked, name)), known.mean() if len(known) else 0.5)
        return mean if score is None or "missing" in name else np.where(np.isnan(score), mean, score)

    made: dict[str, Any] = {name: filled(name) for name in _PROBABILITIES}
    return checked._replace(
        **made, heard=np.full(len(checked.heard), np.nan, np.float32), misheard=others[0].misheard
    )


def _put_together(checked: Sequence[CheckedWords], rows: Sequence[Offsets], offsets: Offsets) -> CheckedWords:
    """The verdicts on groups of utterances in the order of these."""
    words = np.argsort(np.concatenate([csr_items(offsets, group) for group in rows]), kind="stable")
    utterances = np.argsort(np.concatenate(rows), kind="stable")
    made: dict[str, Any] = {}
    for name in (*_PROBABILITIES, "heard"):
        values = np.concatenate([getattr(one, name) for one in checked])
        made[name] = values[utterances if name == "missing_end" else words]
    for name in ("alternatives", "made_up"):
        listed = [value for one in checked for value in getattr(one, name)]
        made[name] = [listed[index] for index in words.tolist()]
    return CheckedWords(offsets=offsets, misheard=float(np.mean([one.misheard for one in checked])), **made)
