"""How fast N-best JSON lines are read: everything from text to lattices against `json.loads` of the same lines alone.

Run with `python -m benchmarks.nbest`. It takes the developers' real lists where they are, else made-up ones.
"""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path

from benchmarks.synthetic import words
from benchmarks.timing import SHARED, best
from wordtrust.base.problems import Problems
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.inputs import Stream
from wordtrust.formats.nbest import records as nbest

REAL = SHARED / "whisper-base" / "train.jsonl.gz"


def made_up(utterances: int = 4_000) -> bytes:
    """Ten-best lists of sentences of ten words, of which half are equal after normalisation."""
    choose, vocabulary = random.Random(0), words(10_000)
    return b"".join(_record(choose, vocabulary, number) for number in range(utterances))


def _record(choose: random.Random, vocabulary: list[str], number: int) -> bytes:
    said = choose.choices(vocabulary, k=10)
    hypotheses = []
    for rank in range(10):
        if rank % 2 == 0:
            said = [*said[: rank + 1], choose.choice(vocabulary), *said[rank + 2 :]]
        hypotheses.append(_hypothesis(choose, said if rank % 2 else [word.capitalize() for word in said], rank))
    return json.dumps({"utt": f"u{number}", "best_avg": 0, "nbest": hypotheses}).encode() + b"\n"


def _hypothesis(choose: random.Random, said: list[str], rank: int) -> dict[str, object]:
    logprobs = [round(-choose.expovariate(4), 4) for _ in said]
    return {
        "score": round(sum(logprobs) - rank, 4),
        "avg_logprob": round((sum(logprobs) - rank) / 11, 5),
        "text": " ".join(said),
        "eot_logprob": -0.01,
        "token_logprobs": logprobs,
        "words": [
            {"word": word, "start": 0.4 * i, "end": 0.4 * i + 0.4, "logprob": logprob, "tokens": 1}
            for i, (word, logprob) in enumerate(zip(said, logprobs, strict=True))
        ],
    }


def _content() -> bytes:
    return gzip.decompress(REAL.read_bytes()) if REAL.is_file() else made_up()


def _read(content: bytes) -> int:
    stream = Stream(io.BytesIO(content), "benchmark.jsonl", Path("benchmark.jsonl"))
    return sum(len(batch.source) for batch in nbest.read(stream, ReadOptions(), Problems()))


def _parse(content: bytes) -> int:
    return sum(len(json.loads(line)) for line in content.splitlines())


def run() -> None:
    """Print utterances a second, and the time as a multiple of that of `json.loads`."""
    content = _content()
    arcs = _read(content)  # compiles the kernels
    read, parsed = best(lambda: _read(content), lambda: _parse(content))
    utterances = content.count(b"\n")
    print(
        f"N-best JSON lines ({'real' if REAL.is_file() else 'made up'}): {utterances / read:,.0f} utterances/s, "
        f"{arcs / read:,.0f} arcs/s, {len(content) / read / 1e6:.0f} MB/s; "
        f"{read / parsed:.2f} times json.loads alone ({len(content) / parsed / 1e6:.0f} MB/s)"
    )


if __name__ == "__main__":
    run()
