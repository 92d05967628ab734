"""An example as the page shows it: words with their confidence, what else they may be, and what was said."""

from __future__ import annotations

from dataclasses import dataclass

from ..transcripts.words import Word, spelled
from .examples import Example
from .wording import counted

MOST_WORDS = 150  # of an utterance
MOST_LETTERS = 60  # of a word
_STEPS = 10  # shades of confidence


@dataclass(frozen=True, slots=True)
class Shown:
    """A word of the output or of the reference."""

    text: str
    marks: str  # classes of the style sheet
    hints: tuple[str, ...] = ()
    space: str = " "


@dataclass(frozen=True, slots=True)
class Utterance:
    """An example in the words of the page."""

    name: str
    facts: str
    said: list[Shown]
    recognized: list[Shown]
    more: str


def utterance(example: Example) -> Utterance:
    """What to show of an example."""
    words, confidence = example.transcript.words, example.transcript.confidence
    facts = [counted(example.errors, "error"), f"{counted(len(example.reference), 'word')} said"]
    if confidence is not None:
        facts.append(f"mean confidence {confidence:.2f}")
    longest = max(len(words), len(example.reference))
    more = f"Only the first {MOST_WORDS} of {longest:,} words are shown." if longest > MOST_WORDS else ""
    return Utterance(cut(example.transcript.utt, 200), ", ".join(facts), _said(example), _recognized(example), more)


def cut(text: str, most: int = MOST_LETTERS) -> str:
    """Not longer than that."""
    return text if len(text) <= most else text[: most - 1] + "\u2026"


def _recognized(example: Example) -> list[Shown]:
    shown = []
    words = example.transcript.words[:MOST_WORDS]
    for number, (word, (written, space)) in enumerate(zip(words, spelled(words), strict=True)):
        marks = f"w c{round(word.confidence * _STEPS)}"
        if not example.correct[number]:
            marks += " bad"
        shown.append(Shown(cut(written), marks, _hints(example, number, word), space))
    return shown


def _hints(example: Example, number: int, word: Word) -> tuple[str, ...]:
    """What the word is worth, what it should be, and what else it may be."""
    place = example.aligned[number]
    if example.correct[number]:
        verdict = "right"
    else:
        verdict = f"wrong, said was: {cut(example.reference[place])}" if place >= 0 else "wrong, nothing was said"
    lines = [f"{word.confidence:.2f}, {verdict}", f"{word.start:.2f} to {word.end:.2f} s"]
    others = [f"{cut(other.word)} {other.confidence:.2f}" for other in word.alternatives]
    return (*lines, f"or: {', '.join(others)}") if others else tuple(lines)


def _said(example: Example) -> list[Shown]:
    """The reference; words that the output has wrong or not at all are marked."""
    right = {place for place, correct in zip(example.aligned, example.correct, strict=True) if correct}
    taken = set(example.aligned)
    return [
        Shown(cut(word), "" if place in right else "sub" if place in taken else "gone")
        for place, word in enumerate(example.reference[:MOST_WORDS])
    ]
