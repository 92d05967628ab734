r"""N-gram language models from ARPA files, as SRILM, KenLM, IRSTLM and Kaldi's recipes write them, gzipped or not.

P(w | h) is the probability of the n-gram (h, w) if the file has it, else the backoff weight of h (1 if it has none)
times P(w | h without its first word). A sentence begins after <s> and ends with </s>. A word that the model does not
know is <unk>, or where there is none as probable as its least probable word. Words are compared in lower case, or in
upper case where the file has no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_offsets
from ..base.errors import InputError
from ..base.jit import compiled, inner
from ..formats.inputs import Stream, unpacked
from .language_model import Sentence

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]
MOST_WORDS = 9  # orders that there are
_START, _END, _UNKNOWN = "<s>", "</s>", "<unk>"
_COUNT = re.compile(r"ngram\s+([1-9])\s*=\s*([0-9]{1,10})")
_ABSENT = np.nan  # the probability of a context that the file lacks, though it has longer n-grams that begin with it


def is_arpa(head: bytes) -> bool:
    r"""Whether a file that begins with these (unpacked) bytes is an ARPA file: `\data\\`, after remarks perhaps."""
    return any(line.strip() == b"\\data\\" for line in head.splitlines())


class ArpaModel:
    """An n-gram model at work."""

    reads_surfaces = False

    def __init__(self, name: str, words: dict[str, int], tables: list[NgramTable]) -> None:
        self.name = name
        self._words, self._tables = words, tables
        self._unknown = words.get(_UNKNOWN, -1)
        self._least = float(np.nanmin(tables[0].logprob[tables[0].logprob > -90], initial=0.0))
        self._is_upper = not any(word != word.upper() for word in words if not word.startswith("<"))
        self._keys = np.concatenate([table.key for table in tables])
        self._values = (np.concatenate([table.logprob for table in tables]),
                        np.concatenate([table.backoff for table in tables]))  # fmt: skip
        self._bounds = csr_offsets([len(table.key) for table in tables])

    @classmethod
    def load(cls, path: Path) -> ArpaModel:
        """The model of a file."""
        words, parts = _ArpaReader(path).read()
        return cls(str(path), words, _tables(parts, len(words)))

    def word_logprobs(self, utterances: Sequence[Sequence[Sentence]]) -> Reals:
        """The log-probability of each word of each hypothesis, and after them of its end."""
        sentences = [sentence for hypotheses in utterances for sentence in hypotheses]
        ids = np.array([self._id(word) for sentence in sentences for word in (*sentence, _END)], np.int64)
        offsets, values = csr_offsets([len(sentence) + 1 for sentence in sentences]), np.empty(len(ids))
        _score(offsets, ids, self._words.get(_START, -1), len(self._words), self._keys, self._bounds, *self._values,
               self._least, values)  # fmt: skip
        if _END not in self._words:
            values[offsets[1:] - 1] = 0.0
        return values

    def _id(self, word: str) -> int:
        return self._words.get(word.upper() if self._is_upper and word != _END else word, self._unknown)


@dataclass(frozen=True, slots=True)
class NgramTable:
    """The n-grams of one order, by the number of the n-gram without its last word, times words, plus that word."""

    key: Numbers  # sorted; of single words their ids
    logprob: Reals
    backoff: Reals


@dataclass(frozen=True, slots=True)
class _Ngrams:
    """The n-grams of one order as the file has them."""

    ids: Numbers  # [n-grams, order]
    logprob: Reals
    backoff: Reals


def _tables(parts: list[_Ngrams], words: int) -> list[NgramTable]:
    """Tables to look n-grams up in; what others begin with is there, whether the file has it or not."""
    first = parts[0].ids[:, 0].argsort()
    tables = [NgramTable(parts[0].ids[first, 0], parts[0].logprob[first], parts[0].backoff[first])]
    begins = [part.ids[:, 0] for part in parts]  # the number of what each n-gram begins with, a word more each time
    for order in range(1, len(parts)):
        keys = [begins[longer] * words + parts[longer].ids[:, order] for longer in range(order, len(parts))]
        own, absent = keys[0], np.setdiff1d(np.concatenate(keys), keys[0])
        blank = np.full(len(absent), _ABSENT)
        key, logprob = np.concatenate([own, absent]), np.concatenate([parts[order].logprob, blank])
        backoff = np.concatenate([parts[order].backoff, np.zeros(len(absent))])
        order_of = key.argsort(kind="stable")
        tables.append(NgramTable(key[order_of], logprob[order_of], backoff[order_of]))
        begins[order:] = [np.searchsorted(tables[-1].key, key) for key in keys]
    return tables


class _ArpaReader:
    """Reads a file line by line, and says where it is damaged."""

    def __init__(self, path: Path) -> None:
        self._path, self._line = path, 0
        self._words: dict[str, int] = {}

    def read(self) -> tuple[dict[str, int], list[_Ngrams]]:
        """The words by their ids, and the n-grams of every order."""
        try:
            with open(self._path, "rb") as file:
                lines = self._lines(unpacked(file, str(self._path), self._path))
                counts = self._counts(lines)
                marks = [*(f"\\{order}-grams:" for order in range(2, len(counts) + 1)), "\\end\\"]
                sections = enumerate(zip(counts, marks, strict=True), 1)
                parts = [self._section(lines, order, count, after) for order, (count, after) in sections]
        except UnicodeDecodeError:
            raise self._error("this is no UTF-8 text") from None
        except OSError as error:
            raise self._error(f"cannot be opened: {error.strerror or error}") from None
        if not self._words:
            raise self._error("there are no words in it")
        return self._words, parts

    def _lines(self, stream: Stream) -> Iterator[str]:
        for self._line, line in stream.lines():
            if text := line.decode("utf-8").strip():
                yield text

    def _error(self, found: str) -> InputError:
        place = f"line {self._line}" if self._line else ""
        remedy = "A whole ARPA file is needed, as SRILM or KenLM write them"
        return InputError(found, file=str(self._path), place=place, remedy=remedy)

    def _counts(self, lines: Iterator[str]) -> list[int]:
        r"""How many n-grams of each order there are; what comes before `\data\` are remarks."""
        counts: list[int] = []
        for line in lines:
            if line == "\\data\\":
                break
        for line in lines:
            match = _COUNT.fullmatch(line)
            if match and int(match[1]) == len(counts) + 1:
                counts.append(int(match[2]))
            elif line == "\\1-grams:" and counts:
                return counts
            else:
                raise self._error(f"{line[:60]!r} where the number of {len(counts) + 1}-grams was expected")
        raise self._error("the file ends before its n-grams")

    def _section(self, lines: Iterator[str], order: int, count: int, after: str) -> _Ngrams:
        ids: list[list[int]] = []
        values: list[tuple[float, float]] = []
        for line in lines:
            if line == after:
                break
            fields = line.split()
            if len(fields) not in (order + 1, order + 2):
                raise self._error(f"{line[:60]!r} is no {order}-gram with its logarithms")
            values.append(self._numbers(fields[0], fields[order + 1] if len(fields) > order + 1 else "0"))
            ids.append(self._ids(fields[1 : order + 1]))
        else:
            raise self._error(f"the file ends among the {order}-grams")
        if len(ids) != count:
            raise self._error(f"{len(ids)} {order}-grams, {count} were announced")
        logs = np.array(values, np.float64).reshape(-1, 2) * np.log(10)
        table = np.array(ids, np.int64).reshape(-1, order)
        self._refuse_repeats(table, order)
        return _Ngrams(table, logs[:, 0], logs[:, 1])

    def _ids(self, words: list[str]) -> list[int]:
        if len(words) == 1:
            return [self._words.setdefault(words[0], len(self._words))]
        try:
            return [self._words[word] for word in words]
        except KeyError as error:
            raise self._error(f"{error.args[0][:60]!r} is not among the 1-grams") from None

    def _numbers(self, logprob: str, backoff: str) -> tuple[float, float]:
        try:
            values = float(logprob), float(backoff)
        except ValueError:
            raise self._error(f"{logprob[:30]!r} and {backoff[:30]!r} should be logarithms") from None
        if not (-1000 <= values[0] <= 1e-3 and abs(values[1]) <= 1000):
            raise self._error(f"a logarithm of {values[0]:g} with a backoff of {values[1]:g} is no probability")
        return values

    def _refuse_repeats(self, table: Numbers, order: int) -> None:
        if len(np.unique(table, axis=0)) < len(table):
            raise self._error(f"one of the {order}-grams is there twice")


@inner
def _find(key: Numbers, begin: int, end: int, wanted: int) -> int:
    """Where in a sorted part of `key` a number is, counted from its beginning; -1 if it is not there."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if key[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low - begin if low < end and key[low] == wanted else -1


@inner
def _number(ids: Numbers, begin: int, end: int, words: int, key: Numbers, bounds: Numbers) -> int:
    """The number of an n-gram among those of its order, -1 if there is none."""
    ngram = int(ids[begin])
    for i in range(begin + 1, end):
        if ngram < 0 or ids[i] < 0:
            return -1
        order = i - begin
        ngram = _find(key, bounds[order], bounds[order + 1], ngram * words + ids[i])
    return ngram


@inner
def _word(ids: Numbers, begin: int, end: int, words: int, key: Numbers, bounds: Numbers, logprob: Reals,
          backoff: Reals, least: float) -> float:  # fmt: skip
    """log P(last of the ids | those before it), by the longest n-gram there is, and backoffs on the way to it."""
    total = 0.0
    while True:
        order = end - begin - 1
        ngram = _number(ids, begin, end, words, key, bounds)
        if ngram >= 0 and not np.isnan(logprob[bounds[order] + ngram]):
            return float(total + logprob[bounds[order] + ngram])
        if order == 0:
            return total + least
        context = _number(ids, begin, end - 1, words, key, bounds)
        if context >= 0:
            total += backoff[bounds[order - 1] + context]
        begin += 1


@compiled
def _score(offsets: Numbers, ids: Numbers, start: int, words: int, key: Numbers, bounds: Numbers, logprob: Reals,
           backoff: Reals, least: float, values: Reals) -> None:  # fmt: skip
    """The log-probability of every id of every sentence, which begins after `start` (-1: after nothing)."""
    longest = len(bounds) - 1
    line = np.empty(len(ids) + 1, np.int64)
    for sentence in range(len(offsets) - 1):
        first, length = offsets[sentence], 0
        if start >= 0:
            line[0], length = start, 1
        for i in range(first, offsets[sentence + 1]):
            line[length] = ids[i]
            length += 1
            values[i] = _word(line, max(0, length - longest), length, words, key, bounds, logprob, backoff, least)
