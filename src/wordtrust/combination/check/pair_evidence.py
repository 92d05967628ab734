"""What one listener says about every word of a transcript, and about the gaps between them.

Transcript and listener are the two members of a joint network (`joint.union`), on the clock of the transcript. What
the listener believes where a word stands is evidence about it (`joint.evidence`); what it hears between two words is
evidence that words are missing there. Beside that, its output is aligned with the transcript as a reference would be:
words in another spelling agree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import csr_offsets, csr_rows
from ...lattices.lattice import Floats, Ints, Lattices
from ...lattices.paths import Paths
from ...lattices.vocabulary import Vocabulary, renumbered
from ...networks.gaps import Gaps, missing_words
from ..joint.evidence import Evidence, evidence
from ..joint.union import JointHypotheses, JointLattice
from .aligned_output import AlignedOutput
from .listener import Listener, joint_members

_OURS, _ITS = 0, 1  # the transcript and the listener, in their joint network


class PairEvidence(NamedTuple):
    """[words] or [gaps] of the transcript; an utterance of n words has n + 1 gaps."""

    word: Floats  # its confidence of the word there
    rival: Floats  # its largest confidence of another word there
    words: Floats  # of all words there together
    silence: Floats  # its mass of silence there
    posterior: Floats  # of the word
    similarity: Floats  # how alike its words there are spelled, weighted by confidence
    output_similarity: Floats  # how alike its output there is spelled
    in_one_best: Floats  # whether the word is in its own 1-best
    mean_confidence: Floats  # in its output, the same for a whole utterance; NaN where it gives none
    agrees: Floats  # 1: its output has the word, 0: another one or none
    has_other: Floats  # 1: its output has another word in this place
    other: Ints  # that word, a number of the vocabulary; 0: none
    other_confidence: Floats  # its confidence in the word of its output here; NaN without one
    missing: Floats  # [gaps] how many words of its output the transcript lacks there
    inside: Floats  # [gaps] its confidence of words that fit between the two, summed
    most_inside: Floats  # [gaps] the largest of these
    rivals: Floats  # [gaps] the same of words between the middles of both, summed
    seconds: Floats  # [gaps] on the clock of the transcript


GAP_FIELDS = ("missing", "inside", "most_inside", "rivals", "seconds")


def pair_evidence(
    pivot: Lattices, listener: Listener, vocabulary: Vocabulary, output: AlignedOutput | None = None
) -> PairEvidence:
    """Gather it; `pivot` are chains as `pivot_chains` makes them, `vocabulary` numbers the words of `other`."""
    union = JointHypotheses.of(joint_members(pivot, listener)).union([_OURS, _ITS])
    path = pivot_path(union)
    arcs = path.without_silence(union.lattices).arcs_in(union.lattices)
    gathered, has_scores = evidence(union), listener.confidence is not None
    found: dict[str, Any] = {name: getattr(gathered, field)[arcs, _ITS] for name, field in _FROM_EVIDENCE.items()}
    found |= _of_output(output or AlignedOutput.of(pivot, listener), vocabulary, has_scores=has_scores)
    assert len(found["word"]) == len(found["agrees"])  # merging loses no word of a member
    if not has_scores:
        found["mean_confidence"] = np.full(len(arcs), np.nan, np.float32)
    found |= _gaps(union, path)
    return PairEvidence(**found)


_FROM_EVIDENCE = {name: name for name in ("word", "rival", "words", "silence", "posterior", "in_one_best")} | {
    "similarity": "spelling_similarity", "output_similarity": "output_similarity",
    "mean_confidence": "mean_confidence",
}  # fmt: skip
assert set(_FROM_EVIDENCE.values()) <= set(Evidence._fields)


def pivot_path(union: JointLattice) -> Paths:
    """The arcs of the transcript in the joint network: one path, in the order of its words."""
    lattices = union.lattices
    ours = np.flatnonzero(union.in_output[:, _OURS])  # arcs are sorted by their source, and no path goes back
    counts = np.bincount(lattices.utterance_of_arc[ours], minlength=len(lattices))
    return Paths(csr_offsets(counts), (ours - np.repeat(lattices.arc_offsets[:-1], counts)).astype(np.int32))


def _of_output(output: AlignedOutput, vocabulary: Vocabulary, *, has_scores: bool) -> dict[str, Any]:
    """The listener's output beside the words of the transcript."""
    aligned = output.alignments
    has_other = (aligned.reference >= 0) & ~aligned.correct
    partner = np.maximum(aligned.reference, 0) + np.repeat(output.offsets[:-1], np.diff(aligned.offsets))
    other, sure = np.zeros(len(partner), np.int32), np.full(len(partner), np.nan, np.float32)
    other[has_other] = renumbered(output.word[partner[has_other]], output.vocabulary, vocabulary)
    beside = (aligned.reference >= 0) & has_scores
    sure[beside] = output.confidence[partner[beside]]
    return {
        "agrees": aligned.correct.astype(np.float32), "has_other": has_other.astype(np.float32), "other": other,
        "other_confidence": sure, "missing": missing_words(aligned, output.offsets).astype(np.float32),
    }  # fmt: skip


def _gaps(union: JointLattice, path: Paths) -> dict[str, Floats]:
    """What the listener hears between the words."""
    gaps = Gaps.of(union.lattices, path)
    owner = csr_rows(gaps.near_offsets)
    heard = union.confidence[gaps.near, _ITS].astype(np.float64)
    inside = np.where(gaps.is_inside, heard, 0.0)
    largest = np.zeros(len(gaps))
    np.maximum.at(largest, owner, inside)
    sums = {"inside": inside, "rivals": np.where(gaps.is_rival, heard, 0.0)}
    totals = {name: np.bincount(owner, values, len(gaps)).astype(np.float32) for name, values in sums.items()}
    return totals | {"most_inside": largest.astype(np.float32), "seconds": gaps.seconds}
