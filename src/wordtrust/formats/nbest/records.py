"""N-best lists as JSON: one record an utterance, as JSON lines, a single document or a list of records.

    {"utt": "u1", "nbest": [{"score": -1.9, "text": "I will.", "words": [{"word": "I", "start": 0.1, "end": 0.4,
     "logprob": -0.1, "tokens": 1}, ...], "avg_logprob": ..., "token_logprobs": [...], "eot_logprob": ...}, ...]}

`score` is the natural log of the hypothesis's probability. Only it and `text` (or `words`) are needed. Without
times for every hypothesis all are made up by alignment; without word log-probabilities the whole score stands on
the last arc. Beside the list a record may hold `duration` (seconds), `best_avg` (the hypothesis with the best
score per token) and `empty_logprob` (the log-probability of saying nothing).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from ...base import json_checks as check
from ...base.errors import InputError
from ...lattices.assemble import Problems
from ...lattices.lattice import Lattices, Origin
from ..format import Format, ReadOptions
from ..inputs import HEAD, Stream
from .hypotheses import LARGEST_SCORE, HypothesesBuilder, NBest

LISTS = ("nbest", "n_best", "hypotheses", "hyps", "alternatives")
TEXTS = ("text", "transcript", "hyp")
SCORES = ("score", "logprob", "log_prob", "log_probability")
NAMES = ("utt", "utterance", "utt_id", "utterance_id", "id")
COLUMNS = ("start", "end", "logprob", "tokens")  # of a word

MAX_DOCUMENT = 1 << 28  # bytes; longer ones should be JSON lines

_NUMBERS = {int, float}
_LIST = re.compile(rb'"(?:nbest|n_best|hypotheses|hyps|alternatives)"\s*:\s*\[\s*\{')
_SCORE = re.compile(rb'"(?:score|logprob|log_prob|log_probability)"\s*:\s*-?[0-9.]')
_FIRST_KEY = re.compile(rb'\{\s*"([^"]*)"')


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the content says enough
    """How much this looks like an N-best list: an object with a list of objects that have a score."""
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
        return 0.0
    found = _LIST.search(head)
    if not found:
        return 0.0
    if found.group().startswith((b'"nbest"', b'"n_best"')):
        return 1.0 if _SCORE.search(head, found.end()) else 0.3
    # Others use the names `alternatives` and `hypotheses` too: the score must be in the first object itself.
    first = head[found.end() : found.end() + 4096].partition(b"}")[0].partition(b"{")[0]
    return 0.8 if _SCORE.search(first) else 0.0


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """Lattices of N-best records; a bad record is reported, and reading goes on with the next."""
    by_line = _is_json_lines(stream)
    kind = "line" if by_line else "record"
    builder = HypothesesBuilder(options.normalizer, problems, origin=Origin(stream.name, "nbest"), place_name=kind)
    records = _lines(stream) if by_line else _records(stream)
    first = list(islice(records, 2))
    for place, item in chain(first, records):
        utt = stream.stem if len(first) == 1 else f"{stream.stem}-{place}"
        try:
            record = check.record(check.parse(item) if isinstance(item, bytes) else item)
            utt = _name(record) or utt
            found = _convert(record, utt, place, builder, options)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=utt, place=f"{kind} {place}"))
        else:
            yield from builder.add(found)
    yield from builder.flush()


def _is_json_lines(stream: Stream) -> bool:
    """Whether every line is a record; otherwise the file is one JSON text, on as many lines as it likes."""
    lines = [line for line in stream.head(HEAD).removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    if not lines or lines[0].lstrip()[:1] != b"{":
        return False
    if len(lines) == 1 or lines[0].rstrip()[-1:] == b"}":
        return True
    # The first line is cut off if the next one begins like it, and otherwise only a part of a longer text.
    keys = [_FIRST_KEY.match(line) for line in lines[:2]]
    return keys[0] is not None and keys[1] is not None and keys[0][1] == keys[1][1]


def _lines(stream: Stream) -> Iterator[tuple[int, Any]]:
    return ((number, line) for number, line in stream.lines() if line and not line.isspace())


def _records(stream: Stream) -> Iterator[tuple[int, Any]]:
    try:
        found = check.parse(stream.document(MAX_DOCUMENT))
    except InputError as error:
        raise error.at(file=stream.name) from None
    return iter(enumerate(found if isinstance(found, list) else [found], 1))


def _name(record: dict[str, Any]) -> str:
    name = _field(record, NAMES)
    if name is None:
        return ""
    return str(record[name]) if type(record[name]) is int else check.string(record, name)


def _field(holder: dict[str, Any], names: Sequence[str]) -> str | None:
    """Which of the usual spellings of a field is used here."""
    return next((name for name in names if holder.get(name) is not None), None)


def _convert(record: dict[str, Any], utt: str, place: int, builder: HypothesesBuilder, options: ReadOptions) -> NBest:
    """The readings of one record, and what it says of their words."""
    where = _field(record, LISTS) or LISTS[0]
    items = check.objects_of(record, where)
    if not items:
        raise InputError(f"{where} is empty", remedy="An utterance needs a hypothesis, if only an empty one")
    hypotheses = _Hypotheses(items, where)
    arcs = len(items) + sum(map(len, hypotheses.tokens))
    if arcs > options.max_arcs:
        raise options.too_many_arcs(arcs)
    scores = hypotheses.numbers(SCORES, range(len(items)))
    readings = builder.merge(hypotheses.tokens, scores)
    variants = [reading.variant for reading in readings]
    columns = hypotheses.columns(variants)
    return NBest(
        utt=utt,
        place=place,
        readings=readings,
        picked=_picked(record, hypotheses, scores, options.pick or "total"),
        words=[hypotheses.tokens[number] for number in variants],
        columns=columns,
        token_logprobs=hypotheses.token_logprobs(variants, columns.get("tokens", ())),
        evidence=_evidence(record, hypotheses, variants),
        finish=hypotheses.finish(record),
    )


def _picked(record: dict[str, Any], hypotheses: _Hypotheses, scores: list[float], pick: str) -> int:
    """The hypothesis that the recognizer itself would print."""
    count = len(scores)
    if pick == "average" and count > 1:
        best = check.number_or_none(record, "best_avg")
        if best is not None and best not in range(count):
            raise InputError(f"best_avg is {best:g}, but there are {count} hypotheses, counted from 0")
        if best is not None:
            return int(best)
        scores = hypotheses.numbers(("avg_logprob",), range(count))
    return max(range(count), key=scores.__getitem__)


def _evidence(record: dict[str, Any], hypotheses: _Hypotheses, variants: Sequence[int]) -> dict[str, Sequence[float]]:
    """What is known of whole hypotheses, and of saying nothing: one number a reading."""
    found: dict[str, Sequence[float]] = {}
    if all("eot_logprob" in hypotheses.items[number] for number in variants):
        found["eot_logprob"] = hypotheses.numbers(("eot_logprob",), variants)
    if record.get("empty_logprob") is not None:
        found["empty_logprob"] = [_score(record, "empty_logprob")] * len(variants)
    return found


def _score(holder: Mapping[str, Any], name: str, where: str = "") -> float:
    """A number that 32 bits can hold, many times over."""
    found = check.number(holder, name, where)
    if abs(found) > LARGEST_SCORE:
        raise InputError(f"{where}.{name}".lstrip(".") + f" is {found:g}, too large for a log-probability")
    return found


class _Hypotheses:
    """The hypotheses of one record.

    The fields of their words are read column by column and checked as a whole, which is quick; only if that fails
    are they looked at one by one, to say which is wrong.
    """

    __slots__ = ("all_have_words", "items", "tokens", "where", "words")

    def __init__(self, items: list[dict[str, Any]], where: str) -> None:
        self.items, self.where = items, where
        self.words: list[list[Any]] = []  # the word objects of every hypothesis
        self.all_have_words = True
        self.tokens = [self._tokens(number) for number in range(len(items))]

    def numbers(self, names: Sequence[str], chosen: Sequence[int]) -> list[float]:
        """A number of some hypotheses, under any of its usual names."""
        name = _field(self.items[0], names) or names[0]
        found: list[Any] = [self.items[number].get(name) for number in chosen]
        if not _are_numbers(found):
            for number in chosen:
                _score(self.items[number], name, f"{self.where}[{number}]")
        return found

    def columns(self, chosen: Sequence[int]) -> dict[str, list[float]]:
        """What is known of the words of some hypotheses, end to end; nothing, if one of them has only a text."""
        first: dict[str, Any] = next((words[0] for words in self.words if words), {})
        if not self.all_have_words:
            return {}
        if ("start" in first) != ("end" in first):
            raise InputError("words have only one of start and end", remedy="Give both, or neither")
        return {name: self._column(name, chosen) for name in COLUMNS if name in first}

    def token_logprobs(self, chosen: Sequence[int], counts: Sequence[float]) -> list[float]:
        """The log-probabilities of all tokens of some hypotheses; none if they do not fit the `counts` of words."""
        found: list[float] = []
        place = 0
        for number in chosen:
            logprobs, end = self.items[number].get("token_logprobs"), place + len(self.words[number])
            if end > place:
                if not isinstance(logprobs, list) or sum(counts[place:end]) != len(logprobs):
                    return []
                found += logprobs
            place = end
        whole = set(map(type, counts)) == {int} and min(counts) > 0
        return found if whole and _are_numbers(found) else []

    def finish(self, record: dict[str, Any]) -> float:
        """Where the utterance ends, as far as that is known: the duration, or the latest end of a word."""
        ends = [words[-1].get("end") for words in self.words if words]
        latest = max(ends) if ends and _are_numbers(ends) else 0.0
        return max(check.number_or_none(record, "duration") or 0.0, latest)

    def _tokens(self, number: int) -> list[str]:
        """What a hypothesis says, from its words or else from its text."""
        item = self.items[number]
        words = item.get("words")
        if not words:
            return self._text(number)
        try:
            found = [word["word"] for word in words]
            if set(map(type, found)) == {str}:
                self.words.append(words)
                return found
        except (KeyError, TypeError):
            pass
        where = f"{self.where}[{number}]"
        for place, word in enumerate(check.objects_of(item, "words", where)):
            check.string(word, "word", self._word(number, place))
        raise AssertionError  # one of these was wrong

    def _text(self, number: int) -> list[str]:
        """The tokens of a hypothesis without word objects."""
        item, where = self.items[number], f"{self.where}[{number}]"
        name = _field(item, TEXTS)
        found = (
            [] if name is None and item.get("words") == [] else check.string(item, name or TEXTS[0], where).split()
        )
        self.words.append([])
        self.all_have_words = self.all_have_words and not found
        return found

    def _word(self, number: int, place: int) -> str:
        return f"{self.where}[{number}].words[{place}]"

    def _column(self, name: str, chosen: Sequence[int]) -> list[float]:
        """A number of every word of some hypotheses."""
        try:
            found = [word[name] for number in chosen for word in self.words[number]]
        except KeyError:
            found = [None]
        if not _are_numbers(found):
            for number in chosen:
                for place, word in enumerate(self.words[number]):
                    _score(word, name, self._word(number, place))
        return found


def _are_numbers(values: list[Any]) -> bool:
    """Whether all are numbers, and none too large."""
    return set(map(type, values)) <= _NUMBERS and (
        not values or (min(values) >= -LARGEST_SCORE and max(values) <= LARGEST_SCORE)
    )


FORMAT = Format("nbest", "N-best list (JSON)", (".jsonl", ".json"), sniff, read)
