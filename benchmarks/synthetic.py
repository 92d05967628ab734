"""Made-up lattices with the statistics of real ones, the same for the same seed: for benchmarks without real data.

As in the lattices of a Kaldi recognizer over read sentences: 320 arcs and 133 nodes an utterance in the mean, sizes
spread like a log-normal variable (half of them have fewer than 120 arcs), one arc in seven silent, words as frequent
as Zipf's law has it, times in frames of 30 ms, scores with four decimals that often come again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wordtrust.base.problems import Problems
from wordtrust.lattices.assemble import Builder, RawLattice, Tokens
from wordtrust.lattices.lattice import Floats, Ints, Lattices, Origin

FRAME = 0.03
UTTERANCES = 4_241
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"
_SILENT = 0.14
_LONGEST = 15_000  # arcs


def words(count: int = 10_000) -> list[str]:
    """Different made-up words, short ones first: ba, be, ..., baba, babe, ..."""
    syllables = [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]
    made, longest = list(syllables), list(syllables)
    while len(made) < count:
        longest = [word + syllable for word in longest for syllable in syllables][: count - len(made)]
        made += longest
    return made[:count]


def lattices(utterances: int = UTTERANCES, *, vocabulary: int = 10_000, seed: int = 0) -> Iterator[Lattices]:
    """Batches of made-up lattices."""
    random = np.random.default_rng(seed)
    tokens = Tokens()
    silence = tokens.id("<eps>")
    numbers = tokens.ids(words(vocabulary))
    builder = Builder(tokens, Problems(), origin=Origin("synthetic", "synthetic", frame_length=FRAME))
    sizes = np.clip(np.exp(random.normal(4.86, 1.38, utterances)), 3, _LONGEST).astype(int)
    for number, arcs in enumerate(sizes.tolist()):
        nodes = max(2, min(arcs, round(1.9 * arcs**0.77)))
        source, target = _graph(random, nodes, arcs)
        token = numbers[_zipf(random, vocabulary, arcs)]
        token[random.random(arcs) < _SILENT] = silence
        lattice = RawLattice(
            utt=f"synthetic-{number:06d}",
            time=np.round(np.cumsum(random.integers(0, 8, nodes)) * FRAME, 4),
            source=source,
            target=target,
            token=token,
            start=0,
            end=nodes - 1,
            place=number,
            acoustic=_scores(random, arcs),
            transition=_scores(random, arcs),
        )
        yield from builder.add(lattice)
    yield from builder.flush()


def _graph(random: np.random.Generator, nodes: int, arcs: int) -> tuple[Ints, Ints]:
    """A chain through all nodes, and further arcs that skip a few of them."""
    source = random.integers(0, nodes - 1, max(0, arcs - nodes + 1))
    target = np.minimum(source + random.geometric(0.15, len(source)), nodes - 1)
    chain = np.arange(nodes - 1)
    return np.concatenate([chain, source]).astype(np.int32), np.concatenate([chain + 1, target]).astype(np.int32)


def _zipf(random: np.random.Generator, vocabulary: int, size: int) -> Ints:
    """Ranks with a probability that falls like one over the rank."""
    ranks: Ints = (np.exp(random.random(size) * np.log(vocabulary + 1)) - 1).astype(np.int32)
    return ranks


def _scores(random: np.random.Generator, size: int) -> Floats:
    """Scores of which every second one stands elsewhere in the lattice as well."""
    scores = np.round(random.normal(-20, 25, size), 4).astype(np.float32)
    again = random.random(size) < 0.5
    scores[again] = scores[random.integers(0, size, int(again.sum()))]
    return scores
