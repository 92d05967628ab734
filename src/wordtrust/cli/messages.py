"""Messages and warnings on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import InputError, UnknownFormat
from ..base.visible_text import visible, visible_lines

if TYPE_CHECKING:
    from ..confidence.word_scorer import WordScorer


_OUTPUT_ON_STDOUT = "wordtrust.output on stdout"  # in click's meta


def keep_stdout_for_output() -> None:
    """What a verb prints for people goes to stderr from here on: its output goes to stdout."""
    click.get_current_context().meta[_OUTPUT_ON_STDOUT] = True


def is_stdout_taken() -> bool:
    """Whether the output of a verb goes to stdout, so that nothing else may."""
    context = click.get_current_context(silent=True)
    return context is not None and _OUTPUT_ON_STDOUT in context.meta


def echo(text: str = "", *, nl: bool = True, err: bool = False) -> None:
    """Print a text, in which nothing but line ends acts on the terminal. All that is not a table is printed so."""
    click.echo(visible_lines(text), nl=nl, err=err or is_stdout_taken())


def notify(*messages: str) -> None:
    """Print each message on a line that says whose it is."""
    for message in messages:
        echo(f"wordtrust: {visible(message)}", err=True)


def notify_skipped(error: InputError) -> None:
    """Name an input that was skipped."""
    # An unknown format would bring the list of all formats with every file.
    notify(f"skipped: {f'{error.file}: {error.found}' if isinstance(error, UnknownFormat) else error}")


def notify_report(report: Path, figures: Path | None) -> None:
    """Name the report, and the folder of its plots."""
    echo(f"{report}: the report" + (f"; its plots are in {figures}" if figures else ""), err=True)


def warn_if_barely_adapted(scorer: WordScorer) -> None:
    """Warn if a generic model has adapted to few utterances of this recognizer."""
    if message := scorer.adaptation_warning():
        notify(message)


def warn_of_language_model(scorer: WordScorer) -> None:
    """Warn if it is another one than the model was fitted with."""
    if message := scorer.language_model_warning():
        notify(message)


def warn_of_generic(scorer: WordScorer, recognizer: str) -> None:
    """Say, in one line, what a newly adapted generic model is worth for a recognizer that it does not know."""
    if recognizer and recognizer in scorer.model.card.trained_together:
        warn_if_barely_adapted(scorer)
        return
    unknown = "the generic model does not know this recognizer: its percentages are rough"
    notify(
        f"{scorer.adaptation_warning() or unknown}, and its words may be worse than the recognizer's own, "
        "until it is calibrated (docs/kaldi.md)"
    )


def warn_of_odd_references(wer: float | None, ref: Path) -> None:
    """More errors than words: hardly a recognizer that bad, rather a file that does not say what was said."""
    if wer is not None and wer > 1:
        notify(f"{wer:.0%} errors, more than there are words: does {ref} say what was said in these utterances?")


def warn_of_missing_outputs(missing: int, references: int) -> None:
    """A file of words cannot say that nothing was recognized, so what it lacks is not counted as deletions."""
    if missing > 0:
        notify(f"{missing:,} of {references:,} references have no output here and are not counted")
