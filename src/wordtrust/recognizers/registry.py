"""The recognizers that can be used, found without importing any: ours, and others by their entry points."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from ..base.errors import OptionError
from ..base.installation import install_command
from .base import Recognizer

GROUP = "wordtrust.recognizers"
ENGLISH, NAMED = "en", "@"


@dataclass(frozen=True, slots=True)
class RecognizerEntry:
    """A recognizer that can be named, whether or not what it needs is installed."""

    name: str
    description: str
    module: str
    needs: tuple[str, ...] = ()  # modules
    install: str = ""  # how to get them
    needs_model: bool = False  # --recognizer NAME=MODEL
    default: str | None = None  # a model that the engine may have to download
    language: str | None = None  # en: it knows no other; @: MODEL@LANGUAGE; None: that of its model

    @property
    def missing(self) -> list[str]:
        """Modules that it needs and that are not installed."""
        return [name for name in self.needs if not _is_installed(name)]

    @property
    def is_ready(self) -> bool:
        """Whether it can be loaded."""
        return not self.missing

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON."""
        return {
            "name": self.name,
            "ready": self.is_ready,
            "about": self.description,
            "missing": self.missing,
            "install": self.install,
            "needs_model": self.needs_model,
        }


def _ours() -> tuple[RecognizerEntry, ...]:
    """Those of this package, the best first: `auto` takes the first that is installed and needs no further model."""
    return (
        RecognizerEntry(
            "moonshine",
            "Moonshine tiny, its weights inside the wheel moonshine-voice 0.0.65, or a folder with Moonshine base",
            "wordtrust.recognizers.moonshine.adapter",
            ("onnxruntime", "onnx", "moonshine_voice"),
            install_command("audio"),
            language=ENGLISH,
        ),
        RecognizerEntry(
            "whisper",
            "Whisper by CTranslate2: whisper=tiny.en, small, base@de (German), or a folder; without a name, base",
            "wordtrust.recognizers.whisper.adapter",
            ("faster_whisper",),
            install_command("whisper"),
            default="base",
            language=NAMED,
        ),
        RecognizerEntry(
            "vosk",
            "Kaldi models by Vosk: vosk=FOLDER",
            "wordtrust.recognizers.vosk",
            ("vosk",),
            install_command("vosk"),
            needs_model=True,
        ),
        RecognizerEntry(
            "transformers",
            "CTC models (wav2vec 2.0 and kin) by transformers: transformers=FOLDER or a hub name",
            "wordtrust.recognizers.ctc.adapter",
            ("transformers", "torch"),
            install_command("transformers"),
            needs_model=True,
        ),
        RecognizerEntry(
            "pocketsphinx",
            "PocketSphinx en-us, everything inside the wheel: weak, but gives full lattices",
            "wordtrust.recognizers.pocketsphinx.adapter",
            ("pocketsphinx",),
            install_command("pocketsphinx"),
            language=ENGLISH,
        ),
    )


def entries() -> list[RecognizerEntry]:
    """All recognizers, ours first, the best of them first."""
    ours = _ours()
    names = {entry.name for entry in ours}
    others = {point.name: point for point in entry_points(group=GROUP) if point.name not in names}
    return [*ours, *(_plugin_entry(others[name]) for name in sorted(others))]


def _plugin_entry(point: EntryPoint) -> RecognizerEntry:
    package = point.dist.name if point.dist else point.module
    return RecognizerEntry(
        point.name, f"by the package {package}", point.module, (point.module,), "its module is missing"
    )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a broken package is not there either
        return False


def find(name: str) -> RecognizerEntry:
    """The recognizer of this name, ready to be loaded; `auto` is the best one that comes with its model."""
    available = entries()
    if name == "auto":
        ready = [entry for entry in available if entry.is_ready and not entry.needs_model and entry.default is None]
        if not ready:
            raise OptionError(f"no recognizer is installed. The smallest step: {install_command('audio')}")
        return ready[0]
    for entry in available:
        if entry.name == name:
            if not entry.is_ready:
                raise OptionError(f"{name} needs {' and '.join(entry.missing)}, not installed here: {entry.install}")
            return entry
    names = ", ".join(entry.name for entry in available)
    raise OptionError(f"there is no recognizer {name!r}; there are {names} and auto")


def with_language(spec: str, language: str | None) -> str:
    """`NAME` or `NAME=MODEL` for a language, such as de; None is what the recognizer does by itself, English."""
    if language is None or (spec == "auto" and language.lower() == ENGLISH):
        return spec
    language = language.strip().lower()
    if not re.fullmatch("[a-z]{2,3}(-[a-z]+)?", language):
        raise OptionError(f"the language is {language!r}, not a code such as en, de or fr")
    name, _, model = spec.partition("=")
    entry = find("whisper" if name.strip() == "auto" else name.strip())
    if entry.language == NAMED and (model or entry.default):
        model = (model or entry.default or "").strip()
        return f"{entry.name}={model}" if language == ENGLISH else f"{entry.name}={model}@{language}"
    if entry.language == ENGLISH != language:
        raise OptionError(f"{entry.name} knows English only, whisper=base others: name it with --language {language}")
    return spec


def loader(spec: str, *, threads: int = 1) -> Callable[[], Recognizer]:
    """A function that loads the recognizer of `NAME` or `NAME=MODEL`; the name is checked at once."""
    name, _, model = spec.partition("=")
    entry = find(name.strip())
    if entry.needs_model and not model:
        raise OptionError(f"{entry.name} needs a model: --recognizer {entry.name}=MODEL ({entry.description})")
    return partial(_load, entry.module, model.strip() or entry.default, threads)


def _load(module: str, model: str | None, threads: int) -> Recognizer:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else onnxruntime records and sends events of its use
    load = getattr(import_module(module), "load", None)
    if load is None:
        raise OptionError(f"{module} has no function `load`, so it is no recognizer (docs/audio.md)")
    recognizer: Recognizer = load(model, threads=threads)
    return recognizer
