"""N-best lists of Python code as lattices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordtrust as wt

CANDLES = [{"text": "four candles", "score": -1.2}, {"text": "fork handles", "score": -1.5}]
PAIRS = [("four candles", -1.2), (-1.5, "fork handles")]


@pytest.mark.parametrize(
    ("given", "utts"),
    [
        (CANDLES, ["utterance-1"]), (PAIRS, ["utterance-1"]), ([CANDLES, PAIRS], ["utterance-1", "utterance-2"]),
        ({"a": CANDLES, "b": PAIRS}, ["a", "b"]), ({"utt": "x", "nbest": CANDLES}, ["x"]),
        ([{"utt": "x", "nbest": CANDLES}, {"utt": "y", "hypotheses": CANDLES}], ["x", "y"]),
        ((CANDLES for _ in range(2)), ["utterance-1", "utterance-2"]),
        ([{"text": "four candles", "score": np.float32(-1.5)}, {"text": "fork handles", "score": np.int64(-2)}],
         ["utterance-1"]),
    ],
)  # fmt: skip
def test_shapes(given: Any, utts: list[str]) -> None:
    lattices = wt.from_nbest(given)
    assert list(lattices.utts) == utts
    for lattice in lattices:
        assert lattice.text == "four candles"
        assert {"fork", "handles"} < set(lattice.words)


def test_words_are_as_in_a_file(tmp_path: Path) -> None:
    words = [{"word": "Four", "start": 0.1, "end": 0.4, "logprob": -0.2, "tokens": 1}]
    record = {"utt": "u", "nbest": [{"score": -0.2, "words": words}], "duration": 2.0}
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    assert wt.from_nbest(record)[0].equals(wt.read(tmp_path / "a.jsonl")[0])


@pytest.mark.parametrize(
    "given", ["four candles", 7, None, ["four candles"], [CANDLES, "four"], {"a": "four candles"}, [{"a": {1, 2}}]]
)
def test_anything_else_is_told_what_to_give(given: Any) -> None:
    with pytest.raises((TypeError, wt.InputError), match="Give a list of hypotheses"):
        wt.from_nbest(given)


def test_bad_scores() -> None:
    with pytest.raises(wt.InputError, match=r"score is missing|score is a string|not"):
        wt.from_nbest([{"text": "a", "score": "high"}])
    with pytest.raises(wt.InputError, match="no N-best lists"):
        wt.from_nbest([])
