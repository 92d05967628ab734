"""The real N-best lists of five recognizers: they all read, and give known error rates."""

from __future__ import annotations

from collections.abc import Iterator

import jiwer
import pytest
from rapidfuzz.distance import Levenshtein

from tests.helpers.shared import SHARED, needs_shared
from wordtrust.formats import read as read_file
from wordtrust.formats import stream as stream_file
from wordtrust.formats.references import References, read_references
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.lattices.paths import one_best

pytestmark = pytest.mark.slow

# WER of its own pick and of the oracle on dev, and the arcs of these lattices
REAL = {
    "whisper-tiny.en": (12.4, 7.5, 48126),
    "whisper-base": (10.3, 6.0, 46929),
    "whisper-small": (6.9, 3.3, 42113),
    "moonshine-tiny": (12.1, 6.7, 71352),
    "moonshine-base": (8.3, 4.0, 63682),
}
BY_TOTAL_SCORE = {"whisper-tiny.en": 14.0, "whisper-small": 7.0}  # WER, where the own pick is by average score


@pytest.fixture(scope="module")
def references() -> References:
    return read_references(SHARED / "refs.tsv")


def chain_words(lattice: Lattice) -> Iterator[list[str]]:
    """The words of every chain: only the start has several arcs that leave it."""
    following = dict(zip(lattice.source.tolist(), range(lattice.arcs), strict=True))
    target, words = lattice.target.tolist(), lattice.words
    for first in range(lattice.arcs):
        if lattice.source[first] > 0:
            return
        path = [first]
        while target[path[-1]] < lattice.nodes - 1:
            path.append(following[target[path[-1]]])
        yield [words[arc] for arc in path if words[arc]]


def one_best_texts(lattices: Lattices) -> list[str]:
    """The normalised words of what the recognizer would print."""
    paths = one_best(lattices)
    of = zip(lattices, paths.offsets.tolist(), paths.offsets[1:].tolist(), strict=False)
    return [
        " ".join(lattice.words[arc] for arc in paths.arcs[first:last] if lattice.words[arc])
        for lattice, first, last in of
    ]


@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_lists(name: str, references: References) -> None:
    error_rate, oracle, arc_count = REAL[name]
    lattices = read_file(SHARED / name / "dev.jsonl.gz")  # recognizer.json beside it says how it picks
    assert (len(lattices), len(lattices.source)) == (930, arc_count)
    spoken = [" ".join(references[utt].words) for utt in lattices.utts]
    assert round(100 * jiwer.wer(spoken, one_best_texts(lattices)), 1) == error_rate
    if name in BY_TOTAL_SCORE:
        by_total = one_best_texts(read_file(SHARED / name / "dev.jsonl.gz", pick="total"))
        assert round(100 * jiwer.wer(spoken, by_total), 1) == BY_TOTAL_SCORE[name]
    errors = [
        min(Levenshtein.distance(words.split(), chain) for chain in chain_words(lattice))
        for words, lattice in zip(spoken, lattices, strict=True)
    ]
    assert round(100 * sum(errors) / sum(len(words.split()) for words in spoken), 1) == oracle
    evidence = {"logprob", "least_token_logprob", "tokens", "rank", "share", "eot_logprob", "length"}
    assert set(lattices.extra) == evidence | ({"empty_logprob"} if "moonshine" in name else set())


@needs_shared
@pytest.mark.parametrize(
    ("file", "count"), [*((f"{name}/eval", 920) for name in REAL), ("whisper-tiny.en/train", 4241)]
)
def test_real_lists_read_in_large_batches(file: str, count: int) -> None:
    batches = list(stream_file(SHARED / f"{file}.jsonl.gz"))
    assert sum(map(len, batches)) == count
    assert len(batches) <= 4
