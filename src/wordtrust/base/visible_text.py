"""Text from files on its way to a terminal or page: nothing in it acts, all of it is seen.

An utterance, a word or a file may have a name with escape sequences, line ends or marks that turn the direction of
text. Whatever is printed goes through here: errors do by themselves, tables and messages of the command line as well.
"""

from __future__ import annotations

import json
import re
from typing import Any

# Control characters, line ends, what turns the direction of text, halves of characters.
_INVISIBLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with a replacement character for all that would act on a terminal or page instead of being seen."""
    return _INVISIBLE.sub("\ufffd", text)


def visible_lines(text: str) -> str:
    """The same for a text whose line ends are ours."""
    return "\n".join(map(visible, text.split("\n")))


def json_text(value: Any) -> str:
    """JSON on one line, letters as they are; what would act on a terminal is escaped, and comes back when it is read.

    Halves of characters, which no file can hold, become `?`, and what JSON has no word for is written as text.
    """
    return _INVISIBLE.sub(_escaped, json.dumps(value, ensure_ascii=False, default=str))


def _escaped(match: re.Match[str]) -> str:
    return "?" if "\ud800" <= match[0] <= "\udfff" else f"\\u{ord(match[0]):04x}"
