"""Transcripts to look at: in a notebook and on a terminal.

Words come from recognizers, so they can hold anything: nothing in them may act as markup, move the cursor of a
terminal or turn the order of the text around them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Literal

from ..lattices.text import visible

if TYPE_CHECKING:
    from rich.text import Text

    from .transcript import Transcript, Word

Level = Literal["low", "medium", "high"]
LOW, HIGH = 0.5, 0.9  # under LOW a word is more likely wrong than right; from HIGH on most people just read on

# One hue that grows stronger, see-through on light and dark pages; the kinds of underline do without colour.
_TINT = "rgba(234, 88, 12, {:.2f})"
_STRONGEST = 0.6
_UNDERLINE = {"low": "underline wavy", "medium": "underline dotted", "high": "none"}
STYLES = {"low": "bold red", "medium": "yellow", "high": ""}
_BRACKETS = {"low": ("[?", "]"), "medium": ("[", "]"), "high": ("", "")}


def level(confidence: float) -> Level:
    """How far a word can be trusted, in three steps."""
    return "low" if confidence < LOW else "medium" if confidence < HIGH else "high"


def spelled(words: Sequence[Word]) -> list[tuple[str, str]]:
    """Each word as it is written when it stands for itself, and the space after it.

    A number that was spelled out has its surface on the first word only: 42 becomes forty and two.
    """
    following = [*(word.word for word in words[1:]), "."]  # nothing goes on after the last one
    return [
        (word.word, "" if word.joins_next else " ") if word.word and after else (word.norm, " ")
        for word, after in zip(words, following, strict=False)
    ]


def clock(seconds: float, *, tenths: bool = False) -> str:
    """A time of day of the recording: 0:03, 12:40, 1:02:03; 0:03.2 with tenths."""
    whole = max(0, math.floor(seconds * 10 + 1e-6))  # 3.2 is not quite 3.2
    minutes, rest = divmod(whole // 10, 60)
    hours, minutes = divmod(minutes, 60)
    shown = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"{shown}.{whole % 10}" if tenths else shown


def summary(transcript: Transcript) -> str:
    """Which utterance, how many words, how sure."""
    count, confidence = len(transcript.words), transcript.confidence
    sure = "" if confidence is None else f", confidence {confidence:.2f}"
    return f"{visible(transcript.utt)}: {count} {'word' if count == 1 else 'words'}{sure}"


def to_rich(transcript: Transcript) -> Text:
    """Doubtful words in brackets and colour, the most doubtful with a question mark in front: [?word]."""
    from rich.text import Text

    text = Text()
    for word, (written, space) in zip(transcript.words, spelled(transcript.words), strict=True):
        found = level(word.confidence)
        before, after = _BRACKETS[found]
        text.append(before + visible(written) + after, STYLES[found])
        text.append(space)
    text.rstrip()
    return text


def to_html(transcript: Transcript) -> str:
    """Words with a tint and an underline where they are doubtful; pointing at a word shows what else it may be."""
    pairs = zip(transcript.words, spelled(transcript.words), strict=True)
    words = "".join(_span(word, written) + space for word, (written, space) in pairs)
    marks = ", ".join(
        f'<span style="text-decoration: {_UNDERLINE[name]}">under {limit}</span>'
        for name, limit in (("low", LOW), ("medium", HIGH))
    )
    return (
        f'<div><div style="opacity: .75; font-size: .85em">{escape(summary(transcript))} ({marks})</div>'
        f'<div dir="auto" style="line-height: 1.8; max-width: 60em">{words.rstrip() or "(no words)"}</div></div>'
    )


def _span(word: Word, written: str) -> str:
    style = (
        f"background: {_TINT.format(_STRONGEST * (1 - word.confidence))}; "
        f"text-decoration: {_UNDERLINE[level(word.confidence)]}; text-underline-offset: .2em; "
        "border-radius: .2em; padding: .1em .15em"
    )
    return f'<span style="{style}" title="{_title(word)}">{escape(visible(written))}</span>'


def _title(word: Word) -> str:
    others = "".join(f"\n{other.confidence:.2f} {visible(other.word)}" for other in word.alternatives)
    return escape(
        f"{word.confidence:.2f} {visible(word.word or word.norm)} ({word.start:.2f} to {word.end:.2f} s)"
        + (f"\nor:{others}" if others else "")
    )
