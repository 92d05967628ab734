"""Typed access to JSON from outside: every field has the expected type, or an `InputError` names it.

All of these take the object that holds the field, the field's name, and where the object stands (`nbest[3]`), so that
the message can say `nbest[3].score is true, not a number`. The reader adds file, utterance and line with
`InputError.at`. A truth value is no number, and NaN, Infinity and 1e400 are no numbers either.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from .errors import InputError

MOST_BYTES = 1 << 26  # of a JSON file beside data
_MISSING: Any = object()
_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
_SHOWN = 40  # characters of a bad value that a message quotes


def parse(data: bytes | str, *, allow_nan: bool = False) -> Any:
    """The value of a JSON text. Whatever is wrong with it becomes an `InputError` with the place in the text.

    `allow_nan` takes NaN and Infinity, as Python writes them, for numbers.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8: byte {error.start} of the text is {data[error.start : error.start + 1]!r}",
            remedy="Save the file as UTF-8",
        ) from None
    try:
        value = (_WITH_NAN if allow_nan else _DECODER).decode(text)
        if "\\ud" in text or "\\uD" in text:  # half of a character that takes two: Python keeps it, but no file can
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise InputError(
            "JSON nested too deeply", remedy="No recognizer writes such a thing: make it again"
        ) from None
    except UnicodeEncodeError as error:
        code = ascii(error.object[error.start])
        raise InputError(
            f"the text has {code}, which is half a character", remedy="Write the text as UTF-8"
        ) from None
    except ValueError as error:
        raise InputError(
            f"not JSON: {error}", remedy="The text is damaged or cut off, or this is another format"
        ) from None
    return value


def load(path: Path, *, most: int = MOST_BYTES, allow_nan: bool = False) -> Any:
    """The value of a JSON file that lies beside data: a file indeed, of at most so many bytes; errors name it.

    What the system has against opening it stays an `OSError`.
    """
    try:
        # A pipe is not waited for.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise InputError("this is no file, but a folder, pipe or device")
            if facts.st_size > most:
                raise InputError(f"too large: more than {most:,} bytes", remedy="Is this the right file?")
            return parse(file.read(most), allow_nan=allow_nan)
    except InputError as error:
        raise error.at(file=str(path)) from None
    except ValueError as error:  # a name with a NUL
        raise InputError(f"cannot be opened: {error}", file=str(path)) from None


def number(holder: Mapping[str, Any], name: str, where: str = "") -> float:
    """A finite number."""
    value = holder.get(name, _MISSING)
    if type(value) is not float and type(value) is not int:
        _refuse(value, name, where, "a number")
    try:
        result = float(value)
    except OverflowError:  # an integer of more than 308 digits
        result = math.inf
    if not math.isfinite(result):
        raise InputError(f"{_path(where, name)} is too large for a number")
    return result


def number_or_none(holder: Mapping[str, Any], name: str, where: str = "") -> float | None:
    """A finite number, or None where the field is absent or null."""
    return None if holder.get(name) is None else number(holder, name, where)


def number_in(text: str, what: str) -> float:
    """The number that a text spells, as some formats write numbers as strings; `what` names it in the message."""
    try:
        result = float(text)
    except ValueError:
        result = math.nan
    if not math.isfinite(result) or "_" in text:  # Python reads 1_000 as a number, nobody else does
        raise InputError(f"{what} is {_quoted(text)}, not a finite number")
    return result


def string(holder: Mapping[str, Any], name: str, where: str = "") -> str:
    """A string."""
    value = holder.get(name, _MISSING)
    return value if isinstance(value, str) else _refuse(value, name, where, "a string")


def string_or_none(holder: Mapping[str, Any], name: str, where: str = "") -> str | None:
    """A string, or None where the field is absent or null."""
    return None if holder.get(name) is None else string(holder, name, where)


def list_of(holder: Mapping[str, Any], name: str, where: str = "") -> list[Any]:
    """A list of anything."""
    value = holder.get(name, _MISSING)
    return value if isinstance(value, list) else _refuse(value, name, where, "a list")


def objects_of(holder: Mapping[str, Any], name: str, where: str = "") -> list[dict[str, Any]]:
    """A list of objects."""
    items = list_of(holder, name, where)
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            _refuse(item, f"{name}[{index}]", where, "an object")
    return items


def object_of(holder: Mapping[str, Any], name: str, where: str = "") -> dict[str, Any]:
    """An object."""
    value = holder.get(name, _MISSING)
    return value if isinstance(value, dict) else _refuse(value, name, where, "an object")


def record(value: Any, where: str = "the record") -> dict[str, Any]:
    """A value that has to be an object itself: a line of JSON lines, or a whole document."""
    return value if isinstance(value, dict) else _refuse(value, "", where, "an object")


def _refuse(value: Any, name: str, where: str, wanted: str) -> NoReturn:
    path = _path(where, name)
    if value is _MISSING:
        raise InputError(f"{path} is missing", remedy=f"It is {wanted}")
    kind = _NAMES.get(type(value), "")
    shown = "" if isinstance(value, dict | list) or value is None else f" {_quoted(value)}"
    raise InputError(f"{path} is {kind or 'the number'}{shown}, not {wanted}")


def _path(where: str, name: str) -> str:
    return f"{where}.{name}" if where and name else where or name


def _quoted(value: Any) -> str:
    if type(value) is int and abs(value) >= 10**_SHOWN:
        return "of many digits"  # Python refuses to print the longest ones
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number in JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_WITH_NAN = json.JSONDecoder()
