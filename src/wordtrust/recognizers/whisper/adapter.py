"""Whisper by CTranslate2: a beam search of ten hypotheses with scores, word times and log-probabilities.

The audio is padded with silence to the 30 s that Whisper listens to and encoded once; CTranslate2 searches; a pass of
our own over the decoder computes how probable each token of every hypothesis was, and when it was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
from faster_whisper import WhisperModel, available_models
from faster_whisper.tokenizer import Tokenizer
from faster_whisper.utils import download_model
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

from ...audio import RATE, Samples
from ...base.errors import InputError, OptionError
from ..base import NOTHING, ForcedScores, NBestRecord, RecognizerIdentity
from ..forced import spaced, unscored, word_scores
from ..kept_encodings import KeptEncodings
from ..languages import LANGUAGE
from .decoder import ForcedHypothesis, SpecialTokens, WhisperDecoder
from .model_files import name_of_folder, name_of_model, read_config, read_weights
from .words import TimedHypothesis, nbest, token_starts

BEAM = 10
WINDOW = 30  # seconds that Whisper listens to at once
_FRAME = 320  # samples per frame of the encoder
_FEWEST, _A_SECOND = 20, 15  # tokens: no speech has more, and repetition need not go on to the 224 that fit
_REMEDY = "Name a folder as CTranslate2 writes them, or a model as faster-whisper knows it"


class WhisperRecognizer:
    """A loaded Whisper model."""

    def __init__(self, folder: Path, identity: RecognizerIdentity, *, threads: int, language: str) -> None:
        weights = read_weights(folder)
        config = read_config(folder, weights.sizes)
        self._model = _load_model(folder, threads)
        self._tokenizer = _tokenizer(self._model, language)
        special = SpecialTokens(
            prompt=[*self._tokenizer.sot_sequence, self._tokenizer.no_timestamps],
            end=self._tokenizer.eot,
            suppressed=config.suppressed,
            suppressed_first=config.suppressed_first,
        )
        self._decoder = WhisperDecoder(weights, special, config.heads)
        self._blas = ThreadpoolController()
        self._threads = threads
        self.encodings = KeptEncodings(self._encode)
        self.identity = identity

    def recognize(self, samples: Samples) -> NBestRecord:
        """An N-best record of at most ten hypotheses."""
        seconds = _check_length(samples)
        if len(samples) < _FRAME:
            return NOTHING
        encoded = self.encodings.of(samples)
        likely = self._likely_language(encoded)
        searched = self._search(encoded, seconds)
        with self._blas.limit(limits=self._threads, user_api="blas"):
            hypotheses = self.timed(np.array(encoded)[0], searched.sequences_ids, len(samples) // _FRAME)
        record = nbest(hypotheses, self._tokenizer.decode, searched.no_speech_prob).to_record()
        return record if likely is None else {**record, LANGUAGE: likely}

    def score_texts(self, samples: Samples, texts: Sequence[Sequence[str]]) -> list[ForcedScores]:
        """What it thinks of each of these texts; one encoder pass, no search."""
        _check_length(samples)
        if not texts or len(samples) < _FRAME:
            return [unscored(text) for text in texts]
        spelled = [[self._tokenizer.encode(word) for word in spaced(text)] for text in texts]
        tokens = [list(chain.from_iterable(words))[: self._decoder.longest_text] for words in spelled]
        encoded = self.encodings.of(samples)
        with self._blas.limit(limits=self._threads, user_api="blas"):
            forced = self._decoder.force(np.array(encoded)[0], tokens)
        return [_word_scores([len(word) for word in words], one) for words, one in zip(spelled, forced, strict=True)]

    def _likely_language(self, encoded: ctranslate2.StorageView) -> dict[str, Any] | None:
        """The language that was asked for, and what the model takes the speech for; None if it knows English only."""
        if not self._model.model.is_multilingual:
            return None
        told = {
            token.strip("<|>"): round(float(share), 4)
            for token, share in self._model.model.detect_language(encoded)[0]
        }
        asked = self.identity.settings["language"]
        return {"asked": asked, "likely": max(told, key=lambda name: told[name]), "probability": told.get(asked, 0.0)}

    def _encode(self, samples: Samples) -> ctranslate2.StorageView:
        padded = np.pad(samples, (0, WINDOW * RATE - len(samples)))
        features = self._model.feature_extractor(padded, padding=0)[None]
        view = ctranslate2.StorageView.from_array(np.ascontiguousarray(features, np.float32))
        return self._model.model.encode(view, to_cpu=True)

    def _search(self, encoded: ctranslate2.StorageView, seconds: float) -> Any:
        prompt = list(self._decoder.special.prompt)
        most = min(224, _FEWEST + round(_A_SECOND * seconds))
        (searched,) = self._model.model.generate(
            encoded,
            [prompt],
            beam_size=BEAM,
            num_hypotheses=BEAM,
            patience=1,
            length_penalty=0,  # scores are total log-probabilities
            max_length=2 * most,  # the engine gives half of this to the text
            suppress_blank=True,
            return_scores=True,
            return_no_speech_prob=True,
        )
        return searched

    def timed(self, encoded: Any, hypotheses: list[list[int]], frames: int) -> list[TimedHypothesis]:
        """Hypotheses with the log-probability and the time of every token."""
        spell = self._tokenizer.tokenizer.id_to_token
        prompt = len(self._decoder.special.prompt)
        return [
            TimedHypothesis(
                tokens,
                [spell(token) or "" for token in tokens],
                forced.logprobs,
                forced.evidence,
                token_starts(forced.attention, frames, prompt),
            )
            for tokens, forced in zip(hypotheses, self._decoder.force(encoded, hypotheses), strict=True)
        ]


def _word_scores(counts: Sequence[int], forced: ForcedHypothesis) -> ForcedScores:
    """The scores of words with so many tokens each. The end of a text that had to be cut off is not its end."""
    scored = len(forced.logprobs) - (len(forced.logprobs) <= sum(counts))
    return word_scores(counts, forced.logprobs[:scored], np.minimum(forced.evidence.margins[:scored], 0.0))


def _check_length(samples: Samples) -> float:
    """Seconds of samples; InputError if they are too many."""
    seconds = len(samples) / RATE
    if seconds > WINDOW:
        raise InputError(f"a piece of {seconds:.1f} s: Whisper listens to {WINDOW} s at once")
    return seconds


def load(model: str | None = None, *, threads: int = 1) -> WhisperRecognizer:
    """Whisper from a folder, or by a name that faster-whisper knows (which downloads what is not on this machine).

    A language other than English follows an @: `base@de`. Confidence models are for English, and under its name
    (`whisper-base@de`) the recognizer is none of those that they were trained for.
    """
    if not model:
        raise OptionError(f"whisper needs a model, such as whisper=base.en. {_REMEDY}")
    model, language = _split_language(model)
    folder = Path(model).expanduser()
    if folder.is_dir():
        source = folder.resolve().name
        name = name_of_folder(source, read_weights(folder).sizes)
    else:
        source, name, folder = model, name_of_model(model), _fetch(model)
    settings = {"model": source, "beam": BEAM, "compute": "float32", "language": language}
    engine = f"faster-whisper {version('faster-whisper')}, ctranslate2 {ctranslate2.__version__}"
    name = name if language == "en" else f"{name}@{language}"
    identity = RecognizerIdentity(name, engine, settings, pick="average")
    return WhisperRecognizer(folder, identity, threads=threads, language=language)


def _split_language(model: str) -> tuple[str, str]:
    """The model and the language of MODEL@LANGUAGE; a folder may have an @ in its own name."""
    before, at, language = model.rpartition("@")
    if not at or "/" in language or "\\" in language or Path(model).expanduser().is_dir():
        return model, "en"
    if not before or not language:
        raise OptionError(f"whisper={model}: a model and a language are needed, such as whisper=base@de")
    return before, language.lower()


def _fetch(model: str) -> Path:
    """The folder of a model by name."""
    names = available_models()
    if _is_path(model):
        raise InputError("there is no such folder", file=model, remedy=_REMEDY)
    if model not in names and "/" not in model:
        raise OptionError(f"whisper has no model {model!r}, and there is no such folder; it has {', '.join(names)}")
    try:
        return Path(download_model(model))
    except Exception as error:  # the hub's client, its transport and the file system raise their own kinds
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"not a folder here, and it could not be fetched: {reason or type(error).__name__}",
            file=model,
            remedy=f"Check the name and the network. {_REMEDY}",
        ) from None


def _is_path(model: str) -> bool:
    """Whether this can only be a folder: names on the hub are OWNER/MODEL."""
    return model.startswith((".", "~", "/")) or "\\" in model or model.endswith("/") or model.count("/") > 1


def _load_model(folder: Path, threads: int) -> WhisperModel:
    if not (folder / "tokenizer.json").is_file():
        raise InputError("there is no tokenizer.json", file=str(folder), remedy="Copy it from the model's own folder")
    try:
        return WhisperModel(str(folder), device="cpu", compute_type="float32", cpu_threads=threads)
    except Exception as error:  # engine and tokenizer raise what they like
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"the model cannot be loaded: {reason}", file=str(folder), remedy=_REMEDY) from None


def _tokenizer(model: WhisperModel, language: str) -> Tokenizer:
    if language != "en" and not model.model.is_multilingual:
        raise OptionError(f"whisper: this model knows English only, not {language!r}. Name one without .en")
    try:
        tokenizer = Tokenizer(model.hf_tokenizer, model.model.is_multilingual, task="transcribe", language=language)
    except ValueError as error:
        raise OptionError(f"whisper: {error}") from None
    special = [*tokenizer.sot_sequence, tokenizer.no_timestamps, tokenizer.eot]
    if not all(isinstance(token, int) for token in special):
        remedy = "Copy it from the model's own folder"
        raise InputError("tokenizer.json is not that of a Whisper model", remedy=remedy)
    return tokenizer
