"""Word vectors from files, and hashed n-grams: right numbers, stable hashes, and clear errors for bad files."""

from __future__ import annotations

import gzip
import struct
import subprocess
import sys
import zipfile
import zlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.shared import SHARED, needs_shared
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.word_table import MAX_NGRAMS, ngram_buckets
from wordtrust.confidence.word_vectors import Vectors, read_vectors

pytestmark = pytest.mark.slow

ROWS = b"the 0.5 -1 2e-1\nCat 1 2 3\n, 9 9 9\ncat 7 7 7\nsat 4 5 6\n"


def read(folder: Path, content: bytes, words: list[str], extra: int = 0) -> Vectors:
    path = folder / "vectors.txt"
    path.write_bytes(content)
    return read_vectors(path, words, extra)


def as_dict(vectors: Vectors) -> dict[str, list[float]]:
    return dict(zip(vectors.words, vectors.values.tolist(), strict=True))


def test_glove(tmp_path: Path) -> None:
    vectors = read(tmp_path, ROWS, ["the", "cat", "dog", "the"])
    assert vectors.words == ("the", "cat")
    np.testing.assert_array_equal(vectors.values, np.array([[0.5, -1, 0.2], [1, 2, 3]], np.float32))
    assert vectors.values.dtype == np.float32


TOP_ROWS = b", 0 0\nthe 1 1\n</s> 0 0\nOf 2 2\nof 3 3\nwell-known 0 0\n\xff 0 0\nto 4 4\nin 5 5\nzoo 6 6\n"


@pytest.mark.parametrize(
    ("content", "words", "extra", "expected"),
    [
        (b"US 1 1\nus 2 2\nUs 3 3\n", ["US", "us"], 0, {"US": [1, 1], "us": [2, 2]}),  # as it is before lower case
        # Extra words come from the top, and can occur in text.
        (TOP_ROWS, ["zoo"], 3, {"the": [1, 1], "of": [2, 2], "to": [4, 4], "zoo": [6, 6]}),
        (TOP_ROWS, ["the", "zoo"], 1, {"the": [1, 1], "of": [2, 2], "zoo": [6, 6]}),
        (ROWS, [], 2, {"the": [0.5, -1, float(np.float32(0.2))], "cat": [1, 2, 3]}),
        (ROWS, [], 0, {}),
        (b"a 1 2\nb x nan\n", ["a"], 0, {"a": [1, 2]}),  # numbers that are not used are not looked at
        (
            b". . . 1 2\nat name@domain.com 3 4\n5 5 6\nnan 7 8\n",  # words with spaces inside
            [". . .", "at name@domain.com", "5", "nan"], 0,
            {". . .": [1, 2], "at name@domain.com": [3, 4], "5": [5, 6], "nan": [7, 8]},
        ),
    ],
)  # fmt: skip
def test_words_that_are_kept(
    tmp_path: Path, content: bytes, words: list[str], extra: int, expected: dict[str, list[float]]
) -> None:
    vectors = read(tmp_path, content, words, extra)
    assert as_dict(vectors) == expected
    assert vectors.words == tuple(expected)


@pytest.mark.parametrize("end", [b"\n", b" \n", b"\r\n"])
@pytest.mark.parametrize("header", [b"", b"2 3\n", b"\xef\xbb\xbf2 3\n", b"\n 2\t3 \r\n"])
def test_layouts(tmp_path: Path, header: bytes, end: bytes) -> None:
    content = header + b"a 1 2 3" + end + b"b\t4 5 6" + end + b"\n"
    assert as_dict(read(tmp_path, content, ["a", "b"])) == {"a": [1, 2, 3], "b": [4, 5, 6]}


def test_packed(tmp_path: Path) -> None:
    packed = tmp_path / "vectors.txt.gz"
    packed.write_bytes(gzip.compress(ROWS, mtime=0))
    assert as_dict(read_vectors(packed, ["sat"])) == {"sat": [4, 5, 6]}
    archive = tmp_path / "vectors.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("3d.txt", ROWS)
    assert as_dict(read_vectors(archive, ["sat"])) == {"sat": [4, 5, 6]}
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("5d.txt", ROWS)
    with pytest.raises(InputError, match="several files in it"):
        read_vectors(archive, ["sat"])


BINARY = b"2 3\nthe " + struct.pack("<3f", 0.1, 0.7, -0.3) + b"\nof " + struct.pack("<3f", 0.2, 1.7, -1) + b"\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no vectors"),
        (b"\n \n", "no vectors"),
        (BINARY, "binary word2vec file, not text. Convert it to text"),
        (b"\xba\x16\x4f\x2f\x0c\0\0\0", "fastText model"),
        (b"\x80\x04\x95\0\0", "not a text file"),
        ("the 1 2".encode("utf-16"), "not a text file"),
        (b'{"the": [1, 2]}\n', "line 1: a row has 1 to 10,000 numbers, not 0: '{"),
        (b"the,1,2\n", "line 1: a row has 1 to 10,000 numbers, not 0"),
        (b"5 99999999\n", "not 99,999,999"),
        (b"the" + b" 1" * 10_001, "not 10,001"),
        (b"the 1 2\nof 1\n", "line 2: 1 numbers where 2 are expected: 'of 1'"),
        (b"the 1 2\n\nof 1 2 3\n", "line 3: 3 numbers where 2 are expected"),
        (b"2 3\nthe 1 2\nof 1 2\n", "line 2: 2 numbers where 3 are expected"),
        (b"the 1 2\nof\n", "line 2: 0 numbers where 2"),
        (b"of 1 2\nthe 1 x2\n", "line 2: not a number: 'x2'"),
        (b"of 1 2\nthe 1 1_0\n", "line 2: not a number: '1_0'"),
        (b"of 1 2\nthe 1 \xff\n", "line 2: not a number"),
        (b"of 1 2\nthe 1 nan\n", "line 2: not a finite number: 'nan'"),
        (b"of 1 2\nthe -inf 1\n", "line 2: not a finite number: '-inf'"),
        (b"of 1 2\nthe 1 1e39\n", "line 2: not a finite number: '1e39'"),
        (b"of 1 2\nto 3 4\n", "none of the 1 words is among its 2 rows"),
        (b"3 2\nthe 1 2\nof 1 2\n", "promises 3 rows, there are 2"),
        (b"of 1 2\n" + b"x" * (1 << 21), "line 2: the line has 2,097,152 bytes"),
        (b"x" * (1 << 21), "line 1: the line has 2,097,152 bytes"),
        (gzip.compress(ROWS * 1000, mtime=0)[:60], "cut off or damaged"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, content, ["the"])
    assert message in str(caught.value)
    assert str(tmp_path / "vectors.txt") in str(caught.value)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_vectors(tmp_path / "none.txt", ["the"])
    with pytest.raises(InputError, match="no vectors"):
        read_vectors(tmp_path, ["the"])


@given(st.binary(max_size=200), st.sampled_from([b"", b"1 2\n", b"the 1 2\n"]))
def test_any_bytes_give_vectors_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, head: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(head + data)
    try:
        vectors = read_vectors(path, ["the", "a"], extra=2)
    except InputError:
        return
    assert len(vectors.values) == len(vectors.words)
    assert np.isfinite(vectors.values).all()


@needs_shared
def test_real_file() -> None:
    path = SHARED / "embeddings" / "glove.25d.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        expected = {word: values for word, *values in (line.split(" ") for line in file)}
    wanted = ["the", "don't", "lattice", "wednesday", "qqqqqq"]
    vectors = read_vectors(path, wanted)
    assert set(vectors.words) == set(wanted) & set(expected)
    assert vectors.values.shape == (len(vectors.words), 25)
    for word, values in zip(vectors.words, vectors.values, strict=True):
        np.testing.assert_array_equal(values, np.array(expected[word], np.float32))


def plain_buckets(word: str, buckets: int, lengths: tuple[int, ...]) -> list[int]:
    """The definition, one n-gram after the other."""
    longest = next(n for n in range(1000, 0, -1) if sum(max(n - length + 1, 0) for length in lengths) < MAX_NGRAMS)
    marked = f"<{word}>"[:longest]
    found = {zlib.crc32(word.encode("utf-8", "surrogatepass")) % buckets}
    for length in lengths:
        for start in range(len(marked) - length + 1):
            value = 2166136261
            for character in marked[start : start + length]:
                value = (value ^ ord(character)) * 16777619 % 2**32
            value = (value ^ value >> 16) * 0x85EBCA6B % 2**32
            value = (value ^ value >> 13) * 0xC2B2AE35 % 2**32
            found.add((value ^ value >> 16) % buckets)
    return sorted(found)


WORDS = st.lists(st.text(st.characters(), max_size=40), max_size=8)


@given(WORDS, st.integers(1, 2**31 - 1), st.sampled_from([(2, 3, 4), (3,), (1, 6), (3, 4, 5, 6)]))
def test_ngrams_follow_the_definition(words: list[str], buckets: int, lengths: tuple[int, ...]) -> None:
    offsets, numbers = ngram_buckets(words, buckets, lengths)
    assert offsets.dtype == np.int64
    assert numbers.dtype == np.int32
    assert offsets[0] == 0
    assert offsets[-1] == len(numbers)
    got = [numbers[start:end].tolist() for start, end in pairwise(offsets)]
    assert got == [plain_buckets(word, buckets, lengths) for word in words]


def test_ngrams_never_change() -> None:
    offsets, numbers = ngram_buckets(["a", "the", "größe", "語"], 2**16)
    assert offsets.tolist() == [0, 4, 14, 30, 34]
    assert numbers.tolist() == [
        21762, 42496, 44101, 48707, 3190, 13433, 18936, 27402, 28134, 33240, 41622, 48660, 57213, 63978, 2901, 4848,
        12008, 16380, 18683, 21763, 23292, 24716, 37886, 43401, 43746, 48660, 50814, 64040, 64153, 64757, 20230,
        45610, 49436, 59200,
    ]  # fmt: skip


def test_a_word_of_any_length_costs_little() -> None:
    long = "".join(chr(97 + n % 26) + chr(0x4E00 + n % 20000) for n in range(500_000))
    offsets, _ = ngram_buckets([long, "a"], 2**20)
    assert 50 < offsets[1] <= MAX_NGRAMS


def test_blocks_of_words_join() -> None:
    words = [f"word{n}" for n in range(60_000)]
    offsets, numbers = ngram_buckets(words, 1000)
    for index in (0, 49_999, 50_000, 59_999):
        own = numbers[offsets[index] : offsets[index + 1]].tolist()
        assert own == plain_buckets(words[index], 1000, (2, 3, 4))


@pytest.mark.parametrize(
    ("buckets", "lengths", "message"),
    [
        *((buckets, (2, 3, 4), "buckets") for buckets in (0, -1, 2**31)),
        *((10, lengths, "one character or more") for lengths in ((), (0, 2))),
    ],
)
def test_bad_numbers_of_buckets_and_lengths(buckets: int, lengths: tuple[int, ...], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ngram_buckets(["a"], buckets, lengths)


def test_ngrams_and_estimates_need_no_numba() -> None:
    code = (
        "import sys; sys.modules['numba'] = sys.modules['pyarrow'] = sys.modules['isal'] = None\n"
        "from wordtrust.confidence.word_table import estimate_phones, ngram_buckets\n"
        "ngram_buckets(['a'], 10); estimate_phones('a')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_vectors_of_a_model() -> None:
    vectors = read_vectors(Path("moonshine-tiny"), ["the", "qzxqzx"])
    assert vectors.values.shape == (len(vectors.words), 25)
    assert len(vectors.words) > 40_000
    assert "the" in vectors.words
    assert np.abs(vectors.values).max(axis=1).min() > 0
