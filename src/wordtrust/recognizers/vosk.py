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
from ..formats.vosk import VoskAlternative, alternatives_of
from .base import Identity, Record

ALTERNATIVES = 100  # at most; more cost nothing, and models of confidence make use of them
_REMEDY = "Name a folder with a Vosk model, unpacked: the one in which am/, conf/ and graph/ lie"
_LAYOUTS = ("am/final.mdl", "final.mdl")  # what tells a model of Vosk, new and old
_LANGUAGE = re.compile(r"vosk-model-(?:small-)?([a-z]{2})(?:-|$)")  # as models are called: vosk-model-small-de-0.15
_NOTHING: Record = {"nbest": [{"score": 0.0, "words": []}]}


class VoskRecognizer:
    """A loaded model of Vosk."""

    def __init__(self, model: Any, identity: Identity) -> None:
        self._model = model
        self.identity = identity

    def recognize(self, samples: Samples) -> Record:
        """An N-best list."""
        whole = np.clip(np.rint(samples * 32768.0), -32768, 32767).astype("<i2")
        _seed_dither()
        recognizer = vosk.KaldiRecognizer(self._model, float(RATE))
        recognizer.SetMaxAlternatives(ALTERNATIVES)
        recognizer.SetWords(True)
        if len(whole):
            recognizer.AcceptWaveform(whole.tobytes())
        return to_record(json.loads(recognizer.FinalResult()))


def to_record(result: dict[str, Any]) -> Record:
    """What Vosk prints with alternatives, as an N-best list."""
    alternatives = alternatives_of(result)
    if not any(alternative.words for alternative in alternatives):
        return _NOTHING
    return {"nbest": [_hypothesis(alternative) for alternative in alternatives]}


def _hypothesis(alternative: VoskAlternative) -> dict[str, Any]:
    words = [
        {"word": word.text, "start": word.start, "end": word.end}
        for word in alternative.words
        if word.start is not None
    ]
    return {"score": alternative.score, "text": " ".join(word.text for word in alternative.words), "words": words}


def load(model: str | None = None, *, threads: int = 1) -> VoskRecognizer:  # noqa: ARG001  # Vosk works on one
    """A model of Vosk from its folder."""
    if not model:
        raise OptionError(f"vosk needs a model: vosk=FOLDER. {_REMEDY}")
    folder = Path(model).expanduser()
    if not folder.is_dir():
        raise InputError("there is no such folder", file=model, remedy=_REMEDY)
    if not any((folder / each).is_file() for each in _LAYOUTS):
        raise InputError("no Vosk model is in this folder: it has no am/final.mdl", file=model, remedy=_REMEDY)
    name = folder.resolve().name
    settings = {"model": name, "alternatives": ALTERNATIVES}
    return VoskRecognizer(_load_model(folder), Identity(name_of_folder(name), version("vosk"), settings))


def name_of_folder(folder: str) -> str:
    """`vosk`, and the language after it where the folder's name tells another than English.

    The model of confidence for `vosk` is one for English.
    """
    found = _LANGUAGE.match(folder.lower())
    return f"vosk-{found[1]}" if found and found[1] != "en" else "vosk"


def _load_model(folder: Path) -> Any:
    vosk.SetLogLevel(-1)
    try:
        found = vosk.Model(str(folder))
        vosk.KaldiRecognizer(found, float(RATE))  # what is missing from graph/ shows only now
    except Exception:  # the library has no kinds of errors, and says on stderr what it did not like
        raise InputError(
            "Vosk cannot load this model: files are missing or damaged",
            file=str(folder),
            remedy="Unpack the model again",
        ) from None
    return found


def _seed_dither() -> None:
    """Kaldi adds noise of the C library's random numbers to the audio: the same audio shall give the same words."""
    library = _c_library()
    if library is not None:
        library.srand(1)


@cache
def _c_library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):  # as on Windows
        return None
