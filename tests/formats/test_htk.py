"""HTK lattices: what each field means, in both conventions, worked out by hand."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np
import pytest

import wordtrust.formats as formats
from tests.helpers.shared import SAMPLES, SHARED, needs_shared
from wordtrust.base.problems import Problems
from wordtrust.formats import htk
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.htk.header import utterance_name
from wordtrust.formats.inputs import Stream
from wordtrust.lattices.lattice import Lattice, Lattices, concatenate
from wordtrust.lattices.weights import Scales

Arc = tuple[float, float, str]


def read_all(text: str | bytes, name: str = "folder/some.slf", problems: Problems | None = None) -> Lattices:
    data = text.encode() if isinstance(text, str) else text
    stream = Stream(io.BytesIO(data), name, Path(name))
    return concatenate(htk.read(stream, ReadOptions(), problems or Problems()))


def read_one(text: str | bytes, name: str = "folder/some.slf") -> Lattice:
    (lattice,) = read_all(text, name)
    return lattice


def arcs(lattice: Lattice) -> list[Arc]:
    """Start, end and surface of every arc."""
    return [
        (float(lattice.time[source]), float(lattice.time[target]), surface)
        for source, target, surface in zip(lattice.source, lattice.target, lattice.surfaces, strict=True)
    ]


def scores(lattice: Lattice, name: str) -> list[float]:
    values = getattr(lattice, name)
    assert values is not None
    made: list[float] = values.tolist()
    return made


def simple(header: str = "", links: str = "a=-1", nodes: tuple[str, str, str] = ("t=0", "t=0.5", "t=1")) -> str:
    """Two words in a row, with `links` on both links."""
    listed = "\n".join(f"I={number} {rest}" for number, rest in enumerate(nodes))
    return f"VERSION=1.0\n{header}\nN=3 L=2\n{listed}\nJ=0 S=0 E=1 W=one {links}\nJ=1 S=1 E=2 W=two {links}\n"


def test_words_on_links() -> None:
    lattice = read_one((SAMPLES / "htk" / "links.slf").read_bytes())
    assert lattice.utt == "boat"
    assert arcs(lattice) == [
        (0.0, 0.21, "the"), (0.0, 0.24, "a"), (0.21, 0.8, "boat"), (0.24, 0.8, "boat"), (0.24, 0.8, "boats"),
        (0.8, 1.1, ""),
    ]  # fmt: skip
    assert scores(lattice, "acoustic") == [-210.5, -240.0, -560.25, -541.75, -550.0, -300.0]
    # l + r * prscale / lmscale, so that lmscale times this is what HTK adds up
    assert scores(lattice, "transition") == [-1.25, -2.5 - 0.5 / 2, -4.0, -4.5, -6.0 - 1.0 / 2, 0.0]
    assert lattice.scales == Scales(acoustic=1.0, transition=12.0, word_penalty=-2.5)
    assert lattice.text == "the boat"


def test_words_on_nodes_end_at_their_time() -> None:
    lattice = read_one((SAMPLES / "htk" / "nodes.lat").read_bytes())
    assert lattice.utt == "red-door"
    assert sorted(arcs(lattice)) == [
        (0.0, 0.2, "the"), (0.0, 0.5, "red"), (0.2, 0.5, "read"), (0.2, 0.5, "red"), (0.5, 0.9, "door"),
        (0.5, 0.9, "door"), (0.9, 1.0, ""),
    ]  # fmt: skip
    ten = math.log(10)
    assert sorted(scores(lattice, "acoustic")) == pytest.approx(
        [-33 * ten, -25 * ten, -25 * ten, -20 * ten, -19 * ten, -10 * ten, -3 * ten]
    )
    assert lattice.scales == Scales(transition=8.0)
    assert lattice.posterior is None


def test_words_on_nodes_start_at_their_time() -> None:
    lattice = read_one((SAMPLES / "htk" / "starts.slf").read_bytes())
    assert lattice.utt == "some"
    assert arcs(lattice) == [
        (0.0, 0.12, "!SENT_START"), (0.0, 0.4, "!SENT_START"), (0.12, 0.4, "tell"), (0.12, 0.4, "tell"),
        (0.4, 0.95, "'em"), (0.4, 0.95, "him"),
    ]  # fmt: skip
    assert lattice.words == ("", "", "tell", "tell", "em", "him")
    assert scores(lattice, "acoustic") == pytest.approx([-30, -43440.208826, -90.125, -90.125, -200.5, -201.25])
    assert scores(lattice, "posterior") == pytest.approx([1, 0, 0.6, 0.4, 0.6, 0.4])
    assert lattice.transition is None
    assert lattice.text == "tell 'em"  # the link that could not be scored is kept, and on no good path


def test_dir_b_is_the_other_convention() -> None:
    nodes = "I=0 t=0 W=one\nI=1 t=0.5 W=two\nI=2 t=1 W=!NULL\n"
    links = "J=0 S=0 E=1\nJ=1 S=1 E=2\n"
    assert arcs(read_one("VERSION=1.0\ndir=b\n" + nodes + links)) == [(0, 0.5, "one"), (0.5, 1, "two")]
    forward = nodes.replace("one", "!NULL").replace("two", "one").replace("t=1 W=!NULL", "t=1 W=two")
    assert arcs(read_one("VERSION=1.0\ndir=f\n" + forward + links)) == [(0, 0.5, "one"), (0.5, 1, "two")]


def test_the_word_of_the_start_node_is_not_lost() -> None:
    lattice = read_one("I=0 t=0.3 W=one\nI=1 t=0.5 W=two\nJ=0 S=0 E=1 a=-5 l=-1 p=1\n")
    assert arcs(lattice) == [(0, 0.3, "one"), (0.3, 0.5, "two")]
    assert (scores(lattice, "acoustic"), scores(lattice, "posterior")) == ([0, -5], [1, 1])


def test_the_word_of_the_end_node_is_not_lost() -> None:
    text = "start=1\nend=0\nI=0 t=0.5 W=two\nI=1 t=0 W=one\nJ=0 S=1 E=0 a=-5 p=0.9\n"
    lattice = read_one("# Lattice generated by PocketSphinx\n" + text)
    assert arcs(lattice) == [(0, 0.5, "one"), (0.5, 0.51, "two")]
    assert scores(lattice, "posterior") == pytest.approx([0.9, 1])


def test_marks_at_the_outer_nodes_get_no_arc() -> None:
    assert arcs(read_one("I=0 t=0.3 W=<s>\nI=1 t=0.5 W=two\nJ=0 S=0 E=1\n")) == [(0.3, 0.5, "two")]


def test_a_word_on_the_link_wins_over_the_node() -> None:
    text = "I=0 t=0 W=!NULL\nI=1 t=1 W=node\nI=2 t=2 W=last\nJ=0 S=0 E=1 W=link\nJ=1 S=1 E=2\n"
    assert arcs(read_one(text)) == [(0, 1, "link"), (1, 2, "last")]


def test_long_names_any_order_and_several_items_on_a_line() -> None:
    text = (
        'VERSION=1.1\tUTTERANCE="my utterance"\nLINKS=2 NODES=3\r\n'
        "time=0.0 I=0 I=1 time=0.5\nI=2 var=1 time=1\n"
        "END=1 WORD=one acoustic=-2 language=-1 J=0 START=0 posterior=1.0 ngram=-0.5 div=:x,1: v=3\n"
        "J=1 E=2 S=1 ac=-4 W=two lm=-3 pronunciation=-0.25 p=1 n=0 unknown=7\n"
    )
    lattice = read_one(text)
    assert lattice.utt == "my utterance"
    assert arcs(lattice) == [(0, 0.5, "one"), (0.5, 1, "two")]
    assert scores(lattice, "acoustic") == [-2, -4]
    assert scores(lattice, "transition") == [-1.5, -3.25]
    assert scores(lattice, "posterior") == [1, 1]


@pytest.mark.parametrize(
    ("base", "written", "natural"),
    [
        ("", "-2.5", -2.5),
        ("base=2.718282", "-2.5", -2.5),
        ("base=1.0", "-2.5", -2.5),  # HTK's way to say e
        ("base=10", "-2.5", -2.5 * math.log(10)),
        ("base=1.0001", "-25000", -25000 * math.log(1.0001)),
        ("base=0", "0.125", math.log(0.125)),
        ("base=0.0", "1", 0.0),
    ],
)
def test_scores_become_natural_logarithms(base: str, written: str, natural: float) -> None:
    lattice = read_one(simple(f"{base}\nwdpenalty={written}", f"a={written} l={written}"))
    assert scores(lattice, "acoustic") == pytest.approx([natural] * 2, rel=1e-6)
    assert scores(lattice, "transition") == pytest.approx([natural] * 2, rel=1e-6)
    assert lattice.scales.word_penalty == pytest.approx(natural, rel=1e-6)


def test_a_rounded_e_is_e() -> None:
    plain = scores(read_one(simple(links="a=-12345.678")), "acoustic")
    assert scores(read_one(simple("base=2.71828", "a=-12345.678")), "acoustic") == plain
    assert scores(read_one(simple("base=2.718", "a=-12345.678")), "acoustic") != plain


def test_what_a_lattice_lacks_is_absent() -> None:
    lattice = read_one(simple(links=""))
    assert (lattice.acoustic, lattice.transition, lattice.posterior) == (None, None, None)
    assert lattice.scales == Scales()


def test_scores_of_the_three_language_models_add_up() -> None:
    lattice = read_one(simple("lmscale=10 prscale=5 ngscale=2 acscale=0.5", "a=-1 l=-1 n=-2 r=-4"))
    weighted = lattice.scales.transition * scores(lattice, "transition")[0]
    assert weighted == pytest.approx(10 * -1 + 2 * -2 + 5 * -4)
    assert lattice.scales == Scales(acoustic=0.5, transition=10.0)


def test_a_link_without_word_may_go_without_score() -> None:
    text = "I=0 t=0\nI=1 t=1\nI=2 t=2\nJ=0 S=0 E=1 W=one a=-3\nJ=1 S=1 E=2 W=!NULL\n"
    lattice = read_one(text)
    assert scores(lattice, "acoustic") == [-3, 0]


def test_scores_on_nodes() -> None:
    text = "base=10\nI=0 t=0\nI=1 t=1 W=one a=-3 r=-1\nI=2 t=2 W=two a=-4 r=-2\nJ=0 S=0 E=1\nJ=1 S=1 E=2 a=-5\n"
    lattice = read_one(text)
    assert scores(lattice, "acoustic") == pytest.approx([-3 * math.log(10), -5 * math.log(10)])
    assert scores(lattice, "transition") == pytest.approx([-1 * math.log(10), -2 * math.log(10)])


def test_times_have_a_unit() -> None:
    assert read_one(simple("tscale=0.01", nodes=("t=0", "t=50", "t=100"))).time.tolist() == [0, 0.5, 1]


def test_nodes_may_have_any_numbers_and_order() -> None:
    text = "I=70 t=1\nI=5 t=0\nI=1000000000000 t=2\nJ=0 S=5 E=70 W=one\nJ=1 S=70 E=1000000000000 W=two\n"
    assert arcs(read_one(text)) == [(0, 1, "one"), (1, 2, "two")]
    assert arcs(read_one("start=5 end=70\n" + text)) == [(0, 1, "one")]


def test_without_times_a_word_is_a_second() -> None:
    text = "N=4 L=4\nJ=0 S=0 E=1 W=!NULL\nJ=1 S=1 E=2 W=one\nJ=2 S=2 E=3 W=two\nJ=3 S=1 E=3 W=onto\n"
    lattice = read_one(text)
    assert arcs(lattice) == [(0, 0, ""), (0, 1, "one"), (0, 2, "onto"), (1, 2, "two")]
    assert lattice.origin.times == "aligned"
    assert read_one(simple()).origin.times == "given"


def test_the_start_node_may_do_without_time() -> None:
    assert read_one(simple(nodes=("", "t=0.5", "t=1"))).time.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize(
    ("links", "expected"),
    [
        (("p=0.5", "p=0.25"), [0.5, 0.25]),
        (("p=1", "p=1"), None),  # never computed
        (("p=0.5", ""), None),
        (("p=1.0004", "p=0"), [1, 0]),
    ],
)
def test_posteriors(links: tuple[str, str], expected: list[float] | None) -> None:
    lattice = read_one(
        "I=0 t=0\nI=1 t=1\n" + "".join(f"J={k} S=0 E=1 W=w{k} {link}\n" for k, link in enumerate(links))
    )
    made = lattice.posterior
    assert (None if made is None else made.tolist()) == (None if expected is None else pytest.approx(expected))


def test_posteriors_of_one_in_a_row_are_known() -> None:
    lattice = read_one(simple(links="p=1"))
    assert scores(lattice, "posterior") == [1, 1]


def test_posteriors_as_logarithms() -> None:
    text = "base=10\nI=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W=a p=-1\nJ=1 S=0 E=1 W=b p=-0.0457575\n"
    lattice = read_one(text)
    assert scores(lattice, "posterior") == pytest.approx([0.1, 0.9], rel=1e-5)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("data/foo.mfc", "foo"),
        ("foo.wav", "foo"),
        (r"C:\data\foo.plp", "foo"),
        ("*/foo.rec", "foo"),
        ("speaker.utt.3", "speaker.utt.3"),
        ("meeting/0012-0345", "meeting/0012-0345"),
        ("foo(duration=3.2)", "foo"),
        (".wav", ".wav"),
    ],
)
def test_utterances_are_named_after_recordings(value: str, name: str) -> None:
    assert utterance_name(value, literal=False) == name
    assert utterance_name(value, literal=True) == value


def test_labels_in_utf8_and_octal() -> None:
    text = 'I=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W=café\nJ=1 S=0 E=1 W="caf\\303\\251!"\n'
    lattice = read_one(text)
    assert (lattice.surfaces, lattice.words) == (("café", "café!"), ("cafe", "cafe"))


def test_a_byte_order_mark_and_windows_line_ends() -> None:
    data = b"\xef\xbb\xbf" + simple().replace("\n", "\r\n").encode()
    assert arcs(read_one(data)) == [(0, 0.5, "one"), (0.5, 1, "two")]


def test_several_lattices_in_a_file() -> None:
    data = (SAMPLES / "htk" / "two.slf").read_bytes()
    both = read_all(data)
    assert both.utts == ("first", "second")
    assert both.facts.place.tolist() == [1, 7]
    assert [lattice.text for lattice in both] == ["yes", "no"]
    nameless = b"".join(line + b"\n" for line in data.splitlines() if b"UTTERANCE" not in line)
    assert read_all(nameless).utts == ("some", "some-2")


def test_one_bad_lattice_among_several() -> None:
    data = (SAMPLES / "htk" / "two.slf").read_bytes().replace(b"S=0 E=1 W=yes", b"S=0 E=9 W=yes")
    problems = Problems(skip=True)
    assert read_all(data, problems=problems).utts == ("second",)
    assert [(error.utt, error.place) for error in problems.errors] == [("first", "line 6")]


@pytest.mark.parametrize("chunk", [1, 7, 64, 141, 282, 1000])
def test_lattices_are_cut_alike_however_the_bytes_arrive(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (SAMPLES / "htk" / "two.slf").read_bytes() * 3
    monkeypatch.setattr(htk, "CHUNK", chunk)
    made = read_all(data)
    assert made.utts == ("first", "second") * 3
    assert made.facts.place.tolist() == [1, 7, 15, 21, 29, 35]


def test_formats_are_told_apart_by_content(tmp_path: Path) -> None:
    for sample in sorted((SAMPLES / "htk").iterdir()):
        copy = tmp_path / f"{sample.stem}.txt"
        copy.write_bytes(sample.read_bytes())
        assert formats.read(copy).origin.format == "htk"
    tomato = tmp_path / "tomato.slf"
    tomato.write_bytes((SAMPLES / "sphinx" / "tomato.lat").read_bytes())
    assert formats.read(tomato).origin.format == "sphinx"
    assert htk.sniff((SAMPLES / "sphinx" / "tomato.lat").read_bytes(), "tomato.lat") < 0.5


@pytest.mark.parametrize(
    ("head", "low", "high"),
    [
        (b"VERSION=1.0\nN=3 L=2\nI=0", 0.9, 1),
        (b"J=0 S=0 E=1 W=word", 0.5, 1),
        (b"VERSION=1.0\n", 0.1, 0.49),
        (b"", 0, 0),
        (b"utt-1\n0 1 5 1.2,3.4,\n", 0, 0),
        (b'{"N=3 L=2": "J=0"}', 0, 0),
        (b"NAME=value\nOTHER=thing\n", 0, 0),
        (b"\x00B\x00\xff" * 100, 0, 0),
    ],
)
def test_sniffing(head: bytes, low: float, high: float) -> None:
    assert low <= htk.sniff(head, "any") <= high


def real_lattices() -> Lattices:
    return formats.read(SHARED / "formats" / "pocketsphinx.slf.tar", format="htk")


@needs_shared
def test_real_lattices() -> None:
    lattices = real_lattices()
    assert len(lattices) == 100
    assert (len(lattices.time), len(lattices.source)) == (16_523, 89_994)
    assert lattices.facts.trimmed_arcs.sum() == 0
    assert lattices.acoustic is not None
    assert lattices.posterior is not None
    # All links that PocketSphinx could not score leave a <s> in mid-utterance, and it gives them no probability.
    placeholder = lattices.acoustic < -10_000
    assert placeholder.sum() == 4_034
    assert (lattices.word[placeholder] == 0).all()
    assert lattices.posterior[placeholder].max() == 0
    assert lattices.acoustic[~placeholder].min() > -1_200


@needs_shared
def test_real_posteriors_have_equal_mass_in_and_out() -> None:
    for lattice in real_lattices()[:20]:
        assert lattice.posterior is not None
        entering = np.bincount(lattice.target, lattice.posterior, lattice.nodes)[1:-1]
        leaving = np.bincount(lattice.source, lattice.posterior, lattice.nodes)[1:-1]
        np.testing.assert_allclose(entering, leaving, atol=0.01)
        assert np.bincount(lattice.source, lattice.posterior)[0] == pytest.approx(1, abs=0.01)
