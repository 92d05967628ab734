"""The page around the words: its head, tools and legend, and the plain text for those who run no scripts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from ...base.version import __version__
from ...base.visible_text import visible
from ..target import accept_threshold
from ..utterance import UtteranceWords
from ..words import HIGH, LOW, clock
from .script import page_script
from .style import security_policy, style_sheet

MOST_LETTERS = 300  # of the title and of what is known about a recording
_TITLED = 3  # recordings that the title names
_NAME = re.compile("@([A-Z]+)@")  # stands for something in page.html
_LEGEND = '<span class="missing">[…]</span> something may be missing here '
_MEDIUM = '<span class="w medium c7 on">under {high}%</span> '


def page_markup(
    segments: Sequence[UtteranceWords], about: Mapping[str, Any], data: str, policy: Sequence[str]
) -> Iterator[str]:
    """page.html with everything in it; `data` is JSON that can stand in a script element."""
    style, script = "\n".join([style_sheet(), _resource("page.css")]), page_script()
    names = list(dict.fromkeys(segment.recording for segment in segments))
    title = _title(names) or Path(str(about.get("file", ""))).stem or "Transcript"
    values = {
        "POLICY": security_policy(style, script, *policy),
        "TITLE": _text(title[:MOST_LETTERS]),
        "STYLE": style,
        "ABOUT": _about(about),
        **_limits(about),
        "GAPS": _LEGEND if any(segment.gaps for segment in segments) else "",
        "PLAIN": "".join(f'<p dir="auto">{_text(_plain(segment))}</p>\n' for segment in segments),
        "VERSION": _text(__version__),
        "DATA": data,
        "SCRIPT": script,
    }
    pieces = _NAME.split(_resource("page.html"))
    yield from (values[piece] if position % 2 else piece for position, piece in enumerate(pieces))


def _limits(about: Mapping[str, Any]) -> dict[str, str]:
    """The confidences at which marks begin, in percent."""
    limit = accept_threshold(about)
    high = f"{100 * HIGH:g}" if limit is None else f"{math.ceil(1e4 * limit - 1e-6) / 100:g}"
    low, medium = (f"{100 * LOW:g}", _MEDIUM.format(high=high)) if limit is None or limit > LOW else (high, "")
    return {"HIGH": high, "LOW": low, "MEDIUM": medium}


def _title(names: Sequence[str]) -> str:
    more = len(names) - _TITLED
    return ", ".join(names[:_TITLED]) + (f" and {more} more" if more > 0 else "")


def _text(text: str) -> str:
    return escape(visible(text))


def _plain(segment: UtteranceWords) -> str:
    return f"{segment.voice}: {segment.text}" if segment.voice else segment.text


def _resource(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _about(about: Mapping[str, Any]) -> str:
    facts = "".join(
        f'<div><dt>{_text(name)}</dt><dd dir="auto">{_text(value)}</dd></div>\n' for name, value in _facts(about)
    )
    return f'<dl class="about">{facts}</dl>' if facts else ""


def _facts(about: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Names and values to read; the footer has the version of wordtrust."""
    for name, value in about.items():
        if name == "accept" and isinstance(value, Mapping) and "promise" in value:
            value = value["promise"]  # noqa: PLW2901  # its numbers are on the page
        if name == "check" and isinstance(value, Mapping):
            value = _checked(value)  # noqa: PLW2901
        shown = clock(value) if name == "duration" and isinstance(value, int | float) else _readable(value)
        if shown and name != "wordtrust":
            one = isinstance(value, list | tuple) and len(value) == 1
            yield (str(name).removesuffix("s") if one else str(name))[:MOST_LETTERS], shown[:MOST_LETTERS]


def _checked(summary: Mapping[str, Any]) -> object:
    """What a check found, in words; what does not look like it as it is."""
    try:
        low, high = (round(float(end)) for end in summary["interval"])
        words, found = int(summary["words"]), float(summary["found"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return summary
    return f"{low:,} to {high:,} of {words:,} words wrong, {found:.0%} heard as they are written"


def _readable(value: object) -> str:
    """A value in a line, nothing if it is absent; `{"name", "version"}` is a name with its version."""
    if isinstance(value, Mapping):
        named = " ".join(str(value[key]) for key in ("name", "version") if value.get(key))
        return named or ", ".join(f"{key} {_readable(entry)}" for key, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(_readable, value)))
    return "" if value is None or value is False else "yes" if value is True else str(value)
