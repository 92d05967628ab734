"""Sentences as the tokens of a causal model, and which tokens are which word's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import transformers

from ..base.errors import InputError
from ..lattices.text import JOINER
from .language_model import Sentence
from .tries import TokenizedPath

_REMEDY = (
    "A causal model with its tokenizer is needed: a folder with config.json, tokenizer.json and model.safetensors, a "
    ".gguf file, or a name on the hub"
)


def pretrained(model: str | Path) -> dict[str, str]:
    """How transformers is told which model; refuses at once what cannot be one."""
    path = Path(model)
    if path.is_file():
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise InputError("this is neither a GGUF nor an ARPA file", file=str(path), remedy=_REMEDY)
        return {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    if path.is_dir():
        _check_folder(path)
    return {"pretrained_model_name_or_path": str(model)}


def _check_folder(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        raise InputError("a folder without a config.json is no causal model", file=str(folder), remedy=_REMEDY)
    if any(folder.glob("*.safetensors")):
        return
    if any(folder.glob("*.bin")):
        raise InputError(
            "its weights are in .bin files, which are pickles and can run code; they are not read",
            file=str(folder),
            remedy="Convert them where you trust them: model.save_pretrained(FOLDER) writes model.safetensors",
        )
    raise InputError("a folder without weights (model.safetensors)", file=str(folder), remedy=_REMEDY)


def cannot_load(model: str | Path, error: Exception) -> InputError:
    """What to say when transformers cannot load something."""
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return InputError(f"transformers cannot load this language model: {reason}", file=str(model), remedy=_REMEDY)


class Tokens:
    """The tokenizer of a model."""

    def __init__(self, tokenizer: Any, model: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise InputError("its tokenizer says no places in the text", file=model, remedy="It needs tokenizer.json")
        start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
        if start is None:
            raise InputError("its tokenizer has no token to begin a text with", file=model, remedy=_REMEDY)
        self.start = int(start)
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, model: str | Path) -> Tokens:
        """The tokenizer of a folder, a GGUF file, or a name on the hub."""
        arguments = pretrained(model)
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(**arguments, trust_remote_code=False)
        except Exception as error:  # what transformers and the hub raise about bad models has no common root
            raise cannot_load(model, error) from None
        return cls(tokenizer, str(model))

    def paths(self, utterances: Sequence[Sequence[Sentence]]) -> list[list[TokenizedPath]]:
        """The hypotheses of each utterance as tokens."""
        placed = [_text(sentence) for sentences in utterances for sentence in sentences]
        texts = list(dict.fromkeys(text for text, _ in placed if text))
        known: dict[str, tuple[list[int], Any]] = {"": ([], [])}
        if texts:
            encoded = self._tokenizer(
                texts,
                add_special_tokens=False,
                return_offsets_mapping=True,
                split_special_tokens=True,  # "</s>" in a transcript is text
            )
            known |= dict(zip(texts, zip(encoded["input_ids"], encoded["offset_mapping"], strict=True), strict=True))
        flat = iter([_path(text, begins, *known[text]) for text, begins in placed])
        return [[next(flat) for _ in sentences] for sentences in utterances]


def _text(words: Sentence) -> tuple[str, list[int]]:
    """A sentence as running text, and where in it each word begins, with the space before it."""
    text, begins = "", []
    for word in words:
        is_joined = not text or not word or text.endswith(JOINER)
        text = text.removesuffix(JOINER)
        begins.append(len(text))
        text += word if is_joined else f" {word}"
    return text.removesuffix(JOINER), begins


def _path(text: str, begins: Sequence[int], tokens: list[int], spans: Sequence[tuple[int, int]]) -> TokenizedPath:
    """Which tokens are which word's: one is of the word that its last letter is in, a bare space of the next one."""
    last = [begin + max(len(text[begin:end].rstrip()) - 1, 0) for begin, end in spans]
    word_of = np.maximum.accumulate(np.searchsorted(begins, last, "right") - 1) if last else np.zeros(0, np.int64)
    ends = np.searchsorted(word_of, np.arange(len(begins)), "right")
    return TokenizedPath(tokens, [*ends.tolist(), len(tokens)])
