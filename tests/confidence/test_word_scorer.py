"""A model at work: lattices or networks, one or many, what is refused, and how words are chosen."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.made_models import SAMPLE, made_model, write_model
from tests.helpers.pruned_lattices import pruned_lattices
from wordtrust import build, read
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.choice import Choice, choose, choose_for_unseen
from wordtrust.confidence.features import Arcs, matrix
from wordtrust.confidence.model_card import ModelCard
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.lattices.lattice import Floats, Lattices
from wordtrust.lattices.paths import Paths, best_confidence
from wordtrust.lattices.weights import Scales
from wordtrust.networks.word_confidence import word_confidence

SCALES = Scales(acoustic=0.7, word_penalty=-0.5)


@cache
def lattices() -> Lattices:
    sample = read(f"{SAMPLE}/lattices/flite-*.slf.gz")[:6]
    return replace(sample, origin=replace(sample.origin, recognizer="sphinx"))


@cache
def networks() -> Lattices:
    return build(lattices(), tolerance=0.05, scales=SCALES).lattices


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model", networks())


def test_a_lattice_is_scored_as_its_network(model: Path) -> None:
    scorer = wt.load(model)
    built = build(lattices(), tolerance=0.05, scales=SCALES)
    assert scorer(built) == scorer(lattices())
    for lattice, network in zip(lattices(), built, strict=True):
        transcript = scorer(lattice)
        assert transcript == scorer(network.lattice) == scorer(network)
        assert transcript.utt == lattice.utt
        assert transcript.words


def test_networks_are_built_as_those_of_training(model: Path) -> None:
    made = wt.load(model).networks(lattices())
    assert (made.scales, made.origin.tolerance) == (SCALES, 0.05)
    assert all(one.equals(other) for one, other in zip(made, networks(), strict=True))
    assert wt.load(model).networks(networks()) is networks()


def test_a_batch_is_scored_as_its_utterances(model: Path) -> None:
    scorer = wt.load(model, threads=4)
    batch, alone = scorer(lattices()), [scorer(lattice) for lattice in lattices()]
    assert [(one.utt, one.text) for one in batch] == [(one.utt, one.text) for one in alone]
    ours, theirs = ([word.confidence for one in made for word in one.words] for made in (batch, alone))
    assert ours == pytest.approx(theirs, abs=1e-5)
    assert scorer(lattices()[:0]) == []


def test_transcripts_have_the_confidences_of_the_model(model: Path) -> None:
    scorer = wt.load(model)
    confidence = scorer.confidence(networks())
    paths = best_confidence(networks(), confidence, "mean")
    shown = word_confidence(networks(), confidence, paths).tolist()
    said = networks().vocabulary.lookup(networks().word[paths.arcs_in(networks())].tolist())
    transcribed = [(word.norm, word.confidence) for transcript in scorer(lattices()) for word in transcript.words]
    assert transcribed == [(word, sure) for word, sure in zip(said, shown, strict=True) if word]
    assert 0 <= float(confidence.min()) <= float(confidence.max()) <= 1


def test_alternatives_are_as_many_as_asked_for(model: Path) -> None:
    scorer = wt.load(model)
    for count in (0, 2):
        transcripts = scorer(lattices(), alternatives=count)
        assert max(len(word.alternatives) for transcript in transcripts for word in transcript.words) == count


def test_a_model_for_another_recognizer_is_refused_unless_allowed(model: Path) -> None:
    other = replace(lattices(), origin=replace(lattices().origin, recognizer="whisper"))
    message = r"the recognizer is whisper, the model was trained for sphinx.*\"name\" in recognizer.json.*"
    message += "--allow-mismatch; allow_mismatch=True"
    for given in (other, other[0], build(other, tolerance=0.05, scales=SCALES).lattices):
        with pytest.raises(InputError, match=message):
            wt.load(model)(given)
    assert wt.load(model, allow_mismatch=True)(other) == wt.load(model)(lattices())


def test_lattices_of_an_unnamed_recognizer_are_taken(model: Path, tmp_path: Path) -> None:
    unnamed = replace(lattices(), origin=replace(lattices().origin, recognizer=""))
    assert wt.load(model)(unnamed) == wt.load(model)(lattices())
    anybodys = wt.load(write_model(tmp_path / "any", networks(), recognizer=None))
    assert anybodys(lattices()) == wt.load(model)(lattices())


@pytest.mark.parametrize(
    ("tolerance", "scales", "message"),
    [
        (0.1, SCALES, r"tolerance of 0\.1 s, the model was trained on 0\.05 s"),
        (0.05, Scales(), r"acoustic 1, transition 1, the model was trained on acoustic 0\.7, .*word_penalty -0\.5"),
    ],
)
def test_networks_built_in_another_way_are_refused_unless_allowed(
    model: Path, tolerance: float, scales: Scales, message: str
) -> None:
    other = build(lattices(), tolerance=tolerance, scales=scales).lattices
    with pytest.raises(InputError, match=message):
        wt.load(model)(other)
    assert len(wt.load(model, allow_mismatch=True)(other)) == len(other)


def test_unscaled_lattices_are_refused_by_a_model_of_scaled_ones(tmp_path: Path) -> None:
    """The model has acoustic scales for scores that are twelve times smaller."""
    made = pruned_lattices(12, acoustic_scale=1.0)
    scorer = wt.load(write_model(tmp_path / "model", build(made, scales=SCALES).lattices))
    assert made.acoustic is not None
    unscaled = replace(made, acoustic=made.acoustic * np.float32(12), scales=Scales(1 / 12))
    assert len(scorer(made)) == 12
    with pytest.raises(InputError, match=r"weighed by 0\.0833 of language scores here, by 0\.7 in the model"):
        scorer(unscaled)


@pytest.mark.parametrize("allow", [False, True])
def test_networks_without_a_needed_score_are_told(model: Path, allow: bool) -> None:
    scorer = wt.load(model, allow_mismatch=allow)
    with pytest.raises(InputError, match=r"no 'acoustic' on the arcs.*trained with it"):
        scorer(replace(networks(), acoustic=None))
    with pytest.raises(InputError, match="networks have no posteriors"):
        scorer(replace(networks(), posterior=None))


@pytest.mark.parametrize("choice", [Choice("mean"), Choice("mean-silence"), Choice("gain", 0.3)])
def test_the_choice_is_kept_in_the_model(tmp_path: Path, choice: Choice) -> None:
    scorer = wt.load(write_model(tmp_path / "m", networks(), choice=asdict(choice)))
    assert scorer.choice == choice
    confidence = scorer.confidence(networks())
    paths = best_confidence(networks(), confidence, choice.criterion, threshold=choice.threshold)
    said = networks().vocabulary.lookup(networks().word[paths.arcs_in(networks())].tolist())
    chosen = [word.norm for transcript in scorer(lattices()) for word in transcript.words]
    assert chosen == [word for word in said if word]


@pytest.mark.parametrize("criterion", ["mean-silence", "gain"])
def test_a_bonus_leads_back_to_the_recognizers_own_words(criterion: str) -> None:
    picked, confidence = networks().picked, scores(networks())
    assert picked is not None
    shares = []
    for bonus in (0.0, 0.3, 1.0):
        choice = Choice(criterion, 0.3, bonus)
        assert Choice(**choice.to_json()) == choice
        arcs = choice.paths(networks(), 1 - confidence).arcs_in(networks())
        shares.append(picked[arcs].mean())
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]
    assert picked[Choice(criterion, 0.3, 1.0).paths(networks(), confidence).arcs_in(networks())].mean() > 0.95
    unknown = replace(networks(), picked=None)
    same = Choice(criterion, 0.3).paths(networks(), confidence)
    assert Choice(criterion, 0.3, 1.0).paths(unknown, confidence).arcs.tolist() == same.arcs.tolist()


@pytest.mark.parametrize(
    "wrong", [("best", 0.5), ("gain", 1.5), ("gain", -0.1), ("gain", math.nan), ("gain", 0.5, 2)]
)
def test_an_unknown_choice_is_told(wrong: tuple[Any, ...]) -> None:
    with pytest.raises(OptionError, match="words are chosen by mean"):
        Choice(*wrong)


def test_the_fewest_errors_choose() -> None:
    wanted, counted = 5, {2: 0, 4: 0}  # by size of the batch

    def count(batch: Lattices, paths: Paths) -> int:
        """As if the choice at the index `wanted` were the best, by an error in each batch."""
        assert len(paths.offsets) == len(batch) + 1
        counted[len(batch)] += 1
        return 10 * len(batch) - int(counted[len(batch)] - 1 == wanted)

    choice, errors = choose([(part, scores(part)) for part in (networks()[:2], networks()[2:])], count)
    assert choice == Choice.all()[wanted]
    assert list(errors)[:3] == ["mean", "mean-silence", "gain 0.05"]
    assert sorted(set(errors.values())) == [58, 60]
    assert errors[str(choice)] == 58


def test_a_choice_for_unseen_recognizers_is_one_that_serves_all() -> None:
    """One choice halves the errors of one recognizer and doubles another's; another is a little good for both."""
    choices, rates = Choice.with_bonuses(), {1: {3: 0.5, 7: 0.95}, 2: {3: 2.0, 7: 0.98}}  # by size of the batch
    asked = dict.fromkeys(rates, 0)

    def count(batch: Lattices, _: Paths) -> int:
        index = asked[len(batch)]
        asked[len(batch)] += 1
        return round(100 * len(batch) * rates[len(batch)].get(index, 1.0))

    parts = [networks()[:1], networks()[1:3]]
    choice, errors = choose_for_unseen([[(part, scores(part))] for part in parts], count)
    assert choice == choices[7]
    assert errors[str(choices[3])] == 50 + 400
    assert errors[str(choice)] == 95 + 196
    assert len(errors) == len(choices)


def test_ties_go_to_the_paper() -> None:
    choice, errors = choose([(networks(), scores(networks()))], lambda _, __: 7)
    assert choice == WordScorer(made_model(networks())).choice == Choice("mean", 0.5) == Choice()
    assert list(errors.values()) == [7] * len(Choice.all())


def scores(batch: Lattices) -> Floats:
    assert batch.posterior is not None
    return batch.posterior


def test_what_a_model_has_to_know_of_its_networks() -> None:
    assert ModelCard.of_networks(networks()) == ModelCard("sphinx", tolerance=0.05, scales=SCALES)
    unnamed = replace(networks(), origin=replace(networks().origin, recognizer=""))
    assert ModelCard.of_networks(unnamed).recognizer is None


def test_an_utterance_of_silence_alone_is_scored() -> None:
    """N-best evidence is absent where nothing was said; that is no reason to refuse the utterance."""
    silent = replace(networks()[:1], word=np.zeros_like(networks()[:1].word), extra={})
    zeros = np.zeros(len(silent.source))
    assert (matrix(Arcs(silent, zeros, zeros), ("logprob", "rank", "posterior"))[:, :2] == 0).all()


def test_what_is_no_lattice_is_told(model: Path) -> None:
    scorer = wt.load(model)
    wrong: tuple[tuple[Any, str], ...] = (
        ("lat.gz", r"scorer\(wt\.read\('lat\.gz'\)\)"), (["lat.gz"], "not str: files are read with wt.read"),
        ([{"nbest": []}], r"not dict: .*wt\.from_nbest"), ({"nbest": []}, r"wt\.from_nbest"), (7, "not int"),
    )  # fmt: skip
    for given, message in wrong:
        with pytest.raises(TypeError, match=message):
            scorer(given)
    assert "not calibrated" in repr(scorer)


def test_lists_are_scored_as_batches_are(model: Path) -> None:
    scorer, batch = wt.load(model), networks()
    expected = [each.to_dict() for each in scorer(batch)]
    for given in (list(batch), [batch], (lattice for lattice in batch), [batch[:1], *batch[1:]]):
        assert [each.to_dict() for each in scorer(given)] == expected
    assert scorer([]) == []


def test_a_generic_model_that_adapts_warns_when_it_has_heard_little() -> None:
    scorer = WordScorer(made_model(networks(), generic=True, recognizer=None), allow_mismatch=True)
    with pytest.warns(wt.WordtrustWarning, match="the generic model heard 1 utterance of this recognizer"):
        one = scorer(networks()[0])
    assert one.words
    with pytest.warns(wt.WordtrustWarning, match="heard 3 utterances"):
        scorer([*networks()[:3]])
