"""JSON files of recognizers: their documents, the objects in these, and the keys in the first bytes for sniffing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from json import JSONDecoder
from typing import Any

from ...base import json_checks
from ...base.errors import InputError

HEAD_CUT = 60_000  # a longer head may end within the document

_DECODER = JSONDecoder()
_NO_SPACE = re.compile(r"\S")


def decode_utf8(data: bytes) -> str:
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


def iterate_documents(text: str) -> Iterator[Any]:
    """The JSON values of a text, one per line or simply one after the other."""
    match = _NO_SPACE.search(text)
    while match:
        try:
            value, end = _DECODER.raw_decode(text, match.start())
        except RecursionError:
            raise InputError("JSON nested too deeply", remedy="No recognizer writes such a thing") from None
        except ValueError as error:
            raise InputError(
                f"not JSON: {error}", remedy="The text is damaged or cut off, or this is another format"
            ) from None
        yield value
        match = _NO_SPACE.search(text, end)


def load_documents(text: str) -> tuple[list[Any], InputError | None]:
    """The JSON documents of a text up to the first damaged one, and what is wrong with that. At least one."""
    documents: list[Any] = []
    damage = None
    try:
        for document in iterate_documents(text):
            documents.append(document)  # one by one: what came before an error stays
    except InputError as error:
        damage = error
    if not documents:
        raise damage or InputError("there is no JSON in the file")
    return documents, damage


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object in a document that nobody has checked, and its path in there for messages: `words[3]`.

    Fields are checked as they are read. Those that go by several names are found by the first that is there.
    """

    fields: dict[str, Any]
    path: str = ""

    @classmethod
    def of(cls, value: Any, called: str) -> JsonObject:
        """A document that has to be an object; a message calls it so."""
        return cls(json_checks.record(value, called))

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def name_of(self, *names: str) -> str:
        """The first of these names that the object has a value for; the first of all where it has none."""
        return next((name for name in names if self.fields.get(name) is not None), names[0])

    def get(self, *names: str) -> Any:
        """A field of any type; None where it is absent."""
        return self.fields.get(self.name_of(*names))

    def number(self, *names: str) -> float:
        """A finite number."""
        return json_checks.number(self.fields, self.name_of(*names), self.path)

    def number_or_none(self, *names: str) -> float | None:
        """A finite number, or None where the field is absent or null."""
        return json_checks.number_or_none(self.fields, self.name_of(*names), self.path)

    def spelled_number(self, *names: str) -> float:
        """A finite number, or a string that spells one, as some services write them."""
        value = self.get(*names)
        if isinstance(value, str):
            return json_checks.number_in(value, self.path_to(self.name_of(*names)))
        return self.number(*names)

    def string(self, *names: str) -> str:
        """A string."""
        return json_checks.string(self.fields, self.name_of(*names), self.path)

    def text(self, *names: str) -> str:
        """A string, empty where the field is absent or null."""
        return json_checks.string_or_none(self.fields, self.name_of(*names), self.path) or ""

    def child(self, name: str) -> JsonObject:
        """An object in the object."""
        return JsonObject(json_checks.object_of(self.fields, name, self.path), self.path_to(name))

    def children(self, *names: str) -> list[JsonObject]:
        """A list of objects in the object."""
        name = self.name_of(*names)
        items = json_checks.objects_of(self.fields, name, self.path)
        return [JsonObject(item, f"{self.path_to(name)}[{index}]") for index, item in enumerate(items)]

    def optional_children(self, *names: str) -> list[JsonObject]:
        """A list of objects, empty where the field is absent or null."""
        return [] if self.get(*names) is None else self.children(*names)

    def path_to(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}" if self.path else name


@dataclass(frozen=True, slots=True)
class JsonKeys:
    """The keys of a JSON text as far as its first bytes go."""

    top: frozenset[str]  # of the outermost objects: of the document, or of those in its outermost list
    anywhere: frozenset[str]  # of all objects
    listed: bool  # the outermost value is a list
    in_text: bool  # the bytes end within a string

    def has(self, *keys: str) -> bool:
        """Whether all these keys occur somewhere."""
        return self.anywhere.issuperset(keys)


# A string (up to its end, or that of the bytes, so that it is scanned once) and whether it is a key, or a bracket.
_TOKEN = re.compile(rb'"(?P<text>[^"\\]*+(?:\\.[^"\\]*+)*+)(?:(?P<closed>")(?P<key>\s*+:)?)?|[\[\]{}]', re.DOTALL)


def json_keys(head: bytes) -> JsonKeys | None:
    """The keys of a JSON text of others; None if it is none, or one of our own formats."""
    keys = scan_keys(head)
    return None if keys is None or {"utt", "wordtrust"} & keys.top or keys.has("nbest") else keys


@lru_cache(maxsize=4)
def scan_keys(head: bytes) -> JsonKeys | None:
    """The keys of a JSON text; None if it does not begin like a JSON object or list."""
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
    return JsonKeys(frozenset(top), frozenset(keys), start == b"[", in_text and len(head) >= HEAD_CUT)


def json_sniffer(likelihood: Callable[[JsonKeys], float]) -> Callable[[bytes, str], float]:
    """The sniffer of a JSON format: how surely it is that format, from 0 to 1, judged by the keys."""

    def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the content says enough
        keys = json_keys(head)
        return 0.0 if keys is None else likelihood(keys)

    return sniff
