"""Transcripts on a terminal as they come: time stamp, words, and below them what the doubtful ones may be.

[0:03.2] I'll [?Sit] [there.]
         ↳ ?Sit 43%: sat 31%, set 12%
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..lattices.text import visible
from .views import LOW, STYLES, clock, level, spelled, to_rich

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from .transcript import Transcript, Word

_MOST = 3  # alternatives of a word
_NARROWEST = 10  # columns of text


def segment_view(transcript: Transcript, *, under: float = LOW) -> SegmentView:
    """What to print of a segment, with `rich`: words less sure than `under` get a line with their alternatives."""
    return SegmentView(transcript, under)


@dataclass(frozen=True, slots=True)
class SegmentView:
    """A transcript for `rich`: lines wrap beside the time stamp, and marks tell as much as colours.

    Where the console leaves lines as long as they are (`soft_wrap`: files, other programs), nothing wraps.
    """

    transcript: Transcript
    under: float

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text

        words = self.transcript.words
        if not words:
            yield Text("(no words)", "dim")
            return
        stamp = Text(f"[{clock(words[0].start, tenths=True)}] ", "dim")
        yield from _beside(stamp, to_rich(self.transcript), console, options)
        arrow = Text(" " * stamp.cell_len + ("-> " if options.ascii_only else "↳ "), "dim")
        for word, (written, _) in zip(words, spelled(words), strict=True):
            if word.confidence < self.under:
                yield from _beside(arrow, _note(word, written), console, options)


def _beside(head: Text, body: Text, console: Console, options: ConsoleOptions) -> Iterator[Text]:
    """The body to the right of the head, however many lines it takes."""
    from rich.text import Text

    if options.no_wrap:
        yield Text.assemble(head, body)
        return
    width = max(_NARROWEST, options.max_width - head.cell_len)
    for number, line in enumerate(body.wrap(console, width, overflow="fold")):
        line.rstrip()
        yield Text.assemble(Text(" " * head.cell_len) if number else head, line)


def _note(word: Word, written: str) -> Text:
    from rich.text import Text

    found = level(word.confidence)
    text = Text(("?" if found == "low" else "") + visible(written), STYLES[found])
    others = ", ".join(f"{visible(other.word)} {other.confidence:.0%}" for other in word.alternatives[:_MOST])
    return Text.assemble(text, f" {word.confidence:.0%}" + (f": {others}" if others else ""))
