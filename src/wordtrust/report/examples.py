"""Utterances worth a look: the best, the worst, and those whose confidences are most misleading.

Only these are kept of any number of utterances, so the report of a large corpus stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_rows
from ..base.errors import InputError
from ..base.number_format import counted
from ..lattices.lattice import Floats, Lattices
from ..lattices.paths import Paths
from ..lattices.weights import Reals
from ..networks.build_store import REFERENCE, noted_references
from ..networks.labels import score_paths
from ..networks.word_confidence import word_confidence
from ..transcripts.transcript import Transcript, transcripts
from ..transcripts.words import Word, spelled

MOST_WORDS = 150  # of an utterance
MOST_LETTERS = 60  # of a word
_STEPS = 10  # shades of confidence
MOST = 6  # of each category
Show = Callable[[Reals], Reals]
_SURE = 1e-3  # a confidence nearer to 0 or 1 misleads no more than this


@dataclass(frozen=True, slots=True)
class ExampleUtterance:
    """A transcript with its reference."""

    transcript: Transcript
    reference: tuple[str, ...]
    correct: tuple[bool, ...]  # for each word of the transcript
    aligned: tuple[int, ...]  # the index of its reference word, -1 for none
    has_confidences: bool = True  # False: its words came without, and theirs mean nothing
    after: tuple[int, ...] = ()  # the reference word that comes next, where a word stands for several: 21

    def __post_init__(self) -> None:
        words = len(self.transcript.words)
        if not words == len(self.correct) == len(self.aligned):
            raise ValueError(f"{words} words, {len(self.correct)} labels, {len(self.aligned)} places do not fit")

    @property
    def missed(self) -> int:
        """Deleted reference words."""
        return len(self.reference) - len(self.heard)

    @property
    def heard(self) -> dict[int, bool]:
        """The reference words that words of the transcript stand for, and whether these are right."""
        ends = self.after or tuple(index + 1 for index in self.aligned)
        spans = zip(self.aligned, ends, self.correct, strict=True)
        return {at: right for first, end, right in spans if first >= 0 for at in range(first, end)}

    @property
    def errors(self) -> int:
        """Substitutions, deletions and insertions."""
        return self.missed + len(self.correct) - sum(self.correct)


@dataclass(frozen=True, slots=True, eq=False)
class UtteranceMeasures:
    """What ranks utterances as examples; an array each."""

    errors: Reals
    spoken: Reals  # words of the reference
    loss: Reals  # how much the confidences mislead, in bits over all words


# Larger comes first, below 0 is not of this category. The numbers added to `spoken` hold very short utterances back.
CATEGORIES: dict[str, Callable[[UtteranceMeasures], Reals]] = {
    "best": lambda m: np.where(m.errors == 0, m.spoken, -1.0),
    "worst": lambda m: np.where(m.errors > 0, m.errors / (m.spoken + 2), -1.0),
    "misleading": lambda m: np.where(m.errors > 0, m.loss / (m.spoken + 4), -1.0),
}


def _loss(confidence: Reals, correct: NDArray[np.bool_]) -> Reals:
    """The logarithmic loss of each word, in bits."""
    given = np.where(correct, confidence, 1 - confidence)
    bits: Reals = -np.log2(np.clip(given, _SURE, 1))
    return bits


def pick(examples: Iterable[ExampleUtterance], category: str, most: int = MOST) -> list[ExampleUtterance]:
    """The first examples of a category; ties go by the name of the utterance."""
    listed = list(examples)
    measures = np.array([_measures(example) for example in listed], np.float64).reshape(-1, 3)
    ranks = CATEGORIES[category](UtteranceMeasures(*measures.T)).tolist()
    order = sorted(range(len(listed)), key=lambda index: (-ranks[index], listed[index].transcript.utt))
    chosen = [listed[index] for index in order[:most] if ranks[index] >= 0]
    return [example for example in chosen if example.has_confidences or category != "misleading"]


def _measures(example: ExampleUtterance) -> tuple[float, float, float]:
    confidence = np.array([word.confidence for word in example.transcript.words])
    loss = float(_loss(confidence, np.array(example.correct, np.bool_)).sum())
    return example.errors, len(example.reference), loss


class ExampleKeeper:
    """Sees all utterances and keeps the first few of each category.

    keeper = ExampleKeeper()
    evaluation = wt.evaluate(networks, model, inspect=keeper.add)
    keeper.examples

    `show` (a calibrator) turns confidences into those that are shown.
    """

    def __init__(self, most: int = MOST, show: Show | None = None) -> None:
        self._most, self._show = most, show
        self._kept: list[ExampleUtterance] = []

    @property
    def examples(self) -> list[ExampleUtterance]:
        """The examples that were kept, by the names of their utterances."""
        return sorted(self._kept, key=lambda example: example.transcript.utt)

    def add(self, networks: Lattices, confidence: Floats, paths: Paths) -> None:
        """Look at these utterances too."""
        candidates = [*self._kept, *_candidates(networks, confidence, paths, self._most, self._show)]
        kept = {id(example): example for category in CATEGORIES for example in pick(candidates, category, self._most)}
        self._kept = list(kept.values())


def _candidates(
    networks: Lattices, confidence: Floats, paths: Paths, most: int, show: Show | None
) -> list[ExampleUtterance]:
    """The first of each category in a batch; transcripts are made of these only."""
    if REFERENCE not in networks.notes:
        raise InputError(
            "these networks have no references",
            remedy="Make them with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )
    references = [tuple(note.split()) for note in networks.notes[REFERENCE]]
    alignments = score_paths(networks, paths, noted_references(networks)).alignments
    shown = _shown(networks, confidence, paths)
    shown = show(shown) if show else shown
    owner = csr_rows(alignments.offsets)
    loss = np.bincount(owner, _loss(shown, alignments.correct), len(networks)).astype(np.float64)
    spoken = np.array([*map(len, references)], np.float64)
    measures = UtteranceMeasures(alignments.counts[:, 1:].sum(axis=1, dtype=np.float64), spoken, loss)
    names = np.array(networks.utts, dtype=object)
    indices = set()
    for rank in CATEGORIES.values():
        order = np.lexsort((names, -rank(measures)))
        indices.update(order[:most].tolist())
    return [_example(networks, confidence, paths, references[index], index, show) for index in sorted(indices)]


def _shown(networks: Lattices, confidence: Floats, paths: Paths) -> Reals:
    """The confidence of the words of paths, as people see it."""
    words: Reals = word_confidence(networks, confidence, paths)[networks.word[paths.arcs_in(networks)] > 0]
    return words


def _example(
    networks: Lattices, confidence: Floats, paths: Paths, reference: tuple[str, ...], index: int, show: Show | None
) -> ExampleUtterance:
    one = networks[index : index + 1]
    arcs = slice(*networks.arc_offsets[index : index + 2].tolist())
    first, last = paths.offsets[index : index + 2].tolist()
    path = Paths(np.array([0, last - first], np.int64), paths.arcs[first:last])
    alignments = score_paths(one, path, noted_references(one)).alignments
    alignment, after = alignments[0], () if alignments.after is None else tuple(alignments.after.tolist())
    transcript = transcripts(one, np.minimum(confidence[arcs], np.float32(1)), path, show=show)[0]
    scores = networks.posterior, networks.acoustic, networks.transition
    has_confidences = any(score is not None for score in scores)
    return ExampleUtterance(transcript, reference, alignment.correct, alignment.reference, has_confidences, after)


@dataclass(frozen=True, slots=True)
class PageWord:
    """A word of the output or of the reference."""

    text: str
    marks: str  # classes of the style sheet
    hints: tuple[str, ...] = ()
    space: str = " "


@dataclass(frozen=True, slots=True)
class PageUtterance:
    """An example as the page shows it."""

    name: str
    facts: str
    said: list[PageWord]
    recognized: list[PageWord]
    more: str


def page_utterance(example: ExampleUtterance) -> PageUtterance:
    """An example as the page shows it, cut to a readable length."""
    words, confidence = example.transcript.words, example.transcript.mean_confidence
    facts = [counted(example.errors, "error"), f"{counted(len(example.reference), 'word')} said"]
    if confidence is not None and example.has_confidences:
        facts.append(f"mean confidence {confidence:.2f}")
    longest = max(len(words), len(example.reference))
    more = f"Only the first {MOST_WORDS} of {longest:,} words are shown." if longest > MOST_WORDS else ""
    return PageUtterance(
        cut(example.transcript.utt, 200), ", ".join(facts), _said(example), _recognized(example), more
    )


def cut(text: str, most: int = MOST_LETTERS) -> str:
    """The text, or its beginning with an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _recognized(example: ExampleUtterance) -> list[PageWord]:
    shown = []
    words = example.transcript.words[:MOST_WORDS]
    for index, (word, (written, space)) in enumerate(zip(words, spelled(words), strict=True)):
        marks = f"w c{round(word.confidence * _STEPS)}" if example.has_confidences else "w"
        if not example.correct[index]:
            marks += " bad"
        shown.append(PageWord(cut(written), marks, _hints(example, index, word), space))
    return shown


def _hints(example: ExampleUtterance, index: int, word: Word) -> tuple[str, ...]:
    """The confidence of the word, whether it is right, its times and its alternatives."""
    aligned = example.aligned[index]
    if example.correct[index]:
        verdict = "right"
    else:
        verdict = f"wrong, said was: {cut(example.reference[aligned])}" if aligned >= 0 else "wrong, nothing was said"
    shown = f"{word.confidence:.2f}, " if example.has_confidences else ""
    lines = [f"{shown}{verdict}", f"{word.start:.2f} to {word.end:.2f} s"]
    others = [f"{cut(other.word)} {other.confidence:.2f}" for other in word.alternatives]
    return (*lines, f"or: {', '.join(others)}") if others else tuple(lines)


def _said(example: ExampleUtterance) -> list[PageWord]:
    """The reference; substituted and deleted words are marked."""
    marks = {True: "", False: "sub", None: "gone"}
    return [
        PageWord(cut(word), marks[example.heard.get(index)])
        for index, word in enumerate(example.reference[:MOST_WORDS])
    ]
