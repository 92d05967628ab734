"""The process of one bug: the module with the bug in it is loaded from memory, and tests run on it."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import resource
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# Loaded once, before processes are forked: this is most of the time that small tests take.
import hypothesis
import numba
import pyarrow.parquet  # noqa: F401
import pytest

from .operators import Mutant, mutated
from .targets import Target

_EXAMPLES = 30  # of a property
_MEMORY = 8 << 30  # bytes of address space
_IGNORED = ("RuntimeWarning", "pytest.PytestAssertRewriteWarning")  # overflows of plain numbers; loaded before
_OPTIONS = ["-x", "-q", "-p", "no:cacheprovider", *(f"-Wignore::{name}" for name in _IGNORED)]
_MACHINE_INTEGERS = {"group_arcs"}  # kernels whose numbers must wrap around: always compiled
_DECORATORS = ("compiled", "arithmetic", "inner", "inlined", "inlined_arithmetic")


def run_tests(root: Path, target: Target, bug: BugLoader | None, limit: int) -> None:
    """Run the tests of a target until one fails, for `limit` seconds; the process ends with their exit status."""
    status = 1
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        if bug is not None:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            sys.meta_path.insert(0, bug)
        sys.path[:0] = [str(root / "src"), str(root)]
        os.chdir(root)
        _without_compiling(bug)
        with tempfile.TemporaryDirectory() as folder:
            tests = [f"tests/{test}" for test in target.tests]
            chosen = " and ".join(f"not {name}" for name in ("real", *target.left_out))
            options = [*_OPTIONS, f"--basetemp={folder}/tests", "-k", chosen]
            status = int(pytest.main([*options, *tests], plugins=[_SameExamples()]))
        sys.stdout.flush()
    finally:
        os._exit(status)


class _SameExamples:
    """Hypothesis draws the same examples every time, and does not look for smaller ones."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        for test in {getattr(item, "obj", None) for item in items}:
            own = getattr(test, "_hypothesis_internal_use_settings", None)
            if isinstance(own, hypothesis.settings):
                quiet: Any = list(hypothesis.HealthCheck)
                same = hypothesis.settings(
                    own,
                    max_examples=min(own.max_examples, _EXAMPLES),
                    derandomize=True,
                    database=None,
                    phases=phases,
                    suppress_health_check=quiet,
                )
                setattr(test, "_hypothesis_internal_use_settings", same)  # noqa: B010


def _without_compiling(bug: BugLoader | None) -> None:
    from wordtrust.base import jit

    def plain(decorator: Any) -> Any:
        def decorated(function: Any) -> Any:
            if function.__name__ not in _MACHINE_INTEGERS:
                return function
            changed = bug is not None and function.__module__ == bug.module
            return numba.njit(error_model="numpy")(function) if changed else decorator(function)

        return decorated

    for name in _DECORATORS:
        setattr(jit, name, plain(getattr(jit, name)))


class BugLoader(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module from its changed tree; all others as ever."""

    def __init__(self, root: Path, bug: Mutant) -> None:
        self._file = root / bug.path
        self.module = bug.path.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self._code = compile(mutated(root, bug), str(self._file), "exec")

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Where the module with the bug comes from; nothing for others."""
        if fullname != self.module:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(self._file))
        spec.has_location = True
        return spec

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with the bug."""
        exec(self._code, module.__dict__)
