"""Kaldi script files: where lattices are looked for, and what is refused."""

from __future__ import annotations

import gzip
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

import wordtrust.formats as formats
from tests.helpers.kaldi_files import (
    EXAMPLE,
    WORDS,
    Compact,
    archive_text,
    binary,
    expanded,
    options,
    words_txt,
)  # fmt: skip
from tests.helpers.reading import read_bytes, stream_of
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.formats.kaldi import scp as kaldi_scp
from wordtrust.lattices.lattice import Lattices

OTHER = Compact("utt-2", 2, ((0, 1, 3, 1.0, 2.0, 4),), ((1, 0.5, 0.0, 0),))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Archives with two lattices in every form, and a list of each."""
    words_txt(tmp_path)
    for name, entries in {
        "text": [archive_text(each).encode() for each in (EXAMPLE, OTHER)],
        "frames": [archive_text(expanded(each)).encode() for each in (EXAMPLE, OTHER)],
        "binary": [binary(each) for each in (EXAMPLE, OTHER)],
        "frames-binary": [binary(expanded(each), double=True) for each in (EXAMPLE, OTHER)],
    }.items():
        (tmp_path / f"{name}.ark").write_bytes(b"".join(entries))
        second = len(entries[0]) + len("utt-2 ")
        (tmp_path / f"{name}.scp").write_text(f"utt-2 {name}.ark:{second}\nutt-1 {name}.ark:6\n")
    return tmp_path


def read_list(folder: Path, text: str, problems: Problems | None = None, **more: int) -> Lattices:
    set_options = options(folder / "words.txt", **more)
    name = str(folder / "list.scp")
    return read_bytes(kaldi_scp.FORMAT, text, name=name, problems=problems, options=set_options)


@pytest.mark.parametrize("form", ["text", "frames", "binary", "frames-binary"])
def test_places_in_archives(folder: Path, form: str) -> None:
    found = formats.read(folder / f"{form}.scp", frame_length=0.03)
    assert found.utts == ("utt-2", "utt-1")
    assert found[0].equals(OTHER.expected())
    assert found[1].equals(EXAMPLE.expected())
    assert found.facts.place.tolist() == [1, 2]
    assert found.origin.format == "kaldi-scp"


def test_a_list_in_an_archive_is_refused(folder: Path) -> None:
    with tarfile.open(folder / "lists.tar", "w") as archive:
        archive.add(folder / "text.scp", "text.scp")
    with pytest.raises(InputError, match=r"lists\.tar:text\.scp: a list of files inside an archive"):
        formats.read(folder / "lists.tar", words=folder / "words.txt")


def test_words_and_numbers_in_one_list(folder: Path) -> None:
    (folder / "spelled").write_text(archive_text(replace(OTHER, utt="utt-3"), words=WORDS))
    lines = "utt-1 binary.ark:6\nutt-3 spelled\nutt-1 text.ark:6\nutt-3 spelled\n"
    stream = kaldi_scp.read(stream_of(lines, str(folder / "l.scp")), options(folder / "words.txt"), Problems())
    found = [lattice for batch in stream for lattice in batch]
    expected = [EXAMPLE.expected(), replace(OTHER, utt="utt-3").expected()]
    assert [lattice.equals(expected[place % 2]) for place, lattice in enumerate(found)] == [True] * 4


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("form", ["text", "binary"])
def test_files_of_one_lattice(folder: Path, form: str, named: bool, packed: bool) -> None:
    text = archive_text(EXAMPLE).encode()
    data = binary(EXAMPLE, key=named) if form == "binary" else text if named else text.split(b"\n", 1)[1]
    (folder / "one").write_bytes(gzip.compress(data) if packed else data)
    (lattice,) = read_list(folder, "\n  utt-1   one  \n\n")
    assert lattice.equals(EXAMPLE.expected())


def test_from_the_current_folder_first(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    here = tmp_path_factory.mktemp("here")
    (here / "one").write_bytes(binary(replace(OTHER, utt="utt-1"), key=False))
    (folder / "one").write_bytes(binary(EXAMPLE, key=False))
    assert read_list(folder, "utt-1 one\n")[0].surfaces == EXAMPLE.expected().surfaces
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        assert read_list(folder, "utt-1 one\n")[0].surfaces == ("sit", "")
        assert read_list(folder, f"utt-1 {folder / 'one'}\n")[0].surfaces == EXAMPLE.expected().surfaces


def test_a_file_stays_open_while_it_comes_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    open_path = Path.open

    def watched(self: Path, mode: str = "r") -> IO[Any]:
        opened.append(self.name)
        return open_path(self, mode)

    monkeypatch.setattr(Path, "open", watched)
    lines = "utt-1 binary.ark:6\n" * 3 + "utt-1 text.ark:6\n" * 2
    assert len(read_list(folder, lines)) == 5
    assert [name for name in opened if name.endswith(".ark")] == ["binary.ark", "text.ark"]


BAD = {
    "command": ("bad gunzip -c lat.1.gz |", r"a command .*'gunzip -c lat.1.gz \|'. Commands in lists are never run"),
    "no file": ("bad nowhere.ark:6", r"there is no file nowhere.ark nor .*nowhere.ark. Run it from"),
    "folder": ("bad ../", "there is no file"),
    "no path": ("bad", "'bad' has no file. A line is"),
    "odd blanks": ("\x1c\x85\xa0", "has no file"),
    "past the end": ("bad text.ark:99999", r"text.ark has \d+ bytes, and no byte 99,999. Make the list again"),
    "wrong name": ("bad text.ark:6", "before byte 6 of .*text.ark the name .* should stand, not b'utt-1 '"),
    "wrong name in a file": ("bad one-other", "one-other has utterance 'utt-2' there"),
    "no lattice": ("bad noise", "cannot be read as an arc|begins with"),
    "not utf-8": ("bad \udcff", "the line is not UTF-8"),
    "nul": ("bad a\0b", "there is no file|cannot be opened"),
    "cut": ("bad cut", "the file ends inside a lattice"),
    "offset in a name": ("ad text.ark:5", "should stand"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_lines_are_named_and_skipped(folder: Path, name: str) -> None:
    (folder / "one-other").write_bytes(binary(OTHER))
    (folder / "cut").write_bytes(binary(replace(EXAMPLE, utt="bad"))[:-5])
    (folder / "noise").write_bytes(b"what is\nthis\n")
    line, message = BAD[name]
    data = f"utt-1 text.ark:6\n{line}\nutt-1 binary.ark:6\n".encode(errors="surrogateescape")
    problems = Problems(skip=True)
    found = read_bytes(
        kaldi_scp.FORMAT, data, name=str(folder / "l.scp"), problems=problems, options=options(folder / "words.txt")
    )
    assert [lattice.equals(EXAMPLE.expected()) for lattice in found] == [True, True]
    (error,) = problems.errors
    assert error.file
    assert error.place
    with pytest.raises(InputError, match=message):
        raise error


def test_bad_lattices_say_where_they_are(folder: Path) -> None:
    (folder / "bad.ark").write_text("utt-1 \n0 1 1 1,2,3\nx 2\n\n")
    with pytest.raises(InputError, match=r"bad\.ark:6, line 3, utterance utt-1: a line begins with 'x'"):
        read_list(folder, "utt-1 bad.ark:6\n")
    (folder / "bad.ark").write_text("utt-1 \n0 1 1 1,2,3\n\n")
    with pytest.raises(InputError, match=r"list\.scp, line 1, utterance utt-1: no state is final"):
        read_list(folder, "utt-1 bad.ark:6\n")


@pytest.mark.parametrize("form", ["text", "binary"])
def test_too_many_arcs(folder: Path, form: str) -> None:
    problems = Problems(skip=True)
    place = (folder / f"{form}.scp").read_text().split()[1]
    found = read_list(folder, f"utt-1 {form}.ark:6\nutt-2 {place}\n", problems, max_arcs=3)
    assert found.utts == ("utt-2",)
    (error,) = problems.errors
    assert "utterance utt-1: the lattice has 4 arcs, more than 3" in str(error)


def test_recognised_by_content() -> None:
    assert kaldi_scp.sniff(b"a lat.ark:17\nb lat.ark:99\n", "x.scp") == 1.0
    assert kaldi_scp.sniff(b"a lat.ark:17\nb lat.ark:99\n", "x") == 0.9
    assert kaldi_scp.sniff(b"a gunzip -c lat.gz |\nb gunzip -c lat.gz |\n", "x") == 0.9
    assert kaldi_scp.sniff(b"a lats/a.lat\nb lats/b.lat\n", "x.scp") == 0.7
    assert kaldi_scp.sniff(b"a lats/a.lat\nb lats/b.lat\n", "x") < 0.5
    others = [b"", b"\n", b"hello there you\n", b"-12.5\thello\n", b"a A 0.1 0.2 word 0.9\n"]
    for other in (*others, archive_text(EXAMPLE).encode()):
        assert kaldi_scp.sniff(other, "x.scp") == 0.0
