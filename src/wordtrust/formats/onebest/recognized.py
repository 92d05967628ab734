"""What a recognizer or a service says was said: words in phrases, phrases in transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...base.errors import InputError
from ...lattices.assemble import MAX_ARCS

PHRASE = "phrase"  # the number of a word's phrase, where lattices keep it
SPEAKER = "speaker"  # likewise who said it: a number in the list that is the note SPEAKERS; -1 where nobody knows
SPEAKERS = "speakers"  # names as a JSON list
CUES = "cues"  # from when to when each phrase is shown, as a JSON list, where these are subtitles


class RecognizedWord(NamedTuple):
    """A word as the recognizer wrote it; what it did not give is None."""

    text: str
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    norm: str | None = None  # the normalised word, where it is known
    token_logprobs: tuple[float, ...] = ()  # log-probabilities of its tokens, where they are known
    speaker: str | None = None  # where it is not that of the phrase


@dataclass(frozen=True, slots=True)
class RecognizedPhrase:
    """Words that the recognizer gave together (a segment, a result), with what it says of them as a whole."""

    words: Sequence[RecognizedWord]
    start: float | None = None
    end: float | None = None
    confidence: float | None = None
    alternatives: Sequence[RecognizedPhrase] = ()  # what else may have been said, the best first
    logprob: float | None = None  # mean log-probability of its tokens
    no_speech: float | None = None  # probability that nothing was said
    speaker: str | None = None  # who said it
    shown: tuple[float, float] | None = None  # from when to when the subtitle is shown that it is


@dataclass(frozen=True, slots=True)
class RecognizedTranscript:
    """All phrases of an utterance, in order, and the length of its audio where that is known."""

    utt: str
    phrases: Sequence[RecognizedPhrase]
    duration: float | None = None
    channel: str | None = None  # of the recording, where it has several


def plain_words(text: str) -> list[RecognizedWord]:
    """The words of a text of which nothing else is known."""
    tokens = text.split()
    if len(tokens) > MAX_ARCS:
        raise InputError(f"a text of {len(tokens):,} words", remedy=f"At most {MAX_ARCS:,} are read as one utterance")
    return [RecognizedWord(token) for token in tokens]
