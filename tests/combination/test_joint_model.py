"""The joint model: what it learns, that it never hurts, that a fit goes on after a kill, and its file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.helpers.joint_data import chain, corpus, shared
from wordtrust import InputError, OptionError
from wordtrust.combination.joint import (
    FitOptions,
    JointHypotheses,
    JointModel,
    SubsetSettings,
    align_utterances,
    fit,
    fit_joint,
    joint_errors,
    load_joint,
    save_joint,
)
from wordtrust.combination.joint.arc_models import PotentialModel
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.lattices.paths import Paths, one_best
from wordtrust.networks.build_store import REFERENCE, SPEAKER, noted_references
from wordtrust.networks.equivalents import ALL
from wordtrust.networks.labels import score_paths
from wordtrust.transcripts.transcript import transcripts

pytestmark = pytest.mark.slow

Fit = tuple[JointModel, JointHypotheses, list[str]]
QUICK = FitOptions(hidden=4, epochs=12, batch=16, unions=3, confidence_epochs=12)


def errors(lattices: Lattices, paths: Paths) -> int:
    return score_paths(lattices, paths, noted_references(lattices)).errors


@pytest.fixture(scope="module")
def fitted() -> Fit:
    recognizers, names = corpus(8, 25, (0.3, 0.15, 0.25))
    systems = JointHypotheses.of(recognizers)
    return fit_joint(systems, names, options=QUICK), systems, names


def test_the_joint_output_beats_the_best_member_on_new_utterances(fitted: Fit) -> None:
    model, _, names = fitted
    fresh, _ = corpus(4, 50, (0.3, 0.15, 0.25), seed=1)
    alone = [
        errors(each, model.decode(JointHypotheses.of([each]), [name]).paths)
        for each, name in zip(fresh, names, strict=True)
    ]
    joint = model.decode(JointHypotheses.of(fresh), names)
    assert errors(joint.lattices, joint.paths) < 0.8 * min(alone)
    assert model.names == ("r1", "r2", "r0")  # the best first
    text = transcripts(joint.lattices, joint.confidence, joint.paths)
    assert 0 < sum(each.confidence or 0.0 for each in text) / len(text) < 1


def test_confidences_mean_what_they_say(fitted: Fit) -> None:
    model, _, names = fitted
    fresh, _ = corpus(4, 100, (0.3, 0.15, 0.25), seed=2)
    found = model.decode(JointHypotheses.of(fresh), names)
    right = score_paths(found.lattices, found.paths, noted_references(found.lattices)).alignments.correct
    text = transcripts(found.lattices, found.confidence, found.paths)
    sure = np.array([word.confidence for each in text for word in each.words])
    assert sure.mean() == pytest.approx(right.mean(), abs=0.05)
    assert sure[right].mean() > sure[~right].mean() + 0.1


def test_the_order_of_recognizers_does_not_matter(fitted: Fit) -> None:
    model, systems, names = fitted
    one = model.decode(systems, names)
    other = model.decode(systems.order([2, 0, 1]), [names[2], names[0], names[1]])
    assert one.paths.arcs.tolist() == other.paths.arcs.tolist()
    assert one.confidence == pytest.approx(other.confidence)


def test_where_the_best_member_is_better_its_output_stands(fitted: Fit) -> None:
    model, systems, names = fitted
    members = (0, 1, 2)
    cautious = replace(model, settings={members: replace(model.settings[members], alone=True)})
    found = cautious.decode(systems, names)
    assert errors(found.lattices, found.paths) == model.settings[members].best_member
    best = names.index(model.names[0])
    alone = model.decode(systems.order([best]), [names[best]])
    assert errors(alone.lattices, alone.paths) == model.settings[members].best_member


def test_how_sure_all_are_of_what_one_prints(fitted: Fit) -> None:
    model, systems, names = fitted
    found = model.decode(systems, names)
    assert found.names == model.names
    for name, each in zip(names, systems.hypotheses, strict=True):
        assert errors(found.lattices, found.one_best(name)) == errors(each, one_best(each))


def test_a_copy_of_a_recognizer_adds_nothing() -> None:
    recognizers, _ = corpus(6, 20, (0.2,))
    model = fit_joint(JointHypotheses.of([recognizers[0], recognizers[0]]), ["one", "copy"], options=QUICK)
    settings = model.settings[0, 1]
    assert settings.errors <= 1.05 * settings.best_member


def test_a_gain_that_is_not_sure_leaves_the_best_member_its_output(fitted: Fit) -> None:
    model, _, _ = fitted
    sure = model.settings[0, 1, 2]
    assert not sure.alone
    assert sure.best_member - sure.errors > sure.deviation > 0
    recognizers, names = corpus(4, 10, (0.3, 0.15))
    never = fit_joint(JointHypotheses.of(recognizers), names, options=replace(QUICK, least_gain=100.0))
    assert never.settings[0, 1].alone


def test_at_every_instant_confidences_sum_to_at_most_one(fitted: Fit) -> None:
    model, _, names = fitted
    fresh, _ = corpus(3, 10, (0.3, 0.15, 0.25), seed=4)
    found = model.decode(JointHypotheses.of(fresh), names)
    for number, lattice in enumerate(found.lattices):
        first, last = found.lattices.arc_offsets[number : number + 2]
        start, end = lattice.time[lattice.source], lattice.time[lattice.target]
        for instant in (lattice.time[1:] + lattice.time[:-1]) / 2:
            crossing = (start <= instant) & (instant < end)
            assert found.confidence[first:last][crossing].sum() <= 1 + 1e-6


def test_a_killed_fit_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recognizers, names = corpus(4, 10, (0.3, 0.15, 0.25))
    systems, draft = JointHypotheses.of(recognizers), tmp_path / "draft"
    whole = fit_joint(systems, names, options=QUICK)
    monkeypatch.setattr(fit, "_SUBSETS_PER_DRAFT", 2)

    def killed(done: str) -> None:
        if done.startswith("2 of"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_joint(systems, names, options=QUICK, draft=draft, notify=killed)
    assert len(load_joint(draft).settings) == 2
    monkeypatch.setattr(fit, "fit_potentials", None)  # would fail if it were fitted again
    again = fit_joint(systems, names, options=QUICK, draft=draft)
    assert again.settings == whole.settings
    assert again.threshold == whole.threshold


@pytest.mark.parametrize(
    ("at", "done"),
    [("the weights of", ["fit_potentials"]), ("the confidences", ["fit_potentials", "fit_confidences"])],
)
def test_a_kill_before_the_first_subset_costs_no_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, done: list[str]
) -> None:
    recognizers, names = corpus(4, 10, (0.3, 0.15, 0.25))
    systems, draft = JointHypotheses.of(recognizers), tmp_path / "draft"
    monkeypatch.setattr(fit, "THRESHOLDS", (0.6,))  # not the one that a model has as long as none was chosen
    whole = fit_joint(systems, names, options=QUICK)
    assert whole.threshold == 0.6

    def killed(told: str) -> None:
        if told.startswith(at):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_joint(systems, names, options=QUICK, draft=draft, notify=killed)
    assert not load_joint(draft).settings
    for name in done:
        monkeypatch.setattr(fit, name, None)  # would fail if it were fitted again
    again = fit_joint(systems, names, options=QUICK, draft=draft)
    assert (again.settings, again.threshold, again.card) == (whole.settings, whole.threshold, {})
    one, other = whole.decode(systems, names), again.decode(systems, names)
    assert one.confidence.tolist() == other.confidence.tolist()


def test_a_draft_of_something_else_is_not_used(tmp_path: Path) -> None:
    recognizers, names = corpus(4, 10, (0.3, 0.15))
    systems, draft = JointHypotheses.of(recognizers), tmp_path / "draft"
    fit_joint(systems, names, options=QUICK, draft=draft)
    other = fit_joint(systems, names, options=replace(QUICK, hidden=5), draft=draft)
    assert other.potential_models[0].word.out.shape == (5,)
    draft.write_bytes(b"nonsense")
    assert fit_joint(systems, names, options=QUICK, draft=draft).potential_models[0].word.out.shape == (4,)


def test_errors_of_many_subsets(fitted: Fit) -> None:
    model, systems, names = fitted
    done: list[int] = []
    found = joint_errors(model, systems, names, [(0, 1), (1, 2), (0, 1, 2)], jobs=2, notify=done.append)
    assert found.shape == (2, 3, 200)
    assert done == [1, 2, 3]
    all_three = model.decode(systems, names)
    assert found[0, 2].sum() == errors(all_three.lattices, all_three.paths)


def test_errors_as_written_and_with_spellings_equated() -> None:
    said = [[("met", 0.0, 0.5), (six, 0.5, 1.0), ("dogs", 1.0, 1.5)] for six in ("6", "sick")]
    notes = {REFERENCE: ("met six dogs",), SPEAKER: ("s",)}
    systems = JointHypotheses.of([replace(each, notes=notes) for each in shared(*(chain(w, 1.5) for w in said))])
    alone = JointModel(("a", "b"), (PotentialModel.new(2, 4, 0),), settings={(0, 1): SubsetSettings(alone=True)})
    assert alone.decode(systems, ["a", "b"]).errors().tolist() == [[1], [1]]  # these networks equate nothing
    assert alone.decode(systems, ["a", "b"]).errors(ALL).tolist() == [[1], [0]]
    assert joint_errors(alone, systems, ["a", "b"], [(0, 1), (1,)], equate=ALL)[:, :, 0].tolist() == [[1, 1], [0, 1]]


def test_recognizers_are_matched_by_utterance() -> None:
    (one, other), _ = corpus(2, 3, (0.2, 0.2))
    turned = concatenate(other[row : row + 1] for row in (4, 0, 2))
    first, second = align_utterances([one, turned])
    assert first.utts == second.utts == ("utt0", "utt2", "utt4")
    assert first.notes[REFERENCE] == second.notes[REFERENCE]


def test_the_file_gives_the_same_model(tmp_path: Path, fitted: Fit) -> None:
    model, systems, names = fitted
    assert model.spelling == (1.0, 1.0, 1.0)  # no word has two spellings
    model = replace(model, spelling=(0.5, 2.0, 1.0))
    save_joint(model, tmp_path / "joint")
    again = load_joint(tmp_path / "joint")
    assert again.spelling == model.spelling
    one, other = model.decode(systems, names), again.decode(systems, names)
    assert one.paths.arcs.tolist() == other.paths.arcs.tolist()
    assert one.confidence.tolist() == other.confidence.tolist()
    assert one.correct.tolist() == other.correct.tolist()
    assert [path.name for path in tmp_path.iterdir()] == ["joint"]


def broken(path: Path, about: dict[str, object], **arrays: np.ndarray) -> Path:
    """The file with other contents."""
    from wordtrust.base.tensors import read_tensors

    old, known = read_tensors(path)
    save_file({**old, **arrays}, path, {"about": json.dumps({**known, **about})})
    return path


@pytest.mark.parametrize(
    ("about", "message"),
    [
        ({"version": 1}, "no wordtrust joint model of version 2"),
        ({"kind": "something"}, "no wordtrust joint model"),
        ({"systems": ["a", "a"]}, "names of their own"),
        ({"systems": ["a", "b"]}, "are not those of its recognizers"),
        ({"folds": 10**9}, "folds"),
        ({"threshold": 2.0}, "threshold"),
        ({"trusts": -1}, "damaged"),
        ({"trusts": 5}, "damaged"),
        ({"inputs": [[], []]}, "other inputs"),
        ({"subsets": [{"members": [0, 7], "deviation": 0.0}]}, "members"),
        ({"subsets": [{"members": [0, 1], "alone": 1, "deviation": 0.0}]}, "do not fit"),
        ({"subsets": [{"members": [0, 1], "alone": True, "deviation": float("nan")}]}, "do not fit"),
        ({"subsets": 3}, "damaged"),
        ({"whole_utterances": {"calibrator": "platt", "format": 1}}, "params"),
        ({"whole_utterances": None}, "calibrator"),
        ({"spelling": [1.0]}, "votes on spellings"),
        ({"spelling": [1.0, 0.0, 1.0]}, "votes on spellings"),
        ({"spelling": [1.0, float("nan"), 1.0]}, "votes on spellings"),
    ],
)
def test_a_damaged_file_says_so(tmp_path: Path, fitted: Fit, about: dict[str, object], message: str) -> None:
    save_joint(fitted[0], tmp_path / "joint")
    with pytest.raises(InputError, match=message):
        load_joint(broken(tmp_path / "joint", about))


def test_weights_that_are_no_numbers(tmp_path: Path, fitted: Fit) -> None:
    save_joint(fitted[0], tmp_path / "joint")
    bad = load_file(tmp_path / "joint")["0.word.skip"] * np.nan
    with pytest.raises(InputError, match="no number"):
        load_joint(broken(tmp_path / "joint", {}, **{"0.word.skip": bad}))
    (tmp_path / "joint").write_bytes(b"nonsense")
    with pytest.raises(InputError, match="safetensors"):
        load_joint(tmp_path / "joint")


def test_unknown_and_repeated_recognizers(fitted: Fit) -> None:
    model, systems, _ = fitted
    with pytest.raises(OptionError, match="does not know 'x'"):
        model.decode(systems, ["r0", "r1", "x"])
    with pytest.raises(OptionError, match="once each"):
        model.decode(systems, ["r0", "r1", "r1"])


def test_references_and_speakers_are_needed() -> None:
    recognizers, names = corpus(1, 4, (0.2, 0.2))
    with pytest.raises(InputError, match="several speakers"):
        fit_joint(JointHypotheses.of(recognizers), names, options=QUICK)
    with pytest.raises(OptionError, match="names of their own"):
        fit_joint(JointHypotheses.of(recognizers), ["a", "a"], options=QUICK)
