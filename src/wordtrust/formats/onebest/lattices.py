"""1-best transcripts of recognizers and cloud services: words with times and confidences become one linear lattice.

A reader turns a file into `RecognizedTranscript`s, and `lattices` turns these into lattices. `json_format` is all
that a service with JSON files needs besides a function that finds the words in a document.

- A word's confidence is the posterior of its arc; the pauses between words have the posterior 1, as there is only one
  path. A word without a confidence has that of its phrase; if that is missing too, the whole utterance has no
  posteriors, as there is no number for "not known".
- Words without times share the time between their neighbours, within their phrase, by letters; if no word and no
  phrase of the utterance has a time, each word gets one second (`times: aligned`). A start up to one second before
  that of the word before (which happens where Whisper starts a new window) is moved to it; more is an error.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.assemble import Builder, RawLattice, Tokens
from ...lattices.evidence import OPTIONAL_EVIDENCE
from ...lattices.graph import LATEST
from ...lattices.lattice import CHANNEL, Lattices, Origin, Times
from ..chains import linear_lattice
from ..format import Format, ReadOptions
from ..inputs import Stream
from ..kept_times import time_parts
from ..nbest.lists import LARGEST_SCORE
from .alternatives import branched_lattice
from .json_documents import JsonKeys, JsonObject, decode_utf8, json_sniffer, load_documents
from .recognized import CUES, PHRASE, SPEAKER, SPEAKERS, RecognizedPhrase, RecognizedTranscript, RecognizedWord
from .service_errors import refuse_service_error

STEP_BACK = 1.0  # seconds: a start that far before the one before it is a slip of the aligner, not damage
ROUNDING = 1e-4  # a probability may be as much above 1
MAX_DOCUMENT = 1 << 28  # bytes of JSON at most; a day of speech with all its tokens has less


def confidence(holder: JsonObject, *names: str) -> float | None:
    """The probability that a field has, or None where there is none."""
    value = holder.number_or_none(*names)
    return None if value is None else checked_confidence(value, holder.path_to(holder.name_of(*names)))


def checked_confidence(value: float, what: str) -> float:
    """A confidence between 0 and 1, or an error that names it."""
    if not 0 <= value <= 1 + ROUNDING:
        raise InputError(f"{what} is {value:g}, not between 0 and 1", remedy="A confidence is a probability")
    return min(value, 1.0)


def token_logprob(value: float, what: str) -> float:
    """The log-probability of a token, or an error that names it."""
    if not -LARGEST_SCORE <= value <= ROUNDING:
        raise InputError(f"{what} has {value:g}, which is no log-probability", remedy="They are natural logarithms")
    return min(value, 0.0)


def flattened(documents: Iterable[Any]) -> Iterator[Any]:
    """The documents, and the members of those that are lists."""
    for document in documents:
        yield from document if isinstance(document, list) else [document]


def channel(holder: JsonObject, *names: str) -> str:
    """The channel that something was said on, a number or a name; empty where there is none."""
    value = holder.get(*names)
    if value is None or isinstance(value, int):
        return "" if value is None else str(value)
    return holder.string(*names)


def by_channel(
    utt: str, channels: Mapping[str, Sequence[RecognizedPhrase]], duration: float | None = None
) -> Iterator[RecognizedTranscript]:
    """One transcript per channel, named after it where there are several; without any, one that says nothing."""
    for name, phrases in channels.items():
        is_one = len(channels) == 1
        yield RecognizedTranscript(utt if is_one else f"{utt}-{name}", phrases, duration, None if is_one else name)
    if not channels:
        yield RecognizedTranscript(utt, (), duration)


Parse = Callable[[Any, str], Iterable[RecognizedTranscript]]  # a JSON document and the name of its utterance


def json_format(
    name: str,
    title: str,
    likelihood: Callable[[JsonKeys], float],
    parse: Parse,
    *,
    decode: Callable[[bytes], str] = decode_utf8,
    group: Callable[[list[Any]], list[Any]] = list,
    is_one_recording: bool = False,
) -> Format:
    """A format of JSON files, with one document or several: `parse` gets each, and the name of its utterance.

    That is the name of the file, numbered from 1 if there are several documents. `group` may join documents before.
    If the documents are the parts of one recording, `parse` gets a list of all, and a damaged file is not read.
    """

    def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
        documents, damage = load_documents(decode(stream.document(MAX_DOCUMENT)))
        if damage and is_one_recording:
            raise damage
        documents = [documents] if is_one_recording else group(documents)
        transcripts = _parse_documents(documents, stream, problems, parse)
        yield from lattices(transcripts, stream, options, problems, name)
        if damage:
            problems.report(damage.at(file=stream.name))

    return Format(name=name, title=title, suffixes=(".json",), sniff=json_sniffer(likelihood), read=read)


def _parse_documents(
    documents: Sequence[Any], stream: Stream, problems: Problems, parse: Parse
) -> Iterator[RecognizedTranscript]:
    """The transcripts in JSON documents; a bad document goes to `problems`."""
    for index, document in enumerate(documents):
        utt = stream.stem if len(documents) == 1 else f"{stream.stem}-{index + 1}"
        try:
            for part in document if isinstance(document, list) else [document]:
                refuse_service_error(part)
            yield from parse(document, utt)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=utt))


def lattices(
    transcripts: Iterable[RecognizedTranscript],
    stream: Stream,
    options: ReadOptions,
    problems: Problems,
    format_name: str,
) -> Iterator[Lattices]:
    """The lattice of every transcript, linear unless phrases have alternatives; a bad one goes to `problems`."""
    tokens = options.shared_tokens()
    builder = Builder(tokens, problems, origin=Origin(stream.name, format_name), max_arcs=options.max_arcs)
    for transcript in transcripts:
        try:
            yield from builder.add(_lattice(tokens, transcript, options))
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=transcript.utt))
    yield from builder.flush()


def _lattice(tokens: Tokens, transcript: RecognizedTranscript, options: ReadOptions) -> RawLattice:
    utt, phrases = transcript.utt, transcript.phrases
    words = [word for phrase in phrases for word in phrase.words]
    start, end, aligned = _times(phrases, words)
    posterior = _posterior(phrases)
    finish, times = (None, "aligned") if aligned else (transcript.duration, "given")
    notes = {CHANNEL: transcript.channel} if transcript.channel else {}
    kept, names = _kept(phrases) if options.keep_times else ({}, [])
    notes |= {SPEAKERS: json.dumps(names)} if names else {}
    if words and posterior is not None and not options.only_chosen and any(phrase.alternatives for phrase in phrases):
        said = len(words) + sum(len(other.words) for phrase in phrases for other in phrase.alternatives)
        if said > options.max_arcs:
            raise options.too_many_arcs(said)
        chosen = start, end, posterior
        lattice = branched_lattice(
            tokens, options.normalizer, utt, phrases, chosen, finish=finish, times=times, extra=kept
        )
        lattice = replace(lattice, notes={**lattice.notes, **notes})
    else:
        token = np.array([_token(tokens, word) for word in words], np.int32)
        extra: dict[str, ArrayLike] = dict(kept)
        extra |= time_parts((start + end) / 2, end - start) if options.keep_times and not aligned else {}
        extra |= _token_evidence(words) | _segment_evidence(phrases)
        shown = [phrase.shown for phrase in phrases]
        notes |= {CUES: json.dumps(shown)} if options.keep_times and any(shown) else {}
        lattice = linear_lattice(
            utt, token, start, end, posterior, finish=finish, times=times, extra=extra, notes=notes
        )
    if len(lattice.source) > options.max_arcs:
        raise options.too_many_arcs(len(lattice.source))
    return lattice


def _token_evidence(words: Sequence[RecognizedWord]) -> dict[str, NDArray[np.float64]]:
    """What is known of each word by its tokens, under the names that N-best lists have; of all words or of none."""
    if not words or not all(word.token_logprobs for word in words):
        return {}
    logprobs = [word.token_logprobs for word in words]
    return {
        "logprob": np.array([sum(of_word) for of_word in logprobs]),
        "least_token_logprob": np.array([min(of_word) for of_word in logprobs]),
        "tokens": np.array([len(of_word) for of_word in logprobs], np.float64),
    }


def _segment_evidence(phrases: Sequence[RecognizedPhrase]) -> dict[str, NDArray[np.float64]]:
    """What the recognizer says of the phrase of each word as a whole, where it says so of all."""
    spoken = [phrase for phrase in phrases if phrase.words]
    if not spoken or any(phrase.logprob is None or phrase.no_speech is None for phrase in spoken):
        return {}
    known = [(phrase.logprob, phrase.no_speech) for phrase in spoken for _ in phrase.words]
    return dict(zip(OPTIONAL_EVIDENCE["has_segments"], np.array(known, np.float64).T, strict=True))


def _kept(phrases: Sequence[RecognizedPhrase]) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """The phrase and the speaker of each word, and the names of the speakers."""
    phrase = np.repeat(np.arange(len(phrases)), [len(phrase.words) for phrase in phrases])
    speaker, names = _speakers(phrases)
    kept = {PHRASE: phrase.astype(np.float64)}
    return kept | ({} if speaker is None else {SPEAKER: speaker}), names


def _speakers(phrases: Sequence[RecognizedPhrase]) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Who said each word, as a number in a list of names; none where no speaker is named."""
    said = [word.speaker or phrase.speaker for phrase in phrases for word in phrase.words]
    names = list(dict.fromkeys(name for name in said if name))
    if not names:
        return None, []
    numbers = {name: float(index) for index, name in enumerate(names)}
    return np.array([numbers[name] if name else -1.0 for name in said]), names


def speaker(holder: JsonObject, *names: str) -> str | None:
    """Who said something, a number or a name; None where it is not said."""
    value = holder.get(*names)
    if value is None or isinstance(value, int):
        return None if value is None else str(value)
    return holder.string(*names).strip() or None


def _token(tokens: Tokens, word: RecognizedWord) -> int:
    return tokens.id(word.text.strip()) if word.norm is None else tokens.pair(word.norm, word.text)


def _posterior(phrases: Sequence[RecognizedPhrase]) -> NDArray[np.float64] | None:
    """One posterior per word, or none at all."""
    given = [
        phrase.confidence if word.confidence is None else word.confidence
        for phrase in phrases
        for word in phrase.words
    ]
    return None if None in given else np.array(given, np.float64)


def _times(phrases: Sequence[RecognizedPhrase], words: Sequence[RecognizedWord]) -> tuple[Times, Times, bool]:
    """Start and end of every word, and whether they had to be made up."""
    start = np.array([word.start for word in words], np.float64)  # NaN where it is None
    end = np.array([word.end for word in words], np.float64)
    _use_phrase_times(phrases, start, end)
    _check_times(words, start, end)
    is_known = ~np.isnan(np.stack([start, end], 1))
    if not is_known.any():
        seconds = np.arange(len(words) + 1, dtype=np.float64)
        return seconds[:-1], seconds[1:], len(words) > 0
    if not is_known.all():
        start, end = _by_letters(words, start, end, is_known)
    return *_forwards(start, end), False


def _check_times(words: Sequence[RecognizedWord], start: Times, end: Times) -> None:
    far = np.flatnonzero((np.abs(start) > LATEST) | (np.abs(end) > LATEST))
    if len(far):
        word = int(far[0])
        raise InputError(
            f"word {word + 1} ({words[word].text[:20]!r}) lasts from {start[word]:g} to {end[word]:g} s",
            remedy="Times are seconds, below 1e9",
        )


def _use_phrase_times(phrases: Sequence[RecognizedPhrase], start: Times, end: Times) -> None:
    """A phrase begins with its first word and ends with its last, where these have no times of their own."""
    first = 0
    for phrase in phrases:
        if phrase.words:
            last = first + len(phrase.words) - 1
            if phrase.start is not None and np.isnan(start[first]):
                start[first] = phrase.start
            if phrase.end is not None and np.isnan(end[last]):
                end[last] = phrase.end
            first = last + 1


def _by_letters(
    words: Sequence[RecognizedWord], start: Times, end: Times, is_known: NDArray[np.bool_]
) -> tuple[Times, Times]:
    """Missing times between known ones: as many letters, as much time."""
    letters = np.cumsum([0, *(max(1, len(word.text.strip())) for word in words)]).astype(np.float64)
    position = np.stack([letters[:-1], letters[1:]], 1)
    times = np.stack([start, end], 1)
    times[~is_known] = np.interp(position[~is_known], position[is_known], times[is_known])
    return times[:, 0].copy(), times[:, 1].copy()


def _forwards(start: Times, end: Times) -> tuple[Times, Times]:
    """Starts that step back a little move to the start before them; `chain` refuses those that step back more."""
    latest = np.maximum.accumulate(start)
    slipped = (latest > start) & (latest - start <= STEP_BACK)
    return np.where(slipped, latest, start), np.where(slipped, np.maximum(end, latest), end)
