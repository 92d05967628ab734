"""ROVER as NIST's program does it, for words that come without confidences: every recognizer has one vote.

A recording is cut where all recognizers pause for over a second. In each part, the words of the first are a row of
slots; those of every further one are aligned with them as `rover` does, ties included, and join the slots. The word
that most recognizers say in a slot wins, or nothing; of equal ones the first in the slot, which is that of the
earlier recognizer, except that in a slot which a recognizer opened its word comes before the others' nothing.

`combination.rover` has the same costs, decides ties between alignments slot by slot, counts confidences, and is for
all words that have any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..formats.references.nist_text import NO_WORD, SpelledWord
from ..lattices.lattice import Ints
from ..lattices.weights import Reals
from ..networks.word_graph import WordGraph, align_graphs
from .system_output import SystemOutput, SystemOutputs

PAUSE = 1.0  # seconds
_END = 9999999.9  # of time
_BESIDE_NOTHING = 1000  # what a word in place of nothing costs, in thousandths

Words = list[int]  # indices of words of one system


@dataclass(frozen=True, slots=True)
class _Winner:
    """A word that won its slot."""

    word: int  # in the vocabulary
    surface: int
    start: float
    end: float
    share: float  # of the recognizers


def vote(outputs: SystemOutputs) -> SystemOutput:
    """The words that most recognizers say; times are means over those that do, confidences are their share."""
    offsets, winners = [0], list[_Winner]()
    for row in range(len(outputs)):
        for part in _parts(outputs, row):
            winners += _winners(outputs, part)
        offsets.append(len(winners))
    first = outputs.outputs[0]
    return SystemOutput(
        utts=outputs.utts,
        offsets=np.array(offsets, np.int64),
        word=np.array([winner.word for winner in winners], np.int32),
        start=np.array([winner.start for winner in winners], np.float64),
        end=np.array([winner.end for winner in winners], np.float64),
        vocabulary=first.vocabulary,
        confidence=np.array([winner.share for winner in winners], np.float64),
        surface=np.array([winner.surface for winner in winners], np.int32),
    )


def vote_errors(outputs: SystemOutputs, subsets: Sequence[Sequence[int]]) -> Ints:
    """[subsets, utterances] the word errors of votes among some of the systems."""
    elected = (vote(outputs.subset([outputs.names[member] for member in subset])) for subset in subsets)
    return np.stack([outputs.count_errors(output) for output in elected])


def _parts(outputs: SystemOutputs, row: int) -> Iterator[list[Words]]:
    """The words of an utterance of all systems, cut at pauses that they share."""
    every = [list(range(*output.offsets[row : row + 2].tolist())) for output in outputs.outputs]
    times = [(output.start, output.end) for output in outputs.outputs]
    at = [0] * len(every)
    while any(place < len(words) for place, words in zip(at, every, strict=True)):
        cut = _next_cut(every, times, at)
        yield [words[place:end] for words, place, end in zip(every, at, cut, strict=True)]
        at = cut


def _next_cut(every: Sequence[Words], times: Sequence[tuple[Reals, Reals]], at: Sequence[int]) -> list[int]:
    """How many words of each system come before the next pause that all share."""
    for place in range(at[0], len(every[0])):
        gap = _gap(every[0], times[0], place)
        if gap[1] <= gap[0] + PAUSE:
            continue
        cut = [place + 1]
        for words, when, begin in zip(every[1:], times[1:], at[1:], strict=True):
            after = _pause_within(words, when, begin, gap)
            if after is None:
                break
            gap, end = after
            cut.append(end)
        else:
            return cut
    return [len(words) for words in every]


def _gap(words: Words, times: tuple[Reals, Reals], place: int) -> tuple[float, float]:
    """When a word ends and the next one begins."""
    following = times[0][words[place + 1]] if place + 1 < len(words) else _END
    return float(times[1][words[place]]), float(following)


def _pause_within(
    words: Words, times: tuple[Reals, Reals], begin: int, gap: tuple[float, float]
) -> tuple[tuple[float, float], int] | None:
    """The first pause that overlaps a gap: what both share, and the words before it."""
    if begin == len(words):
        return gap, begin
    for place in range(begin, len(words)):
        own = _gap(words, times, place)
        shared = max(own[0], gap[0]), min(own[1], gap[1])
        if shared[1] > shared[0]:
            return shared, place + 1
    return None


def _winners(outputs: SystemOutputs, part: list[Words]) -> list[_Winner]:
    """What is elected in each slot of a part."""
    slots = [[(0, word)] for word in part[0]]  # members are (system, word); word -1 is nothing
    for system in range(1, len(part)):
        slots = _joined(outputs, slots, system, part[system])
    elected = (_elected(outputs, slot) for slot in slots)
    return [winner for winner in elected if winner is not None]


Slot = list[tuple[int, int]]


def _joined(outputs: SystemOutputs, slots: list[Slot], system: int, words: Words) -> list[Slot]:
    """The slots with the words of one more system."""
    graph, hypothesis = WordGraph(), WordGraph()
    slot_of = [-1]
    for number, slot in enumerate(slots):
        graph.ends = tuple(graph.add_word(_spelled(outputs, member), graph.ends) for member in slot)
        slot_of += [number] * len(slot)
    for word in words:
        hypothesis.ends = (hypothesis.add_word(_spelled(outputs, (system, word)), hypothesis.ends),)
    steps = align_graphs([graph], [hypothesis], beside_nothing=_BESIDE_NOTHING, keep_nothing=True)
    joined: list[Slot] = []
    for ours, theirs in zip(steps.reference.tolist(), steps.hypothesis.tolist(), strict=True):
        said = (system, words[theirs - 1] if theirs > 0 else -1)
        if ours > 0:
            joined.append([*slots[slot_of[ours]], said])
        else:
            joined.append([said, *((other, -1) for other in range(system))])
    return joined


def _spelled(outputs: SystemOutputs, member: tuple[int, int]) -> SpelledWord:
    system, word = member
    if word < 0:
        return SpelledWord(NO_WORD)
    output = outputs.outputs[system]
    return SpelledWord(f"={output.vocabulary.lookup([int(output.word[word])])[0]}")  # `=`: a word `@` is a word


def _elected(outputs: SystemOutputs, slot: Slot) -> _Winner | None:
    """The word with the most votes, or None if it is nothing."""
    votes: dict[int, Slot] = {}
    for system, word in slot:
        said = -1 if word < 0 else int(outputs.outputs[system].word[word])
        votes.setdefault(said, []).append((system, word))
    said, voters = max(votes.items(), key=lambda item: len(item[1]))
    if said < 0:
        return None
    times = [(outputs.outputs[system].start[word], outputs.outputs[system].end[word]) for system, word in voters]
    start, end = np.mean(times, axis=0).tolist()
    system, word = voters[0]
    surface = outputs.outputs[system].surface
    return _Winner(said, said if surface is None else int(surface[word]), start, end, len(voters) / len(slot))
