"""JSON before its layout is known: the values of a text one after the other, and the keys in its first bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from json import JSONDecoder
from typing import Any

from ..base.errors import InputError

HEAD_CUT = 60_000  # a longer head may end within the document

_DECODER = JSONDecoder()
_NO_SPACE = re.compile(r"\S")


def decoded(data: bytes) -> str:
    """A text in UTF-8, with or without a byte order mark."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"not UTF-8: byte {error.start} is {data[error.start : error.start + 1]!r}",
            place=f"line {line}",
            remedy="Save the file as UTF-8",
        ) from None


def documents(text: str) -> Iterator[Any]:
    """The JSON values of a text, one a line or simply one after the other."""
    found = _NO_SPACE.search(text)
    while found:
        try:
            value, place = _DECODER.raw_decode(text, found.start())
        except RecursionError:
            raise InputError("JSON nested too deeply", remedy="No recognizer writes such a thing") from None
        except ValueError as error:
            raise InputError(
                f"not JSON: {error}", remedy="The text is damaged or cut off, or this is another format"
            ) from None
        yield value
        found = _NO_SPACE.search(text, place)


@dataclass(frozen=True, slots=True)
class Outline:
    """The keys of a JSON text as far as its first bytes go."""

    top: frozenset[str]  # of the outermost objects: of the document, or of those in its outermost list
    keys: frozenset[str]  # of all objects
    listed: bool  # the outermost value is a list
    in_text: bool  # the bytes end within a string

    def has(self, *keys: str) -> bool:
        """Whether all these keys are somewhere."""
        return self.keys.issuperset(keys)


# A string (up to its end, or that of the bytes; so it is looked at once) and whether it is a key, or a bracket.
_TOKEN = re.compile(rb'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*+)(?:(?P<closed>")(?P<key>\s*+:)?)?|[\[\]{}]', re.DOTALL)


@lru_cache(maxsize=4)
def outline(head: bytes) -> Outline | None:
    """The outline of a JSON text; None if it begins like no JSON object or list, or is one of our own formats."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if start not in (b"{", b"["):
        return None
    top: set[str] = set()
    keys: set[str] = set()
    depth, in_text, top_depth = 0, False, 1 + (start == b"[")
    for token in _TOKEN.finditer(head):
        if token["text"] is None:
            depth += 1 if token[0] in b"[{" else -1
        elif token["key"]:
            key = token["text"].decode("utf-8", "replace")
            keys.add(key)
            if depth == top_depth:
                top.add(key)
        else:
            in_text = not token["closed"]
    if "utt" in top or "nbest" in keys:
        return None
    return Outline(frozenset(top), frozenset(keys), start == b"[", in_text and len(head) >= HEAD_CUT)
