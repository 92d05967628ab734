"""Figures in JSON files, written whole or not at all."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.files import atomic_text


def write_json(path: Path, found: Any) -> None:
    """Write figures; what is not a number is null."""
    with atomic_text(path) as file:
        file.write(json.dumps(_plain(found), ensure_ascii=False, allow_nan=False) + "\n")


def _plain(found: Any) -> Any:
    if isinstance(found, dict):
        return {str(name): _plain(value) for name, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [_plain(value) for value in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


def read_json(path: Path) -> dict[str, Any]:
    """Read what `write_json` wrote."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read: {error}", file=str(path), remedy="Delete it and start again") from None
    if not isinstance(found, dict):
        raise InputError("these are no figures", file=str(path), remedy="Delete it and start again")
    return found
