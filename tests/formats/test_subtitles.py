"""Subtitles and plain text as transcripts: SRT, VTT, text with and without times and speakers."""

from __future__ import annotations

import io
import json
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.reading import read_bytes
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.formats import formats_by_name
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.inputs import Stream
from wordtrust.formats.onebest.recognized import SPEAKER, SPEAKERS
from wordtrust.lattices.lattice import Lattice, Lattices

Said = tuple[str, float, float, str | None]


def said(lattices: Lattices) -> list[Said]:
    (lattice,) = lattices
    names: list[str] = json.loads(lattice.notes.get(SPEAKERS, "[]"))
    return [
        (
            lattice.surfaces[arc], round(float(lattice.time[lattice.source[arc]]), 2),
            round(float(lattice.time[lattice.target[arc]]), 2), _speaker(lattice, arc, names),
        )
        for arc in range(lattice.arcs)
        if lattice.word[arc]
    ]  # fmt: skip


def _speaker(lattice: Lattice, arc: int, names: list[str]) -> str | None:
    who = int(lattice.extra[SPEAKER][arc]) if names else -1
    return names[who] if who >= 0 else None


def read(name: str, text: str | bytes, file: str = "talk") -> Lattices:
    data = text if isinstance(text, bytes) else text.encode()
    return read_bytes(formats_by_name()[name], data, name=f"{file}.{name}", options=ReadOptions(keep_times=True))


def words(name: str, text: str | bytes) -> list[str]:
    return [word for word, *_ in said(read(name, text))]


def sample(name: str, file: str) -> list[Said]:
    return said(read(name, (SAMPLES / name / file).read_bytes(), file))


def test_srt_has_times_by_letters_without_tags_sounds_and_dashes() -> None:
    assert sample("srt", "harbour.srt") == [
        ("The", 1.2, 1.45, None), ("ferry", 1.45, 1.85, None), ("leaves", 1.85, 2.35, None),
        ("at", 2.35, 2.51, None), ("seven.", 2.51, 3.0, None),
        ("Which", 3.5, 4.25, "ANN"), ("pier?", 4.25, 5.05, "ANN"),
        ("Pier", 5.05, 5.34, None), ("four", 5.34, 5.58, None), ("&", 5.58, 5.64, None), ("hurry!", 5.64, 6.0, None),
    ]  # fmt: skip


def test_voices_of_vtt_share_their_cue_and_times_within_it_are_kept() -> None:
    assert sample("vtt", "voices.vtt") == [
        ("The", 1.2, 1.45, "Ann Lee"), ("ferry", 1.45, 1.86, "Ann Lee"), ("leaves", 1.86, 2.35, "Ann Lee"),
        ("at", 2.35, 2.51, "Bo"), ("seven.", 2.51, 3.0, "Bo"),
        ("Rough", 3.5, 3.97, None), ("sea", 3.97, 4.25, None), ("today", 4.25, 4.79, None), ("<3", 4.79, 5.0, None),
    ]  # fmt: skip


def test_captions_that_roll_say_nothing_twice() -> None:
    assert sample("vtt", "rolling.vtt") == [
        ("the", 0.24, 0.48, None), ("ferry", 0.48, 0.9, None), ("leaves", 0.9, 2.0, None),
        ("at", 2.0, 2.4, None), ("seven", 2.4, 4.0, None),
    ]  # fmt: skip


def test_a_word_that_comes_twice_in_captions_that_do_not_roll_stays() -> None:
    cues = "00:01.000 --> 00:02.000\nNo.\n\n00:02.000 --> 00:03.000\nNo.\n"
    assert words("vtt", f"WEBVTT\n\n{cues}") == ["No.", "No."]


def test_text_with_times_speakers_or_neither() -> None:
    lines = sample("text", "lines.txt")
    assert [(word, who) for word, _, _, who in lines] == [
        ("The", "Ann"), ("ferry", "Ann"), ("leaves", "Ann"), ("at", "Ann"), ("seven.", "Ann"),
        ("Which", "Bo"), ("pier?", "Bo"), ("Pier", "Ann"), ("four.", "Ann"),
    ]  # fmt: skip
    assert [(lines[index][1], lines[index][2]) for index in (0, 4, 6)] == [(1.2, 1.51), (2.87, 3.5), (4.1, 4.7)]
    turns = sample("text", "turns.txt")
    assert [(word, who) for word, _, _, who in turns][3:] == [
        ("at", "Ann Lee"), ("seven.", "Ann Lee"), ("Which", "Bo"), ("pier?", "Bo"),
    ]  # fmt: skip
    assert sample("text", "printed.txt")[4:] == [("seven.", 2.51, 3.0, None), ("Which", 3.5, 4.25, None),
                                                 ("pier?", 4.25, 5.0, None)]  # fmt: skip
    assert words("text", (SAMPLES / "text" / "prose.txt").read_bytes())[5:] == ["Note:", "bring", "a", "coat."]


def test_whisper_tables_have_them() -> None:
    table = read("text", "start\tend\ttext\n500\t1500\tso it is\n")
    assert said(table)[0][:2] == ("so", 0.5)
    with pytest.raises(InputError, match="line 2"):
        read("text", "start\tend\ttext\nx\t1500\tso it is\n")


@pytest.mark.parametrize("name", ["srt", "vtt", "text"])
def test_byte_order_marks_and_line_ends_make_no_difference(name: str) -> None:
    path = next(path for path in sorted((SAMPLES / name).iterdir()) if "rolling" not in path.name)
    data = path.read_bytes()
    plain = said(read(name, data))
    assert said(read(name, b"\xef\xbb\xbf" + data)) == plain
    assert said(read(name, data.replace(b"\n", b"\r\n"))) == plain
    assert said(read(name, data.replace(b"\n", b"\r"))) == plain


def test_cues_without_words_out_of_order_and_side_by_side() -> None:
    cues = [
        ("09", "10", "last"),
        ("01", "02", " "),
        ("03", "01", "no length"),
        ("05", "09", "long one"),
        ("05", "06", "short"),
    ]
    text = "\n\n".join(f"1\n00:00:{start},000 --> 00:00:{end},000\n{said}" for start, end, said in cues)
    assert words("srt", text) == ["no", "length", "long", "one", "short", "last"]
    assert said(read("srt", text))[-2][2] <= 9.0


@pytest.mark.parametrize(
    "line", ["99999999999:00:00,000 --> 99999999999:00:01,000", "-1:00:00,000 --> 00:00:01,000", "soon --> later"]
)
def test_times_that_cannot_be_are_refused(line: str) -> None:
    for name, head in (("srt", "1\n"), ("vtt", "WEBVTT\n\n")):
        with pytest.raises(InputError, match=r"below 1e9|no line of times"):
            read(name, f"{head}{line}\nso it is\n")


def test_marks_of_others_are_words() -> None:
    hostile = "1\n00:00:01,000 --> 00:00:02,000\n<script>alert</script> 1 < 2 <b\n{oops {\\an8}fine\n"
    assert words("srt", hostile) == ["alert", "1", "<", "2", "<b", "{oops", "fine"]


def test_names_before_a_colon_are_speakers_only_where_that_is_likely() -> None:
    assert words("text", "I said this: go.\nI said this: stop.\n") == "I said this: go. I said this: stop.".split()
    assert [who for *_, who in said(read("text", "Speaker 2: yes.\nSo it is.\n"))][:1] == ["Speaker 2"]


def test_text_is_no_text_with_zero_bytes_and_no_utf8() -> None:
    with pytest.raises(InputError, match="zero byte"):
        read("text", b"so\0it is")
    for name in ("srt", "vtt", "text"):
        with pytest.raises(InputError, match="not UTF-8"):
            read(name, b"1\n00:00:01,000 --> 00:00:02,000\n\xff\xfe\n")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=30), max_size=6), st.sampled_from(["srt", "vtt", "text"])
)
def test_any_text_is_read_or_refused(lines: list[str], name: str) -> None:
    cues = "\n\n".join(
        f"{index}\n00:00:{index:02},000 --> 00:00:{index:02},900\n{line}" for index, line in enumerate(lines)
    )
    head = {"srt": "", "vtt": "WEBVTT\n\n", "text": ""}[name]
    with suppress(InputError):
        read(name, head + cues)


@pytest.mark.parametrize("name", ["srt", "vtt", "text"])
def test_long_files_take_time_in_proportion(name: str) -> None:
    cue = "00:00:01,000 --> 00:00:02,000\n<v <b <<<(([[Ann: so it is\n\n"
    text = "WEBVTT\n\n" + cue * 10_000 if name == "vtt" else cue * 10_000
    began = time.process_time()
    read(name, text)
    assert time.process_time() - began < 5
    stream = Stream(io.BytesIO(b"a " * 2_100_000), "x.txt", Path("x.txt"))
    with pytest.raises(InputError, match=r"2,100,000 words"):
        list(formats_by_name()["text"].read(stream, ReadOptions(), None))  # type: ignore[misc, arg-type]
