"""Typed access to JSON that nobody has checked."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base import json_checks as check
from wordtrust.base.errors import InputError

HUGE = 10**400


def test_good_values_come_back() -> None:
    holder = {"n": -1.5, "i": 3, "s": "x", "l": [1, "a"], "o": {"k": 1}, "os": [{"k": 1}, {}], "none": None}
    assert check.number(holder, "n") == -1.5
    assert check.number(holder, "i") == 3.0
    assert check.string(holder, "s") == "x"
    assert check.list_of(holder, "l") == [1, "a"]
    assert check.object_of(holder, "o") == {"k": 1}
    assert check.objects_of(holder, "os") == [{"k": 1}, {}]
    assert check.record(holder) is holder
    assert check.number_or_none(holder, "none") is check.number_or_none(holder, "absent") is None
    assert check.string_or_none(holder, "none") is check.string_or_none(holder, "absent") is None
    assert check.number_or_none(holder, "i") == 3.0
    assert check.string_or_none(holder, "s") == "x"


@pytest.mark.parametrize(
    ("access", "value", "message"),
    [
        (check.number, True, "words[2].x is a truth value true, not a number"),
        (check.number, "1.5", 'words[2].x is a string "1.5", not a number'),
        (check.number, None, "words[2].x is null, not a number"),
        (check.number, [1], "words[2].x is a list, not a number"),
        (check.number, HUGE, "words[2].x is too large for a number"),
        (check.number, 1e308 * 10, "words[2].x is too large for a number"),
        (check.number_or_none, {}, "words[2].x is an object, not a number"),
        (check.string, 5, "words[2].x is the number 5, not a string"),
        (check.string, HUGE, "words[2].x is the number of many digits, not a string"),
        (check.string_or_none, False, "words[2].x is a truth value false, not a string"),
        (check.list_of, "a" * 99, 'words[2].x is a string "' + "a" * 39 + "..., not a list"),
        (check.object_of, [], "words[2].x is a list, not an object"),
        (check.objects_of, [{}, 7], "words[2].x[1] is the number 7, not an object"),
    ],
)
def test_wrong_types_are_named(access: Callable[..., Any], value: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        access({"x": value}, "x", "words[2]")
    assert error.value.found == message


def test_missing_fields_are_named() -> None:
    with pytest.raises(InputError, match=r"^words\[2\]\.x is missing\. It is a number$"):
        check.number({}, "x", "words[2]")
    with pytest.raises(InputError, match=r"^x is missing"):
        check.string({}, "x")
    with pytest.raises(InputError, match=r"^the record is a list, not an object"):
        check.record([])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"a": 1', "not JSON: Expecting ',' delimiter: line 1 column 8"),
        (b'{"a": NaN}', "not JSON: NaN is no number in JSON"),
        (b"[-Infinity]", "not JSON: -Infinity is no number in JSON"),
        (b'{"a": "\xff"}', "not UTF-8: byte 7 of the text is b'\\xff'"),
        (b"[" * 100_000, "JSON nested too deeply"),
        (b"1" * 5_000, "not JSON: Exceeds the limit"),
        (b"{} {}", "not JSON: Extra data"),
        (b"", "not JSON: Expecting value"),
        (rb'{"a": ["x\uD83Dy"]}', "the text has '\\ud83d', which is half a character"),
    ],
)
def test_texts_that_are_no_json(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        check.parse(data)
    assert error.value.found.startswith(message)
    assert error.value.remedy


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_json_is_parsed(value: Any) -> None:
    assert check.parse(rb'"\ud83d\ude00"') == "\U0001f600"
    assert check.parse(json.dumps(value)) == check.parse(b"\xef\xbb\xbf" + json.dumps(value).encode()) == value


@given(st.binary(max_size=60))
def test_only_our_errors_escape(data: bytes) -> None:
    with contextlib.suppress(InputError):
        check.parse(data)


@pytest.mark.parametrize(("text", "number"), [("1.5", 1.5), ("-2e3", -2000.0), ("+7", 7.0)])
def test_numbers_in_texts(text: str, number: float) -> None:
    assert check.number_in(text, "the score") == number


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1e999", "1_000", "1,5"])
def test_texts_that_are_no_numbers(text: str) -> None:
    with pytest.raises(InputError) as error:
        check.number_in(text, "the score")
    assert error.value.found == f'the score is "{text}", not a finite number'


def test_files_beside_data(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text('{"a": 1}')
    assert check.load(file) == {"a": 1}
    assert check.load(file, most=8) == {"a": 1}
    with pytest.raises(InputError, match=r"a\.json: too large: more than 7 bytes"):
        check.load(file, most=7)
    file.write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"a\.json: JSON nested too deeply"):
        check.load(file)
    with pytest.raises(FileNotFoundError):
        check.load(tmp_path / "missing")
    with pytest.raises(InputError, match="cannot be opened: embedded null byte"):
        check.load(tmp_path / "a\0b")


def test_pipes_beside_data_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(InputError, match="this is no file, but a folder, pipe or device"):
        check.load(tmp_path / "a.json")
