"""Whatever is in a file: reading it takes time and memory in proportion to its size."""

from __future__ import annotations

import time
from itertools import cycle, product
from pathlib import Path

import pytest

from tests.helpers.bombs import read_bounded, write_bombs
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats import formats_by_name, read, stream_files
from wordtrust.formats.chains import MAX_PAIR, aligned_times
from wordtrust.formats.format import Format, ReadOptions

READABLE = [form for form in formats_by_name().values() if form.read]
BEGINNINGS = (
    "",
    "a ",
    "{",
    '[{"',
    "J=1 ",
    "VERSION=1.0\n",
    "# ",
    "1 2 ",
    "u1\n0 1 ",
    '{"alternatives": [{',
    "a\tb\t",
)
UNITS = ("/", ".", ":", "a", " ", "\t", "\n", "\r", "1", "9:", "a b ", "[", "{", '"', "\\", '{"a":', "J=1 ", "=",
         "1.5 ", "a /\n", "1 2\n", " \n", "-1 ", "(", "<", ",", '\\"')  # fmt: skip
ENDS = ("x", " x", "|", "")


@pytest.mark.slow
@pytest.mark.parametrize("form", READABLE, ids=lambda form: form.name)
def test_recognising_a_format_takes_no_time(form: Format) -> None:
    """Patterns that try all ways to divide a text take minutes for one of these."""
    slowest = 0.0
    names = cycle(("x", f"x{form.suffixes[0]}") if form.suffixes else ("x",))
    for beginning, unit, end in product(BEGINNINGS, UNITS, ENDS):
        head = (beginning + unit * (16_000 // len(unit)) + end).encode()
        began = time.process_time()
        form.sniff(head, next(names))
        slowest = max(slowest, time.process_time() - began)
    assert slowest < 1.5  # processor time, also where lines are counted for coverage


def lattice_of(words: int, arcs: int, utt: str = "u") -> str:
    lines = [f"{k} {k + 1} {'-'.join('a' * words)} 1,1,1_1\n" for k in range(arcs)]
    return f"{utt}\n{''.join(lines)}{arcs}\n\n"


def test_words_of_many_words_count_as_arcs(tmp_path: Path) -> None:
    path = tmp_path / "lat.ark"
    path.write_text(lattice_of(5000, 20) + lattice_of(3, 20, "v"))
    with pytest.raises(InputError, match=r"utterance u: the words of the lattice are 100,000 once they are cut"):
        read(path)
    problems = Problems(skip=True)
    (batch,) = stream_files(path, ReadOptions(), problems)
    assert (batch.utts, batch[0].arcs, len(problems.errors)) == (("v",), 60, 1)
    (batch,) = stream_files(path, ReadOptions(max_arcs=60), Problems(skip=True))
    assert not list(stream_files(path, ReadOptions(max_arcs=59), Problems(skip=True)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.ctm", "u 1 0 1 WORD\n" * 3),
        ("a.txt", "u\t-1\tWORD WORD\nu\t-2\tWORD\n"),
        ("a.json", '{"segments": [{"start": 0, "end": 1, "text": "WORD", "avg_logprob": -1}]}'),
        ("v.json", '{"alternatives": [{"confidence": 2, "text": "WORD"}]}'),
        ("a.slf", 'VERSION=1.0\nN=2 L=1\nI=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W=WORD a=-1 l=-1\n'),
    ],
)  # fmt: skip
def test_every_reader_bounds_the_words_of_a_word(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text.replace("WORD", "-".join("a" * 5000)))
    with pytest.raises(InputError, match="once they are cut at hyphens"):
        read(tmp_path / name)
    (tmp_path / name).write_text(text.replace("WORD", "-".join("a" * 30)))
    assert read(tmp_path / name)[0].arcs >= 30


@pytest.mark.filterwarnings("ignore:240 words in 0 s")
def test_batches_whose_words_are_cut_stay_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordtrust.lattices.assemble.MAX_ARCS", 250)
    path = tmp_path / "lat.ark"
    path.write_text("".join(lattice_of(20, 3, f"u{number}") for number in range(20)))
    batches = list(stream_files(path))
    assert [utt for batch in batches for utt in batch.utts] == [f"u{number}" for number in range(20)]
    assert all(len(batch.source) <= 300 for batch in batches)
    assert len(batches) >= 4


def test_alignment_of_long_texts_is_refused() -> None:
    long = ["a"] * (int(MAX_PAIR**0.5) + 1)
    with pytest.raises(InputError, match="too many to align"):
        aligned_times([long, ["b", *long]])
    assert len(aligned_times([long])) == 1


@pytest.mark.slow
def test_bombs_of_every_kind(tmp_path: Path) -> None:
    """The rest of them, with hundreds of thousands of utterances, is read by `python -m tests.fuzz --bombs`."""
    readings = read_bounded(write_bombs(tmp_path, quick=True))
    assert len(readings) > 20
    assert [reading for reading in readings if not reading.is_bounded] == []
