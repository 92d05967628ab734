"""Moonshine's tokens: what they spell, and which of them make up a word."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...base.errors import InputError
from .files import REMEDY

SPACE = "▁".encode()  # stands for a space
_UNSPOKEN = re.compile(rb"<unk>|<s>|</s>|<<ST_\d+>>")  # tokens that spell nothing
_SPARE = re.compile(rb"<<ST_\d+>>")  # of these, what the model was never taught
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class WordTokens(NamedTuple):
    """A word as it is written, and the tokens that spell it: those from `first` up to, not including, `last`."""

    text: str
    first: int
    last: int


class Tokens:
    """The tokens of a model by number."""

    def __init__(self, spelled: Sequence[bytes]) -> None:
        self._spelled = [b"" if _UNSPOKEN.fullmatch(each) else each.replace(SPACE, b" ") for each in spelled]
        self.spoken = next((place for place, each in enumerate(spelled) if _SPARE.fullmatch(each)), len(spelled))

    def __len__(self) -> int:
        return len(self._spelled)

    def text(self, tokens: Iterable[int]) -> str:
        """What tokens spell, with single spaces."""
        return " ".join(self._bytes(tokens).decode("utf-8", "replace").split())

    def words(self, tokens: Sequence[int]) -> list[WordTokens]:
        """The words of a text. Every token belongs to one: a lone space to the next, at the end to the last."""
        firsts = [0]
        for place, token in enumerate(tokens):
            if self._spelled[token][:1].isspace() and self.text(tokens[firsts[-1] : place]):
                firsts.append(place)
        if len(firsts) > 1 and not self.text(tokens[firsts[-1] :]):
            firsts.pop()
        spans = zip(firsts, [*firsts[1:], len(tokens)], strict=True)
        found = [WordTokens(self.text(tokens[first:last]), first, last) for first, last in spans]
        return [word for word in found if word.text]

    def _bytes(self, tokens: Iterable[int]) -> bytes:
        return b"".join(self._spelled[token] for token in tokens)


def read_tokens(folder: Path) -> Tokens:
    """The tokens of a model's folder, from tokenizer.bin or, where there is none, tokenizer.json."""
    plain, described = folder / "tokenizer.bin", folder / "tokenizer.json"
    path = described if described.is_file() and not plain.is_file() else plain
    try:
        content = path.read_bytes()
        return Tokens(_described(json.loads(content)) if path == described else _listed(content))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=str(path), remedy=REMEDY) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError("not a list of tokens as Moonshine has it", file=str(path), remedy=REMEDY) from None


def _listed(content: bytes) -> list[bytes]:
    """Byte strings one after another, each behind its length: one byte, or two from 128 on, the lower first."""
    found, place = [], 0
    while place < len(content):
        length = content[place]
        place += 1
        if length >= 128:
            length += 128 * (content[place] - 1)
            place += 1
        if place + length > len(content):
            raise ValueError("the last token is cut off")
        found.append(content[place : place + length])
        place += length
    return found


def _described(tokenizer: Any) -> list[bytes]:
    """A description as Hugging Face's tokenizers write it: pieces with their numbers, bytes as <0x41>."""
    numbers = dict(tokenizer["model"]["vocab"])
    numbers |= {each["content"]: each["id"] for each in tokenizer.get("added_tokens", [])}
    pieces = {int(number): piece for piece, number in numbers.items()}
    if sorted(pieces) != list(range(len(pieces))):
        raise ValueError("the numbers of the tokens have gaps")
    return [_piece(pieces[number]) for number in range(len(pieces))]


def _piece(text: str) -> bytes:
    match = _BYTE.fullmatch(text)
    return bytes([int(match[1], 16)]) if match else text.encode("utf-8", "replace")
