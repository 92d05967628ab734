"""What the script of the page is given: the records of the transcript, and what is known about it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from os.path import isfile as is_file
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...base.version import __version__
from ...base.visible_text import json_text
from ..review.page_plan import page_plan
from ..target import accept_threshold
from ..utterance import UtteranceWords
from ..words import HIGH, LOW, MISSING, LeftOut

_ACTIVE = re.compile("[<>&]")  # what could end the element that holds the data


def page_data(
    segments: Sequence[UtteranceWords],
    about: Mapping[str, Any],
    left_out: Sequence[LeftOut] | None,
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """`records` are those of .jsonl files, `limits` the confidences at which marks begin, `plan` what to listen to.

    There may be more: `audio` (by recordings: `url`, and on served pages `wav` and `peaks`), `others` (transcripts
    of other recognizers), `review` (what a person changed before), `save` (where that goes).
    """
    limit = accept_threshold(about)
    return {
        "wordtrust": __version__,
        "about": dict(about),
        "limits": {"low": LOW, "high": HIGH, "missing": MISSING, "marked": HIGH if limit is None else limit},
        "left_out": None if left_out is None else [stretch.to_dict() for stretch in left_out],
        "records": [segment.to_dict() for segment in segments],
        **(known_plan(segments, about) if "plan" not in (more or {}) else {}),
        **(more or {}),
    }


def known_plan(segments: Sequence[UtteranceWords], about: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of a review, where confidences are probabilities."""
    return {} if about.get("calibrated") is False else {"plan": page_plan(segments)}


def audio_beside(path: Path, about: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Where a page looks for audio that is there now: below its own folder where it is, or beside itself."""
    listed = about.get("files")
    names = [about.get("file"), *(listed if isinstance(listed, list) else [])]
    files = [Path(name) for name in names if isinstance(name, str) and Path(name).name and "\0" not in name]
    folder = path.absolute().parent
    found: dict[str, dict[str, str]] = {}
    for file in files:
        whole = file.absolute()
        if is_file(whole) or is_file(folder / file.name):
            is_below = is_file(whole) and whole.is_relative_to(folder)
            shown = whole.relative_to(folder) if is_below else Path(file.name)
            found[file.stem] = {"url": quote(shown.as_posix())}
    return found


def embedded(data: Mapping[str, Any]) -> str:
    """Data as JSON that can stand in a script element, whatever is in it; what is no number is null."""
    try:
        json.dumps(data, allow_nan=False, default=str)
    except ValueError:
        data = _finite(data)
    return _ACTIVE.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text(data))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _finite(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
