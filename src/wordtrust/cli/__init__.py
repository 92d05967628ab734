"""The command line: thin verbs over the package. Results go to stdout, progress and complaints to stderr."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from io import StringIO
from pathlib import Path

import click

from ..base.errors import WordtrustError
from ..base.processes import exit_code, raising_when_terminated
from ..base.version import __version__
from ..base.visible_text import visible
from . import (
    audio,
    calibration,
    check,
    combination,
    estimate,
    evaluation,
    lattices,
    networks,
    plan,
    score,
    shipped,
    study,
    train,
    view,
)
from .inputs import InterruptedResumable, announce_compilation
from .messages import echo, notify
from .options import out_option
from .verb_sections import SectionedGroup

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(cls=SectionedGroup, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="wordtrust")
def cli() -> None:
    """Which words of a speech transcript can you trust?

    LATTICES is any mix of files, folders and globs of any known format: Kaldi, HTK and Sphinx lattices, OpenFst and
    k2 text, N-best lists, CTM, Whisper, Vosk and cloud JSON, packed or not (`wordtrust formats` lists them).
    """


def main() -> None:
    """Run the command line; errors of ours, and of the system, become one line on stderr and exit code 1."""
    try:
        with raising_when_terminated():
            cli.main(standalone_mode=False)
            sys.stdout.flush()
            finish_compiling()
    except WordtrustError as error:
        _fail(str(error), 1)
    except click.ClickException as error:
        shown = StringIO()
        error.show(shown)
        echo(shown.getvalue(), nl=False, err=True)
        sys.exit(error.exit_code)
    except InterruptedResumable as error:
        _fail("interrupted; the same command resumes it", exit_code(error.__cause__))
    except (click.Abort, KeyboardInterrupt) as error:
        _fail("interrupted", exit_code(error.__cause__ or error))
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:
        if os.environ.get("WORDTRUST_DEBUG"):
            raise
        if isinstance(error, OSError) and (said := _system_error(error)):
            _fail(said, 1)
        text = " ".join(f"{type(error).__name__}: {error}".split())
        _fail(f"this should not have happened, please report it: {text} (WORDTRUST_DEBUG=1 shows where)", 70)


def finish_compiling() -> None:
    """The first command after an installation compiles for those that come later, now that its own work is done."""
    first_run = sys.modules.get(f"{__name__}.first_run")
    if first_run is not None:
        first_run.finish()


def _system_error(error: OSError) -> str | None:
    """What the system says about a file, or about standard output; None if it is about neither."""
    if error.filename is not None and error.strerror:
        return f"{visible(os.fsdecode(error.filename))}: {error.strerror}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
        return f"the output cannot be written: {error.strerror}"
    return None


def _fail(message: str, code: int) -> None:
    with suppress(OSError):  # after SIGHUP there is nobody to tell
        notify(message)
    try:
        sys.stdout.flush()
    except OSError:  # said by then: Python must not try again when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


@cli.command()
@out_option(
    is_folder=True,
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("demo-output"),
    show_default=True,
    help="Where the results go.",
)
def demo(out: Path) -> None:
    """Transcribe, check, score, evaluate and combine bundled samples, and show what comes out.

    \b
    Example: wordtrust demo --out demo-output
    """
    from .walkthrough import run

    announce_compilation()
    run(out, cli)


for _verb in (
    lattices.info, lattices.convert, lattices.formats, networks.tune, networks.build, train.train, score.score,
    shipped.models, shipped.adapt, calibration.calibrate, evaluation.threshold, evaluation.evaluate,
    estimate.estimate, plan.plan, combination.combine, study.study, audio.transcribe, check.check, view.view,
    audio.recognize, audio.recognizers,
):  # fmt: skip
    cli.add_command(_verb)
