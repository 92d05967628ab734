"""Compiling: once, in turn with the helper process, and with a word about it."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from numba import types
from numba.core import event

from wordtrust.base.jit import compiled, compiling_in_turn, inner, notified_of_compiling
from wordtrust.confidence.warm_up import STEPS, Turns

SAMPLE = Path(str(files("wordtrust"))) / "sample"

# Takes all steps of `warm`, runs verbs on the sample, and prints kernels that these had to compile beyond them.
NOT_FORESEEN = """
import gc, sys
from numba.core.dispatcher import Dispatcher
from wordtrust.confidence import warm_up as warm
from wordtrust.cli import cli
from wordtrust.lattices.weights import Scales
from wordtrust.networks.tuned_scales import TunedScales
from pathlib import Path

sample, folder = map(Path, sys.argv[1:])

def kernels():
    functions = [made for made in gc.get_objects() if isinstance(made, Dispatcher)]
    return {(kernel.py_func.__module__, kernel.py_func.__name__, str(args)) for kernel in functions
            for args in kernel.signatures if kernel.py_func.__module__.startswith("wordtrust.")}

warm.warm_up(warm.STEPS)
foreseen = kernels()
TunedScales(Scales(), Scales(), Scales(), {}).save(folder / "scales.json")
lattices, ref = f"{sample / 'lattices'}/*.slf.gz", ["--ref", str(sample / "ref.tsv")]
for command in (
    ["info", lattices, *ref],
    ["build", lattices, *ref, "--scales", str(folder / "scales.json"), "--out", str(folder / "networks")],
    ["evaluate", str(folder / "networks")],
):
    cli.main(command, standalone_mode=False)
readers = {kernel for kernel in kernels() if kernel[0].startswith("wordtrust.formats.")}
print("not foreseen:", sorted(kernels() - foreseen - readers))
"""


@inner
def _more(value: int, by: int) -> int:
    return value + by


def test_constants_are_compiled_once() -> None:
    kernel: Any = _more
    for constant in (1, 2):  # as they come from a call in another kernel
        kernel.get_call_template((types.int64, types.literal(constant)), {})
    assert kernel.signatures == [(types.int64, types.int64)]


@pytest.mark.slow
def test_the_steps_compile_what_verbs_need(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NOT_FORESEEN, str(SAMPLE), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "not foreseen: []"


def test_steps_of_verbs_are_known() -> None:
    from wordtrust.cli.inputs import _STEPS

    assert {step for steps in _STEPS.values() for step in steps} == set(STEPS)


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    first, second = Turns(tmp_path, lambda: False), Turns(tmp_path, lambda: False)
    order: list[str] = []

    def compile_second() -> None:
        with second("kernel"):
            order.append("second")

    with first("kernel"):
        thread = Thread(target=compile_second)
        thread.start()
        with second("another kernel"), first("kernel"):  # neither waits: not begun, and one's own
            order.append("first")
        thread.join(0.1)
        assert thread.is_alive()
    thread.join(10)
    assert order == ["first", "second"]


def test_nobody_waits_for_a_process_that_is_gone(tmp_path: Path) -> None:
    with Turns(tmp_path, lambda: False)("kernel"), Turns(tmp_path, lambda: True)("kernel"):
        pass
    with Turns(tmp_path / "gone", lambda: False)("kernel"):
        pass


def test_kernels_are_compiled_in_turn(tmp_path: Path) -> None:
    @compiled
    def doubled(values: np.ndarray) -> float:
        return float(2 * values[0])

    with compiling_in_turn(Turns(tmp_path, lambda: False)):
        assert doubled(np.ones(1)) == 2
        assert doubled(np.ones(1, np.float32)) == 2
    assert doubled(np.ones(1, np.int32)) == 2  # in no turn
    assert sorted(path.suffix for path in tmp_path.iterdir()) == ["", "", ".done", ".done"]


def test_a_person_is_told_once() -> None:
    told: list[str] = []
    with notified_of_compiling(lambda: told.append("compiling")):
        event.start_event("numba:compile")
        event.start_event("numba:compile")
    event.start_event("numba:compile")
    assert told == ["compiling"]
