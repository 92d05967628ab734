"""Whether the times of lattices that count time in frames can be true: people speak neither 6 nor 0.4 words a second.

Frames of chain models last 0.03 s, those of others 0.01 s, and no file says which. With the wrong one all durations,
and all words in time, are wrong by a factor of three.

People pause before and between words as well. Kaldi's decoders write lattices that are not word-aligned: frames of a
pause are with one of the words beside it, a word's with its neighbours, and only what is left over at the end of an
utterance is no word's. Lattices of several utterances with such remains, and with no pause anywhere else, are of that
kind; `lattice-align-words` gives words their own times, and pauses arcs of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ..lattices.lattice import Lattices
from ..lattices.paths import one_best

FASTEST, SLOWEST = 5.0, 0.5  # words a second on average, pauses counted
SOME_WORDS = 10  # to tell that there are no times: a word alone may be shorter than half a frame
ENOUGH_WORDS, ENOUGH_SECONDS = 200, 300.0  # to tell that speech is too fast, or too slow
MOST_WORDS = 5_000  # then it is not looked at any longer
ENOUGH_UTTERANCES = 10  # to tell that there are no pauses
NOT_ALIGNED = (
    "these lattices are not word-aligned (no pause but at the ends of utterances): times of words are off, by a "
    "second and more where there was a pause. lattice-align-words puts that right (docs/kaldi.md)"
)


@dataclass
class _Speech:
    """What was said so far, and in what time."""

    words: int = 0
    seconds: float = 0.0

    def add(self, batch: Lattices) -> None:
        path = one_best(batch)
        self.words += int(np.count_nonzero(batch.word[path.arcs_in(batch)]))
        self.seconds += float(np.sum(batch.time[batch.node_offsets[1:] - 1] - batch.time[batch.node_offsets[:-1]]))

    def problem(self, frame_length: float) -> str | None:
        """What is wrong with it, and what to do."""
        if not self.seconds:
            if self.words < SOME_WORDS:
                return None
            return (
                "these lattices have no times (arcs without frames, as where transition ids were taken off): all "
                "words stand at 0 s, durations tell a model nothing, and words are told apart by order alone. Write "
                "them with their alignments"
            )
        rate = self.words / self.seconds
        said = f"{self.words:,} words in {self.seconds:.0f} s are {rate:.1f} a second"
        if self.words >= ENOUGH_WORDS and rate > FASTEST:
            remedy = f"is a frame longer than {frame_length:g} s? Chain models have --frame-length 0.03"
            return f"{said}, faster than people speak: {remedy}"
        if self.seconds >= ENOUGH_SECONDS and rate < SLOWEST:
            remedy = f"is a frame shorter than {frame_length:g} s? Try --frame-length 0.01"
            return f"{said}, slower than people speak: {remedy}"
        return None


@dataclass
class _Pauses:
    """Where nothing was said so far: arcs without a label that last some time."""

    utterances: int = 0
    at_end: int = 0
    elsewhere: int = 0

    def add(self, batch: Lattices) -> None:
        pause = (batch.surface == 0) & (batch.word == 0) & (batch.end_time > batch.start_time)
        last_node = np.repeat(np.diff(batch.node_offsets) - 1, np.diff(batch.arc_offsets))
        at_end = int(np.count_nonzero(pause & (batch.target == last_node)))
        self.utterances += len(batch)
        self.at_end += at_end
        self.elsewhere += int(np.count_nonzero(pause)) - at_end

    def problem(self) -> str | None:
        """What is wrong with them, and what to do."""
        is_odd = self.utterances >= ENOUGH_UTTERANCES and self.at_end and not self.elsewhere
        return NOT_ALIGNED if is_odd else None


def with_checked_times(batches: Iterable[Lattices], notify: Callable[[str], None]) -> Iterator[Lattices]:
    """The batches as they are; `notify` is told, once, if their times cannot be true, or not be those of words."""
    speech, pauses = _Speech(), _Pauses()
    looks_at_rate = looks_at_pauses = True
    for batch in batches:
        if batch.origin.frame_length is not None and batch.origin.tolerance is None and len(batch):
            if looks_at_rate:
                speech.add(batch)
                problem = speech.problem(batch.origin.frame_length)
                if problem:
                    notify(problem)
                looks_at_rate = not problem and speech.words < MOST_WORDS
            if looks_at_pauses:
                pauses.add(batch)
                problem = pauses.problem()
                if problem:
                    notify(problem)
                looks_at_pauses = not problem and not pauses.elsewhere
        yield batch
