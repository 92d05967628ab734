"""What verbs share: LATTICES and the options that say how to read them, resuming, and the notice about compiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .messages import echo, notify, notify_skipped
from .options import skip_bad_option

if TYPE_CHECKING:
    from ..base.problems import Problems
    from ..formats.format import ReadOptions
    from ..formats.references import Reference, References
    from ..formats.references.glm import Glm
    from ..lattices.lattice import Lattices
    from ..lattices.text import Normalizer
    from ..lattices.weights import Reals
    from ..transcripts.reader import TranscriptSource


@dataclass(frozen=True, slots=True)
class Inputs:
    """LATTICES and the options that say how to read them."""

    paths: tuple[str, ...]
    options: ReadOptions
    skip_bad: bool

    def batches(
        self, task: str, references: Mapping[str, Reference] | None = None, *, once: bool = False
    ) -> Iterator[Lattices]:
        """All batches, with a progress bar on a terminal and a summary of what was left out.

        With references, an utterance that has none counts as bad, and so does one that came before; with `once` the
        latter does anyway.
        """
        from ..base.problems import Problems
        from ..base.progress import byte_progress
        from ..formats import stream_files
        from ..formats.batches import unique_utterances
        from ..formats.references import with_references

        problems = Problems(skip=self.skip_bad, notify=notify_skipped)
        with byte_progress(task, self.paths) as watch:
            batches = stream_files(self.paths, self.options, problems, watch=watch, notify=notify)
            for batch in unique_utterances(batches, problems) if once or references is not None else batches:
                kept = batch if references is None else with_references(batch, references, problems)
                if len(kept):
                    yield kept
        _notify_left_out(problems)

    def references(self, ref: Path, glm: Glm | Path | None = None) -> References:
        """The references of a --ref option, their words made like those of the lattices."""
        return load_references(ref, glm, self.options.normalizer)

    def transcripts(self, task: str) -> Iterator[TranscriptSource]:
        """The same files as transcripts."""
        from ..base.problems import Problems
        from ..base.progress import byte_progress
        from ..transcripts.reader import transcript_sources

        problems = Problems(skip=self.skip_bad, notify=notify_skipped)
        with byte_progress(task, self.paths) as watch:
            yield from transcript_sources(self.paths, self.options, problems, watch=watch, notify=notify)
        _notify_left_out(problems)

    def copy_ctm(
        self, task: str, out: Path, show: Callable[[Reals], Reals] | None = None, utts: tuple[str, ...] = ()
    ) -> tuple[int, int] | None:
        """Copy CTM to CTM with other confidences: utterances and words; None, and nothing done, for anything else."""
        from ..base.problems import Problems
        from ..base.progress import byte_progress
        from ..formats.ctm_lines import CtmCopy, are_ctm
        from ..formats.inputs import streams

        if not out.name.lower().removesuffix(".gz").endswith(".ctm") or not are_ctm(self.paths, self.options):
            return None
        problems = Problems(skip=self.skip_bad, notify=notify_skipped)
        copy = CtmCopy(show, self.options, problems, utts)
        with byte_progress(task, self.paths) as watch:
            copy.write(streams(self.paths, problems, watch), out)
        _notify_left_out(problems)
        return copy.utterances, copy.words


def _notify_left_out(problems: Problems) -> None:
    if bad := len(problems.errors):
        notify("left out 1 bad utterance or file" if bad == 1 else f"left out {bad:,} bad utterances or files")


def lattice_inputs(command: Callable[..., None], metavar: str = "LATTICES...") -> Callable[..., None]:
    """Give a command LATTICES and the reading options, as one `inputs` argument."""

    @click.argument("lattices", nargs=-1, required=True, metavar=metavar)
    @click.option("--words", type=click.Path(path_type=Path), help="Symbol table (words.txt) for word ids.")
    @click.option("--frame-length", type=float, help="Seconds a frame, e.g. 0.03 for subsampled chain models [0.01].")
    @click.option("--pick", type=click.Choice(["total", "average"]), help="Which N-best hypothesis counts as 1-best.")
    @click.option("--lmwt", type=float, metavar="N", help="Divide acoustic scores by N, like lattice-scale "
                  "--inv-acoustic-scale [unscaled scores are recognised].")  # fmt: skip
    @click.option("--acoustic-scale", type=float, metavar="X", help="The same as a factor: multiply them by X.")
    @click.option("--word-ins-penalty", type=float, metavar="P", help="Cost of each word, like lattice-add-penalty.")
    @click.option("--as-written", is_flag=True, help="Compare words as they are written, as compute-wer does: "
                  "case, accents, hyphens and punctuation count.")  # fmt: skip
    @click.option("--format", "format_name", help="Read as this format instead of looking at the content.")
    @click.option("--max-arcs", type=click.IntRange(min=1), help="Refuse lattices with more arcs [2000000].")
    @skip_bad_option
    @wraps(command)
    def wrapped(
        lattices: tuple[str, ...],
        words: Path | None,
        frame_length: float | None,
        pick: str | None,
        lmwt: float | None,
        acoustic_scale: float | None,
        word_ins_penalty: float | None,
        format_name: str | None,
        max_arcs: int | None,
        *,
        as_written: bool,
        skip_bad: bool,
        **rest: Any,
    ) -> None:
        from ..formats.format import ReadOptions
        from ..lattices.text import AS_WRITTEN, DEFAULT

        announce_compilation()
        options = ReadOptions(
            format_name, words, frame_length, pick, AS_WRITTEN if as_written else DEFAULT,
            max_arcs=max_arcs or ReadOptions().max_arcs, lmwt=lmwt,
            acoustic_scale=acoustic_scale, word_ins_penalty=word_ins_penalty,
        )  # fmt: skip
        command(inputs=Inputs(lattices, options, skip_bad), **rest)

    return wrapped


_IS_KEPT = "wordtrust.kept"  # in click's meta: whether anything was kept so far


def resumes_if(is_kept: Callable[[], bool]) -> None:
    """Say that an interrupted command resumes only if this is so by then."""
    click.get_current_context().meta[_IS_KEPT] = is_kept


def resumable_once_kept(command: Callable[..., None]) -> Callable[..., None]:
    """Mark a command that resumes if it has kept anything: nothing at first, then what it says (`resumes_if`)."""

    @wraps(command)
    def wrapped(**options: Any) -> None:
        resumes_if(lambda: False)
        command(**options)

    return resumable(wrapped)


class InterruptedResumable(click.Abort):
    """The user interrupted a command that resumes where it stopped when it is started again."""


def resumable(command: Callable[..., None]) -> Callable[..., None]:
    """Mark a command that keeps what it has done; one with the option --out only if that was given."""

    @wraps(command)
    def wrapped(**options: Any) -> None:
        try:
            command(**options)
        except KeyboardInterrupt as error:
            is_kept = click.get_current_context().meta.get(_IS_KEPT, lambda: True)
            if not options.get("out", True) or not is_kept():
                raise
            with suppress(OSError):
                echo(err=True)  # after the ^C that the terminal shows
            raise InterruptedResumable from error

    return wrapped


def load_references(ref: Path, glm: Glm | Path | None = None, normalizer: Normalizer | None = None) -> References:
    """The references of a --ref option, with the rules of --glm."""
    from ..formats.references import read_references
    from ..formats.references.glm import read_glm
    from ..lattices.text import DEFAULT

    rules = read_glm(glm) if isinstance(glm, Path) else glm
    return read_references(ref, normalizer=normalizer or DEFAULT, glm=rules)


_STEPS = {  # of every verb that compiles; a helper process begins with the last (first_run)
    "info": ("graph", "paths", "labels"),
    "convert": ("graph", "paths"),
    "tune": ("graph", "paths", "labels", "networks", "metrics", "consensus"),
    "build": ("graph", "networks", "paths", "labels", "network labels", "consensus"),
    "train": ("paths", "labels"),
    "score": ("graph", "networks", "paths", "confidence"),
    "estimate": ("graph", "networks", "paths", "confidence"),
    "combine": ("paths", "confidence", "labels"),
    "threshold": ("paths", "confidence", "labels", "segments", "metrics"),
    "calibrate": ("paths", "confidence", "labels", "segments"),
    "adapt": ("graph", "networks", "paths"),
    "evaluate": ("paths", "confidence", "labels", "segments", "metrics"),
    "study": ("graph", "paths", "labels", "networks", "network labels", "confidence", "metrics", "consensus"),
    "transcribe": ("graph", "networks", "paths", "confidence"),
    "check": ("graph", "paths", "networks", "confidence", "labels"),
    "recognize": ("graph", "paths"),
    "demo": ("graph", "paths", "labels", "networks", "network labels", "confidence", "metrics"),
}
_ANNOUNCED = "wordtrust.compilation"  # in click's meta: the context of the verb that announces it
# Options of info, build and those that take --scores.
_ONLY_WITH = {"labels": "ref", "segments": "ref", "network labels": "ref", "consensus": "scales"}


def announce_compilation() -> None:
    """Say why the first command after an installation takes a while, and use a second core for it."""
    from ..base.jit import notified_of_compiling, unusual_cache

    context = click.get_current_context()
    if context.meta.setdefault(_ANNOUNCED, context) is not context:  # `demo` says it for the verbs it runs
        return
    options, steps = context.params, _STEPS.get(str(context.command.name), ())
    left_out = {step for step, option in _ONLY_WITH.items() if option in options and not options[option]}

    def on_compile() -> None:
        from .first_run import is_compiled, start

        unusual = unusual_cache()
        if not is_compiled():
            notify(f"compiling for this machine, {f'up to 20 s; {unusual}' if unusual else 'once (up to 20 s)'} ...")
        start([step for step in steps if step not in left_out])

    context.find_root().with_resource(notified_of_compiling(on_compile))
