"""Vosk: results of the API as it prints them, one after the other, or what vosk-transcriber writes with -t json.

The results of a file are the consecutive segments of one recording and make one utterance; partial results are left
out. `conf` of a word is its posterior. Without word times (SetWords off) each word gets one second.

With alternatives (SetMaxAlternatives) every alternative is a chain from the start of its segment to the end, the
segments follow each other, and the first alternative is the picked one. The `confidence` of an alternative is a log
likelihood, not a probability: the acoustic score of the chain's last arc. Alternatives with the same words after
normalisation are one, their probabilities added. As in N-best lists, every arc has the `rank` of its alternative and
the `share` of the alternatives that were merged into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import row_offsets
from ...base.errors import InputError
from ...base.json_checks import record
from ...base.problems import Problems
from ...lattices.assemble import Builder, RawLattice, Tokens
from ...lattices.lattice import Lattices, Origin
from ...lattices.text import Normalizer
from ..chains import SegmentWords, aligned_times, segment_chains
from ..format import Format, ReadOptions
from ..inputs import Stream
from ..nbest.lists import LARGEST_SCORE
from .json_documents import JsonKeys, JsonObject, decode_utf8, json_sniffer, load_documents
from .lattices import MAX_DOCUMENT, confidence, flattened, lattices
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord, plain_words

_KEYS = {"result", "text", "partial", "partial_result", "alternatives", "spk", "spk_frames"}


class VoskAlternative(NamedTuple):
    """One of several hypotheses for a segment."""

    words: Sequence[RecognizedWord]
    score: float  # log likelihood
    share: float = 1.0  # of the alternatives that say the same


def _likelihood(keys: JsonKeys) -> float:
    """How surely these are results of Vosk."""
    if "monologues" in keys.top and keys.has("terms"):
        return 1.0
    if not keys.top or not keys.top <= _KEYS or keys.has("transcript"):
        return 0.0
    if ("result" in keys.top and keys.has("word", "start", "end")) or "partial" in keys.top:
        return 1.0
    if "alternatives" in keys.top and keys.has("confidence", "text"):
        return 0.9
    return 0.4 if "text" in keys.top else 0.0


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """One lattice per file."""
    documents, damage = load_documents(decode_utf8(stream.document(MAX_DOCUMENT)))
    if damage:
        raise damage
    try:
        yield from _read_recording(documents, stream, options, problems)
    except InputError as error:
        raise error.at(file=stream.name, utt=stream.stem) from None


def _read_recording(
    documents: Sequence[Any], stream: Stream, options: ReadOptions, problems: Problems
) -> Iterator[Lattices]:
    results = [
        JsonObject(record(result, "the result"), f"result {count}")
        for count, result in enumerate(flattened(documents), 1)
    ]
    if any("alternatives" in result for result in results):
        return _read_alternatives(results, stream, options, problems)
    phrases = [phrase for result in results for phrase in _phrases(result)]
    return lattices([RecognizedTranscript(stream.stem, phrases)], stream, options, problems, "vosk")


def _phrases(result: JsonObject) -> Iterator[RecognizedPhrase]:
    """What a result says; nothing if it is a partial one."""
    if "monologues" in result:
        for monologue in JsonObject(result.fields).children("monologues"):
            yield RecognizedPhrase(_words(monologue, "terms"))
    elif result.get("result") is not None:
        yield RecognizedPhrase(_words(result, "result"))
    elif "partial" not in result:
        yield RecognizedPhrase(plain_words(result.string("text")))


def _words(holder: JsonObject, name: str) -> list[RecognizedWord]:
    return [
        RecognizedWord(
            word.string("word", "text"),
            word.number("start"),
            word.number("end"),
            confidence(word, "conf", "confidence"),
        )
        for word in holder.children(name)
    ]


def alternatives_of(result: JsonObject) -> list[VoskAlternative]:
    """The alternatives of a result, as printed; a result without them is its own only alternative."""
    if "alternatives" not in result:
        return [VoskAlternative(phrase.words, 0.0) for phrase in _phrases(result)]
    alternatives = []
    for alternative in result.children("alternatives"):
        has_words = alternative.get("result") is not None
        words = _words(alternative, "result") if has_words else plain_words(alternative.text("text"))
        alternatives.append(VoskAlternative(words, _score(alternative)))
    return alternatives


def _score(alternative: JsonObject) -> float:
    score = alternative.number("confidence")
    if abs(score) > LARGEST_SCORE:
        found = f"{alternative.path_to('confidence')} is {score:g}"
        raise InputError(found, remedy="It is a log likelihood, in the hundreds")
    return score


def _read_alternatives(
    results: Sequence[JsonObject], stream: Stream, options: ReadOptions, problems: Problems
) -> Iterator[Lattices]:
    segments = [_distinct(alternatives_of(result), options.normalizer) for result in results]
    spoken = [segment for segment in segments if any(alternative.words for alternative in segment)]
    if not spoken:
        yield from lattices([RecognizedTranscript(stream.stem, ())], stream, options, problems, "vosk")
        return
    tokens = options.shared_tokens()
    builder = Builder(tokens, problems, origin=Origin(stream.name, "vosk"), max_arcs=options.max_arcs)
    yield from builder.add(_lattice(tokens, stream.stem, spoken, options))
    yield from builder.flush()


def _distinct(alternatives: Sequence[VoskAlternative], normalizer: Normalizer) -> list[VoskAlternative]:
    """The alternatives with different words, in their order; equal ones add up."""
    distinct: dict[str, VoskAlternative] = {}
    for alternative in alternatives:
        text = normalizer(" ".join(word.text for word in alternative.words))
        first, score, share = alternative, alternative.score, 1 / len(alternatives)
        if text in distinct:
            first = distinct[text]
            score, share = float(np.logaddexp(first.score, score)), first.share + share
        distinct[text] = VoskAlternative(first.words, score, share)
    return list(distinct.values())


def _lattice(
    tokens: Tokens, utt: str, segments: Sequence[Sequence[VoskAlternative]], options: ReadOptions
) -> RawLattice:
    alternatives = [alternative for segment in segments for alternative in segment]
    words = [word for alternative in alternatives for word in alternative.words]
    aligned = any(word.start is None for word in words)
    graph = segment_chains(_aligned_segments(segments) if aligned else [_segment_words(each) for each in segments])
    if len(graph.word) > options.max_arcs:
        raise options.too_many_arcs(len(graph.word))
    # A chain's score is on its last arc, arcs of a chain stand together; arc -1 belongs to no chain.
    is_last = (graph.hypothesis >= 0) & (np.append(graph.hypothesis[1:], -1) != graph.hypothesis)
    scores = np.array([alternative.score for alternative in alternatives] + [0.0])
    shares = np.array([alternative.share for alternative in alternatives] + [1.0])
    ranks = np.array([rank for segment in segments for rank in range(len(segment))] + [0])
    return graph.lattice(
        utt,
        tokens.ids(word.text for word in words),
        times="aligned" if aligned else "given",
        acoustic=np.where(is_last, scores[graph.hypothesis], 0.0),
        picked=ranks[graph.hypothesis] == 0,
        extra={"rank": ranks[graph.hypothesis], "share": shares[graph.hypothesis]},
    )


def _segment_words(segment: Sequence[VoskAlternative]) -> SegmentWords:
    words = [word for alternative in segment for word in alternative.words]
    start = np.array([word.start for word in words], np.float64)
    end = np.array([word.end for word in words], np.float64)
    return SegmentWords(row_offsets(alternative.words for alternative in segment), start, end)


def _aligned_segments(segments: Sequence[Sequence[VoskAlternative]]) -> list[SegmentWords]:
    """Made-up times: one second per word of the first alternative, segment after segment."""
    timed, now = [], 0.0
    for segment in segments:
        times = aligned_times([[word.text for word in alternative.words] for alternative in segment])
        start, end = (np.concatenate(column) + now for column in zip(*times, strict=True))
        timed.append(SegmentWords(row_offsets(alternative.words for alternative in segment), start, end))
        now = float(end.max(initial=now))
    return timed


FORMAT = Format("vosk", "Vosk results", (".json",), json_sniffer(_likelihood), read)
