"""What a browser makes of a page: elements with their attributes, text, style and script, and marked words."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

_VOID = ("meta", "input", "br")


def page_data(page: str) -> dict[str, Any]:
    """What the script of a page of a transcript is given, as a browser reads it."""
    found = re.search('<script type="application/json" id="transcript">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1], parse_constant=_no_json)  # type: ignore[no-any-return]


def _no_json(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


class HtmlPage(HTMLParser):
    """A page, or a piece of one, whose elements are all closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.inside: dict[str, str] = {}  # of style and script
        self.texts: list[str] = []
        self.words: list[tuple[dict[str, str], str]] = []  # elements with `data-c`, and their text
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    @property
    def text(self) -> str:
        """All text with single spaces."""
        return " ".join(" ".join(self.texts).split())

    def attributes(self, tag: str) -> list[dict[str, str]]:
        """Those of every element with this tag."""
        return [attributes for name, attributes in self.elements if name == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        attributes = {name: value or "" for name, value in attrs}
        assert len(attributes) == len(attrs)
        self.elements.append((tag, attributes))
        if tag not in _VOID:
            self._open.append(tag)
        if "data-c" in attributes:
            self.words.append((attributes, ""))

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Text of the innermost element."""
        if self._open[-1:] in (["style"], ["script"]):
            self.inside[self._open[-1]] = data
            return
        self.texts.append(data)
        if self._open[-1:] == ["span"] and self.words and "p" in self._open and not self.words[-1][1]:
            self.words[-1] = (self.words[-1][0], data)
