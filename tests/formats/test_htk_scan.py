"""The compiled scanner of HTK lattices against a plain one written from the format's description."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wordtrust.base.errors import InputError
from wordtrust.formats.htk.kernels import FIRST, NAMES, PLACE, SECOND, TIME, WORD_FROM, WORD_TO
from wordtrust.formats.htk.scan import MAX_HEADER, PADDING, Items, LatticeText, Scanner, unescaped
from wordtrust.formats.htk.write import quoted

NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
WHOLE = re.compile(rb"[+-]?[0-9]+\.?(?:[eE][+-]?0+)?")
QUOTED = re.compile(rb"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(?=[\x00-\x20]|$)""", re.DOTALL)
COLUMNS = ("t", "a", "l", "n", "r", "p")
SHORT = {
    "time": "t", "WORD": "W", "START": "S", "END": "E", "ac": "a", "acoustic": "a", "lm": "l", "language": "l",
    "ngram": "n", "pronunciation": "r", "posterior": "p",
}  # fmt: skip


def fields(line: bytes, quotes: bool) -> list[tuple[str, bytes]] | None:
    """(name, value) of each field of a line; None if it has something else."""
    found, rest = [], line.lstrip(bytes(range(33)))
    while rest and not rest.startswith(b"#"):
        name = re.match(rb"[^\x00-\x20=~]*", rest)[0]  # type: ignore[index]
        rest = rest[len(name) :]
        if not rest.startswith(b"="):
            if name != b".":
                return None
        else:
            value = QUOTED.match(rest, 1) if quotes else None
            value = value or re.compile(rb"(?:\\.|[^\x00-\x20])*" if quotes else rb"[^\x00-\x20]*", re.S).match(
                rest, 1
            )
            assert value
            found.append((SHORT.get(name.decode("latin1"), name.decode("latin1")), value[0]))
            rest = rest[value.end() :]
        rest = rest.lstrip(bytes(range(33)))
    return found


def plain_scan(data: bytes, quotes: bool) -> dict[str, Any] | None:
    """Nodes, links and header fields; None if the text is not to be read."""
    header: list[tuple[str, bytes]] = []
    items: list[dict[str, bytes]] = []
    for line in data.split(b"\n"):
        on_line = fields(line, quotes)
        if on_line is None:
            return None
        names = [name for name, _ in on_line]
        if not {"I", "J"} & set(names):
            header += on_line
            continue
        item: dict[str, bytes] = {}
        for name, value in on_line:
            if name in ("I", "J") and {"I", "J"} & item.keys():
                items.append(item)
                item = {}
            item[name] = value
        items.append(item)
    rows = [plain_item(item) for item in items]
    return None if None in rows else {"header": header, "items": rows}


def plain_item(item: dict[str, bytes]) -> tuple[Any, ...] | None:
    kind = "I" if "I" in item else "J"
    whole = [item.get(name) for name in ("II" if kind == "I" else "SE")]
    values = [item.get(name) for name in COLUMNS]
    if any(text is None or not WHOLE.fullmatch(text) or len(text) > 15 for text in whole):
        return None
    if any(text is not None and not NUMBER.fullmatch(text) for text in values) or (kind == "I" and "L" in item):
        return None
    numbers = tuple(None if text is None else float(text) for text in values)
    return kind, *(int(float(text)) for text in whole if text), item.get("W"), *numbers


def text_of(data: bytes) -> LatticeText:
    return LatticeText(b"I=0 before\n" + data + b"\n" + PADDING, 11, 12 + len(data))


def rows_of(kind: str, items: Items, data: bytes) -> list[tuple[Any, ...]]:
    rows = []
    for whole, values in zip(items.whole.tolist(), items.value.tolist(), strict=True):
        word = None if whole[WORD_FROM] < 0 else data[whole[WORD_FROM] : whole[WORD_TO]]
        rows.append((kind, whole[FIRST], whole[SECOND], word, *(None if v != v else v for v in values)))
    return rows


def check(data: bytes, quotes: bool) -> None:
    """Both ways to scan agree, on what there is or on that it cannot be read."""
    text = text_of(data)
    expected = plain_scan(data, quotes)
    if expected is None:
        with pytest.raises(InputError):
            Scanner().scan([text], quotes=quotes, max_items=10_000)
        return
    scanned = Scanner().scan([text], quotes=quotes, max_items=10_000)
    made = rows_of("I", scanned.nodes, text.data) + rows_of("J", scanned.links, text.data)
    assert made == sorted(expected["items"], key=lambda row: str(row[0]))
    names = [
        (text.data[a:b].decode("latin1"), text.data[c:d]) for a, b, c, d in scanned.header.tolist()
    ]  # fmt: skip
    assert [(SHORT.get(name, name), value) for name, value in names] == expected["header"]
    for given_fields, kind in zip(scanned.given, "IJ", strict=True):
        of_kind = [row for row in expected["items"] if row[0] == kind]
        counts = [sum(row[4 + column] is not None for row in of_kind) for column in range(6)]
        assert given_fields[TIME:].tolist() == counts


NAME = st.sampled_from([*NAMES, "v", "d", "s", "N", "base", "acoustics", "posterios", "x1"])
VALUE = st.one_of(
    st.integers(-20, 2000).map(str),
    st.floats(-1e5, 1e5).map(repr),
    st.builds("{}.{}".format, st.integers(-(10**9), 10**9), st.integers(0, 10**9)),
    st.builds("{:.3g}".format, st.floats(1e-30, 1)),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(
        ["1e-400", "12345678901234567890.5", "0.1e+22", "-.5", "5.", "1e5", "nan", "-", "+", ".", "1e", "--1"]
    ),
    st.sampled_from(
        ["hello", "'em", '"two words"', "'n'", r"a\ b", r"\"x", '"open', r'"a\"b" ', "#1", "x=y", "é", ""]
    ),
    st.text(st.sampled_from("ab\"'\\ =#1.é\t"), max_size=6),
)
FIELD = st.tuples(NAME, VALUE).map("=".join)
LINE = st.one_of(
    st.lists(FIELD, max_size=5).map(" ".join),
    st.lists(st.sampled_from(["S=1", "E=2", "W=word", "a=-1.5", "l=2", "t=0.5", "L=x", "v=1", "J=4"]), max_size=6)
    .map(lambda parts: "\t".join(["J=0", "S=1", "E=2", *parts])),
    st.lists(st.sampled_from(["t=0.25", "W=word", "WORD='a b'", "I=7", "p=1", "# note I=3"]), max_size=5)
    .map(lambda parts: "  ".join(["I=0", *parts])),
)  # fmt: skip
JUNK = st.sampled_from(["#", ".", "~", "S~1", "\r", "word", "=", "=3", "\x00", "\x0b I=1"])


@given(st.lists(st.one_of(LINE, LINE, LINE, JUNK), max_size=8), st.booleans())
@example(['I=0 t=1 W="a b\\" I=1'], True)
@example(["t=1 I=0 a=2 J=1 S=0 E=0 I=2"], True)
@example(["J=0 S=1"], True)
@example(["I=0 t=0.30000000000000004 I=1 t=123456789012345678901234567890e-20"], False)
def test_scanners_agree(lines: list[str], quotes: bool) -> None:
    check("\n".join(lines).encode(), quotes)


@given(st.binary(max_size=60), st.booleans())
def test_scanners_agree_on_anything(data: bytes, quotes: bool) -> None:
    check(data, quotes)


@given(st.lists(st.sampled_from([b"a", b"b", b"ab", b"ba", b"", b"\xc3\xa9", b"aaaaaaaaab"]), max_size=40))
def test_equal_labels_have_equal_numbers(words: list[bytes]) -> None:
    data = b"".join(b"I=%d W=%s\nI=9\n" % (place, word) for place, word in enumerate(words)) + b"\n"
    text = text_of(data)
    numbers, starts, ends = Scanner().scan([text], quotes=True, max_items=1000).nodes.labels(text.data)
    labels = [text.data[start:end] for start, end in zip(starts, ends, strict=True)]
    assert [labels[number] for number in numbers[::2]] == words
    assert len(set(labels)) == len(labels)
    assert (numbers[1::2] == -1).all()


def test_more_than_the_limit_is_counted_but_not_kept() -> None:
    data = b"".join(b"I=%d t=1\nJ=%d S=0 E=1\n" % (k, k) for k in range(100))
    scanned = Scanner().scan([text_of(data)], quotes=True, max_items=7)
    assert (len(scanned.nodes), len(scanned.links)) == (7, 7)
    assert (scanned.node_count, scanned.link_count) == (100, 100)


def test_places_are_bytes_of_the_lines() -> None:
    data = b"N=1\nI=0\n\nJ=0 S=1 E=2 J=1 S=0 E=0\n"
    scanned = Scanner().scan([text_of(data)], quotes=True, max_items=9)
    assert scanned.nodes.whole[:, PLACE].tolist() == [11 + 4]
    assert scanned.links.whole[:, PLACE].tolist() == [11 + 9, 11 + 21]


def test_a_scanner_is_used_again() -> None:
    scanner = Scanner()
    assert len(scanner.scan([text_of(b"I=0\n")], quotes=True, max_items=1000).nodes) == 1
    long = b"".join(b"J=%d S=%d E=3 a=-%d.25\n" % (k, k, k) for k in range(500))
    links = scanner.scan([text_of(long)], quotes=True, max_items=1000).links
    np.testing.assert_array_equal(links.whole[:, FIRST], np.arange(500))
    np.testing.assert_array_equal(links.column(TIME + 1), -np.arange(500) - 0.25)
    assert len(scanner.scan([text_of(b"I=0\n")], quotes=True, max_items=1000).links) == 0


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (b"word", b"word"),
        (b'"two words"', b"two words"),
        (b"'it\\'s'", b"it's"),
        (b"it's", b"it's"),
        (b'\\"QUOTE', b'"QUOTE'),  # the four spellings that HTK's manual gives for one word
        (b"'\"QUOTE'", b'"QUOTE'),
        (b'"\\"QUOTE"', b'"QUOTE'),
        (b"\\042QUOTE", b'"QUOTE'),
        (b"caf\\303\\251", "café".encode()),
        (b"\\0411", b"!1"),
        (b"a\\", b"a\\"),
        (b'""', b""),
        (b"'em", b"'em"),
        (b'"a"b"', b'"a"b"'),
    ],
)
def test_values_as_htk_reads_them(value: bytes, plain: bytes) -> None:
    assert unescaped(value, quotes=True) == plain
    assert unescaped(value, quotes=False) == value


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=12))
def test_quoted_values_come_back(text: str) -> None:
    line = text_of(b"I=0 W=" + quoted(text).encode() + b" t=1")
    scanned = Scanner().scan([line], quotes=True, max_items=9)
    _, (start,), (end,) = scanned.nodes.labels(line.data)
    assert unescaped(line.data[start:end], quotes=True).decode() == text
    assert scanned.nodes.column(TIME).tolist() == [1.0]


def test_a_header_has_an_end() -> None:
    with pytest.raises(InputError, match=f"line 3.*more than {MAX_HEADER} fields"):
        Scanner().scan([text_of(b"x=1 " * MAX_HEADER + b"\n\ny=1\n")], quotes=True, max_items=9)
