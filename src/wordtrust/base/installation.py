"""How to install what is missing: a command that works here, wherever this copy of the package came from."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

_NAME = "wordtrust"


def install_command(extra: str) -> str:
    """The command that installs wordtrust with this extra: into this Python, from where this copy came from."""
    return f"{_pip()} install {_target(extra)}"


def _pip() -> str:
    """`pip` if that is the one of this Python, else how to call it."""
    python = Path(sys.executable)
    found = shutil.which("pip")
    if found and Path(found).parent == python.parent:
        return "pip"
    return f"{_short(python)} -m pip"


def _target(extra: str) -> str:
    checkout = _checkout(Path(__file__).resolve().parents[3])
    if checkout:
        return f'-e "{_short(checkout)}[{extra}]"'
    origin = _origin()
    if origin is None:
        return f'"{_NAME}[{extra}]"'
    return f'"{_short(origin)}[{extra}]"' if isinstance(origin, Path) else f'"{_NAME}[{extra}] @ {origin}"'


def _checkout(folder: Path) -> Path | None:
    """The folder, if this package is used from a checkout there."""
    project = folder / "pyproject.toml"
    return folder if project.is_file() and f'name = "{_NAME}"' in project.read_text("utf-8", "replace") else None


def _origin() -> Path | str | None:
    """What pip noted: the folder or wheel that was installed, or the address; None if an index had the package."""
    try:
        noted = json.loads(distribution(_NAME).read_text("direct_url.json") or "null")
        url = str(noted["url"])
    except (PackageNotFoundError, OSError, ValueError, KeyError, TypeError):
        return None
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(url2pathname(parts.path))
        return path if path.exists() else None
    vcs = noted.get("vcs_info", {}).get("vcs")
    return f"{vcs}+{url}" if vcs else url


def _short(path: Path) -> str:
    """The path, from where the user stands if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
