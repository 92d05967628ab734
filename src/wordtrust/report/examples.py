"""Utterances worth a look: the best, the worst, and those whose confidences mislead most.

Of any number of utterances only these are kept, so a report of a large corpus stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_rows
from ..base.errors import InputError
from ..evaluation.evaluate import Choose
from ..lattices.lattice import Floats, Lattices
from ..lattices.paths import Paths
from ..networks.build_store import REFERENCE
from ..networks.labels import ReferenceWords, score_paths
from ..networks.word_confidence import Reals, word_confidence
from ..transcripts.transcript import Transcript, transcripts

MOST = 6  # of each sort
Show = Callable[[Reals], Reals]
_SURE = 1e-3  # a confidence nearer to 0 or 1 misleads no more than this


@dataclass(frozen=True, slots=True)
class Example:
    """A transcript with what was really said."""

    transcript: Transcript
    reference: tuple[str, ...]
    correct: tuple[bool, ...]  # for each word of the transcript
    aligned: tuple[int, ...]  # the reference word that it stands for, -1 for none

    def __post_init__(self) -> None:
        words = len(self.transcript.words)
        if not words == len(self.correct) == len(self.aligned):
            raise ValueError(f"{words} words, {len(self.correct)} labels, {len(self.aligned)} places do not fit")

    @property
    def missed(self) -> int:
        """Reference words that nothing stands for."""
        return len(self.reference) - sum(place >= 0 for place in self.aligned)

    @property
    def errors(self) -> int:
        """Substitutions, deletions and insertions."""
        return self.missed + len(self.correct) - sum(self.correct)


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Of many utterances."""

    errors: Reals
    said: Reals  # words of the reference
    loss: Reals  # how much the confidences mislead, in bits over all words


# Larger comes first, less than 0 is not of this sort. Added to `said`: an utterance of one word is no great example.
SORTS: dict[str, Callable[[Facts], Reals]] = {
    "best": lambda facts: np.where(facts.errors == 0, facts.said, -1.0),
    "worst": lambda facts: np.where(facts.errors > 0, facts.errors / (facts.said + 2), -1.0),
    "misleading": lambda facts: np.where(facts.errors > 0, facts.loss / (facts.said + 4), -1.0),
}


def _loss(confidence: Reals, correct: NDArray[np.bool_]) -> Reals:
    """In bits, for each word."""
    given = np.where(correct, confidence, 1 - confidence)
    bits: Reals = -np.log2(np.clip(given, _SURE, 1))
    return bits


def pick(examples: Iterable[Example], sort: str, most: int = MOST) -> list[Example]:
    """Those of a sort, the first of it first; ties go by the name of the utterance."""
    listed = list(examples)
    facts = np.array([_facts(example) for example in listed], np.float64).reshape(-1, 3)
    ranks = SORTS[sort](Facts(*facts.T)).tolist()
    order = sorted(range(len(listed)), key=lambda each: (-ranks[each], listed[each].transcript.utt))
    return [listed[each] for each in order[:most] if ranks[each] >= 0]


def _facts(example: Example) -> tuple[float, float, float]:
    sure = np.array([word.confidence for word in example.transcript.words])
    return example.errors, len(example.reference), float(_loss(sure, np.array(example.correct, np.bool_)).sum())


class ExampleKeeper:
    """Sees all utterances and keeps the first of each sort.

    keeper = ExampleKeeper()
    evaluation = evaluate(batches, judge, keeper.watching(choose))
    keeper.examples

    `show` (a calibrator) turns confidences into those that are shown.
    """

    def __init__(self, most: int = MOST, show: Show | None = None) -> None:
        self._most, self._show = most, show
        self._kept: list[Example] = []

    @property
    def examples(self) -> list[Example]:
        """What was kept, by the names of the utterances."""
        return sorted(self._kept, key=lambda each: each.transcript.utt)

    def watching(self, choose: Choose) -> Choose:
        """The same way to choose words, watched."""

        def watched(networks: Lattices, confidence: Floats) -> Paths:
            paths = choose(networks, confidence)
            self.add(networks, confidence, paths)
            return paths

        return watched

    def add(self, networks: Lattices, confidence: Floats, paths: Paths) -> None:
        """Look at these utterances too."""
        seen = [*self._kept, *_candidates(networks, confidence, paths, self._most, self._show)]
        kept = {id(each): each for sort in SORTS for each in pick(seen, sort, self._most)}
        self._kept = list(kept.values())


def examples_of(
    networks: Lattices, confidence: Floats, paths: Paths, most: int = MOST, show: Show | None = None
) -> list[Example]:
    """The examples among labelled networks, given what was chosen."""
    keeper = ExampleKeeper(most, show)
    keeper.add(networks, confidence, paths)
    return keeper.examples


def _candidates(networks: Lattices, confidence: Floats, paths: Paths, most: int, show: Show | None) -> list[Example]:
    """The first of each sort in a batch: only of these are transcripts made."""
    if REFERENCE not in networks.notes:
        raise InputError(
            "these networks have no references",
            remedy="Make them with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )
    references = [tuple(note.split()) for note in networks.notes[REFERENCE]]
    found = score_paths(networks, paths, ReferenceWords.of(references, networks)).alignments
    shown = _shown(networks, confidence, paths)
    shown = show(shown) if show else shown
    owner = csr_rows(found.offsets)
    loss = np.bincount(owner, _loss(shown, found.correct), len(networks)).astype(np.float64)
    said = np.array([*map(len, references)], np.float64)
    facts = Facts(found.counts[:, 1:].sum(axis=1, dtype=np.float64), said, loss)
    names = np.array(networks.utts, dtype=object)
    numbers = set()
    for rank in SORTS.values():
        order = np.lexsort((names, -rank(facts)))
        numbers.update(order[:most].tolist())
    return [_example(networks, confidence, paths, references[each], each, show) for each in sorted(numbers)]


def _shown(networks: Lattices, confidence: Floats, paths: Paths) -> Reals:
    """The confidence of the words of paths, as people see it."""
    words: Reals = word_confidence(networks, confidence, paths)[networks.word[paths.arcs_in(networks)] > 0]
    return words


def _example(
    networks: Lattices, confidence: Floats, paths: Paths, reference: tuple[str, ...], number: int, show: Show | None
) -> Example:
    one = networks[number : number + 1]
    arcs = slice(*networks.arc_offsets[number : number + 2].tolist())
    first, last = paths.offsets[number : number + 2].tolist()
    path = Paths(np.array([0, last - first], np.int64), paths.arcs[first:last])
    found = score_paths(one, path, ReferenceWords.of([reference], one)).alignments[0]
    made = transcripts(one, np.minimum(confidence[arcs], np.float32(1)), path, show=show)[0]
    return Example(made, reference, found.correct, found.reference)
