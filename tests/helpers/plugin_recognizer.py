"""A third-party recognizer: a package with an entry point, which recognises one word per second of audio."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

MODULE = """
import os
import time
import numpy as np
from wordtrust.recognizers import ForcedScores, RecognizerIdentity
from wordtrust.recognizers.kept_encodings import KeptEncodings, fingerprint

WORDS = "one two three four five six seven eight nine ten".split()


class Ears:
    def __init__(self, model):
        self.identity = RecognizerIdentity("ears" if model is None else f"ears-{model}", "1.0", {"model": model})
        self.model = model

    def recognize(self, samples):
        seconds = len(samples) / 16000
        if self.model == "deaf":
            raise RuntimeError("no ears")
        if self.model == "killed":
            os._exit(9)
        if self.model == "slow":
            time.sleep(0.5)
        if self.model == "wrong":
            return ["one"]
        if self.model == "leaving":
            raise SystemExit(3)
        if self.model == "odd":
            return {"nbest": [{"score": -1.0, "words": [{"word": "a", "start": "soon"}]}]}
        if self.model == "moody" and len(samples) % 2:
            return {"nbest": [{"score": -1.0, "words": [{"word": "one"}]}]}
        if self.model == "mad":
            return {"nbest": [{"score": float("nan"), "words": []}]}
        words = WORDS[: int(seconds)]
        timed = lambda said: [
            {"word": word, "start": float(n), "end": n + 0.9, "logprob": np.float32(-0.25), "tokens": 1}
            for n, word in enumerate(said)
        ]
        hypotheses = [{"score": -1.0, "words": timed(words)}, {"score": -2.0, "words": timed(words[:-1])}]
        return {"duration": seconds, "nbest": hypotheses if words else [{"score": 0.0, "words": []}]}


class Critic(Ears):
    # It hears three words, always, and takes a nat for every letter of a word that it is to score.

    def recognize(self, samples):
        words = [{"word": word.title(), "start": n, "end": n + 0.9} for n, word in enumerate(WORDS[:3])]
        return {"nbest": [{"score": -1.0, "words": words}]}

    def score_texts(self, samples, texts):
        if any("deaf" in text for text in texts):
            raise RuntimeError("no ears")
        return [ForcedScores(*self.scores(text), float(-len(text))) for text in texts]

    def scores(self, text):
        sizes = np.array([len(word) for word in text], np.float64)
        capitals = np.array([word.istitle() for word in text], np.int64)
        return -sizes, -sizes, capitals, np.where(capitals > 0, -sizes, np.nan)


class Encoder(Critic):
    # It encodes samples for both, and says in which process it scored a text, and how often it has encoded there.

    def __init__(self, model):
        super().__init__(model)
        self.encodings, self.encoded = KeptEncodings(self.encode), 0

    def encode(self, samples):
        self.encoded += 1
        return len(samples)

    def recognize(self, samples):
        self.encodings.of(samples)
        return super().recognize(samples)

    def score_texts(self, samples, texts):
        self.encodings.of(samples)
        return [score._replace(logprob=0 * score.logprob - os.getpid(), end=-float(self.encoded))
                for score in super().score_texts(samples, texts)]


class Reader(Encoder):
    # It hears other words in every segment.

    def recognize(self, samples):
        self.encodings.of(samples)
        words = [{"word": f"w{letter}", "start": n, "end": n + 0.9}
                 for n, letter in enumerate(fingerprint(samples)[: len(samples) // 16000])]
        return {"nbest": [{"score": -1.0, "words": words}]}


def load(model=None, *, threads=1):
    if model == "absent":
        from wordtrust.base.errors import InputError
        raise InputError("there is no such model", file="absent", remedy="Name another")
    return {"critic": Critic, "encoder": Encoder, "reader": Reader}.get(model, Ears)(model)
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the package as pip would install it, and put it on the path."""
    info = folder / "my_ears-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "my_ears.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-ears\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[wordtrust.recognizers]\nears = my_ears\n")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "my_ears", raising=False)
