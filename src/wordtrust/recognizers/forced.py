"""Scores of words that a recognizer is given: in which written form it is asked, and how tokens add up to words.

Such models mind how a text is written: after `i think` they expect less of what they would say after `I think`. So a
transcript in any style is asked for in that of the recognizer: words that it wrote itself as it wrote them, others
with the capitals and punctuation of the word in whose place they stand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..audio import Samples
from ..lattices.text import DEFAULT, JOINER
from ..networks.align import align
from .base import ForcedScorer, ForcedScores, NBestRecord
from .nbest import LARGEST_MARGIN

Reals = NDArray[np.float64]
Hypothesis = Mapping[str, Any]  # one of an N-best record

_FIRST_PERSON = re.compile("i(?:'[a-z]+)?")  # I, I'm, I've
_LAST_MARKS = re.compile(rf"[^\w'%{JOINER}]*$")


def score_words(
    scorer: ForcedScorer, samples: Samples, texts: Sequence[Sequence[str]], heard: NBestRecord
) -> list[ForcedScores]:
    """The scores of texts, as normalised words, of a segment in which the recognizer heard `heard`.

    Of what it would have written itself the scores are known already.
    """
    own = printed(heard, scorer.identity.pick)
    known = [heard_scores(words, own) for words in texts]
    others = [written_like(words, own) for words, scores in zip(texts, known, strict=True) if scores is None]
    scored = iter(scorer.score_texts(samples, others))
    return [next(scored) if scores is None else scores for scores in known]


def printed(heard: NBestRecord, pick: str) -> Hypothesis:
    """The hypothesis of a record that the recognizer itself would print."""
    hypothesis: Hypothesis = heard["nbest"][heard.get("best_avg", 0) if pick == "average" else 0]
    return hypothesis


def written_like(words: Sequence[str], own: Hypothesis) -> list[str]:
    """Normalised words in the style of a hypothesis: see this module."""
    pieces = _pieces(own)
    heard, surfaces = [word for word, _ in pieces], [surface for _, surface in pieces]
    places = align(heard, words).reference
    written = [
        _in_style(word, surfaces[place], is_same=word == heard[place]) if place >= 0 else _plain(word)
        for word, place in zip(words, places, strict=True)
    ]
    for index, (place, following) in enumerate(pairwise([*places, -1])):
        if following != place + 1:  # what it was written together with does not follow
            written[index] = written[index].removesuffix(JOINER).removesuffix("-")
    if written:
        last = surfaces[-1] if surfaces else "."
        written[0] = _capital(written[0])
        written[-1] = _LAST_MARKS.sub("", written[-1]) + _marks(last)
    return written


def _pieces(hypothesis: Hypothesis) -> list[tuple[str, str]]:
    """Normalised words and surfaces of a hypothesis."""
    if "words" not in hypothesis:
        return [piece for word in hypothesis["text"].split() for piece in DEFAULT.pieces(word)]
    return [piece for word in hypothesis["words"] for piece in DEFAULT.pieces(word["word"])]


def _in_style(word: str, surface: str, *, is_same: bool) -> str:
    if is_same:
        return surface
    return (_capital(word) if surface[:1].isupper() else _plain(word)) + _marks(surface)


def _plain(word: str) -> str:
    return _capital(word) if _FIRST_PERSON.fullmatch(word) else word


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _marks(surface: str) -> str:
    """The punctuation that a word ends with."""
    match = _LAST_MARKS.search(surface)
    return match[0] if match else ""


def heard_scores(words: Sequence[str], own: Hypothesis) -> ForcedScores | None:
    """The scores of normalised words, if these are just what a hypothesis has scores for."""
    if not {"words", "token_logprobs", "token_margins", "eot_logprob"} <= own.keys():  # others know less
        return None
    if [word for word, _ in _pieces(own)] != list(words) or len(own["words"]) != len(words):
        return None
    logprobs, margins = [*own["token_logprobs"], own["eot_logprob"]], [*own["token_margins"], 0.0]
    return word_scores([word["tokens"] for word in own["words"]], np.array(logprobs), np.minimum(margins, 0.0))


def spaced(words: Sequence[str]) -> list[str]:
    """Words as they follow each other in a text: with a space before each, but those that join the one before."""
    joins = [False, *(word.endswith(JOINER) for word in words[:-1])]
    return [
        word.removesuffix(JOINER) if is_joined else f" {word.removesuffix(JOINER)}"
        for word, is_joined in zip(words, joins, strict=False)
    ]


def word_scores(counts: Sequence[int], logprobs: Reals, margins: Reals) -> ForcedScores:
    """The scores of words with so many tokens each.

    `logprobs` and `margins` are those of the tokens and of the end; where they are fewer, the rest was not scored.
    What is impossible counts as very improbable.
    """
    tokens = np.array(counts, np.int64)
    known = np.full((2, int(tokens.sum()) + 1), np.nan)
    known[:, : len(logprobs)] = np.maximum([logprobs, margins], -LARGEST_MARGIN)
    scores = np.full((3, len(tokens)), np.nan)
    spelled = tokens > 0
    starts = (np.cumsum(tokens) - tokens)[spelled]
    if len(starts):
        of_tokens = known[:, :-1]
        scores[0, spelled] = np.add.reduceat(of_tokens[0], starts)
        scores[1:, spelled] = np.minimum.reduceat(of_tokens, starts, axis=1)
    return ForcedScores(scores[0], scores[1], tokens, scores[2], float(known[0, -1]))


def unscored(text: Sequence[str]) -> ForcedScores:
    """Of a text on audio that says nothing about it."""
    return word_scores([0] * len(text), np.zeros(0), np.zeros(0))
