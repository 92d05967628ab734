"""N-best records for tests: by hand and at random, and reading them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
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


def check_record(record: Mapping[str, Any], seconds: float) -> None:
    """What holds of every recognizer's record: scores in order that add up, words that make up the text, times."""
    hypotheses = record["nbest"]
    scores = [one["score"] for one in hypotheses]
    assert scores == sorted(scores, reverse=True)
    if "best_avg" in record:
        averages = [one["avg_logprob"] for one in hypotheses]
        assert averages[record["best_avg"]] == max(averages)
    for one in hypotheses:
        words, logprobs = one["words"], one.get("token_logprobs")
        assert " ".join(word["word"] for word in words) == one["text"]
        times = [time for word in words for time in (word["start"], word["end"])]
        assert times == sorted(times)
        assert not times or (times[0] >= 0 and times[-1] <= seconds)
        if logprobs is not None:
            within = 1e-4 * (len(logprobs) + 1)  # they are rounded
            for name in ("token_entropies", "token_ranks", "token_margins"):
                assert len(one[name]) == len(logprobs)
            ranks_and_margins = zip(one["token_ranks"], one["token_margins"], strict=True)
            assert all(margin >= 0 if rank == 0 else margin <= 0 for rank, margin in ranks_and_margins)
            assert sum(logprobs) + one["eot_logprob"] == pytest.approx(one["score"], abs=within)
            assert one["avg_logprob"] == pytest.approx(one["score"] / (len(logprobs) + 1), abs=1e-4)
            assert sum(word["logprob"] for word in words) == pytest.approx(sum(logprobs), abs=2 * within)
            assert sum(word["tokens"] for word in words) == len(logprobs)


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
