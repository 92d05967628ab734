"""NIST CTM: reading, alternations, writing, bad lines, and the real calls of Earnings-21."""

from __future__ import annotations

import io
import tarfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import paths_by_text, posteriors, read_bytes, stream_of, timed_words
from tests.helpers.shared import SAMPLES, SHARED, needs_shared
from tests.helpers.strategies import assembled, batch_of
from wordtrust import formats
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.problems import Problems
from wordtrust.formats.ctm import FORMAT, names_and_channels, read_recordings, sniff
from wordtrust.formats.format import ReadOptions, WriteOptions
from wordtrust.lattices.assemble import Tokens
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.lattices.text import Normalizer


def read(text: bytes | str, *, problems: Problems | None = None, options: ReadOptions = ReadOptions()) -> Lattices:
    return read_bytes(FORMAT, text, name="x.ctm", problems=problems, options=options)


def sample(name: str) -> Lattices:
    return read((SAMPLES / "ctm" / name).read_bytes())


def written(lattices: Lattices, path: Path) -> str:
    assert FORMAT.write
    FORMAT.write([lattices], path, WriteOptions())
    return path.read_text("utf-8")


def test_words_are_sorted_by_file_and_channel() -> None:
    lattices = sample("harbour.ctm")
    assert lattices.utts == ("harbour", "call-A", "call-B")
    assert [lattice.text for lattice in lattices] == ["the Harbour bell rang twice.", "hello it's", "yes"]
    assert lattices.facts.place.tolist() == [2, 6, 7]


def test_times_gaps_and_posteriors() -> None:
    lattice = sample("harbour.ctm")["harbour"]
    # Silence from 0 to 0.5 and from 1.6 to 2.1; `rang` and `twice.` overlap by 20 ms and meet in the middle.
    assert lattice.time.round(4).tolist() == [0.0, 0.5, 0.8, 1.25, 1.6, 2.1, 2.49, 3.0]
    assert lattice.words == ("", "the", "harbour", "bell", "", "rang", "twice")
    assert posteriors(lattice) == [0.98, 0.91, 0.74, 0.99, 0.87]


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        # One channel keeps the name of the file, several do not.
        ("a 1 0 1 x\na 2 0 1 y\nb 1 0 1 z\n", {"a-1": "x", "a-2": "y", "b": "z"}),
        # Words are sorted, and equal starts keep their order.
        ("a 1 2 1 last\na 1 0 1 one\na 1 1 0.5 two\na 1 1 1 three\n", {"a": "one two three last"}),
        ("a 1 0 1 @\n", {"a": "@"}),  # a word outside of alternations
        # A byte order mark, line ends of Windows, and comments.
        (b"\xef\xbb\xbfa 1 0 1 x 0.5\r\n;; a 1 0 1 no\r\n\r\na 1 1 1 n\xc3\xa9 0.5\r\n", {"a": "x né"}),
        # With and without alternations in one batch.
        ("b 1 0 1 x\na 1 * * <ALT_BEGIN>\na 1 0 1 y\na 1 * * <ALT>\na 1 * * @\na 1 * * <ALT_END>\n",
         {"b": "x", "a": "y"}),
    ],
)  # fmt: skip
def test_texts(data: str | bytes, texts: dict[str, str]) -> None:
    assert {lattice.utt: lattice.text for lattice in read(data)} == texts


def test_noise_is_no_word() -> None:
    lattice = sample("harbour.ctm")["call-B"]
    assert lattice.words == ("", "", "", "yes")
    assert lattice.surfaces[1] == ""


def test_without_confidences_there_is_no_posterior_and_short_words_are_spread() -> None:
    lattices = sample("plain.ctm")
    assert lattices.posterior is None
    assert timed_words(lattices[1]) == [("they", 0.0, 0.345), ("'ll", 0.345, 0.355), ("return", 0.355, 0.79)]
    assert lattices.facts.spread_words.tolist() == [0, 1]


@pytest.mark.parametrize("missing", ["", " NA", " -"])
def test_an_utterance_where_a_confidence_is_missing_has_none(missing: str) -> None:
    text = f"a 1 0 1 x 0.5\na 1 1 1 y{missing}\nb 1 0 1 z 0.5\n"
    batches = list(FORMAT.read(stream_of(text), ReadOptions(), Problems()))  # type: ignore[misc]
    assert [(batch.utts, batch.posterior is None) for batch in batches] == [(("a",), True), (("b",), False)]


def test_alternations_are_parallel_branches() -> None:
    (lattice,) = sample("branches.ctm")
    assert lattice.posterior is not None
    posterior = {text: lattice.posterior[path].round(3).tolist() for text, path in paths_by_text(lattice).items()}
    # Leading silence, the, the branch, leaves, um or silence (what um leaves), early.
    assert posterior == {
        "the ferry leaves um early": pytest.approx([1.0, 0.9, 0.7, 0.8, 0.4, 0.95]),
        "the ferry leaves early": pytest.approx([1.0, 0.9, 0.7, 0.8, 0.6, 0.95]),
        "the very late leaves um early": pytest.approx([1.0, 0.9, 0.2, 0.2, 0.8, 0.4, 0.95]),
        "the very late leaves early": pytest.approx([1.0, 0.9, 0.2, 0.2, 0.8, 0.6, 0.95]),
    }
    assert lattice.text == "the ferry leaves um early"


def test_alternations_out_of_order_and_overlapping_their_neighbours() -> None:
    (lattice,) = read(
        "a 1 3 1 end\na 1 * * <alt_begin>\na 1 1 1 one\na 1 * * <alt>\na 1 0.9 0.3 two\na 1 1.3 0.6 three\n"
        "a 1 * * <alt_end>\na 1 0 1.2 start\n"
    )
    assert set(paths_by_text(lattice)) == {"start one end", "start two three end"}
    assert lattice.time.round(3).tolist() == [0.0, 0.9, 1.25, 2.0, 3.0, 4.0]
    assert lattice.text == "start one end"


def test_an_alternation_of_nothings_is_silence() -> None:
    (lattice,) = read("a 1 * * <ALT_BEGIN>\na 1 * * @\na 1 * * <ALT_END>\n")
    assert (lattice.words, lattice.duration) == (("",), 0.0)


BAD_LINES = [
    ("a 1 x 1 word", "start and duration are 'x' and '1'. Both are seconds"),
    ("a 1 * * word", r"start and duration are '\*' and '\*'"),
    ("a 1 -1 1 word", "start and duration are '-1' and '1'"),
    ("a 1 0 nan word", "start and duration are '0' and 'nan'"),
    ("a 1 0 1e99 word", "start and duration are '0' and '1e99'"),
    ("a 1 0 1 word 1.5", "the confidence is 1.5, not between 0 and 1"),
    ("a 1 0 1 word -0.1", "the confidence is -0.1, not between 0 and 1"),
    ("a 1 0 1 word nan", "the confidence is nan, not between 0 and 1"),
    ("a 1 0 1 word high", "the confidence is 'high'. It is a number from 0 to 1, or NA"),
    ("a 1 0 1", "4 fields: 'a 1 0 1'. A line of CTM is: file channel start"),
    ("a 1 0 1 two words here 1 1", "9 fields"),
    ("a 1 * * <ALT>", "<ALT> stands without <ALT_BEGIN>"),
    ("a 1 * * <ALT_BEGIN>\na 1 * * <ALT_BEGIN>", "<ALT_BEGIN> stands within another one"),
]


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_bad_line_is_named_and_costs_one_utterance_when_skipping(line: str, message: str) -> None:
    number = 2 + line.count("\n")
    with pytest.raises(InputError, match=rf"x\.ctm, line {number}, utterance a: .*{message}"):
        read(f"a 1 0 1 fine\n{line}\n")
    problems = Problems(skip=True)
    lattices = read(f"b 1 0 1 before\n{line}\na 1 0 x again\nb 1 1 1 after\n", problems=problems)
    assert [lattice.text for lattice in lattices] == ["before after"]
    assert [error.utt for error in problems.errors] == ["a"]


def test_other_bad_files() -> None:
    with pytest.raises(InputError, match="line 2: 1 fields: 'word'"):
        read("a 1 0 1 x\nword\n")
    with pytest.raises(InputError, match=r"line 1, utterance a: an alternation has no <ALT_END>"):
        read("a 1 * * <ALT_BEGIN>\na 1 0 1 x\n")
    with pytest.raises(InputError, match=r"line 1, utterance a: the word b'caf\\xe9' is not UTF-8"):
        read(b"a 1 0 1 caf\xe9\n")
    with pytest.raises(InputError, match=r"line 1, utterance a: the lattice has 3 arcs, more than 2"):
        read("a 1 0 1 x\na 1 1 1 y\na 1 2 1 z\n", options=ReadOptions(max_arcs=2))


def test_what_is_written(tmp_path: Path) -> None:
    lattice = assembled(
        "my call",
        time=[0, 0.25, 1.0004, 1.5],
        ends=[(0, 1), (1, 2), (1, 2), (2, 3)],
        tokens=["", "Middle-earth.", "cart", "rocks"],
        posterior=[1.0, 0.75, 0.25, 0.123456],
    )
    silent = assembled(";;s", time=[0, 1], ends=[(0, 1)], tokens=["<sil>"], posterior=[1.0])
    assert written(batch_of(lattice, silent), tmp_path / "x.ctm") == (
        "my_call 1 0.250 0.409 Middle- 0.750000\n"  # 6 of 11 letters
        "my_call 1 0.659 0.341 earth. 0.750000\n"
        "my_call 1 1.000 0.500 rocks 0.123456\n"
        ";; _;;s has no words\n"
    )


def test_nothing_that_is_written_has_a_meaning_of_its_own(tmp_path: Path) -> None:
    lattice = assembled("u\x1b", time=[-0.02, 0.98], ends=[(0, 1)], tokens=["x;;y"])
    assert written(lattice.batch(), tmp_path / "x.ctm") == "u\ufffd 1 0.000 0.480 x\nu\ufffd 1 0.480 0.500 y\n"


def test_no_confidence_is_written_where_there_is_none(tmp_path: Path) -> None:
    lattice = assembled("u", time=[0, 1], ends=[(0, 1)], tokens=["a"], acoustic=[-1.0])
    assert written(lattice.batch(), tmp_path / "x.ctm") == "u 1 0.000 1.000 a\n"


def test_spelled_numbers_are_written_word_by_word(tmp_path: Path) -> None:
    digits = ReadOptions(normalizer=Normalizer(digits=True))
    text = written(read("u 1 0 1 Pier\nu 1 1 1 42.\nu 1 2 1 7\n", options=digits), tmp_path / "x.ctm")
    assert [line.split()[4] for line in text.splitlines()] == ["Pier", "forty", "two", "7"]


def test_two_utterances_of_one_name_are_refused(tmp_path: Path) -> None:
    parts = [assembled(name, time=[0, 1], ends=[(0, 1)], tokens=["a"]) for name in ("a b", "a_b")]
    with pytest.raises(OptionError, match="two utterances would be called 'a_b'"):
        written(batch_of(*parts), tmp_path / "x.ctm")
    assert list(tmp_path.iterdir()) == []


@st.composite
def linear(draw: st.DrawFn) -> Lattice:
    """A linear lattice such as CTM can hold: words of 10 ms and more, pauses over 100 ms, no pause at the end."""
    times, tokens = [0.0], []
    for _ in range(draw(st.integers(1, 12))):
        if draw(st.booleans()):
            times.append(times[-1] + draw(st.integers(101, 5000)) / 1000)
            tokens.append("")
        times.append(times[-1] + draw(st.integers(10, 3000)) / 1000)
        tokens.append(draw(st.sampled_from(("I'll", "Naïve,", "C++", "<unk>", "日本", "5%", "@", "a;;b"))))
    ends = [(node, node + 1) for node in range(len(tokens))]
    if not draw(st.booleans()):
        return assembled("u", time=times, ends=ends, tokens=tokens)
    sure = [draw(st.integers(0, 10**6)) / 10**6 if token else 1.0 for token in tokens]
    return assembled("u", time=times, ends=ends, tokens=tokens, posterior=sure)


@given(linear())
@settings(max_examples=60, deadline=None)
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, lattice: Lattice) -> None:
    path = tmp_path_factory.mktemp("ctm") / "x.ctm"
    (again,) = read(written(lattice.batch(), path))
    if "a;;b" in lattice.text:  # two pieces, which CTM does not tell from two words; short ones push pauses away
        # ... and `;;`, a comment for some programs, makes it write the normalised word.
        assert [word for word in again.words if word] == [word for word in lattice.words if word]
        return
    assert again.equals(lattice, tolerance=2e-6)


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 80), st.floats(0, 1)), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_times_give_all_words_in_order_of_their_starts(rows: list[tuple[int, int, float]]) -> None:
    lines = [f"u 1 {start / 100:.2f} {length / 100:.2f} w{n} {p:.3f}" for n, (start, length, p) in enumerate(rows)]
    (lattice,) = read("\n".join(lines))
    order = sorted(range(len(rows)), key=lambda n: rows[n][0])
    assert [word for word in lattice.words if word] == [f"w{n}" for n in order]
    assert posteriors(lattice) == pytest.approx([round(rows[n][2], 3) for n in order], abs=1e-4)
    words = ~lattice.silence
    assert np.all(lattice.time[lattice.target[words]] - lattice.time[lattice.source[words]] >= 0.01 - 1e-9)


@pytest.mark.parametrize(
    ("text", "surely"),
    [
        ("f 1 0.1 0.2 word\n", 1.0),
        (";; only a comment\nf 1 0.1 0.2 word 0.5 lex spk\n", 1.0),
        ("f 1 * * <ALT_BEGIN>\nf 1 * * @\nf 1 0 1 word\n", 1.0),
        ("f 1 0.10 0.2 17 0.5\nf 1 0.30 0.2 4 1.0\n", 0.5),  # word numbers: Kaldi before int2sym
        ("0 1 5 5 0.5\n1 2 7 7 0.25\n2\n", 0.0),  # OpenFst
        ("0 1 5 5 0.5\n1 2 7 7 0.25\n", 0.2),
        ("utt1\n0 1 word 1.5,2.5,1_2\n1 0,0,\n", 0.0),  # Kaldi lattice
        ("f 1 spk 0.0 1.5 <o> some words\n", 0.0),  # STM
        ("SPEAKER f 1 0.0 1.5 <NA> <NA> spk <NA>\n", 0.0),  # RTTM
        ("-1.5\tsome words of a hypothesis\n", 0.0),
        ('{"text": "x"}', 0.0),
        ("", 0.0),
        (";; nothing\n", 0.0),
    ],
)
def test_sniff(text: str, surely: float) -> None:
    assert sniff(text.encode(), "x") == surely


def test_sniff_does_not_mind_a_cut_head() -> None:
    text = b"f 1 0.10 0.20 word 0.5\n" * 4000
    assert sniff(text[: 1 << 16], "x") == 1.0


@pytest.mark.slow
@needs_shared
def test_the_calls_of_earnings_21() -> None:
    calls = words = 0
    with tarfile.open(SHARED / "earnings21" / "earnings21.tar.xz") as archive:
        for member in archive:
            if not member.name.endswith(".ctm"):
                continue
            calls += 1
            if calls % 8:
                continue
            data = archive.extractfile(member).read()  # type: ignore[union-attr]
            words += _check_call(member.name, data)
    assert calls == 89
    assert words > 50_000


def _check_call(name: str, data: bytes) -> int:
    """Compare a call with what its lines say, read in the plainest way."""
    rows = sorted((line.split() for line in io.BytesIO(data)), key=lambda row: float(row[2]))
    (lattice,) = read_bytes(FORMAT, data, name=name)
    assert sniff(data[: 1 << 16], name) == 1.0
    assert lattice.utt == Path(name).stem
    assert lattice.posterior is not None
    at = np.flatnonzero(~lattice.silence)
    surfaces = "".join(lattice.surfaces[arc].replace("\u2060", "") for arc in at)
    assert surfaces == "".join(row[4].decode() for row in rows)
    last = max(float(row[2]) + float(row[3]) for row in rows)
    assert lattice.duration == pytest.approx(last, abs=0.02)
    first_pieces = np.array([not lattice.surfaces[arc - 1].endswith("\u2060") for arc in at])
    assert lattice.posterior[at[first_pieces]] == pytest.approx([float(row[5]) for row in rows])
    starts = lattice.time[lattice.source[at[first_pieces]]]
    moved = np.abs(starts - [float(row[2]) for row in rows])
    assert np.quantile(moved, 0.99) <= 0.0501  # half a small gap; only overlapping words move more
    return len(rows)


def test_files_and_channels_are_known(tmp_path: Path) -> None:
    """A channel at the end of a name is part of it where the file has only one."""
    path = tmp_path / "x.ctm"
    path.write_text("f A 0 1 a\nf B 0 1 b\ng-A A 0 1 c\nh 1 0 1 d\n")
    wanted = {"f-A": ("f", "A"), "f-B": ("f", "B"), "g-A": ("g-A", "A"), "h": ("h", "1")}
    assert names_and_channels(formats.read(path)) == wanted
    formats.write(formats.read(path), tmp_path / "again.ctm")
    written = [line.split() for line in (tmp_path / "again.ctm").read_text().splitlines()]
    assert [(name, channel, word) for name, channel, *_, word in written] == [
        ("f", "A", "a"), ("f", "B", "b"), ("g-A", "A", "c"), ("h", "1", "d"),
    ]  # fmt: skip
    path.write_text("f 1 0 1 a\n")
    assert names_and_channels(formats.read(path)) == {}


def test_many_recordings_take_little_memory() -> None:
    """Until its lattice is made, of a recording of one word its name is kept, and one array."""
    stream = stream_of("".join(f"u{number} 1 0 1 a\n" for number in range(5_000)).encode(), "x.ctm")
    tracemalloc.start()
    try:
        recordings = read_recordings(stream.name, stream.lines(), ReadOptions(), Tokens(), Problems())
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(recordings) == 5_000
    assert size < 750 * 5_000
