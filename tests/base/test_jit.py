"""Compiled kernels and their cache on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from shutil import which

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


KERNEL = """
from wordtrust.base import jit

@jit.compiled
def twice(number):
    return 2 * number

print(twice(2), jit.is_cached(), jit.unusual_cache())
"""


def unprivileged() -> list[str]:
    """A prefix for commands with which permissions bind root too."""
    if os.geteuid():
        return []
    if not which("setpriv"):
        pytest.skip("root may write everywhere, and setpriv is not there")
    return ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs permissions")
def test_kernels_run_where_no_usual_folder_can_be_written(tmp_path: Path) -> None:
    """As in a container: a read-only installation, no home folder."""
    installed, temporary = tmp_path / "installed", tmp_path / "tmp"
    installed.mkdir()
    temporary.mkdir()
    (installed / "kernels.py").write_text(KERNEL)
    installed.chmod(0o555)
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment |= {
        "HOME": str(installed / "home"),
        "XDG_CACHE_HOME": str(installed / "no"),
        "TMPDIR": str(temporary),
    }
    environment["PYTHONDONTWRITEBYTECODE"] = "1"

    def printed() -> str:
        command = [*unprivileged(), sys.executable, "-c", "import kernels"]
        done = subprocess.run(command, cwd=installed, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    folder = temporary / f"wordtrust-kernels-{os.geteuid()}"
    assert printed() == f"4 True kept in {folder}, as no usual folder can be written\n"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("*.nbc"))
    shutil.rmtree(folder)
    folder.mkdir()
    folder.chmod(0o777)  # others could put code there
    assert printed().startswith("4 False nothing can be kept for the next command: set NUMBA_CACHE_DIR")
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_cache_on_a_full_disk_is_not_used(tmp_path: Path) -> None:
    script = tmp_path / "kernels.py"
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limit += "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    script.write_text(limit + KERNEL)
    run = [sys.executable, "-B", "-c", "import kernels"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "4 True None\n"
