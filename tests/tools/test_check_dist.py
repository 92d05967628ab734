"""What `make dist` finds fault with. All of it builds and installs, and takes minutes: it is run for a release."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest
from tools.check_dist import IN_SDIST, IN_WHEEL, check_sdist, check_wheel

METADATA = """\
Metadata-Version: 2.4
Name: wordtrust
Version: 1
Summary: x
Keywords: x
Author: x
License-Expression: Apache-2.0
License-File: LICENSE
Classifier: x
Requires-Python: >=3.11
Requires-Dist: numpy
Requires-Dist: torch>=2; extra == 'train'
Description-Content-Type: text/markdown
"""
INFO = "wordtrust-1.dist-info"


def wheel(folder: Path, *more: str, metadata: str = METADATA, without: str = "nothing") -> Path:
    path = folder / "wordtrust-1-py3-none-any.whl"
    parts = [f"wordtrust/{part}{'x' if part.endswith('/') else ''}" for part in IN_WHEEL]
    parts += [f"{INFO}/licenses/LICENSE", f"{INFO}/entry_points.txt", *more]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{INFO}/METADATA", metadata)
        for part in parts:
            if without not in part:
                archive.writestr(part, "")
    return path


def sdist(folder: Path, *more: str) -> Path:
    path, empty = folder / "wordtrust-1.tar.gz", folder / "empty"
    empty.touch()
    with tarfile.open(path, "w:gz") as archive:
        for part in [f"{part}{'x' if part.endswith('/') else ''}" for part in IN_SDIST] + list(more):
            archive.add(empty, f"wordtrust-1/{part}")
    return path


def test_good_ones_pass(tmp_path: Path) -> None:
    check_wheel(wheel(tmp_path))
    check_sdist(sdist(tmp_path, ".gitignore"))


@pytest.mark.parametrize(
    ("more", "metadata", "without", "message"),
    [
        ("tests/test_x.py", METADATA, "nothing", "files beside the package"),
        ("wordtrust/base/__pycache__/x.pyc", METADATA, "nothing", "nobody wants"),
        ("wordtrust/x", METADATA, "py.typed", "lacks wordtrust/py.typed"),
        ("wordtrust/x", METADATA, "LICENSE", "lacks wordtrust-1.dist-info/licenses/LICENSE"),
        ("wordtrust/x", METADATA.replace("Summary: x\n", ""), "nothing", "have no Summary"),
        ("wordtrust/x", METADATA.replace("numpy", "torch"), "nothing", "needs torch"),
    ],
)
def test_bad_wheels_do_not(more: str, metadata: str, without: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=message):
        check_wheel(wheel(tmp_path, more, metadata=metadata, without=without))


@pytest.mark.parametrize("more", [".venv/bin/python", "dist/x.whl", "src/wordtrust/x.nbi", ".env"])
def test_bad_sdists_do_not(more: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="nobody wants"):
        check_sdist(sdist(tmp_path, more))
