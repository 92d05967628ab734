"""Damaged files for the fuzz tests: every way a file goes bad that we could think of, all from one seed."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from random import Random

_NUMBERS = (
    *b"0 -1 1 2147483648 -2147483649 99999999999999999999 1e308 -1e400 nan NaN inf -Infinity".split(),
    *b"1e-320 0x10 1_000 1,5 . - + 1.2.3 1e \xd9\xa1".split(),
    b"",
)
_TOKENS = (
    *(b"\n", b"\n\n", b"\r\n", b"\t", b" ", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\x00B", b"\xd6\xfd\xb2\x7e"),
    *b"\\ \" ' { } [ ] <ALT_BEGIN> <ALT> <ALT_END> * @ # ;; = , : I= J= N=1000000000000 L=1000000000000".split(),
    *b'base=0 lmscale=nan start=99 null true [[[[ "nbest": "words": <eps> | ../../x'.split(),
    *b"\xe2\x81\xa0 \xed\xa0\x80 \xf0\x9f\x92\xa9".split(),
)
Mutation = Callable[[bytearray, Random], bytearray]


def _place(data: bytearray, random: Random) -> int:
    return random.randrange(len(data) + 1)


def _flip(data: bytearray, random: Random) -> bytearray:
    for _ in range(random.choice((1, 1, 2, 8))):
        if data:
            data[random.randrange(len(data))] = random.choice((0, 255, 10, 32, 44, random.randrange(256)))
    return data


def _cut(data: bytearray, random: Random) -> bytearray:
    return data[: _place(data, random)]


def _drop(data: bytearray, random: Random) -> bytearray:
    start = _place(data, random)
    del data[start : start + random.choice((1, 4, 64))]
    return data


def _insert(data: bytearray, random: Random) -> bytearray:
    place = _place(data, random)
    data[place:place] = random.choice(_TOKENS + _NUMBERS)
    return data


def _repeat(data: bytearray, random: Random) -> bytearray:
    start = _place(data, random)
    piece = data[start : start + random.choice((1, 16, 400))]
    data[start:start] = piece * random.choice((1, 2, 50))
    return data


def _lines(data: bytearray, random: Random) -> bytearray:
    lines = data.split(b"\n")
    action = random.choice(("drop", "double", "swap", "shuffle"))
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    if action == "drop":
        del lines[one]
    elif action == "double":
        lines.insert(other, lines[one])
    elif action == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    else:
        random.shuffle(lines)
    return bytearray(b"\n".join(lines))


def _number(data: bytearray, random: Random) -> bytearray:
    """Replace a run of digits by a number that breaks things."""
    digits = [place for place in range(len(data)) if chr(data[place]).isdigit()]
    if not digits:
        return data
    start = end = random.choice(digits)
    while start > 0 and (chr(data[start - 1]).isdigit() or data[start - 1] in b".-"):
        start -= 1
    while end < len(data) and (chr(data[end]).isdigit() or data[end] in b".e"):
        end += 1
    data[start:end] = random.choice(_NUMBERS)
    return data


def _pack(data: bytearray, random: Random) -> bytearray:
    packed = bytearray(gzip.compress(bytes(data), 1, mtime=0))
    return _flip(packed, random) if random.random() < 0.5 else _cut(packed, random)


_MUTATIONS: tuple[Mutation, ...] = (_flip, _cut, _drop, _insert, _insert, _repeat, _lines, _number, _number, _number)


def mutated(data: bytes, random: Random) -> bytes:
    """`data` after one to five random changes, now and then packed and damaged again."""
    result = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        result = random.choice(_MUTATIONS)(result, random)
    if random.random() < 0.03:
        result = _pack(result, random)
    return bytes(result)


def truncated(data: bytes, random: Random) -> bytes:
    """The beginning of `data`."""
    return bytes(_cut(bytearray(data), random))


def noise(data: bytes, random: Random) -> bytes:
    """Random bytes, alone or in place of a part of `data`, so that the beginning still looks like the format."""
    start = random.choice((0, random.randrange(len(data) + 1)))
    return data[:start] + random.randbytes(random.choice((0, 1, 60, 5000))) + data[start + 60 :] * (start > 0)


def damaged(data: bytes, count: int, seed: int) -> Iterator[bytes]:
    """Every other one keeps its length, without which nothing gets past the header of a safetensors file."""
    random = Random(seed)
    for _ in range(count // 2):
        yield mutated(data, random)
        made = bytearray(data)
        for _ in range(random.choice((1, 2, 40))):
            made[random.randrange(len(made))] = random.randrange(256)
        yield bytes(made)
