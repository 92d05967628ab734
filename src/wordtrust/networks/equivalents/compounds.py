"""Words written together or apart: `good bye` and `goodbye`, `e mail` and `email`, `u s a` and `usa`.

Hyphens are gone before: the normaliser makes two words of `good-bye`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from .lattice_words import LatticeWords, WordRow

MOST_PIECES = 3
MOST_LETTERS = 5  # of a word that is spelled out
_LONGEST = 40  # letters of a word that is looked at
# A letter that is a word of its own, or an ending: `a way` is not `away`.
_NOT_ALONE = frozenset("aios")
# Words of their own (a name, a hesitation, a saint), not ends of others: `kill ed` is not `killed`.
_NOT_LAST = frozenset("ed er es ing ly st".split())
# Spelled out, these are something else, and no letter goes before them: `i t` is not `it`, `t he` is not `the`.
_NOT_SPELLED = frozenset(
    """
all an and are as at be by do go had has he her here hi him his how if in is it its me my no of oh on one or our out
so the to up us was we who you
""".split()
)


def written_apart(word: str, lattice: LatticeWords) -> Iterator[WordRow]:
    """The words of a lattice that one word is written as."""
    if not 2 <= len(word) <= _LONGEST:
        return
    rows = list(_cuts(word, lattice, MOST_PIECES))
    if 2 < len(word) <= MOST_LETTERS:
        rows.append(tuple(word))
    for pieces in rows:
        row = tuple(map(lattice.vocabulary.find, pieces))
        if lattice.words.issuperset(row) and may_join(pieces):
            yield row


def _cuts(word: str, lattice: LatticeWords, most: int) -> Iterator[tuple[str, ...]]:
    """A word cut into words of a lattice, two at least."""
    find, words = lattice.vocabulary.find, lattice.words
    for cut in range(1, len(word)):
        if find(word[:cut]) in words:
            if find(word[cut:]) in words:
                yield word[:cut], word[cut:]
            if most > 2:
                yield from ((word[:cut], *rest) for rest in _cuts(word[cut:], lattice, most - 1))


def written_together(reference: Sequence[str], start: int, lattice: LatticeWords) -> Iterator[tuple[int, int]]:
    """Where reference words end that a lattice writes as one, and that one."""
    for end in range(start + 2, min(len(reference), start + MOST_LETTERS) + 1):
        pieces = reference[start:end]
        if end > start + MOST_PIECES and any(len(piece) > 1 for piece in pieces):
            return
        joined = lattice.vocabulary.find("".join(pieces))
        if joined in lattice.words and may_join(pieces):
            yield end, joined


def may_join(pieces: Sequence[str]) -> bool:
    """Whether these words, written together, are the same word."""
    if any(piece.isdigit() for piece in pieces) or not all(map(str.isalnum, pieces)):
        return False
    if all(len(piece) == 1 for piece in pieces):
        return "".join(pieces) not in _NOT_SPELLED
    if len(pieces[-1]) == 1 or pieces[-1] in _NOT_LAST or any(piece in _NOT_ALONE for piece in pieces):
        return False
    return not any(len(piece) == 1 and after in _NOT_SPELLED for piece, after in pairwise(pieces))
