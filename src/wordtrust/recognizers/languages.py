"""Speech in another language than the one that is recognised, told by the recognizer's own evidence.

A model that knows English only has no words for other languages: of a whole sentence the beam of Moonshine keeps one
word or two ("The"), and is not sure of these. Where so little is written for so much speech there is a warning; where
no other hypothesis is likelier, the words are made up. Whisper's multilingual models say themselves which language
they hear. `python -m experiments.other_languages` has the rates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.number_format import counted
from ..formats.transcript.records import SpeechWarning

LANGUAGE = "language"  # in a record of Whisper: what was asked for and how probable that is, and what is likeliest
LEAST_PROBABILITY = 0.2  # of the language that was asked for
_EMPTY = "empty_logprob"  # in records of Moonshine: the log-probability of no words at all
_PADDING = 0.66  # seconds of a segment that are no speech
_SHORTEST = 1.2  # seconds of speech: of less there is one word
_FEW_WORDS, _HARDLY_WORDS = 0.65, 0.42  # a second of speech: people say two to four
_UNLIKELY = -2.0  # mean log-probability of the tokens of the first hypothesis
_BEST_UNLIKELY = -0.8  # and of the hypothesis with the best mean
_SOUNDS_LIKE = "this sounds like the language "
_LIKELY = re.compile(re.escape(_SOUNDS_LIKE) + r"([a-z-]{2,12}),")
_NOT_ENGLISH = "this is not English, or cannot be understood (--language asks Whisper for another language)"


def foreign_reason(record: Mapping[str, Any], seconds: float) -> str | None:
    """Why the words of a record are made up, None if they are not."""
    if not _is_sparse(record, seconds, _HARDLY_WORDS):
        return None
    hypotheses, best = record["nbest"], record.get("best_avg", 0)
    likeliest = hypotheses[best if best in range(len(hypotheses)) else 0].get("avg_logprob")
    if isinstance(likeliest, int | float) and likeliest >= _BEST_UNLIKELY:
        return None
    words = len(hypotheses[0].get("words") or ())
    return f"{counted(words, 'word')} for {seconds - _PADDING:.1f} s of speech: {_NOT_ENGLISH}"


def _is_sparse(record: Mapping[str, Any], seconds: float, fewest: float) -> bool:
    """Whether the first hypothesis of Moonshine is unlikely, and has hardly any words for so much speech."""
    if _EMPTY not in record or "nbest" not in record:  # another recognizer, which may give lattices
        return False
    spoken, first = seconds - _PADDING, record["nbest"][0]
    logprob, words = first.get("avg_logprob"), len(first.get("words") or ())
    if not isinstance(logprob, int | float) or spoken < _SHORTEST:
        return False
    return bool(logprob < _UNLIKELY and words < fewest * spoken)


def language_warnings(line: str, seconds: float) -> tuple[SpeechWarning, ...]:
    """A warning where a record, as JSON, looks like speech in another language than the one asked for."""
    if LANGUAGE not in line and _EMPTY not in line:
        return ()
    record = json.loads(line)
    told = record.get(LANGUAGE)
    if isinstance(told, Mapping):
        return _told_language(told)
    if not _is_sparse(record, seconds, _FEW_WORDS):
        return ()
    rate = len(record["nbest"][0].get("words") or ()) / (seconds - _PADDING)
    message = f"{rate:.1f} words a second of speech: {_NOT_ENGLISH}"
    return (SpeechWarning("language", round(rate, 2), message),)


def is_foreign(warnings: Sequence[SpeechWarning], dropped: str | None) -> bool:
    """Whether a segment is in another language, by its warnings or by why its words were left out."""
    return any(warning.name == LANGUAGE for warning in warnings) or _NOT_ENGLISH in (dropped or "")


def likely_language(warnings: Sequence[SpeechWarning]) -> str | None:
    """The language that a recognizer takes a segment for."""
    messages = (warning.message for warning in warnings if warning.name == LANGUAGE)
    return next((match[1] for message in messages if (match := _LIKELY.match(message))), None)


def _told_language(told: Mapping[str, Any]) -> tuple[SpeechWarning, ...]:
    asked, likely, probability = (told.get(name) for name in ("asked", "likely", "probability"))
    if asked == likely or not isinstance(probability, int | float) or probability >= LEAST_PROBABILITY:
        return ()
    message = f"{_SOUNDS_LIKE}{likely}, not {asked} ({probability:.0%}): --language {likely}"
    return (SpeechWarning("language", round(probability, 3), message),)
