"""The one aligner of plain texts: decides which word of a hypothesis is right, everywhere in this package.

References with segments and alternatives (STM) have NIST's aligner instead, for sclite's totals (`word_graph`).

Among all alignments of a hypothesis with its reference it takes

1. one with the fewest errors (substitutions, deletions and insertions cost 1 each), so that the word error rate is
   the usual one;
2. of these, one with the most matches: for the reference `a b` and the hypothesis `b c`, `b` is right (a deletion
   and an insertion), not a second wrong word (two substitutions). A word that both have in the same order is more
   likely to be the word that was said. NIST's sclite, which weighs 4/3/3, agrees whenever it finds as few errors;
3. of these, the one found by walking from the start and taking, at every step, the first of match or substitution,
   deletion, insertion that such an alignment goes on with. So of a repeated word the first is right and the
   repetition is the insertion, as with recognizers that loop.

Rules 2 and 3 are why this is no call of a library: rapidfuzz, jiwer and kaldialign find the same number of errors but
differ from each other, and from this, in which words they call right.

The unknown word `<unk>` is right for nothing, not even for itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..base.jit import compiled, inner
from ..lattices.lattice import Flags, Ints, Offsets
from ..lattices.text import UNKNOWN

Steps = NDArray[np.uint8]

INSERTED = -1  # instead of a reference word, where a hypothesis word has none
MAX_PAIRS = 4 * 10**10  # pairs of words that one alignment may compare: minutes, not hours

_ERROR = 1 << 32  # costs count errors above, and substitutions (fewer of them are more matches) below this bit
_BLOCK = 1 << 24  # pairs of words whose steps are kept at once; longer utterances are done in two passes
_DIAGONAL, _DELETION, _INSERTION = 0, 1, 2  # in the order of rule 3


@dataclass(frozen=True, slots=True)
class Alignment:
    """One hypothesis against its reference."""

    correct: tuple[bool, ...]  # for each word of the hypothesis
    reference: tuple[int, ...]  # the reference word it stands for, -1 for an insertion
    hits: int
    substitutions: int
    deletions: int
    insertions: int


@dataclass(frozen=True, slots=True, eq=False)
class Alignments:
    """Many hypotheses against their references, the words of the hypotheses end to end."""

    offsets: Offsets  # [utterances + 1] utterance u has the hypothesis words offsets[u] to offsets[u + 1]
    correct: Flags  # [words]
    reference: Ints  # [words] counted within the utterance's reference, -1 for an insertion
    counts: Ints  # [utterances, 4] hits, substitutions, deletions, insertions
    after: Ints | None = None  # [words] the reference word that comes next, where a word may stand for several

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def errors(self) -> Ints:
        """[utterances] substitutions, deletions and insertions."""
        errors: Ints = self.counts[:, 1:].sum(axis=1, dtype=np.int32)
        return errors

    def __getitem__(self, utterance: int) -> Alignment:
        index = range(len(self))[utterance]
        words = slice(self.offsets[index], self.offsets[index + 1])
        return Alignment(
            tuple(self.correct[words].tolist()), tuple(self.reference[words].tolist()), *self.counts[index].tolist()
        )


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> Alignment:
    """Align the words of one hypothesis with those of its reference; either may be empty."""
    return align_all([reference], [hypothesis])[0]


def align_all(references: Iterable[Sequence[str]], hypotheses: Iterable[Sequence[str]]) -> Alignments:
    """Align many hypotheses with their references, given as normalised words."""
    ids: defaultdict[str, int] = defaultdict()
    ids.default_factory = ids.__len__  # a word that was not seen before gets the next id
    reference, reference_offsets = _word_ids(references, ids)
    hypothesis, offsets = _word_ids(hypotheses, ids)
    return align_ids(reference, reference_offsets, hypothesis, offsets, unknown=ids[UNKNOWN])


def align_ids(
    reference: Ints, reference_offsets: Offsets, hypothesis: Ints, offsets: Offsets, *, unknown: int = -1
) -> Alignments:
    """Align words given as ids, utterances end to end; `unknown` is the id of `<unk>` among them."""
    if len(reference_offsets) != len(offsets):
        raise ValueError(f"{len(reference_offsets) - 1} references for {len(offsets) - 1} hypotheses")
    _check_sizes(_lengths(reference_offsets, reference), _lengths(offsets, hypothesis))
    aligned = np.full(len(hypothesis), INSERTED, np.int32)
    correct = np.zeros(len(hypothesis), np.bool_)
    counts = np.zeros((len(offsets) - 1, 4), np.int32)
    _align(
        np.ascontiguousarray(reference, np.int32),
        np.ascontiguousarray(reference_offsets, np.int64),
        np.ascontiguousarray(hypothesis, np.int32),
        np.ascontiguousarray(offsets, np.int64),
        unknown,
        _BLOCK,
        aligned,
        correct,
        counts,
    )
    return Alignments(offsets, correct, aligned, counts)


def _word_ids(utterances: Iterable[Sequence[str]], ids: Mapping[str, int]) -> tuple[Ints, Offsets]:
    words: list[int] = []
    offsets = [0]
    for utterance in utterances:
        words.extend(map(ids.__getitem__, utterance))
        offsets.append(len(words))
    return np.array(words, np.int32), np.array(offsets, np.int64)


def _lengths(offsets: Offsets, words: Ints) -> Offsets:
    lengths = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != len(words) or (lengths < 0).any():
        raise ValueError(f"the offsets do not cut {len(words)} words into utterances")
    return lengths


def _check_sizes(reference_words: Offsets, hypothesis_words: Offsets) -> None:
    too_long = np.flatnonzero(reference_words * hypothesis_words > MAX_PAIRS)
    if len(too_long):
        index = too_long[0]
        raise InputError(
            f"{reference_words[index]:,} reference words and {hypothesis_words[index]:,} hypothesis words are too "
            "many to align",
            place=f"utterance number {index + 1}",
            remedy="Cut the recording into segments",
        )


@inner
def _fill(reference: Ints, hypothesis: Ints, unknown: int, first: int, last: int, cost: Offsets,
          steps: Steps, keep: bool) -> None:  # fmt: skip
    """Turn the costs of aligning what follows reference word `last` into those of what follows `first`.

    cost[j] is that of aligning reference[i:] with hypothesis[j:], for i from `last` down to `first`; the best step
    from every such pair goes into `steps`.
    """
    words = len(hypothesis)
    for i in range(last - 1, first - 1, -1):
        below_right = cost[words]
        cost[words] += _ERROR  # nothing left of the hypothesis: a deletion
        row = (i - first) * (words + 1)
        if keep:
            steps[row + words] = _DELETION
        for j in range(words - 1, -1, -1):
            below = cost[j]
            same = reference[i] == hypothesis[j] and reference[i] != unknown
            best, step = below_right + (0 if same else _ERROR + 1), _DIAGONAL
            if below + _ERROR < best:
                best, step = below + _ERROR, _DELETION
            if cost[j + 1] + _ERROR < best:
                best, step = cost[j + 1] + _ERROR, _INSERTION
            below_right = below
            cost[j] = best
            if keep:
                steps[row + j] = step


@inner
def _walk(reference: Ints, hypothesis: Ints, unknown: int, first: int, last: int, j: int,
          steps: Steps, aligned: Ints, correct: Flags, counts: Ints) -> int:  # fmt: skip
    """Follow the best steps from reference word `first` and hypothesis word `j` to `last`; gives the new `j`."""
    words, i = len(hypothesis), first
    while i < last:
        step = steps[(i - first) * (words + 1) + j]
        if step == _DIAGONAL:
            aligned[j] = i
            correct[j] = reference[i] == hypothesis[j] and reference[i] != unknown
            counts[0 if correct[j] else 1] += 1
        elif step == _DELETION:
            counts[2] += 1
        else:
            counts[3] += 1
        i += step != _INSERTION
        j += step != _DELETION
    return j


@inner
def _align_one(reference: Ints, hypothesis: Ints, unknown: int, block: int,
               aligned: Ints, correct: Flags, counts: Ints) -> None:  # fmt: skip
    """Rows of the table in groups: one backward pass keeps the costs between groups, a second one the steps.

    A table that is small enough is one group and needs one pass. Otherwise memory grows with the words times their
    square root, not with their square.
    """
    words, length = len(hypothesis), len(reference)
    rows = length if length * (words + 1) <= block else int(np.sqrt(8.0 * length)) + 1
    groups = (length + rows - 1) // rows if rows else 0
    steps = np.empty(min(rows, length) * (words + 1), np.uint8)
    between = np.empty((max(1, groups), words + 1), np.int64)
    cost = np.empty(words + 1, np.int64)
    for j in range(words + 1):
        cost[j] = (words - j) * _ERROR  # nothing left of the reference: insertions
    for group in range(groups - 1, -1, -1):
        for j in range(words + 1):  # numba takes seconds to compile the assignment of an array to a slice
            between[group, j] = cost[j]
        if group:
            _fill(reference, hypothesis, unknown, group * rows, min(length, (group + 1) * rows), cost, steps, False)
    j = 0
    for group in range(groups):
        first, last = group * rows, min(length, (group + 1) * rows)
        _fill(reference, hypothesis, unknown, first, last, between[group], steps, True)
        j = _walk(reference, hypothesis, unknown, first, last, j, steps, aligned, correct, counts)
    counts[3] += words - j


@compiled
def _align(reference: Ints, reference_offsets: Offsets, hypothesis: Ints, offsets: Offsets, unknown: int, block: int,
           aligned: Ints, correct: Flags, counts: Ints) -> None:  # fmt: skip
    for u in range(len(offsets) - 1):
        words = slice(offsets[u], offsets[u + 1])
        _align_one(reference[reference_offsets[u] : reference_offsets[u + 1]], hypothesis[words], unknown, block,
                   aligned[words], correct[words], counts[u])  # fmt: skip
