"""Words in another spelling: what counts as the same, what does not, and that the quick search misses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.errors import InputError, OptionError
from wordtrust.formats.nbest.from_python import from_nbest
from wordtrust.formats.references import Reference, References
from wordtrust.lattices.lattice import Ints, Origin
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.text import DEFAULT, spell_number
from wordtrust.lattices.vocabulary import Vocabulary
from wordtrust.networks.build_store import BuildOptions, build_networks
from wordtrust.networks.equivalents import ALL, KINDS, NONE, Equate, candidates, word_table
from wordtrust.networks.equivalents import alternatives as module
from wordtrust.networks.equivalents.candidates import Candidates
from wordtrust.networks.equivalents.classes import classes_of
from wordtrust.networks.equivalents.number_words import number_readings
from wordtrust.networks.equivalents.readings import for_kinds
from wordtrust.networks.equivalents.spelling import american
from wordtrust.networks.hwcn import build
from wordtrust.networks.labels import score_paths
from wordtrust.networks.oracle import oracle_paths
from wordtrust.networks.reference_words import ReferenceWords

SAME = [
    # numbers
    ("six", "6"), ("twenty one", "21"), ("twenty-first", "21st"), ("the second", "the 2nd"), ("twentieth", "20th"),
    ("nineteen eighty four", "1984"), ("nineteen oh four", "1904"), ("two thousand and ten", "2010"),
    ("twenty ten", "2010"), ("nineteen hundred", "1900"), ("one thousand", "1,000"), ("a thousand", "1000"),
    ("one hundred and five", "105"), ("one hundred five", "105"), ("four two seven", "427"), ("four oh two", "402"),
    ("three point five", "3.5"), ("three point five percent", "3.5%"), ("five per cent", "5%"),
    ("five dollars", "$5"), ("one dollar", "$1"), ("five million dollars", "$5 million"),
    ("three dollars fifty", "$3.50"),
    ("twenty pounds", "£20"), ("ten thirty", "10:30"), ("ten o'clock", "10:00"), ("ten oh five", "10:05"),
    ("may fifth", "May 5"), ("the fifth of may", "5 May"), ("the nineteen eighties", "the 1980s"), ("a half", "½"),
    ("fifty kilometres", "50km"), ("zero", "0"), ("twenty two", "20 2"), ("1984", "19 84"),
    ("twelve million three hundred forty five thousand six hundred seventy eight", "12,345,678"),
    # compounds and hyphens
    ("goodbye", "good bye"), ("goodbye", "good-bye"), ("nevertheless", "never the less"), ("email", "e-mail"),
    ("u.s.a.", "USA"), ("tv", "t.v."), ("xray", "x-ray"), ("phd", "Ph.D."), ("overall", "over all"),
    # apostrophes
    ("oclock", "o'clock"), ("dont", "don't"), ("obrien", "O'Brien"),
    # spelling
    ("colour", "color"), ("neighbourhood's", "neighborhood's"), ("organisation", "organization"),
    ("analysed", "analyzed"), ("centre", "center"), ("kilometres", "kilometers"), ("travelling", "traveling"),
    ("fulfil", "fulfill"), ("defence", "defense"), ("dialogue", "dialog"), ("anaemia", "anemia"), ("grey", "gray"),
    # contractions, titles, abbreviations
    ("i'm", "I am"), ("going to", "gonna"), ("won't", "will not"), ("it's", "it is"), ("it's", "it has"),
    ("couldn't", "could not"), ("mr", "mister"), ("okay", "OK"), ("saint", "St."), ("street", "St."),
    ("them", "'em"), ("all right", "alright"), ("rock and roll", "rock & roll"),
]  # fmt: skip
MET = """
6 six 21 twenty one 3 5 may fifth good bye goodbye i i'm am its it's is o'clock us u s two 20 1000 1 000 million $5
five dollars point
""".split()
OTHER = [
    ("its", "it's"), ("were", "we're"), ("well", "we'll"), ("dogs", "dog's"), ("away", "a way"), ("it", "I T"),
    ("the", "t he"), ("moved", "move d"), ("killed", "kill ed"), ("against", "again st"), ("theme", "t he me"),
    ("six", "7"), ("twenty one", "22"), ("twenty", "21"), ("thirty five", "3.5"), ("prise", "prize"), ("four", "for"),
    ("towards", "toward"), ("learnt", "learned"), ("hour", "hor"), ("fifth", "5"), ("rows", "rose"),
    ("five dollars", "$6"), ("may fifth", "June 5"), ("lets", "let's"), ("nineteen eighty four", "1985"),
]  # fmt: skip


def errors(reference: str, *hypotheses: str, equate: Equate = ALL) -> int:
    """Fewest errors of any hypothesis."""
    batch = from_nbest([(text, -1.0 - index) for index, text in enumerate(hypotheses)])
    said = ReferenceWords.of([DEFAULT.words(reference)], batch, equate)
    return score_paths(batch, oracle_paths(batch, said), said).errors


def test_kernels_hash_with_the_secret_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that another process compiled, with another secret, must not find other words."""
    before = word_table._hashes(["goodbye"])[0]
    secret = np.array([0x5851F42D4C957F2D, 0x14057B7EF767814F], np.uint64)
    for used_by in (word_table, candidates):
        monkeypatch.setattr(used_by, "SECRET", secret)
    table_for = cache(word_table.table_for.__wrapped__)  # with hashes of its own
    monkeypatch.setattr(candidates, "table_for", table_for)
    assert word_table._hashes(["goodbye"])[0] != before
    assert errors("goodbye", "good bye") == errors("good bye", "goodbye") == 0


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_both_directions(one: str, other: str) -> None:
    assert errors(one, other) == errors(other, one) == 0
    assert errors(f"so {one} then", f"so {other} then") == 0
    assert errors(one, other, equate=NONE) > 0


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_not_the_same(one: str, other: str) -> None:
    assert errors(one, other) > 0
    assert errors(other, one) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_can_be_had_alone(kind: str) -> None:
    pairs = {"numbers": ("six", "6"), "compounds": ("good bye", "goodbye"), "apostrophes": ("oclock", "o'clock"),
             "spelling": ("colour", "color"), "contractions": ("i'm", "i am")}  # fmt: skip
    wrong = {name for name, pair in pairs.items() if errors(*pair, equate=Equate.of([kind]))}
    assert wrong == set(KINDS) - {kind}


def test_all_numbers_are_read_as_they_are_spelled() -> None:
    for number in [*range(200), 999, 1000, 1001, 110_000, 2_000_017]:
        assert tuple(spell_number(str(number))) in number_readings(str(number))
    assert number_readings("007") == (("zero", "zero", "seven"),)
    assert number_readings("9" * 30) == number_readings("4x4") == ()


def test_american_spelling_stays() -> None:
    words = "color center traveler organize analyze four hour our promise wise acre genre dialog license".split()
    assert [american(word) for word in words] == words


@given(st.lists(st.sampled_from(MET), max_size=5), st.lists(st.sampled_from(MET), max_size=6))
def test_the_quick_search_misses_nothing(reference: list[str], hypothesis: list[str]) -> None:
    batch = from_nbest([(" ".join(hypothesis) or "x", -1.0)])
    quick = ReferenceWords.of([reference], batch, ALL).alternatives

    def everywhere(references: Sequence[Sequence[str]], ids: Ints, *_: object, **__: object) -> Candidates:
        known = for_kinds(ALL)
        is_open = np.array([bool(known.of(word)) for word in batch.vocabulary.strings])
        return Candidates(np.full(len(ids), 7, np.uint8), is_open)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "find_candidates", everywhere)
        whole = ReferenceWords.of([reference], batch, ALL).alternatives
    for name in ("offsets", "source", "target", "word", "states"):
        assert getattr(quick, name).tolist() == getattr(whole, name).tolist()


def test_labels_are_right_for_either_spelling_and_networks_have_one_arc_for_both() -> None:
    lattices = from_nbest([("we met 6 dogs", -1.0), ("we met six dogs", -1.1), ("we met sick dogs", -1.2)])
    references = References([Reference("utterance-1", "", ("we", "met", "six", "dogs"))])
    lenient = build_networks(lattices, BuildOptions(references=references))
    strict = build_networks(lattices, BuildOptions(references=references, equate=NONE))
    assert lenient.word.size == strict.word.size - 1
    assert dict(zip(lenient[0].words, lenient.extra["label"].tolist(), strict=True)) == {
        "we": 1, "met": 1, "6": 1, "dogs": 1, "sick": 0,
    }  # fmt: skip
    assert lenient.posterior is not None
    assert strict.posterior is not None
    at = lenient[0].words.index("6")
    both = strict.posterior[[strict[0].words.index("6"), strict[0].words.index("six")]].sum()
    assert lenient.posterior[at] == pytest.approx(both)
    assert strict.extra["label"][strict[0].words.index("6")] == 0
    assert (lenient.origin.equate, strict.origin.equate) == (",".join(KINDS), "")


def test_networks_are_the_same_where_no_two_words_count_as_the_same() -> None:
    lattices = from_nbest([("we met sick dogs", -1.0), ("we met six dogs", -1.1)])
    assert build(lattices, equate=ALL).lattices[0].equals(build(lattices).lattices[0])


def test_the_word_of_the_1_best_stays() -> None:
    lattices = from_nbest([("six dogs", -1.0), ("6 dogs", -1.1), ("6 dogs.", -1.2), ("6 frogs", -1.3)])
    assert [text for text in build(lattices, equate=ALL).lattices[0].words if text in ("6", "six")] == ["six"]
    picked = build(lattices, equate=ALL).lattices
    assert one_best(picked).arcs.tolist() == [picked[0].words.index("six"), picked[0].words.index("dogs")]


def test_classes_are_of_single_words() -> None:
    words = Vocabulary("6 six twenty one 21 colour color sick it's st saint".split())
    classes = classes_of(np.arange(len(words)), words, ALL)
    assert classes is not None
    assert classes[0] == 0
    same = {
        (words[one], words[other])
        for one in range(len(words))
        for other in range(one + 1, len(words))
        if classes[one] == classes[other]
    }
    assert same == {("6", "six"), ("colour", "color")}
    assert classes_of(np.array([words.id("six"), words.id("sick")]), words, ALL) is None


def test_words_that_a_vocabulary_gets_later_are_known_too() -> None:
    words = Vocabulary(["six"])
    assert classes_of(np.array([1]), words, ALL) is None
    words.id("6")
    classes = classes_of(np.array([1, 2]), words, ALL)
    assert classes is not None
    assert classes[1] == classes[2] > 0


def test_a_table_that_is_too_large_begins_anew() -> None:
    words = Vocabulary("six 6 sick".split())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_table, "_MOST_WORDS", 2)
        for _ in range(3):
            classes = classes_of(np.arange(4), words, Equate.parse("numbers"))
            assert classes is not None
            assert classes[1] == classes[2] != classes[3]


def test_what_can_be_said() -> None:
    assert Equate.parse("all") == ALL
    assert Equate.parse("none") == NONE
    assert str(Equate.parse("spelling, numbers")) == "numbers,spelling"
    with pytest.raises(OptionError, match="'nubmers' cannot be equated"):
        Equate.parse("nubmers")
    with pytest.raises(InputError, match="not known"):
        Equate.of_networks(Origin(equate="rhymes"))
