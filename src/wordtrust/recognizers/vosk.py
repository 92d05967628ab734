"""Kaldi models by Vosk: the best paths of its lattice, each with word times and a score, from a model's folder.

A score is the total of acoustic and graph log-likelihood (Vosk calls it `confidence`): hundreds, often above 0, and
comparable within one list only. Words have no scores of their own. How many paths there are depends on the folder's
`conf/model.conf`: with the narrow lattice beam of the small models it is often a handful.
"""

from __future__ import annotations

import ctypes
import json
import re
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import vosk

from ..audio import RATE, Samples
from ..base.errors import InputError, OptionError
from ..formats.onebest.json_documents import JsonObject
from ..formats.onebest.vosk import VoskAlternative, alternatives_of
from .base import NOTHING, NBestRecord, RecognizerIdentity
from .nbest import HypothesisWord, NBestHypothesis, RecognizerNBest

ALTERNATIVES = 100  # at most; they cost nothing, and confidence models make use of them
_REMEDY = "Name a folder with a Vosk model, unpacked: the one in which am/, conf/ and graph/ lie"
_LAYOUTS = ("am/final.mdl", "final.mdl")  # of models of Vosk, new and old
_LANGUAGE = re.compile(r"vosk-model-(?:small-)?([a-z]{2})(?:-|$)")  # of names such as vosk-model-small-de-0.15


class VoskRecognizer:
    """A loaded Vosk model."""

    def __init__(self, model: Any, identity: RecognizerIdentity) -> None:
        self._model = model
        self.identity = identity

    def recognize(self, samples: Samples) -> NBestRecord:
        """An N-best record."""
        pcm = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype("<i2")
        _seed_dither()
        recognizer = vosk.KaldiRecognizer(self._model, float(RATE))
        recognizer.SetMaxAlternatives(ALTERNATIVES)
        recognizer.SetWords(True)
        if len(pcm):
            recognizer.AcceptWaveform(pcm.tobytes())
        return to_record(json.loads(recognizer.FinalResult()))


def to_record(result: dict[str, Any]) -> NBestRecord:
    """Vosk's result with alternatives as an N-best record."""
    alternatives = alternatives_of(JsonObject(result, "its result"))
    if not any(alternative.words for alternative in alternatives):
        return NOTHING
    return RecognizerNBest([_hypothesis(alternative) for alternative in alternatives]).to_record()


def _hypothesis(alternative: VoskAlternative) -> NBestHypothesis:
    words = [HypothesisWord(word.text, word.start, word.end) for word in alternative.words if word.start is not None]
    return NBestHypothesis(alternative.score, " ".join(word.text for word in alternative.words), words)


def load(model: str | None = None, *, threads: int = 1) -> VoskRecognizer:  # noqa: ARG001  # Vosk works on one
    """A Vosk model from its folder."""
    if not model:
        raise OptionError(f"vosk needs a model: vosk=FOLDER. {_REMEDY}")
    folder = Path(model).expanduser()
    if not folder.is_dir():
        raise InputError("there is no such folder", file=model, remedy=_REMEDY)
    if not any((folder / path).is_file() for path in _LAYOUTS):
        raise InputError("no Vosk model is in this folder: it has no am/final.mdl", file=model, remedy=_REMEDY)
    name = folder.resolve().name
    settings = {"model": name, "alternatives": ALTERNATIVES}
    return VoskRecognizer(_load_model(folder), RecognizerIdentity(name_of_folder(name), version("vosk"), settings))


def name_of_folder(folder: str) -> str:
    """`vosk`, followed by the language where the folder's name says another than English.

    The confidence model for `vosk` is one for English.
    """
    match = _LANGUAGE.match(folder.lower())
    return f"vosk-{match[1]}" if match and match[1] != "en" else "vosk"


def _load_model(folder: Path) -> Any:
    vosk.SetLogLevel(-1)
    try:
        model = vosk.Model(str(folder))
        vosk.KaldiRecognizer(model, float(RATE))  # files missing from graph/ show only now
    except Exception:  # the library has no kinds of errors, and prints its reasons to stderr
        message = "Vosk cannot load this model: files are missing or damaged"
        raise InputError(message, file=str(folder), remedy="Unpack the model again") from None
    return model


def _seed_dither() -> None:
    """Seed the C library's random numbers, so that the same audio always gives the same words.

    Kaldi dithers: it adds noise to the audio, drawn from `rand()`, a state of the whole process. Vosk has no option
    for it, and Kaldi's own, `--dither=0` in the model's configuration, would change the features that models and
    confidence models were trained on. So the seed is set before every segment; anything else in the process that
    draws from C's `rand()` sees that. With several jobs each recognizer has a process of its own.
    """
    library = _c_library()
    if library is not None:
        library.srand(1)


@cache
def _c_library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):  # as on Windows
        return None
