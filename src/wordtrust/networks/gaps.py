"""The gaps between the words of paths, where words may be missing: before the first, between two, after the last.

A path of n words has n + 1 gaps. Which arcs say something about a gap follows from time: words whose middle lies
between the start of the word before and the end of the word after it are near. How many words these make, in the mean
over all paths, says whether two are enough. Of these, rivals lie nearer, between the middles of both words, and say
neither of the two. Some of them fit between the two words as a whole: they are inside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.arrays import csr_items, csr_offsets, csr_rows
from ..base.jit import compiled
from ..lattices.kbest import k_best
from ..lattices.lattice import Flags, Floats, Ints, Lattices, Offsets, Times
from ..lattices.paths import Paths
from ..lattices.posterior import log_shares
from ..lattices.weights import Reals
from .align import Alignments, align_ids


@dataclass(frozen=True, slots=True, eq=False)
class Gaps:
    """The gaps of one path for each utterance of a batch, end to end. Arcs are indices into the batch."""

    offsets: Offsets  # [utterances + 1]
    before: Ints  # [gaps] the word before each, -1 at the start
    after: Ints  # [gaps] the word after each, -1 at the end
    seconds: Floats  # [gaps] from the end of the one to the start of the other
    near_offsets: Offsets  # [gaps + 1]
    near: Ints  # the words near each
    is_rival: Flags  # [near]
    is_inside: Flags  # [near]

    @classmethod
    def of(cls, networks: Lattices, paths: Paths) -> Gaps:
        """The gaps of these paths."""
        words = paths.without_silence(networks)
        offsets = words.offsets + np.arange(len(words.offsets))
        before, after = np.full(offsets[-1], -1, np.int32), np.full(offsets[-1], -1, np.int32)
        gap = np.arange(len(words.arcs)) + words.utterance_of_arc  # the one before each word
        after[gap] = before[gap + 1] = words.arcs_in(networks)
        seconds, near_offsets = np.zeros(len(before), np.float32), np.zeros(len(before) + 1, np.int64)
        graph = (networks.node_offsets, networks.arc_offsets, networks.source, networks.target, networks.word,
                 networks.time, offsets, before, after, seconds, near_offsets)  # fmt: skip
        room, count = -1, 2 * len(networks.source)  # what is nearly always enough; else they are counted first
        while count > room:
            room = count
            near, is_rival, is_inside = np.empty(room, np.int32), np.empty(room, np.bool_), np.empty(room, np.bool_)
            count = _near_gaps(*graph, near, is_rival, is_inside)
        return cls(offsets, before, after, seconds, near_offsets, near[:count], is_rival[:count], is_inside[:count])

    def __len__(self) -> int:
        return len(self.before)


@compiled
def _near_gaps(
    node_offsets: Offsets, arc_offsets: Offsets, source: Ints, target: Ints, word: Ints, time: Times,
    offsets: Offsets, before: Ints, after: Ints, seconds: Floats, near_offsets: Offsets, near: Ints,
    is_rival: Flags, is_inside: Flags,
) -> int:  # fmt: skip
    """Fill in what there is room for; gives how many words are near."""
    count = 0
    for u in range(len(offsets) - 1):
        first, last, node = arc_offsets[u], arc_offsets[u + 1], node_offsets[u]
        longest = 0.0
        for arc in range(first, last):
            if word[arc] > 0:
                longest = max(longest, time[node + target[arc]] - time[node + source[arc]])
        begin = first  # arcs before it end too early for this gap and all that follow
        for gap in range(offsets[u], offsets[u + 1]):
            one, other = before[gap], after[gap]
            left, right = np.int64(0), node_offsets[u + 1] - node - 1  # nodes
            low, lower, high, higher = -np.inf, -np.inf, np.inf, np.inf
            if one >= 0:
                left = np.int64(target[one])
                low = time[node + source[one]]
                lower = (low + time[node + left]) / 2
            if other >= 0:
                right = np.int64(source[other])
                high = time[node + target[other]]
                higher = (time[node + right] + high) / 2
            seconds[gap] = time[node + right] - time[node + left]
            while begin < last and time[node + source[begin]] < low - longest:
                begin += 1
            for arc in range(begin, last):
                start = time[node + source[arc]]
                if start > high:
                    break
                middle = (start + time[node + target[arc]]) / 2
                if word[arc] == 0 or middle < low or middle > high:
                    continue
                if count < len(near):
                    differs = (one < 0 or word[arc] != word[one]) and (other < 0 or word[arc] != word[other])
                    near[count] = arc
                    is_rival[count] = differs and lower < middle < higher
                    is_inside[count] = is_rival[count] and source[arc] >= left and target[arc] <= right
                count += 1
            near_offsets[gap + 1] = count
    return count


def rival_posterior(networks: Lattices, paths: Paths) -> Reals:
    """[gaps] how likely words are missing by posteriors alone: those of the rivals of each gap, as if independent."""
    assert networks.posterior is not None
    gaps = Gaps.of(networks, paths)
    rivals = networks.posterior[gaps.near].astype(np.float64) * gaps.is_rival
    return 1.0 - np.exp(-np.bincount(csr_rows(gaps.near_offsets), rivals, len(gaps)))


def k_best_missing(networks: Lattices, paths: Paths, k: int = 50) -> Reals:
    """[gaps] how likely words are missing by the `k` best word sequences alone, as a list of these would tell.

    Each is aligned with the words of the path. A gap has the share of their probability that lies on sequences with
    more words in it.
    """
    best, own = k_best(networks, log_shares(networks), k), paths.without_silence(networks)
    arcs, utterance = best.arcs_in(networks), csr_rows(best.offsets)
    is_word = networks.word[arcs] > 0
    offsets = csr_offsets(is_word)[best.path_offsets]
    hypotheses = networks.word[own.arcs_in(networks)][csr_items(own.offsets, utterance)]
    sizes = np.diff(own.offsets)[utterance]
    alignments = align_ids(networks.word[arcs[is_word]], offsets, hypotheses, csr_offsets(sizes))
    weight = np.exp(best.score - np.maximum.reduceat(best.score, best.offsets[:-1])[utterance])
    share = weight / np.bincount(utterance, weight)[utterance]
    gap_offsets = own.offsets + np.arange(len(own.offsets))
    lacking = np.repeat(share, sizes + 1) * (missing_words(alignments, offsets) > 0)
    return np.bincount(csr_items(gap_offsets, utterance), lacking, gap_offsets[-1]).astype(np.float64)


def missing_words(alignments: Alignments, reference_offsets: Offsets) -> Ints:
    """[gaps] how many words of the reference are deleted in each gap between the words of a hypothesis.

    An alignment with the fewest errors never has a deletion beside an insertion: both would be one substitution. So
    the words it lacks stand between two that stand for words of the reference, and which gap is theirs is plain. (Of
    several such alignments, the aligner has one, by its rules: deletions come as late as they can.)
    """
    offsets, aligned = alignments.offsets, alignments.reference
    missing = np.zeros(len(aligned) + len(offsets) - 1, np.int32)
    after = aligned + np.int32(1) if alignments.after is None else alignments.after
    _missing(offsets, aligned, after, reference_offsets, missing)
    return missing


@compiled
def _missing(offsets: Offsets, aligned: Ints, after: Ints, reference_offsets: Offsets, missing: Ints) -> None:
    for u in range(len(offsets) - 1):
        expected = 0  # the reference word that comes next
        for i in range(offsets[u], offsets[u + 1]):
            if aligned[i] >= 0:
                missing[i + u] = max(0, aligned[i] - expected)
                expected = max(expected, after[i])  # several words may stand for one
        missing[offsets[u + 1] + u] = reference_offsets[u + 1] - reference_offsets[u] - expected
