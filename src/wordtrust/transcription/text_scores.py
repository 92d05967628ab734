"""How probable recognizers find texts that they are given, segment by segment, soon after these were recognised."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from ..audio import RATE, Samples
from ..base.journal import Journal
from ..recognizers.base import ForcedScores
from ..recognizers.pool import RecognitionResult, RecognizerPool, ScoringRequest
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


class TextScorer:
    """Asks recognizers how probable they find texts of a recording. What they answered is kept in the journal."""

    def __init__(self, pools: Sequence[RecognizerPool], recording: AudioRecording, journal: Journal | None) -> None:
        self._pools, self._recording, self._journal = pools, recording, journal
        self._asked: dict[str, list[Future[RecognitionResult]]] = {}
        self._lines: dict[str, tuple[str, ...]] = {}

    def ask(self, text: SegmentText) -> None:
        """Ask while a segment is still fresh: later it is encoded once more. The answer is not waited for."""
        key = text.key(self._recording)
        if text.segment.samples is None or key in self._asked or self._knows(key):
            return
        lines = text.segment.lines
        requests = (ScoringRequest(text.segment.samples, [text.words], line) for line in lines)
        self._asked[key] = [pool.submit(request) for pool, request in zip(self._pools, requests, strict=True)]

    def is_asked(self, text: SegmentText) -> bool:
        """Whether an answer is on its way."""
        self._take(wait=False)
        return text.key(self._recording) in self._asked

    def known(self, text: SegmentText) -> Scores | None:
        """What was answered so far; None if that is nothing."""
        key = text.key(self._recording)
        if key in self._lines:
            lines = self._lines[key]
        elif self._journal is not None and key in self._journal:
            lines = tuple(map(str, self._journal[key]))
        else:
            return None
        return tuple(line_to_scores(line)[0] if line else None for line in lines)

    def scores(self, texts: Sequence[SegmentText]) -> Iterator[tuple[SegmentText, Scores]]:
        """Texts, in the order of time, with the scores of their words.

        For those that nobody has answered for yet the audio is gone through once more.
        """
        self._take(wait=True)
        waiting = [text for text in texts if not self._knows(text.key(self._recording))]
        scored: Iterable[_Scored] = (_Scored(text, samples) for text, samples in cut_out(self._recording, waiting))
        for index, pool in enumerate(self._pools):
            scored = _with_scores(pool, index, scored)
        coming = iter(scored)
        for text in texts:
            if not self._knows(key := text.key(self._recording)):
                self._keep(key, next(coming).lines)
            scores = self.known(text)
            assert scores is not None
            yield text, scores

    def _knows(self, key: str) -> bool:
        return key in self._lines or (self._journal is not None and key in self._journal)

    def _take(self, *, wait: bool) -> None:
        """Take the answers that are there, or wait for all of them."""
        for key, futures in list(self._asked.items()):
            if wait or all(future.done() for future in futures):
                results = [pool.result(future) for pool, future in zip(self._pools, futures, strict=True)]
                del self._asked[key]
                self._keep(key, tuple(map(_checked_line, results)))

    def _keep(self, key: str, lines: tuple[str, ...]) -> None:
        if self._journal is not None:
            self._journal.add(key, list(lines))
        else:
            self._lines[key] = lines


def _checked_line(result: RecognitionResult) -> str:
    if result.error is not None:
        raise result.error
    return result.scores


def _with_scores(pool: RecognizerPool, index: int, scored: Iterable[_Scored]) -> Iterator[_Scored]:
    """Each recognizer works on a segment while the next one works on the segments before it."""

    def request(item: _Scored) -> ScoringRequest:
        return ScoringRequest(item.samples, [item.text.words], item.text.segment.lines[index])

    for item, result in pool.score(scored, request):
        yield item._replace(lines=(*item.lines, _checked_line(result)))


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
