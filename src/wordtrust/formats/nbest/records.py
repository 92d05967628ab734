"""N-best lists as JSON: one record per utterance, as JSON lines, a single document or a list of records.

    {"utt": "u1", "nbest": [{"score": -1.9, "text": "I will.", "words": [{"word": "I", "start": 0.1, "end": 0.4,
     "logprob": -0.1, "tokens": 1}, ...], "avg_logprob": ..., "token_logprobs": [...], "token_entropies": [...],
     "token_ranks": [...], "token_margins": [...], "eot_logprob": ...}, ...]}

`score` is the natural log of the hypothesis's probability. Only it and `text` (or `words`) are needed. Unless every
hypothesis has times, all are made up by alignment; without word log-probabilities the whole score goes on the last
arc. Of tokens, a word's as many as its `tokens` says, there may be log-probabilities, entropies (nats, of the
distribution that they were chosen from), ranks (0: the best) and margins (the log-probability less that of the best
other token). Beside the list a record may hold `duration` (seconds), `best_avg` (the hypothesis with the best
score per token) and `empty_logprob` (the log-probability of saying nothing).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from ...base import json_checks as check
from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.evidence import OPTIONAL_EVIDENCE
from ...lattices.lattice import Lattices, Origin
from ..format import Format, ReadOptions
from ..inputs import HEAD, Stream
from .lists import LARGEST_SCORE, NBestBuilder, NBestList

LISTS = ("nbest", "n_best", "hypotheses", "hyps", "alternatives")
TEXTS = ("text", "transcript", "hyp")
SCORES = ("score", "logprob", "log_prob", "log_probability")
NAMES = ("utt", "utterance", "utt_id", "utterance_id", "id")
COLUMNS = ("start", "end", "logprob", "tokens")  # of a word

MAX_DOCUMENT = 1 << 28  # bytes; longer ones should be JSON lines

_NUMBERS = {int, float}
_LEAST_TOKEN_VALUE = {"token_entropies": 0.0, "token_ranks": 0.0, "token_margins": -LARGEST_SCORE}
_VALUES_REMEDY = "Entropies (nats) and ranks are finite numbers from 0 on, margins finite numbers"
_LIST = re.compile(rb'"(?:nbest|n_best|hypotheses|hyps|alternatives)"\s*:\s*\[\s*\{')
_SCORE = re.compile(rb'"(?:score|logprob|log_prob|log_probability)"\s*:\s*-?[0-9.]')
_FIRST_KEY = re.compile(rb'\{\s*"([^"]*)"')


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the content says enough
    """How much this looks like an N-best list: an object with a list of objects that have a score."""
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] not in (b"{", b"["):
        return 0.0
    match = _LIST.search(head)
    if not match:
        return 0.0
    if match.group().startswith((b'"nbest"', b'"n_best"')):
        return 1.0 if _SCORE.search(head, match.end()) else 0.3
    # Others use the names `alternatives` and `hypotheses` too: the score must be in the first object itself.
    first = head[match.end() : match.end() + 4096].partition(b"}")[0].partition(b"{")[0]
    return 0.8 if _SCORE.search(first) else 0.0


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """Lattices of N-best records; a bad record is reported, and reading goes on with the next."""
    by_line = _is_json_lines(stream)
    kind = "line" if by_line else "record"
    builder = NBestBuilder(
        options.normalizer, problems, origin=Origin(stream.name, "nbest"), place_name=kind, max_arcs=options.max_arcs
    )
    records = _json_lines(stream) if by_line else _document_records(stream)
    first = list(islice(records, 2))
    for place, item in chain(first, records):
        utt = stream.stem if len(first) == 1 else f"{stream.stem}-{place}"
        try:
            record = check.record(check.parse(item) if isinstance(item, bytes) else item)
            utt = _utterance_name(record) or utt
            nbest = _read_list(record, utt, place, builder, options)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=utt, place=f"{kind} {place}"))
        else:
            yield from builder.add(nbest)
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


def _json_lines(stream: Stream) -> Iterator[tuple[int, Any]]:
    return ((place, line) for place, line in stream.lines() if line and not line.isspace())


def _document_records(stream: Stream) -> Iterator[tuple[int, Any]]:
    try:
        document = check.parse(stream.document(MAX_DOCUMENT))
    except InputError as error:
        raise error.at(file=stream.name) from None
    return iter(enumerate(document if isinstance(document, list) else [document], 1))


def _utterance_name(record: dict[str, Any]) -> str:
    field = _name_used(record, NAMES)
    if field is None:
        return ""
    return str(record[field]) if type(record[field]) is int else check.string(record, field)


def _name_used(holder: dict[str, Any], names: Sequence[str]) -> str | None:
    """Which of the usual names of a field an object has."""
    return next((name for name in names if holder.get(name) is not None), None)


def _read_list(
    record: dict[str, Any], utt: str, place: int, builder: NBestBuilder, options: ReadOptions
) -> NBestList:
    """The distinct hypotheses of one record, and what it says of their words."""
    list_name = _name_used(record, LISTS) or LISTS[0]
    items = check.objects_of(record, list_name)
    if not items:
        raise InputError(f"{list_name} is empty", remedy="An utterance needs a hypothesis, if only an empty one")
    listed = _ListedHypotheses(items, list_name)
    arcs = len(items) + sum(map(len, listed.tokens))
    if arcs > options.max_arcs:
        raise options.too_many_arcs(arcs)
    scores = listed.numbers(SCORES, range(len(items)))
    picked = _picked(record, listed, scores, options.pick or "total")
    hypotheses = builder.merge(listed.tokens, scores, picked)
    chosen = [hypothesis.index for hypothesis in hypotheses]
    columns = listed.columns(chosen)
    return NBestList(
        utt=utt,
        place=place,
        hypotheses=hypotheses,
        columns=columns,
        token_values=listed.token_values(chosen, columns.get("tokens", ())),
        evidence=_evidence(record, listed, chosen),
        finish=listed.finish(record),
    )


def _picked(record: dict[str, Any], listed: _ListedHypotheses, scores: list[float], pick: str) -> int:
    """The hypothesis that the recognizer itself would print."""
    count = len(scores)
    if pick == "average" and count > 1:
        best = check.number_or_none(record, "best_avg")
        if best is not None and best not in range(count):
            raise InputError(f"best_avg is {best:g}, but there are {count} hypotheses, counted from 0")
        if best is not None:
            return int(best)
        scores = listed.numbers(("avg_logprob",), range(count))
    return max(range(count), key=scores.__getitem__)


def _evidence(record: dict[str, Any], listed: _ListedHypotheses, chosen: Sequence[int]) -> dict[str, Sequence[float]]:
    """What is known of whole hypotheses, and of saying nothing: one number per hypothesis."""
    evidence: dict[str, Sequence[float]] = {}
    if all("eot_logprob" in listed.items[index] for index in chosen):
        evidence["eot_logprob"] = listed.numbers(("eot_logprob",), chosen)
    if record.get("empty_logprob") is not None:
        evidence["empty_logprob"] = [_score(record, "empty_logprob")] * len(chosen)
    segment_logprob, no_speech = OPTIONAL_EVIDENCE["has_segments"]
    averages: list[Any] = [listed.items[index].get("avg_logprob") for index in chosen]
    if record.get(no_speech) is not None and _are_numbers(averages):
        evidence |= {segment_logprob: averages, no_speech: [_probability(record, no_speech)] * len(chosen)}
    return evidence


def _probability(record: Mapping[str, Any], name: str) -> float:
    value = check.number(record, name)
    if not 0 <= value <= 1:
        raise InputError(f"{name} is {value:g}, not between 0 and 1")
    return value


def _score(holder: Mapping[str, Any], name: str, where: str = "") -> float:
    """A number that 32 bits can hold, many times over."""
    score = check.number(holder, name, where)
    if abs(score) > LARGEST_SCORE:
        raise InputError(f"{where}.{name}".lstrip(".") + f" is {score:g}, too large for a log-probability")
    return score


class _ListedHypotheses:
    """The hypotheses of one record as JSON.

    The fields of their words are read column by column and checked as a whole, which is quick; only if that fails
    are they looked at one by one, to say which is wrong.
    """

    __slots__ = ("all_have_words", "items", "list_name", "tokens", "words")

    def __init__(self, items: list[dict[str, Any]], list_name: str) -> None:
        self.items, self.list_name = items, list_name
        self.words: list[list[Any]] = []  # the word objects of every hypothesis
        self.all_have_words = True
        self.tokens = [self._tokens(index) for index in range(len(items))]

    def numbers(self, names: Sequence[str], chosen: Sequence[int]) -> list[float]:
        """A number of some hypotheses, under any of its usual names."""
        name = _name_used(self.items[0], names) or names[0]
        numbers: list[Any] = [self.items[index].get(name) for index in chosen]
        if not _are_numbers(numbers):
            for index in chosen:
                _score(self.items[index], name, self._path(index))
        return numbers

    def columns(self, chosen: Sequence[int]) -> dict[str, list[float]]:
        """What is known of the words of some hypotheses, end to end; nothing, if one of them has only a text."""
        first: dict[str, Any] = next((words[0] for words in self.words if words), {})
        if not self.all_have_words:
            return {}
        if ("start" in first) != ("end" in first):
            raise InputError("words have only one of start and end", remedy="Give both, or neither")
        return {name: self._column(name, chosen) for name in COLUMNS if name in first}

    def token_values(self, chosen: Sequence[int], counts: Sequence[float]) -> dict[str, list[float]]:
        """What is known of all tokens of some hypotheses, by field.

        Nothing where the `counts` of words are none; log-probabilities that do not fit them are left out, and other
        values that do not are an error.
        """
        if not counts or set(map(type, counts)) != {int} or min(counts) <= 0:
            return {}
        values = {"token_logprobs": self._token_logprobs(chosen, counts)}
        values |= {name: self._checked_token_values(name, chosen, counts) for name in _LEAST_TOKEN_VALUE}
        values["token_ranks"] = [math.log1p(rank) for rank in values["token_ranks"]]
        return {name: of_tokens for name, of_tokens in values.items() if of_tokens}

    def _token_logprobs(self, chosen: Sequence[int], counts: Sequence[float]) -> list[float]:
        all_logprobs: list[float] = []
        for index, due in self._due_tokens(chosen, counts):
            logprobs = self.items[index].get("token_logprobs")
            if not isinstance(logprobs, list) or due != len(logprobs):
                return []
            all_logprobs += logprobs
        return all_logprobs if _are_numbers(all_logprobs) else []

    def _checked_token_values(self, name: str, chosen: Sequence[int], counts: Sequence[float]) -> list[float]:
        """One number for each token; none where a hypothesis does not have them."""
        due_tokens = list(self._due_tokens(chosen, counts))
        if any(self.items[index].get(name) is None for index, _ in due_tokens):
            return []
        all_values: list[float] = []
        for index, due in due_tokens:
            values = self.items[index][name]
            path = f"{self._path(index)}.{name}"
            if not isinstance(values, list) or len(values) != due:
                length = len(values) if isinstance(values, list) else "no"
                raise InputError(f"{path} has {length} numbers, and its words have {due:g} tokens")
            if not _are_numbers(values) or min(values) < _LEAST_TOKEN_VALUE[name]:
                raise InputError(f"{path} has {_odd_one(values, _LEAST_TOKEN_VALUE[name])}", remedy=_VALUES_REMEDY)
            all_values += values
        return all_values

    def _due_tokens(self, chosen: Sequence[int], counts: Sequence[float]) -> Iterator[tuple[int, float]]:
        """Each of the hypotheses that have words, and how many tokens these have."""
        first = 0
        for index in chosen:
            last = first + len(self.words[index])
            if last > first:
                yield index, sum(counts[first:last])
            first = last

    def finish(self, record: dict[str, Any]) -> float:
        """Where the utterance ends, as far as that is known: the duration, or the latest end of a word."""
        ends = [words[-1].get("end") for words in self.words if words]
        latest = max(ends) if ends and _are_numbers(ends) else 0.0
        return max(check.number_or_none(record, "duration") or 0.0, latest)

    def _tokens(self, index: int) -> list[str]:
        """What a hypothesis says, from its words or else from its text."""
        item = self.items[index]
        words = item.get("words")
        if not words:
            return self._text_tokens(index)
        try:
            tokens = [word["word"] for word in words]
            if set(map(type, tokens)) == {str}:
                self.words.append(words)
                return tokens
        except (KeyError, TypeError):
            pass
        for word_index, word in enumerate(check.objects_of(item, "words", self._path(index))):
            check.string(word, "word", self._path(index, word_index))
        raise AssertionError  # one of these was wrong

    def _text_tokens(self, index: int) -> list[str]:
        """The tokens of a hypothesis without word objects."""
        item = self.items[index]
        name = _name_used(item, TEXTS)
        says_nothing = name is None and item.get("words") == []
        tokens = [] if says_nothing else check.string(item, name or TEXTS[0], self._path(index)).split()
        self.words.append([])
        self.all_have_words = self.all_have_words and not tokens
        return tokens

    def _column(self, name: str, chosen: Sequence[int]) -> list[float]:
        """A number of every word of some hypotheses."""
        try:
            column = [word[name] for index in chosen for word in self.words[index]]
        except KeyError:
            column = [None]
        if not _are_numbers(column):
            for index in chosen:
                for word_index, word in enumerate(self.words[index]):
                    _score(word, name, self._path(index, word_index))
        return column

    def _path(self, index: int, word_index: int | None = None) -> str:
        """Where a hypothesis, or one of its words, is in the record."""
        path = f"{self.list_name}[{index}]"
        return path if word_index is None else f"{path}.words[{word_index}]"


def _are_numbers(values: list[Any]) -> bool:
    """Whether all are numbers, and none too large."""
    return set(map(type, values)) <= _NUMBERS and (
        not values or (min(values) >= -LARGEST_SCORE and max(values) <= LARGEST_SCORE)
    )


def _odd_one(values: list[Any], least: float) -> str:
    """The first value that is no number, too large, or less than the least."""
    odd = next(value for value in values if not _are_numbers([value]) or value < least)
    return repr(odd)[:40]


FORMAT = Format("nbest", "N-best list (JSON)", (".jsonl", ".json"), sniff, read)
