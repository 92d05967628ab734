"""How fast all 502 subsets of nine recognizers on 1,000 utterances are combined, against the same in plain Python.

Plain Python works on a few subsets, which are then compared subset by subset. Both have the same output words with
confidences at hand. All seconds are of one core. Run with `python -m benchmarks combine`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.plain.rover import rover as plain_rover
from benchmarks.synthetic import words as made_up_words
from benchmarks.timing import best_cpu
from wordtrust.combination.error_regression import ErrorRegression
from wordtrust.combination.rover import RoverSettings, grid, rover_errors, tune_rover
from wordtrust.combination.subset_comparison import (
    all_subsets,
    compare_subsets,
    errors_of,
    mean_confidence,
    select_system,
)
from wordtrust.combination.system_output import SystemOutput, SystemOutputs
from wordtrust.formats.references import Reference
from wordtrust.lattices.vocabulary import Vocabulary
from wordtrust.networks.align import align

UTTERANCES, WORDS, RECOGNIZERS = 1_000, 10, 9
PLAIN = 8  # subsets that plain Python works on, of all sizes
VOTING = RoverSettings("average", 0.5, 0.5)


def recognizers(seed: int = 0) -> SystemOutputs:
    """Recognizers that mishear 7 to 40% of the words, leave out or add some, and know it in part."""
    random, vocabulary = np.random.default_rng(seed), made_up_words(5_000)
    sizes = np.maximum(1, random.poisson(WORDS, UTTERANCES))
    said = [[vocabulary[number] for number in random.integers(0, 5_000, size)] for size in sizes.tolist()]
    systems = {}
    for number, rate in enumerate(np.linspace(0.07, 0.4, RECOGNIZERS).tolist()):
        systems[f"recognizer-{number}"] = _heard(random, said, rate, vocabulary)
    known = {
        f"u{number:04d}": Reference(f"u{number:04d}", "", tuple(words), f"s{number % 50}")
        for number, words in enumerate(said)
    }
    return SystemOutputs.of(systems, known)


def _heard(
    random: np.random.Generator, said: Sequence[Sequence[str]], rate: float, words: Sequence[str]
) -> SystemOutput:
    vocabulary, number, offsets = Vocabulary(), [], [0]
    right: list[bool] = []
    for utterance in said:
        for word in utterance:
            wrong = random.random() < rate
            kind, one, other = random.integers(0, [4, 5_000, 5_000]).tolist()
            heard = [words[one] if wrong else word]
            if wrong and kind == 1:  # one in four errors is a deletion, and one an insertion
                heard = []
            elif wrong and kind == 2:
                heard.append(words[other])
            number += [vocabulary.id(word) for word in heard]
            right += [not wrong] * len(heard)
        offsets.append(len(number))
    chance = np.clip(random.beta(2, 2, len(right)) + np.where(right, 0.3, -0.1), 0, 1)
    start = np.arange(len(number), dtype=np.float64)
    return SystemOutput(
        tuple(f"u{i:04d}" for i in range(len(said))), np.array(offsets, np.int64),
        np.array(number, np.int32), start, start + 1, vocabulary, chance, chance**0.8,
    )  # fmt: skip


Heard = list[list[list[tuple[str, float]]]]


def _texts(outputs: SystemOutputs) -> tuple[Heard, list[list[str]]]:
    """(word, confidence) by recognizer and utterance, and what was said, as plain lists."""
    heard = []
    for output in outputs.outputs:
        assert output.confidence is not None
        words = list(zip(output.vocabulary.lookup(output.word.tolist()), output.confidence.tolist(), strict=True))
        heard.append([words[output.offsets[u] : output.offsets[u + 1]] for u in range(len(outputs))])
    said = outputs.outputs[0].vocabulary.lookup(outputs.reference_words.tolist())
    bounds = zip(outputs.reference_offsets[:-1].tolist(), outputs.reference_offsets[1:].tolist(), strict=True)
    return heard, [list(said[begin:end]) for begin, end in bounds]


def _plain_choice(heard: Heard, errors: Sequence[Sequence[int]], subsets: Sequence[Sequence[int]]) -> list[int]:
    totals = []
    for subset in subsets:
        total = 0
        for u in range(len(errors[0])):
            means = [sum(sure for _, sure in heard[k][u]) / max(1, len(heard[k][u])) for k in subset]
            total += errors[subset[means.index(max(means))]][u]
        totals.append(total)
    return totals


def _plain_rover(heard: Heard, said: Sequence[Sequence[str]], subsets: Sequence[Sequence[int]]) -> list[int]:
    totals = []
    for subset in subsets:
        total = 0
        for u, words in enumerate(said):
            aligned = align(words, plain_rover([heard[k][u] for k in subset], VOTING.alpha, VOTING.nothing))
            total += aligned.substitutions + aligned.deletions + aligned.insertions
        totals.append(total)
    return totals


def _compare(name: str, seconds: float, plain: float, subsets: int) -> None:
    scaled = plain / PLAIN * subsets
    print(
        f"{name}, {subsets} subsets of {RECOGNIZERS} recognizers on {UTTERANCES:,} utterances: {seconds:.2f} s; "
        f"plain Python {plain:.2f} s for {PLAIN}, so {scaled:.0f} s: {scaled / seconds:,.0f} times faster"
    )


def run() -> None:
    """Print seconds and ratios for every way, and for what has to be fitted first."""
    outputs, subsets = recognizers(), all_subsets(RECOGNIZERS)
    few = subsets[:: len(subsets) // PLAIN][:PLAIN]
    (heard, said), errors = _texts(outputs), outputs.errors.tolist()

    def choice(some: Sequence[tuple[int, ...]]) -> list[int]:
        errors: list[int] = (
            errors_of(select_system(mean_confidence(outputs), some), outputs.errors).sum(axis=1).tolist()
        )
        return errors

    voted = rover_errors(outputs, few, VOTING).sum(axis=1).tolist()
    if choice(few) != _plain_choice(heard, errors, few) or voted != _plain_rover(heard, said, few):
        raise SystemExit("plain Python finds other errors")
    plain = best_cpu(lambda: _plain_choice(heard, errors, few))
    _compare("choice by confidence", best_cpu(lambda: choice(subsets)), plain, len(subsets))
    plain = best_cpu(lambda: _plain_rover(heard, said, few), 1)
    _compare("ROVER", best_cpu(lambda: rover_errors(outputs, subsets, VOTING)), plain, len(subsets))
    print(f"ROVER's settings, {len(grid())} tried: {best_cpu(lambda: tune_rover(outputs, subsets), 1):.2f} s")
    fitted = ErrorRegression.fit(outputs, subsets)
    fit, use = (
        best_cpu(lambda: ErrorRegression.fit(outputs, subsets)),
        best_cpu(lambda: fitted.choose(outputs, subsets)),
    )
    print(f"informed choice: fit {fit:.2f} s, choose {use:.2f} s")
    whole = best_cpu(lambda: compare_subsets(outputs, subsets, informed=fitted, rover=VOTING))
    print(f"the whole table, with 1,000 draws of speakers: {whole:.2f} s")


if __name__ == "__main__":
    run()
