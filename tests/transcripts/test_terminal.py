"""Segments on a terminal: time stamps, marks, alternatives, wrapped lines."""

from __future__ import annotations

import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.helpers.transcripts import transcripts as made
from wordtrust.transcripts.terminal import SegmentView
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Alternative, Word, clock, percent, spelled

OTHERS = tuple(Alternative(word, sure) for word, sure in (("sat", 0.31), ("set", 0.12), ("seat", 0.05), ("it", 0.02)))
EXAMPLE = Transcript(
    "talk",
    (
        Word("I'll", "i'll", 3.25, 3.5, 0.95),
        Word("Sit", "sit", 3.5, 3.7, 0.43, OTHERS),
        Word("there.", "there", 3.7, 4, 0.6, (Alternative("here.", 0.3),)),
        Word("Ok", "ok", 4, 4.2, 0.2),
    ),
)


def printed(transcript: Transcript, *, width: int = 80, colour: bool = False, under: float = 0.5) -> str:
    out = io.StringIO()
    terminal = {"force_terminal": True, "color_system": "standard", "no_color": False} if colour else {}
    Console(file=out, width=width, legacy_windows=False, **terminal).print(SegmentView(transcript.words, under))  # type: ignore[arg-type]
    return out.getvalue()


def test_marks_and_alternatives() -> None:
    assert printed(EXAMPLE) == (
        "[0:03.2] I'll [?Sit] [there.] [?Ok]\n         ↳ ?Sit 43%: sat 31%, set 12%, seat 5%\n         ↳ ?Ok 20%\n"
    )
    assert "         ↳ there. 60%: here. 30%\n" in printed(EXAMPLE, under=0.9)
    assert printed(Transcript("talk", ())) == "(no words)\n"


def test_colours_only_in_a_terminal() -> None:
    assert "\x1b" not in printed(EXAMPLE)
    coloured = printed(EXAMPLE, colour=True)
    assert "\x1b[1;31m[?Sit]" in coloured
    assert "\x1b[33m[there.]" in coloured


def test_lines_wrap_beside_the_time_stamp() -> None:
    assert printed(EXAMPLE, width=26).splitlines() == [
        "[0:03.2] I'll [?Sit]",
        "         [there.] [?Ok]",
        "         ↳ ?Sit 43%: sat",
        "           31%, set 12%,",
        "           seat 5%",
        "         ↳ ?Ok 20%",
    ]


def test_files_and_other_programs_get_whole_lines() -> None:
    long = Transcript("talk", EXAMPLE.words * 20)
    out = io.StringIO()
    Console(file=out, width=80, soft_wrap=True).print(SegmentView(long.words))
    first, *notes = out.getvalue().splitlines()
    assert first == "[0:03.2] " + " ".join(["I'll [?Sit] [there.] [?Ok]"] * 20)
    assert notes == ["         ↳ ?Sit 43%: sat 31%, set 12%, seat 5%", "         ↳ ?Ok 20%"] * 20


def test_where_there_is_no_unicode() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, "ascii")
    Console(file=out, width=80).print(SegmentView(EXAMPLE.words))
    out.flush()
    assert b"\n         -> ?Ok 20%\n" in raw.getvalue()


@given(made())
def test_words_cannot_act(transcript: Transcript) -> None:
    shown = printed(transcript, width=10**6)
    assert not [c for c in shown if c != "\n" and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    doubtful = sum(word.confidence < 0.5 for word in transcript.words)
    assert shown.count("\n") == 1 + doubtful
    assert len(spelled(transcript.words)) == len(transcript.words)


@pytest.mark.parametrize(
    ("seconds", "shown", "tenths"),
    [(0, "0:00", "0:00.0"), (3.2, "0:03", "0:03.2"), (59.999, "0:59", "0:59.9"), (760, "12:40", "12:40.0"),
     (3723.45, "1:02:03", "1:02:03.4"), (-0.5, "0:00", "0:00.0"), (0.3 * 3, "0:00", "0:00.9")],
)  # fmt: skip
def test_clock(seconds: float, shown: str, tenths: str) -> None:
    assert (clock(seconds), clock(seconds, tenths=True)) == (shown, tenths)


def test_a_word_that_is_less_sure_than_its_alternative_says_why() -> None:
    word = Word("indeed", "indeed", 0.0, 0.5, 0.4, (Alternative("evening", 0.45), Alternative("end", 0.1)))
    note = '?indeed 40%: evening 45%, end 10% ("evening" is surer by itself, but not in the sequence)'
    assert note in printed(Transcript("talk", (word,)), width=200)
    assert "surer_alternative" in Transcript("talk", (word,)).to_dict()["words"][0]
    assert "surer by itself" in Transcript("talk", (word,))._repr_html_()
    assert not any("surer_alternative" in word for word in EXAMPLE.to_dict()["words"])


@given(st.floats(0, 1), st.integers(1, 100))
def test_what_is_shown_as_a_percentage_is_not_under_it(confidence: float, limit: int) -> None:
    if confidence < limit / 100 - 1e-9:
        assert int(percent(confidence)[:-1]) < limit
    assert percent(limit / 100) == f"{limit}%"
