"""Where a joint output lacks words: evidence by the definition, gradients, any subset, calibration, and the file."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wordtrust as wt
from tests.helpers.joint_data import chain, deaf_corpus
from tests.helpers.strategies import lattices
from wordtrust import InputError, build
from wordtrust.combination.joint import FitOptions, JointHypotheses, JointModel, fit_joint, load_joint, save_joint
from wordtrust.combination.joint.fit_outputs import HeldOutBlock, gap_gradients, held_out_blocks, speaker_blocks
from wordtrust.combination.joint.gap_evidence import PER_SYSTEM, SHARED, GapEvidence, gap_evidence, gap_inputs
from wordtrust.combination.joint.gap_model import GapModel, gap_rows_of
from wordtrust.combination.joint.hypotheses import MISSING_AFTER, MISSING_BEFORE, hypotheses
from wordtrust.combination.joint.union import JointLattice
from wordtrust.confidence.estimate import known_of
from wordtrust.evaluation.output_words import OutputWords
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.paths import Paths, best_paths, one_best
from wordtrust.lattices.vocabulary import Vocabulary
from wordtrust.networks.build_store import SPEAKER, noted_references
from wordtrust.networks.gaps import Gaps, missing_words
from wordtrust.networks.labels import score_paths

WORDS = ("i", "will", "sit", "there", "<sil>")
QUICK = FitOptions(hidden=4, epochs=6, batch=16, unions=2, confidence_epochs=4, draws=4, gap_hidden=4, gap_epochs=40)
networks = lattices(words=WORDS, score_sets=(("posterior",),), utt="u").map(lambda each: build(each).lattices)


def with_missing(recognizers: Sequence[Lattices], random: np.random.Generator) -> list[Lattices]:
    """As joint combination takes them, with any chance that words are missing in each gap of an output."""
    vocabulary, made = Vocabulary(), []
    for each in recognizers:
        assert each.posterior is not None
        output = one_best(each)
        sizes = np.diff(output.without_silence(each).offsets) + 1
        missing = random.uniform(0.01, 0.9, int(sizes.sum()))
        made.append(hypotheses(each, each.posterior, output, vocabulary, missing=missing, minimum=0.0))
    return made


def by_definition(union: JointLattice, paths: Paths) -> list[list[tuple[float, ...]]]:
    """For each gap and recognizer what `GapEvidence` has, from times and words alone; a single utterance."""
    found, time = union.lattices, union.lattices.time.tolist()
    ends = [(time[s], time[t]) for s, t in zip(found.source.tolist(), found.target.tolist(), strict=True)]
    word = found.word.tolist()
    beside = [-1, *(arc for arc in paths.arcs.tolist() if word[arc] > 0), -1]
    rows = []
    for one, other in pairwise(beside):
        low, lower = (ends[one][0], sum(ends[one]) / 2) if one >= 0 else (-np.inf, -np.inf)
        high, upper = (ends[other][1], sum(ends[other]) / 2) if other >= 0 else (np.inf, np.inf)
        left = int(found.target[one]) if one >= 0 else 0
        right = int(found.source[other]) if other >= 0 else len(time) - 1
        near = [a for a in range(len(word)) if word[a] > 0 and low <= sum(ends[a]) / 2 <= high]
        known = {word[one] if one >= 0 else -1, word[other] if other >= 0 else -1}
        rival = [a for a in near if word[a] not in known and lower < sum(ends[a]) / 2 < upper]
        inside = [a for a in rival if found.source[a] >= left and found.target[a] <= right]
        row = []
        for s in range(union.confidence.shape[1]):
            told = [union.missing_before[a, s] for a in near if lower <= ends[a][0] <= upper]
            told += [union.missing_after[a, s] for a in near if lower <= ends[a][1] <= upper]
            sums = [
                sum(table[a, s] for a in arcs)
                for arcs, table in (
                    (rival, union.confidence), (inside, union.confidence), (rival, union.in_output),
                    (inside, union.in_output), (rival, union.in_one_best), (near, union.in_output),
                )
            ]  # fmt: skip
            row.append((*map(float, sums), float(max(told, default=0.0))))
        rows.append(row)
    return rows


@settings(max_examples=40)
@given(st.lists(networks, min_size=1, max_size=3), st.integers(0, 1000))
def test_evidence_is_what_its_definition_says(recognizers: list[Lattices], seed: int) -> None:
    random = np.random.default_rng(seed)
    systems = JointHypotheses.of(with_missing(recognizers, random))
    union = systems.union(range(len(recognizers)))
    score = random.normal(size=len(union.lattices.word))
    paths = best_paths(union.lattices, score)
    said = gap_evidence(union, Gaps.of(union.lattices, paths))
    expected = np.array(by_definition(union, paths))
    for column, name in enumerate(GapEvidence._fields):
        np.testing.assert_allclose(getattr(said, name), expected[:, :, column], atol=1e-5, err_msg=name)
    share, chance = random.uniform(size=(2, len(score)))
    x = gap_inputs(union, Gaps.of(union.lattices, paths), said, share, chance)
    assert x.shape == (len(expected), len(recognizers) * len(PER_SYSTEM) + len(SHARED))
    assert np.isfinite(x).all()
    assert np.abs(x).max() < 20


def test_chances_stand_at_the_words_beside_their_gaps() -> None:
    heard = chain([("a", 0.0, 1.0), ("b", 2.0, 3.0)], 4.0)
    assert heard.posterior is not None
    made = hypotheses(heard, heard.posterior, one_best(heard), Vocabulary(), missing=np.array([0.1, 0.2, 0.3]))
    words = made.word > 0
    np.testing.assert_allclose(made.extra[MISSING_BEFORE][words], [0.1, 0.2], rtol=1e-6)
    np.testing.assert_allclose(made.extra[MISSING_AFTER][words], [0.2, 0.3], rtol=1e-6)
    assert not made.extra[MISSING_BEFORE][~words].any()
    told = JointHypotheses.of([made]).union([0])
    gaps = Gaps.of(told.lattices, one_best(told.lattices))
    np.testing.assert_allclose(gap_evidence(told, gaps).missing[:, 0], [0.1, 0.2, 0.3], rtol=1e-6)


def random_block(members: tuple[int, ...], seed: int = 0) -> HeldOutBlock:
    random = np.random.default_rng(seed)
    x = random.normal(size=(40, len(members) * len(PER_SYSTEM) + len(SHARED))).astype(np.float32)
    words = OutputWords(np.zeros(1, np.int64), np.zeros(0), ())
    return HeldOutBlock(0, members, x, random.random(40) < 0.3, words)


def test_gradients_are_differences() -> None:
    model, block = GapModel.new(4, 3, np.random.default_rng(1)), random_block((0, 2, 3))
    model.start_from(0.3)
    gradient = gap_gradients(model, block, 0.3)[1]
    for each in fields(model.layers):
        weights, slope = getattr(model.layers, each.name), getattr(gradient, each.name)
        index = tuple(size // 2 for size in weights.shape)
        weights[index] += 1e-2
        more = gap_gradients(model, block, 0.3)[0]
        weights[index] -= 2e-2
        less = gap_gradients(model, block, 0.3)[0]
        weights[index] += 1e-2
        assert slope[index] == pytest.approx((more - less) / 2e-2, abs=2e-3), each.name


def test_who_is_absent_is_left_out_which_is_the_same_as_inputs_of_0() -> None:
    model, block = GapModel.new(3, 4, np.random.default_rng(0)), random_block((0, 2))
    whole = np.zeros((40, 3 * len(PER_SYSTEM) + len(SHARED)), np.float32)
    whole[:, gap_rows_of((0, 2), 3)] = block.gap_inputs
    some, every = model.probability(block.gap_inputs, (0, 2)), model.probability(whole, (0, 1, 2))
    np.testing.assert_allclose(some, every, atol=1e-6)
    assert ((some > 0) & (some < 1)).all()


Fit = tuple[JointModel, JointHypotheses, list[str]]


@pytest.fixture(scope="module")
def fitted() -> Fit:
    recognizers, names = deaf_corpus(8, 20)
    systems = JointHypotheses.of(recognizers)
    return fit_joint(systems, names, options=QUICK), systems, names


@pytest.mark.slow
def test_gaps_of_new_speakers_are_told_and_calibrated_for_every_subset(fitted: Fit) -> None:
    model, _, names = fitted
    fresh, _ = deaf_corpus(6, 60, seed=1)
    told, true = list[float](), list[float]()
    for chosen in ([0, 1, 2], [0, 1], [2, 0], [1, 2], [1]):
        decoded = model.decode(JointHypotheses.of([fresh[each] for each in chosen]), [names[each] for each in chosen])
        references = noted_references(decoded.lattices)
        aligned = score_paths(decoded.lattices, decoded.paths, references).alignments
        lacks = missing_words(aligned, references.offsets) > 0
        assert decoded.missing is not None
        assert len(decoded.missing) == len(lacks) > 1000
        assert (decoded.missing[lacks][:, np.newaxis] > decoded.missing[~lacks]).mean() > 0.9
        if len(chosen) > 1:  # one alone was no subset that it was fitted on
            told.append(float(decoded.missing.mean()))
            true.append(float(lacks.mean()))
        for transcript in decoded.transcripts():
            assert transcript.gaps is not None
            assert len(transcript.gaps) == len(transcript.words) + 1
    assert np.mean(told) == pytest.approx(np.mean(true), rel=0.2)
    assert told == pytest.approx(true, rel=0.5)


@pytest.mark.slow
def test_the_order_of_recognizers_does_not_matter(fitted: Fit) -> None:
    model, systems, names = fitted
    one, other = model.decode(systems, names), model.decode(systems.order([2, 0, 1]), [names[i] for i in (2, 0, 1)])
    assert one.missing is not None
    assert other.missing is not None
    np.testing.assert_allclose(one.missing, other.missing, atol=1e-6)


@pytest.mark.slow
def test_a_fold_is_judged_by_what_never_saw_it_and_every_draw_has_everybody(fitted: Fit) -> None:
    model, systems, _ = fitted
    ordered = systems.order([["x", "y", "z"].index(name) for name in model.names])
    speakers = np.array(systems.hypotheses[0].notes[SPEAKER])
    folds = [
        ordered.take(np.flatnonzero(np.isin(speakers, part)).tolist())
        for part in np.array_split(np.unique(speakers), 4)
    ]
    for fold in folds:
        kept = [name for block in speaker_blocks(fold) for name in block.hypotheses[0].notes[SPEAKER]]
        assert kept == sorted(fold.hypotheses[0].notes[SPEAKER])
    with ThreadPoolExecutor(1) as pool:
        blocks = held_out_blocks(model, folds, list(model.settings), QUICK, pool)
    assert sum(len(block.words) for block in blocks) == 4 * len(systems)
    assert len({block.members for block in blocks}) > 1
    own = replace(model, potential_models=model.potential_models[2:3], confidence_models=model.confidence_models[2:3],
                  gap_models=(), words=None)  # fmt: skip
    block = next(block for block in blocks if block.fold == 2)
    part = speaker_blocks(folds[2])[0]
    names = [model.names[member] for member in block.members]
    words = [word.confidence for each in own.decode(part.order(block.members), names).transcripts() for word in each]
    assert words == pytest.approx(block.words.confidence.tolist(), abs=1e-9)


@pytest.mark.slow
def test_the_file_has_all_of_it_and_estimates_come_with_intervals(fitted: Fit, tmp_path: Path) -> None:
    model, systems, names = fitted
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "combination.json").write_text("{}")
    save_joint(model, folder / "joint.safetensors")
    again = load_joint(folder / "joint.safetensors")
    one, other = (each.decode(systems, names) for each in (model, again))
    assert one.missing is not None
    assert other.missing is not None
    np.testing.assert_array_equal(one.missing, other.missing)
    heard = other.transcripts()
    assert [w.confidence for each in heard for w in each] == [
        w.confidence for each in one.transcripts() for w in each
    ]
    spoken_by = dict(zip(systems.hypotheses[0].utts, systems.hypotheses[0].notes[SPEAKER], strict=True))
    estimates = wt.estimate(heard, folder, speakers=spoken_by)
    references = noted_references(one.lattices)
    counts = score_paths(one.lattices, one.paths, references).alignments.counts.sum(axis=0)
    assert estimates.corpus.deletions == pytest.approx(counts[2], rel=0.25)
    assert estimates.corpus.wer == pytest.approx(counts[1:].sum() / counts[:3].sum(), rel=0.25)
    assert known_of(folder).estimator is not None
    damaged = replace(model, gap_models=model.gap_models[:1])
    save_joint(damaged, folder / "joint.safetensors")
    with pytest.raises(InputError, match="models of gaps"):
        load_joint(folder / "joint.safetensors")
    (folder / "joint.safetensors").unlink()
    with pytest.raises(InputError, match="has no joint network"):
        wt.estimate(heard, folder)
