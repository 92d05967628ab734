"""Scales, log bases and posteriors of HTK lattices: every path against the formula of the HTK book, written out.

total = acscale * a + lmscale * l + ngscale * n + prscale * r + wdpenalty for each word, all as natural logarithms
"""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from wordtrust import read
from wordtrust.base.errors import WordtrustWarning
from wordtrust.formats.htk.header import SlfHeader
from wordtrust.formats.htk.posteriors import read_posteriors
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.posterior import posteriors
from wordtrust.lattices.weights import Scales, log_scores

# Two paths: "yes" alone, and "no so"; each link with a, l, n and r.
LINKS = (
    (0, 2, "yes", (-40.0, -3.0, -2.0, -0.5)),
    (0, 1, "no", (-30.0, -1.0, -0.5, -0.25)),
    (1, 2, "so", (-14.0, -0.5, -1.5, -0.125)),
)
FIELDS = ("a", "l", "n", "r")


def lattice_text(header: dict[str, float], base: float | None, *, posterior: tuple[float, ...] = ()) -> str:
    """SRILM's and HTK's way to write it; scores in logarithms to `base`."""
    factor = 1.0 if base is None else math.log(base)
    lines = ["VERSION=1.1", "UTTERANCE=utt"]
    lines += [] if base is None else [f"base={base}"]
    lines += [f"{name}={value / factor if name == 'wdpenalty' else value}" for name, value in header.items()]
    lines += ["start=0 end=2", "N=3 L=3", "I=0 t=0", "I=1 t=0.5", "I=2 t=1"]
    for number, (start, end, word, values) in enumerate(LINKS):
        fields = " ".join(f"{name}={value / factor!r}" for name, value in zip(FIELDS, values, strict=True))
        given = f" p={posterior[number]}" if posterior else ""
        lines.append(f"J={number} S={start} E={end} W={word} {fields}{given}")
    return "\n".join(lines) + "\n"


def htk_total(header: dict[str, float], links: list[int]) -> float:
    """The formula, plainly."""
    scale = {"a": "acscale", "l": "lmscale", "n": "ngscale", "r": "prscale"}
    return sum(
        sum(header.get(scale[name], 1.0) * value for name, value in zip(FIELDS, LINKS[link][3], strict=True))
        + header.get("wdpenalty", 0.0)
        for link in links
    )


HEADERS = [
    dict(zip(("acscale", "lmscale", "ngscale", "prscale", "wdpenalty"), values, strict=True))
    for values in product((0.1, 1.0), (0.0, 1.0, 2.5), (0.0, 0.5), (0.0, 1.0, 2.0), (-1.5, 0.0, 2.0))
]


@pytest.mark.parametrize("base", [None, 10.0, 1.0001, 2.0])
def test_every_path_has_the_score_of_the_formula(tmp_path: Path, base: float | None) -> None:
    for header in HEADERS:
        lattices = read_text(tmp_path, lattice_text(header, base))
        by_word = dict(zip(lattices.vocabulary.lookup(lattices.word.tolist()), log_scores(lattices), strict=True))
        totals = {"yes": htk_total(header, [0]), "no so": htk_total(header, [1, 2])}
        for words, total in totals.items():
            assert sum(by_word[word] for word in words.split()) == pytest.approx(total, abs=1e-4), header
        best = one_best(lattices).arcs_in(lattices)
        printed = " ".join(lattices.vocabulary.lookup(lattices.word[best].tolist()))
        assert totals[printed] == pytest.approx(max(totals.values()), abs=1e-4)  # there are ties


def test_a_label_of_two_words_has_one_penalty(tmp_path: Path) -> None:
    text = lattice_text({"wdpenalty": -1.5}, None).replace("W=yes", "W=x-ray")
    lattices = read_text(tmp_path, text)
    by_word = dict(zip(lattices.vocabulary.lookup(lattices.word.tolist()), log_scores(lattices), strict=True))
    assert by_word["x"] + by_word["ray"] == pytest.approx(htk_total({"wdpenalty": -1.5}, [0]))


def test_silence_has_no_penalty(tmp_path: Path) -> None:
    text = lattice_text({"wdpenalty": -1.5}, None).replace("W=yes", "W=<s>")
    lattices = read_text(tmp_path, text)
    silent = log_scores(lattices)[lattices.word == 0]
    assert silent.tolist() == pytest.approx([htk_total({}, [0])])


def test_a_header_may_be_silent(tmp_path: Path) -> None:
    """All weights are 1 then, the penalty 0, and logarithms natural."""
    assert read_text(tmp_path, lattice_text({}, None)).scales == Scales()


def read_text(folder: Path, text: str) -> Lattices:
    (folder / "utt.slf").write_text(text)
    return read(folder / "utt.slf")


def test_unscaled_acoustics_keep_their_best_path_and_get_posteriors(tmp_path: Path) -> None:
    """`lmscale=20`: the best path is that of the header's sum, posteriors are made with all of it over 20."""
    header = {"lmscale": 20.0, "prscale": 1.0, "wdpenalty": -10.0}
    text = lattice_text(header, None).replace("a=-40.0", "a=-120.0")
    with pytest.warns(WordtrustWarning, match="divided by the header's lmscale 20"):
        lattices = read_text(tmp_path, text)
    assert lattices.scales == Scales(1 / 20, 1.0, -0.5)
    scores = log_scores(lattices) * 20
    yes = htk_total(header, [0]) - 80
    assert sorted(scores.tolist()) == pytest.approx(sorted([yes, htk_total(header, [1]), htk_total(header, [2])]))
    odds = (yes - htk_total(header, [1, 2])) / 20
    assert posteriors(lattices).arc[lattices.word == lattices.vocabulary.find("yes")] == pytest.approx(
        1 / (1 + math.exp(-odds))
    )


@pytest.mark.parametrize("base", [None, 10.0, 2.0])
def test_log_posteriors_are_logarithms_to_the_base(tmp_path: Path, base: float | None) -> None:
    factor = 1.0 if base is None else math.log(base)
    logs = tuple(round(math.log(share) / factor, 4) for share in (0.25, 0.75, 0.75))
    lattices = read_text(tmp_path, lattice_text({}, base, posterior=logs))
    assert lattices.posterior is not None
    assert sorted(lattices.posterior.tolist()) == pytest.approx([0.25, 0.75, 0.75], abs=1e-3)


def test_log_posteriors_of_a_real_kind(tmp_path: Path) -> None:
    """The shape of HTK's own: no base in the header, `p=-20.18`, links into the end that add up to 1."""
    text = lattice_text({"acscale": 1.0}, None, posterior=(-20.18, -0.0, -0.0))
    posterior = read_text(tmp_path, text).posterior
    assert posterior is not None
    assert sorted(posterior.tolist()) == pytest.approx([math.exp(-20.18), 1.0, 1.0])


def meaning(*lattices: tuple[list[int], list[float]], base: float | None = None) -> tuple[list[float], list[bool]]:
    """Probabilities of lattices given as (start nodes, values), and which of them were computed."""
    values = np.array([value for _, own in lattices for value in own])
    source = np.array([node for nodes, _ in lattices for node in nodes], np.int32)
    offsets = np.cumsum([0, *(len(own) for _, own in lattices)])
    found = read_posteriors(values, offsets, source, SlfHeader(base=base))
    return found.probability.tolist(), found.computed.tolist()


def test_all_zeros_are_logarithms_or_nothing() -> None:
    path, choice = [0, 1, 2], [0, 0, 1]
    assert meaning((path, [0.0, 0.0, 0.0])) == ([1, 1, 1], [True])
    assert meaning((choice, [0.0, 0.0, 0.0]))[1] == [False]
    beside_logs = meaning((path, [0.0, 0.0, 0.0]), ([0, 0], [math.log(0.25), math.log(0.75)]))
    assert beside_logs[0] == pytest.approx([1, 1, 1, 0.25, 0.75])
    assert beside_logs[1] == [True, True]
    assert meaning((path, [0.0, 0.0, 0.0]), base=0)[1] == [False]


def test_all_ones_were_computed_on_a_single_path_only() -> None:
    assert meaning(([0, 1], [1.0, 1.0]), ([0, 0], [1.0, 1.0])) == ([1, 1, 1, 1], [True, False])
