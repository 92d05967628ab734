"""The package as a whole: light to import, one public surface, one version."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import wordtrust

HEAVY = ("torch", "pyarrow", "numba", "matplotlib", "numpy", "rich", "click")


def test_importing_loads_nothing_heavy() -> None:
    code = f"import sys, wordtrust; print([name for name in {HEAVY!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert set(wordtrust.__all__) == set(wordtrust._HOMES)
    for name in wordtrust.__all__:
        found = getattr(wordtrust, name)
        assert getattr(found, "__module__", found.__name__).startswith("wordtrust.")
    assert set(dir(wordtrust)) >= set(wordtrust.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        wordtrust.nothing  # noqa: B018


def test_there_is_one_version() -> None:
    assert version("wordtrust") == wordtrust.__version__
    changelog = Path(__file__).parents[1] / "CHANGELOG.md"
    assert f"## {wordtrust.__version__}" in changelog.read_text("utf-8")
