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

from collections.abc import Iterator
from contextlib import contextmanager

from ...base.files import atomic_text
from ..target import AddTranscripts, Target
from ..utterance import UtteranceWords
from .data import embedded, page_data
from .markup import page_markup


@contextmanager
def write_page(target: Target) -> Iterator[AddTranscripts]:
    """One page with everything that is added, and with what is known about it."""
    segments: list[UtteranceWords] = []
    with atomic_text(target.path) as file:
        yield segments.extend
        data = page_data(segments, target.about, target.left_out or ())
        file.writelines(page_markup(segments, target.about, embedded(data)))
