"""What the 1-best formats share: words with times and confidences become one linear lattice.

- `lattices` turns transcripts into lattices. A word's confidence is the posterior of its arc; the pauses between
  words have the posterior 1, as there is only one path. A word without a confidence has that of its phrase; where
  that is missing too, the whole utterance has no posteriors, as there is no number for "not known".
- A word without times lies between its neighbours, and in its phrase, by letters; if no word and no phrase of the
  utterance has a time, each word gets one second (`times: aligned`). A start up to one second before that of the
  word before (which happens where Whisper starts a new window) is moved to it; more than that is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base import json_checks
from ..base.errors import InputError
from ..lattices.assemble import Builder, Problems, RawLattice, Tokens
from ..lattices.lattice import Lattices, Origin, Times
from .base import ReadOptions
from .inputs import Stream
from .json_outline import decoded, documents
from .timing import chain

STEP_BACK = 1.0  # seconds: a start that far before the one before it is a slip of the aligner, not damage
LATEST = 1e9  # seconds: the lattice allows no later time
ROUNDING = 1e-4  # a probability may be as much above 1
DOCUMENT = 1 << 28  # bytes of JSON at most; a day of speech with all its tokens has less


class Word(NamedTuple):
    """A word as the recognizer wrote it; what it did not give is None."""

    text: str
    start: float | None = None
    end: float | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that the recognizer gave together (a segment, a result), with what it says of them as a whole."""

    words: Sequence[Word]
    start: float | None = None
    end: float | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Transcript:
    """All phrases of an utterance, in order, and the length of its audio where that is known."""

    utt: str
    phrases: Sequence[Phrase]
    duration: float | None = None


def plain_words(text: str) -> list[Word]:
    """The words of a text of which nothing else is known."""
    return [Word(token) for token in text.split()]


def confidence(holder: Mapping[str, Any], name: str, where: str = "") -> float | None:
    """A probability in a JSON object, or None where there is none."""
    value = json_checks.number_or_none(holder, name, where)
    return None if value is None else checked_confidence(value, f"{where}.{name}" if where else name)


def checked_confidence(value: float, what: str) -> float:
    """A confidence between 0 and 1, or an error that names it."""
    if not 0 <= value <= 1 + ROUNDING:
        raise InputError(f"{what} is {value:g}, not between 0 and 1", remedy="A confidence is a probability")
    return min(value, 1.0)


def present(holder: Mapping[str, Any], *names: str) -> str:
    """The first of several names for a field that the object has; the first of all where it has none."""
    return next((name for name in names if holder.get(name) is not None), names[0])


def channel(holder: Mapping[str, Any], name: str, where: str = "") -> str:
    """The channel that something was said on, a number or a name; empty where there is none."""
    value = holder.get(name)
    if value is None or isinstance(value, int):
        return "" if value is None else str(value)
    return json_checks.string(holder, name, where)


def by_channel(
    utt: str, channels: Mapping[str, Sequence[Phrase]], duration: float | None = None
) -> Iterator[Transcript]:
    """One transcript a channel, named after it where there are several; without any, one that says nothing."""
    for name, phrases in channels.items():
        yield Transcript(f"{utt}-{name}" if len(channels) > 1 else utt, phrases, duration)
    if not channels:
        yield Transcript(utt, (), duration)


def load(text: str) -> tuple[list[Any], InputError | None]:
    """The JSON documents of a text, up to the first that is damaged, and what is wrong with that. At least one."""
    found: list[Any] = []
    broken = None
    try:
        for document in documents(text):
            found.append(document)  # one by one: what came before an error stays
    except InputError as error:
        broken = error
    if not found:
        raise broken or InputError("there is no JSON in the file")
    return found, broken


def read_json(
    stream: Stream,
    options: ReadOptions,
    problems: Problems,
    format_name: str,
    parse: Callable[[Any, str], Iterable[Transcript]],
) -> Iterator[Lattices]:
    """The lattices of a file with one JSON document, or one a line: `parse` gets each and the name of its utterance.

    That is the name of the file; with several documents it is numbered from 1.
    """
    found, broken = load(decoded(stream.document(DOCUMENT)))
    yield from lattices(named(found, stream, problems, parse), stream, options, problems, format_name)
    if broken:
        problems.report(broken.at(file=stream.name))


def named(
    found: Sequence[Any], stream: Stream, problems: Problems, parse: Callable[[Any, str], Iterable[Transcript]]
) -> Iterator[Transcript]:
    """The transcripts in JSON documents, as `read_json` describes it; a bad document goes to `problems`."""
    for place, document in enumerate(found):
        utt = stream.stem if len(found) == 1 else f"{stream.stem}-{place + 1}"
        try:
            yield from parse(document, utt)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=utt))


def lattices(
    transcripts: Iterable[Transcript], stream: Stream, options: ReadOptions, problems: Problems, format_name: str
) -> Iterator[Lattices]:
    """The linear lattice of every transcript; a bad one goes to `problems`."""
    tokens = options.shared_tokens()
    builder = Builder(tokens, problems, origin=Origin(stream.name, format_name))
    for transcript in transcripts:
        try:
            yield from builder.add(_linear(tokens, transcript, options))
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=transcript.utt))
    yield from builder.flush()


def _linear(tokens: Tokens, transcript: Transcript, options: ReadOptions) -> RawLattice:
    words = [word for phrase in transcript.phrases for word in phrase.words]
    start, end, aligned = _times(transcript.phrases, words)
    line = chain(start, end, finish=None if aligned else transcript.duration)
    if len(line.word) > options.max_arcs:
        raise options.too_many_arcs(len(line.word))
    posterior = _posterior(transcript.phrases)
    return RawLattice(
        utt=transcript.utt,
        time=line.time,
        source=line.source,
        target=line.target,
        token=np.append(tokens.ids(word.text.strip() for word in words), np.int32(0))[
            line.word
        ],  # -1, silence, is the last
        start=line.start,
        end=line.end,
        spread_words=line.spread_words,
        times="aligned" if aligned else "given",
        posterior=None if posterior is None else line.on_arcs(posterior, silence=1.0),
    )


def _posterior(phrases: Sequence[Phrase]) -> NDArray[np.float64] | None:
    """One posterior a word, or none at all."""
    given = [
        phrase.confidence if word.confidence is None else word.confidence
        for phrase in phrases
        for word in phrase.words
    ]
    return None if None in given else np.array(given, np.float64)


def _times(phrases: Sequence[Phrase], words: Sequence[Word]) -> tuple[Times, Times, bool]:
    """Start and end of every word, and whether they had to be made up."""
    start = np.array([word.start for word in words], np.float64)  # NaN where it is None
    end = np.array([word.end for word in words], np.float64)
    _use_phrase_times(phrases, start, end)
    _check_times(words, start, end)
    known = ~np.isnan(np.stack([start, end], 1))
    if not known.any():
        seconds = np.arange(len(words) + 1, dtype=np.float64)
        return seconds[:-1], seconds[1:], len(words) > 0
    if not known.all():
        start, end = _by_letters(words, start, end, known)
    return *_forwards(start, end), False


def _check_times(words: Sequence[Word], start: Times, end: Times) -> None:
    far = np.flatnonzero((np.abs(start) > LATEST) | (np.abs(end) > LATEST))
    if len(far):
        place = int(far[0])
        raise InputError(
            f"word {place + 1} ({words[place].text[:20]!r}) lasts from {start[place]:g} to {end[place]:g} s",
            remedy="Times are seconds, below 1e9",
        )


def _use_phrase_times(phrases: Sequence[Phrase], start: Times, end: Times) -> None:
    """A phrase begins with its first word and ends with its last, where these have no times of their own."""
    place = 0
    for phrase in phrases:
        if phrase.words:
            last = place + len(phrase.words) - 1
            if phrase.start is not None and np.isnan(start[place]):
                start[place] = phrase.start
            if phrase.end is not None and np.isnan(end[last]):
                end[last] = phrase.end
            place = last + 1


def _by_letters(words: Sequence[Word], start: Times, end: Times, known: NDArray[np.bool_]) -> tuple[Times, Times]:
    """Missing times between known ones: as many letters, as much time."""
    letters = np.cumsum([0, *(max(1, len(word.text.strip())) for word in words)]).astype(np.float64)
    place = np.stack([letters[:-1], letters[1:]], 1)
    times = np.stack([start, end], 1)
    times[~known] = np.interp(place[~known], place[known], times[known])
    return times[:, 0].copy(), times[:, 1].copy()


def _forwards(start: Times, end: Times) -> tuple[Times, Times]:
    """Starts that step back a little move to the start before them; `chain` refuses those that step back more."""
    latest = np.maximum.accumulate(start)
    slipped = (latest > start) & (latest - start <= STEP_BACK)
    return np.where(slipped, latest, start), np.where(slipped, np.maximum(end, latest), end)
