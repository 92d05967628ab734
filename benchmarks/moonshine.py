"""How fast Moonshine's beam search is, in parts of real time, and against the published graphs run the usual way.

How much of that scoring a given text takes.

Run with `python -m benchmarks.moonshine`. Seconds are those of the processor, one thread. The speech is a reading in
Moonshine's wheel. The usual way: int8 graphs, with a copy of the utterance and of the memory for every hypothesis.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import soundfile
import soxr
from tests.helpers.engine_moonshine import Engine

from benchmarks.timing import best
from wordtrust.audio import RATE, Samples
from wordtrust.recognizers.moonshine import adapter as moonshine
from wordtrust.recognizers.moonshine.adapter import BEAM, MoonshineRecognizer, max_tokens
from wordtrust.recognizers.moonshine.search import SearchResult, UtteranceDecoder, beam_search

PIECES, SECONDS = 3, 8.0
TEXT = "It was the best of times, it was the worst of times, it was the age of wisdom, and of foolishness.".split()


def _pieces() -> list[Samples]:
    samples, rate = soundfile.read(
        moonshine.weights_folder().parent / "two_cities.wav", dtype="float32", always_2d=True
    )
    speech = soxr.resample(samples.mean(axis=1), rate, RATE)
    return list(speech[: int(PIECES * SECONDS * RATE)].reshape(PIECES, -1))


def _on_all(work: Callable[[Samples], object], pieces: list[Samples]) -> None:
    for piece in pieces:
        work(piece)


def _ways(ours: MoonshineRecognizer, engine: Engine) -> dict[str, Callable[[Samples], object]]:
    longest = max_tokens(SECONDS)
    decoded: dict[int, tuple[SearchResult, UtteranceDecoder]] = {}

    def search(piece: Samples) -> None:
        decoding = ours.model.encode(piece)
        decoded[id(piece)] = beam_search(decoding, beam=BEAM, max_tokens=longest), decoding

    def times(piece: Samples) -> None:
        found, decoding = decoded[id(piece)]
        ours.record(found, decoding.fits, SECONDS)

    return {
        "encoder": ours.model.encode,
        "search": search,
        "times": times,
        "scores": lambda piece: ours.score_texts(piece, [TEXT]),
        "their encoder": engine.hear,
        "their greedy": lambda piece: beam_search(engine.hear(piece), beam=1, max_tokens=longest),
        "their search": lambda piece: beam_search(engine.hear(piece), beam=BEAM, max_tokens=longest),
    }


def run() -> None:
    """Print parts of real time, and ratios."""
    pieces = _pieces()
    ways = _ways(moonshine.load(), Engine(moonshine.weights_folder()))
    works = [partial(_on_all, work, pieces) for work in ways.values()]
    cpu = best(*works, rounds=2, clock=time.process_time)
    taken = {name: one / (PIECES * SECONDS) for name, one in zip(ways, cpu, strict=True)}
    search, theirs = (taken[f"{who}search"] - taken[f"{who}encoder"] for who in ("", "their "))
    whole = taken["search"] + taken["times"]
    print(
        f"Moonshine tiny, {PIECES} x {SECONDS:.0f} s of reading, parts of real time: encoder {taken['encoder']:.4f}, "
        f"beam {BEAM} {search:.4f}, times {taken['times']:.4f}, all {whole:.4f}\n"
        f"scores of a given text of {len(TEXT)} words: {taken['scores'] / whole:.2f} of recognizing a piece, "
        f"{(taken['scores'] - taken['encoder']) / whole:.2f} where it has been encoded\n"
        f"against the published graphs: beam {BEAM} {search / theirs:.2f} times theirs, "
        f"all {whole / taken['their search']:.2f} times their encoder and beam {BEAM}, "
        f"{whole / taken['their greedy']:.2f} times their encoder and greedy"
    )


if __name__ == "__main__":
    run()
