"""A transcript in a notebook: doubtful words are tinted and underlined; hovering over one shows its alternatives."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..base.visible_text import visible
from .utterance import UtteranceWords
from .words import HIGH, LOW, Word, clock, missing_mark, percent, shown_level, spelled, surer_alternative

# One hue that grows stronger, see-through on light and dark pages; the kinds of underline do without colour.
_TINT = "rgba(234, 88, 12, {:.2f})"
_STRONGEST = 0.6
_UNDERLINE = {"low": "underline wavy", "medium": "underline dotted", "high": "none"}


def words_html(heading: str, utterance: UtteranceWords) -> str:
    """The words below a heading with a legend, as one HTML element with inline styles."""
    return f"<div>{_soft(f'{escape(heading)} ({_legend()})')}{_words_div(utterance)}</div>"


def utterances_html(heading: str, utterances: Iterable[UtteranceWords], more: int = 0) -> str:
    """Utterances or segments below one heading with a legend, each with its times and, where it changes, its name."""
    shown, last = list[str](), None
    for utterance in utterances:
        name, words = utterance.utt, utterance.words
        times = f"{clock(words[0].start)} to {clock(words[-1].end)}" if words else ""
        facts = ", ".join(escape(fact) for fact in (visible(name) if name != last else "", times) if fact)
        shown.append(f"<div>{_soft(facts) if facts else ''}{_words_div(utterance)}</div>")
        last = name
    rest = f"<div>and {more:,} more</div>" if more > 0 else ""
    return f"<div>{_soft(f'{escape(heading)} ({_legend()})')}{''.join(shown)}{rest}</div>"


def _legend() -> str:
    return ", ".join(
        f'<span style="text-decoration: {_UNDERLINE[name]}">under {percent(limit)}</span>'
        for name, limit in (("low", LOW), ("medium", HIGH))
    )


def _soft(html: str) -> str:
    return f'<div style="opacity: .75; font-size: .85em">{html}</div>'


def _words_div(utterance: UtteranceWords) -> str:
    spans = "".join(
        _missing(word.missing_before) + _span(word, written) + space
        for word, (written, space) in zip(utterance.words, spelled(utterance.words), strict=True)
    )
    spans += _missing(utterance.missing_end)
    warnings = "; ".join(escape(visible(warning.message)) for warning in utterance.warnings)
    return f'<div dir="auto" style="line-height: 1.8; max-width: 60em">{spans.rstrip() or "(no words)"}</div>' + (
        _soft(f"Warning: {warnings}") if warnings else ""
    )


def _missing(probability: float | None) -> str:
    mark = missing_mark(probability)
    return f'<span style="opacity: .75" title="{escape(mark)}">[…]</span> ' if mark else ""


def _span(word: Word, written: str) -> str:
    style = (
        f"background: {_TINT.format(_STRONGEST * (1 - word.confidence))}; "
        f"text-decoration: {_UNDERLINE[shown_level(word)]}; text-underline-offset: .2em; "
        "border-radius: .2em; padding: .1em .15em"
    )
    return f'<span style="{style}" title="{_title(word)}">{escape(visible(written))}</span>'


def _title(word: Word) -> str:
    others = "".join(f"\n{percent(other.confidence)} {visible(other.word)}" for other in word.alternatives)
    return escape(
        f"{percent(word.confidence)} {visible(word.word or word.norm)} ({word.start:.2f} to {word.end:.2f} s)"
        + (f"\nor:{others}" if others else "")
        + ("\nThe first is surer by itself, but not in the sequence." if surer_alternative(word) else "")
    )
