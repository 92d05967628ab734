"""The first command after an installation: all kernels are compiled then, so that no later command has to.

Helper processes compile what the command needs last while the command compiles the rest: the first begins at the end
of the command's steps, so that they meet somewhere in the middle, whatever there is to read. Then they run other
verbs on the bundled sample, for the kernels that later commands will need. On a terminal the command waits for that,
a minute at most, when its own work is done and its results are shown; in a script it ends with its work, and the next
one goes on. A file beside the kernels says that all of them are there.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from base64 import b85decode
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, cast

import numba

from ..base.jit import compiling_in_turn, is_cached
from ..base.processes import exit_with_parent, helper_environment
from ..base.threads import available_cores
from ..base.version import __version__
from ..confidence.warm_up import Turns, warm_up
from ..lattices.path_kernels import best_ratios
from .messages import notify

_PATIENCE = 60.0  # seconds that a command waits for the helper at most
_SHORT = 1.0  # seconds that it waits without a word
_POLL = 0.05
_LATER = "the rest is left for later"
# One utterance of two words: a CompactLattice and a Lattice, as Kaldi writes them.
_KALDI = (
    "bs*OLvVH~t004GnV{~tF5C8xGV{dJ6VPkY`VRUq9V`Vfn0ssI2000000{{R30000000000000000{{R3000000000000000004l0004l000000"
    "0RR91000000RR910RR91004kL0000$0{{R32><{92><{92><{90RR91004l0004l0000000RR91000000ssI20ssI2004kL0000$0{{R32><{92>"
    "<{92><{90ssI20000000000000000000000000",
    "bs*OLvVH~t004GnV{~tF2mk;8Y+-bCX=7zH0ssI2000000{{R30000000000000002LJ#7000000000000000004l0004l00RR91000002LJ#70"
    "RR91004kL0000$0{{R3004l0004l00RR91000002LJ#70ssI2004kL0000$1poj500000000000000000000004l0004l00RR91000002LJ#7000"
    "0000000000001ONa4004l0004l00RR91000002LJ#70000000000000000RR91004l0004l00RR91000002LJ#70000000000000001^@s6004l0"
    "004l00RR91000002LJ#70000000000000000ssI2",
)
_MOST = 3  # helpers; there is less to compile side by side than more could do
_compilations: list[_Compilation] = []  # of this process: one, or none
_is_helper: list[bool] = []


class _Compilation:
    """The helpers that compile beside this process, and the folder in which all of them say what they have begun."""

    def __init__(self, steps: Sequence[str]) -> None:
        self._until_exit, self._helpers = ExitStack(), list[subprocess.Popen[bytes]]()
        self._folder = Path(self._until_exit.enter_context(TemporaryDirectory(prefix="wordtrust-")))
        atexit.register(self.stop)
        for _ in range(min(available_cores() - 1, _MOST)):
            self.add_helper(steps)
        turns = Turns(self._folder, lambda: any(helper.poll() is not None for helper in self._helpers))
        self._until_exit.enter_context(compiling_in_turn(turns))

    def add_helper(self, steps: Sequence[str] = ()) -> None:
        """Start one more; the first takes the steps of the command, the others begin elsewhere."""
        which = len(self._helpers)
        command = [sys.executable, "-m", __name__, str(self._folder), str(which), *(() if which else reversed(steps))]
        silent, environment = subprocess.DEVNULL, helper_environment()
        self._helpers.append(subprocess.Popen(command, stdout=silent, stderr=silent, env=environment))  # noqa: S603  # ours

    def wait(self, seconds: float) -> bool:
        """Whether all is done within this time."""
        until = monotonic() + seconds
        while running := [helper for helper in self._helpers if helper.poll() is None]:
            if len(running) < len(self._helpers):
                self._forget_begun()
            if monotonic() > until:
                return False
            sleep(_POLL)
        return True

    def _forget_begun(self) -> None:
        """What a helper that is gone had begun is not to be waited for."""
        for mark in self._folder.iterdir():
            if not mark.suffix and not mark.with_suffix(".done").exists():
                mark.unlink(missing_ok=True)

    def stop(self) -> None:
        """End it, done or not."""
        for helper in self._helpers:
            helper.terminate()
            helper.wait()
        self._until_exit.close()


def is_compiled() -> bool:
    """Whether all kernels were compiled by an earlier command."""
    marker = _marker()
    return marker is not None and marker.exists()


def _marker() -> Path | None:
    """The file that is there when all kernels are; None where none is kept."""
    folder = cast(Any, best_ratios).stats.cache_path
    versions = f"{__version__}-numba{numba.__version__}-py{sys.version_info[0]}{sys.version_info[1]}"
    return Path(folder, f"wordtrust-{versions}.compiled") if folder else None


def start(steps: Sequence[str]) -> None:
    """Begin to compile in the background: what the steps of a command need, in the order they are taken, then all."""
    if not (_is_helper or _compilations or is_compiled()) and is_cached():
        with suppress(OSError):
            _compilations.append(_Compilation(steps))


def finish() -> None:
    """Wait until all kernels are compiled, if somebody is there to be told, and has nothing better to do."""
    if not _compilations:
        return
    compilation = _compilations.pop()
    try:
        if sys.stderr.isatty() and not compilation.wait(_SHORT):
            notify("done; compiling what later commands need, once (Ctrl-C: not now) ...")
            compilation.add_helper()  # instead of this process
            if not compilation.wait(_PATIENCE):
                notify(_LATER)
    except KeyboardInterrupt:
        notify(_LATER)
    compilation.stop()


def main(folder: str, which: str, *steps: str) -> None:
    """A helper: compile what these steps need, then what all verbs need; several helpers begin at different verbs."""
    exit_with_parent()
    _is_helper.append(True)
    parent = os.getppid()
    with compiling_in_turn(Turns(Path(folder), lambda: os.getppid() != parent)):
        warm_up(steps)
        run_verbs(int(which))
    marker = _marker()
    if marker is not None:
        with suppress(OSError):
            marker.touch()


def run_verbs(first: int = 0) -> None:
    """Run the verbs on the bundled sample, one group of them after the other."""
    from . import cli

    order = [*range(first % len(_GROUPS), len(_GROUPS)), *range(first % len(_GROUPS))]
    with as_file(files("wordtrust") / "sample") as sample:
        for index in order:
            with TemporaryDirectory(prefix="wordtrust-") as folder:
                for command in _GROUPS[index](sample, Path(folder)):
                    cli.main(command, standalone_mode=False)


def _of_models(sample: Path, folder: Path) -> Iterator[list[str]]:
    """Verbs that score words and measure them."""
    model, networks, nbest = "moonshine-tiny", str(folder / "networks"), _nbest(sample, "moonshine-tiny")
    yield ["score", model, nbest, "--out", str(folder / "words.ctm")]
    yield ["build", nbest, *_references(sample), "--scales", model, "--out", networks]
    yield ["evaluate", model, networks]
    yield ["threshold", model, networks]
    yield ["calibrate", model, networks, "--out", str(folder / "model")]


def _of_lattices(sample: Path, folder: Path) -> Iterator[list[str]]:
    """Verbs that read lattices: HTK's, and Kaldi's in text and binary."""
    lattices, words = str(folder / "kaldi.ark"), ["--words", str(folder / "words.txt")]
    yield ["convert", f"{sample / 'lattices'}/*.slf.gz", lattices]
    yield ["info", lattices, *words, "--ref", str(sample / "ref.tsv")]
    yield ["score", "generic", lattices, *words, "--out", str(folder / "words.jsonl")]
    yield ["plan", str(folder / "words.jsonl")]
    for kind, text in zip(("compact", "frames"), _KALDI, strict=True):
        (folder / f"{kind}.lat").write_bytes(b85decode(text))
        yield ["info", str(folder / f"{kind}.lat"), *words]


def _of_tuning(sample: Path, folder: Path) -> Iterator[list[str]]:
    """Verbs that tune scales and use them."""
    nbest, scales = _nbest(sample, "moonshine-tiny"), str(folder / "scales.json")
    yield ["tune", nbest, *_references(sample), "--out", scales]
    yield ["build", nbest, *_references(sample), "--scales", scales, "--out", str(folder / "networks")]


def _of_combination(sample: Path, folder: Path) -> Iterator[list[str]]:
    """Verbs about several recognizers."""
    names = ("moonshine-tiny", "whisper-tiny.en")
    for name in names:
        networks = str(folder / name)
        yield ["build", _nbest(sample, name), *_references(sample), "--scales", name, "--out", networks]
    yield ["combine", *(f"{name}={name},{folder / name}" for name in names), "--joint", "joint"]


def _of_checking(sample: Path, folder: Path) -> Iterator[list[str]]:
    """What one recognizer heard, checked by what another one did."""
    names = ("moonshine-tiny", "whisper-tiny.en")
    for name in names:
        yield ["convert", _nbest(sample, name), str(folder / f"{name}.ctm")]
    yield ["check", str(folder / f"{names[0]}.ctm"), "--heard", str(folder / f"{names[1]}.ctm"), "--json"]


def _nbest(sample: Path, recognizer: str) -> str:
    return str(sample / "corpus" / recognizer / "eval.jsonl.gz")


def _references(sample: Path) -> list[str]:
    return ["--ref", str(sample / "corpus" / "refs.tsv")]


_GROUPS = (_of_models, _of_tuning, _of_combination, _of_lattices, _of_checking)


if __name__ == "__main__":
    from wordtrust.cli.first_run import main as run_helper  # the module that verbs know, not its copy `__main__`

    run_helper(*sys.argv[1:])
