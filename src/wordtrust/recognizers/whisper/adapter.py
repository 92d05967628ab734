"""Whisper by CTranslate2: a beam search of ten hypotheses with scores, each with word times and log-probabilities.

The audio is padded with silence to the 30 s that Whisper listens to and encoded once; CTranslate2 searches; one pass
of our own over the decoder tells of all hypotheses how probable each token was and when it was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
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
from ..base import Identity, Record
from .align import token_starts
from .config import read_config
from .decoder import Decoder, Vocabulary
from .names import name_of_folder, name_of_model
from .weights import read_weights
from .words import Hypothesis, to_record

BEAM = 10
WINDOW = 30  # seconds that Whisper listens to at once
_FRAME = 320  # samples a frame of the encoder
_FEWEST, _A_SECOND = 20, 15  # tokens: no speech has more, and a loop need not go on to the 224 that fit
_REMEDY = "Name a folder as CTranslate2 writes them, or a model as faster-whisper knows it"


class WhisperRecognizer:
    """A loaded Whisper model."""

    def __init__(self, folder: Path, identity: Identity, *, threads: int, language: str) -> None:
        weights = read_weights(folder)
        config = read_config(folder, weights.sizes)
        self._model = _load_model(folder, threads)
        self._tokens = _tokenizer(self._model, language)
        vocabulary = Vocabulary(
            prompt=[*self._tokens.sot_sequence, self._tokens.no_timestamps],
            end=self._tokens.eot,
            suppressed=config.suppressed,
            suppressed_first=config.suppressed_first,
        )
        self._decoder = Decoder(weights, vocabulary, config.heads)
        self._blas = ThreadpoolController()
        self._threads = threads
        self.identity = identity

    def recognize(self, samples: Samples) -> Record:
        """An N-best list of at most ten hypotheses."""
        seconds = len(samples) / RATE
        if seconds > WINDOW:
            raise InputError(f"a piece of {seconds:.1f} s: Whisper listens to {WINDOW} s at once")
        if len(samples) < _FRAME:
            return {"nbest": [{"score": 0.0, "words": []}]}
        encoded = self._encode(samples)
        found = self._search(encoded, seconds)
        with self._blas.limit(limits=self._threads, user_api="blas"):
            said = self._heard(np.array(encoded)[0], found.sequences_ids, len(samples) // _FRAME)
        return {**to_record(said, self._tokens.decode), "no_speech_prob": round(found.no_speech_prob, 4)}

    def _encode(self, samples: Samples) -> ctranslate2.StorageView:
        padded = np.pad(samples, (0, WINDOW * RATE - len(samples)))
        features = self._model.feature_extractor(padded, padding=0)[None]
        view = ctranslate2.StorageView.from_array(np.ascontiguousarray(features, np.float32))
        return self._model.model.encode(view, to_cpu=True)

    def _search(self, encoded: ctranslate2.StorageView, seconds: float) -> Any:
        prompt = list(self._decoder.vocabulary.prompt)
        most = min(224, _FEWEST + round(_A_SECOND * seconds))
        (found,) = self._model.model.generate(
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
        return found

    def _heard(self, encoded: Any, hypotheses: list[list[int]], frames: int) -> list[Hypothesis]:
        spell = self._tokens.tokenizer.id_to_token
        prompt = len(self._decoder.vocabulary.prompt)
        return [
            Hypothesis(
                tokens,
                [spell(token) or "" for token in tokens],
                heard.logprobs,
                token_starts(heard.attention, frames, prompt),
            )
            for tokens, heard in zip(hypotheses, self._decoder.hear(encoded, hypotheses), strict=True)
        ]


def load(model: str | None = None, *, threads: int = 1) -> WhisperRecognizer:
    """Whisper from a folder, or by a name that faster-whisper knows (it fetches what is not on this machine yet).

    A language other than English comes after an @: `base@de`. Models of confidence are for English, and by its name
    (`whisper-base@de`) the recognizer is none of those that they know.
    """
    if not model:
        raise OptionError(f"whisper needs a model, such as whisper=base.en. {_REMEDY}")
    model, language = _parts(model)
    folder = Path(model).expanduser()
    if folder.is_dir():
        used = folder.resolve().name
        name = name_of_folder(used, read_weights(folder).sizes)
    else:
        used, name, folder = model, name_of_model(model), _fetch(model)
    settings: Mapping[str, Any] = {"model": used, "beam": BEAM, "compute": "float32", "language": language}
    engine = f"faster-whisper {version('faster-whisper')}, ctranslate2 {ctranslate2.__version__}"
    identity = Identity(name if language == "en" else f"{name}@{language}", engine, settings, pick="average")
    return WhisperRecognizer(folder, identity, threads=threads, language=language)


def _parts(model: str) -> tuple[str, str]:
    """The model and the language; a folder may have an @ in its name."""
    before, at, language = model.rpartition("@")
    if not at or "/" in language or "\\" in language or Path(model).expanduser().is_dir():
        return model, "en"
    if not before or not language:
        raise OptionError(f"whisper={model}: a model and a language are needed, such as whisper=base@de")
    return before, language.lower()


def _fetch(model: str) -> Path:
    """The folder of a model by name."""
    known = available_models()
    if _is_path(model):
        raise InputError("there is no such folder", file=model, remedy=_REMEDY)
    if model not in known and "/" not in model:
        raise OptionError(f"whisper has no model {model!r}, and there is no such folder; it has {', '.join(known)}")
    try:
        return Path(download_model(model))
    except Exception as error:  # the hub's client, its transport and the file system each have their own
        what = str(error).strip().partition("\n")[0]
        raise InputError(
            f"not a folder here, and it could not be fetched: {what or type(error).__name__}",
            file=model,
            remedy=f"Check the name and the network. {_REMEDY}",
        ) from None


def _is_path(model: str) -> bool:
    """Whether this can only be meant for a folder: names of the hub are OWNER/MODEL."""
    return model.startswith((".", "~", "/")) or "\\" in model or model.endswith("/") or model.count("/") > 1


def _load_model(folder: Path, threads: int) -> WhisperModel:
    if not (folder / "tokenizer.json").is_file():
        raise InputError("there is no tokenizer.json", file=str(folder), remedy="Copy it from the model's own folder")
    try:
        return WhisperModel(str(folder), device="cpu", compute_type="float32", cpu_threads=threads)
    except Exception as error:  # engine and tokenizer raise what they like
        what = str(error).strip().partition("\n")[0]
        raise InputError(f"the model cannot be loaded: {what}", file=str(folder), remedy=_REMEDY) from None


def _tokenizer(model: WhisperModel, language: str) -> Tokenizer:
    if language != "en" and not model.model.is_multilingual:
        raise OptionError(f"whisper: this model knows English only, not {language!r}. Name one without .en")
    try:
        made = Tokenizer(model.hf_tokenizer, model.model.is_multilingual, task="transcribe", language=language)
    except ValueError as error:
        raise OptionError(f"whisper: {error}") from None
    special = [*made.sot_sequence, made.no_timestamps, made.eot]
    if not all(isinstance(each, int) for each in special):
        raise InputError(
            "tokenizer.json is not that of a Whisper model", remedy="Copy it from the model's own folder"
        )
    return made
