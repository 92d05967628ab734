"""Labels: which words of a network (or lattice) are right, given the reference.

There are two rules. `one-best`, the paper's: each word of the recognizer's 1-best is aligned with the reference;
every arc with the same two ends as that word is right if it says the aligned reference word. Where nothing of the
1-best matches, nothing is right. `oracle`: on the path with the fewest errors, the words that match the reference are
right. All other words are wrong, and silence has no label. Of paths with equally few errors, those in the reference's
own words come first: `it's` for `it's`, though `it is` would count as well.

A reference may hold words the recognizer cannot know: they are never right and cost a deletion or substitution. An
empty reference makes every word wrong; an empty hypothesis has nothing to label.

Words that stand for the same (`6` and `six`, see `equivalents`) are alternatives of the reference. An alternative
counts only if all of it was recognized, and then as all of the reference words that it stands for: a reference always
has as many words as are written in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import row_offsets
from ..base.errors import OptionError
from ..base.jit import compiled, inner
from ..lattices.lattice import Flags, Ints, Lattices, Offsets
from ..lattices.paths import Paths, one_best
from ..lattices.text import UNKNOWN
from .align import Alignments
from .lenient import align_leniently
from .oracle import oracle_paths
from .reference_words import ReferenceWords

Labels = NDArray[np.int8]

RULES = ("oracle", "one-best")
RIGHT, WRONG, NONE = 1, 0, -1


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPaths:
    """Paths with their words aligned to the reference."""

    paths: Paths
    words: Paths  # the same without silence: an arc for every word of the alignments
    alignments: Alignments

    @property
    def errors(self) -> int:
        """Substitutions, deletions and insertions of all of them."""
        return int(self.alignments.errors.sum())


def score_paths(lattices: Lattices, paths: Paths, references: ReferenceWords) -> ScoredPaths:
    """Align the words of paths through a batch with its references."""
    words, unknown = paths.without_silence(lattices), lattices.vocabulary.find(UNKNOWN)
    hypothesis = lattices.word[words.arcs_in(lattices)]
    alignments = align_leniently(references, hypothesis, words.offsets, unknown=unknown)
    return ScoredPaths(paths, words, alignments)


def align_texts(lattices: Lattices, references: ReferenceWords, texts: Sequence[Sequence[str]]) -> Alignments:
    """Align texts that are made of the words of a batch with its references."""
    find = lattices.vocabulary.find
    words = np.array([find(word) for text in texts for word in text], np.int32)
    return align_leniently(references, words, row_offsets(texts), unknown=find(UNKNOWN))


def label_arcs(lattices: Lattices, references: ReferenceWords, rule: str = "oracle") -> Labels:
    """1 for right words, 0 for wrong ones, -1 for silence, for every arc of a batch of networks."""
    if rule not in RULES:
        raise OptionError(f"the label rule is one of {', '.join(RULES)}, not {rule!r}")
    labels = np.where(lattices.word > 0, WRONG, NONE).astype(np.int8)
    if rule == "oracle":
        best = score_paths(lattices, oracle_paths(lattices, references, as_written=True), references)
        labels[best.words.arcs_in(lattices)[best.alignments.correct]] = RIGHT
    else:
        own, others = score_paths(lattices, one_best(lattices), references), references.alternatives
        _label_rivals(
            lattices.arc_offsets, lattices.source, lattices.target, lattices.word, own.alignments.offsets,
            own.words.arcs, own.alignments.reference, own.alignments.correct, references.words, references.offsets,
            others.offsets, others.source, others.target, others.word, labels,
        )  # fmt: skip
    return labels


@inner
def _stands_for(word: int, expected: int, place: int, source: Ints, target: Ints, said: Ints) -> bool:
    """Whether a word says one reference word, or stands for it alone."""
    if word == expected:
        return True
    for other in range(len(said)):
        if said[other] == word and source[other] == place and target[other] == place + 1:
            return True
    return False


@compiled
def _label_rivals(
    arc_offsets: Offsets, source: Ints, target: Ints, word: Ints, offsets: Offsets, path: Ints,
    aligned: Ints, correct: Flags, reference: Ints, reference_offsets: Offsets, other_offsets: Offsets,
    from_state: Ints, to_state: Ints, said: Ints, labels: Labels,
) -> None:  # fmt: skip
    """The arcs beside each 1-best word (and it itself) that say the reference word it is aligned with."""
    for u in range(len(offsets) - 1):
        first, last = arc_offsets[u], arc_offsets[u + 1]
        others = slice(other_offsets[u], other_offsets[u + 1])
        begins, ends, says = from_state[others], to_state[others], said[others]
        matches = 0
        for i in range(offsets[u], offsets[u + 1]):
            matches += correct[i]
        for i in range(offsets[u], offsets[u + 1]):
            if matches == 0 or aligned[i] < 0:
                continue
            expected, own = reference[reference_offsets[u] + aligned[i]], first + path[i]
            if correct[i]:
                labels[own] = RIGHT
                if not _stands_for(word[own], expected, aligned[i], begins, ends, says):
                    continue  # with other words, or for several: no arc beside it can say the same
            rival = own
            while rival > first and source[rival - 1] == source[own]:  # arcs are sorted by source
                rival -= 1
            while rival < last and source[rival] == source[own]:
                if target[rival] == target[own] and _stands_for(
                    word[rival], expected, aligned[i], begins, ends, says
                ):
                    labels[rival] = RIGHT
                rival += 1
