"""Our own transcripts, read back as they were written, and words of others as transcripts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust as wt
from tests.helpers.html_page import page_data
from tests.helpers.transcripts import transcripts as made
from wordtrust.base.errors import InputError, OptionError
from wordtrust.cli import cli
from wordtrust.transcripts.reader import convert_transcripts, read_transcripts, transcript_sources
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Alternative, LeftOut, Word
from wordtrust.transcripts.writer import TranscriptWriter

ABOUT = {
    "file": "talk.wav",
    "duration": 61.25,
    "recognizers": [{"name": "r", "settings": {"beam": 5}}],
    "models": ["m"],
}
LEFT_OUT = (LeftOut(0.0, 2.5, "no speech"), LeftOut(9.0, 11.125, 'words that nobody said: "you"'))
TALK = Transcripts(
    [
        Transcript(
            "talk",
            (
                Word("In", "in", 2.5, 2.7, 0.9876543, (Alternative("On", 0.01),)),
                Word("Middle-", "middle", 2.7, 3.1, 0.4, (Alternative("Little", 0.45),), joins_next=True),
                Word("earth.", "earth", 3.1, 3.4, 0.91),
            ),
        ),
        Transcript("talk", (Word("42", "forty", 12.0, 12.3, 0.5), Word("", "two", 12.3, 12.5, 0.6))),
        Transcript("talk", (Word("End.", "end", 12.6, 13.0, 1.0),)),
    ],
    about=ABOUT,
    left_out=LEFT_OUT,
)
many = st.lists(made(max_words=6), max_size=4)
endings = pytest.mark.parametrize("ending", ["json", "jsonl", "parquet", "json.gz", "jsonl.gz"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a property."""
    return tmp_path_factory.mktemp("transcripts")


@endings
@pytest.mark.slow
@settings(max_examples=30)
@given(many)
def test_what_is_written_is_read_and_written_again_to_the_same_bytes(
    folder: Path, ending: str, found: list[Transcript]
) -> None:
    first, second = folder / f"a.{ending}", folder / f"b.{ending}"
    if ending != "parquet" and not found and "jsonl" in ending:
        return  # an empty file is of no format
    with TranscriptWriter(first) as out:
        out.add(found)
    read_transcripts(first).save(second)
    assert second.read_bytes() == first.read_bytes()


@endings
def test_a_recording_comes_back_with_all_that_is_known_about_it(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"talk.{ending}"
    TALK.save(path)
    read = read_transcripts(path)
    assert [each.to_dict() for each in read] == [each.to_dict() for each in TALK]
    assert [word.joins_next for word in read.words] == [word.joins_next for word in TALK.words]
    assert read.about["models"] == ABOUT["models"]
    if "jsonl" not in ending:
        assert read.left_out == LEFT_OUT
        assert {key: value for key, value in read.about.items() if key != "wordtrust"} == ABOUT
    read.save(tmp_path / f"again.{ending}")
    assert (tmp_path / f"again.{ending}").read_bytes() == path.read_bytes()
    if ending == "parquet":
        assert list(read) == list(TALK)  # nothing is rounded


@endings
def test_gaps_and_probabilities_of_utterances_come_back(ending: str, tmp_path: Path) -> None:
    words = tuple(Word("ab"[i], "ab"[i], float(i), i + 0.5, 0.75, missing_before=(0.125, 0.5)[i]) for i in range(2))
    written = [
        Transcript("u", words, correct=0.375, missing_end=0.25),
        Transcript("v", (replace(words[0], missing_before=None),)),
    ]
    with TranscriptWriter(tmp_path / f"a.{ending}") as out:
        out.add(written)
    first, second = read_transcripts(tmp_path / f"a.{ending}")
    assert (first.gaps, first.confidence, first.mean_confidence) == ((0.125, 0.5, 0.25), 0.375, 0.75)
    assert (second.gaps, second.confidence) == (None, 0.75)


def test_what_older_files_call_confidence_is_the_mean(tmp_path: Path) -> None:
    words = [
        {"word": "a", "norm": "a", "start": i, "end": i + 1, "confidence": sure} for i, sure in enumerate((0.5, 0.9))
    ]
    record = {"utt": "u", "text": "a a", "confidence": 0.7, "words": words}
    (tmp_path / "old.jsonl").write_text(json.dumps(record) + "\n")
    (found,) = read_transcripts(tmp_path / "old.jsonl")
    assert (found.correct, found.confidence) == (None, 0.45)
    assert found.mean_confidence == pytest.approx(0.7)


@pytest.mark.parametrize("name", ["missing_before", "missing_end", "confidence"])
def test_probabilities_outside_0_and_1_are_refused(name: str, tmp_path: Path) -> None:
    word = {"word": "a", "norm": "a", "start": 0, "end": 1, "confidence": 0.5}
    record = {"utt": "u", "text": "a", "confidence": 0.5, "mean_confidence": 0.5, "words": [word]}
    (word if name == "missing_before" else record)[name] = 1.5
    (tmp_path / "bad.jsonl").write_text(json.dumps(record) + "\n")
    with pytest.raises(InputError, match=rf"{name} is 1\.5, not between 0 and 1"):
        read_transcripts(tmp_path / "bad.jsonl")


def test_older_files_say_in_their_text_what_is_joined(tmp_path: Path) -> None:
    records = [each.to_dict() for each in TALK]
    for record in records:
        for word in record["words"]:
            word.pop("joins_next", None)
    (tmp_path / "old.json").write_text(json.dumps(records, indent=1))
    assert [each.text for each in read_transcripts(tmp_path / "old.json")] == ["In Middle-earth.", "42", "End."]


@endings
def test_as_lattices_segments_of_a_recording_are_one(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"talk.{ending}"
    TALK.save(path)
    [lattice] = wt.read(path)
    assert lattice.utt == "talk"
    assert lattice.origin.format == "transcript"
    assert lattice.text == "In Middle-earth. 42 End."
    says = [arc for arc in lattice.one_best() if lattice.word[arc]]
    assert [lattice.words[arc] for arc in says] == ["in", "middle", "earth", "forty", "two", "end"]
    assert lattice.posterior is not None
    assert lattice.posterior[says].tolist() == pytest.approx([word.confidence for word in TALK.words], abs=1e-6)
    assert [round(float(lattice.time[lattice.source[arc]]), 3) for arc in says][:2] == [2.5, 2.7]


def test_utterances_keep_their_names_and_silence(tmp_path: Path) -> None:
    said = Transcripts([replace(TALK[0], utt="a"), Transcript("b", ()), replace(TALK[2], utt="c")])
    said.save(tmp_path / "all.jsonl")
    batch = wt.read(tmp_path / "all.jsonl")
    assert [(lattice.utt, lattice.text) for lattice in batch] == [("a", "In Middle-earth."), ("b", ""), ("c", "End.")]


ENDINGS = ("txt", "srt", "vtt", "html", "json", "jsonl", "ctm", "parquet")


@pytest.mark.parametrize("target", ENDINGS)
@pytest.mark.parametrize("source", ["json", "parquet"])
def test_convert_gives_what_would_have_been_written_at_once(source: str, target: str, tmp_path: Path) -> None:
    TALK.save(tmp_path / f"talk.{source}")
    read_transcripts(tmp_path / f"talk.{source}").save(tmp_path / f"direct.{target}")
    done = CliRunner().invoke(
        cli, ["convert", str(tmp_path / f"talk.{source}"), "--out", str(tmp_path / f"new.{target}")]
    )
    assert done.exit_code == 0, done.output + str(done.exception)
    assert done.output.endswith(f"new.{target}: 3 transcripts, 6 words\n")
    assert (tmp_path / f"new.{target}").read_bytes() == (tmp_path / f"direct.{target}").read_bytes()


def test_convert_of_what_others_printed(tmp_path: Path) -> None:
    (tmp_path / "call.ctm").write_text("call 1 0.5 0.4 good 0.9\ncall 1 0.9 0.5 evening 0.4\n")
    run = CliRunner(catch_exceptions=False)
    run.invoke(cli, ["convert", str(tmp_path / "call.ctm"), str(tmp_path / "call.json")])
    words = json.loads((tmp_path / "call.json").read_text())["segments"][0]["words"]
    assert [(word["word"], word["start"], word["confidence"]) for word in words] == [
        ("good", 0.5, 0.9), ("evening", 0.9, 0.4),
    ]  # fmt: skip
    run.invoke(cli, ["convert", str(tmp_path / "call.ctm"), str(tmp_path / "c"), "--to", "txt"])
    assert (tmp_path / "c").read_text() == "good evening\n"


def test_convert_to_lattices_and_of_one_utterance(tmp_path: Path) -> None:
    said = Transcripts([replace(TALK[0], utt="a"), replace(TALK[2], utt="c")])
    said.save(tmp_path / "all.jsonl")
    run, given = CliRunner(catch_exceptions=False), str(tmp_path / "all.jsonl")
    run.invoke(cli, ["convert", given, str(tmp_path / "all.store")])
    assert [lattice.text for lattice in wt.read(tmp_path / "all.store")] == ["In Middle-earth.", "End."]
    assert not run.invoke(
        cli, ["convert", str(tmp_path / "all.jsonl"), str(tmp_path / "c.txt"), "--utt", "c"]
    ).exit_code
    assert (tmp_path / "c.txt").read_text() == "End.\n"
    with pytest.raises(OptionError, match="no utterance d in the input"):
        convert_transcripts(transcript_sources(tmp_path / "all.jsonl"), tmp_path / "d.txt", utts=["d"])
    assert not (tmp_path / "d.txt").exists()


def test_several_files_are_one_without_what_is_known_of_each(tmp_path: Path) -> None:
    TALK.save(tmp_path / "a.json")
    Transcripts([replace(TALK[0], utt="b")], about=ABOUT, left_out=()).save(tmp_path / "b.json")
    convert_transcripts(transcript_sources([tmp_path / "a.json", tmp_path / "b.json"]), tmp_path / "both.json")
    both = json.loads((tmp_path / "both.json").read_text())
    assert "file" not in both
    assert [segment["utt"] for segment in both["segments"]] == ["talk", "talk", "talk", "b"]


def test_words_without_confidences_are_no_transcript(tmp_path: Path) -> None:
    (tmp_path / "call.ctm").write_text("call 1 0.5 0.4 good\ncall 1 0.9 0.5 evening\n")
    with pytest.raises(InputError, match=r"no confidences.*wordtrust score MODEL"):
        read_transcripts(tmp_path / "call.ctm")


GOOD = '{"utt": "a", "text": "b", "confidence": 0.5, "words": [{"word": "b", "norm": "b", "start": 0, "end": 1, '


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (GOOD + '"confidence": 1.5}]}', r"line 1: words\[0\]\.confidence is 1\.5, not between 0 and 1"),
        (GOOD + '"confidence": "0.5"}]}', r"words\[0\]\.confidence is a string"),
        (GOOD + '"confidence": 0.5, "joins_next": 1}]}', r"joins_next is neither true nor false"),
        (GOOD.replace("0, ", "-1e300, ") + '"confidence": 0.5}]}', "Times are seconds"),
        (GOOD + '"confidence": 0.5, "alternatives": [{"word": 7}]}]}', r"alternatives\[0\]\.word is the number 7"),
        ('{"utt": "a", "text": "", "confidence": null, "words": {}}', "words is an object, not a list"),
    ],
)
def test_bad_files_are_refused_with_the_place(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(line + "\n")
    for read in (read_transcripts, wt.read):
        with pytest.raises(InputError, match=message):
            read(tmp_path / "bad.jsonl")


def test_a_table_of_something_else_is_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="no table of words: no column 'alternatives'"):
        read_transcripts(tmp_path / "a.parquet")
    TALK.save(tmp_path / "b.parquet")
    table = pq.read_table(tmp_path / "b.parquet")
    pq.write_table(table.slice(1), tmp_path / "c.parquet")
    with pytest.raises(InputError, match="row 0: word 1 of 'talk' comes after word -1"):
        read_transcripts(tmp_path / "c.parquet")


@pytest.mark.slow
def test_tables_that_unpack_to_too_much_are_refused(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    TALK.save(tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    path = tmp_path / "bomb.parquet"
    other = pa.scalar([{"word": "a", "confidence": 0.1}] * 1_100_000, table.schema.field("alternatives").type)
    column = pa.array([other.as_py()], other.type)
    pq.write_table(table.slice(0, 1).set_column(7, "alternatives", column), path, compression="zstd")
    with pytest.raises(InputError, match="1,100,000 values in a column"):
        read_transcripts(path)
    rows = table.slice(0, 1).take(pa.array([0] * 2_500_000))
    pq.write_table(rows, path, compression="zstd", row_group_size=10_000_000)
    with pytest.raises(InputError, match="2,500,000 values in a column"):
        read_transcripts(path)


def ctm_of(gaps: list[float]) -> str:
    """Words of a second each, with these pauses before them."""
    lines, now = [], 0.0
    for gap in gaps:
        now += gap
        lines.append(f"call A {now:.2f} 1.00 so-called 0.9\n")
        now += 1.0
    return "".join(lines)


def test_warnings_of_a_table_are_few_and_short(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    TALK.save(tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet").drop_columns(["warnings"])
    one = {"name": "noise", "figure": 1.0, "message": "m"}
    for warnings in ([one] * 1000, [{**one, "message": "m" * 10_000}], "noise"):
        pq.write_table(table.append_column("warnings", pa.array([warnings] * len(table))), tmp_path / "b.parquet")
        with pytest.raises(InputError, match="warnings"):
            read_transcripts(tmp_path / "b.parquet")
    wrong = pa.array([[{**one, "figure": "loud"}]] * len(table))
    pq.write_table(table.append_column("warnings", wrong), tmp_path / "c.parquet")
    with pytest.raises(InputError, match="figure"):
        read_transcripts(tmp_path / "c.parquet")


def test_a_long_recording_is_cut_at_its_pauses(tmp_path: Path) -> None:
    (tmp_path / "call.ctm").write_text(ctm_of([0.5] + [0.1] * 9 + [1.2] + [0.1] * 9 + [0.5] + [0.1] * 9 + [0.5]))
    read = read_transcripts(tmp_path / "call.ctm")
    # At 1.2 s; not at .5 s after 11 s, and at .5 s once a segment lasts 15 s.
    assert [len(segment.words) for segment in read] == [20, 40, 2]
    assert {segment.utt for segment in read} == {"call"}
    read.save(tmp_path / "call.txt")
    assert len((tmp_path / "call.txt").read_text().splitlines()) == 3


def test_a_short_utterance_stays_one(tmp_path: Path) -> None:
    (tmp_path / "call.ctm").write_text(ctm_of([0.0, 5.0, 5.0]))
    assert len(read_transcripts(tmp_path / "call.ctm")) == 1


def whisper_json(times: list[list[float]]) -> str:
    segments = [
        {
            "start": starts[0], "end": starts[-1] + 0.2, "text": " w" * len(starts), "avg_logprob": -0.1,
            "words": [{"word": " w", "start": at, "end": at + 0.2, "probability": 0.5} for at in starts],
        }
        for starts in times
    ]  # fmt: skip
    return json.dumps({"text": "", "segments": segments})


def test_segments_of_whisper_are_kept(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(whisper_json([[0.0, 0.2], [0.5, 0.7, 5.0], [5.3]]))
    read = read_transcripts(tmp_path / "talk.json")
    assert [len(segment.words) for segment in read] == [2, 3, 1]
    read.save(tmp_path / "talk.srt")
    assert (tmp_path / "talk.srt").read_text().count("-->") == 4  # none goes over the end of a segment


def test_a_page_of_uncalibrated_confidences_expects_no_errors(tmp_path: Path) -> None:
    (tmp_path / "talk.json").write_text(whisper_json([[0.0, 0.2]]))
    for name in ("talk.html", "again.json", "again.html"):
        source = "again.json" if name == "again.html" else "talk.json"
        convert_transcripts(transcript_sources(tmp_path / source), tmp_path / name)
    for name in ("talk.html", "again.html"):
        assert page_data((tmp_path / name).read_text())["about"]["calibrated"] is False
    with TranscriptWriter(tmp_path / "ours.html") as writer:
        writer.add(TALK)
    assert "calibrated" not in page_data((tmp_path / "ours.html").read_text())["about"]


def test_several_files_keep_what_is_known_about_them(tmp_path: Path) -> None:
    for name, model in (("a", "m"), ("b", "n")):
        about = {"file": f"{name}.wav", "duration": 2.0, "recognizers": [{"name": "r"}], "models": [model]}
        with TranscriptWriter(tmp_path / f"{name}.json", about=about) as writer:
            writer.add([Transcript(name, (Word("w", "w", 0.0, 1.0, 0.5),))])
    (tmp_path / "c.ctm").write_text("c 1 0 1 w 0.5\n")
    ours = [tmp_path / "a.json", tmp_path / "b.json"]
    for out, paths in (("ours.json", ours), ("all.json", [*ours, tmp_path / "c.ctm"])):
        convert_transcripts(transcript_sources(paths), tmp_path / out)
    known = json.loads((tmp_path / "ours.json").read_text())
    assert known["files"] == ["a.wav", "b.wav"]
    assert (known["models"], known["recognizers"]) == (["m", "n"], [{"name": "r"}])
    assert not {"duration", "file"} & known.keys()
    assert "calibrated" not in known
    everything = json.loads((tmp_path / "all.json").read_text())
    assert everything["files"] == ["a.wav", "b.wav"]
    assert everything["calibrated"] is False
