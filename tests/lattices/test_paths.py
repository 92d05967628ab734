"""Best paths against enumeration of all paths."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.strategies import all_paths, assembled, batch_of, lattices, rivals
from wordtrust.base.errors import OptionError
from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.paths import best_confidence, best_paths
from wordtrust.lattices.weights import Scales


@given(lattices())
def test_one_best_is_the_best_of_all_paths(lattice: Lattice) -> None:
    scores = lattice.scores().astype(np.float64)
    totals = {path: sum(scores[list(path)]) for path in all_paths(lattice)}
    assert totals[lattice.one_best()] == pytest.approx(max(totals.values()), abs=1e-6)


def test_scores_are_weighed_as_the_recognizer_does() -> None:
    lattice = rivals(["a", "<sil>"], acoustic=[-2.0, -1.0], transition=[0.5, 0.0])
    assert lattice.scores().tolist() == [-1.5, -1.0]
    heavy = Lattice(**{**vars(lattice), "scales": Scales(acoustic=0.5, transition=2.0, word_penalty=-1.0)})
    assert heavy.scores().tolist() == [-1.0, -0.5]
    assert heavy.text == ""


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"acoustic": [0.0, -9.0], "picked": [False, True]}, "second"),  # the recognizer's own choice before scores
        ({"posterior": [0.0, 0.7]}, "second"),  # given posteriors, where there are no scores
        ({"acoustic": [1.0, 1.0]}, "first"),  # ties go to the earlier arc
    ],
)
def test_what_the_recognizer_would_print(arrays: dict[str, Any], text: str) -> None:
    assert rivals(["first", "second"], **arrays).text == text


def _mean(lattice: Lattice, confidence: list[float], path: tuple[int, ...]) -> float:
    """`mean`: of the words; a path without words is worse than any other."""
    words = [confidence[arc] for arc in path if lattice.word[arc]]
    return sum(words) / len(words) if words else -1.0


def _mean_silence(lattice: Lattice, confidence: list[float], path: tuple[int, ...]) -> float:
    """`mean-silence`; paths with a word come before those without."""
    length = lattice.time[lattice.target] - lattice.time[lattice.source]
    weight = [1.0 if lattice.word[arc] else max(1.0, length[arc] / 0.3) for arc in range(lattice.arcs)]
    mean = sum(weight[arc] * confidence[arc] for arc in path) / sum(weight[arc] for arc in path)
    return mean if any(lattice.word[arc] for arc in path) else mean - 10


def _gain(lattice: Lattice, confidence: list[float], path: tuple[int, ...]) -> float:
    return sum(confidence[arc] - 0.4 for arc in path if lattice.word[arc])


@pytest.mark.parametrize(("criterion", "worth"), [("mean", _mean), ("mean-silence", _mean_silence), ("gain", _gain)])
@given(lattice=lattices(score_sets=(("posterior",),)), data=st.data())
def test_best_confidence_against_all_paths(
    criterion: str,
    worth: Callable[[Lattice, list[float], tuple[int, ...]], float],
    lattice: Lattice,
    data: st.DataObject,
) -> None:
    levels = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]) | st.floats(0, 1)
    confidence = data.draw(st.lists(levels, min_size=lattice.arcs, max_size=lattice.arcs))
    every = all_paths(lattice)
    best = best_confidence(lattice.batch(), np.array(confidence), criterion, threshold=0.4)
    path = tuple(best.arcs.tolist())
    assert path in every
    assert worth(lattice, confidence, path) == pytest.approx(
        max(worth(lattice, confidence, p) for p in every), abs=1e-9
    )


@given(st.lists(lattices(score_sets=(("posterior",),)), min_size=1, max_size=4))
def test_a_batch_decodes_like_its_parts(parts: list[Lattice]) -> None:
    batch = batch_of(*parts)
    assert batch.posterior is not None
    paths = best_confidence(batch, batch.posterior)
    alone = [best_confidence(part.batch(), part.posterior).arcs.tolist() for part in parts]  # type: ignore[arg-type]
    split = np.split(paths.arcs, paths.offsets[1:-1])
    assert [part.tolist() for part in split] == alone


def test_ties_go_to_the_larger_posterior() -> None:
    lattice = rivals(["a", "b"], posterior=[0.3, 0.6]).batch()
    assert best_confidence(lattice, np.array([0.5, 0.5])).arcs.tolist() == [1]


def test_ties_of_both_go_to_the_earlier_arc() -> None:
    lattice = rivals(["a", "b"], posterior=[0.4, 0.4]).batch()
    for criterion in ("mean", "mean-silence", "gain"):
        assert best_confidence(lattice, np.array([0.5, 0.5]), criterion, threshold=0.2).arcs.tolist() == [0]


@pytest.mark.parametrize(
    ("confidence", "posterior", "text"),
    [
        (0.5, 0.7, "a"),  # worth as much as nothing: the more probable of the two
        (0.5, 0.3, ""),
        (0.5, 0.5, ""),  # and nothing if that is even
        (0.4, 0.9, ""),
        (0.6, 0.1, "a"),
    ],
)
def test_a_word_at_the_threshold(confidence: float, posterior: float, text: str) -> None:
    lattice = rivals(["a", "<sil>"], posterior=[posterior, 1 - posterior])
    [arc] = best_confidence(lattice.batch(), np.array([confidence, 0.0]), "gain", threshold=0.5).arcs
    assert lattice.words[arc] == text


@given(st.lists(lattices(score_sets=(("acoustic",),)), min_size=1, max_size=3), st.data())
def test_a_path_without_its_silence(parts: list[Lattice], data: st.DataObject) -> None:
    batch = batch_of(*parts)
    paths = best_paths(batch, np.array(data.draw(scores_of(len(batch.word)))))
    spoken = paths.without_silence(batch)
    for row, lattice in enumerate(parts):
        whole, words = (each.arcs[slice(*each.offsets[row : row + 2])].tolist() for each in (paths, spoken))
        assert words == [arc for arc in whole if lattice.words[arc]]
        assert tuple(whole) in all_paths(lattice)
        assert [batch[row].words[arc] for arc in whole] == [lattice.words[arc] for arc in whole]


def scores_of(arcs: int) -> st.SearchStrategy[list[float]]:
    """Scores of any kind, impossible arcs included: there is a path all the same."""
    return st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 2.5]), min_size=arcs, max_size=arcs)


def test_mean_never_says_nothing_where_something_can_be_said() -> None:
    lattice = rivals(["a", "<sil>"], posterior=[0.01, 0.99])
    assert best_confidence(lattice.batch(), np.array([0.01, 0.0])).arcs.tolist() == [0]
    assert best_confidence(lattice.batch(), np.array([0.01, 0.0]), "gain").arcs.tolist() == [1]
    silent = rivals(["<sil>"], posterior=[1.0])
    assert best_confidence(silent.batch(), np.array([0.0])).arcs.tolist() == [0]


@pytest.mark.parametrize(
    ("seconds", "level", "text"),
    [
        (0.9, 0.674, "a"),  # three times 0.6 and once 0.9 is 2.7 / 4 = 0.675
        (0.9, 0.676, "b"),
        (0.6, 0.699, "a"),  # 2.1 / 3 = 0.7
        (0.6, 0.701, "b"),
        (0.45, 0.719, "a"),  # 1.8 / 2.5 = 0.72
        (0.45, 0.721, "b"),
        (0.3, 0.749, "a"),  # 1.5 / 2 = 0.75
        (0.3, 0.751, "b"),
        (0.1, 0.749, "a"),  # a short silence counts once, and not less
        (0.1, 0.751, "b"),
    ],
)
def test_how_much_silence_counts(seconds: float, level: float, text: str) -> None:
    """`a` at 0.9 after a silence at 0.6, or `b`, as long as both, at a level."""
    lattice = assembled(
        "u", time=[5.0, 5.0 + seconds, 8.0], ends=[(0, 1), (1, 2), (0, 2)], tokens=["<sil>", "a", "b"],
        posterior=[0.5, 0.5, 0.5],
    )  # fmt: skip
    place = {word: arc for arc, word in enumerate(lattice.words)}
    confidence = np.empty(3)
    for word, value in (("", 0.6), ("a", 0.9), ("b", level)):
        confidence[place[word]] = value
    chosen = best_confidence(lattice.batch(), confidence, "mean-silence").arcs
    assert [lattice.words[arc] for arc in chosen if lattice.word[arc]] == [text]
    assert best_confidence(lattice.batch(), confidence, "mean").arcs.tolist() == [place[""], place["a"]]


def test_bad_criteria_are_named() -> None:
    lattice = rivals(["a"], acoustic=[1.0]).batch()
    with pytest.raises(OptionError, match="one of mean, mean-silence, gain, not 'best'"):
        best_confidence(lattice, np.zeros(1), "best")
    with pytest.raises(OptionError, match="needs arc posteriors"):
        best_confidence(lattice, np.zeros(1))
    with pytest.raises(OptionError, match="not a finite number"):
        best_confidence(rivals(["a", "b"], posterior=[0.5, 0.5]).batch(), np.array([0.5, np.nan]))
