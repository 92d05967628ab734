"""A transcript as one self-contained HTML page: to read, to check doubtful words, to listen along.

The page loads nothing from anywhere. It looks like the reports (`wordtrust.report`) but needs no jinja2. Words come
from recognizers: all of them are escaped, and the policy of the page lets nothing act but its own style and script.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from html import escape
from importlib.resources import files
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..base.files import atomic_text
from ..base.version import __version__
from ..base.visible_text import visible
from .page_style import security_policy, style_sheet
from .target import AddTranscripts, Target, accept_threshold
from .utterance import UtteranceWords
from .words import (
    HIGH,
    LOW,
    LeftOut,
    Word,
    clock,
    made_up_mark,
    missing_mark,
    percent,
    shown_alternative,
    shown_level,
    spelled,
)

MOST_LETTERS = 300  # of the title and of what is known about a recording
_TITLED = 3  # recordings that the title names
_SHADES = 10  # of confidence
_BARS, _BAR_SECONDS = (20, 120), 3.0  # of the strip that shows where the doubt is: how many, how long at least
_LEGEND = '<span class="missing">[…]</span> something may be missing here '
_MEDIUM = '<span class="w medium c7 on">under @HIGH@%</span> '
_UNSEEN = 0.05  # a bar of this height, of 20


@contextmanager
def write_page(target: Target) -> Iterator[AddTranscripts]:
    """One page with everything that is added, and with what is known about it."""
    segments: list[UtteranceWords] = []
    with atomic_text(target.path) as file:
        yield segments.extend
        file.writelines(_page(segments, target.about, target.left_out or ()))


def _page(segments: Sequence[UtteranceWords], about: Mapping[str, Any], left_out: Sequence[LeftOut]) -> Iterator[str]:
    recordings = [(name, list(group)) for name, group in groupby(segments, lambda segment: segment.utt)]
    names = list(dict.fromkeys(name for name, _ in recordings))
    yield _head(_title(names) or Path(str(about.get("file", ""))).stem or "Transcript", about)
    limit = accept_threshold(about)
    yield _tiles(segments, HIGH if limit is None else limit, calibrated=about.get("calibrated") is not False)
    shown = f"{100 * HIGH:g}" if limit is None else f"{math.ceil(1e4 * limit - 1e-6) / 100:g}"
    legend = _LEGEND if any(segment.gaps for segment in segments) else ""
    low, medium = (f"{100 * LOW:g}", _MEDIUM) if limit is None or limit > LOW else (shown, "")
    known = {"@MEDIUM@": medium, "@HIGH@": shown, "@LOW@": low, "@GAPS@": legend}
    yield reduce(lambda text, name: text.replace(name, known[name]), known, _resource("page.html"))
    for index, (name, group) in enumerate(recordings):
        yield from _recording(name, group, index, len(names) > 1, left_out if len(recordings) == 1 else ())
    if not recordings:
        yield '<section class="recording"><p class="soft">(no words)</p>\n'
        yield from (_gap(stretch) for stretch in left_out)
        yield "</section>\n"
    yield f"</main>\n<footer>Made by wordtrust {_text(__version__)}. This file loads nothing from anywhere.</footer>"
    yield '\n<div id="card" aria-hidden="true" hidden></div>\n'
    yield f"<script>{_resource('page.js')}</script>\n</body>\n</html>\n"


def _title(names: Sequence[str]) -> str:
    more = len(names) - _TITLED
    return ", ".join(names[:_TITLED]) + (f" and {more} more" if more > 0 else "")


def _text(text: str) -> str:
    return escape(visible(text))


def _resource(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _head(title: str, about: Mapping[str, Any]) -> str:
    style = "\n".join([style_sheet(), _resource("page.css")])
    facts = "".join(
        f'<div><dt>{_text(name)}</dt><dd dir="auto">{_text(value)}</dd></div>\n' for name, value in _facts(about)
    )
    policy = security_policy(style, _resource("page.js"), "media-src blob:")  # sound is a file that the reader picks
    shown = _text(title[:MOST_LETTERS])
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{shown}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1 dir="auto">{shown}</h1>
<button id="theme" type="button" hidden>Dark</button>
{f'<dl class="about">{facts}</dl>' if facts else ""}
</header>
<main>
"""


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


def _tiles(segments: Sequence[UtteranceWords], limit: float, *, calibrated: bool) -> str:
    words = [word for segment in segments for word in segment.words]
    doubt = sum(1 - word.confidence for word in words)
    marked, most = sum(word.confidence < limit for word in words), max(1, len(words))
    tiles = (
        (f"{len(words):,}", _counted(words, "word"), f"in {len(segments):,} {_counted(segments, 'segment')}"),
        (
            f'<span id="share">{marked / most:.0%}</span>',
            "doubtful",
            f'<span id="marked">{marked:,}</span> under <span id="under">{limit:.0%}</span>',
        ),
        (_rough(doubt), "expected errors", f"{doubt / most:.1%} of the words; {_expected_gaps(segments)}")
        if calibrated
        else ("?", "expected errors", "these confidences are not calibrated: wordtrust calibrate --scores"),
    )
    shown = (
        f'<div class="tile"><b>{value}</b><span>{name}</span><span class="soft">{remark}</span></div>\n'
        for value, name, remark in tiles
    )
    return f'<div class="tiles">\n{"".join(shown)}</div>\n'


def _expected_gaps(segments: Sequence[UtteranceWords]) -> str:
    gaps = [gap for segment in segments for gap in segment.known_gaps]
    if not gaps:
        return "missing ones do not count"
    return f"besides, some are missing in {_rough(sum(gaps))} places" if sum(gaps) >= 0.05 else "none is missing"


def _counted(things: Sequence[object], name: str) -> str:
    return name if len(things) == 1 else f"{name}s"


def _rough(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _recording(
    name: str, segments: Sequence[UtteranceWords], index: int, titled: bool, left_out: Sequence[LeftOut]
) -> Iterator[str]:
    yield f'<section class="recording" data-name="{_text(name)}">\n'
    if titled:
        yield f'<h2 dir="auto">{_text(name[:MOST_LETTERS])}</h2>\n'
    if len(segments) > 1:
        yield _strip([word for segment in segments for word in segment.words])
    parts = [
        (segment.words[0].start, _segment(segment, f"s{index}-{position}"))
        for position, segment in enumerate(segments)
        if segment.words
    ]
    gaps = [(stretch.start, _gap(stretch)) for stretch in left_out]
    yield from (html for _, html in (sorted(parts + gaps, key=itemgetter(0)) if gaps else parts))
    yield (
        "</section>\n" if any(segment.words for segment in segments) else '<p class="soft">(no words)</p></section>\n'
    )


def _segment(segment: UtteranceWords, mark: str) -> str:
    start = segment.words[0].start
    return (
        f'<div class="segment" id="{mark}"><a class="at" href="#{mark}" data-t="{start:.3f}">{clock(start)}</a>'
        f'<p dir="auto">{_speaker(segment)}{_words(segment)}{_whole(segment)}{_warnings(segment)}</p></div>\n'
    )


def _whole(segment: UtteranceWords) -> str:
    """How likely all of it is right, after its words."""
    if segment.correct is None:
        return ""
    title = "how likely every word of this segment is right, and none is missing"
    return f' <small class="soft whole" title="{title}">all right with {percent(segment.correct)}</small>'


def _speaker(segment: UtteranceWords) -> str:
    """Who says it, before the words."""
    return f'<b class="speaker">{_text(segment.speaker[:MOST_LETTERS])}:</b> ' if segment.speaker else ""


def _warnings(segment: UtteranceWords) -> str:
    """What is unusual about a segment, after its words."""
    messages = "; ".join(warning.message for warning in segment.warnings)
    return f' <small class="soft unusual">({_text(messages)})</small>' if messages else ""


def _gap(stretch: LeftOut) -> str:
    """A mark where the recording has no words here."""
    seconds = max(0.0, stretch.end - stretch.start)
    return (
        f'<div class="segment gap"><span class="at" data-t="{stretch.start:.3f}" title="until {clock(stretch.end)}">'
        f'{clock(stretch.start)}</span><p dir="auto">{seconds:.1f} s left out: {_text(stretch.reason)}</p></div>\n'
    )


def _words(segment: UtteranceWords) -> str:
    pairs = zip(segment.words, spelled(segment.words), strict=True)
    shown = "".join(_missing(word.missing_before) + _word(word, written) + space for word, (written, space) in pairs)
    return (shown + _missing(segment.missing_end)).rstrip()


def _missing(probability: float | None) -> str:
    """A mark where words are likely missing."""
    mark = missing_mark(probability)
    return f'<span class="missing" title="{mark}">[…]</span> ' if mark else ""


def _word(word: Word, written: str) -> str:
    confidence_level = shown_level(word)
    doubtful = "" if confidence_level == "high" else " on"
    marks = f"w {confidence_level} c{round(word.confidence * _SHADES)}{doubtful}"
    others = [[shown_alternative(word, other), round(100 * other.confidence, 1)] for other in word.alternatives]
    data = f' data-o="{escape(json.dumps(others, ensure_ascii=False))}"' if others else ""
    times = f'data-t="{word.start:.3f}" data-e="{word.end:.3f}"'
    data += "" if word.heard is None else f' data-h="{_text(made_up_mark(word))}"'
    return f'<span class="{marks}" data-c="{100 * word.confidence:.4f}" {times}{data}>{_text(written)}</span>'


def _strip(words: Sequence[Word]) -> str:
    """A bar for each stretch of time, as high as the number of errors to expect in it."""
    end = max((word.end for word in words), default=0.0)
    if end <= 0:
        return ""
    bars = int(min(max(_BARS[0], end / _BAR_SECONDS), _BARS[1]))
    doubt = [0.0] * bars
    for word in words:
        middle = max(0.0, (word.start + word.end) / 2)
        doubt[min(bars - 1, int(middle / end * bars))] += 1 - word.confidence
    highest = max(1.0, *doubt)
    shown = "".join(
        f'<rect x="{index + 0.1:.1f}" width="0.8" y="{20 - height:.2f}" height="{height:.2f}"/>'
        for index, height in enumerate(20 * errors / highest for errors in doubt)
        if height > _UNSEEN
    )
    return (
        f'<figure class="strip" data-end="{end:.3f}"><svg viewBox="0 0 {bars} 20" preserveAspectRatio="none" '
        f'role="img" aria-label="Expected errors over time">{shown}<rect class="head" width="0.5" height="20"/></svg>'
        "<figcaption><span>0:00</span><span>where the doubt is</span>"
        f"<span>{clock(end)}</span></figcaption></figure>\n"
    )
