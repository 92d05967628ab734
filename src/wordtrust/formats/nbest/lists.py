"""N-best lists as typed values, as arrays of a batch, and as raw lattices.

A reader merges the hypotheses of an utterance that are equal after normalisation (`NBestBuilder.merge`), collects
what is known about the words of those that are left, and adds the `NBestList`; batches of lattices come out. The
probabilities of equal hypotheses add up, and each distinct one becomes a chain of its own (see `chains`).
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import csr_offsets, csr_rows
from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.assemble import MAX_ARCS, RawLattices, Tokens, assemble_parts
from ...lattices.lattice import Flags, Floats, Ints, Lattices, Offsets, Origin, Times
from ...lattices.text import Normalizer, is_mark, join_surfaces
from ..chains import END, START, Chains, SpreadWords, aligned_times, link_words, spread_words

LARGEST_SCORE = 1e30  # far more than any, and sums of them still fit 32 bits
BATCH_WORDS = 1 << 16  # enough to make the array operations worth it, few enough to stay in memory

# How the values of a token that is no word join those of the word that takes it over.
_JOIN: Mapping[str, np.ufunc] = {
    "start": np.minimum,
    "end": np.maximum,
    "logprob": np.add,
    "tokens": np.add,
    "least_token_logprob": np.minimum,
    "token_entropy": np.maximum,
    "token_rank": np.maximum,
    "token_margin": np.minimum,
}
# How the values of a word's tokens become one of the word, by their field in a record.
TOKEN_FIELDS: Mapping[str, tuple[str, np.ufunc]] = {
    "token_logprobs": ("least_token_logprob", np.minimum),
    "token_entropies": ("token_entropy", np.maximum),
    "token_ranks": ("token_rank", np.maximum),
    "token_margins": ("token_margin", np.minimum),
}
_TIMES = ("start", "end")


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A distinct hypothesis: the most probable of those in a list that are equal after normalisation."""

    index: int  # in the list as it was read
    words: Sequence[str]  # the recognizer's tokens
    score: float  # log of the summed probabilities of all that are equal
    share: float  # of the hypotheses of the list that are equal
    is_picked: bool  # whether one of these is what the recognizer itself would print


@dataclass(frozen=True, slots=True)
class NBestList:
    """The distinct hypotheses of an utterance, the best first, with what is known about them and their words.

    Of words, `columns` may have `start` and `end`, `logprob`, and `tokens` (how many a word is made of).
    """

    utt: str
    place: int  # line or record in the file
    hypotheses: Sequence[Hypothesis]
    columns: Mapping[str, Sequence[float]] = field(default_factory=dict)  # one number per word, all end to end
    # By field: of all words end to end, as many per word as the column `tokens` says. Ranks are log(1 + rank).
    token_values: Mapping[str, Sequence[float]] = field(default_factory=dict)
    evidence: Mapping[str, Sequence[float]] = field(default_factory=dict)  # one number per hypothesis
    finish: float = 0.0  # seconds, where the audio ends as far as that is known


@dataclass(frozen=True, slots=True, eq=False)
class NBestArrays:
    """N-best lists of a batch end to end."""

    utts: Sequence[str]
    place: Offsets  # [utterances]
    finish: Times  # [utterances]
    groups: Offsets  # [utterances + 1] utterance u has the hypotheses groups[u] to groups[u + 1]
    score: Times  # [hypotheses]
    is_picked: Flags  # [hypotheses]
    evidence: Mapping[str, NDArray[np.float64]]  # [hypotheses]
    offsets: Offsets  # [hypotheses + 1] hypothesis h has the words offsets[h] to offsets[h + 1]
    token: Ints  # [words]
    columns: Mapping[str, NDArray[np.float64]]  # [words]

    @property
    def is_aligned(self) -> bool:
        """Whether word times are not given but have to be made up."""
        return len(self.token) > 0 and "start" not in self.columns

    def without_marks(self, tokens: Tokens) -> NBestArrays:
        """Tokens that are no words give what they have to the word before them, or else to the one after.

        Punctuation gives its time as well; that of a mark such as [Music] stays a pause.
        """
        silent = tokens.table()[self.token, 0] == 0
        if not silent.any():
            return self
        heir, keep = _heirs(self.offsets, silent), ~silent
        giving = np.flatnonzero(silent & (heir >= 0))
        punctuation = giving[[not is_mark(_surface(tokens, token)) for token in self.token[giving].tolist()]]
        columns = {}
        for name, values in self.columns.items():
            givers, joined = punctuation if name in _TIMES else giving, values.copy()
            _JOIN[name].at(joined, heir[givers], values[givers])
            columns[name] = joined[keep]
        return replace(self, offsets=csr_offsets(keep)[self.offsets], token=self.token[keep], columns=columns)


class NBestBuilder:
    """Collects N-best lists and gives them out as batches of checked lattices.

    Without word times, times are made up by alignment. The word log-probabilities are the arcs' acoustic scores, and
    the rest of a hypothesis's score (the end of the text, what merging adds) goes on the last arc of its chain: all
    of it, if there are none. What else is known of words is evidence on their arcs, 0 on silence arcs; what is
    known of a hypothesis is on all of its arcs, with its `rank` (0: the best) and its `share`.
    """

    def __init__(
        self,
        normalizer: Normalizer,
        problems: Problems,
        *,
        origin: Origin,
        place_name: str = "line",
        max_arcs: int = MAX_ARCS,
    ) -> None:
        self._tokens, self._problems, self._max_arcs = Tokens(normalizer), problems, max_arcs
        self._origin, self._place_name = origin, place_name
        self._normalized = _NormalizedTokens(self._tokens)
        self._buffer = _Buffer()

    def merge(self, texts: Sequence[Sequence[str]], scores: Sequence[float], picked: int | None) -> list[Hypothesis]:
        """The distinct hypotheses among those with these tokens and log-probabilities, the best first.

        `picked` is the hypothesis that the recognizer itself would print; None: the best.
        """
        _check_scores(scores)
        members: dict[str, list[int]] = {}
        normalized = self._normalized
        for index, tokens in enumerate(texts):
            members.setdefault("".join([normalized[token] for token in tokens]), []).append(index)
        merged = [_merged(equal, texts, scores, picked) for equal in members.values()]
        merged.sort(key=lambda hypothesis: -scores[hypothesis.index])
        return merged if picked is not None else [replace(merged[0], is_picked=True), *merged[1:]]

    def add(self, nbest: NBestList) -> Iterator[Lattices]:
        """Add an utterance; gives a batch when one is full, or when this one knows other things than those before."""
        if not self._buffer.fits(nbest):
            yield from self.flush()
        self._buffer.add(nbest, self._tokens)
        if len(self._buffer.token) >= BATCH_WORDS:
            yield from self.flush()

    def flush(self) -> Iterator[Lattices]:
        """What was collected so far, as a batch."""
        buffer, self._buffer = self._buffer, _Buffer()
        if buffer.utts:
            yield from self._lattices(buffer.arrays().without_marks(self._tokens))

    def _lattices(self, batch: NBestArrays) -> Iterator[Lattices]:
        finish = np.zeros(len(batch.utts)) if batch.is_aligned else batch.finish
        start, end, errors = _times(batch, self._tokens)
        spread = spread_words(batch.groups, batch.offsets, start, end, finish, name=self._word_name(batch))
        errors |= spread.errors
        for index, error in errors.items():
            place = f"{self._place_name} {batch.place[index]}"
            self._problems.report(error.at(file=self._origin.file, utt=batch.utts[index], place=place))
        chains = link_words(batch.groups, batch.offsets, spread.start, spread.end, finish)
        raw = _raw_lattices(batch, spread, chains)
        if errors:
            raw = raw.select(index for index in range(len(batch.utts)) if index not in errors)
        yield from assemble_parts(
            raw,
            self._tokens,
            origin=replace(self._origin, times="aligned" if batch.is_aligned else "given"),
            problems=self._problems,
            place_name=self._place_name,
            max_arcs=self._max_arcs,
        )

    def _word_name(self, batch: NBestArrays) -> Callable[[int], str]:
        return lambda word: f"the word {_surface(self._tokens, int(batch.token[word]))!r}"


class _Buffer:
    """The numbers of N-best lists as growing arrays.

    They hold no part of the parsed text, so that the next record finds that memory free and in the cache.
    """

    def __init__(self) -> None:
        self.utts: list[str] = []
        self.token = array("i")
        self._place, self._sizes, self._word_counts, self._picked = array("q"), array("q"), array("q"), array("b")
        self._finish, self._score = array("d"), array("d")
        self._token_values: dict[str, array[float]] = {}
        self._columns: dict[str, array[float]] = {}
        self._evidence: dict[str, array[float]] = {}

    def fits(self, nbest: NBestList) -> bool:
        """Whether the same things are known about it as about those before; without words it fits any words."""
        if not self.utts:
            return True
        if nbest.evidence.keys() != self._evidence.keys() - {"rank", "share"}:
            return False
        has_words = any(hypothesis.words for hypothesis in nbest.hypotheses)
        same_columns = nbest.columns.keys() == self._columns.keys()
        return (
            not has_words
            or not self.token
            or (same_columns and nbest.token_values.keys() == self._token_values.keys())
        )

    def add(self, nbest: NBestList, tokens: Tokens) -> None:
        """Add an utterance that fits."""
        self.utts.append(nbest.utt)
        self._place.append(nbest.place)
        self._finish.append(nbest.finish)
        self._sizes.append(len(nbest.hypotheses))
        token_id, before = tokens.id, len(self.token)
        for hypothesis in nbest.hypotheses:
            self._word_counts.append(len(hypothesis.words))
            self._score.append(hypothesis.score)
            self._picked.append(hypothesis.is_picked)
            self.token.extend([token_id(word) for word in hypothesis.words])
        ranks, shares = range(len(nbest.hypotheses)), [hypothesis.share for hypothesis in nbest.hypotheses]
        for name, values in {"rank": ranks, "share": shares, **nbest.evidence}.items():
            self._evidence.setdefault(name, array("d")).extend(values)
        for name, values in nbest.columns.items() if len(self.token) > before else ():
            self._columns.setdefault(name, array("d")).extend(values)
        for name, values in nbest.token_values.items():
            self._token_values.setdefault(name, array("d")).extend(values)

    def arrays(self) -> NBestArrays:
        """All of it; nothing can be added after that."""
        columns = {name: np.asarray(values) for name, values in self._columns.items()}
        for name, values in self._token_values.items():
            first = (np.cumsum(columns["tokens"]) - columns["tokens"]).astype(np.int64)
            of_word, worst = TOKEN_FIELDS[name]
            columns[of_word] = worst.reduceat(np.asarray(values), first)
        return NBestArrays(
            utts=self.utts,
            place=np.asarray(self._place),
            finish=np.asarray(self._finish),
            groups=csr_offsets(np.asarray(self._sizes)),
            score=np.asarray(self._score),
            is_picked=np.asarray(self._picked).astype(np.bool_),
            evidence={name: np.asarray(values) for name, values in self._evidence.items()},
            offsets=csr_offsets(np.asarray(self._word_counts)),
            token=np.asarray(self.token).astype(np.int32, copy=False),
            columns=columns,
        )


class _NormalizedTokens(dict[str, str]):
    """The normalised words of a token, each with a space after it; worked out once."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def __missing__(self, token: str) -> str:
        words = _normalized_words(self._tokens, self._tokens.id(token))
        self[token] = "".join(word + " " for word in words)
        return self[token]


def _normalized_words(tokens: Tokens, token: int) -> list[str]:
    return [tokens.vocabulary[word] for word, _ in tokens.pieces[token] if word]


def _surface(tokens: Tokens, token: int) -> str:
    """A token as the recognizer wrote it."""
    return join_surfaces(tokens.vocabulary[piece] for _, piece in tokens.pieces[token])


def _check_scores(scores: Sequence[float]) -> None:
    """Refuse scores that look like probabilities, or like costs with the best and least first, and not like logs."""
    if not scores or min(scores) < 0 or max(scores) == 0:
        return
    if max(scores) <= 1:
        raise InputError(
            f"the scores look like probabilities: {_listed(scores)}", remedy="Give their natural logarithms as scores"
        )
    if len(scores) > 1 and all(a <= b for a, b in pairwise(scores)) and scores[0] < scores[-1]:
        raise InputError(
            f"the scores look like costs, the least first: {_listed(scores)}",
            remedy="Give log-probabilities, of which the largest is best: costs with a minus sign",
        )


def _listed(scores: Sequence[float]) -> str:
    return ", ".join(f"{score:g}" for score in scores[:4]) + (", ..." if len(scores) > 4 else "")


def _merged(
    equal: list[int], texts: Sequence[Sequence[str]], scores: Sequence[float], picked: int | None
) -> Hypothesis:
    """The hypothesis that stands for these equal ones."""
    best = equal[0] if len(equal) == 1 else max(equal, key=scores.__getitem__)
    # The most probable is taken out of the sum, which then neither overflows nor vanishes.
    gain = math.log(math.fsum(math.exp(scores[i] - scores[best]) for i in equal)) if len(equal) > 1 else 0.0
    return Hypothesis(best, texts[best], scores[best] + gain, len(equal) / len(scores), picked in equal)


def _heirs(offsets: Offsets, silent: Flags) -> NDArray[np.int64]:
    """For every token the nearest word of its hypothesis: before it, else after it, else -1."""
    size = len(silent)
    indices = np.arange(size)
    before = np.maximum.accumulate(np.where(silent, -1, indices))
    after = np.minimum.accumulate(np.where(silent, size, indices)[::-1])[::-1]
    first, last = np.repeat(offsets[:-1], np.diff(offsets)), np.repeat(offsets[1:], np.diff(offsets))
    return np.where(before >= first, before, np.where(after < last, after, -1))


def _times(batch: NBestArrays, tokens: Tokens) -> tuple[Times, Times, dict[int, InputError]]:
    """Starts and ends as given, or else made up along each utterance's best hypothesis; errors by utterance."""
    if not batch.is_aligned:
        none = np.zeros(0)
        return batch.columns.get("start", none), batch.columns.get("end", none), {}
    words = [tuple(_normalized_words(tokens, token)) for token in batch.token.tolist()]
    texts = [words[first:last] for first, last in pairwise(batch.offsets.tolist())]
    start, end, errors = np.zeros(len(words)), np.zeros(len(words)), {}
    for utterance, (first, last) in enumerate(pairwise(batch.groups.tolist())):
        best = next((index for index, text in enumerate(texts[first:last]) if text), 0)
        try:
            times = aligned_times(texts[first:last], best)
        except InputError as error:
            errors[utterance] = error
            continue
        of_utterance = slice(batch.offsets[first], batch.offsets[last])
        start[of_utterance] = np.concatenate([starts for starts, _ in times])
        end[of_utterance] = np.concatenate([ends for _, ends in times])
    return start, end, errors


def _raw_lattices(batch: NBestArrays, spread: SpreadWords, chains: Chains) -> RawLattices:
    """Raw lattices whose chains have the words' scores and all the evidence."""
    count = len(batch.utts)
    return RawLattices(
        utts=batch.utts,
        place=batch.place,
        node_offsets=chains.node_offsets,
        arc_offsets=chains.arc_offsets,
        start=np.full(count, START, np.int32),
        end=np.full(count, END, np.int32),
        time=chains.time,
        source=chains.source,
        target=chains.target,
        token=np.append(batch.token, np.int32(0))[chains.word],
        scores={"acoustic": _acoustic(batch, chains)},
        picked=np.repeat(batch.is_picked, np.diff(chains.offsets)),
        extra=_arc_evidence(batch, chains),
        spread_words=spread.counts,
    )


def _acoustic(batch: NBestArrays, chains: Chains) -> Floats:
    """Word log-probabilities on the word arcs; what is left of a hypothesis's score goes on its last arc."""
    logprob = batch.columns.get("logprob", np.zeros(len(batch.token)))
    of_words = np.bincount(csr_rows(batch.offsets), weights=logprob, minlength=len(batch.score))
    acoustic = np.append(logprob, 0.0)[chains.word]
    acoustic[chains.offsets[1:] - 1] += batch.score - of_words
    return acoustic.astype(np.float32)


def _arc_evidence(batch: NBestArrays, chains: Chains) -> dict[str, Floats]:
    """What is known of words, on their arcs (0 on silence arcs), and of hypotheses, on all of their arcs."""
    per_word = {name: values for name, values in batch.columns.items() if name not in _TIMES}
    per_hypothesis = dict(batch.evidence)
    if "tokens" in per_word:  # how long a hypothesis is; the end of the text is a token too
        before = np.concatenate([[0.0], np.cumsum(per_word["tokens"])])
        per_hypothesis["length"] = 1.0 + np.diff(before[batch.offsets])
    arcs = np.diff(chains.offsets)
    return {name: chains.on_arcs(values) for name, values in per_word.items()} | {
        name: np.repeat(values.astype(np.float32), arcs) for name, values in per_hypothesis.items()
    }
