"""Compiled kernels and their cache on disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
from typing import NamedTuple
from wordtrust.base.jit import compiled

class {name}(NamedTuple):
    first: int
    second: int

@compiled
def total(pair):
    return pair.first + pair.second

print(total({name}(1, 2)))
"""


@pytest.mark.slow
def test_a_cache_that_names_a_type_of_an_older_version_is_made_anew(tmp_path: Path) -> None:
    script = tmp_path / "kernels.py"
    for name in ("Pair", "Couple"):
        script.write_text(MODULE.format(name=name))
        run = [sys.executable, "-c", "import kernels"]
        printed = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert printed == "3\n"
