"""The script of the page: plain files in the order in which they need each other, as one text."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

FILES = (
    "text", "numbers", "dom",
    "transcript", "history", "edits", "rebase", "storage",
    "summary", "words_view", "marks", "card", "position", "strip", "theme",
    "notice", "dialogs", "find", "speakers", "cues", "subtitles", "nist", "exports", "keys", "editing", "kept_notice",
    "player", "waveform", "network", "compare", "served",
    "promise", "evidence", "review",
)  # fmt: skip  # each defines one object
START = "main"  # starts them on the page


@cache
def page_script() -> str:
    """All of it, as the page has it."""
    return objects_script() + _source(START)


def objects_script() -> str:
    """The objects alone, which do nothing until they are asked: for tests of the script."""
    return '"use strict";\n' + "".join(map(_source, FILES))


def _source(name: str) -> str:
    return (files(__package__) / f"{name}.js").read_text("utf-8")
