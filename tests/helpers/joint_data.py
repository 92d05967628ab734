"""Small networks of several recognizers, for tests of joint combination."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.helpers.strategies import assembled
from wordtrust.combination.joint.hypotheses import hypotheses
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.vocabulary import Vocabulary
from wordtrust.networks.build_store import REFERENCE, SPEAKER

Words = list[tuple[str, float, float]]  # word, start, end


def chain(words: Words, end: float, confidence: float = 0.9, utt: str = "utt") -> Lattices:
    """A single hypothesis, with silence in its gaps."""
    times, tokens = [0.0], []
    for word, start, stop in words:
        if start > times[-1]:
            times.append(start)
            tokens.append("<sil>")
        times.append(stop)
        tokens.append(word)
    if end > times[-1] or not tokens:
        times.append(end)
        tokens.append("<sil>")
    ends = [(place, place + 1) for place in range(len(tokens))]
    lattice = assembled(utt, time=times, ends=ends, tokens=tokens, posterior=[confidence] * len(tokens))
    return replace(lattice.batch(), picked=np.ones(len(tokens), bool))


def shared(*recognizers: Lattices) -> list[Lattices]:
    """Recognizers as joint combination takes them: all that they hold possible, words numbered alike."""
    vocabulary, made = Vocabulary(), []
    for each in recognizers:
        assert each.posterior is not None
        made.append(hypotheses(each, each.posterior, one_best(each), vocabulary, minimum=0.0))
    return made


def corpus(
    speakers: int, utterances: int, error: tuple[float, ...], seed: int = 0
) -> tuple[list[Lattices], list[str]]:
    """Recognizers that get words wrong with the given chances, and know a little about it."""
    random, names = np.random.default_rng(seed), [f"r{number}" for number in range(len(error))]
    vocabulary = [f"w{number}" for number in range(30)]
    parts: list[list[Lattices]] = [[] for _ in error]
    references, spoken_by = [], []
    for number in range(speakers * utterances):
        said = random.choice(vocabulary, int(random.integers(2, 7))).tolist()
        references.append(" ".join(said))
        spoken_by.append(f"speaker{number % speakers}")
        for part, chance in zip(parts, error, strict=True):
            part.append(_heard(said, chance, random, vocabulary, f"utt{number}"))
    notes = {REFERENCE: tuple(references), SPEAKER: tuple(spoken_by)}
    made = [replace(each, notes=notes) for each in shared(*(concatenate(part) for part in parts))]
    return made, names


def _heard(said: list[str], chance: float, random: np.random.Generator, vocabulary: list[str], utt: str) -> Lattices:
    """Each word with a rival beside it; the surer of the two is the output."""
    times = np.concatenate([[0.0], np.cumsum(random.uniform(0.2, 0.5, len(said)))])
    ends, tokens, sure, picked = [], [], [], []
    for place, word in enumerate(said):
        wrong = random.random() < chance
        first = float(random.uniform(0.5, 0.8) if wrong else random.uniform(0.6, 0.95))
        alike = vocabulary[(vocabulary.index(word) + 1) % len(vocabulary)]  # recognizers err alike
        other = alike if random.random() < 0.8 else str(random.choice(vocabulary))
        for spoken, confidence in ((other if wrong else word, first), (word if wrong else other, 0.9 * (1 - first))):
            ends.append((place, place + 1))
            tokens.append(spoken)
            sure.append(confidence)
            picked.append(confidence == first)
    lattice = assembled(utt, time=times, ends=ends, tokens=tokens, posterior=sure, picked=picked)
    return lattice.batch()


def deaf_corpus(speakers: int, utterances: int, seed: int = 0) -> tuple[list[Lattices], list[str]]:
    """Three recognizers that miss words, each alone or all of them where nothing but a pause tells; and err."""
    random, vocabulary = np.random.default_rng(seed), [f"w{number}" for number in range(20)]
    parts, said, spoken_by = [list[Lattices]() for _ in range(3)], list[str](), list[str]()
    for number in range(speakers * utterances):
        words = random.choice(vocabulary, int(random.integers(3, 7))).tolist()
        lost = random.random((4, len(words))) < np.array([[0.1], [0.1], [0.1], [0.12]])
        said.append(" ".join(words))
        spoken_by.append(f"speaker{number % speakers}")
        for part, own in zip(parts, lost[:3], strict=True):
            heard = [word if random.random() > 0.05 else str(random.choice(vocabulary)) for word in words]
            timed: Words = [(word, place, place + 0.9) for place, word in enumerate(heard)]
            gone = own | lost[3]
            sure = float(random.uniform(0.7, 0.95))
            part.append(
                chain([w for w, out in zip(timed, gone, strict=True) if not out], len(words), sure, f"u{number}")
            )
    notes = {REFERENCE: tuple(said), SPEAKER: tuple(spoken_by)}
    return [replace(each, notes=notes) for each in shared(*map(concatenate, parts))], ["x", "y", "z"]
