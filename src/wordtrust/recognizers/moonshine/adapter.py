"""Moonshine with a beam search of our own: ten hypotheses with scores, word log-probabilities and word times.

The weights of Moonshine tiny (English) are inside the wheel moonshine-voice 0.0.65; a folder with the files of
another Moonshine works too. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ...audio import RATE, Samples
from ...base.errors import InputError, OptionError
from ..base import NOTHING, ForcedScores, NBestRecord, RecognizerIdentity
from ..forced import spaced, unscored, word_scores
from ..kept_encodings import KeptEncodings
from ..nbest import HypothesisWord, NBestHypothesis, RecognizerNBest
from .forced import force
from .model_files import REMEDY, Floats
from .search import MoonshineModel, SearchResult, TokenHypothesis, beam_search, load_model
from .words import MoonshineTokenizer, Reals, WordTokens, read_tokenizer, token_spans, word_times

BEAM = 10  # and as many hypotheses
TOKENS_A_SECOND, TOKENS_MORE = 6.5, 10  # no text is longer than this: no speech is, only endless repetition
SHORTEST = 0.25  # seconds; for less it makes words up
LONGEST = 30.0  # seconds; it breaks down on more

_PACKAGE = "moonshine-voice"
_VERSION_WITH_WEIGHTS = "0.0.65"
_NAMES = {288: "moonshine-tiny", 416: "moonshine-base"}  # by hidden size


@dataclass(frozen=True)
class MoonshineRecognizer:
    """A loaded Moonshine."""

    identity: RecognizerIdentity
    model: MoonshineModel
    tokenizer: MoonshineTokenizer

    @property
    def encodings(self) -> KeptEncodings[Any]:
        """What its encoder made of the last segments."""
        return self.model.encodings

    def recognize(self, samples: Samples) -> NBestRecord:
        """Ten hypotheses of one segment; one without words if it is silence, or too short to hold a word."""
        duration = _checked_duration(samples)
        if _is_silent(samples, duration):
            return {"duration": round(duration, 3), **NOTHING}
        decoder = self.model.encode(samples)
        result = beam_search(decoder, beam=BEAM, max_tokens=max_tokens(duration))
        return self.record(result, decoder.fits, duration)

    def score_texts(self, samples: Samples, texts: Sequence[Sequence[str]]) -> list[ForcedScores]:
        """What it thinks of each of these texts; one encoder pass, no search."""
        if not texts or _is_silent(samples, _checked_duration(samples)):
            return [unscored(text) for text in texts]
        spelled = [[self.tokenizer.encode(word) for word in spaced(text)] for text in texts]
        scored = force(self.model.encode(samples), [list(chain.from_iterable(words)) for words in spelled])
        return [
            word_scores([len(word) for word in words], *tokens) for words, tokens in zip(spelled, scored, strict=True)
        ]

    def record(self, result: SearchResult, fits: Sequence[Floats], duration: float) -> NBestRecord:
        """A search result as an N-best record; `fits` of every step say which frames fit what comes next."""
        averages = [hypothesis.score / (len(hypothesis.tokens) + 1) for hypothesis in result.hypotheses]
        return RecognizerNBest(
            self._timed(result, fits, duration),
            best_avg=int(np.argmax(averages)),
            duration=round(duration, 3),
            empty_logprob=round(result.empty_logprob, 4),
        ).to_record()

    def _timed(self, result: SearchResult, fits: Sequence[Floats], duration: float) -> list[NBestHypothesis]:
        """Hypotheses with the times of all their words."""
        hypotheses = result.hypotheses
        words = [self.tokenizer.words(hypothesis.tokens.tolist()) for hypothesis in hypotheses]
        begins = [
            np.isin(np.arange(len(hypothesis.rows)), [word.first for word in of_hypothesis])
            for hypothesis, of_hypothesis in zip(hypotheses, words, strict=True)
        ]
        paths = [np.stack([fits[step][row] for step, row in enumerate(one.rows.tolist())]) for one in hypotheses]
        times = [
            word_times(spans, of_hypothesis, duration)
            for spans, of_hypothesis in zip(token_spans(paths, begins), words, strict=True)
        ]
        return [
            replace(
                _hypothesis(
                    hypothesis, self.tokenizer.text(hypothesis.tokens.tolist()), of_hypothesis, starts_and_ends
                ),
                **result.evidence(hypothesis).to_fields(),
            )
            for hypothesis, of_hypothesis, starts_and_ends in zip(hypotheses, words, times, strict=True)
        ]


def max_tokens(duration: float) -> int:
    """The longest text that the search considers."""
    return int(TOKENS_A_SECOND * duration) + TOKENS_MORE


def _hypothesis(hypothesis: TokenHypothesis, text: str, words: Sequence[WordTokens], times: Reals) -> NBestHypothesis:
    tokens, logprobs = hypothesis.tokens.tolist(), hypothesis.logprobs
    return NBestHypothesis(
        score=round(hypothesis.score, 4),
        text=text,
        words=[
            HypothesisWord(
                word.text, start, end, round(float(logprobs[word.first : word.last].sum()), 4), word.last - word.first
            )
            for word, (start, end) in zip(words, times.tolist(), strict=True)
        ],
        avg_logprob=round(hypothesis.score / (len(tokens) + 1), 5),
        eot_logprob=round(hypothesis.end, 4),
        token_ids=tokens,
        token_logprobs=np.round(logprobs, 4).tolist(),
    )


def _is_silent(samples: Samples, duration: float) -> bool:
    return duration < SHORTEST or not samples.any()


def _checked_duration(samples: Samples) -> float:
    """The length of samples in seconds; InputError if they cannot be recognised."""
    if samples.ndim != 1 or not np.isfinite(samples).all():
        raise InputError("samples must be one row of finite numbers", remedy="Mix or choose channels first")
    duration = len(samples) / RATE
    if duration > LONGEST:
        remedy = f"Split it into pieces of at most {LONGEST:.0f} s, at silences"
        raise InputError(f"{duration:.1f} s of speech in one piece", remedy=remedy)
    return duration


def load(model: str | None = None, *, threads: int = 1) -> MoonshineRecognizer:
    """Moonshine tiny from the wheel, or the model of a folder."""
    folder = Path(model) if model else weights_folder()
    if not folder.is_dir():
        raise OptionError(f"{folder}: no folder. Moonshine needs one with encoder, decoder and tokenizer")
    tokenizer = read_tokenizer(folder)
    loaded = load_model(folder, n_text_tokens=tokenizer.n_text_tokens, best=BEAM + 1, threads=threads)
    if len(tokenizer) != loaded.sizes.tokens:
        message = f"{len(tokenizer)} tokens in the tokenizer, and {loaded.sizes.tokens} in the decoder"
        raise InputError(message, file=str(folder), remedy=REMEDY)
    named = {"model": folder.resolve().name} if model else {}
    identity = RecognizerIdentity(
        name=_NAMES.get(loaded.sizes.hidden, folder.name),
        version="folder" if model else version(_PACKAGE),
        settings={**named, "beam": BEAM, "tokens_a_second": TOKENS_A_SECOND, "tokens_more": TOKENS_MORE},
    )
    return MoonshineRecognizer(identity, loaded, tokenizer)


def weights_folder() -> Path:
    """Where the package has its weights. It is not imported: it would look for a microphone."""
    spec = find_spec("moonshine_voice")
    for location in (spec and spec.submodule_search_locations) or ():
        folder = Path(location, "assets", "tiny-en")
        if folder.is_dir():
            return folder
    raise OptionError(
        f"{_PACKAGE} has no weights here, only {_VERSION_WITH_WEIGHTS} has: "
        f'pip install "{_PACKAGE}=={_VERSION_WITH_WEIGHTS}", or give a folder: --recognizer moonshine=FOLDER'
    )
