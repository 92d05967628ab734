"""Words that nobody said: what recognizers make up on noise is found and dropped.

On sounds that are no speech Moonshine and Whisper say the same words over and over, write more than anybody could
say, or print what so many subtitles end with ("you", "Thank you."). What people really repeat ("no, no, no", a row of
equal digits) stays.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..lattices.lattice import Lattice
from ..lattices.text import DEFAULT
from .base import Record

NOTHING: Record = {"nbest": [{"score": 0.0, "words": []}]}

_SAYINGS = {1: 10, 2: 6, 3: 5}  # how often people say so many words in a row; more words: _OFTEN
_OFTEN = 4
_LONGEST_LOOP = 12  # words
_LONG, _RATIO = 80, 2.6  # characters of a text that should not be so easy to compress (Whisper's own limit is 2.4)
_FASTEST, _AT_ONCE = 7.0, 4  # words a second, and how many more

# Mean probability of speech. Of 40 real clips none is below 0.9, of single short words none below 0.85, and of clips
# under noise of twice their energy one in 40 below 0.8. Noise that was taken for speech lies between 0.4 and 0.95.
_SURE, _LIKELY, _HARDLY = 0.9, 0.85, 0.8
_BELIEVED = -0.7  # best log-probability a token: of 930 real clips 99 in 100 have more
_WELL_BELIEVED = -0.5  # what is often made up needs more
_SHORTEST = 0.5  # seconds of a piece of real speech with what is around it
_BEFORE, _A_WORD = 1.5, 0.7  # seconds: longer than this and this for each word, and there would be more words

_SENTENCE = 5  # words that are no accident

# What models write on noise, once or several times: the ends of subtitles, and sounds that mean nothing.
_FILLERS = re.compile(
    "(?:(?:you|thanks|thank you|thank you (?:so|very) much|thank(?:s| you) for (?:watching|listening)|"
    "please subscribe|bye|goodbye|oh|ah|uh|um|mm|hm|hmm|huh|yeah|okay|ok|sorry|i'm sorry|applause|silence|"
    "the end|you know|i don't know|we'll be right back|so|what|why|let's go) )+"
)


def sane(heard: Record | Lattice, seconds: float, speech: float = 1.0) -> tuple[Record | Lattice, str | None]:
    """What a recognizer may really have heard: without hypotheses that nobody can have said, or NOTHING and why.

    `speech` is the mean probability that these `seconds` are speech, 1 where nobody knows.
    """
    if isinstance(heard, Lattice):
        words = [heard.words[arc] for arc in heard.one_best() if heard.words[arc]]
        reason = impossible(words, seconds) or invented(words, seconds, speech)
        return (NOTHING, reason) if reason else (heard, None)
    if not _is_readable(heard):  # the reader of such records tells what is wrong with it
        return heard, None
    return _sane_record(heard, seconds, speech)


def impossible(words: Sequence[str], seconds: float) -> str | None:
    """Why nobody can have said this (None if somebody can): for normalised words of any origin."""
    return _loop(words) or _squeezed(words) or _hasty(words, seconds)


def invented(words: Sequence[str], seconds: float, speech: float, logprob: float | None = None) -> str | None:
    """Why these words are taken for made up; `logprob` is the recognizer's own, for a token."""
    if not words:
        return None
    said, belief = " ".join(words), 0.0 if logprob is None else logprob
    fits = _SHORTEST <= seconds <= _BEFORE + _A_WORD * len(words)
    if _FILLERS.fullmatch(said + " ") and (speech < _LIKELY or belief < _WELL_BELIEVED or not fits):
        return f'"{said}" is often made up on noise, and this is hardly speech'
    believed = len(words) >= _SENTENCE and belief >= _WELL_BELIEVED  # a noisy line, more likely than an invention
    if (speech < _HARDLY and not believed) or (speech < _SURE and belief < _BELIEVED):
        return "this is hardly speech, and the recognizer is hardly sure of its words"
    return None


def _sane_record(record: Record, seconds: float, speech: float) -> tuple[Record, str | None]:
    reasons = [impossible(_words(each), seconds) for each in record["nbest"]]
    kept = [number for number, reason in enumerate(reasons) if reason is None]
    loops = [reasons[number] for number in _printed(record) if reasons[number]]
    if not kept or (loops and speech < _SURE):
        return NOTHING, loops[0]
    rest = record if len(kept) == len(reasons) else _only(record, kept)
    reason = invented(_judged(rest, speech), seconds, speech, _belief(rest))
    return (NOTHING, reason) if reason else (rest, None)


def _printed(record: Record) -> list[int]:
    """The hypotheses that a recognizer would print: the one with the best score, or the one with the best a token."""
    best = record.get("best_avg", 0)
    return [0, best] if best in range(1, len(record["nbest"])) else [0]


def _judged(record: Record, speech: float) -> list[str]:
    """The words that tell whether something was said: a sentence that is believed word by word, or the first ones."""
    texts = [_words(each) for each in record["nbest"]]
    best = _printed(record)[-1]
    belief = _number(record["nbest"][best], "avg_logprob")
    if speech >= _SURE and len(texts[best]) >= _SENTENCE and belief >= _BELIEVED:
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


def _belief(record: Record) -> float | None:
    """The best log-probability a token of all hypotheses; None where the recognizer gives none."""
    best = max(_number(each, "avg_logprob") for each in record["nbest"])
    return None if best == -math.inf else best


def _number(hypothesis: Mapping[str, Any], *names: str) -> float:
    """The first of these numbers that is there, else minus infinity."""
    return next((float(hypothesis[name]) for name in names if hypothesis.get(name) is not None), -math.inf)


def _only(record: Record, kept: Sequence[int]) -> Record:
    """The record with these hypotheses alone."""
    hypotheses = [record["nbest"][number] for number in kept]
    rest = {**record, "nbest": hypotheses}
    if "best_avg" in record:
        averages = [_number(each, "avg_logprob", "score") for each in hypotheses]
        rest["best_avg"] = averages.index(max(averages))
    return rest


def _loop(words: Sequence[str]) -> str | None:
    """Whether the same few words come again and again, one time right after the other."""
    for length in range(1, min(_LONGEST_LOOP, len(words) // 2) + 1):
        times = _times_in_a_row(words, length)
        if times > _SAYINGS.get(length, _OFTEN):
            return f"the same {'word' if length == 1 else f'{length} words'} {times} times in a row"
    return None


def _times_in_a_row(words: Sequence[str], length: int) -> int:
    """How often a group of so many words follows itself, at most."""
    longest = run = 0
    for word, later in zip(words, words[length:], strict=False):
        run = run + 1 if word == later else 0
        longest = max(longest, run)
    return longest // length + 1


def _squeezed(words: Sequence[str]) -> str | None:
    """Whether a long text is mostly repetition, in whatever order."""
    text = " ".join(words).encode()
    if len(text) < _LONG:
        return None
    ratio = len(text) / len(zlib.compress(text))
    return f"the text repeats itself (compressed to 1/{ratio:.1f})" if ratio > _RATIO else None


def _hasty(words: Sequence[str], seconds: float) -> str | None:
    if len(words) <= _FASTEST * seconds + _AT_ONCE:
        return None
    return f"{len(words)} words in {seconds:.1f} s: nobody speaks that fast"
