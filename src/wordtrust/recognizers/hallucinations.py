"""Hallucinations: words that a recognizer makes up where nobody speaks are detected and dropped.

On sounds that are not speech, Moonshine and Whisper repeat the same words over and over, write more than anybody
could say, or print what many subtitles end with ("you", "Thank you."). What people really repeat ("no, no, no", a row
of equal digits) stays.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..lattices.lattice import Lattice
from ..lattices.text import DEFAULT
from .base import NOTHING, NBestRecord
from .languages import foreign_reason

# How often people repeat a group of this many words in a row; longer groups: _REPETITIONS.
_REPETITIONS_OF = {1: 10, 2: 6, 3: 5}
_REPETITIONS = 4
_LONGEST_GROUP = 12  # words
_LONG_TEXT, _COMPRESSION = 80, 2.6  # characters, and how well longer text may compress (Whisper's own limit is 2.4)
_FASTEST, _AT_ONCE = 7.0, 4  # words per second, and how many more

# Mean speech probability. Of 40 real clips none is below 0.9, of single short words none below 0.85, and of clips
# under noise of twice their energy one in 40 below 0.8. Noise that was taken for speech lies between 0.4 and 0.95.
_CERTAIN_SPEECH, _LIKELY_SPEECH, _UNLIKELY_SPEECH = 0.9, 0.85, 0.8
_LIKELY_LOGPROB = -0.7  # best mean log-probability of a token: 99 in 100 of 930 real clips have more
_CERTAIN_LOGPROB = -0.5  # what is often hallucinated needs more
_SHORTEST = 0.5  # seconds of a segment of real speech with its padding
_SECONDS, _SECONDS_A_WORD = 1.5, 0.7  # longer than the one plus the other for each word: there would be more words

_SENTENCE = 5  # words that are no accident

# What models write on noise, once or several times: the ends of subtitles, and sounds that mean nothing.
_FILLERS = re.compile(
    "(?:(?:you|thanks|thank you|thank you (?:so|very) much|thank(?:s| you) for (?:watching|listening)|"
    "please subscribe|bye|goodbye|oh|ah|uh|um|mm|hm|hmm|huh|yeah|okay|ok|sorry|i'm sorry|applause|silence|"
    "the end|you know|i don't know|we'll be right back|so|what|why|let's go) )+"
)


def drop_hallucinations(
    recognized: NBestRecord | Lattice, seconds: float, speech: float = 1.0
) -> tuple[NBestRecord | Lattice, str | None]:
    """What a recognizer may really have heard: without impossible hypotheses, or NOTHING and the reason.

    `speech` is the mean speech probability of these `seconds`, 1 where it is unknown.
    """
    if isinstance(recognized, Lattice):
        words = [recognized.words[arc] for arc in recognized.one_best() if recognized.words[arc]]
        reason = impossible_reason(words, seconds) or hallucination_reason(words, seconds, speech)
        return (NOTHING, reason) if reason else (recognized, None)
    if not _is_readable(recognized):  # the reader of such records reports what is wrong with it
        return recognized, None
    return _filter_record(recognized, seconds, speech)


def impossible_reason(words: Sequence[str], seconds: float) -> str | None:
    """Why nobody can have said these normalised words, None if somebody can."""
    return _repetition(words) or _compressible(words) or _too_fast(words, seconds)


def hallucination_reason(
    words: Sequence[str], seconds: float, speech: float, logprob: float | None = None
) -> str | None:
    """Why these words are taken for hallucinated; `logprob` is the recognizer's own mean over tokens."""
    if not words:
        return None
    text, belief = " ".join(words), 0.0 if logprob is None else logprob
    fits = _SHORTEST <= seconds <= _SECONDS + _SECONDS_A_WORD * len(words)
    if _FILLERS.fullmatch(text + " ") and (speech < _LIKELY_SPEECH or belief < _CERTAIN_LOGPROB or not fits):
        return f'"{text}" is often made up on noise, and this is hardly speech'
    is_sentence = len(words) >= _SENTENCE and belief >= _CERTAIN_LOGPROB  # a noisy line rather than a hallucination
    if (speech < _UNLIKELY_SPEECH and not is_sentence) or (speech < _CERTAIN_SPEECH and belief < _LIKELY_LOGPROB):
        return "this is hardly speech, and the recognizer is hardly sure of its words"
    return None


def _filter_record(record: NBestRecord, seconds: float, speech: float) -> tuple[NBestRecord, str | None]:
    reasons = [impossible_reason(_words(hypothesis), seconds) for hypothesis in record["nbest"]]
    kept = [index for index, reason in enumerate(reasons) if reason is None]
    of_printed = [reasons[index] for index in _printed(record) if reasons[index]]
    if not kept or (of_printed and speech < _CERTAIN_SPEECH):
        return NOTHING, of_printed[0]
    rest = record if len(kept) == len(reasons) else _select(record, kept)
    reason = hallucination_reason(_decisive_words(rest, speech), seconds, speech, _best_logprob(rest))
    reason = reason or foreign_reason(rest, seconds)
    return (NOTHING, reason) if reason else (rest, None)


def _printed(record: NBestRecord) -> list[int]:
    """The hypotheses that a recognizer may print: the one with the best total, the one with the best average."""
    best = record.get("best_avg", 0)
    return [0, best] if best in range(1, len(record["nbest"])) else [0]


def _decisive_words(record: NBestRecord, speech: float) -> list[str]:
    """The words that decide whether anything was said: a sentence with a good average, or else the first ones."""
    texts = [_words(hypothesis) for hypothesis in record["nbest"]]
    best = _printed(record)[-1]
    belief = _first_number(record["nbest"][best], "avg_logprob")
    if speech >= _CERTAIN_SPEECH and len(texts[best]) >= _SENTENCE and belief >= _LIKELY_LOGPROB:
        return texts[best]
    return next((words for words in texts if words), [])


def _is_readable(record: object) -> bool:
    hypotheses = record.get("nbest") if isinstance(record, Mapping) else None
    return bool(hypotheses) and isinstance(hypotheses, Sequence) and all(map(_is_hypothesis, hypotheses))


def _is_hypothesis(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("words") or [], Sequence)
        and all(isinstance(value.get(name) or 0.0, int | float) for name in ("avg_logprob", "score"))
    )


def _words(hypothesis: Mapping[str, Any]) -> list[str]:
    words = hypothesis.get("words") or []
    tokens = [str(word.get("word", "")) for word in words if isinstance(word, Mapping)]
    return DEFAULT.words(" ".join(tokens) or str(hypothesis.get("text", "")))


def _best_logprob(record: NBestRecord) -> float | None:
    """The best mean log-probability of all hypotheses; None where the recognizer gives none."""
    best = max(_first_number(hypothesis, "avg_logprob") for hypothesis in record["nbest"])
    return None if best == -math.inf else best


def _first_number(hypothesis: Mapping[str, Any], *names: str) -> float:
    """The first of these values that is present, else minus infinity."""
    return next((float(hypothesis[name]) for name in names if hypothesis.get(name) is not None), -math.inf)


def _select(record: NBestRecord, kept: Sequence[int]) -> NBestRecord:
    """The record with only these hypotheses."""
    hypotheses = [record["nbest"][index] for index in kept]
    rest = {**record, "nbest": hypotheses}
    if "best_avg" in record:
        averages = [_first_number(hypothesis, "avg_logprob", "score") for hypothesis in hypotheses]
        rest["best_avg"] = averages.index(max(averages))
    return rest


def _repetition(words: Sequence[str]) -> str | None:
    """Whether the same few words are repeated, one time right after the other."""
    for length in range(1, min(_LONGEST_GROUP, len(words) // 2) + 1):
        times = _times_in_a_row(words, length)
        if times > _REPETITIONS_OF.get(length, _REPETITIONS):
            return f"the same {'word' if length == 1 else f'{length} words'} {times} times in a row"
    return None


def _times_in_a_row(words: Sequence[str], length: int) -> int:
    """How often a group of so many words follows itself, at most."""
    longest = run = 0
    for word, later in zip(words, words[length:], strict=False):
        run = run + 1 if word == later else 0
        longest = max(longest, run)
    return longest // length + 1


def _compressible(words: Sequence[str]) -> str | None:
    """Whether a long text is mostly repetition, in whatever order."""
    text = " ".join(words).encode()
    if len(text) < _LONG_TEXT:
        return None
    ratio = len(text) / len(zlib.compress(text))
    return f"the text repeats itself (compressed to 1/{ratio:.1f})" if ratio > _COMPRESSION else None


def _too_fast(words: Sequence[str], seconds: float) -> str | None:
    if len(words) <= _FASTEST * seconds + _AT_ONCE:
        return None
    return f"{len(words)} words in {seconds:.1f} s: nobody speaks that fast"
