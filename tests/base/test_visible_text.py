"""Names from files on a terminal."""

from __future__ import annotations

import json
import pickle
import re

from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.table import Table
from wordtrust.base.visible_text import json_text, visible, visible_lines

ATTACK = "x\x1b]0;PWNED\x07\x1b[2Jwordtrust: all good\n\r\x9b31m\u202e"
ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def test_nothing_acts() -> None:
    shown = visible(ATTACK)
    assert not ACTS.search(shown)
    assert "\n" not in shown
    assert len(shown) == len(ATTACK)
    assert visible_lines("a\nb\x1b") == "a\nb\ufffd"
    assert visible("Füße, 日本, C++") == "Füße, 日本, C++"


def test_errors_are_one_line() -> None:
    error = InputError(f"found {ATTACK}", file=f"dir/{ATTACK}", utt=ATTACK, place=ATTACK, remedy=ATTACK)
    for each in (error, OptionError(ATTACK), error.at(file="x"), pickle.loads(pickle.dumps(error))):
        assert not ACTS.search(str(each))
        assert "\n" not in str(each)
    assert error.utt == ATTACK  # as it is, for programs


def test_tables_have_no_escapes() -> None:
    table = Table("", ("name", "value"), ((ATTACK, "1\n2"),))
    assert not ACTS.search(table.to_markdown())
    cells = [str(cell) for column in table.to_rich().columns for cell in column.cells]
    assert cells == [visible(ATTACK.replace("\n", " ")), "1 (2)"]


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_comes_back(value: object) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert not ACTS.search(text)
    assert "\n" not in text


def test_json_of_half_characters() -> None:
    assert json_text({"a": "\ud800b"}) == '{"a": "?b"}'
