"""Numbers read eight bytes at a time, against Python's own and against exact fractions."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wordtrust.base.jit import compiled
from wordtrust.formats import digits

PADDING = bytes(40)
DECIMAL = r"-?[0-9]{1,9}(\.[0-9]{0,9})?"


@compiled
def _decimal(data: digits.Bytes) -> tuple[float, int]:
    return digits.decimal(data, 0)


@compiled
def _short_decimal(data: digits.Bytes) -> tuple[float, int, bool]:
    return digits.short_decimal(data, 0)


@compiled
def _whole(data: digits.Bytes) -> tuple[int, int, int, int, bool]:
    value, count = digits.digits(data, 0)
    short, end, fine = digits.short_number(data, 0)
    return value, count, short, end, fine


@compiled
def _joined(data: digits.Bytes) -> tuple[int, int]:
    return digits.joined(data, 0)


def as_bytes(text: str) -> digits.Bytes:
    return np.frombuffer(text.encode() + PADDING, np.uint8)


def nearest(text: str) -> float:
    """The single-precision number nearest to a decimal, ties to even, found with fractions."""
    exact, guess = Fraction(text), np.float32(float(text))
    near = [guess, np.nextafter(guess, np.float32(np.inf)), np.nextafter(guess, np.float32(-np.inf))]
    return float(min(near, key=lambda each: (abs(Fraction(float(each)) - exact), int(each.view(np.int32)) & 1)))


@given(st.from_regex(r"[0-9]{0,20}", fullmatch=True), st.sampled_from(["", " ", ",", "x", "/", ":", "é"]))
def test_digits(text: str, after: str) -> None:
    value, count, short, end, fine = _whole(as_bytes(text + after))
    assert count == min(len(text), 16)
    assert fine == (0 < len(text) < 8)
    if fine:
        assert (short, end) == (int(text), len(text))
    if 0 < len(text) < 16:
        assert value == int(text)


@given(st.from_regex(DECIMAL, fullmatch=True), st.sampled_from([",", " ", "\n"]))
@example("-8206.", ",")
@example("0.1", ",")
@example("16777217", " ")
@settings(max_examples=300)
def test_decimals_are_rounded_once(text: str, after: str) -> None:
    value, length = _decimal(as_bytes(text + after))
    if length:  # else it is left to slower code
        assert length == len(text)
        assert float(np.float32(value)) == nearest(text)
    else:
        assert len(re.sub(r"\D", "", text)) > 15 or nearest(text) != float(text)
    short, end, fine = _short_decimal(as_bytes(text + after))
    if fine:
        assert end == len(text)
        assert float(np.float32(short)) == nearest(text)
    assert digits.single(text.encode()) == nearest(text)


@given(st.floats(2**-10, 2**20, width=32), st.sampled_from([0, 1, -1]), st.integers(12, 40))
def test_near_the_middle_between_two_numbers(value: float, side: int, places: int) -> None:
    above = float(np.nextafter(np.float32(value), np.float32(np.inf)))
    middle = (Fraction(value) + Fraction(above)) / 2 + side * Fraction(1, 10**places)
    scaled = middle * 10**60
    text = f"{scaled.numerator // scaled.denominator:061d}"
    text = f"{text[:-60]}.{text[-60:]}"
    assert digits.single(text.encode()) == nearest(text)
    _, length = _decimal(as_bytes(text[:20]))
    assert length == 0 or float(np.float32(_decimal(as_bytes(text[:20]))[0])) == nearest(text[:20])


@given(st.floats(width=32, allow_nan=False))
def test_any_number_comes_back(value: float) -> None:
    assert digits.single(str(np.float32(value)).encode()) == value
    assert digits.single(repr(value).encode()) == value


@pytest.mark.parametrize("text", ["", "x", "1_0", "1e", "--1", "1,2", "0x10", "inf inity", " 1", "1" * 500, "١"])
def test_what_is_no_number(text: str) -> None:
    assert digits.single(text.encode()) is None


def test_names_of_numbers() -> None:
    assert [digits.single(text) for text in (b"Infinity", b"-inf", b"1e300", b"-1E300")] == [
        np.inf, -np.inf, np.inf, -np.inf,
    ]  # fmt: skip
    for text in (b"nan", b"BadNumber", b"-NaN"):
        value = digits.single(text)
        assert value is not None
        assert np.isnan(value)
    assert digits.single(b"1e-999999999") == 0.0
    assert digits.single(b"0e999999999") == 0.0


@given(st.lists(st.integers(0, 10**9), max_size=30), st.sampled_from(["\n", " ", ",", "-", "^", "`", "\x7f", "é"]))
def test_joined_numbers(numbers: list[int], after: str) -> None:
    text = "_".join(map(str, numbers))
    assert _joined(as_bytes(text + after)) == (len(numbers), len(text))
