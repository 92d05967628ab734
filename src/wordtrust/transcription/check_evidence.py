"""What listeners say of the stretches of a recording: what they heard there, and how probable they find a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..combination.check import ForcedWords, Listener
from ..lattices.lattice import concatenate
from ..recognizers.base import NOTHING, ForcedScores
from ..recognizers.serialization import to_lattice, to_line
from .checked_recording import LocatedText, Stretch
from .online_scorer import OnlineScorer
from .text_scores import Scores, SegmentText
from .transcriber import RecognizedSegment

ForcedByListener = Mapping[str, Mapping[int, ForcedScores]]  # by the names of listeners, and the numbers of stretches


def recognizer_listeners(
    scorers: Sequence[OnlineScorer], segments: Sequence[RecognizedSegment], part: Sequence[Stretch]
) -> Iterator[Listener]:
    """What each recognizer heard in some stretches, with confidences."""
    for index, scorer in enumerate(scorers):
        nothing = to_lattice(to_line(NOTHING), "", scorer.identity)
        lattices = (
            nothing if stretch.segment is None else segments[stretch.segment].lattices[index] for stretch in part
        )
        networks = concatenate(
            replace(scorer.networks(one, learn=False), utts=(str(stretch.number),))
            for one, stretch in zip(lattices, part, strict=True)
        )
        yield Listener(scorer.identity.name, *scorer.score(networks))


def segment_texts(pivot: LocatedText, segments: Sequence[RecognizedSegment]) -> dict[int, SegmentText]:
    """The words of the transcript in its stretches, by the numbers of these; where nothing was heard, none."""
    norms, made = pivot.text.norms, {}
    for stretch in pivot.stretches:
        words = pivot.words_in(stretch)
        if stretch.segment is not None and words.start < words.stop:
            made[stretch.number] = SegmentText(segments[stretch.segment], norms[words])
    return made


def by_listener(names: Sequence[str], scores: Mapping[int, Scores]) -> ForcedByListener:
    """Scores by the names of those who gave some."""
    found: dict[str, dict[int, ForcedScores]] = {}
    for number, of_text in scores.items():
        for name, one in zip(names, of_text, strict=True):
            if one is not None:
                found.setdefault(name, {})[number] = one
    return found


def forced_words(forced: ForcedByListener, pivot: LocatedText, part: Sequence[Stretch]) -> dict[str, ForcedWords]:
    """The scores of the words of some stretches; NaN where a listener was not asked."""
    made = {}
    for name, scores in forced.items():
        columns: list[list[Any]] = [[] for _ in range(4)]
        ends = []
        for stretch in part:
            words, one = pivot.words_in(stretch), scores.get(stretch.number)
            unknown = np.full(words.stop - words.start, np.nan)
            of_text = (unknown,) * 4 if one is None else (one.logprob, one.least, one.tokens, one.margin)
            for column, values in zip(columns, of_text, strict=True):
                column.append(values)
            ends.append(np.nan if one is None else one.end)
        arrays = [np.concatenate(column).astype(np.float32) for column in columns]
        made[name] = ForcedWords(arrays[0], arrays[1], arrays[2], arrays[3], np.array(ends, np.float32))
    return made
