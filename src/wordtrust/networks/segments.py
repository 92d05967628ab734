"""Words against references that have segments, alternatives or both: STM, TRN, and whatever a GLM was applied to.

A word belongs to the first segment that ends after its middle and does not lie before that of the word before; the
last segment takes what is left. That is sclite's rule: words in a gap are errors of the segment after it. Segments
that are to be ignored take their words with them. Within a segment, the words are aligned with all that may have been
said (networks/word_graph.py).

Which words are compared: those of CTM and TRN as they are written (`sclite`), which gives sclite's totals; those of
other formats normalised, as everywhere else (`wordtrust`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..base.arrays import Reals, csr_offsets
from ..base.errors import InputError, OptionError
from ..formats.kept_times import exact_middles
from ..formats.references.glm import Glm
from ..formats.references.nist_text import NO_WORD, Parts, SpelledWord, Spelling, as_written, cached, normalised
from ..formats.references.reference import Reference, Segment
from ..lattices.lattice import Flags, Ints, Lattice, Lattices, Times
from ..lattices.paths import one_best
from ..lattices.text import DEFAULT, JOINER, Normalizer
from .align import Alignments
from .equivalents import Equate
from .word_graph import GraphAlignments, WordGraph, align_graphs

RULES = ("sclite", "wordtrust")
NIST_FORMATS = ("ctm", "trn")


@dataclass(frozen=True, slots=True)
class Comparison:
    """How words are compared."""

    rules: str | None = None  # sclite or wordtrust; None: by the format
    glm: Glm | None = None  # what words of hypotheses stand for
    normalizer: Normalizer = DEFAULT  # of words that are compared by the rules of wordtrust
    equate: Equate | None = None  # spellings that count as the same word in plain references; None: all

    def __post_init__(self) -> None:
        if self.rules not in (None, *RULES):
            raise OptionError(f"words are compared by the rules of {' or '.join(RULES)}, not of {self.rules!r}")
        if self.equate and (self.rules == "sclite" or self.glm is not None):
            raise OptionError("NIST's rules equate what a GLM says and nothing else: leave out --equate")

    def is_verbatim(self, lattices: Lattices) -> bool:
        """Whether words are compared as they are written."""
        return (self.rules or ("sclite" if lattices.origin.format in NIST_FORMATS else "wordtrust")) == "sclite"

    def spelling(self, lattices: Lattices) -> Spelling:
        """What is compared for a word of this format."""
        return self.spelling_of("sclite" if self.is_verbatim(lattices) else "wordtrust")

    def spelling_of(self, rules: str | None) -> Spelling:
        """What is compared for a word by these rules."""
        return cached(as_written if rules == "sclite" else partial(normalised, normalizer=self.normalizer))


BY_WORDS = Comparison("wordtrust")


@dataclass(frozen=True, slots=True, eq=False)
class ComparedSegments:
    """The words of scored segments, and whether they are right."""

    alignments: Alignments  # with a row for each segment
    speakers: tuple[str, ...]  # of the segments
    confidence: Reals  # [words]; NaN where there is none


@dataclass(frozen=True, slots=True)
class _Token:
    """A word as the recognizer wrote it."""

    text: str
    middle: float
    confidence: float


@dataclass(slots=True)
class _Hypothesis:
    """What was recognized in one segment."""

    graph: WordGraph = field(default_factory=WordGraph)
    confidence: list[float] = field(default_factory=lambda: [np.nan])  # [arcs]


SpokenWords = Sequence[tuple[str, float]]  # words of an utterance, with their middles
Block = list[
    tuple[int, int, _Token | None, bool]
]  # arcs from node to node; None is silence; of the first alternative?


def compare_segments(
    lattices: Lattices, references: Sequence[Reference], confidence: Reals | None, how: Comparison
) -> ComparedSegments:
    """Compare the 1-best of each utterance (CTM and TRN: all its alternatives) with its reference."""
    found = _hypotheses(lattices, references, confidence, how)
    segments = _scored(references)
    graphs = [WordGraph.of(segment.parts, how.spelling(lattices)) for segment in segments]
    return _compared(segments, found, align_graphs(graphs, [hypothesis.graph for hypothesis in found]))


def missed_segments(references: Sequence[Reference]) -> ComparedSegments:
    """Recordings in which nothing was recognized: all of their words are deleted."""
    segments, spelling = _scored(references), cached(as_written)
    graphs, nothing = (
        [WordGraph.of(segment.parts, spelling) for segment in segments],
        [_Hypothesis() for _ in segments],
    )
    return _compared(segments, nothing, align_graphs(graphs, [hypothesis.graph for hypothesis in nothing]))


def align_segments(
    lattices: Lattices, references: Sequence[Reference], how: Comparison
) -> tuple[list[WordGraph], list[WordGraph], GraphAlignments]:
    """What may have been said in the scored segments, what was recognized, and the alignment of both."""
    spelling = how.spelling(lattices)
    graphs = [WordGraph.of(segment.parts, spelling) for segment in _scored(references)]
    hypotheses = [hypothesis.graph for hypothesis in _hypotheses(lattices, references, None, how)]
    return graphs, hypotheses, align_graphs(graphs, hypotheses)


def count_errors(rows: Sequence[SpokenWords], references: Sequence[Reference], how: Comparison) -> Ints:
    """[utterances] the errors of words with their middles, by the rules that `how` names; words have no tags."""
    spelling, graphs, hypotheses, owner = (
        how.spelling_of(how.rules),
        list[WordGraph](),
        list[WordGraph](),
        list[int](),
    )
    for row, (words, reference) in enumerate(zip(rows, references, strict=True)):
        segments = reference.in_segments().segments
        tokens = [_Token(text.replace(";", "\\;"), middle, np.nan) for text, middle in words]
        found = _by_segment(
            [[(at, at + 1, token, True)] for at, token in enumerate(tokens)], segments, spelling, how.glm
        )
        for segment, hypothesis in zip(segments, found, strict=True):
            if segment.is_scored:
                graphs.append(WordGraph.of(segment.parts, spelling))
                hypotheses.append(hypothesis.graph)
                owner.append(row)
    errors = align_graphs(graphs, hypotheses).counts()[:, 1:].sum(axis=1)
    return np.bincount(np.array(owner, np.int64), errors, len(rows)).astype(np.int32)


def reference_length(reference: Reference, how: Comparison) -> int:
    """How many words were said, by the first of all alternatives; optional words are counted, as sclite does."""
    spelling = how.spelling_of(how.rules)
    segments = (segment for segment in reference.in_segments().segments if segment.is_scored)
    return sum(_first_length(segment.parts, spelling) for segment in segments)


def _first_length(parts: Parts, spelling: Spelling) -> int:
    words = (part for part in parts if part != NO_WORD)
    return sum(len(spelling(part)) if isinstance(part, str) else _first_length(part[0], spelling) for part in words)


def _scored(references: Sequence[Reference]) -> list[Segment]:
    return [segment for reference in references for segment in reference.segments if segment.is_scored]


def _hypotheses(
    lattices: Lattices, references: Sequence[Reference], confidence: Reals | None, how: Comparison
) -> list[_Hypothesis]:
    """What was recognized in each scored segment."""
    spelling = how.spelling(lattices)
    hypotheses: list[_Hypothesis] = []
    for lattice, reference, blocks in zip(lattices, references, _blocks(lattices, confidence, how), strict=True):
        try:
            found = _by_segment(blocks, reference.segments, spelling, how.glm)
        except InputError as error:
            raise error.at(utt=lattice.utt) from None
        pairs = zip(reference.segments, found, strict=True)
        hypotheses += [hypothesis for segment, hypothesis in pairs if segment.is_scored]
    return hypotheses


def _compared(
    segments: Sequence[Segment], hypotheses: Sequence[_Hypothesis], steps: GraphAlignments
) -> ComparedSegments:
    said = steps.hypothesis >= 0
    owner = np.repeat(np.arange(len(segments)), np.diff(steps.offsets))[said]
    arcs = steps.hypothesis[said]
    confidence = np.array(
        [hypotheses[row].confidence[arc] for row, arc in zip(owner.tolist(), arcs.tolist(), strict=True)], np.float64
    )
    reference: Ints = np.where(steps.reference[said] > 0, steps.reference[said] - 1, -1).astype(np.int32)
    correct: Flags = steps.correct[said]
    offsets = csr_offsets(np.bincount(owner, minlength=len(segments)))
    alignments = Alignments(offsets, correct, reference, steps.counts())
    return ComparedSegments(alignments, tuple(segment.speaker for segment in segments), confidence)


def _by_segment(
    blocks: Iterable[Block], segments: Sequence[Segment], spelling: Spelling, glm: Glm | None
) -> list[_Hypothesis]:
    """The words of each segment; blocks are in the order of time."""
    found = [_Hypothesis() for _ in segments]
    ends = np.array([segment.end for segment in segments], np.float32).tolist()  # sclite's precision decides ties
    current = 0
    for block in blocks:
        tokens = [token for _, _, token, _ in block if token is not None]
        if tokens:
            middle = max(token.middle for token in tokens)
            while current < len(segments) - 1 and middle >= ends[current]:
                current += 1
            _add_block(found[current], block, spelling, glm)
    return found


def _add_block(hypothesis: _Hypothesis, block: Block, spelling: Spelling, glm: Glm | None) -> None:
    """Add words that follow what is there; in a block of several arcs they are alternatives to each other."""
    graph, first, last = hypothesis.graph, block[0][0], max(target for _, target, _, _ in block)
    ends: dict[int, tuple[int, ...]] = {first: graph.ends}
    for source, target, token, is_first in block:
        before = ends[source]
        if token is not None:
            parts: Parts = [token.text] if glm is None else glm.hypothesis(token.text)
            before = graph.add(parts, spelling, before)
        elif (source, target) == (first, last):
            before = (graph.add_word(SpelledWord(NO_WORD), before),)
        confidence = np.nan if token is None else token.confidence
        hypothesis.confidence += [confidence] * (len(graph.words) - len(hypothesis.confidence))
        known = ends.get(target, ())
        ends[target] = tuple(dict.fromkeys((*before, *known) if is_first else (*known, *before)))
    graph.ends = ends[last]


def _blocks(lattices: Lattices, confidence: Reals | None, how: Comparison) -> Iterable[list[Block]]:
    """The words of each utterance, in blocks that all paths go through the ends of."""
    verbatim = how.is_verbatim(lattices)
    paths = one_best(lattices)
    scores = np.full(len(lattices.word), np.nan) if confidence is None else confidence
    middles = exact_middles(lattices)
    for row, lattice in enumerate(lattices):
        part = slice(lattices.arc_offsets[row], lattices.arc_offsets[row + 1])
        own = scores[part], None if middles is None else middles[part]
        if lattices.origin.format in NIST_FORMATS and lattice.picked is not None:
            arcs = np.lexsort((~lattice.picked, lattice.source)).tolist()  # of alternatives, the first one first
        else:
            arcs = paths.arcs[paths.offsets[row] : paths.offsets[row + 1]].tolist()
        yield _cut(_token_arcs(lattice, arcs, *own, verbatim=verbatim))


def _cut(arcs: Block) -> list[Block]:
    """Cut arcs, sorted by their sources, where no arc crosses."""
    blocks: list[Block] = []
    reached = -1
    for arc in arcs:
        if arc[0] >= reached:
            blocks.append([])
        blocks[-1].append(arc)
        reached = max(reached, arc[1])
    return blocks


def _token_arcs(
    lattice: Lattice, arcs: Sequence[int], confidence: Reals, middles: Times | None, *, verbatim: bool
) -> Block:
    """Arcs with what is compared: words, or the recognizer's own tokens, whose pieces are put together again."""
    texts = lattice.surfaces if verbatim else lattice.words
    source, target, time = lattice.source.tolist(), lattice.target.tolist(), lattice.time.tolist()
    begun: dict[
        int, tuple[int, str]
    ] = {}  # by the node in the middle of a token: where it began, and its text so far
    tokens: Block = []
    for arc in arcs:
        node, text = begun.pop(source[arc], (source[arc], ""))
        text += texts[arc]
        if verbatim and text.endswith(JOINER):
            begun[target[arc]] = node, text[:-1]
            continue
        said = "".join(text.split())
        middle = (time[node] + time[target[arc]]) / 2 if middles is None else float(middles[arc])
        token = _Token(said, middle, float(confidence[arc])) if said else None
        tokens.append((node, target[arc], token, lattice.picked is None or bool(lattice.picked[arc])))
    tokens.sort(key=lambda arc: arc[0])
    return tokens
