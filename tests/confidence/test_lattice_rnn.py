"""The scorer without torch: against torch's network, and for what torch has no say in (features, words, threads)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.model_data import WORDS, Graph, made_network, random_graph
from tests.helpers.shared import SHARED, needs_shared
from wordtrust import build, read
from wordtrust.base import blas
from wordtrust.base.blas import one_blas_thread
from wordtrust.base.errors import InputError
from wordtrust.confidence import features, word_table
from wordtrust.confidence import lattice_rnn as module
from wordtrust.confidence.config import EMBEDDINGS, MERGES, Config, weight_shapes
from wordtrust.confidence.features import Statistics
from wordtrust.confidence.lattice_rnn import LatticeRNNScorer
from wordtrust.confidence.lattice_rnn_kernels import node_levels, tanh
from wordtrust.confidence.levels import plan_levels
from wordtrust.confidence.word_table import WordTable, known_arcs
from wordtrust.lattices.lattice import Floats, Lattices, concatenate
from wordtrust.lattices.paths import best_confidence, one_best
from wordtrust.lattices.vocabulary import Vocabulary
from wordtrust.networks.build_store import REFERENCE
from wordtrust.training.dataset import Dataset

pytestmark = pytest.mark.slow

UNSEEN = ("dcba", "bb")
COLUMNS = ("silence", "phones", "posterior", "frames", "posterior_logit", "frequency", "depth")
DIMENSION = 3


def table(seed: int = 0) -> WordTable:
    rng = np.random.default_rng(seed)
    count = len(WORDS)
    return WordTable(
        WORDS,
        phones=rng.integers(0, 4, count).astype(np.int32),
        mass=rng.uniform(0, 9, count).astype(np.float32),
        vectors=rng.normal(size=(count, DIMENSION)).astype(np.float32),
    )


def statistics(columns: tuple[str, ...] = COLUMNS) -> Statistics:
    rng = np.random.default_rng(5)
    mean, spread = rng.normal(size=len(columns)), rng.uniform(0.5, 2.0, len(columns))
    return Statistics(columns, mean.astype(np.float32), spread.astype(np.float32))


def make_config(**kinds: object) -> Config:
    sizes: dict[str, object] = {"state": 5, "hidden": 4, "dimension": DIMENSION, "buckets": 16, "columns": COLUMNS}
    return Config(**(sizes | kinds))  # type: ignore[arg-type]


def make_weights(config: Config, seed: int = 0, spread: float = 0.5) -> dict[str, Floats]:
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(scale=spread, size=shape).astype(np.float32)
        for name, shape in sorted(weight_shapes(config).items())
    }


def make_scorer(config: Config, seed: int = 0, threads: int | None = None) -> LatticeRNNScorer:
    return LatticeRNNScorer(config, make_weights(config, seed), table(), statistics(config.columns), threads=threads)


def network(arcs: Graph, words: list[str], rng: np.random.Generator, utt: str = "u") -> Lattices:
    """One network, some of whose posteriors are equal."""
    posterior = rng.choice(np.linspace(0.0, 1.0, 9), len(arcs)).astype(np.float32)
    time = np.cumsum(rng.uniform(0.1, 0.5, 1 + max(target for _, target in arcs)))
    return made_network(arcs, words, utt, time=time, posterior=posterior)


def random_network(rng: np.random.Generator, index: int = 0) -> Lattices:
    """With silence and words that the table does not have."""
    arcs = random_graph(rng, int(rng.integers(2, 9)), int(rng.integers(0, 12)))
    return network(arcs, rng.choice(["", *WORDS, *UNSEEN], len(arcs)).tolist(), rng, f"u{index}")


def random_networks(seed: int, count: int) -> Lattices:
    rng = np.random.default_rng(seed)
    return concatenate(random_network(rng, index) for index in range(count))


def torch_outputs(
    config: Config, weights: dict[str, Floats], known: WordTable, stats: Statistics, nets: Lattices, gaps: Any = None
) -> tuple[Floats, Floats, Floats]:
    """Outputs and confidences of torch, in the order of the networks' arcs; features in single precision.

    And where there are gaps, the probabilities that words are missing there.
    """
    torch = pytest.importorskip("torch", reason="needs the extra `train`")
    from wordtrust.training.batches import WordInputs, make_batch
    from wordtrust.training.lattice_rnn import LatticeRNN

    arcs, words, _ = known_arcs(nets, known)
    assert known.vectors is not None
    vectors = np.pad(known.vectors, ((0, len(UNSEEN)), (0, 0)))
    everything = WordTable((*known.words, *UNSEEN), vectors=vectors)  # torch's side cannot hash others
    ahead, behind = node_levels(nets)
    assert nets.posterior is not None
    data = Dataset(
        node_offsets=nets.node_offsets,
        arc_offsets=nets.arc_offsets,
        source=nets.source,
        target=nets.target,
        level=ahead,
        level_back=behind,
        features=features.normalised(arcs, stats),  # type: ignore[arg-type]
        posterior=nets.posterior,
        label=np.zeros(len(nets.source), np.int8),
        path=np.zeros(len(nets.source), np.int8),
        word=everything.rows(words.words)[words.index],
        speaker=np.zeros(len(nets), np.uint32),
        gaps=gaps,
    )
    model = LatticeRNN(config)
    model.load_state_dict({name: torch.from_numpy(weight) for name, weight in weights.items()})
    batch = make_batch(data, np.arange(len(data)), WordInputs(everything, config), config.merge, torch.device("cpu"))
    order = plan_levels(nets.batch_source, nets.batch_target, ahead.astype(np.int64)).arc
    logits, confidence = np.empty((len(order), config.outputs), np.float32), np.empty(len(order), np.float32)
    with torch.no_grad():
        measures = model.measures(batch, model(batch))
        logits[order], confidence[order] = measures.outputs.numpy(), measures.confidence.numpy()
        missing = torch.zeros(0) if measures.gaps is None else torch.sigmoid(measures.gaps.double())
    return logits, confidence, missing.numpy()


def assert_like_torch(
    config: Config, nets: Lattices, seed: int = 0, spread: float = 0.5, input_scale: int = 1
) -> Floats:
    known, stats = table(), statistics(config.columns)
    weights = make_weights(config, seed, spread)
    weights = {name: weight * (input_scale if ".input." in name else 1) for name, weight in weights.items()}
    scorer = LatticeRNNScorer(config, weights, known, stats)
    ours, (outputs, confidence, _) = scorer.outputs(nets), torch_outputs(config, weights, known, stats, nets)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, outputs, atol=1e-4)
    spoken = nets.word > 0
    np.testing.assert_allclose(scorer.confidence(nets)[spoken], confidence[spoken], atol=1e-4)
    return ours[:, 0]


@pytest.mark.parametrize("merge", MERGES)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_equals_torch_on_random_graphs(merge: str, seed: int) -> None:
    kinds = {"merge": merge, "embedding": EMBEDDINGS[seed % 3], "skip": seed % 2 == 0}
    kinds["head"] = ("independent", "normalised")[seed // 6 % 2]
    assert_like_torch(make_config(**kinds), random_networks(seed, 5), seed)


@pytest.mark.parametrize("merge", MERGES)
def test_equals_torch_at_the_size_of_real_models(merge: str) -> None:
    logits = assert_like_torch(make_config(merge=merge, state=128, hidden=32), random_networks(3, 60), spread=0.2)
    assert logits.std() > 0.1


def test_equals_torch_where_gates_are_saturated() -> None:
    assert_like_torch(make_config(), random_networks(4, 20), input_scale=8)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_normalised_confidences_sum_to_at_most_one_at_every_instant(seed: int) -> None:
    nets = random_networks(seed, 4)
    confidence = make_scorer(make_config(head="normalised")).confidence(nets).astype(np.float64)
    for index in range(len(nets)):
        arcs = slice(nets.arc_offsets[index], nets.arc_offsets[index + 1])
        source, target, sure = nets.source[arcs], nets.target[arcs], confidence[arcs]
        is_word = nets.word[arcs] > 0
        for cut in range(target.max()):  # between one node and the next
            crossing = (source <= cut) & (target > cut)
            assert sure[crossing].sum() <= 1 + 1e-5
            assert crossing[~is_word].any() or sure[crossing].sum() < 1


@pytest.mark.parametrize("merge", MERGES)
def test_silence_only(merge: str) -> None:
    nets = network([(0, 1), (0, 1), (1, 2)], ["", "", ""], np.random.default_rng(0))
    assert_like_torch(make_config(merge=merge), nets)
    np.testing.assert_array_equal(make_scorer(make_config(merge=merge)).confidence(nets), nets.posterior)


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize(
    "arcs",
    [[(0, 1)], [(node, node + 1) for node in range(5_000)], [(0, 1)] * 3_000 + [(1, 2)] * 3_000],
    ids=["one arc", "a chain of thousands", "thousands of parallel arcs"],
)
def test_equals_torch_on_unusual_shapes(merge: str, arcs: Graph) -> None:
    rng = np.random.default_rng(0)
    assert_like_torch(make_config(merge=merge), network(arcs, rng.choice(WORDS, len(arcs)).tolist(), rng))


def real_networks(recognizer: str) -> Lattices:
    [file] = [path for path in (SHARED / recognizer).iterdir() if path.name.startswith("dev.")]
    return build(read(file)[:60]).lattices


@needs_shared
@pytest.mark.parametrize("recognizer", ["kaldi-small-2020", "whisper-base"])
def test_equals_torch_on_real_networks(recognizer: str) -> None:
    nets = real_networks(recognizer)
    columns = features.available(nets, features.FULL)
    assert_like_torch(make_config(columns=columns, state=64, embedding="none"), nets, spread=0.3)


def test_no_utterances() -> None:
    nothing = random_networks(0, 1)[:0]
    assert make_scorer(make_config()).confidence(nothing).shape == (0,)


def test_confidence_is_the_sigmoid_of_the_logit_for_words() -> None:
    nets, scorer = random_networks(1, 10), make_scorer(make_config())
    chance = 1 / (1 + np.exp(-scorer.outputs(nets)[:, 0].astype(np.float64)))
    confidence, silent = scorer.confidence(nets), nets.word == 0
    assert silent.any()
    assert nets.posterior is not None
    np.testing.assert_allclose(confidence[~silent], chance[~silent], rtol=1e-6)
    np.testing.assert_array_equal(confidence[silent], nets.posterior[silent])


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many parts, chunks and tiles also for few arcs."""
    for name, arcs in (("PART", 100), ("CHUNK", 30), ("TILE", 7)):
        monkeypatch.setattr(module, name, arcs)


@pytest.mark.parametrize("merge", MERGES)
def test_batches_and_threads_do_not_matter(small_pieces: None, merge: str) -> None:
    nets = random_networks(7, 120)
    scorers = [make_scorer(make_config(merge=merge), threads=threads) for threads in (1, 4)]
    one, four = (scorer.outputs(nets)[:, 0] for scorer in scorers)
    np.testing.assert_array_equal(one, four)
    single = np.concatenate([scorers[0].outputs(lattice.batch())[:, 0] for lattice in nets])
    np.testing.assert_allclose(one, single, atol=2e-6)


def test_many_threads_may_call_at_once(small_pieces: None) -> None:
    scorer, batches = make_scorer(make_config(), threads=2), [random_networks(seed, 20) for seed in range(16)]
    expected = [make_scorer(make_config()).outputs(batch) for batch in batches]
    with ThreadPoolExecutor(8) as pool:
        for found, wanted in zip(pool.map(scorer.outputs, batches * 3), expected * 3, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_words_are_known_by_their_spelling_in_growing_and_in_other_vocabularies() -> None:
    rng, scorer = np.random.default_rng(0), make_scorer(make_config())
    first = network([(0, 1), (1, 2)], ["ab", "zzz"], rng)
    before = scorer.outputs(first)[:, 0]
    turned = Vocabulary(["zzz", "more", "ab"])
    other = replace(first, vocabulary=turned, word=np.array([turned.id("ab"), turned.id("zzz")], np.int32))
    np.testing.assert_array_equal(scorer.outputs(other)[:, 0], before)
    grown = replace(first, word=np.array([first.vocabulary.id("new"), first.vocabulary.id("zzz")], np.int32))
    assert scorer.outputs(grown)[:, 0][0] != before[0]
    np.testing.assert_array_equal(scorer.outputs(first)[:, 0], before)


def test_forgets_words_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_table, "MOST_CACHED", 3)
    monkeypatch.setattr(word_table, "_MOST_VOCABULARIES", 2)
    scorer, config = make_scorer(make_config()), make_config()
    for seed in range(6):
        nets = random_networks(seed, 3)
        np.testing.assert_array_equal(scorer.outputs(nets)[:, 0], make_scorer(config).outputs(nets)[:, 0])


def test_tanh() -> None:
    x = np.concatenate([np.linspace(-12, 12, 20_001), [1e-30, -1e-12, 100.0, -np.inf]]).astype(np.float32)
    expected = np.tanh(x.astype(np.float64))
    approximated = np.array([tanh.py_func(value) for value in x], np.float64)  # type: ignore[attr-defined]
    np.testing.assert_allclose(approximated, expected, rtol=6e-7)
    assert np.abs(approximated).max() <= 1.0


def test_networks_without_a_score_that_the_model_needs() -> None:
    with pytest.raises(InputError, match="no 'logprob' on the arcs"):
        make_scorer(make_config(columns=("posterior", "logprob"))).outputs(random_networks(0, 1))[:, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"skip": None}, "lacks the weights 'skip'"),
        ({"more": np.zeros(1, np.float32)}, "more than it should: the weights 'more'"),
        ({"skip": np.zeros(2, np.float32)}, r"'skip' of the model are \(2,\), not \(1,\)"),
        ({"skip": np.array([np.nan], np.float32)}, "'skip' of the model are not all numbers"),
    ],
)
def test_weights_that_are_not_those_of_the_model(changes: dict[str, Floats | None], message: str) -> None:
    config = make_config()
    changed = {**make_weights(config), **changes}
    weights = {name: weight for name, weight in changed.items() if weight is not None}
    with pytest.raises(InputError, match=message):
        LatticeRNNScorer(config, weights, table(), statistics())


def test_statistics_of_other_features() -> None:
    with pytest.raises(InputError, match="statistics"):
        LatticeRNNScorer(make_config(), make_weights(make_config()), table(), statistics(COLUMNS[1:]))


def blas_threads() -> list[int]:
    return [library.get_num_threads() for library in blas.libraries()]


def test_matrix_products_have_one_thread_while_anybody_scores() -> None:
    before = blas_threads()
    first, second = one_blas_thread(), one_blas_thread()
    with first:
        second.__enter__()
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


@pytest.mark.parametrize("head", ["normalised", "independent"])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=8, deadline=None)
def test_missing_words_are_those_of_torch(head: str, seed: int) -> None:
    pytest.importorskip("torch", reason="needs the extra `train`")
    from wordtrust.training.prepare import GAIN, gaps_of

    config, nets = make_config(head=head, gap=5), random_networks(seed, 6)
    nets = replace(nets, notes={REFERENCE: ("ab abcd",) * len(nets)})
    known, stats, weights = table(), statistics(config.columns), make_weights(config, seed, 0.5)
    scorer = LatticeRNNScorer(config, weights, known, stats)
    _, _, expected = torch_outputs(config, weights, known, stats, nets, gaps_of(nets))
    assert nets.posterior is not None
    both = (one_best(nets), best_confidence(nets, nets.posterior, "gain", threshold=GAIN))
    scores, found = scorer.scores(nets), list[float]()
    of_paths = [scorer.missing(nets, scores, paths) for paths in both]
    offsets = [paths.without_silence(nets).offsets + np.arange(len(nets) + 1) for paths in both]
    for utterance in range(len(nets)):
        for missing, own in zip(of_paths, offsets, strict=True):
            assert missing is not None
            found += missing[own[utterance] : own[utterance + 1]].tolist()
    np.testing.assert_allclose(found, expected, atol=1e-3)  # torch has posteriors as logits
    assert 0 <= min(found) <= max(found) <= 1


def test_a_model_without_the_head_does_not_tell_what_is_missing() -> None:
    nets = random_networks(1, 2)
    scorer = make_scorer(make_config(head="normalised"))
    scores = scorer.scores(nets)
    assert scores.hidden is None
    assert scorer.missing(nets, scores, one_best(nets)) is None


def test_missing_words_of_several_parts_and_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    nets, scorer = random_networks(2, 9), make_scorer(make_config(head="normalised", gap=4))
    whole = scorer.missing(nets, scorer.scores(nets), one_best(nets))
    monkeypatch.setattr(module, "PART", 10)
    parts = scorer.missing(nets, scorer.scores(nets), one_best(nets))
    assert whole is not None
    assert parts is not None
    np.testing.assert_allclose(parts, whole, atol=1e-6)
    nothing = scorer.missing(nets[:0], scorer.scores(nets[:0]), one_best(nets[:0]))
    assert nothing is not None
    assert not len(nothing)
