"""Which words were said in the utterances of a batch, where references have segments and alternatives.

Lattices are compared with plain texts. Of alternatives, those count that the 1-best comes nearest to, segment by
segment, and optional words only if it has them. Words in segments that are to be ignored become silence: they are
neither right nor wrong, and take no part in labels, tuning or calibration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..formats.references import Reference, References
from ..formats.references.nist_text import HESITATION, Parts
from ..lattices.lattice import Lattices
from ..lattices.text import DEFAULT
from .equivalents import NONE, Equate
from .segments import Comparison, align_segments


def spoken_words(lattices: Lattices, references: Mapping[str, Reference]) -> tuple[Lattices, list[tuple[str, ...]]]:
    """The batch without what is to be ignored, and the words that were said in each utterance."""
    chosen = [references[utt] for utt in lattices.utts]
    if not any(reference.segments for reference in chosen):
        return lattices, [reference.words for reference in chosen]
    kept = without_ignored(lattices, chosen)
    how = Comparison("wordtrust", normalizer=references.normalizer if isinstance(references, References) else DEFAULT)
    return kept, [_nearest(kept[row : row + 1], reference, how) for row, reference in enumerate(chosen)]


def equated_words(references: Mapping[str, Reference], equate: Equate) -> Equate:
    """Which spellings count as the same word: none where words are compared as they are written."""
    as_written = isinstance(references, References) and references.normalizer.as_written
    return NONE if as_written else equate


def without_ignored(lattices: Lattices, references: Sequence[Reference]) -> Lattices:
    """The batch with silence instead of words in segments that are to be ignored."""
    is_ignored = np.zeros(len(lattices.word), np.bool_)
    for row, reference in enumerate(references):
        scored = np.array([segment.is_scored for segment in reference.segments], np.bool_)
        if scored.all():
            continue
        arcs = slice(lattices.arc_offsets[row], lattices.arc_offsets[row + 1])
        middle = (lattices.start_time[arcs] + lattices.end_time[arcs]) / 2
        ends = np.maximum.accumulate([segment.end for segment in reference.segments])
        is_ignored[arcs] = ~scored[np.minimum(np.searchsorted(ends, middle, "right"), len(ends) - 1)]
    if not is_ignored.any():
        return lattices
    word, surface = (np.where(is_ignored, np.int32(0), ids) for ids in (lattices.word, lattices.surface))
    return replace(lattices, word=word, surface=surface)


def _nearest(lattices: Lattices, reference: Reference, how: Comparison) -> tuple[str, ...]:
    """The words of the reference, with the alternatives that the 1-best comes nearest to."""
    segments = [segment for segment in reference.segments if segment.is_scored]
    if not reference.segments or not any(_is_open(segment.parts) for segment in segments):
        return reference.words
    graphs, hypotheses, steps = align_segments(lattices, [reference], how)
    words: list[str] = []
    for row, (graph, hypothesis) in enumerate(zip(graphs, hypotheses, strict=True)):
        part = slice(steps.offsets[row], steps.offsets[row + 1])
        rows = zip(steps.reference[part].tolist(), steps.hypothesis[part].tolist(), steps.correct[part], strict=True)
        for ours, theirs, is_right in rows:
            if theirs >= 0 and is_right:
                words.append(hypothesis.words[theirs].word)
            elif ours >= 0 and not is_right:
                words.append(graph.words[ours].word.strip("-"))
    return tuple(words)


def _is_open(parts: Parts) -> bool:
    """Whether a text leaves open what was said."""
    return any(
        isinstance(part, list) or part[0] in "(-@" or part[-1] == "-" or HESITATION.match(part) is not None
        for part in parts
    )
