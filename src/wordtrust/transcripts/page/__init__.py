"""A transcript as one self-contained HTML page: to read, to correct, to listen along.

The page loads nothing from anywhere. It has the transcript as JSON, the same records as .jsonl files have, and its
script (script/*.js) shows the words; nothing here does that a second time. It looks like the reports
(`wordtrust.report`) but needs no jinja2. Words come from recognizers: the script makes text nodes of them, and the
policy of the page lets nothing act but its own style and script.

markup    head, tools and legend of the page, and the plain text for those who run no scripts
data      the transcript as JSON inside the page
script    the files of the script, in order
style     colours and style sheet of all HTML pages
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...base.files import atomic_text
from ..target import AddTranscripts, Target
from ..utterance import UtteranceWords
from ..words import LeftOut
from .data import audio_beside, embedded, page_data
from .markup import page_markup

POLICY = ("media-src blob: file: 'self'",)  # sound is a file that the reader picks, or one beside the page


@contextmanager
def write_page(target: Target) -> Iterator[AddTranscripts]:
    """One page with everything that is added, and with what is known about it."""
    segments: list[UtteranceWords] = []
    with atomic_text(target.path) as file:
        yield segments.extend
        more = {"audio": audio} if (audio := audio_beside(target.path, target.about)) else {}
        file.write(page_text(segments, target.about, target.left_out, more, POLICY))


def page_text(
    segments: Sequence[UtteranceWords],
    about: Mapping[str, Any],
    left_out: Sequence[LeftOut] | None,
    more: Mapping[str, Any],
    policy: Sequence[str],
) -> str:
    """The whole page; `more` goes to its script (`page_data`), `policy` says where sound and so on may come from."""
    data = page_data(segments, about, left_out, more)
    return "".join(page_markup(segments, about, embedded(data), policy))
