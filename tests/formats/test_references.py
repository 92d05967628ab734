"""Reading references: four kinds of file, what is settled about each, and every way they can be wrong."""

from __future__ import annotations

import contextlib
import gzip
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.shared import SHARED, needs_shared
from wordtrust.base.errors import InputError, OptionError
from wordtrust.formats.references import Reference, References, read_references
from wordtrust.lattices.text import Normalizer


def read(tmp_path: Path, content: str | bytes, name: str = "refs") -> References:
    file = tmp_path / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_references(file)


def texts(references: References) -> dict[str, str]:
    return {utt: reference.text for utt, reference in references.items()}


def test_tsv(tmp_path: Path) -> None:
    references = read(
        tmp_path,
        "utt\tsplit\tspeaker\tduration\taccent\tmood\ttext\n"
        'u1\tdev\ts1\t5.76\tScottish\tgood\t"Stay," she said; "I\'ll go."\n'
        "u2\tdev\t\t\t\t\t\n",
    )
    assert references["u1"] == Reference(
        utt="u1",
        text='"Stay," she said; "I\'ll go."',
        words=("stay", "she", "said", "i'll", "go"),
        speaker="s1",
        split="dev",
        duration=5.76,
        accent="Scottish",
    )
    assert references["u2"] == Reference("u2", "", (), split="dev")
    assert [references[utt].speaker_or_utt for utt in references] == ["s1", "u2"]
    assert repr(references).endswith("2 utterances, 5 words>")


def test_tsv_with_two_columns_in_any_order_and_case(tmp_path: Path) -> None:
    assert texts(read(tmp_path, "Text\tUtt\r\nhello world\tu1\r\n")) == {"u1": "hello world"}


def test_kaldi_text(tmp_path: Path) -> None:
    references = read(tmp_path, "u1 HELLO  <noise> World\n\nu2\nu3\tof a tab\n")
    assert texts(references) == {"u1": "HELLO  <noise> World", "u2": "", "u3": "of a tab"}
    assert references["u1"].words == ("hello", "world")


def test_packed_marked_and_by_content_not_by_name(tmp_path: Path) -> None:
    packed = gzip.compress(b"\xef\xbb\xbfutt\ttext\nu1\tnaive\n", mtime=0)
    assert texts(read(tmp_path, packed, "odd.name")) == {"u1": "naive"}


STM = """;; CATEGORY "0" "" ""
call A alice 10.0 12.5 <o,f0,female> second part
call A alice 2.00 5.25 <o,f0,female> FIRST part
call A inter_segment_gap 5.25 10.0 <o,,>
"""


def test_stm_segments_join_in_order(tmp_path: Path) -> None:
    reference = read(tmp_path, STM)["call"]
    assert reference.text == "FIRST part second part"
    assert (reference.speaker, reference.duration) == ("alice", 12.5)


def test_stm_channels_and_speakers(tmp_path: Path) -> None:
    references = read(
        tmp_path, "call A alice 0 1 yes\ncall B bob 0 1 no\ncall B carol 1 2 maybe\nother 1 dan 0 9 [x] so\n"
    )
    assert texts(references) == {"call-A": "yes", "call-B": "no maybe", "other": "[x] so"}
    assert [reference.speaker for reference in references.values()] == ["alice", None, "dan"]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("{ a / b } c", "a c"),
        ("{a / b} c", "a c"),
        ("x { a { b / c } / d } y", "x a b y"),
        ("{ @ / uh } so", "so"),
        ("(%hesitation) so (you know) it is", "so it is"),
        ("so %hesitation it is 5 %", "so it is 5 %"),
        ("{breath} and/or", "{breath} and/or"),
        ("<unk> said", "<unk> said"),
        ("IGNORE_TIME_SEGMENT_IN_SCORING", ""),
        ("", ""),
    ],
)
def test_what_stm_leaves_open(tmp_path: Path, text: str, spoken: str) -> None:
    assert read(tmp_path, f"file 1 speaker 0.0 1.5 {text}\n")["file"].text == spoken


NLP = """token|speaker|ts|endTs|punctuation|case|tags|wer_tags
Good|0||||UC|[]|[]
morning|0|||,|LC|[]|[]
<crosstalk>|1|||.|LC|[]|[]
U.S|1|||.|CA|[]|['3']
long-term|1||||LC|[]|[]
"""


def test_nlp(tmp_path: Path) -> None:
    """Punctuation belongs to the text, but must not make a word of a mark."""
    reference = read(tmp_path, NLP, "call-7.nlp")["call-7"]
    assert reference.text == "Good morning, <crosstalk> U.S. long-term"
    assert reference.words == ("good", "morning", "u", "s", "long", "term")
    assert (reference.speaker, reference.speaker_or_utt) == (None, "call-7")


def test_nlp_with_one_speaker_packed_and_without_punctuation(tmp_path: Path) -> None:
    packed = gzip.compress(b"token|speaker\r\nyes|ann\r\nno|ann\r\n", mtime=0)
    assert read(tmp_path, packed, "talk.nlp.gz")["talk"] == Reference("talk", "yes no", ("yes", "no"), speaker="ann")


def test_a_folder_of_nlp_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.nlp").write_text(f"token|speaker\n{name}{name}|0\n")
    assert texts(read_references(tmp_path)) == {"a": "aa", "b": "bb"}


def test_another_normaliser(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("u1 Hello 12\n")
    normalizer = Normalizer(lower=False, digits=True)
    assert read_references(tmp_path / "text", normalizer=normalizer)["u1"].words == ("Hello", "twelve")


def test_several_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("u1 one\n")
    (tmp_path / "b").write_text("utt\ttext\nu2\ttwo\n")
    assert texts(read_references(tmp_path / "a", tmp_path / "b")) == {"u1": "one", "u2": "two"}
    (tmp_path / "b").write_text("u1 one\n")
    with pytest.raises(InputError, match=r"b, line 1, utterance u1: .* second time, first in .*a, line 1"):
        read_references(tmp_path / "a", tmp_path / "b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no references in it"),
        (b"\n \n", "no references in it"),
        (b"utt\ttext\n", "no references in it"),
        (b";; only a comment\n", "no references in it"),
        (b"u1 one\nu2 two\nu1 three\n", r"line 3, utterance u1: .*a second time, first in .*line 1"),
        (b"utt\tspeaker\nu1\ts1\n", "line 1: there is no column text among: utt, speaker"),
        (b"id\tspeaker\tsentence\n", "no column utt and no column text among: id, speaker, sentence"),
        (b"utt\ttext\ttext\n", "line 1: the column text appears twice"),
        (b"utt\ttext\nu1\tone\ttwo\n", "line 2, utterance u1: 3 fields where the header has 2. .*one tab"),
        (b"utt\ttext\nu1\n", "line 2, utterance u1: 1 fields"),
        (b"utt\ttext\n\tone\n", "line 2: the utterance has no name"),
        (b"utt\ttext\tduration\nu1\tone\t-3\n", "line 2, utterance u1: the duration is '-3'"),
        (b"utt\ttext\tduration\nu1\tone\tnan\n", "the duration is 'nan'"),
        (b"utt\ttext\tduration\nu1\tone\t1e99\n", "the duration is '1e99'"),
        (b"utt,speaker,text\nu1,s1,one\n", "not separated by tabs"),
        (b"utt text\nu1 one\n", "not separated by tabs"),
        (b'{"utt": "u1"}\n', "looks like JSON"),
        (b"u1 one\nu2 caf\xe9\n", "line 2: byte 0xe9 at column 7 is not UTF-8. .*iconv"),
        ("u1 one\n".encode("utf-16"), "line 1: .*UTF-16 or binary"),
        (b"u1 \0one\n", "line 1: .*UTF-16 or binary"),
        (b"f 1 s 0 1 a { b / c\n", "line 1, utterance f: there is a { without a }"),
        (b"f 1 s 0 1 a } b\n", "line 1, utterance f: there is a } without a {"),
        (b"f 1 s 2.0 1.0 a\n", "line 1, utterance f: the times of this segment are '2.0' and '1.0'"),
        (b"token|speaker\nyes|0\nno\n", r"line 3, utterance refs: 1 fields where the header has 2\. .*one \|"),
        (b"token|speaker\na|b|0\n", "line 2, utterance refs: 3 fields"),
        (gzip.compress(b"u1 one\n" * 9, mtime=0)[:-12], "cut off or damaged"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, content)


def test_bad_stm_lines_where_the_name_says_stm(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"line 2, utterance f: the times .* '' and ''. An STM line is: file channel"
    ):
        read(tmp_path, "f 1 s 0 1 a\nf 1 s\n", "a.stm")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_references(tmp_path / "nowhere.tsv")


pieces = st.sampled_from([*b"utt text token| | \t \n 1.5 { / } ( %a \xff ;; <o>".split(b" "), b" "])


@given(st.lists(pieces, max_size=40).map(b"".join) | st.binary(max_size=60))
def test_nothing_but_our_own_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any"
    file.write_bytes(content)
    with contextlib.suppress(InputError):
        assert len(read_references(file)) > 0


names = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
sentences = st.text(st.characters(exclude_characters="\t\n\r\0", exclude_categories=["C", "Zl", "Zp"]), max_size=30)


@given(st.dictionaries(names, sentences, min_size=1, max_size=5))
def test_every_text_survives_a_table(tmp_path_factory: pytest.TempPathFactory, wanted: dict[str, str]) -> None:
    file = tmp_path_factory.getbasetemp() / "table"
    file.write_text("utt\ttext\n" + "".join(f"{utt}\t{text}\n" for utt, text in wanted.items()), encoding="utf-8")
    assert texts(read_references(file)) == {utt: text.strip() for utt, text in wanted.items()}


def test_splits() -> None:
    splits = {"u1": "dev", "u2": "dev", "u3": "eval"}
    references = References([Reference(utt, "a", ("a",), split=split) for utt, split in splits.items()], "refs.tsv")
    assert list(references.of_split("dev")) == ["u1", "u2"]
    with pytest.raises(OptionError, match=r"refs\.tsv has no split 'test', but: dev, eval"):
        references.of_split("test")


@needs_shared
def test_real_references() -> None:
    references = read_references(SHARED / "refs.tsv")
    assert Counter(reference.split for reference in references.values()) == {"train": 4241, "dev": 930, "eval": 920}
    assert sum(reference.text.startswith('"') for reference in references.values()) == 41
    assert len({reference.speaker for reference in references.of_split("eval").values()}) == 249
    assert all(reference.words and reference.duration for reference in references.values())


def test_the_words_of_a_recognizer_are_no_references(tmp_path: Path) -> None:
    (tmp_path / "hyp.ctm").write_text("2347 A 0.05 0.24 THEY 0.9\n2347 A 0.29 0.10 SAY\n")
    with pytest.raises(InputError, match=r"looks like CTM, a recognizer's words, .* are the two swapped"):
        read_references(tmp_path / "hyp.ctm")
    (tmp_path / "text").write_bytes("u1 你好\n".encode("gb18030"))
    with pytest.raises(InputError, match=r"not UTF-8.*Chinese: -f gb18030"):
        read_references(tmp_path / "text")
