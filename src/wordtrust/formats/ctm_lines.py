"""The lines of a NIST CTM file, sorted by file and channel. `wordtrust.formats.ctm` makes lattices of them."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from ..base.errors import InputError
from ..lattices.assemble import Problems, Tokens
from ..lattices.lattice import Ints, Times
from .inputs import Stream
from .onebest import checked_confidence

LATEST = 1e9  # seconds
_NO_CONFIDENCE = {b"NA", b"N/A", b"-", b"na", b"n/a"}
_NO_WORD_TYPES = {b"noise", b"non-lex", b"misc"}
ALTERNATION = {b"<ALT_BEGIN>", b"<ALT>", b"<ALT_END>"}

Key = tuple[bytes, bytes]  # file and channel
Alternation = list[list[int]]  # of each branch, the words by number


@dataclass(slots=True)
class Utterance:
    """The words of a file and channel as columns."""

    line: int
    start: array[float] = field(default_factory=lambda: array("d"))
    duration: array[float] = field(default_factory=lambda: array("d"))
    confidence: array[float] = field(default_factory=lambda: array("d"))  # NaN where there is none
    token: array[int] = field(default_factory=lambda: array("i"))
    alternations: list[Alternation] = field(default_factory=list)
    is_open: bool = False  # within an alternation, the last one
    is_bad: bool = False  # and was reported

    def add(self, start: float, duration: float, token: int, confidence: float) -> None:
        """Add a word."""
        if self.is_open:
            self.alternations[-1][-1].append(len(self.start))
        self.start.append(start)
        self.duration.append(duration)
        self.token.append(token)
        self.confidence.append(confidence)

    def alternation(self, mark: bytes) -> None:
        """Begin an alternation, or a branch of it, or end it."""
        if self.is_open == (mark == b"<ALT_BEGIN>"):
            within = "within another one" if self.is_open else "without <ALT_BEGIN>"
            raise InputError(f"{mark.decode()} stands {within}", remedy="Alternations do not nest")
        if mark == b"<ALT_END>":
            self.is_open = False
            return
        if mark == b"<ALT_BEGIN>":
            self.is_open = True
            self.alternations.append([])
        self.alternations[-1].append([])

    def columns(self) -> tuple[Times, Times, Ints, Times]:
        """Start, end, token and confidence of every word."""
        start = np.array(self.start)
        return start, start + np.array(self.duration), np.array(self.token, np.int32), np.array(self.confidence)


def utterances(stream: Stream, tokens: Tokens, problems: Problems) -> dict[Key, Utterance]:
    """All lines, sorted by file and channel. An utterance with a bad line is reported once, and marked."""
    found: dict[Key, Utterance] = {}
    ids: dict[bytes, int] = {}
    for number, line in stream.lines():
        fields = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).split()
        if not fields or fields[0].startswith(b";;"):
            continue
        if len(fields) < 2:
            raise _not_a_row(fields).at(file=stream.name, place=f"line {number}")
        key = (fields[0], fields[1])
        utterance = found.get(key)
        if utterance is None:
            utterance = found[key] = Utterance(number)
        if utterance.is_bad:
            continue
        try:
            _add_line(utterance, fields, tokens, ids)
        except InputError as error:
            utterance.is_bad = True
            utterance.is_open = False
            problems.report(error.at(file=stream.name, utt=text(fields[0]), place=f"line {number}"))
    return found


def _not_a_row(fields: Sequence[bytes]) -> InputError:
    return InputError(
        f"{len(fields)} fields: {text(b' '.join(fields))[:60]!r}",
        remedy="A line of CTM is: file channel start duration word [confidence [type [speaker]]]",
    )


def _add_line(utterance: Utterance, fields: list[bytes], tokens: Tokens, ids: dict[bytes, int]) -> None:
    if not 5 <= len(fields) <= 8:
        raise _not_a_row(fields)
    word = fields[4]
    if word[:1] in b"<@":
        if word.upper() in ALTERNATION:
            return utterance.alternation(word.upper())
        if word == b"@" and utterance.is_open:
            return None
    try:
        start, duration = float(fields[2]), float(fields[3])
    except ValueError:
        _refuse_times(fields)
    if not (0 <= start <= LATEST and 0 <= duration <= LATEST):
        _refuse_times(fields)
    if len(fields) > 6 and fields[6].lower() in _NO_WORD_TYPES:
        word = b"[%s]" % word
    token = ids.get(word)
    if token is None:
        token = ids[word] = tokens.id(_checked_text(word))
    utterance.add(start, duration, token, _confidence(fields[5]) if len(fields) > 5 else np.nan)
    return None


def _refuse_times(fields: Sequence[bytes]) -> NoReturn:
    start, duration = (text(each)[:20] for each in fields[2:4])
    raise InputError(
        f"start and duration are {start!r} and {duration!r}",
        remedy="Both are seconds, not negative; `*` is for alternations only",
    )


def _confidence(given: bytes) -> float:
    try:
        return checked_confidence(float(given), "the confidence")
    except ValueError:
        if given in _NO_CONFIDENCE:
            return np.nan
        raise InputError(
            f"the confidence is {text(given)[:20]!r}", remedy="It is a number from 0 to 1, or NA"
        ) from None


def text(name: bytes) -> str:
    """A name, or part of a message, whatever its bytes are."""
    return name.decode("utf-8", "replace")


def _checked_text(word: bytes) -> str:
    try:
        return word.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"the word {word[:20]!r} is not UTF-8", remedy="Save the file as UTF-8") from None
