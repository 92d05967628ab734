"""What every recognizer says about every hypothesis of a union: how sure it is of that word there, and of what else.

Two arcs are about the same word if they say it and overlap by half of the shorter one: recognizers cut the same word
at different instants. What speaks against an arc is what a recognizer holds possible in the middle of it; but what is
written alike speaks for it as well, for recognizers that lack a word write one that sounds like it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...base.jit import compiled
from ...lattices.lattice import Flags, Floats, Ints, Offsets, Times
from .spelling import MOST_LETTERS, Codes, likeness
from .union import Union
from .warp import spread

SHORTEST = 0.01  # seconds that an arc has at least when arcs are compared
# For each recognizer: confidence of the word there, the largest of another word's, that of all words together, the
# mass of silence, whether the word is in its output, the word's posterior, its confidence with just these ends, how
# alike its words there are (weighed by confidence) and its output is, whether it would itself print the word; of the
# utterance, how sure it is of its output and how sure the others are.
KINDS = (
    "word", "rival", "words", "silence", "own", "posterior", "arc", "alike", "own_alike", "printed", "sure",
    "agreed",
)  # fmt: skip
Evidence = NDArray[np.float32]  # [arcs, recognizers, kinds]


def evidence(union: Union) -> Evidence:
    """Look at every arc with the eyes of every recognizer; of silence arcs, `word` is the mass of silence."""
    lattices = union.lattices
    by_kind = np.zeros((len(KINDS), *union.confidence.shape), np.float32)  # each kind in one piece: fast to use
    by_kind[KINDS.index("arc")] = union.confidence
    _look(
        lattices.node_offsets, lattices.arc_offsets, spread_times(union), lattices.source, lattices.target,
        lattices.word, *_who(union), union.confidence, union.posterior, union.own, union.printed,
        union.letters.code, union.letters.offsets, by_kind,
    )  # fmt: skip
    found = np.moveaxis(np.minimum(by_kind, np.float32(1.0)), 0, -1)
    _judge_utterances(union, found)
    return found


def _who(union: Union) -> tuple[Offsets, Offsets]:
    """[arcs] the first recognizer that knows of each arc, and the one after the last."""
    known = (union.confidence > 0) | (union.posterior > 0) | union.own | union.printed
    first = known.argmax(axis=1).astype(np.int64)
    behind = known.shape[1] - known[:, ::-1].argmax(axis=1).astype(np.int64)
    return first, np.where(known.any(axis=1), behind, first)


def spread_times(union: Union) -> Times:
    """The times of nodes, no two the same."""
    time = union.lattices.time.copy()
    spread(union.lattices.node_offsets, time, SHORTEST)
    return time


def _judge_utterances(union: Union, found: Evidence) -> None:
    """How sure each recognizer is of its output, and the others of it; half a word of doubt is added."""
    lattices, systems = union.lattices, union.own.shape[1]
    owner = lattices.utterance_of_arc
    word = found[:, :, KINDS.index("word")]
    others = (word.sum(axis=1, keepdims=True) - word) / max(1, systems - 1)
    for system in range(systems):
        mine = union.own[:, system] & (lattices.word > 0)
        count = np.bincount(owner[mine], minlength=len(lattices)) + 0.5
        for kind, values in (("sure", word), ("agreed", others)):
            total = np.bincount(owner[mine], values[mine, system], len(lattices)) + 0.25
            found[:, system, KINDS.index(kind)] = (total / count)[owner]


@compiled
def _look(node_offsets: Offsets, arc_offsets: Offsets, time: Times, source: Ints, target: Ints, word: Ints,
          first: Offsets, behind: Offsets, confidence: Floats, posterior: Floats, own: Flags, printed: Flags,
          code: Codes, letters: Offsets, found: Evidence) -> None:  # fmt: skip
    row = np.empty(MOST_LETTERS + 1, np.int64)
    for u in range(len(node_offsets) - 1):
        n0, a0, a1 = node_offsets[u], arc_offsets[u], arc_offsets[u + 1]
        for arc in range(a0, a1):
            start, end = time[n0 + source[arc]], time[n0 + target[arc]]
            middle = (start + end) / 2
            for other in range(a0, a1):
                begin, finish = time[n0 + source[other]], time[n0 + target[other]]
                if begin >= end:  # arcs are sorted by source
                    break
                common = min(end, finish) - max(start, begin)
                if common <= 0:
                    continue
                same = word[other] == word[arc] and 2 * common >= min(end - start, finish - begin)
                across = begin <= middle < finish
                alike = 1.0
                if across and word[arc] != word[other] and word[other] > 0:
                    alike = likeness(code, letters, word[arc], word[other], row)
                for system in range(first[other], behind[other]):
                    sure = confidence[other, system]
                    if same:
                        found[0, arc, system] += sure
                        found[4, arc, system] += own[other, system]
                        found[5, arc, system] += posterior[other, system]
                        found[9, arc, system] += printed[other, system]
                    if across and word[other] == 0:
                        found[3, arc, system] += sure
                    elif across:
                        found[2, arc, system] += sure
                        found[7, arc, system] += sure * alike
                        if own[other, system]:
                            found[8, arc, system] = max(found[8, arc, system], alike)
                        if not same:
                            found[1, arc, system] = max(found[1, arc, system], sure)
