"""The command line: thin verbs over the package. Results go to stdout, progress and complaints to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__
from .errors import InputError, OptionError, WordtrustError

if TYPE_CHECKING:
    from .formats.base import ReadOptions
    from .lattice import Lattices

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="wordtrust")
def cli() -> None:
    """Which words of a speech transcript can you trust?

    LATTICES is any mix of files, folders and globs of any known format: Kaldi, HTK and Sphinx lattices, OpenFst and
    k2 text, N-best lists, CTM, Whisper, Vosk and cloud JSON, packed or not (`wordtrust formats` lists them).
    """


def main() -> None:
    """Run the command line; errors of ours become one line on stderr and exit code 1."""
    try:
        cli.main(standalone_mode=False)
    except WordtrustError as error:
        _fail(str(error), 1)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _fail("interrupted", 130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _fail(message: str, code: int) -> None:
    click.echo(f"wordtrust: {message}", err=True)
    sys.exit(code)


@dataclass(frozen=True, slots=True)
class Inputs:
    """LATTICES and the options that say how to read them."""

    paths: tuple[str, ...]
    options: ReadOptions
    skip_bad: bool

    def batches(self, task: str) -> Iterator[Lattices]:
        """All batches, with a progress bar on a terminal and a summary of what was left out."""
        from .assemble import Problems
        from .formats import stream
        from .progress import byte_progress

        problems = Problems(skip=self.skip_bad, tell=_tell_skipped)
        with byte_progress(task, self.paths) as watch:
            yield from stream(self.paths, self.options, problems, watch=watch)
        if problems.errors:
            click.echo(f"wordtrust: left out {len(problems.errors)} bad utterances or files", err=True)


def _tell_skipped(error: InputError) -> None:
    click.echo(f"wordtrust: skipped: {error}", err=True)


def lattice_inputs(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command LATTICES and the reading options, as one `inputs` argument."""

    @click.argument("lattices", nargs=-1, required=True, metavar="LATTICES...")
    @click.option("--words", type=click.Path(path_type=Path), help="Symbol table (words.txt) for word ids.")
    @click.option("--frame-length", type=float, help="Seconds a frame, e.g. 0.03 for subsampled chain models [0.01].")
    @click.option("--pick", type=click.Choice(["total", "average"]), help="Which N-best hypothesis counts as 1-best.")
    @click.option("--format", "format_name", help="Read as this format instead of looking at the content.")
    @click.option("--max-arcs", type=click.IntRange(min=1), help="Refuse lattices with more arcs [2000000].")
    @click.option("--skip-bad", is_flag=True, help="Leave bad utterances out, say which and how many, and go on.")
    @wraps(command)
    def wrapped(
        lattices: tuple[str, ...],
        words: Path | None,
        frame_length: float | None,
        pick: str | None,
        format_name: str | None,
        max_arcs: int | None,
        *,
        skip_bad: bool,
        **rest: Any,
    ) -> None:
        from .formats.base import ReadOptions

        _announce_compilation()
        options = ReadOptions(format_name, words, frame_length, pick, max_arcs=max_arcs or ReadOptions().max_arcs)
        command(inputs=Inputs(lattices, options, skip_bad), **rest)

    return wrapped


def _announce_compilation() -> None:
    from .jit import tell_before_compiling

    tell_before_compiling(lambda: click.echo("wordtrust: compiling for this machine, once (some 10 s) ...", err=True))


@cli.command()
@lattice_inputs
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def info(inputs: Inputs, *, as_json: bool) -> None:
    """Count what is in LATTICES: utterances, nodes, arcs, density, duration, words of the 1-best.

    \b
    Example: wordtrust info exp/decode/lat.*.gz --words graph/words.txt --frame-length 0.03
    """
    from .counts import count_by_file, total
    from .tables import print_counts

    files = count_by_file(inputs.batches("reading"))
    if as_json:
        listed = {file: counts.to_dict() for file, counts in files.items()}
        click.echo(json.dumps(total(files.values()).to_dict() | {"files": listed}, ensure_ascii=False))
    elif files:
        print_counts(files)
    else:
        raise OptionError("no utterances found")


@cli.command()
@lattice_inputs
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--to", help="Write this format instead of the one that OUT's ending names.")
@click.option("--utt", "utts", multiple=True, help="Only this utterance (may be given more than once).")
def convert(inputs: Inputs, out: Path, to: str | None, utts: tuple[str, ...]) -> None:
    """Convert LATTICES to the format that OUT's ending names; without an ending, to a store.

    OUT is written whole or not at all.

    \b
    Examples: wordtrust convert lat.1.gz corpus.store
              wordtrust convert lattices/ words.ctm
              wordtrust convert lat.1.gz picture.svg --utt utt-17
    """
    from .counts import Counts, count
    from .formats import writable, write
    from .formats.base import WriteOptions

    chosen, done = writable(out, to), Counts()

    def counted() -> Iterator[Lattices]:
        nonlocal done
        for batch in _only(inputs.batches("converting"), utts):
            done += count(batch)
            yield batch

    write(counted(), out, format=chosen.name, options=WriteOptions(inputs.options.frame_length))
    click.echo(f"{out}: {done.utterances:,} utterances, {done.arcs:,} arcs as {chosen.title}")


def _only(batches: Iterator[Lattices], utts: tuple[str, ...]) -> Iterator[Lattices]:
    wanted, found = set(utts), set[str]()
    for batch in batches:
        if not wanted:
            yield batch
        for lattice in batch if wanted else ():
            if lattice.utt in wanted:
                found.add(lattice.utt)
                yield lattice.batch()
    if missing := wanted - found:
        raise OptionError(f"no utterance {', '.join(sorted(missing))} in the input")


@cli.command()
def formats() -> None:
    """List the formats that can be read and written."""
    from .formats import formats as known
    from .tables import print_formats

    print_formats(known().values())


@cli.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo-output"),
    show_default=True,
    help="Where the results go.",
)
def demo(out: Path) -> None:
    """Run the main job on the bundled sample and show what comes out."""
    from .demo import run

    _announce_compilation()
    run(out)
