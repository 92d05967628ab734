"""The utterances whose errors are estimated: all their words as arrays, each by itself when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Self, overload

import numpy as np

from ...base.arrays import Offsets, Reals, csr_rows, row_offsets
from ...evaluation.output_words import OutputWords
from ...transcripts.transcript import Transcript
from ...transcripts.words import Word

Speakers = Mapping[str, str] | None


class OutputUtterance(NamedTuple):
    """An utterance, or a segment of a recording, whose errors are to be estimated."""

    utt: str
    file: str
    speaker: str  # who spoke, or else the name of the utterance or recording
    text: str
    start: float | None  # seconds; None where there are no words
    end: float | None
    confidence: tuple[float, ...]  # of its words
    missing: float | None = None  # the expected number of gaps that lack words, if that is known
    norms: tuple[str, ...] = ()  # its words, normalised

    @property
    def duration(self) -> float:
        """Seconds from its first to its last word."""
        return 0.0 if self.start is None or self.end is None else max(0.0, self.end - self.start)


@dataclass(frozen=True, eq=False)
class OutputUtterances(Sequence[OutputUtterance]):
    """Many of them; what is estimated takes `utts` and `words` only."""

    utts: Sequence[str]
    words: OutputWords
    listed: Callable[[], Sequence[OutputUtterance]]

    @classmethod
    def of(cls, utterances: Sequence[OutputUtterance]) -> OutputUtterances:
        """Of utterances that are there one by one."""
        if isinstance(utterances, OutputUtterances):
            return utterances
        missing = [utterance.missing for utterance in utterances]
        known = [each for each in missing if each is not None]
        words = OutputWords(
            row_offsets([utterance.confidence for utterance in utterances]),
            _probabilities([value for utterance in utterances for value in utterance.confidence]),
            tuple(utterance.speaker for utterance in utterances),
            np.array(known, np.float64) if known and len(known) == len(missing) else None,
        )
        return cls([utterance.utt for utterance in utterances], words, lambda: utterances)

    @classmethod
    def of_transcripts(cls, transcripts: Iterable[Transcript], file: str, speakers: Speakers = None) -> Self:
        """Of transcripts that somebody holds anyway."""
        kept = tuple(map(_checked, transcripts))
        utts, words = [each.utt for each in kept], [*chain.from_iterable([each.words for each in kept])]
        offsets = row_offsets([each.words for each in kept])
        output = OutputWords(
            offsets,
            _probabilities([word.confidence for word in words]),
            tuple([speakers.get(utt, utt) for utt in utts] if speakers else utts),
            _missing(words, offsets, [each.missing_end for each in kept]),
        )
        return cls(utts, output, lambda: [*output_utterances(kept, file, speakers)])

    @cached_property
    def _made(self) -> Sequence[OutputUtterance]:
        return self.listed()

    def __len__(self) -> int:
        return len(self.utts)

    @overload
    def __getitem__(self, index: int) -> OutputUtterance: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[OutputUtterance]: ...

    def __getitem__(self, index: int | slice) -> OutputUtterance | Sequence[OutputUtterance]:
        return self._made[index]

    def __iter__(self) -> Iterator[OutputUtterance]:
        return iter(self._made)


def output_utterances(
    transcripts: Iterable[Transcript], file: str, speakers: Speakers = None
) -> Iterator[OutputUtterance]:
    """What estimates are made from, of each transcript."""
    for transcript in map(_checked, transcripts):
        words, utt = transcript.words, transcript.utt
        start, end = (words[0].start, words[-1].end) if words else (None, None)
        confidence, norms = tuple([word.confidence for word in words]), tuple([word.norm for word in words])
        speaker, missing = speakers.get(utt, utt) if speakers else utt, None
        if transcript.missing_end is not None:
            gaps = [word.missing_before for word in words]
            known = [gap for gap in gaps if gap is not None]
            missing = None if len(known) < len(gaps) else sum(known, transcript.missing_end)
        yield OutputUtterance(utt, file, speaker, transcript.text, start, end, confidence, missing, norms)


def _checked(transcript: Transcript) -> Transcript:
    if not isinstance(transcript, Transcript):
        raise TypeError(
            f"errors are estimated of transcripts or of files of them, not of {type(transcript).__name__}"
        )
    return transcript


def _probabilities(confidence: list[float]) -> Reals:
    return np.clip(np.array(confidence, np.float64), 0.0, 1.0)


def _missing(words: Sequence[Word], offsets: Offsets, ends: list[float | None]) -> Reals | None:
    """[utterances] the expected number of gaps that lack words; None if it is not known of all."""
    gaps = ends + [word.missing_before for word in words]  # the order in which they are summed
    known = np.array(gaps, np.float64)  # None becomes NaN
    if not ends or (np.isnan(known).any() and None in gaps):
        return None
    row = np.concatenate([np.arange(len(ends)), csr_rows(offsets)])
    return np.asarray(np.bincount(row, known, len(ends)), np.float64)
