"""Words that are written differently and said alike: `6` and `six`, `colour` and `color`, `it's` and `it is`.

Nothing is rewritten. `readings` says how words are read aloud, `alternatives` finds which words of a lattice stand
for which words of its reference, and the alignment takes them as alternatives of the reference.
"""

from .equate import ALL, KINDS, NONE, Equate

__all__ = ["ALL", "KINDS", "NONE", "Equate"]
