"""A transcript checked while its recording is still heard: words come with a confidence soon after they were heard.

Listeners are asked how probable they find the words of a segment as soon as these are settled (`following`), when
what they made of the audio is still at hand. The verdict on the whole may differ a little: listeners may have
adapted, or a passage may turn out to be missing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..combination.check import CheckModel
from ..transcripts.transcript import Transcript
from ..transcripts.words import Word
from .check_evidence import by_listener, forced_words, recognizer_listeners, segment_texts
from .checked_recording import Evidence, LocatedText, Stretch, checked_words, judge
from .following import TextFollower
from .online_scorer import OnlineScorer
from .text_scores import SegmentText, TextScorer
from .transcriber import RecognizedSegment
from .written_text import WrittenText


class RunningCheck:
    """The check of one transcript while segments of its recording come in."""

    def __init__(
        self, text: WrittenText, model: CheckModel, scorers: Sequence[OnlineScorer], text_scorer: TextScorer,
        *, by_recognizer: bool,
    ) -> None:  # fmt: skip
        transcript = text.transcript()
        self._follower, self._written = TextFollower(text), transcript.words
        self._model, self._scorers, self._text_scorer = model, scorers, text_scorer
        self._by_recognizer = by_recognizer
        self._settled: deque[tuple[LocatedText, dict[int, SegmentText]]] = deque()
        self._segments = deque(text.cut(transcript))
        self._is_cut = text.is_timed or len(self._segments) > 1  # else pauses will tell, when all was heard
        self._words: list[Word] = []  # checked, and not yet part of a segment
        self._missing = 0.0  # how likely words are missing after the last of them
        self.reported = 0  # words in the segments that were returned

    @property
    def segments(self) -> list[RecognizedSegment]:
        """What was heard so far."""
        return self._follower.segments

    def hear(self, segment: RecognizedSegment) -> None:
        """One more segment of the recording."""
        settled = self._follower.hear(segment)
        if settled is not None:
            texts = segment_texts(settled, self.segments)
            for text in texts.values():
                self._text_scorer.ask(text)
            self._settled.append((settled, texts))
        self._forget_samples()

    def _forget_samples(self) -> None:
        """Samples of settled segments are not needed any more."""
        segments = self.segments
        for index in range(self._follower.settled_segments - 1, -1, -1):
            if segments[index].samples is None:
                break
            segments[index] = replace(segments[index], samples=None)

    def checked(self) -> Iterator[Transcript]:
        """The segments of the transcript that were checked since it was last asked."""
        while self._settled and not any(map(self._text_scorer.is_asked, self._settled[0][1].values())):
            self._judge(*self._settled.popleft())
        while self._words and (not self._is_cut or len(self._words) >= len(self._segments[0].words)):
            segment = self._segments.popleft() if self._is_cut else self._segments[0]
            size = len(segment.words) if self._is_cut else len(self._words)
            words, self._words = tuple(self._words[:size]), self._words[size:]
            self.reported += size
            yield replace(segment, words=words, missing_end=None)

    def _judge(self, pivot: LocatedText, texts: dict[int, SegmentText]) -> None:
        answered = {number: self._text_scorer.known(text) for number, text in texts.items()}
        scores = {number: of_text for number, of_text in answered.items() if of_text is not None}
        forced = by_listener([scorer.identity.name for scorer in self._scorers], scores)

        def evidence(part: Sequence[Stretch]) -> Evidence:
            listeners = list(recognizer_listeners(self._scorers, self.segments, part))
            return listeners, forced_words(forced, pivot, part)

        first = self.reported + len(self._words)
        judged = judge(pivot, self._model, evidence, by_recognizer=self._by_recognizer)
        words, self._missing = checked_words(pivot, judged, self._written, first, self._missing)
        self._words += words
