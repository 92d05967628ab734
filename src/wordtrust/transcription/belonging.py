"""Whether a text is of the speech that was heard: what the words found there weigh, against what chance would find.

The text is written down twice: word by word as any text of the language, and as words copied from what was heard. A
word that is copied saves what it costs by itself, the more the rarer it is there; a copy that begins elsewhere than
where the last one ended costs the choice of the place, the more the longer the recording is; a word that is not found
costs the note that it is not copied. What the copies save in all, in nats, is the logarithm of how many times as
likely the text is if it is of this speech: near 0 of a few words, far below of a longer text from elsewhere.
"""

from __future__ import annotations

import numpy as np

from ..base.arrays import csr_offsets
from ..lattices.lattice import Flags, Offsets
from ..lattices.weights import Reals
from .read_aloud import MatchedWords

LEAST = -13.5  # nats: texts with less are of something else (`experiments/check_belonging`)
_COPIED = 0.5  # how often a word of the text is one that was heard
_GOES_ON = 0.7  # how often a copied word follows the one that was copied before it
_WORDS, _SOME = 4, 20  # times as many words as were heard, and some more, are as many as could be said there


def evidence_of_belonging(found: MatchedWords) -> float:
    """The logarithm of how much likelier the text is as one of what was heard."""
    words, heard = len(found.said), len(found.heard)
    copied = np.flatnonzero(found.partner_said >= 0)
    value, jump = _values(found, copied)
    kept = _worth_a_jump(value, copied, found.partner_said[copied], jump)
    gained = float(value[kept].sum() - _costs(copied[kept], found.partner_said[copied[kept]], jump).sum())
    not_copied = max(0, min(words, _WORDS * heard + _SOME) - int(kept.sum()))
    return gained + not_copied * float(np.log(1 - _COPIED))


def _values(found: MatchedWords, copied: Offsets) -> tuple[Reals, float]:
    """What each copied word saves, and what a jump to any word that was heard costs."""
    heard = max(1, len(found.heard))
    share = np.bincount(found.heard, minlength=int(found.said.max(initial=0)) + 1) / heard
    return np.log(_COPIED) - np.log(share[found.said[copied]]), float(np.log(heard))


def _costs(copied: Offsets, partner: Offsets, jump: float) -> Reals:
    """What it costs to say where each copied word is: next to nothing if as far on in both texts."""
    shift = np.abs(np.diff(partner - copied))
    elsewhere = np.log(2 / (1 - _GOES_ON)) + np.minimum(2 * np.log1p(shift), jump)
    costs = np.where(shift == 0, -np.log(_GOES_ON), elsewhere)
    return np.concatenate([np.full(min(1, len(copied)), jump), costs])


def _worth_a_jump(value: Reals, copied: Offsets, partner: Offsets, jump: float) -> Flags:
    """[copied] which words are in a run, as far on in both texts, that saves more than it costs to go there."""
    begins = np.diff(partner - copied, prepend=np.nan) != 0
    runs = csr_offsets(np.diff(np.flatnonzero(np.append(begins, True))))
    saved = np.add.reduceat(value + np.log(_GOES_ON), runs[:-1]) if len(value) else value
    cost = np.minimum(jump, _nearest(partner - copied, runs)) + np.log(2 / (1 - _GOES_ON))
    kept: Flags = np.repeat(saved > cost, np.diff(runs))
    return kept


def _nearest(shift: Offsets, runs: Offsets) -> Reals:
    """[runs] the cost of the smaller of the jumps to a run from the one before it and from the one after it."""
    of_run = shift[runs[:-1]].astype(np.float64)
    step = np.concatenate([[np.inf], np.abs(np.diff(of_run)), [np.inf]])[: len(of_run) + 1]
    return np.asarray(2 * np.log1p(np.minimum(step[:-1], step[1:])))
