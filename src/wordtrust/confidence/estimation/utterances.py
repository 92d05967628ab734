"""The utterances whose errors are estimated: all their words as arrays, each by itself when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Protocol, Self, overload

import numpy as np

from ...base.arrays import Offsets, Reals, csr_rows, row_offsets
from ...evaluation.output_words import OutputWords
from ...transcripts.transcript import Transcript
from ...transcripts.words import Word

Speakers = Mapping[str, str] | None


class OutputUtterance(Protocol):
    """An utterance, or a segment of a recording, whose errors are to be estimated."""

    @property
    def utt(self) -> str:
        """Its name, or that of the recording."""

    @property
    def file(self) -> str:
        """Where it was read from."""

    @property
    def speaker(self) -> str:
        """Who spoke, or else the name of the utterance or recording."""

    @property
    def text(self) -> str:
        """Its words as they are written."""

    @property
    def start(self) -> float | None:
        """Seconds; None where there are no words."""

    @property
    def end(self) -> float | None:
        """Seconds; None where there are no words."""

    @property
    def confidence(self) -> tuple[float, ...]:
        """Of its words."""

    @property
    def missing(self) -> float | None:
        """The expected number of gaps that lack words, if that is known."""

    @property
    def norms(self) -> tuple[str, ...]:
        """Its words, normalised."""

    @property
    def duration(self) -> float:
        """Seconds from its first to its last word."""


class KeptUtterance(NamedTuple):
    """What is kept of an utterance whose transcript is not."""

    utt: str
    file: str
    speaker: str
    text: str
    start: float | None
    end: float | None
    confidence: tuple[float, ...]
    missing: float | None = None
    norms: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Seconds from its first to its last word."""
        return 0.0 if self.start is None or self.end is None else max(0.0, self.end - self.start)


class TranscriptUtterance:
    """An utterance whose transcript somebody holds anyway; all else is made when it is asked for."""

    __slots__ = ("_transcript", "file", "speaker")

    def __init__(self, transcript: Transcript, file: str, speaker: str) -> None:
        self._transcript, self.file, self.speaker = transcript, file, speaker

    @property
    def utt(self) -> str:
        """Its name, or that of the recording."""
        return self._transcript.utt

    @property
    def text(self) -> str:
        """Its words as they are written."""
        return self._transcript.text

    @property
    def start(self) -> float | None:
        """Seconds; None where there are no words."""
        return self._transcript.words[0].start if self._transcript.words else None

    @property
    def end(self) -> float | None:
        """Seconds; None where there are no words."""
        return self._transcript.words[-1].end if self._transcript.words else None

    @property
    def confidence(self) -> tuple[float, ...]:
        """Of its words."""
        return tuple([word.confidence for word in self._transcript.words])

    @property
    def missing(self) -> float | None:
        """The expected number of gaps that lack words, if that is known."""
        end, gaps = self._transcript.missing_end, [word.missing_before for word in self._transcript.words]
        known = [gap for gap in gaps if gap is not None]
        return None if end is None or len(known) < len(gaps) else sum(known, end)

    @property
    def norms(self) -> tuple[str, ...]:
        """Its words, normalised."""
        return tuple([word.norm for word in self._transcript.words])

    @property
    def duration(self) -> float:
        """Seconds from its first to its last word."""
        words = self._transcript.words
        return max(0.0, words[-1].end - words[0].start) if words else 0.0

    def kept(self) -> KeptUtterance:
        """The same without the transcript."""
        return KeptUtterance(
            self.utt, self.file, self.speaker, self.text, self.start, self.end, self.confidence, self.missing,
            self.norms,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return self.kept() == (other.kept() if isinstance(other, TranscriptUtterance) else other)

    def __hash__(self) -> int:
        return hash(self.kept())

    def __repr__(self) -> str:
        return repr(self.kept())


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
        return cls(
            utts,
            output,
            lambda: [TranscriptUtterance(each, file, who) for each, who in zip(kept, output.speakers, strict=True)],
        )

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
) -> Iterator[KeptUtterance]:
    """What estimates are made from, of each transcript; nothing else of it is kept."""
    for transcript in map(_checked, transcripts):
        speaker = speakers.get(transcript.utt, transcript.utt) if speakers else transcript.utt
        yield TranscriptUtterance(transcript, file, speaker).kept()


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
