"""Transcripts: what is in them, against hand-worked numbers and a plain sweep; what they look like."""

from __future__ import annotations

import io
import json
import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.helpers.html_page import HtmlPage
from tests.helpers.reading import read_bytes
from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.strategies import assembled, batch_of, lattices
from tests.helpers.transcripts import transcripts as made
from wordtrust.base.errors import OptionError
from wordtrust.base.problems import Problems
from wordtrust.formats.ctm import FORMAT as CTM
from wordtrust.lattices.assemble import Builder, RawLattice, Tokens
from wordtrust.lattices.lattice import Lattice, Origin, concatenate
from wordtrust.lattices.paths import Paths, best_confidence, one_best
from wordtrust.lattices.text import JOINER, Normalizer, join_surfaces
from wordtrust.networks.word_confidence import word_confidence
from wordtrust.transcripts.transcript import Transcript, transcripts
from wordtrust.transcripts.words import Alternative, Word

SIT = Word("Sit", "sit", 0.3, 0.68, 0.43, (Alternative("seat", 0.3), Alternative("<b>", 0.02)))
EXAMPLE = Transcript("u1", (Word("I'll", "i'll", 0, 0.3, 0.95), SIT, Word("there.", "there", 0.68, 0.94, 0.6)))


def simmer() -> Lattice:
    """`I'll sit there` beside `simmer`, in seconds; `sit` and `seat` come twice, with different ends."""
    return assembled(
        "simmer",
        time=[0, 0.3, 0.6, 0.68, 0.94],
        ends=[(0, 1), (0, 1), (1, 3), (1, 3), (1, 2), (1, 4), (2, 4), (3, 4), (3, 4), (3, 4)],
        tokens=["I'll", "aisle", "sit", "seat", "sit", "simmer", "<sil>", "there", "here", "<sil>"],
        posterior=[0.9, 0.1, 0.5, 0.1, 0.2, 0.2, 0.2, 0.4, 0.15, 0.05],
    )


def transcribed(lattice: Lattice, confidence: list[float] | None = None, most: int = 5) -> Transcript:
    batch = lattice.batch()
    assert batch.posterior is not None
    sure = batch.posterior if confidence is None else np.array(confidence)
    return transcripts(batch, sure, best_confidence(batch, sure), alternatives=most)[0]


def test_words_and_alternatives_of_the_example() -> None:
    found = transcribed(simmer())
    assert found.utt == "simmer"
    assert found.text == "I'll sit"  # the best mean: .9 and .5, over silence
    first, second = found.words
    assert (first.word, first.norm, first.start, first.end) == ("I'll", "i'll", 0.0, 0.3)
    assert second.confidence == pytest.approx(0.7)  # .5 + .2 at 0.3 s
    # `simmer` covers all of `sit`; `there` begins where it ends; silence is not listed.
    assert [other.word for other in second.alternatives] == ["simmer", "seat"]
    assert [other.confidence for other in second.alternatives] == pytest.approx([0.2, 0.1])
    assert found.mean_confidence == pytest.approx(0.8)
    assert found.confidence == pytest.approx(0.9 * 0.7)


@pytest.mark.parametrize(("begin", "expected"), [(0.5, []), (0.49, [0.3]), (0.0, [0.3])])
def test_half_of_the_shorter_is_not_enough(begin: float, expected: list[float]) -> None:
    # `a` from 0 to 1, `b` from `begin` to 1.5
    lattice = assembled(
        "u", time=[0, begin, 1, 1.5], ends=[(0, 2), (0, 1), (1, 3), (2, 3)], tokens=["a", "<sil>", "b", "<sil>"],
        posterior=[0.7, 0.3, 0.3, 0.7],
    )  # fmt: skip
    found = transcribed(lattice)
    assert found.text == "a"
    assert [other.confidence for other in found.words[0].alternatives] == pytest.approx(expected)


@pytest.mark.parametrize(("begin", "end", "expected"), [(0.4, 0.6, 0.5), (0.6, 0.6, 0.3)])
def test_segmentations_of_an_alternative_add_up_where_they_meet(begin: float, end: float, expected: float) -> None:
    # `a` from 0 to 1; `b` from 0 to `end`, and from `begin` to 1
    lattice = assembled(
        "u", time=[0, begin, end, 1], ends=[(0, 3), (0, 2), (2, 3), (0, 1), (1, 3)],
        tokens=["a", "b", "<sil>", "<sil>", "b"], posterior=[0.5, 0.3, 0.3, 0.2, 0.2],
    )  # fmt: skip
    found = transcribed(lattice)
    assert found.text == "a"
    assert [other.confidence for other in found.words[0].alternatives] == pytest.approx([expected])


def plain_alternatives(lattice: Lattice, confidence: list[float], arc: int) -> dict[str, float]:
    """Word by word, instant by instant."""
    start, end = lattice.time[lattice.source].tolist(), lattice.time[lattice.target].tolist()

    def overlaps(other: int) -> bool:
        shared = min(end[other], end[arc]) - max(start[other], start[arc])
        return bool(shared > 0 and shared > 0.5 * min(end[other] - start[other], end[arc] - start[arc]) + 5e-7)

    found = {}
    near = [k for k in range(lattice.arcs) if lattice.words[k] and overlaps(k)]
    instants = [t for t in sorted({*start, *end}) if start[arc] <= t < end[arc]]
    for word in {lattice.words[k] for k in near} - {lattice.words[arc]}:
        same = [k for k in near if lattice.words[k] == word]
        sums = [sum(confidence[k] for k in same if start[k] <= t < end[k]) for t in instants]
        if max(sums) >= 0.01:
            found[word] = min(1.0, max(sums))
    return found


@given(
    lattices(words=("I", "will", "Sit", "there.", "<sil>"), score_sets=(("posterior",),), max_arcs=30),
    st.integers(0, 4),
)
def test_words_and_alternatives_against_a_plain_sweep(lattice: Lattice, most: int) -> None:
    assert lattice.posterior is not None
    confidence = lattice.posterior.astype(float) / 3
    paths = one_best(lattice.batch())
    shown = word_confidence(lattice.batch(), confidence, paths)
    found = transcripts(lattice.batch(), confidence, paths, alternatives=most)[0]
    arcs = [(arc, sure) for arc, sure in zip(paths.arcs.tolist(), shown.tolist(), strict=True) if lattice.word[arc]]
    assert found.text == join_surfaces(lattice.surfaces[arc] for arc, _ in arcs)
    for word, (arc, sure) in zip(found.words, arcs, strict=True):
        times = lattice.time[lattice.source[arc]], lattice.time[lattice.target[arc]]
        assert (word.norm, word.start, word.end) == (lattice.words[arc], *times)
        assert word.confidence == sure
        expected = plain_alternatives(lattice, confidence.tolist(), arc)
        sums = [other.confidence for other in word.alternatives]
        assert sums == pytest.approx(sorted(expected.values(), reverse=True)[:most])
        norms = [Normalizer()(other.word) for other in word.alternatives]
        assert len(set(norms)) == len(norms)
        assert sums == pytest.approx([expected[norm] for norm in norms])


@given(st.lists(lattices(score_sets=(("posterior",),)), min_size=1, max_size=4))
def test_a_batch_is_its_utterances(parts: list[Lattice]) -> None:
    batch = batch_of(*parts)
    assert batch.posterior is not None
    found = transcripts(batch, batch.posterior, one_best(batch))
    alone = [transcripts(each.batch(), each.posterior, one_best(each.batch()))[0] for each in parts]  # type: ignore[arg-type]
    assert found == alone


def test_the_surest_spelling_of_an_alternative_is_shown() -> None:
    lattice = assembled(
        "u", time=[0, 0.1, 1], ends=[(0, 2), (0, 2), (0, 1), (1, 2)], tokens=["yes", "no", "<sil>", "No!"],
        posterior=[0.5, 0.2, 0.3, 0.3],
    )  # fmt: skip
    assert transcribed(lattice).words[0].alternatives == (Alternative("No!", pytest.approx(0.5)),)  # type: ignore[arg-type]


def test_no_more_alternatives_than_asked_for_and_none_that_are_hopeless() -> None:
    tokens = [f"w{letter}" for letter in "abcdefgh"]
    sure = [0.4, 0.001, 0.05, 0.02, 0.3, 0.01, 0.1, 0.0]
    lattice = assembled("u", time=[0, 1], ends=[(0, 1)] * 8, tokens=tokens, posterior=sure)
    said = {
        most: [other.word for other in transcribed(lattice, sure, most).words[0].alternatives] for most in (0, 2, 9)
    }
    assert said == {0: [], 2: ["we", "wg"], 9: ["we", "wg", "wc", "wd", "wf"]}


def test_no_confidence_is_over_one() -> None:
    lattice = assembled(
        "u", time=[0, 0.5, 1], ends=[(0, 2), (0, 2), (0, 1), (1, 2), (0, 1), (1, 2)], tokens=list("bcbbac"),
        posterior=[0.5] * 6,
    )  # fmt: skip
    batch = lattice.batch()
    paths = Paths(np.array([0, 2]), np.array([lattice.words.index("a"), lattice.arcs - 1], np.int32))
    said = transcripts(batch, np.full(6, 0.8), paths)[0].words
    assert [(word.norm, word.confidence) for word in said] == [("a", 0.8), ("c", 1.0)]
    assert [[(other.word, other.confidence) for other in word.alternatives] for word in said] == [
        [("b", 1.0), ("c", 0.8)],
        [("b", 1.0)],
    ]


def test_many_arcs_with_one_word_take_no_time() -> None:
    """All pairs of 300 nodes: the sums of each instant are not made anew for each arc."""
    ends = [(a, b) for a in range(300) for b in range(a + 1, 300)]
    tokens = ["a" if b == a + 1 else "b" for a, b in ends]
    lattice = assembled("u", time=np.arange(300) / 10, ends=ends, tokens=tokens, posterior=np.full(len(ends), 1e-4))
    path = np.flatnonzero(lattice.target == lattice.source + 1).astype(np.int32)
    found = transcripts(lattice.batch(), np.full(len(ends), 1e-4), Paths(np.array([0, 299]), path))[0]
    # Word 3 lies between node 3 and 4: 4 nodes before it times 296 after it, less the word itself.
    assert found.words[150].alternatives == (Alternative("b", 1.0),)
    assert found.words[3].alternatives[0].confidence == pytest.approx((4 * 296 - 1) * 1e-4)


def test_no_utterances_and_no_words() -> None:
    lattice = assembled("u", time=[0, 1], ends=[(0, 1)], tokens=["<sil>"], posterior=[1.0])
    assert transcripts(lattice.batch()[:0], np.zeros(0), one_best(lattice.batch()[:0])) == []
    found = transcribed(lattice, [0.5])
    assert (found.words, found.text, found.confidence) == ((), "", None)
    assert found.to_dict() == {"utt": "u", "text": "", "confidence": None, "mean_confidence": None, "words": []}
    assert found.to_ctm() == ";; u has no words\n"
    assert repr(found) == "<Transcript u: 0 words\n  (no words)>"
    assert "(no words)" in found._repr_html_()


def test_pieces_of_a_token_are_words_that_join() -> None:
    lattice = assembled(
        "u", time=[0, 1, 2], ends=[(0, 1), (1, 2)], tokens=["Middle-earth.", "New\t York"], posterior=[0.5, 1.0]
    )
    found = transcribed(lattice)
    assert [(word.word, word.norm, word.joins_next) for word in found.words] == [
        ("Middle-", "middle", True), ("earth.", "earth", False), ("New", "new", False), ("York", "york", False),
    ]  # fmt: skip
    assert found.text == "Middle-earth. New York"
    assert JOINER not in json.dumps(found.to_dict(), ensure_ascii=False)


def test_a_spelled_number_is_written_as_its_words_where_they_stand_alone() -> None:
    builder = Builder(Tokens(Normalizer(digits=True)), Problems(), origin=Origin("test", "test"))
    raw = RawLattice(
        utt="u", time=[0, 1, 2], source=[0, 1], target=[1, 2], token=["42-year", "5"], start=0, end=2,
        posterior=[0.5, 1.0],
    )  # fmt: skip
    made = list(builder.add(raw))
    found = transcribed(concatenate(made + list(builder.flush()))[0], [0.3, 0.95, 0.95, 0.95])
    assert found.text == "42-year 5"
    assert [(word.word, word.norm) for word in found.words] == [
        ("42-", "forty"), ("", "two"), ("year", "year"), ("5", "five"),
    ]  # fmt: skip
    assert found.to_rich().plain == "[?forty] two year 5"
    assert [line.split()[4] for line in found.to_ctm().splitlines()] == ["forty", "two", "year", "5"]


@pytest.mark.parametrize("wrong", [np.nan, -0.1, 1.2, np.inf])
def test_confidences_are_probabilities(wrong: float) -> None:
    with pytest.raises(OptionError, match="not a number from 0 to 1"):
        transcripts(simmer().batch(), np.full(10, wrong), one_best(simmer().batch()))


def test_silence_needs_no_confidence() -> None:
    lattice = simmer()
    sure = np.where(lattice.silence, np.nan, 0.5)
    assert transcripts(lattice.batch(), sure, one_best(lattice.batch()))[0].words


def test_wrong_arguments() -> None:
    paths = one_best(simmer().batch())
    with pytest.raises(ValueError, match="10 arcs, but confidences of the shape"):
        transcripts(simmer().batch(), np.zeros(3), paths)
    with pytest.raises(OptionError, match="number of alternatives is -1"):
        transcripts(simmer().batch(), np.zeros(10), paths, alternatives=-1)
    with pytest.raises(OptionError, match="channel is 'a b'"):
        EXAMPLE.to_ctm("a b")


def test_as_json() -> None:
    third = Transcript("u", (Word("a", "a", 1 / 3, 2 / 3, 2 / 3, (Alternative("B!", 1 / 3),)),))
    assert third.to_dict() == {
        "utt": "u",
        "text": "a",
        "confidence": 0.666667,
        "mean_confidence": 0.666667,
        "words": [
            {
                "word": "a",
                "norm": "a",
                "start": 0.333,
                "end": 0.667,
                "confidence": 0.666667,
                "alternatives": [{"word": "B!", "confidence": 0.333333}],
            }
        ],
    }


GAPPED = Transcript(
    "u2", (Word("a", "a", 0.0, 0.3, 0.9, missing_before=0.01), Word("b", "b", 0.5, 0.8, 0.5, missing_before=0.4)),
    correct=0.3, missing_end=0.25,
)  # fmt: skip


def test_gaps_and_whole_utterances() -> None:
    assert (GAPPED.gaps, GAPPED.confidence, GAPPED.mean_confidence) == ((0.01, 0.4, 0.25), 0.3, 0.7)
    found = GAPPED.to_dict()
    assert [word["missing_before"] for word in found["words"]] == [0.01, 0.4]
    assert (found["missing_end"], found["confidence"], found["mean_confidence"]) == (0.25, 0.3, 0.7)
    assert GAPPED.to_rich().plain == "a [...] [b] [...]"
    assert GAPPED.to_ctm().splitlines() == [
        "u2 1 0.000 0.300 a 0.900000",
        ";; u2 1 0.500 something may be missing here (40%)",
        "u2 1 0.500 0.300 b 0.500000",
        ";; u2 1 0.800 something may be missing here (25%)",
    ]
    assert repr(GAPPED).startswith("<Transcript u2: 2 words, mean confidence 0.70, all right with 30%\n")
    assert GAPPED._repr_html_().count("something may be missing here") == 2
    nothing = Transcript("u3", (), correct=0.6, missing_end=0.5)
    assert (nothing.gaps, nothing.confidence, nothing.mean_confidence) == ((0.5,), 0.6, None)
    assert nothing.to_ctm() == ";; u3 has no words\n;; u3 1 0.000 something may be missing here (50%)\n"


def test_without_a_model_the_words_are_all_that_is_known() -> None:
    assert EXAMPLE.gaps is None
    assert EXAMPLE.confidence == pytest.approx(0.95 * 0.43 * 0.6, abs=1e-6)
    assert "missing_end" not in EXAMPLE.to_dict()
    assert len(read_bytes(CTM, GAPPED.to_ctm().encode(), name="x.ctm")) == 1


def test_gaps_belong_to_their_words() -> None:
    batch = simmer().batch()
    paths, confidence = one_best(batch), np.full(len(batch.word), 0.5)
    words = len(transcripts(batch, confidence, paths)[0].words)
    missing = np.linspace(0.1, 0.9, words + 1)
    found = transcripts(batch, confidence, paths, missing=missing, correct=np.array([0.25]))[0]
    assert found.gaps == tuple(missing.tolist())
    assert found.confidence == 0.25


def test_as_ctm() -> None:
    assert EXAMPLE.to_ctm("A") == (
        "u1 A 0.000 0.300 I'll 0.950000\nu1 A 0.300 0.380 Sit 0.430000\nu1 A 0.680 0.260 there. 0.600000\n"
    )


def test_ctm_does_nothing_to_a_terminal() -> None:
    words = Word("\x1b[31mred", "red", 0, 1, 0.5), Word("\u202eabc", "abc", 1, 2, 0.5)
    assert Transcript("a\x1b[2J b\u202e", words).to_ctm().splitlines() == [
        "a\ufffd[2J_b\ufffd 1 0.000 1.000 \ufffd[31mred 0.500000",
        "a\ufffd[2J_b\ufffd 1 1.000 1.000 \ufffdabc 0.500000",
    ]
    assert Transcript("\x07", ()).to_ctm() == ";; \ufffd has no words\n"


def test_ctm_has_no_negative_times() -> None:
    early = Transcript("u", (Word("a", "a", -0.5, -0.2, 1), Word("b", "b", -0.2, 0.4, 1)))
    assert early.to_ctm() == "u 1 0.000 0.000 a 1.000000\nu 1 0.000 0.400 b 1.000000\n"


@given(made())
def test_each_word_is_a_line_of_ctm_that_our_reader_takes_for_one(transcript: Transcript) -> None:
    assert not [c for c in transcript.to_ctm() if c != "\n" and unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    text = transcript.to_ctm().encode()
    lines = text.removesuffix(b"\n").split(b"\n")
    assert len(lines) == max(1, len(transcript.words))
    found = read_bytes(CTM, text, name="x.ctm")
    assert len(found) == bool(transcript.words)
    if transcript.words:
        assert all(len(line.split()) == 6 and not line.startswith(b";;") for line in lines)
        assert all(b";;" not in line.split()[4] for line in lines)
        assert not {line.split()[4].upper() for line in lines} & {b"<ALT>", b"<ALT_BEGIN>", b"<ALT_END>"}


def test_terminal_view_marks_doubtful_words_without_colour() -> None:
    assert EXAMPLE.to_rich().plain == "I'll [?Sit] [there.]"
    assert [(span.start, span.end, span.style) for span in EXAMPLE.to_rich().spans] == [
        (5, 11, "bold red"),
        (12, 20, "yellow"),
    ]
    assert repr(EXAMPLE) == "<Transcript u1: 3 words, mean confidence 0.66\n  I'll [?Sit] [there.]>"
    assert repr(Transcript("u", EXAMPLE.words[:1])).startswith("<Transcript u: 1 word, mean confidence 0.95\n")


@given(made())
def test_terminal_view_cannot_move_the_cursor(transcript: Transcript) -> None:
    out = io.StringIO()
    Console(file=out, width=10**6).print(transcript.to_rich())
    shown = out.getvalue().removesuffix("\n") + repr(transcript).replace("\n  ", "", 1)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def test_notebook_view() -> None:
    page = HtmlPage(EXAMPLE._repr_html_())
    assert "".join(page.texts) == "u1: 3 words, mean confidence 0.66 (under 50%, under 90%)I'll Sit there."
    titles = [each["title"] for each in page.attributes("span") if "title" in each]
    assert titles[1] == "43% Sit (0.30 to 0.68 s)\nor:\n30% seat\n2% <b>"
    styles = [values["style"] for _, values in page.elements if "style" in values]
    assert [("wavy" in style, "dotted" in style) for style in styles[-3:]] == [
        (False, False), (True, False), (False, True),
    ]  # fmt: skip
    tints = [float(style.split("rgba(")[1].split(")")[0].split(",")[3]) for style in styles[-3:]]
    assert tints == [0.03, 0.34, 0.24]


@given(made())
def test_words_cannot_inject_anything_into_a_page(transcript: Transcript) -> None:
    page = HtmlPage(transcript._repr_html_())
    assert [tag for tag, _ in page.elements] == ["div", "div", "span", "span", "div"] + ["span"] * len(
        transcript.words
    )
    assert {name for _, values in page.elements for name in values} <= {"style", "title", "dir"}
    assert sum("title" in values for _, values in page.elements) == len(transcript.words)
    assert not [c for c in "".join(page.texts) if unicodedata.category(c) in ("Cc", "Cs")]


@needs_shared
def test_on_real_n_best_lists() -> None:
    import wordtrust as wt

    networks = wt.build(wt.read(SHARED / "whisper-base" / "dev.jsonl.gz")[:100]).lattices
    assert networks.posterior is not None
    found = transcripts(networks, networks.posterior, one_best(networks))
    assert [each.text for each in found] == [" ".join(each.text.split()) for each in networks]
    words = [word for each in found for word in each.words]
    assert sum(len(word.alternatives) > 0 for word in words) > 0.2 * len(words)
    assert all(0 <= word.confidence <= 1 for word in words)


def test_calibrated_alternatives_are_sorted_and_leave_room_for_the_word() -> None:
    """A calibrator looks at one score at a time: rivals may get more than what the word leaves, in another order."""
    lattice = assembled("u", time=[0, 1], ends=[(0, 1)] * 3, tokens=list("abc"), posterior=[0.6, 0.3, 0.1])
    curve = {0.6: 0.5, 0.3: 0.4, 0.1: 0.6}
    confidence = np.array([{"a": 0.6, "b": 0.3, "c": 0.1}[word] for word in lattice.words])
    path = Paths(np.array([0, 1]), np.array([lattice.words.index("a")], np.int32))
    show = lambda scores: np.array([curve[round(float(score), 3)] for score in scores])  # noqa: E731
    word = transcripts(lattice.batch(), confidence, path, show=show)[0].words[0]
    assert word.confidence == 0.5
    assert [each.word for each in word.alternatives] == ["c", "b"]
    assert [each.confidence for each in word.alternatives] == pytest.approx([0.3, 0.2])
