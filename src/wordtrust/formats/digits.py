"""Numbers in text for compiled parsers, eight bytes at a time and without branches that depend on their lengths.

A parser that looks at one digit after the other spends most of its time on mispredicted loop ends. Here eight bytes
are taken as one 64-bit number, in which all of them are tested and combined at once. Whatever follows the text
must be readable: parsers put padding behind their data.
"""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..base.jit import inlined

Bytes = NDArray[np.uint8]

_NUMBER = re.compile(rb"[+-]?(?:(\d++(?:\.\d*+)?|\.\d++)(e[+-]?\d++)?|inf(inity)?|nan)|badnumber", re.IGNORECASE)
_LONGEST = 400  # characters of a number

# Typed constants: numba makes floats of signed and unsigned numbers together.
_1, _7, _8, _16, _24, _32, _40, _48, _56, _63 = (np.uint64(n) for n in (1, 7, 8, 16, 24, 32, 40, 48, 56, 63))
_2, _3, _4, _5, _6 = (np.uint64(n) for n in (2, 3, 4, 5, 6))
_ONES = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_LOW_BITS = np.uint64(0x7F7F7F7F7F7F7F7F)
_DIGIT_ZEROS = np.uint64(0x3030303030303030)
_OVER_NINE = np.uint64(0x7676767676767676)  # added to a byte from 0 to 127, sets its high bit if it is above 9
_UNDERSCORES = np.uint64(0x5F5F5F5F5F5F5F5F)
_BYTE_NUMBERS = np.uint64(0x0001020304050607)
_PAIRS, _PAIR_MASK = np.uint64(10 * 2**8 + 1), np.uint64(0x00FF00FF00FF00FF)
_FOURS, _FOUR_MASK = np.uint64(100 * 2**16 + 1), np.uint64(0x0000FFFF0000FFFF)
_EIGHTS = np.uint64(10000 * 2**32 + 1)
_PARTS = np.array([1 / 10**places for places in range(16)])
_WHOLE_POWERS = 10 ** np.arange(16)
# The bits that double precision has beyond single precision, and half of what they can hold, give or take an error.
_DROPPED, _HALF, _DOUBT = np.int64(2**29 - 1), np.int64(2**28), np.int64(3)


@inlined
def load(data: Bytes, at: np.uint64) -> np.uint64:
    """Eight bytes as a number, the first one lowest; compilers make one instruction of this."""
    return np.uint64(
        np.uint64(data[at]) | np.uint64(data[at + _1]) << _8 | np.uint64(data[at + _2]) << _16
        | np.uint64(data[at + _3]) << _24 | np.uint64(data[at + _4]) << _32 | np.uint64(data[at + _5]) << _40
        | np.uint64(data[at + _6]) << _48 | np.uint64(data[at + _7]) << _56
    )  # fmt: skip


@inlined
def _first(marked: np.uint64) -> np.uint64:
    """The number of the first byte whose high bit is set; `marked` has high bits only, and at least one."""
    return np.uint64((((marked & (~marked + _1)) >> _7) * _BYTE_NUMBERS) >> _56)


@inlined
def _up_to_eight(data: Bytes, at: np.uint64) -> tuple[int, int]:
    """The digits at `at`, eight at most: their value and how many they are."""
    values = load(data, at) ^ _DIGIT_ZEROS
    others = ((values + _OVER_NINE) | values) & _HIGH_BITS
    count = _first(others) if others else _8
    aligned = values << ((_8 - count) * _8 & _63)  # no digits: any value
    pairs = ((aligned * _PAIRS) >> _8) & _PAIR_MASK
    fours = ((pairs * _FOURS) >> _16) & _FOUR_MASK
    return int(np.int64((fours * _EIGHTS) >> _32)), int(np.int64(count))


@inlined
def short_number(data: Bytes, at: int) -> tuple[int, int, bool]:
    """A whole number of one to seven digits: its value, its end, and whether it is one."""
    value, count = _up_to_eight(data, np.uint64(at))
    return value, at + count, (count > 0) & (count < 8)


@inlined
def _rounds_safely(value: float) -> bool:
    """Whether a product of two numbers rounds to single precision as its true value does.

    It may be off by two in its last place, and the true value may lie on the other side of the middle between two
    numbers of single precision.
    """
    beyond = np.float64(value).view(np.int64) & _DROPPED
    return bool(abs(beyond - _HALF) > _DOUBT)


@inlined
def short_decimal(data: Bytes, at: int) -> tuple[float, int, bool]:
    """A decimal number of up to seven digits on each side of the point: its value, its end, whether it is one.

    Like `decimal`, which reads more, it leaves alone what could be rounded wrongly.
    """
    negative = data[at] == 45
    whole, at, fine = short_number(data, at + negative)
    point = data[at] == 46
    fraction, places = _up_to_eight(data, np.uint64(at + point))
    places, fraction = (places, fraction) if point & (places > 0) else (0, 0)
    value = (whole * _WHOLE_POWERS[places] + fraction) * _PARTS[places]
    fine &= (places < 8) & _rounds_safely(value)
    return (-value if negative else value), at + point + places, fine


@inlined
def digits(data: Bytes, at: int) -> tuple[int, int]:
    """The value of the digits at `at` and how many they are; from 16 on the value means nothing."""
    value, count = _up_to_eight(data, np.uint64(at))
    if count == 0:
        value = 0
    if count == 8:
        more, further = _up_to_eight(data, np.uint64(at + 8))
        if further:
            value, count = value * _WHOLE_POWERS[further] + more, count + further
    return value, count


@inlined
def decimal(data: Bytes, at: int) -> tuple[float, int]:
    """The decimal number at `at`, and its length; 0 where only slower code can read it.

    The value rounds to single precision as the decimal itself does. Left to others are exponents, more than 15
    digits, and what lies so near to the middle between two numbers that rounding twice could go wrong.
    """
    begin = at
    negative = data[at] == 45
    at += negative
    value, count = digits(data, at)
    at += count
    places = 0
    if data[at] == 46:
        fraction, places = digits(data, at + 1)
        at += 1 + places
        count += places
        places = min(places, 15)
        value = value * _WHOLE_POWERS[places] + fraction
    scaled = value * _PARTS[places]
    if count == 0 or count > 15 or not _rounds_safely(scaled):
        return 0.0, 0
    return (-scaled if negative else scaled), at - begin


@inlined
def joined(data: Bytes, at: int) -> tuple[int, int]:
    """How many numbers are joined by underscores from `at` on, and the length of it all."""
    place = np.uint64(at)
    count = np.uint64(0)
    while True:
        block = load(data, place)
        values, unders = block ^ _DIGIT_ZEROS, block ^ _UNDERSCORES
        under = ~(((unders & _LOW_BITS) + _LOW_BITS) | unders) & _HIGH_BITS
        others = ((values + _OVER_NINE) | values) & _HIGH_BITS & ~under
        if others:
            break
        count += ((under >> _7) * _ONES) >> _56
        place += _8
    before = (others & (~others + _1)) - _1  # all bits below the first other byte
    count += (((under & before) >> _7) * _ONES) >> _56
    length = int(np.int64(place + _first(others))) - at
    return int(np.int64(count)) + (length > 0), length


def single(text: bytes) -> float | None:
    """A number in any spelling, rounded to single precision once; None if it is none. BadNumber is Kaldi's NaN."""
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    if text.lower() == b"badnumber":
        return float("nan")
    value = float(text)
    with np.errstate(over="ignore"):
        near = float(np.float32(value))
        other = near + 2 * (value - near)
        if near == value or float(np.float32(other)) != other:
            return near
    exact = Fraction(text.decode())  # `value` lies midway between `near` and `other`
    if exact == value:
        return near
    return max(near, other) if exact > value else min(near, other)
