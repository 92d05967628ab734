"""Transcripts on a terminal: time stamp, words, and below them the alternatives of doubtful ones.

[0:03.2] I'll [?Sit] [there.]
         ↳ ?Sit 43%: sat 31%, set 12%
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..base.visible_text import visible
from .words import (
    LOW,
    Word,
    clock,
    made_up_mark,
    missing_mark,
    percent,
    shown_alternative,
    shown_level,
    spelled,
    surer_alternative,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

_STYLES = {"low": "bold red", "medium": "yellow", "high": ""}
_MISSING = "[...]"
_BRACKETS = {"low": ("[?", "]"), "medium": ("[", "]"), "high": ("", "")}
_MOST_ALTERNATIVES = 3  # shown for a word
_NARROWEST = 10  # columns of text


def words_text(words: Sequence[Word], missing_end: float | None = None) -> Text:
    """Doubtful words in brackets and colour, the most doubtful with a question mark in front: [?word].

    [...] is where something may be missing.
    """
    from rich.text import Text

    text = Text()
    for word, (written, space) in zip(words, spelled(words), strict=True):
        if missing_mark(word.missing_before):
            text.append(_MISSING, _STYLES["medium"])
            text.append(" ")
        confidence_level = shown_level(word)
        before, after = _BRACKETS[confidence_level]
        text.append(before + visible(written) + after, _STYLES[confidence_level])
        text.append(space)
    if missing_mark(missing_end):
        text.append(_MISSING, _STYLES["medium"])
    text.rstrip()
    return text


@dataclass(frozen=True, slots=True)
class SegmentView:
    """The words of a segment for `rich`; those with a confidence below `under` get a line with their alternatives.

    Lines wrap beside the time stamp, and marks tell as much as colours. Where the console does not wrap (`soft_wrap`:
    files, other programs), lines stay as long as they are.
    """

    words: Sequence[Word]
    under: float = LOW
    missing_end: float | None = None
    speaker: str | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text

        if not self.words:
            mark = missing_mark(self.missing_end)
            yield Text(f"(no words; {mark})" if mark else "(no words)", "dim")
            return
        stamp = Text(f"[{clock(self.words[0].start, tenths=True)}] ", "dim")
        said = words_text(self.words, self.missing_end)
        who = Text(f"{visible(self.speaker)}: ", "bold") if self.speaker else Text()
        yield from _beside(stamp, Text.assemble(who, said) if self.speaker else said, console, options)
        arrow = Text(" " * stamp.cell_len + ("-> " if options.ascii_only else "↳ "), "dim")
        for word, (written, _) in zip(self.words, spelled(self.words), strict=True):
            if word.confidence < self.under:
                yield from _beside(arrow, _alternatives(word, written), console, options)
        for gap in (*(word.missing_before for word in self.words), self.missing_end):
            if mark := missing_mark(gap):
                yield from _beside(arrow, Text(f"{_MISSING} {mark}"), console, options)


def _beside(head: Text, body: Text, console: Console, options: ConsoleOptions) -> Iterator[Text]:
    """The body to the right of the head, on as many lines as it takes."""
    from rich.text import Text

    if options.no_wrap:
        yield Text.assemble(head, body)
        return
    width = max(_NARROWEST, options.max_width - head.cell_len)
    for index, line in enumerate(body.wrap(console, width, overflow="fold")):
        line.rstrip()
        yield Text.assemble(Text(" " * head.cell_len) if index else head, line)


def _alternatives(word: Word, written: str) -> Text:
    from rich.text import Text

    confidence_level = shown_level(word)
    text = Text(("?" if confidence_level == "low" else "") + visible(written), _STYLES[confidence_level])
    shown = word.alternatives[:_MOST_ALTERNATIVES]
    others = ", ".join(f"{shown_alternative(word, other)} {percent(other.confidence)}" for other in shown)
    others = f"heard {others}" if others and word.heard is not None else others
    surer = surer_alternative(word)
    why = f' ("{visible(surer.word)}" is surer by itself, but not in the sequence)' if surer else ""
    why += f" ({mark})" if (mark := made_up_mark(word)) else ""
    return Text.assemble(text, f" {percent(word.confidence)}" + (f": {others}" if others else "") + why)
