"""Language models by the name of their file or folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from ..base.errors import InputError, OptionError
from ..base.installation import install_command
from .language_model import LanguageModel

_NEEDED = ("transformers", "torch")
_NEEDED_FOR_GGUF = ("gguf", "accelerate")


def load_language_model(model: str | Path, *, device: str = "auto", threads: int | None = None) -> LanguageModel:
    """An ARPA file, scored sentences (`python -m wordtrust.language_models`), or a causal model of transformers.

    A causal model is a folder, a .gguf file, or a name on the hub; it needs the extra `lm`.
    """
    path = Path(model)
    if path.is_file():
        head = _head(path)
        from .arpa import ArpaModel, is_arpa
        from .scored_sentences import ScoredSentences, is_tensor_file

        if is_arpa(head):
            return ArpaModel.load(path)
        if is_tensor_file(head):
            return ScoredSentences.load(path)
        require_packages(_NEEDED_FOR_GGUF)
    elif not path.is_dir() and (path.suffix in (".gguf", ".arpa", ".gz") or path.is_absolute()):
        raise InputError("there is no such file or folder", file=str(model), remedy="Name a language model")
    require_packages(_NEEDED)
    os.environ.setdefault("TQDM_DISABLE", "1")  # transformers would draw bars while it unpacks a GGUF file
    from .causal import CausalLanguageModel

    return CausalLanguageModel.load(model, device=device, threads=threads)


def _head(path: Path) -> bytes:
    from ..formats.inputs import unpacked

    try:
        with open(path, "rb") as file:
            return unpacked(file, str(path), path).head()
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(path)) from None


def require_packages(names: Sequence[str]) -> None:
    """Say what to install where a package is missing that causal models need."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        needed = " and ".join(missing)
        raise OptionError(f"this language model needs {needed}, not installed here: {install_command('lm')}")
