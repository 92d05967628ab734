"""What keeps joint models honest and small: folds are never measured by what saw them, and batches change nothing."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from tests.helpers.joint_data import corpus
from wordtrust.base.folds import balanced_folds
from wordtrust.combination.joint import FitOptions, JointHypotheses, JointModel, fit_joint, joint_errors
from wordtrust.combination.joint import fit as fitting
from wordtrust.combination.joint import model as decoding
from wordtrust.combination.joint.arc_models import ConfidenceModel, PotentialModel
from wordtrust.combination.joint.fit import THRESHOLDS, HeldOutFolds
from wordtrust.confidence.calibration import Platt
from wordtrust.networks.build_store import REFERENCE, SPEAKER

pytestmark = pytest.mark.slow

QUICK = FitOptions(hidden=4, epochs=12, batch=16, unions=3, confidence_epochs=4)
Fit = tuple[JointModel, JointHypotheses, list[str]]


@pytest.fixture(scope="module")
def fitted() -> Fit:
    recognizers, names = corpus(8, 20, (0.3, 0.15, 0.25))
    systems = JointHypotheses.of(recognizers)
    return fit_joint(systems, names, options=QUICK), systems, names


def folds_of(systems: JointHypotheses) -> list[list[int]]:
    """The utterances of each fold of speakers."""
    speakers = np.array(systems.hypotheses[0].notes[SPEAKER])
    fold = balanced_folds(len(speakers), speakers, QUICK.folds)
    return [np.flatnonzero(fold == number).tolist() for number in range(QUICK.folds)]


def errors_by(model: JointModel, systems: JointHypotheses, names: list[str], turn: int) -> dict[tuple[int, ...], int]:
    """Word errors of every subset, each fold decoded by one weigher alone: its own, or one further on."""
    total = dict.fromkeys(model.settings, 0)
    for number, rows in enumerate(folds_of(systems)):
        weigher, part = model.potential_models[(number + turn) % len(model.potential_models)], systems.take(rows)
        alone = JointModel(model.names, (weigher,), threshold=model.threshold)
        for members in total:
            joined = [model.names[member] for member in members]
            found = alone.decode(part.order([names.index(name) for name in joined]), joined)
            total[members] += int(found.errors()[0].sum())
    return total


def test_every_fold_is_measured_by_the_weights_that_never_saw_it(fitted: Fit) -> None:
    model, systems, names = fitted
    measured = {members: settings.errors for members, settings in model.settings.items()}
    assert len(measured) == 4
    assert measured == errors_by(model, systems, names, 0)
    assert all(measured != errors_by(model, systems, names, turn) for turn in range(1, len(model.potential_models)))


def test_the_threshold_is_that_of_the_fewest_errors_out_of_fold(fitted: Fit) -> None:
    """Of the best member's errors, as a mean over subsets."""
    model, systems, names = fitted
    tried = [errors_by(replace(model, threshold=each), systems, names, 0) for each in THRESHOLDS]
    best = np.array([each.best_member for each in model.settings.values()])
    relative = [np.mean(np.array(list(each.values())) / best) for each in tried]
    assert model.threshold == THRESHOLDS[int(np.argmin(relative))]
    assert len(set(relative)) > 1


def test_whole_utterances_are_calibrated_out_of_fold(fitted: Fit) -> None:
    """On every subset, each fold by its own weights alone; then a logistic curve through all of it."""
    model, systems, names = fitted
    said, right = list[float](), list[bool]()
    for members in model.settings:
        joined = [model.names[member] for member in members]
        for number, rows in enumerate(folds_of(systems)):
            own = (model.potential_models[number],), (model.confidence_models[number],)
            alone = JointModel(model.names, *own, model.threshold, model.settings)
            found = alone.decode(systems.take(rows).order([names.index(name) for name in joined]), joined)
            said += found.correct.tolist()
            right += (found.errors()[0] == 0).tolist()
    expected = Platt().fit(np.clip(said, 0, 1), np.array(right))
    assert model.whole_utterances is not None
    scores = np.linspace(0, 1, 21)
    assert model.whole_utterances.predict(scores) == pytest.approx(expected.predict(scores), abs=1e-6)
    assert expected.predict(np.clip(said, 0, 1)).mean() == pytest.approx(np.mean(right), abs=0.02)
    plain, shown = (each.decode(systems, names).correct for each in (replace(model, whole_utterances=None), model))
    assert shown == pytest.approx(expected.predict(np.clip(plain, 0, 1)), abs=1e-6)
    assert not np.allclose(shown, plain, atol=0.01)


def same(one: PotentialModel, other: PotentialModel) -> bool:
    pairs = ((one.word, other.word), (one.silence, other.silence))
    return all(np.array_equal(getattr(a, each.name), getattr(b, each.name)) for a, b in pairs for each in fields(a))


def same_confidences(one: ConfidenceModel, other: ConfidenceModel) -> bool:
    return same(one.paths, other.paths) and np.array_equal(one.right.skip, other.right.skip)


def test_the_weights_of_a_fold_do_not_depend_on_what_its_speakers_said(fitted: Fit) -> None:
    model, systems, names = fitted
    for number in (0, 2):
        rows = folds_of(systems)[number]
        said = list(systems.hypotheses[0].notes[REFERENCE])
        for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
            said[row] = systems.hypotheses[0].notes[REFERENCE][other]
        lying = [replace(each, notes={**each.notes, REFERENCE: tuple(said)}) for each in systems.hypotheses]
        again = fit_joint(JointHypotheses.of(lying), names, options=QUICK)
        assert again.names == model.names
        kept = [place == number for place in range(QUICK.folds)]
        assert list(map(same, again.potential_models, model.potential_models)) == kept
        assert list(map(same_confidences, again.confidence_models, model.confidence_models)) == kept


def test_decoding_in_batches_is_decoding_at_once(fitted: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    model, systems, names = fitted
    whole = model.decode(systems, names)
    monkeypatch.setattr(decoding, "BATCH", 7)
    assert len(list(model.decode_parts(systems, names))) == 23  # 160 utterances
    found = model.decode(systems, names)
    assert found.lattices.utts == whole.lattices.utts
    assert dict(found.lattices.notes) == dict(whole.lattices.notes)
    for name in ("node_offsets", "arc_offsets", "time", "source", "target", "word", "posterior", "picked"):
        assert np.array_equal(getattr(found.lattices, name), getattr(whole.lattices, name)), name
    assert found.paths.offsets.tolist() == whole.paths.offsets.tolist()
    assert found.paths.arcs.tolist() == whole.paths.arcs.tolist()
    assert found.confidence == pytest.approx(whole.confidence, abs=1e-6)
    assert np.array_equal(found.on_one_best, whole.on_one_best)
    assert found.names == whole.names
    for name in names:
        assert found.one_best(name).arcs.tolist() == whole.one_best(name).arcs.tolist()


def test_errors_in_batches_are_those_at_once(fitted: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    model, systems, names = fitted
    subsets, folds = [(0, 1), (2, 0), (0, 1, 2)], HeldOutFolds.of([systems.take(rows) for rows in folds_of(systems)])
    counted, measured = joint_errors(model, systems, names, subsets), folds.errors(model, (0, 2), [0.2, 0.4])
    monkeypatch.setattr(decoding, "BATCH", 7)
    monkeypatch.setattr(fitting, "BATCH", 7)
    assert np.array_equal(joint_errors(model, systems, names, subsets), counted)
    assert np.array_equal(folds.errors(model, (0, 2), [0.2, 0.4]), measured)


def test_no_more_than_a_batch_is_joined_at_a_time(fitted: Fit, monkeypatch: pytest.MonkeyPatch) -> None:
    model, systems, names = fitted
    joined: list[int] = []
    union = JointHypotheses.union

    def watched(self: JointHypotheses, *given: object, **more: object) -> object:
        joined.append(len(self))
        return union(self, *given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(JointHypotheses, "union", watched)
    monkeypatch.setattr(decoding, "BATCH", 50)
    monkeypatch.setattr(fitting, "BATCH", 50)
    model.decode(systems, names)
    joint_errors(model, systems, names, [(0, 1)])
    assert joined == [50, 50, 50, 10] * 2
    HeldOutFolds.of([systems] * QUICK.folds).errors(model, (0, 1), [0.2])
    assert joined[8:] == [50, 50, 50, 10] * QUICK.folds


def test_no_utterances_are_decoded_to_none(fitted: Fit) -> None:
    model, systems, names = fitted
    nothing = JointHypotheses.of([each[:0] for each in systems.hypotheses])
    assert len(model.decode(nothing, names).lattices) == 0
    assert joint_errors(model, nothing, names, [(0, 1)]).shape == (2, 1, 0)
