"""A model at work: lattices or networks, one or many, what is refused, and how words are chosen."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.made_models import sample_networks, write_model
from wordtrust import build, read
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.choice import Choice, choose
from wordtrust.confidence.config import Config, weight_shapes
from wordtrust.confidence.features import Arcs, Statistics, matrix
from wordtrust.confidence.model_card import ModelCard
from wordtrust.confidence.model_file import Model, save_model
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.confidence.word_table import WordTable
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.paths import Paths, best_confidence
from wordtrust.lattices.weights import Scales
from wordtrust.networks.word_confidence import word_confidence

SAMPLE = Path(__file__).parents[2] / "src" / "wordtrust" / "sample"
SCALES = Scales(acoustic=0.7, word_penalty=-0.5)
COLUMNS = ("silence", "phones", "posterior", "frames", "acoustic", "posterior_logit", "depth")


@cache
def lattices() -> Lattices:
    found = read(f"{SAMPLE}/lattices/flite-*.slf.gz")[:6]
    return replace(found, origin=replace(found.origin, recognizer="sphinx"))


def make_model(**about: Any) -> Model:
    config = Config(state=4, hidden=3, embedding="hashed", dimension=2, buckets=16, columns=COLUMNS)
    rng = np.random.default_rng(1)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in weight_shapes(config).items()}
    statistics = Statistics(COLUMNS, np.zeros(7, np.float32), np.full(7, 20, np.float32))
    known = {"recognizer": "sphinx", "tolerance": 0.05, "scales": asdict(SCALES)}
    return Model(config, weights, WordTable(), statistics, ModelCard.from_json(known | about))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(make_model(), tmp_path / "model")
    return tmp_path / "model"


def test_a_lattice_is_scored_as_its_network(model: Path) -> None:
    scorer = wt.load(model)
    networks = build(lattices(), tolerance=0.05, scales=SCALES)
    assert scorer(networks) == scorer(lattices())
    for lattice, network in zip(lattices(), networks, strict=True):
        found = scorer(lattice)
        assert found == scorer(network.lattice) == scorer(network)
        assert found.utt == lattice.utt
        assert found.words


def test_networks_are_built_as_those_of_training(model: Path) -> None:
    made, expected = wt.load(model).networks(lattices()), build(lattices(), tolerance=0.05, scales=SCALES).lattices
    assert made.scales == SCALES
    assert made.origin.tolerance == 0.05
    assert all(one.equals(other) for one, other in zip(made, expected, strict=True))
    assert wt.load(model).networks(expected) is expected


def test_a_batch_is_scored_as_its_utterances(model: Path) -> None:
    scorer = wt.load(model)
    together = scorer(lattices())
    assert [found.utt for found in together] == list(lattices().utts)
    for found, lattice in zip(together, lattices(), strict=True):
        alone = scorer(lattice)
        assert alone.text == found.text
        assert [word.confidence for word in alone.words] == pytest.approx(
            [word.confidence for word in found.words], abs=1e-5
        )
    assert scorer(lattices()[:0]) == []


def test_several_threads_give_the_same(model: Path) -> None:
    networks = wt.load(model).networks(lattices())
    one, many = (wt.load(model, threads=threads).confidence(networks) for threads in (1, 4))
    np.testing.assert_array_equal(one, many)


def test_transcripts_have_the_confidences_of_the_model(model: Path) -> None:
    scorer = wt.load(model)
    networks = scorer.networks(lattices())
    confidence = scorer.confidence(networks)
    paths = best_confidence(networks, confidence, "mean")
    shown = word_confidence(networks, confidence, paths)
    for number, found in enumerate(scorer(lattices())):
        steps = range(paths.offsets[number], paths.offsets[number + 1])
        arcs = {step: networks.arc_offsets[number] + paths.arcs[step] for step in steps}
        words = [(networks.vocabulary[networks.word[arc]], shown[step]) for step, arc in arcs.items()]
        assert [(word.norm, word.confidence) for word in found.words] == [each for each in words if each[0]]
    assert 0 <= float(confidence.min()) <= float(confidence.max()) <= 1
    assert networks.posterior is not None
    silent = networks.word == 0
    assert silent.any()
    np.testing.assert_array_equal(confidence[silent], networks.posterior[silent])


def test_alternatives_are_as_many_as_asked_for(model: Path) -> None:
    scorer = wt.load(model)
    assert max(len(word.alternatives) for found in scorer(lattices(), alternatives=2) for word in found.words) == 2
    assert not any(word.alternatives for found in scorer(lattices(), alternatives=0) for word in found.words)


def test_a_model_for_another_recognizer_is_refused_unless_allowed(model: Path) -> None:
    other = replace(lattices(), origin=replace(lattices().origin, recognizer="whisper"))
    told = r"the recognizer is whisper, the model was trained for sphinx.*--allow-mismatch; allow_mismatch=True"
    for given in (other, other[0], build(other, tolerance=0.05, scales=SCALES).lattices):
        with pytest.raises(InputError, match=told):
            wt.load(model)(given)
    assert wt.load(model, allow_mismatch=True)(other) == wt.load(model)(lattices())


def test_lattices_of_an_unnamed_recognizer_are_taken(model: Path, tmp_path: Path) -> None:
    unnamed = replace(lattices(), origin=replace(lattices().origin, recognizer=""))
    assert wt.load(model)(unnamed) == wt.load(model)(lattices())
    save_model(make_model(recognizer=None), tmp_path / "any")
    assert wt.load(tmp_path / "any")(lattices()) == wt.load(model)(lattices())


@pytest.mark.parametrize(
    ("tolerance", "scales", "told"),
    [
        (0.1, SCALES, r"tolerance of 0\.1 s, the model was trained on 0\.05 s"),
        (0.05, Scales(), r"acoustic 1, transition 1, the model was trained on acoustic 0\.7, .*word_penalty -0\.5"),
    ],
)
def test_networks_built_in_another_way_are_refused_unless_allowed(
    model: Path, tolerance: float, scales: Scales, told: str
) -> None:
    networks = build(lattices(), tolerance=tolerance, scales=scales).lattices
    with pytest.raises(InputError, match=told):
        wt.load(model)(networks)
    assert len(wt.load(model, allow_mismatch=True)(networks)) == len(networks)


def test_a_recognizer_without_a_needed_score_is_told_even_if_allowed(model: Path) -> None:
    networks = replace(build(lattices(), tolerance=0.05, scales=SCALES).lattices, acoustic=None)
    for allow in (False, True):
        with pytest.raises(InputError, match=r"no 'acoustic' on the arcs.*trained with it"):
            wt.load(model, allow_mismatch=allow)(networks)


def test_networks_without_posteriors_are_told() -> None:
    """A store may claim anything, also where the model's features do not ask for them."""
    config = replace(make_model().config, columns=("frames", "acoustic"))
    weights = {name: np.zeros(shape, np.float32) for name, shape in weight_shapes(config).items()}
    statistics = Statistics(config.columns, np.zeros(2, np.float32), np.ones(2, np.float32))
    scorer = WordScorer(Model(config, weights, WordTable(), statistics, ModelCard()))
    networks = replace(build(lattices()).lattices, posterior=None)
    with pytest.raises(InputError, match="no posteriors"):
        scorer(networks)


@pytest.mark.parametrize("choice", [Choice("mean"), Choice("mean-silence"), Choice("gain", 0.3)])
def test_the_choice_is_kept_in_the_model(tmp_path: Path, choice: Choice) -> None:
    save_model(make_model(choice=asdict(choice)), tmp_path / "m")
    scorer = wt.load(tmp_path / "m")
    assert scorer.choice == choice
    networks = scorer.networks(lattices())
    confidence = scorer.confidence(networks)
    paths = best_confidence(networks, confidence, choice.criterion, threshold=choice.threshold)
    arcs = paths.arcs_in(networks)
    said = [word for word in networks.vocabulary.lookup(networks.word[arcs].tolist()) if word]
    assert [word.norm for found in scorer(lattices()) for word in found.words] == said


def test_the_paper_chooses_where_nothing_is_said() -> None:
    assert WordScorer(make_model()).choice == Choice("mean", 0.5) == Choice()


@pytest.mark.parametrize("wrong", [("best", 0.5), ("gain", 1.5), ("gain", -0.1), ("gain", float("nan"))])
def test_an_unknown_choice_is_told(wrong: tuple[str, float]) -> None:
    with pytest.raises(OptionError, match="words are chosen by mean"):
        Choice(*wrong)


def test_the_fewest_errors_choose() -> None:
    networks = WordScorer(make_model()).networks(lattices())
    wanted, counted = 5, {2: 0, 4: 0}  # by size of the batch

    def count(batch: Lattices, paths: Paths) -> int:
        """As if the way number `wanted` were the best, by an error in each batch."""
        assert len(paths.offsets) == len(batch) + 1
        counted[len(batch)] += 1
        return 10 * len(batch) - int(counted[len(batch)] - 1 == wanted)

    assert networks.posterior is not None
    scored = [(part, part.posterior) for part in (networks[:2], networks[2:]) if part.posterior is not None]
    found, errors = choose(scored, count)
    assert found == Choice.all()[wanted]
    assert list(errors)[:3] == ["mean", "mean-silence", "gain 0.05"]
    assert sorted(set(errors.values())) == [58, 60]
    assert errors[f"gain {found.threshold:g}"] == 58


def test_ties_go_to_the_paper() -> None:
    networks = WordScorer(make_model()).networks(lattices())
    assert networks.posterior is not None
    found, errors = choose([(networks, networks.posterior)], lambda _, __: 7)
    assert found == Choice("mean")
    assert set(errors.values()) == {7}
    assert len(errors) == len(Choice.all())


def test_what_a_model_has_to_know_of_its_networks() -> None:
    networks = build(lattices(), tolerance=0.05, scales=SCALES).lattices
    assert ModelCard.of_networks(networks) == ModelCard("sphinx", tolerance=0.05, scales=SCALES)
    unnamed = replace(networks, origin=replace(networks.origin, recognizer=""))
    assert ModelCard.of_networks(unnamed).recognizer is None


def test_an_utterance_of_silence_alone_is_scored() -> None:
    """N-best evidence is absent where nothing was said; that is no reason to refuse the utterance."""
    networks = sample_networks()
    silent = replace(networks[:1], word=np.zeros_like(networks[:1].word), extra={})
    zeros = np.zeros(len(silent.source))
    found = matrix(Arcs(silent, zeros, zeros), ("logprob", "rank", "posterior"))
    assert (found[:, :2] == 0).all()


def test_what_is_no_lattice_is_told(tmp_path: Path) -> None:
    networks = sample_networks()
    scorer = wt.load(write_model(tmp_path / "m", networks))
    with pytest.raises(TypeError, match="not list"):
        scorer([networks[0]])  # type: ignore[call-overload]
    assert "not calibrated" in repr(scorer)
