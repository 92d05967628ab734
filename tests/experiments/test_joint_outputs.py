"""The table of what a joint network knows about its outputs, on recognizers that miss words."""

from __future__ import annotations

import pytest
from experiments.joint_outputs import JudgedSubset, drawn_subsets, judged, judged_out_of_fold, table_of, without_fold

from tests.helpers.joint_data import deaf_corpus
from wordtrust.combination.joint import FitOptions, JointHypotheses, fit_joint

QUICK = FitOptions(hidden=4, epochs=6, batch=16, unions=2, confidence_epochs=4, draws=4, gap_hidden=4, gap_epochs=40)


def test_subsets_of_every_size_are_drawn() -> None:
    drawn = drawn_subsets(4, 2)
    assert [len(members) for members in drawn] == [2, 2, 3, 3, 4]
    assert len(set(drawn)) == len(drawn)
    assert all(list(members) == sorted(set(members)) for members in drawn)


@pytest.mark.slow
def test_a_line_for_each_size_out_of_fold_and_on_other_speakers() -> None:
    recognizers, names = deaf_corpus(28, 5)
    systems = JointHypotheses.of(recognizers)
    model = fit_joint(systems, names, options=QUICK)
    ordered = systems.order([names.index(name) for name in model.names])
    outputs = judged_out_of_fold(model, ordered, drawn_subsets(3, 1))
    assert [sum(len(fold.words) for fold in each.folds) for each in outputs] == [140, 140]
    speakers = [set(fold.words.speakers) for fold in outputs[0].folds]
    assert sum(map(len, speakers)) == len(set.union(*speakers)) == 28  # each in one fold
    table = table_of("held out", outputs, [without_fold(outputs, fold) for fold in range(4)])
    assert [row[0] for row in table.rows] == ["2 (1)", "3 (1)", "all"]
    assert all(float(row[1]) > 0.8 for row in table.rows)  # AUC of gaps
    fresh, _ = deaf_corpus(28, 5, seed=1)
    new = JointHypotheses.of(fresh).order([names.index(name) for name in model.names])
    other = JudgedSubset((0, 1, 2), (judged(model, new, (0, 1, 2)),))
    assert float(table_of("new", [other], [model.known]).rows[0][1]) > 0.8
