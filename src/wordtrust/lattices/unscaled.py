"""Scores that nobody has scaled yet, recognised from the lattices alone.

A decoder weighs acoustic scores against its language model (Kaldi's recipes: by 1/12), and keeps of a lattice what
lies within a beam of the best path, 6 to 10 as natural logarithms. Kaldi then writes acoustic costs *without* that
scale, for scoring to divide them by a language model weight (LMWT, 7 to 17). Read as they are, such lattices have
the wrong best path, and posteriors that are all 0 or 1.

What was pruned shows it. The *width* of a lattice is how much worse than the best path the worst arc is, by the best
path through it. At the scale of the decoder every width is at most its beam, and most are just that; at any other
scale they are larger and differ from each other. So scores are unscaled where lattices are far wider than any beam as
they stand and several times narrower at some 1/LMWT; and the LMWT at which the widest is nearest to the usual width
is the one that the decoder used. (HTK's headers say the weight, `lmscale`: there widths only tell whether to divide
by it.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .lattice import Lattices
from .posterior import path_losses
from .weights import Reals, Scales, log_scores, only_posteriors

DEFAULT_LMWT = 10
LMWTS = range(5, 21)
USUAL_LMWTS = (12, 10)  # of Kaldi's recipes: decoding with 0.083333, and chain models with --post-decode-acwt 10
LEAST_WEIGHT = 3.0  # of a language model, from which on a header speaks of unscaled acoustics
MOST_UTTERANCES = 200  # that are looked at
MOST_ARCS = 1_000_000
_WIDEST_BEAM = 25.0  # decoders prune to 4 to 15; nine lattices in ten of unscaled ones are wider than 30
_NARROWER = 3.0  # times: unscaled lattices get 5 to 40 times narrower at the right scale, scaled ones get wider
_ENOUGH = 10  # lattices with more than one path, to tell the decoder's LMWT
_NOISE = 0.05  # part of the tightest spread that says nothing


@dataclass(frozen=True, slots=True)
class FoundScales:
    """Scales for lattices whose scores were unscaled, and a line that says so."""

    scales: Scales
    message: str


def has_both_scores(lattices: Lattices) -> bool:
    """Whether these are lattices with acoustic scores and language scores, so that their ratio matters."""
    both = lattices.acoustic is not None and lattices.transition is not None
    return both and lattices.picked is None and lattices.origin.tolerance is None and not only_posteriors(lattices)


def find_scales(batches: Sequence[Lattices]) -> FoundScales | None:
    """Scales for batches that have the same ones so far, if their scores are unscaled; None where all is well."""
    if not batches or not all(map(has_both_scores, batches)):
        return None
    given = batches[0].scales
    parts = _sample(batches)
    if not any(np.any(part.transition) for part in parts):
        return None  # written as 0 because there are none: acoustic scores are the total, whatever it is
    widths = _widths(parts, given)
    if not len(widths) or _usual(widths) <= _WIDEST_BEAM:
        return None
    if given.transition >= LEAST_WEIGHT:
        return _divided(given, widths)
    return _with_lmwt(parts, given, widths) if given.transition == 1 and given.acoustic > 0 else None


def _with_lmwt(parts: Sequence[Lattices], given: Scales, widths: Reals) -> FoundScales | None:
    """Acoustic scores over the LMWT of the decoder, if that makes lattices much narrower."""
    candidates = {lmwt: _widths(parts, replace(given, acoustic=given.acoustic / lmwt)) for lmwt in LMWTS}
    lmwt = _tightest(candidates)
    beam = _usual(candidates[lmwt])
    if _usual(widths) < _NARROWER * beam:
        return None
    message = (
        f"acoustic costs look unscaled (paths up to {_usual(widths):.0f} apart, {beam:.1f} at 1/{lmwt}): "
        f"read with LMWT {lmwt}; --lmwt changes it"
    )
    return FoundScales(replace(given, acoustic=given.acoustic / lmwt), message)


def _divided(given: Scales, widths: Reals) -> FoundScales:
    """All weights over that of the language model: the same best path, and posteriors that are not all 0 or 1."""
    weight = given.transition
    scales = replace(
        given, acoustic=given.acoustic / weight, transition=1.0, word_penalty=given.word_penalty / weight
    )
    message = (
        f"acoustic scores look unscaled (paths up to {_usual(widths):.0f} apart): all are divided by "
        f"the header's lmscale {weight:g} for posteriors; --lmwt changes it"
    )
    return FoundScales(scales, message)


def _sample(batches: Sequence[Lattices]) -> list[Lattices]:
    """The first utterances."""
    parts, left = [], MOST_UTTERANCES
    for batch in batches:
        parts.append(batch[:left] if len(batch) > left else batch)
        left -= len(parts[-1])
        if left <= 0:
            break
    return parts


def _widths(parts: Sequence[Lattices], scales: Scales) -> Reals:
    """[utterances with more than one path] how much worse than the best path the worst arc is."""
    widths = [
        np.maximum.reduceat(path_losses(part, log_scores(part, scales))[0], part.arc_offsets[:-1]) for part in parts
    ]
    branched = np.concatenate([np.diff(part.arc_offsets) >= np.diff(part.node_offsets) for part in parts])
    return np.asarray(np.concatenate(widths)[branched])


def _usual(widths: Reals) -> float:
    return float(np.quantile(widths, 0.9))


def _tightest(widths: dict[int, Reals]) -> int:
    """The LMWT at which the widest lattice is nearest to the usual one; of some that are as good, a usual one."""
    spread = {lmwt: float(own.max() / max(float(np.median(own)), 1e-9)) - 1 for lmwt, own in widths.items()}
    if min(map(len, widths.values())) < _ENOUGH:
        return DEFAULT_LMWT
    most = (1 + _NOISE) * min(spread.values())
    as_tight = [lmwt for lmwt in widths if spread[lmwt] <= most]
    return next((lmwt for lmwt in USUAL_LMWTS if lmwt in as_tight), min(spread, key=lambda lmwt: spread[lmwt]))
