"""The words of a transcript, and what all views share: levels of confidence, spelling, clock times.

Words come from recognizers and can hold anything: nothing in them may act as markup, move the cursor of a terminal or
change the direction of the text around them. Every view shows them through `lattices.text.visible`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from ..base.visible_text import visible
from ..formats.transcript.records import Alternative, LeftOut, Word

__all__ = ["HIGH", "LOW", "MISSING", "Alternative", "LeftOut", "Level", "Word", "accepting", "clock", "level",
           "made_up_mark", "missing_mark", "percent", "shown_alternative", "shown_level", "spelled",
           "surer_alternative"]  # fmt: skip

Level = Literal["low", "medium", "high"]
LOW, HIGH = 0.5, 0.9  # under LOW a word is more likely wrong than right; from HIGH on most people just read on
MISSING = 0.25  # from where on a gap is marked: words are missing in one gap of a hundred


def level(confidence: float) -> Level:
    """The confidence in three steps."""
    return "low" if confidence < LOW else "medium" if confidence < HIGH else "high"


def missing_mark(probability: float | None) -> str:
    """What is said about a gap where words are likely missing; nothing about others."""
    if probability is None or probability < MISSING:
        return ""
    return f"something may be missing here ({percent(probability)})"


def shown_level(word: Word) -> Level:
    """The level that views mark a word with: words that are accepted are not marked, the others are."""
    if word.accepted is None:
        return level(word.confidence)
    return "high" if word.accepted else "low" if word.confidence < LOW else "medium"


def accepting(words: Iterable[Word], threshold: float) -> tuple[Word, ...]:
    """The words, each with whether it has at least this confidence."""
    return tuple(replace(word, accepted=word.confidence >= threshold) for word in words)


def shown_alternative(word: Word, other: Alternative) -> str:
    """An alternative to be read; listeners may have heard nothing where a checked word stands."""
    return visible(other.word) or ("(nothing)" if word.heard is not None else "")


def made_up_mark(word: Word) -> str:
    """What is said about a word that nobody seems to have said; nothing about others."""
    return {"silence": "nothing was heard here", "loop": "said again and again: a loop?"}.get(word.made_up or "", "")


def percent(confidence: float) -> str:
    """In whole percent, rounded down: what is shown as 90% is not under 90%."""
    return f"{math.floor(100 * confidence + 1e-9)}%"


def surer_alternative(word: Word) -> Alternative | None:
    """The alternative that has more confidence than the word itself, if one has; of a checked word, none.

    Words are chosen as a sequence, so a word can be part of the surest sequence while another is surer by itself.
    """
    if word.heard is not None:
        return None  # nobody chose it among these
    first = max(word.alternatives, key=lambda other: other.confidence, default=None)
    return first if first is not None and first.confidence > word.confidence else None


def spelled(words: Sequence[Word]) -> list[tuple[str, str]]:
    """Each word as it is written when every word is marked on its own, and the space after it.

    A number that was spelled out has its surface on the first word only: 42 becomes forty and two.
    """
    following = [*(word.word for word in words[1:]), "."]  # nothing goes on after the last one
    return [
        (word.word, "" if word.joins_next else " ") if word.word and after else (word.norm, " ")
        for word, after in zip(words, following, strict=False)
    ]


def clock(seconds: float, *, tenths: bool = False) -> str:
    """A time in the recording: 0:03, 12:40, 1:02:03; 0:03.2 with tenths."""
    whole = max(0, math.floor(seconds * 10 + 1e-6))  # 3.2 is not quite 3.2
    minutes, rest = divmod(whole // 10, 60)
    hours, minutes = divmod(minutes, 60)
    shown = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"{shown}.{whole % 10}" if tenths else shown
