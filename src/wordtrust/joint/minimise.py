"""L-BFGS: finds the least value of a smooth function of some hundred numbers in a few dozen steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from ..scores import Reals

_MEMORY = 10  # steps that the curvature is known from
_ENOUGH = 1e-4  # of the fall that the slope promises
_HALVINGS = 30


def minimise(function: Callable[[Reals], tuple[float, Reals]], start: Reals, *, steps: int) -> Reals:
    """Where `function`, which gives its value and gradient, is least, as far as `steps` steps lead."""
    here, (value, slope) = start, function(start)
    known: deque[tuple[Reals, Reals]] = deque(maxlen=_MEMORY)
    for _ in range(steps):
        direction = -_unbent(slope, known)
        fall = float(direction @ slope)
        if not fall < 0:
            break
        length = 1.0 if known else min(1.0, 1.0 / float(np.abs(slope).sum()))
        for _ in range(_HALVINGS):
            there = here + length * direction
            found, new_slope = function(there)
            if found <= value + _ENOUGH * length * fall:
                break
            length /= 2
        else:
            break
        moved, bent = there - here, new_slope - slope
        if float(moved @ bent) > 1e-12 * float(bent @ bent):
            known.append((moved, bent))
        here, value, slope = there, found, new_slope
    return here


def _unbent(slope: Reals, known: deque[tuple[Reals, Reals]]) -> Reals:
    """The slope times what is known of the inverse of the curvature (the two loops of Nocedal)."""
    found, shares = slope.copy(), []
    for moved, bent in reversed(known):
        share = float(moved @ found) / float(moved @ bent)
        found -= share * bent
        shares.append(share)
    if known:
        moved, bent = known[-1]
        found *= float(moved @ bent) / float(bent @ bent)
    for (moved, bent), share in zip(known, reversed(shares), strict=True):
        found += (share - float(bent @ found) / float(moved @ bent)) * moved
    return found
