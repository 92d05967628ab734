"""Options that several verbs have."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from ..base.errors import OptionError
from ..base.files import STDOUT, is_stdout, is_stream, require_new, require_parent
from ..base.locks import claimed
from .messages import keep_stdout_for_output

PATH = click.Path(path_type=Path)
Command = Callable[..., None]

json_option = click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
skip_bad_option = click.option("--skip-bad", is_flag=True, help="Skip what cannot be read, say which and how many.")
reference_option = click.option("--ref", "ref", type=PATH, help="References: REF.tsv, Kaldi text, STM or TRN.")
glm_option = click.option("--glm", type=PATH, help="Rules (NIST GLM) for the words that are compared.")
rules_option = click.option(
    "--rules",
    type=click.Choice(["sclite", "wordtrust"]),
    help="How words are compared [CTM and TRN with STM: sclite; others: wordtrust].",
)


def parsed_equate(_: click.Context, __: click.Parameter, value: str | None) -> Any:
    """What an --equate says, for a command's own help; None where it is not given."""
    from ..networks.equivalents import Equate

    return None if value is None else Equate.parse(value)


equate_option = click.option(
    "--equate",
    callback=parsed_equate,
    metavar="KINDS",
    help="Spellings that count as the same word: all, none, or some of numbers,compounds,apostrophes,spelling,"
    "contractions [all].",
)
plain_option = click.option("--plain", is_flag=True, help="Subtitles without marks on doubtful words.")
criterion_option = click.option(
    "--criterion",
    type=click.Choice(["mean", "mean-silence", "gain"]),
    help="How words are chosen (docs/networks.md) [as the model says; mean without a model].",
)
mismatch_option = click.option(
    "--allow-mismatch", is_flag=True, help="Also use a model on what it was not trained for."
)

lm_option = click.option(
    "--lm",
    metavar="MODEL",
    help="A language model that reads the sentences: an ARPA file, a .gguf file, a folder or a hub name "
    "(docs/language-models.md).",
)


def share_of_words(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """A share of words, given as 98% or 0.98."""
    return _share(context, option, value, "98% or 0.98")


def share_of_errors(context: click.Context, option: click.Parameter, value: str | None) -> float | None:
    """A share of words that may be wrong, given as 10% or 0.1."""
    return _share(context, option, value, "10% or 0.1")


def _share(context: click.Context, option: click.Parameter, value: str | None, examples: str) -> float | None:
    if value is None:
        return None
    text = value.strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise click.BadParameter(f"{value} is no share of the words: say {examples}", context, option)
    return share


accept_option = click.option(
    "--accept",
    metavar="PRECISION",
    callback=share_of_words,
    help="Mark the words that can go unread, so that this share of them is right: 98% (docs/calibration.md).",
)
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace what is there already.")


def out_option(*, is_folder: bool = False, **settings: Any) -> Callable[[Command], Command]:
    """The option --out, -o for short, of every verb that writes: a file, for which - is stdout, or a folder."""
    return click.option("--out", "-o", callback=_refuse_stream if is_folder else dash_is_stdout, **settings)


def dash_is_stdout(_: click.Context, __: click.Parameter, value: Any) -> Any:
    """For an option that names one output or several: - stands for stdout."""
    if isinstance(value, tuple):
        return tuple(map(_named_output, value))
    return _named_output(value)


def _named_output(value: str | Path | None) -> Any:
    return value if value is None or str(value) != "-" else type(value)(STDOUT)


def _refuse_stream(_: click.Context, __: click.Parameter, value: Path | None) -> Path | None:
    """For an option that names a folder."""
    if value is not None and (str(value) == "-" or is_stream(value)):
        raise OptionError(f"{value}: what is written is a folder, which does not go through a pipe; name a folder")
    return value


def jobs_option(text: str, name: str = "--jobs", *, old_names: tuple[str, ...] = ()) -> Callable[[Command], Command]:
    """How much is done in parallel: one name for it in all verbs."""
    return click.option(name, cls=_RenamedOption, old_names=old_names, type=click.IntRange(min=1), help=text)


class _RenamedOption(click.Option):
    """An option that is also understood by the names it had before, which its help does not show."""

    def __init__(self, *arguments: Any, old_names: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._names = self.opts
        self.opts = [*self._names, *old_names]

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Its line in the help."""
        understood, self.opts = self.opts, self._names
        try:
            return super().get_help_record(ctx)
        finally:
            self.opts = understood


def report_options(command: Command) -> Command:
    """The options --report and --figures (for `claim_report`)."""
    for name, text in (
        ("--figures", "Also write its plots to this folder, as PNG and SVG."),
        ("--report", "Also write a report (HTML)."),
    ):
        command = click.option(name, type=PATH, callback=dash_is_stdout, help=text)(command)
    return command


def claim_report(report: Path | None, figures: Path | None, *, overwrite: bool) -> None:
    """Check --report and --figures before the work, and not after it."""
    if figures and not report:
        raise OptionError("--figures come with a report: --report FILE.html")
    if report:
        claim_output(report, overwrite=overwrite)
    if figures:
        claim_output(figures, overwrite=overwrite, is_folder=True)


def claim_output(path: Path, *, overwrite: bool, is_folder: bool = False) -> None:
    """Refuse at once an output that could not be written in the end, or whose place is taken; then keep others off.

    The rule of all verbs: what is there already is replaced with --overwrite only; work in progress goes on.
    """
    if is_folder:
        with suppress(OSError, ValueError):  # said below
            path.parent.mkdir(parents=True, exist_ok=True)
    require_parent(path)
    require_new(path, overwrite=overwrite)
    if is_stdout(path):
        keep_stdout_for_output()
    if not is_stream(path):
        click.get_current_context().with_resource(claimed(path))
        require_new(path, overwrite=overwrite)  # who had it until now may have written it


def require_model_first(model: Path, paths: tuple[str, ...]) -> None:
    """Refuse a MODEL that stands behind what it is for."""
    from ..confidence.shipped import is_model

    if model.exists() and not is_model(model) and (later := [path for path in paths if is_model(path)]):
        raise OptionError(f"{model}: no model; the MODEL comes first: {later[0]} {model}")


def only_one(option: str, values: tuple[str, ...]) -> str:
    """The value of an option that must not be given twice: click would silently forget the first one."""
    if len(values) > 1:
        raise OptionError(f"{option} names one file, not {len(values)}")
    return values[0]
