"""How probable recognizers find texts that they are given, segment by segment, after the segments were recognised."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from ..audio import RATE, Samples
from ..base.journal import Journal
from ..recognizers.base import ForcedScores
from ..recognizers.pool import RecognizerPool, ScoringRequest
from ..recognizers.serialization import line_to_scores
from .transcriber import AudioRecording, RecognizedSegment


@dataclass(frozen=True, slots=True)
class SegmentText:
    """A segment, and a text of it as normalised words."""

    segment: RecognizedSegment
    words: tuple[str, ...]

    def key(self, recording: AudioRecording) -> str:
        """Its name in a journal."""
        text = sha256(" ".join(self.words).encode("utf-8", "replace")).hexdigest()[:16]
        return f"scores {recording.name} {recording.channel or 0} {self.segment.start:.3f} {text}"


class _Scored(NamedTuple):
    text: SegmentText
    samples: Samples
    lines: tuple[str, ...] = ()  # of the recognizers so far


Scores = tuple[ForcedScores | None, ...]  # one for each recognizer; None of one that cannot tell


def score_texts(
    pools: Sequence[RecognizerPool], recording: AudioRecording, texts: Sequence[SegmentText],
    journal: Journal | None = None,
) -> Iterator[tuple[SegmentText, Scores]]:  # fmt: skip
    """Texts, in the order of time, with the scores of their words.

    The audio is gone through once more, for those that are not in the journal.
    """
    waiting = [text for text in texts if journal is None or text.key(recording) not in journal]
    scored: Iterable[_Scored] = (_Scored(text, samples) for text, samples in cut_out(recording, waiting))
    for index, pool in enumerate(pools):
        scored = _with_scores(pool, index, scored)
    coming = iter(scored)
    for text in texts:
        if journal is not None and (key := text.key(recording)) in journal:
            lines = tuple(map(str, journal[key]))
        else:
            lines = next(coming).lines
            if journal is not None:
                journal.add(text.key(recording), list(lines))
        yield text, tuple(line_to_scores(line)[0] if line else None for line in lines)


def _with_scores(pool: RecognizerPool, index: int, scored: Iterable[_Scored]) -> Iterator[_Scored]:
    """Each recognizer works on a segment while the next one works on the segments before it."""

    def request(item: _Scored) -> ScoringRequest:
        return ScoringRequest(item.samples, [item.text.words], item.text.segment.lines[index])

    for item, result in pool.score(scored, request):
        if result.error is not None:
            raise result.error
        yield item._replace(lines=(*item.lines, result.scores))


def cut_out(recording: AudioRecording, texts: Sequence[SegmentText]) -> Iterator[tuple[SegmentText, Samples]]:
    """The samples of the segments of texts, which are in the order of time."""
    waiting, kept, first = deque(texts), np.zeros(0, np.float32), 0
    for block in recording.audio.blocks(recording.channel) if texts else ():
        kept = np.concatenate([kept, block])
        while waiting and first + len(kept) >= round(waiting[0].segment.end * RATE):
            text = waiting.popleft()
            yield text, kept[round(text.segment.start * RATE) - first : round(text.segment.end * RATE) - first]
        if not waiting:
            return
        gone = min(len(kept), max(0, round(waiting[0].segment.start * RATE) - first))
        kept, first = kept[gone:], first + gone
    for text in waiting:  # the file ends within them
        yield text, kept[max(0, round(text.segment.start * RATE) - first) :]
