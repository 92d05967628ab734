"""Vosk: results of the API as it prints them, one after the other, or what vosk-transcriber writes with -t json.

The results of a file are the consecutive pieces of one recording and make one utterance; partial results are left
out. `conf` of a word is its posterior. Without word times (SetWords off) each word gets one second.

With alternatives (SetMaxAlternatives) every alternative of a piece is a chain from the start of the piece to its end,
the pieces follow each other, and the first alternative is the picked one. The `confidence` of an alternative is a log
likelihood, not a probability: it stands as acoustic score on the last arc of the chain. Alternatives with the same
words after normalisation are one, their probabilities added. As in N-best lists, every arc has the `rank` of its
alternative and the `share` of those that are one with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import row_offsets
from ..base.errors import InputError
from ..base.json_checks import number, objects_of, record, string, string_or_none
from ..lattices.assemble import Builder, Problems, RawLattice, Tokens
from ..lattices.lattice import Lattices, Origin
from ..lattices.text import Normalizer
from .base import Format, ReadOptions
from .inputs import Stream
from .json_outline import decoded, outline
from .onebest import DOCUMENT, Phrase, Transcript, Word, confidence, lattices, load, plain_words, present
from .series import Piece, series
from .timing import aligned_times

LARGEST = 1e30  # of a score: far more than any
_KEYS = {"result", "text", "partial", "partial_result", "alternatives", "spk", "spk_frames"}


class Hypothesis(NamedTuple):
    """One alternative for a piece of audio."""

    words: Sequence[Word]
    score: float  # log likelihood
    share: float = 1.0  # of the alternatives that say the same


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # a sniffer
    """How surely these bytes are results of Vosk."""
    found = outline(head)
    if found is None:
        return 0.0
    if "monologues" in found.top and found.has("terms"):
        return 1.0
    if not found.top or not found.top <= _KEYS or found.has("transcript"):
        return 0.0
    if ("result" in found.top and found.has("word", "start", "end")) or "partial" in found.top:
        return 1.0
    if "alternatives" in found.top and found.has("confidence", "text"):
        return 0.9
    return 0.4 if "text" in found.top else 0.0


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """One lattice a file."""
    found, broken = load(decoded(stream.document(DOCUMENT)))
    if broken:
        raise broken
    try:
        yield from _recording(found, stream, options, problems)
    except InputError as error:
        raise error.at(file=stream.name, utt=stream.stem) from None


def _recording(found: Sequence[Any], stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    results = [
        record(result, "the result")
        for document in found
        for result in (document if isinstance(document, list) else [document])
    ]
    if any("alternatives" in result for result in results):
        return _alternatives(results, stream, options, problems)
    phrases = [phrase for place, result in enumerate(results) for phrase in _phrases(result, f"result {place + 1}")]
    return lattices([Transcript(stream.stem, phrases)], stream, options, problems, "vosk")


def _phrases(result: dict[str, Any], where: str) -> Iterator[Phrase]:
    """What a result says; nothing if it is a partial one."""
    if "monologues" in result:
        for place, monologue in enumerate(objects_of(result, "monologues")):
            yield Phrase(_words(monologue, "terms", f"monologues[{place}]"))
    elif result.get("result") is not None:
        yield Phrase(_words(result, "result", where))
    elif "partial" not in result:
        yield Phrase(plain_words(string(result, "text", where)))


def _words(holder: dict[str, Any], name: str, where: str) -> list[Word]:
    words = []
    for place, word in enumerate(objects_of(holder, name, where)):
        inside = f"{where}.{name}[{place}]"
        text = string(word, present(word, "word", "text"), inside)
        sure = confidence(word, present(word, "conf", "confidence"), inside)
        words.append(Word(text, number(word, "start", inside), number(word, "end", inside), sure))
    return words


def _alternatives(
    results: Sequence[dict[str, Any]], stream: Stream, options: ReadOptions, problems: Problems
) -> Iterator[Lattices]:
    said = [_hypotheses(result, f"result {place + 1}") for place, result in enumerate(results)]
    distinct = [_distinct(hypotheses, options.normalizer) for hypotheses in said]
    pieces = [hypotheses for hypotheses in distinct if any(each.words for each in hypotheses)]
    if not pieces:
        yield from lattices([Transcript(stream.stem, ())], stream, options, problems, "vosk")
        return
    tokens = options.shared_tokens()
    builder = Builder(tokens, problems, origin=Origin(stream.name, "vosk"))
    yield from builder.add(_lattice(tokens, stream.stem, pieces, options))
    yield from builder.flush()


def _hypotheses(result: dict[str, Any], where: str) -> list[Hypothesis]:
    if "alternatives" not in result:
        return [Hypothesis(phrase.words, 0.0) for phrase in _phrases(result, where)]
    found = []
    for place, alternative in enumerate(objects_of(result, "alternatives", where)):
        inside = f"{where}.alternatives[{place}]"
        if alternative.get("result") is not None:
            words = _words(alternative, "result", inside)
        else:
            words = plain_words(string_or_none(alternative, "text", inside) or "")
        found.append(Hypothesis(words, _score(alternative, inside)))
    return found


def _score(alternative: dict[str, Any], where: str) -> float:
    score = number(alternative, "confidence", where)
    if abs(score) > LARGEST:
        raise InputError(f"{where}.confidence is {score:g}", remedy="It is a log likelihood, in the hundreds")
    return score


def _distinct(hypotheses: Sequence[Hypothesis], normalizer: Normalizer) -> list[Hypothesis]:
    """The hypotheses with different words, in their order; equal ones add up."""
    found: dict[str, Hypothesis] = {}
    for each in hypotheses:
        text = normalizer(" ".join(word.text for word in each.words))
        score = float(np.logaddexp(found[text].score, each.score)) if text in found else each.score
        share = (found[text].share if text in found else 0.0) + 1 / len(hypotheses)
        found[text] = Hypothesis(found.get(text, each).words, score, share)
    return list(found.values())


def _lattice(tokens: Tokens, utt: str, pieces: Sequence[Sequence[Hypothesis]], options: ReadOptions) -> RawLattice:
    hypotheses = [each for piece in pieces for each in piece]
    words = [word for each in hypotheses for word in each.words]
    aligned = any(word.start is None for word in words)
    made = series(_without_times(pieces) if aligned else [_piece(piece) for piece in pieces])
    if len(made.word) > options.max_arcs:
        raise options.too_many_arcs(len(made.word))
    # A chain's score is on its last arc, arcs of a chain stand together; arc -1 belongs to no chain.
    is_last = (made.hypothesis >= 0) & (np.append(made.hypothesis[1:], -1) != made.hypothesis)
    scores = np.array([each.score for each in hypotheses] + [0.0])
    shares = np.array([each.share for each in hypotheses] + [1.0])
    ranks = np.array([place for piece in pieces for place in range(len(piece))] + [0])
    return RawLattice(
        utt=utt,
        time=made.time,
        source=made.source,
        target=made.target,
        token=np.append(tokens.ids(word.text for word in words), np.int32(0))[made.word],
        start=0,
        end=made.end,
        spread_words=made.spread_words,
        times="aligned" if aligned else "given",
        acoustic=np.where(is_last, scores[made.hypothesis], 0.0),
        picked=ranks[made.hypothesis] == 0,
        extra={"rank": ranks[made.hypothesis], "share": shares[made.hypothesis]},
    )


def _piece(hypotheses: Sequence[Hypothesis]) -> Piece:
    words = [word for each in hypotheses for word in each.words]
    return Piece(
        row_offsets(each.words for each in hypotheses),
        np.array([word.start for word in words], np.float64),
        np.array([word.end for word in words], np.float64),
    )


def _without_times(pieces: Sequence[Sequence[Hypothesis]]) -> list[Piece]:
    """One second a word of the first alternative, piece after piece."""
    found, now = [], 0.0
    for hypotheses in pieces:
        times = aligned_times([[word.text for word in each.words] for each in hypotheses])
        offsets = row_offsets(each.words for each in hypotheses)
        start, end = (np.concatenate(each) + now for each in zip(*times, strict=True))
        found.append(Piece(offsets, start, end))
        now = float(end.max(initial=now))
    return found


FORMAT = Format(name="vosk", title="Vosk results", suffixes=(".json",), sniff=sniff, read=read)
