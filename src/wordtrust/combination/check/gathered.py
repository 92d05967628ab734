"""All that is known of a transcript before it is judged; parts of a long one can be gathered one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import concatenate_offsets, csr_offsets
from ...base.errors import OptionError
from ...base.tensors import read_tensors
from ...confidence.model_file import WORDS
from ...confidence.shipped import FOLDER
from ...lattices.lattice import Floats, Lattices
from ...lattices.vocabulary import Vocabulary
from .aligned_output import AlignedOutput
from .columns import Heard, TranscriptFacts
from .heard_instead import HeardInstead, heard_instead
from .listener import ForcedWords, Listener, pivot_chains
from .pair_evidence import PairEvidence, pair_evidence

_UNKNOWN_RANK = 120_000  # of words that are not among the 60,000 most frequent ones


class Gathered(NamedTuple):
    """A transcript, what each listener says of it, and what each of them heard instead of its words."""

    facts: TranscriptFacts
    names: tuple[str, ...]
    heard: tuple[Heard, ...]
    instead: tuple[HeardInstead, ...]

    def __len__(self) -> int:
        return len(self.facts.offsets) - 1


def gather(
    pivot: Lattices, listeners: Sequence[Listener], error_rates: Mapping[str, float],
    forced: Mapping[str, ForcedWords] | None = None,
) -> Gathered:  # fmt: skip
    """Gather it from the listeners of some utterances; `error_rates` are those of listeners that are known."""
    names = [listener.name for listener in listeners]
    if len(set(names)) < len(names):
        raise OptionError("two listeners have the same name")
    chains, vocabulary, scores = pivot_chains(pivot), Vocabulary(), forced or {}
    unknown = sorted(set(scores) - set(names))
    if unknown:
        raise OptionError(f"there are scores of {unknown[0]}, which is no listener")
    rate = {
        one.name: np.nan if one.confidence is None else float(error_rates.get(one.name, np.nan)) for one in listeners
    }
    ordered = sorted(listeners, key=lambda one: (np.nan_to_num(rate[one.name], nan=np.inf), one.name))
    outputs = [AlignedOutput.of(chains, one) for one in ordered]
    heard = tuple(
        Heard(pair_evidence(chains, one, vocabulary, output), rate[one.name], scores.get(one.name), one.covers)
        for one, output in zip(ordered, outputs, strict=True)
    )
    instead = tuple(map(heard_instead, outputs))
    return Gathered(transcript_facts(pivot), tuple(one.name for one in ordered), heard, instead)


def joined(parts: Sequence[Gathered]) -> Gathered:
    """The parts of one transcript as one; all have the same listeners."""
    if len({part.names for part in parts}) != 1:
        raise OptionError("the parts of a transcript were heard by different listeners")
    offsets = concatenate_offsets(part.facts.offsets for part in parts)
    facts = TranscriptFacts(offsets, *_joined_arrays([part.facts[1:] for part in parts]))
    listeners = range(len(parts[0].names))
    heard = tuple(_joined_listener([part.heard[index] for part in parts]) for index in listeners)
    instead = tuple(HeardInstead.joined([part.instead[index] for part in parts]) for index in listeners)
    return Gathered(facts, parts[0].names, heard, instead)


def _joined_listener(parts: Sequence[Heard]) -> Heard:
    evidence, forced, covers = PairEvidence(*_joined_arrays([part.evidence for part in parts])), None, None
    if any(part.forced is not None for part in parts):
        filled = [part.forced or _not_asked(part.evidence) for part in parts]
        forced = ForcedWords(*_joined_arrays(filled))
    if any(part.covers is not None for part in parts):
        everywhere = [np.ones(_utterances(part.evidence), np.bool_) for part in parts]
        covers = np.concatenate(
            [all_ if part.covers is None else part.covers for part, all_ in zip(parts, everywhere, strict=True)]
        )
    return Heard(evidence, parts[0].error_rate, forced, covers)


def _utterances(evidence: PairEvidence) -> int:
    return len(evidence.missing) - len(evidence.word)  # each has a gap more than words


def _joined_arrays(parts: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[Any]]:
    """The arrays of all parts end to end, one by one."""
    return [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]


def _not_asked(evidence: PairEvidence) -> ForcedWords:
    nothing = np.full(len(evidence.word), np.nan, np.float32)
    ends = np.full(_utterances(evidence), np.nan, np.float32)
    return ForcedWords(nothing, nothing, nothing, nothing, ends)


def transcript_facts(pivot: Lattices) -> TranscriptFacts:
    """What a transcript tells by itself."""
    arcs = np.flatnonzero(pivot.word > 0)
    offsets = csr_offsets(pivot.word > 0)[pivot.arc_offsets]
    distinct, index = np.unique(pivot.word[arcs], return_inverse=True)
    words = pivot.vocabulary.lookup(distinct.tolist())
    rank = np.array([_ranks().get(word, _UNKNOWN_RANK) for word in words], np.float32)
    letters = np.array([len(word) for word in words], np.int32)
    return TranscriptFacts(offsets, pivot.word[arcs], letters[index], np.log1p(rank)[index], _scores(pivot)[arcs])


def _scores(pivot: Lattices) -> Floats:
    """[arcs] the confidences of the transcript; NaN where it has none, or the same for all words."""
    spoken = pivot.word > 0
    if pivot.posterior is None or len(np.unique(pivot.posterior[spoken])) < 2:
        return np.full(len(pivot.word), np.nan, np.float32)
    return pivot.posterior


@cache
def _ranks() -> dict[str, int]:
    """The most frequent words of the language and their ranks, from 0."""
    arrays, _ = read_tensors(FOLDER / WORDS)
    words = arrays["words.text"].tobytes().decode("utf-8", "surrogatepass").split("\n")
    return {word: rank for rank, word in enumerate(words)}
