"""How long joint combination takes for all subsets of nine recognizers, after scoring.

The recognizers are made up: 13 words an utterance with a rival beside each. Run with `python -m benchmarks joint`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations

import numpy as np

from wordtrust.base.problems import Problems
from wordtrust.combination.joint import FitOptions, JointHypotheses, JointModel, hypotheses
from wordtrust.combination.joint.arc_models import PotentialModel, inputs, marginals
from wordtrust.combination.joint.evidence import evidence
from wordtrust.combination.joint.model import THRESHOLD, best_words
from wordtrust.lattices.assemble import Builder, RawLattice, Tokens
from wordtrust.lattices.lattice import Lattices, Origin, concatenate
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.posterior import FlatGraph
from wordtrust.lattices.vocabulary import Vocabulary

RECOGNIZERS, UTTERANCES, WORDS = 9, 930, 13
FOLDS = FitOptions().folds
SUBSETS = 25  # every twentieth of 502; the rest is scaled


def _recognizer(said: list[list[str]], chance: float, seed: int) -> Lattices:
    """Words with a rival beside each, some of them wrong, on a clock of its own."""
    random, builder = np.random.default_rng(seed), Builder(Tokens(), Problems(), origin=Origin())
    parts: list[Lattices] = []
    for number, words in enumerate(said):
        times = np.concatenate([[0.0], np.cumsum(random.uniform(0.2, 0.5, len(words)))])
        heard = [f"w{random.integers(500)}" if random.random() < chance else word for word in words]
        tokens = [token for word in heard for token in (word, f"w{random.integers(500)}")]
        places = np.repeat(np.arange(len(words), dtype=np.int32), 2)
        parts += builder.add(RawLattice(
            utt=f"u{number}", time=times, source=places, target=places + 1, token=tokens, start=0, end=len(words),
            posterior=np.tile([0.8, 0.15], len(words)), picked=np.tile([True, False], len(words)),
        ))  # fmt: skip
    return concatenate([*parts, *builder.flush()])


def _systems() -> JointHypotheses:
    random, vocabulary = np.random.default_rng(0), Vocabulary()
    said = [[f"w{word}" for word in random.integers(500, size=WORDS)] for _ in range(UTTERANCES)]
    made = []
    for number in range(RECOGNIZERS):
        networks = _recognizer(said, 0.05 * (number + 1), number)
        assert networks.posterior is not None
        made.append(hypotheses(networks, networks.posterior, one_best(networks), vocabulary))
    return JointHypotheses.of([replace(one, notes={}) for one in made])


def _stages(systems: JointHypotheses, model: PotentialModel, subset: tuple[int, ...]) -> list[float]:
    """Seconds for the union, its evidence, and weighing and decoding."""
    moments = [time.perf_counter()]
    union = systems.union(subset)
    moments.append(time.perf_counter())
    gathered = evidence(union)
    moments.append(time.perf_counter())
    lattices = union.lattices
    potential = model.potentials(inputs(union, gathered), lattices.word == 0, subset)
    best_words(union, marginals(FlatGraph.of(lattices), potential), THRESHOLD)
    moments.append(time.perf_counter())
    return np.diff(moments).tolist()


def run() -> None:
    """Print seconds for all subsets, by stage, and for the nine together."""
    systems, model = _systems(), PotentialModel.new(RECOGNIZERS, 32, 0)
    every = [subset for size in range(2, RECOGNIZERS + 1) for subset in combinations(range(RECOGNIZERS), size)]
    _stages(systems, model, (0, 1))  # compiles the kernels
    chosen = every[:: len(every) // SUBSETS]  # of all sizes
    union, looking, weighing = np.sum([_stages(systems, model, subset) for subset in chosen], axis=0)
    scale, total = len(every) / len(chosen), union + looking + weighing
    print(
        f"{len(every)} subsets of {RECOGNIZERS} recognizers, {UTTERANCES} utterances: {total * scale:.0f} s "
        f"(union {union * scale:.0f} s, evidence {looking * scale:.0f} s, weighing and decoding "
        f"{weighing * scale:.0f} s; {len(chosen)} subsets timed)"
    )
    joint = JointModel(tuple(f"r{number}" for number in range(RECOGNIZERS)), (model,) * FOLDS)
    begin = time.perf_counter()
    joint.decode(systems, joint.names)
    print(f"all {RECOGNIZERS} together: {time.perf_counter() - begin:.2f} s")


if __name__ == "__main__":
    run()
