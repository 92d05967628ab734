"""Moonshine by a beam search of our own: ten hypotheses with scores, word log-probabilities and word times.

The weights of Moonshine tiny (English) are inside the wheel moonshine-voice 0.0.65; a folder with the files of
another Moonshine works too. Nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ...audio import RATE, Samples
from ...base.errors import InputError, OptionError
from ..base import Identity, Record
from .decoder import Graphs, load_graphs
from .files import REMEDY
from .search import Floats, Found, Hypothesis, Reals, beam_search
from .times import token_spans, word_times
from .tokens import Tokens, WordTokens, read_tokens

BEAM = 10  # and as many hypotheses
TOKENS_A_SECOND, TOKENS_MORE = 6.5, 10  # no text is longer than this: speech is not, what goes round in circles is
SHORTEST = 0.25  # seconds; it invents words for less
LONGEST = 30.0  # seconds; it breaks down on more

_PACKAGE = "moonshine-voice"
_WITH_WEIGHTS = "0.0.65"  # of the package
_NAMES = {288: "moonshine-tiny", 416: "moonshine-base"}  # by hidden size


@dataclass(frozen=True)
class Moonshine:
    """A loaded Moonshine."""

    identity: Identity
    graphs: Graphs
    tokens: Tokens

    def recognize(self, samples: Samples) -> Record:
        """Ten hypotheses of one piece of speech; one without words if it is too short to say anything, or silence."""
        duration = _checked(samples)
        if duration < SHORTEST or not samples.any():
            return {"duration": round(duration, 3), "nbest": [{"score": 0.0, "words": []}]}
        decoding = self.graphs.hear(samples)
        found = beam_search(decoding, beam=BEAM, most_tokens=most_tokens(duration))
        return self.record(found, decoding.fits, duration)

    def record(self, found: Found, fits: Sequence[Floats], duration: float) -> Record:
        """What was found as an N-best file has it; `fits` say where the decoder looked at every step."""
        averages = [each.score / (len(each.tokens) + 1) for each in found.hypotheses]
        return {
            "duration": round(duration, 3),
            "best_avg": int(np.argmax(averages)),
            "empty_logprob": round(found.empty_logprob, 4),
            "nbest": self._hypotheses(found.hypotheses, fits, duration),
        }

    def _hypotheses(self, hypotheses: Sequence[Hypothesis], fits: Sequence[Floats], duration: float) -> list[Any]:
        """Hypotheses with times for all of their words."""
        words = [self.tokens.words(each.tokens.tolist()) for each in hypotheses]
        begins = [
            np.isin(np.arange(len(each.rows)), [word.first for word in said])
            for each, said in zip(hypotheses, words, strict=True)
        ]
        looks = [np.stack([fits[step][row] for step, row in enumerate(each.rows.tolist())]) for each in hypotheses]
        spans = token_spans(looks, begins)
        times = [word_times(span, said, duration) for span, said in zip(spans, words, strict=True)]
        parts = zip(hypotheses, words, times, strict=True)
        return [_hypothesis(each, self.tokens.text(each.tokens.tolist()), said, when) for each, said, when in parts]


def most_tokens(duration: float) -> int:
    """How long a text may be."""
    return int(TOKENS_A_SECOND * duration) + TOKENS_MORE


def _hypothesis(each: Hypothesis, text: str, words: Sequence[WordTokens], times: Reals) -> dict[str, Any]:
    tokens = each.tokens.tolist()
    return {
        "score": round(each.score, 4),
        "avg_logprob": round(each.score / (len(tokens) + 1), 5),
        "text": text,
        "eot_logprob": round(each.end, 4),
        "token_ids": tokens,
        "token_logprobs": np.round(each.logprobs, 4).tolist(),
        "words": [
            {
                "word": word.text,
                "start": start,
                "end": end,
                "logprob": round(float(each.logprobs[word.first : word.last].sum()), 4),
                "tokens": word.last - word.first,
            }
            for word, (start, end) in zip(words, times.tolist(), strict=True)
        ],
    }


def _checked(samples: Samples) -> float:
    """The seconds of samples that can be recognised."""
    if samples.ndim != 1 or not np.isfinite(samples).all():
        raise InputError("samples must be one row of finite numbers", remedy="Mix or choose channels first")
    duration = len(samples) / RATE
    if duration > LONGEST:
        remedy = f"Split it into pieces of at most {LONGEST:.0f} s, at silences"
        raise InputError(f"{duration:.1f} s of speech in one piece", remedy=remedy)
    return duration


def load(model: str | None = None, *, threads: int = 1) -> Moonshine:
    """Moonshine tiny from the wheel, or the model of a folder."""
    folder = Path(model) if model else weights_folder()
    if not folder.is_dir():
        raise OptionError(f"{folder}: no folder. Moonshine needs one with encoder, decoder and tokenizer")
    tokens = read_tokens(folder)
    graphs = load_graphs(folder, spoken=tokens.spoken, best=BEAM + 1, threads=threads)
    if len(tokens) != graphs.sizes.tokens:
        found = f"{len(tokens)} tokens in the tokenizer, and {graphs.sizes.tokens} in the decoder"
        raise InputError(found, file=str(folder), remedy=REMEDY)
    given = {"model": folder.resolve().name} if model else {}
    identity = Identity(
        name=_NAMES.get(graphs.sizes.hidden, folder.name),
        version="folder" if model else version(_PACKAGE),
        settings={**given, "beam": BEAM, "tokens_a_second": TOKENS_A_SECOND, "tokens_more": TOKENS_MORE},
    )
    return Moonshine(identity, graphs, tokens)


def weights_folder() -> Path:
    """Where the package has the weights. It is not imported: it would look for a microphone."""
    found = find_spec("moonshine_voice")
    for place in (found and found.submodule_search_locations) or ():
        folder = Path(place, "assets", "tiny-en")
        if folder.is_dir():
            return folder
    raise OptionError(
        f"{_PACKAGE} has no weights here, only {_WITH_WEIGHTS} has: "
        f'pip install "{_PACKAGE}=={_WITH_WEIGHTS}", or give a folder: --recognizer moonshine=FOLDER'
    )
