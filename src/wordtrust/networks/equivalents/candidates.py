"""From which reference words on a lattice may have other words for the same: a quick search that misses none.

Words are compared by hashes of their letters that can be put together: that of `goodbye` follows from those of
`good` and `bye`. What is found is looked at again (`alternatives`), so two words with the same hash do no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.jit import compiled, inner
from ...lattices.lattice import Flags, Ints, Lattices, Offsets
from .compounds import MOST_LETTERS, MOST_PIECES
from .equate import Equate
from .word_table import OPEN, PHRASE, SECRET, Hashes, Letters, Marks, table_for

_SHIFT, _ONE, _NO_HASH = np.uint64(32), np.uint64(1), np.uint64(0)
_WORD, _BEGINS, _PART = 1, 2, 4  # a word of the lattice; the first word, any word of a reading of one of its words
_LONGEST = 40  # letters of a word that is cut
READ_ALIKE, APART, TOGETHER = 1, 2, 4


@dataclass(frozen=True, slots=True)
class Candidates:
    """Where to look closer."""

    marks: Marks  # [words of all references] what there may be: READ_ALIKE, APART, TOGETHER
    is_open: Flags  # [vocabulary] words that are not only read as they are written, of those that are used


def find_candidates(
    references: Sequence[Sequence[str]], ids: Ints, offsets: Offsets, lattices: Lattices, equate: Equate
) -> Candidates:  # fmt: skip
    """From which words of all references on the lattices may have something else that stands for them.

    `ids` are the words of the references in the vocabulary of the lattices, below 0 for those that it lacks.
    """
    missing = np.flatnonzero(ids <= 0)
    owner = np.searchsorted(offsets, missing, "right") - 1
    others = [
        references[row][at] for row, at in zip(owner.tolist(), (missing - offsets[owner]).tolist(), strict=True)
    ]
    used = np.zeros(len(lattices.vocabulary), np.bool_)
    used[lattices.word] = used[np.maximum(ids, 0)] = True
    used[0] = False
    rows, other_rows, table = table_for(equate).rows(lattices.vocabulary, np.flatnonzero(used), others)
    reference, marks = rows[np.maximum(ids, 0)], np.zeros(len(ids), np.uint8)
    reference[missing] = other_rows
    _mark(
        lattices.arc_offsets, rows[lattices.word], offsets, reference, table.hash, table.kind, table.readings,
        table.atoms_of, table.atoms, table.letters, table.letters_of, "compounds" in equate, SECRET, marks,
    )  # fmt: skip
    return Candidates(marks, (table.kind[rows] & OPEN) > 0)


@inner
def _slot(keys: Hashes, marks: Marks, key: np.uint64, secret: Hashes) -> int:
    """Where a key is in a hash table, or would be."""
    mask = np.uint64(len(keys) - 1)
    slot = (key * secret[1] >> _SHIFT) & mask
    while marks[slot] and keys[slot] != key:
        slot = (slot + _ONE) & mask
    return int(slot)


@inner
def _add(keys: Hashes, marks: Marks, key: np.uint64, mark: int, secret: Hashes) -> None:
    slot = _slot(keys, marks, key, secret)
    keys[slot] = key
    marks[slot] |= np.uint8(mark)


@inner
def _reads_alike(first: np.uint64, own: int, opened: Ints, readings: Offsets, atoms_of: Offsets, atoms: Hashes,
                 rest: Ints, hashes: Hashes, kind: Marks) -> bool:  # fmt: skip
    """Whether another word has a reading that begins like this, and goes on like the rest of the reference."""
    for word in opened:
        if word == own:
            continue
        for reading in range(readings[word], readings[word + 1]):
            begin, end = atoms_of[reading], atoms_of[reading + 1]
            if atoms[begin] != first:
                continue
            at = begin + 1
            while own < 0 and at < end and at - begin - 1 < len(rest) and hashes[rest[at - begin - 1]] == atoms[at]:
                at += 1
            if own >= 0 or at == end or (at - begin - 1 < len(rest) and kind[rest[at - begin - 1]] & OPEN):
                return True
    return False


@inner
def _has_reading(word: int, keys: Hashes, marks: Marks, opened: Ints, readings: Offsets, atoms_of: Offsets,
                 atoms: Hashes, rest: Ints, hashes: Hashes, kind: Marks, secret: Hashes) -> bool:  # fmt: skip
    """Whether the lattice may have what is read like a reference word and those after it."""
    if not kind[word] & OPEN:
        begins = marks[_slot(keys, marks, hashes[word], secret)] & _BEGINS
        return begins != 0 and _reads_alike(hashes[word], -1, opened, readings, atoms_of, atoms, rest, hashes, kind)
    for reading in range(readings[word], readings[word + 1]):
        begin, end = atoms_of[reading], atoms_of[reading + 1]
        mark, at = marks[_slot(keys, marks, atoms[begin], secret)], begin
        if mark & _BEGINS and _reads_alike(atoms[begin], word, opened, readings, atoms_of, atoms, rest, hashes, kind):
            return True
        while mark & _WORD and at < end and marks[_slot(keys, marks, atoms[at], secret)] & (_WORD | _PART):
            at += 1
        if at == end:
            return True
    return False


@inner
def _is_apart(letters: Letters, whole: np.uint64, keys: Hashes, marks: Marks, secret: Hashes) -> bool:
    """Whether the lattice has words that make up one word, two or three, or its letters."""
    size, first = len(letters), _NO_HASH
    if size > _LONGEST:
        return False
    powers = np.ones(size + 1, np.uint64)
    for at in range(size):
        powers[at + 1] = powers[at] * secret[0]
    spelled = 2 < size <= MOST_LETTERS
    for cut in range(1, size):
        first = first * secret[0] + np.uint64(letters[cut - 1])
        spelled = spelled and marks[_slot(keys, marks, np.uint64(letters[cut - 1]), secret)] & _WORD != 0
        if not marks[_slot(keys, marks, first, secret)] & _WORD:
            continue
        rest, second = whole - first * powers[size - cut], _NO_HASH
        if marks[_slot(keys, marks, rest, secret)] & _WORD:
            return True
        for end in range(cut + 1, size):
            second = second * secret[0] + np.uint64(letters[end - 1])
            last = rest - second * powers[size - end]
            if marks[_slot(keys, marks, second, secret)] & _WORD and marks[_slot(keys, marks, last, secret)] & _WORD:
                return True
    return spelled and marks[_slot(keys, marks, np.uint64(letters[size - 1]), secret)] & _WORD != 0


@inner
def _is_together(
    rest: Ints, hashes: Hashes, letter_offsets: Offsets, keys: Hashes, marks: Marks, secret: Hashes
) -> bool:
    """Whether the lattice has one word for the first two of these, or more: three words, or letters."""
    joined, letters = _NO_HASH, 0
    for at in range(min(len(rest), MOST_LETTERS)):
        size = letter_offsets[rest[at] + 1] - letter_offsets[rest[at]]
        letters += size
        if letters > _LONGEST or (at >= MOST_PIECES and letters > at + 1):
            return False
        for _ in range(size):
            joined *= secret[0]
        joined += hashes[rest[at]]
        if at and marks[_slot(keys, marks, joined, secret)] & _WORD:
            return True
    return False


@inner
def _list_words(words: Ints, hashes: Hashes, kind: Marks, readings: Offsets, atoms_of: Offsets, atoms: Hashes,
                keys: Hashes, marks: Marks, opened: Ints, secret: Hashes) -> int:  # fmt: skip
    """Put the words of a lattice, and those of their readings, into a hash table; gives how many have readings."""
    count = 0
    for word in words:
        if word == 0 or marks[_slot(keys, marks, hashes[word], secret)] & _WORD:
            continue
        _add(keys, marks, hashes[word], _WORD, secret)
        if kind[word] & OPEN:
            opened[count] = word
            count += 1
            for reading in range(readings[word], readings[word + 1]):
                for at in range(atoms_of[reading], atoms_of[reading + 1]):
                    _add(keys, marks, atoms[at], _PART | (_BEGINS if at == atoms_of[reading] else 0), secret)
    return count


@compiled
def _mark(
    arc_offsets: Offsets, words: Ints, offsets: Offsets, reference: Ints, hashes: Hashes, kind: Marks,
    readings: Offsets, atoms_of: Offsets, atoms: Hashes, letters: Letters, letter_offsets: Offsets,
    compounds: bool, secret: Hashes, found: Marks,
) -> None:  # fmt: skip
    for u in range(len(offsets) - 1):
        said = words[arc_offsets[u] : arc_offsets[u + 1]]
        room, needed, in_phrases, numbers = 4, 0, 0, 0
        for word in said:
            needed += 1 + atoms_of[readings[word + 1]] - atoms_of[readings[word]]
            in_phrases += kind[word] & PHRASE != 0
            numbers += kind[word] == OPEN | PHRASE
        while room < 2 * needed:
            room *= 2
        keys, marks, opened = np.zeros(room, np.uint64), np.zeros(room, np.uint8), np.empty(needed, np.int32)
        opened = opened[: _list_words(said, hashes, kind, readings, atoms_of, atoms, keys, marks, opened, secret)]
        for at in range(offsets[u], offsets[u + 1]):
            word, rest = reference[at], reference[at + 1 : offsets[u + 1]]
            theirs, ours = numbers > 0 and in_phrases > 1, len(rest) > 0 and kind[word] & kind[rest[0]] & PHRASE != 0
            if theirs or ours or _has_reading(
                word, keys, marks, opened, readings, atoms_of, atoms, rest, hashes, kind, secret
            ):  # fmt: skip
                found[at] |= READ_ALIKE
            if compounds:
                own = letters[letter_offsets[word] : letter_offsets[word + 1]]
                after = reference[at : offsets[u + 1]]
                found[at] |= APART if _is_apart(own, hashes[word], keys, marks, secret) else 0
                found[at] |= TOGETHER if _is_together(after, hashes, letter_offsets, keys, marks, secret) else 0
