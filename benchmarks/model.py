"""How fast the lattice RNN scores and trains, on one thread, against a plain PyTorch loop over arcs in the same run.

Run with `python -m benchmarks.model`. State 128, hidden 32, LSTM, merging by the mean. Networks are made up (200 arcs
each), and real where the developers' data are. Ours includes everything from networks to logits (features, words,
batches); the plain loops are given the inputs of their arcs. Seconds are those of the processor, since other work on
the machine slows any of them; each is the best of some rounds, all ways in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from torch.nn.functional import binary_cross_entropy_with_logits

from benchmarks import synthetic
from benchmarks.plain.lattice_rnn import PublishedLatticeRNN, TunedLatticeRNN
from benchmarks.timing import SHARED, best
from wordtrust import build, read
from wordtrust.base.problems import Problems
from wordtrust.confidence.config import Config
from wordtrust.confidence.lattice_rnn import LatticeRNNScorer
from wordtrust.confidence.model_card import ModelCard
from wordtrust.confidence.trees import NETWORK_INPUTS, Trees
from wordtrust.lattices.assemble import Builder, RawLattice, Tokens
from wordtrust.lattices.lattice import Floats, Lattices, Origin, concatenate
from wordtrust.networks.build_store import LABEL, REFERENCE
from wordtrust.training.batches import WordInputs, make_batch
from wordtrust.training.dataset import Dataset
from wordtrust.training.lattice_rnn import LatticeRNN
from wordtrust.training.prepare import PrepareOptions, prepare
from wordtrust.training.trees import DEPTH, TREES
from wordtrust.training.worker import keep_freed_memory

REAL = ("kaldi-small-2020/dev.ark.gz", "whisper-base/dev.jsonl.gz")
ARCS, NODES, UTTERANCES = 200, 54, 200  # of made-up networks: as many nodes an arc as real ones
PLAIN_ARCS, SINGLE = 1_500, 100  # arcs for the plain loops; utterances scored one by one
BATCH = 8_000  # arcs of a batch of training
LATENCY_ARCS = 100
CPU = torch.device("cpu")


def made_up() -> Lattices:
    """Networks of 200 arcs."""
    random, tokens = np.random.default_rng(0), Tokens()
    ids = tokens.ids(["<eps>", *synthetic.words(5_000)])
    builder = Builder(tokens, Problems(), origin=Origin("made up", "made up"))
    for number in range(UTTERANCES):
        chain = np.arange(NODES - 1)
        source = np.concatenate([chain, random.integers(0, NODES - 1, ARCS - len(chain))])
        step = np.concatenate([chain * 0 + 1, random.integers(1, 5, ARCS - len(chain))])
        words = np.exp(random.random(ARCS) * np.log(len(ids))).astype(int) - 1
        made = builder.add(RawLattice(
            utt=f"made-up-{number}", time=np.linspace(0.0, 10.0, NODES), source=source.astype(np.int32),
            target=np.minimum(source + step, NODES - 1).astype(np.int32), token=ids[words], start=0, end=NODES - 1,
            place=number, acoustic=random.normal(-1, 1, ARCS).astype(np.float32),
            transition=random.normal(-1, 1, ARCS).astype(np.float32),
        ))  # fmt: skip
        assert not list(made)
    return build(concatenate(builder.flush())).lattices


def made_up_trees(columns: int) -> Trees:
    """As many and as deep as those that come with models."""
    random, shape = np.random.default_rng(0), (TREES, (1 << DEPTH) - 1)
    return Trees(
        random.integers(0, columns + NETWORK_INPUTS, shape).astype(np.uint8),
        random.normal(size=shape).astype(np.float32), np.zeros(shape, np.uint8),
        random.normal(scale=0.01, size=(TREES, 1 << DEPTH)).astype(np.float32), 0.25, 1.0, True,
    )  # fmt: skip


@dataclass(frozen=True)
class Job:
    """Networks, a model, and the same for the plain loops."""

    networks: Lattices
    data: Dataset
    words: WordInputs
    network: LatticeRNN
    scorer: LatticeRNNScorer
    inputs: Floats  # [arcs, inputs] what cells see

    @classmethod
    def of(cls, networks: Lattices, head: str = "independent", *, with_trees: bool = False) -> Job:
        """With random labels and weights, and nothing said: none of it changes the speed."""
        right = np.random.default_rng(0).integers(0, 2, len(networks.source)).astype(np.float32)
        said = {**networks.notes, REFERENCE: ("",) * len(networks)}
        networks = replace(networks, extra={**networks.extra, LABEL: right}, notes=said)
        made = prepare(lambda: [networks], lambda: [networks], PrepareOptions(), ModelCard())
        config = Config(columns=made.statistics.columns, head=head)
        torch.manual_seed(0)
        network = LatticeRNN(config)
        torch.nn.init.normal_(network.output.weight)
        weights = {name: weight.numpy() for name, weight in network.state_dict().items()}
        trees = made_up_trees(len(config.columns)) if with_trees else None
        scorer = LatticeRNNScorer(config, weights, made.table, made.statistics, threads=1, trees=trees)
        words = WordInputs(made.table, config)
        return cls(networks, made.dev, words, network, scorer, scorer._inputs(networks)[1][:, :-1])

    def score(self) -> Floats:
        """All utterances at once."""
        return self.scorer.confidence(self.networks)

    def train(self) -> None:
        """One pass over all utterances."""
        optimizer = torch.optim.Adam(self.network.parameters())
        for chosen in self.data.batches(BATCH):
            batch = make_batch(self.data, chosen, self.words, "mean", CPU)
            measures = self.network.measures(batch, self.network(batch))
            _step(optimizer, measures.loss(batch, 1.0) / batch.arcs)

    def plain(self, kind: type[PublishedLatticeRNN]) -> tuple[PublishedLatticeRNN, list[Example], int]:
        """A plain model with the same weights, the first utterances for it, and how many arcs they have."""
        config, state = self.scorer.config, self.network.state_dict()
        model = kind(config.inputs, config.state, config.hidden)
        given = {name: weight for name, weight in state.items() if name.startswith(("hidden", "output"))}
        for way in ("forwards", "backwards"):
            bias = state[f"{way}.input.bias"] + state[f"{way}.recurrent.bias"]
            given |= {f"{way}.weight_ih": state[f"{way}.input.weight"], f"{way}.bias_ih": bias}
            given |= {f"{way}.weight_hh": state[f"{way}.recurrent.weight"], f"{way}.bias_hh": torch.zeros_like(bias)}
        model.load_state_dict({name: given[name] for name in model.state_dict()})
        count = int(np.searchsorted(self.networks.arc_offsets, PLAIN_ARCS))
        examples = [self._example(number) for number in range(count)]
        return model, examples, int(self.networks.arc_offsets[count])

    def _example(self, number: int) -> Example:
        rows, one = slice(*self.networks.arc_offsets[number : number + 2]), self.networks[number]
        assert one.posterior is not None
        logit = torch.logit(torch.from_numpy(one.posterior.astype(np.float64)), eps=1e-7).float()
        inputs = torch.from_numpy(self.inputs[rows].copy())
        label = torch.from_numpy((self.data.label[rows] == 1).astype(np.float32))
        return Example((inputs, one.source.tolist(), one.target.tolist(), one.nodes, logit), label)


@dataclass(frozen=True)
class Example:
    """One utterance for a plain loop."""

    given: tuple[torch.Tensor, list[int], list[int], int, torch.Tensor]
    label: torch.Tensor


def _step(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()


def _plain_score(model: PublishedLatticeRNN, examples: list[Example]) -> list[torch.Tensor]:
    with torch.no_grad():
        return [model(*example.given) for example in examples]


def _plain_train(model: PublishedLatticeRNN, examples: list[Example]) -> None:
    optimizer = torch.optim.Adam(model.parameters())
    for example in examples:
        _step(optimizer, binary_cross_entropy_with_logits(model(*example.given), example.label))


def _best(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of the processor that each takes."""
    for work in works.values():
        work()  # compiles, and meets all words
    return dict(zip(works, best(*works.values(), rounds=5, clock=time.process_time), strict=True))


def _peak() -> float:
    """FLOP a second of a large matrix product."""
    one = np.random.default_rng(0).random((1_536, 1_536), np.float32)
    seconds = _best({"product": lambda: one @ one})["product"]
    return 2.0 * len(one) ** 3 / seconds


def _flops(networks: Lattices, config: Config) -> float:
    """Of the matrix products of one arc: inputs of arcs, states of nodes that are not ends, hidden layer."""
    arcs, inner = len(networks.source), len(networks.time) - 2 * len(networks)
    directions = 2 * (config.inputs * config.gates * arcs + config.state * config.gates * inner)
    return 2.0 * (directions + 2 * config.state * config.hidden * arcs) / arcs


def measure(name: str, networks: Lattices) -> None:
    """Print arcs a second and ratios."""
    job, peak = Job.of(networks), _peak()
    (published, examples, few), (tuned, *_) = job.plain(PublishedLatticeRNN), job.plain(TunedLatticeRNN)
    expected = torch.cat(_plain_score(published, examples)).numpy()
    assert np.allclose(job.scorer.outputs(networks)[:few, 0], expected, atol=1e-3), "the two disagree"
    normalised, corrected = (Job.of(networks, "normalised", with_trees=with_trees) for with_trees in (False, True))
    singles = [lattice.batch() for lattice in networks[:SINGLE]]
    works: dict[str, tuple[int, Callable[[], object]]] = {
        "in batches": (len(networks.source), job.score),
        "one by one": (sum(len(one.source) for one in singles), lambda: list(map(job.scorer.confidence, singles))),
        "training": (len(networks.source), job.train),
        "normalised": (len(networks.source), normalised.score),
        "with trees": (len(networks.source), corrected.score),
        "normalised training": (len(networks.source), normalised.train),
        "published": (few, lambda: _plain_score(published, examples)),
        "tuned": (few, lambda: _plain_score(tuned, examples)),
        "published training": (few, lambda: _plain_train(published, examples)),
        "tuned training": (few, lambda: _plain_train(tuned, examples)),
    }
    seconds = _best({way: work for way, (_, work) in works.items()})
    speed = {way: arcs / seconds[way] for way, (arcs, _) in works.items()}
    flops = _flops(networks, job.scorer.config)
    print(
        f"{name}: {len(networks):,} networks, {len(networks.source):,} arcs, "
        f"{len(networks.source) / len(networks.time):.1f} a node, {flops / 1e3:.0f} kFLOP an arc"
    )
    print(
        f"  normalised confidences: {speed['normalised'] / speed['in batches']:.2f} of that speed in scoring, "
        f"{speed['normalised training'] / speed['training']:.2f} in training; with trees beside the network "
        f"{speed['with trees'] / speed['normalised']:.2f} of their speed in scoring"
    )
    for way, cost, kind in (("in batches", 1, ""), ("one by one", 1, ""), ("training", 3, " training")):
        plain, better = speed["published" + kind], speed["tuned" + kind]
        print(
            f"  {way}: {speed[way]:,.0f} arcs/s, {cost * flops * speed[way] / peak:.0%} of the peak of matrix "
            f"products ({peak / 1e9:.0f} GFLOP/s); {speed[way] / plain:.1f} times a plain loop ({plain:,.0f}), "
            f"{speed[way] / better:.1f} times a tuned one ({better:,.0f})"
        )


def _latency(networks: Lattices) -> None:
    """Print how long one utterance takes, alone."""
    sizes = np.diff(networks.arc_offsets)
    one = networks[int(np.argmin(np.abs(sizes - LATENCY_ARCS)))].batch()
    scorer = Job.of(networks).scorer
    seconds = _best({"one": lambda: [scorer.confidence(one) for _ in range(20)]})["one"] / 20
    print(f"one utterance of {len(one.source)} arcs, alone, features included: {seconds * 1e3:.2f} ms")


def run() -> None:
    """Print arcs a second, shares of the peak, and ratios to the plain loops."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    keep_freed_memory()  # as training does
    with threadpool_limits(1, user_api="blas"):
        sets = {"made up": made_up()}
        sets |= {
            path.partition("/")[0]: build(read(SHARED / path)).lattices for path in REAL if (SHARED / path).is_file()
        }
        for name, networks in sets.items():
            measure(name, networks)
        _latency(list(sets.values())[min(1, len(sets) - 1)])
    torch.set_num_threads(threads)


if __name__ == "__main__":
    run()
