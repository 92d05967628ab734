"""Transcripts to look at: in a notebook, on a terminal, and as lines of CTM.

Words come from recognizers, so they can hold anything: nothing in them may act as markup, move the cursor of a
terminal or turn the order of the text around them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Literal

from ..base.errors import OptionError
from ..lattices.text import UNKNOWN, UNKNOWN_MARKS, is_mark

if TYPE_CHECKING:
    from rich.text import Text

    from .transcript import Transcript, Word

Level = Literal["low", "medium", "high"]
LOW, HIGH = 0.5, 0.9  # under LOW a word is more likely wrong than right; from HIGH on most people just read on

# Control characters, line ends, what turns the direction of text, halves of characters.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# One hue that grows stronger, see-through on light and dark pages; the kinds of underline do without colour.
_TINT = "rgba(234, 88, 12, {:.2f})"
_STRONGEST = 0.6
_UNDERLINE = {"low": "underline wavy", "medium": "underline dotted", "high": "none"}
STYLES = {"low": "bold red", "medium": "yellow", "high": ""}
_BRACKETS = {"low": ("[?", "]"), "medium": ("[", "]"), "high": ("", "")}


def level(confidence: float) -> Level:
    """How far a word can be trusted, in three steps."""
    return "low" if confidence < LOW else "medium" if confidence < HIGH else "high"


def visible(text: str) -> str:
    """The text with a replacement character for all that would act instead of being seen."""
    return _UNSEEN.sub("\ufffd", text)


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


def to_ctm(transcript: Transcript, channel: str = "1") -> str:
    """NIST CTM, as `Transcript.to_ctm` says."""
    if channel.split() != [channel]:
        raise OptionError(f"the channel is {channel!r}, not one word like 1 or A")
    name = ctm_name(transcript.utt)
    if not transcript.words:
        return f";; {name} has no words\n"
    pairs = zip(transcript.words, spelled(transcript.words), strict=True)
    return "".join(f"{name} {channel} {_ctm_fields(word, written)}\n" for word, (written, _) in pairs)


def ctm_name(utt: str) -> str:
    """A name that is one field and begins no comment."""
    name = _field(utt) or "_"
    return f"_{name}" if name.startswith(";;") else name


def _ctm_fields(word: Word, written: str) -> str:
    # Whole milliseconds, so that words that follow each other still do when they are read again.
    start, end = (max(0, round(time * 1000)) for time in (word.start, word.end))
    return f"{start / 1000:.3f} {(end - start) / 1000:.3f} {_ctm_word(word, written)} {word.confidence:.6f}"


def _ctm_word(word: Word, written: str) -> str:
    """One field that is read as this word: no comment, alternation, silence or noise."""
    unknown = word.norm == UNKNOWN
    for each in (written, word.norm):
        field = _field(each)
        if ";;" not in field and not is_mark(field) and (unknown or field.lower() not in UNKNOWN_MARKS):
            return field
    return UNKNOWN


def _field(text: str) -> str:
    """The text without white space, and with nothing in it that acts on a terminal."""
    return visible("_".join(text.split()))
