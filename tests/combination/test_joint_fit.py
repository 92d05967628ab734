"""Fitting the joint model: gradients against differences, accuracies by hand, and what confidences are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace

import numpy as np
import pytest

from tests.helpers.joint_data import chain, corpus, shared
from wordtrust import OptionError
from wordtrust.combination.joint import FitOptions, JointHypotheses, JointModel
from wordtrust.combination.joint.arc_models import ConfidenceModel, Layers, PotentialModel, columns_of, marginals
from wordtrust.combination.joint.fit import fit_confidences, spelling_votes
from wordtrust.combination.joint.objective import (
    UnionExample,
    accuracies,
    confidence_gradients,
    expected_accuracy,
    oracle_words,
    word_gradients,
)
from wordtrust.combination.joint.union import JointLattice
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.posterior import FlatGraph, arc_masses, arc_shares
from wordtrust.networks.build_store import REFERENCE, noted_references


def heard(reference: str, *recognizers: list[tuple[str, float, float]]) -> JointLattice:
    """Recognizers that say one thing each of one utterance."""
    made = shared(*(chain(words, 1.5) for words in recognizers))
    return JointHypotheses.of([replace(each, notes={REFERENCE: (reference,)}) for each in made]).union(
        range(len(made))
    )


def accuracies_of(union: JointLattice) -> np.ndarray:
    references = noted_references(union.lattices)
    return accuracies(union, references, oracle_words(union.lattices, references))


def example(seed: int = 0) -> UnionExample:
    recognizers, _ = corpus(2, 4, (0.3, 0.3), seed=seed)
    return UnionExample.of(JointHypotheses.of(recognizers), (0, 1))


def test_accuracies_by_hand() -> None:
    right = [("i", 0.0, 0.4), ("will", 0.4, 0.8), ("sit", 0.8, 1.2)]
    wrong = [("i", 0.0, 0.4), ("well", 0.4, 0.8), ("sit", 0.8, 1.2), ("down", 1.2, 1.5)]
    union = heard("i will sit", right, wrong)
    found = dict(zip(union.lattices[0].words, accuracies_of(union).tolist(), strict=True))
    assert found["i"] == found["will"] == found["sit"] == pytest.approx(1.0)
    assert found["well"] == pytest.approx(0.0)  # a substitution is no worse than a deletion
    assert found["down"] == pytest.approx(-1.0)  # an insertion


def every_path(flat: FlatGraph, node: int, end: int) -> list[list[int]]:
    if node == end:
        return [[]]
    arcs = range(int(flat.first[node]), int(flat.first[node + 1]))
    return [[arc, *rest] for arc in arcs for rest in every_path(flat, int(flat.target[arc]), end)]


def test_expected_accuracy_is_that_of_all_paths() -> None:
    union = heard("i will sit", [("i", 0.0, 0.4), ("will", 0.4, 0.8)], [("i", 0.0, 0.4), ("well", 0.4, 0.9)],
                  [("hi", 0.0, 0.3), ("sit", 0.9, 1.2)])  # fmt: skip
    flat, accuracy = FlatGraph.of(union.lattices), accuracies_of(union)
    potential = np.random.default_rng(0).normal(size=len(accuracy))

    def expected(potential: np.ndarray) -> float:
        paths = every_path(flat, 0, len(flat.first) - 2)
        weights = np.exp([potential[path].sum() for path in paths])
        return float(weights @ [accuracy[path].sum() for path in paths] / weights.sum())

    share, _ = arc_shares(flat, potential)
    mass = share.copy()
    found, slope = expected_accuracy(flat, share, mass, arc_masses(flat, mass), accuracy)
    assert found == pytest.approx(expected(potential))
    for arc in range(len(potential)):
        moved = potential + 1e-5 * (np.arange(len(potential)) == arc)
        assert (expected(moved) - expected(potential)) / 1e-5 == pytest.approx(slope[arc], abs=1e-4)


def objective(kind: str, risk: float) -> tuple[tuple[Layers, ...], Callable[[], tuple[float, list[Layers]]]]:
    """The weights of a model in double precision, and its objective with gradients."""
    one, paths = example(), PotentialModel.new(2, 3, 0)
    model = ConfidenceModel(paths, Layers.new(columns_of(2), 3, np.random.default_rng(1)))
    parts = (paths.word, paths.silence, model.right)
    for layers in parts:
        for each in fields(layers):
            setattr(layers, each.name, getattr(layers, each.name).astype(np.float64))
    if kind == "words":
        return parts[:2], lambda: word_gradients(paths, one, risk)
    return parts, lambda: confidence_gradients(model, one)


@pytest.mark.parametrize(("kind", "risk"), [("words", 0.0), ("words", 0.5), ("words", 1.0), ("confidences", 0.0)])
def test_gradients_against_differences(kind: str, risk: float) -> None:
    parts, measure = objective(kind, risk)
    loss, gradients = measure()
    for layers, gradient in zip(parts, gradients, strict=True):
        for each in fields(layers):
            weights, slope = getattr(layers, each.name).ravel(), getattr(gradient, each.name).ravel()
            for index in range(0, len(weights), 7):
                weights[index] += 1e-4
                above = measure()[0]
                weights[index] -= 1e-4
                assert (above - loss) / 1e-4 == pytest.approx(slope[index], abs=2e-3)


def test_confidences_learn_how_often_words_are_right() -> None:
    recognizers, _ = corpus(4, 60, (0.4, 0.4))
    one = UnionExample.of(JointHypotheses.of(recognizers), (0, 1))
    model = fit_confidences([(one,)] * 8, 2, FitOptions(hidden=4, confidence_epochs=20))
    found, words = model.confidence(one.flat, one.x, one.silent, (0, 1)), ~one.silent
    assert found[words].mean() == pytest.approx(one.right[words].mean(), abs=0.03)
    assert found[words & one.right].mean() > found[words & ~one.right].mean() + 0.3
    marginal = marginals(one.flat, model.paths.potentials(one.x, one.silent, (0, 1)))
    assert (found[words] <= marginal[words]).all()
    assert found[one.silent].tolist() == marginal[one.silent].tolist()


@pytest.mark.parametrize("wrong", [{"hidden": 0}, {"folds": 1}, {"risk": 1.5}])
def test_options_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError, match="a joint model is fitted"):
        FitOptions(**wrong)  # type: ignore[arg-type]


def _equating(words: list[tuple[str, float, float]], reference: str) -> Lattices:
    made = chain(words, 1.5)
    return replace(made, notes={REFERENCE: (reference,)}, origin=replace(made.origin, equate="numbers"))


def test_votes_on_spellings_by_hand() -> None:
    """Where recognizers write a right word differently: odds of the reference's spelling, one more on either side."""
    said = [("met", 0.0, 0.5), ("six", 0.5, 1.0), ("dogs", 1.0, 1.5)]
    digits = [("met", 0.0, 0.5), ("6", 0.5, 1.0), ("dogs", 1.0, 1.5)]
    wrong = [("met", 0.0, 0.5), ("sick", 0.5, 1.0), ("dogs", 1.0, 1.5)]
    three = shared(*(_equating(words, "met six dogs") for words in (said, digits, wrong)))
    assert spelling_votes(JointHypotheses.of(three)) == (2.0, 0.5, 1.0)
    assert spelling_votes(JointHypotheses.of(three[1:])) == (1.0, 1.0)  # they agree where both are right


def test_a_word_is_written_as_most_votes_have_it() -> None:
    said, digits = (("met", 0.0, 0.5), ("six", 0.5, 1.5)), (("met", 0.0, 0.5), ("6", 0.5, 1.5))
    three = JointHypotheses.of(shared(*(_equating(list(words), "met six") for words in (digits, said, digits))))

    def words(spelling: Sequence[float]) -> list[str]:
        return [word for word in three.union([0, 1, 2], spelling=spelling).lattices[0].words if word]

    assert words([]) == words([1.0, 1.9, 1.0]) == ["met", "6"]
    assert words([1.0, 2.1, 1.0]) == ["met", "six"]
    assert three.union([1, 0], spelling=[1.0, 1.0]).lattices[0].words == ("met", "six")  # a tie, to the first
    model = JointModel(("a", "b", "c"), (), spelling=(1.0, 2.1, 1.0))
    assert model.union(three, (0, 1, 2)).lattices[0].words == ("met", "six")
    assert model.union(three.order([0, 2]), (0, 2)).lattices[0].words == ("met", "6")
