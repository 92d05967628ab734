"""Recognising formats by their content, and what all of them share."""

from __future__ import annotations

import io
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import Sample, samples
from tests.helpers.strategies import assembled
from wordtrust.base.errors import InputError, OptionError, UnknownFormat, WordtrustWarning
from wordtrust.base.problems import Problems
from wordtrust.formats import detect_format, formats_by_name, read, stream, stream_files, writable, write
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.inputs import Stream, unpacked

# Any text is plain text, so nothing is recognised as that.
sniffed = [sample for sample in samples() if sample.format != "text"]
every_sample = pytest.mark.parametrize("sample", sniffed, ids=lambda sample: f"{sample.format}/{sample.path.name}")


def opened(sample: Sample, name: str) -> Stream:
    return unpacked(io.BytesIO(b"" if sample.path.is_dir() else sample.data), name, sample.path)


@every_sample
def test_content_alone_tells_the_format(sample: Sample) -> None:
    assert detect_format(opened(sample, "no-ending")).name == sample.format


@every_sample
def test_a_misleading_name_does_not_matter(sample: Sample) -> None:
    for suffix in (".slf", ".ctm", ".json", ".ark", ".txt"):
        assert detect_format(opened(sample, f"x{suffix}")).name == sample.format


@pytest.mark.filterwarnings("ignore:acoustic scores look unscaled")
@pytest.mark.slow
@every_sample
def test_every_sample_reads(sample: Sample) -> None:
    lattices = read(sample.path)
    assert len(lattices) > 0
    assert all(lattice.arcs > 0 for lattice in lattices)
    assert any(any(lattice.words) for lattice in lattices)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"hello world, this is prose.\n", '"hello world, this is prose."'),
        (b"abc\n" + "ä".encode() * 40, '"abc ' + "ä" * 18 + '"'),
        ("a" * 39 + "ä" * 9, '"' + "a" * 39 + '"'),  # the cut letter is left out
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "bytes 89 50 4e 47 0d 0a 1a 0a 00 01 02 03 04 05 06 07"),
        (b"\x1b[31mred", "bytes 1b 5b 33 31 6d 72 65 64"),
        (b"[{}]", '"[{}]"'),
    ],
)
def test_an_unknown_file_lists_the_known_formats(data: bytes | str, shown: str) -> None:
    data = data.encode() if isinstance(data, str) else data
    with pytest.raises(UnknownFormat, match="Known formats: store, kaldi-text") as caught:
        detect_format(unpacked(io.BytesIO(data), "x.bin", Path("x.bin")))
    assert f"x.bin: no known format: it begins with {shown}. " in str(caught.value)


def test_an_empty_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "empty.slf").touch()
    with pytest.raises(InputError, match="the file is empty"):
        read(tmp_path / "empty.slf")


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(OptionError, match="cannot read the format 'nope'; known: store, kaldi-text"):
        read(samples()[0].path, format="nope")
    with pytest.raises(OptionError, match="cannot write the format 'whisper'"):
        writable(Path("x"), "whisper")
    with pytest.raises(OptionError, match=r"the ending names no format that lattices are written in"):
        writable(Path("x.docx"))


@pytest.mark.filterwarnings("ignore:acoustic scores look unscaled")
def test_a_mixed_folder_keeps_going_past_bad_files(tmp_path: Path) -> None:
    good = [sample for sample in samples() if sample.path.is_file() and sample.format in ("htk", "ctm", "whisper")]
    for number, sample in enumerate(good):
        shutil.copy(sample.path, tmp_path / f"{number}-{sample.path.name}")
    (tmp_path / "notes.md").write_text("nothing to see here")
    (tmp_path / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00")
    with pytest.raises(InputError):
        list(stream(tmp_path))
    problems = Problems(skip=True)
    told: list[str] = []
    found = {batch.origin.format for batch in stream_files(tmp_path, problems=problems, notify=told.append)}
    assert found == {"htk", "ctm", "whisper"}
    assert [Path(error.file).name for error in problems.errors] == ["cut.gz"]
    assert any(message.endswith("notes.md") for message in told)


@pytest.mark.filterwarnings("ignore:acoustic scores look unscaled")
def test_each_lattice_knows_its_own_file(tmp_path: Path) -> None:
    sample = next(sample for sample in samples() if sample.format == "htk")
    for name in ("one.slf", "two.slf"):
        shutil.copy(sample.path, tmp_path / name)
    lattices = read(tmp_path)
    half = len(lattices) // 2
    assert Path(lattices[0].origin.file).name == "one.slf"
    assert Path(lattices[half].origin.file).name == "two.slf"
    assert Path(lattices[half:][0].origin.file).name == "two.slf"


@pytest.mark.filterwarnings("ignore:acoustic scores look unscaled")
def test_formats_that_cannot_share_arrays_are_told_to_stream() -> None:
    paths = [next(s.path for s in samples() if s.format == name) for name in ("htk", "whisper")]
    with pytest.raises(OptionError, match=r"wordtrust\.stream gives them batch by batch"):
        read(paths)
    assert len(list(stream(paths))) == 2


@pytest.mark.parametrize("name", [each.name for each in formats_by_name().values() if each.write])
def test_nothing_half_written_is_left(name: str, tmp_path: Path) -> None:
    lattice = assembled("u", time=[0, 1], ends=[(0, 1)], tokens=["a"], acoustic=[0.5])

    def broken() -> object:
        yield lattice.batch()
        raise RuntimeError("the reader failed")

    with pytest.raises(RuntimeError, match="the reader failed"):
        write(broken(), tmp_path / "out", format=name)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OptionError, match="cannot be written"):
        write(lattice.batch(), tmp_path / "missing" / "out", format=name)
    if name != "store":
        (tmp_path / "out").write_text("what was there before")
        with pytest.raises(RuntimeError, match="the reader failed"):
            write(broken(), tmp_path / "out", format=name)  # type: ignore[arg-type]
        assert (tmp_path / "out").read_text() == "what was there before"
        assert len(list(tmp_path.iterdir())) == 1


def test_recognizer_json_beside_a_file(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("<eps> 0\n")
    (tmp_path / "recognizer.json").write_text('{"format": "kaldi", "frame_length": 0.03, "pick": "average"}')
    options = ReadOptions(pick="total").beside(tmp_path / "x.ark")
    assert (options.format, options.frame_length, options.pick) == (None, 0.03, "total")
    assert options.words == tmp_path / "words.txt"


@pytest.mark.parametrize(
    "text",
    [
        "{", "[]", '{"frame_length": "fast"}', '{"words": 3}', '{"frame_length": true}', "[" * 100_000,
        '{"a":' * 100_000, '{"frame_length": NaN}', f'{{"frame_length": {"9" * 5000}}}', " " * 2_000_000 + "{}",
        '"\\ud800"',
    ],
)  # fmt: skip
def test_a_bad_recognizer_json_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "recognizer.json").write_text(text)
    with pytest.raises(InputError, match=r"recognizer\.json: .* It is an object such as"):
        ReadOptions().beside(tmp_path / "x.ark")


@pytest.mark.parametrize("length", ["0", "-1", "1e300", str(10**400)])
def test_a_frame_length_that_is_none(length: str, tmp_path: Path) -> None:
    (tmp_path / "recognizer.json").write_text(f'{{"frame_length": {length}}}')
    with pytest.raises((InputError, OptionError), match="frame"):
        ReadOptions().beside(tmp_path / "x.ark")


@pytest.mark.parametrize(
    "name", ["../words.txt", "/etc/passwd", "a/../../words.txt", "link", "linked/words.txt", "a\\u0000b"]
)
def test_a_symbol_table_outside_of_the_folder_is_not_read(name: str, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("hello 1\n")
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "link").symlink_to("../words.txt")
    (folder / "linked").symlink_to("..")
    (folder / "recognizer.json").write_text(f'{{"words": "{name}"}}')
    with pytest.raises(InputError, match=r"recognizer\.json: the symbol table .* lies outside of the folder"):
        ReadOptions().beside(folder / "x.ark")
    given = tmp_path / "words.txt"
    assert ReadOptions(words=given).beside(folder / "x.ark").words == given  # the user may name any


def test_a_symbol_table_in_a_folder_below_is_read(tmp_path: Path) -> None:
    (tmp_path / "recognizer.json").write_text('{"words": "lang/words.txt"}')
    assert ReadOptions().beside(tmp_path / "x.ark").words == tmp_path / "lang" / "words.txt"


@pytest.mark.parametrize("options", [{"frame_length": 0.0}, {"frame_length": -1.0}, {"pick": "best"}])
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        ReadOptions(**options)  # type: ignore[arg-type]


def test_lists_of_lattices_are_written(tmp_path: Path) -> None:
    batch = read(sorted((Path(__file__).parents[1] / "samples" / "nbest").iterdir())[0])
    for given in (batch, list(batch), [batch], tuple(batch), (lattice for lattice in batch)):
        write(given, tmp_path / "all.jsonl")
        assert [lattice.text for lattice in read(tmp_path / "all.jsonl")] == [lattice.text for lattice in batch]
    write(batch[0], tmp_path / "one.jsonl")
    assert read(tmp_path / "one.jsonl")[0].text == batch[0].text


@pytest.mark.parametrize("given", ["talk.json", {"nbest": []}, ["talk.json"], 7])
def test_what_is_no_lattice_is_not_written(given: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"lattices are needed, not .*wt\.read"):
        write(given, tmp_path / "all.jsonl")
    assert not list(tmp_path.iterdir())


def test_what_is_skipped_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{}")
    with pytest.warns(WordtrustWarning, match=r"skipped: .*a\.json"):
        assert list(stream(tmp_path / "a.json", skip_bad=True)) == []


def test_what_else_is_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    """A Kaldi decode folder has logs beside its lattices; what is named itself must be known."""
    (tmp_path / "decode" / "log").mkdir(parents=True)
    lattices = next(sample.path for sample in samples() if sample.path.name == "two.slf")
    shutil.copy(lattices, tmp_path / "decode" / "a.slf")
    for name in ("a", "b"):
        (tmp_path / "decode" / "log" / f"{name}.log").write_text("# gmm-latgen-faster --beam=13\nLOG: done\n")
    with pytest.warns(WordtrustWarning, match=r"passed over 2 files of no known format, e\.g\. .*log/a\.log"):
        assert len(read(tmp_path / "decode"))
    with pytest.raises(UnknownFormat, match="no known format"):
        read(tmp_path / "decode" / "log" / "a.log")
    with pytest.raises(UnknownFormat, match="no known format"):
        read(tmp_path / "decode" / "log")
    with pytest.raises(UnknownFormat, match="no known format"):  # whatever else is given
        read([tmp_path / "decode" / "a.slf", tmp_path / "decode" / "log"])


def test_graphs_to_decode_with_are_told_from_damaged_lattices(tmp_path: Path) -> None:
    header = b"\xd6\xfd\xb2\x7e\x06\0\0\0vector\x08\0\0\0standard" + struct.pack("<iiQqqq", 2, 0, 3, 0, 1, 0)
    for name, data in (("HCLG.fst", header), ("fsts.1", b"utt-1 " + header)):
        (tmp_path / name).write_bytes(data + bytes(64))
        for wanted in (None, "kaldi-binary"):
            with pytest.raises(InputError, match=r"'standard', not a lattice\. Graphs to decode") as caught:
                read(tmp_path / name, format=wanted)
            assert "damaged" not in str(caught.value)
