"""N-best records for tests: by hand and at random, and reading them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.helpers.reading import read_bytes
from wordtrust.base.problems import Problems
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.nbest.records import FORMAT
from wordtrust.lattices.lattice import Lattices

Record = dict[str, Any]


def read(
    records: Record | list[Record] | bytes, *, problems: Problems | None = None, options: ReadOptions = ReadOptions()
) -> Lattices:
    """Records as JSON lines, or bytes as they are."""
    data = records if isinstance(records, bytes) else as_lines(records)
    return read_bytes(FORMAT, data, name="lists.jsonl", problems=problems, options=options)


def as_lines(records: Record | list[Record]) -> bytes:
    rows = records if isinstance(records, list) else [records]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def hypothesis(score: float, *words: tuple[str, float, float, float], **more: Any) -> Record:
    """A hypothesis of (word, start, end, log-probability) with one token a word."""
    listed = [
        {"word": word, "start": start, "end": end, "logprob": logprob, "tokens": 1}
        for word, start, end, logprob in words
    ]
    return {"score": score, "token_logprobs": [word[3] for word in words], "words": listed, **more}


TOKENS = ("I", "will", "Will,", "I'll", "sit-in", "sit", "in", "–", "[noise]", "naïve", "naive", "5%")


@st.composite
def records(draw: st.DrawFn) -> Record:
    """A record with or without times, whose hypotheses often say the same."""
    timed = draw(st.booleans())
    texts = draw(st.lists(st.lists(st.sampled_from(TOKENS), max_size=4), min_size=1, max_size=5))
    scores = st.floats(-50, -0.01)
    hypotheses = []
    for text in texts:
        steps = draw(st.lists(st.integers(0, 30), min_size=len(text), max_size=len(text)))
        ends = np.cumsum(steps) * 0.02
        listed = [
            {"word": word, "start": float(end - step * 0.02), "end": float(end), "logprob": draw(scores), "tokens": 1}
            for word, step, end in zip(text, steps, ends, strict=True)
        ]
        more = {"words": listed} if timed else {}
        hypotheses.append({"score": draw(scores), "text": " ".join(text), "eot_logprob": draw(scores), **more})
    return {"utt": "u", "nbest": hypotheses}
