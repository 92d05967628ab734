"""Counts of what is in lattices, which add up over batches, files and recognizers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from ..formats.references import Reference
from ..lattices.lattice import ARC_SCORES, Lattices
from ..lattices.paths import one_best
from ..lattices.unscaled import has_both_scores
from ..lattices.weights import Scales
from ..networks.equivalents import ALL, Equate
from ..networks.labels import score_paths
from ..networks.oracle import oracle_paths
from ..networks.reference_words import ReferenceWords
from ..networks.spoken import equated_words, spoken_words
from .metrics import ErrorCounts


@dataclass(frozen=True, slots=True)
class CorpusCounts:
    """What is in a set of utterances; `+` joins two sets, `CorpusCounts()` is the empty one."""

    utterances: int = 0
    nodes: int = 0
    arcs: int = 0
    words: int = 0  # of the 1-best
    word_arcs: int = 0  # arcs that say a word
    duration: float = 0.0  # seconds
    trimmed_nodes: int = 0
    trimmed_arcs: int = 0
    spread_words: int = 0
    largest: int = 0  # arcs of the largest lattice
    aligned: int = 0  # utterances whose word times were made up
    formats: Counter[str] = field(default_factory=Counter)  # utterances of each
    scores: Counter[str] = field(default_factory=Counter)  # utterances that have each
    scales: Counter[Scales] = field(default_factory=Counter)  # utterances of scores that are weighed by each
    one_best: ErrorCounts = field(default_factory=ErrorCounts)  # where references are given
    oracle: ErrorCounts = field(default_factory=ErrorCounts)  # of the path with the fewest errors
    lenient_one_best: ErrorCounts = field(default_factory=ErrorCounts)  # both where spellings are equated
    lenient_oracle: ErrorCounts = field(default_factory=ErrorCounts)

    def __add__(self, other: CorpusCounts) -> CorpusCounts:
        joined: dict[str, Any] = {
            field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)
        }
        return CorpusCounts(**joined | {"largest": max(self.largest, other.largest)})

    @property
    def arcs_per_second(self) -> float:
        """Lattice density; 0 where there is no time."""
        return self.arcs / self.duration if self.duration else 0.0

    @property
    def arcs_per_word(self) -> float:
        """Arcs that say a word for each word of the 1-best; 0 where there is none."""
        return self.word_arcs / self.words if self.words else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        named: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        paths = ("one_best", "oracle", "lenient_one_best", "lenient_oracle")
        rates = {f"{path}_wer": named.pop(path).wer for path in paths}
        return (
            {name: rate for name, rate in rates.items() if rate is not None}
            | named
            | {
                "duration": round(self.duration, 3),
                "formats": dict(self.formats),
                "scores": dict(self.scores),
                "scales": [asdict(scales) | {"utterances": count} for scales, count in self.scales.items()],
                "arcs_per_second": round(self.arcs_per_second, 3),
                "arcs_per_word": round(self.arcs_per_word, 3),
            }
        )


def count_lattices(
    lattices: Lattices, references: Mapping[str, Reference] | None = None, equate: Equate = ALL
) -> CorpusCounts:
    """The counts of one batch; with references, its errors too, as words are written and with spellings equated."""
    if not len(lattices):
        return CorpusCounts()
    path, utterances = one_best(lattices), len(lattices)
    errors = _errors(lattices, references, equate) if references is not None else {}
    starts, ends = lattices.time[lattices.node_offsets[:-1]], lattices.time[lattices.node_offsets[1:] - 1]
    return CorpusCounts(
        utterances=utterances,
        nodes=len(lattices.time),
        arcs=len(lattices.source),
        words=int(np.count_nonzero(lattices.word[path.arcs_in(lattices)])),
        word_arcs=int(np.count_nonzero(lattices.word)),
        duration=float(np.sum(ends - starts)),
        trimmed_nodes=int(lattices.facts.trimmed_nodes.sum()),
        trimmed_arcs=int(lattices.facts.trimmed_arcs.sum()),
        spread_words=int(lattices.facts.spread_words.sum()),
        largest=int(np.diff(lattices.arc_offsets).max()),
        aligned=utterances if lattices.origin.times == "aligned" else 0,
        formats=Counter({lattices.origin.format: utterances}),
        scales=Counter({lattices.scales: utterances} if has_both_scores(lattices) else {}),
        scores=Counter({name: utterances for name in ARC_SCORES if getattr(lattices, name) is not None}),
        **errors,
    )


def _errors(lattices: Lattices, references: Mapping[str, Reference], equate: Equate) -> dict[str, Any]:
    lattices, spoken = spoken_words(lattices, references)
    lenient = ReferenceWords.of(spoken, lattices, equated_words(references, equate))
    counts = {}
    for kind, words in {"": lenient.strict, **({"lenient_": lenient} if equate else {})}.items():
        paths = {"one_best": one_best(lattices), "oracle": oracle_paths(lattices, words)}
        for name, path in paths.items():
            counts[kind + name] = ErrorCounts.of(score_paths(lattices, path, words).alignments)
    return counts


def count_by_file(
    batches: Iterable[Lattices], references: Mapping[str, Reference] | None = None, equate: Equate = ALL
) -> dict[str, CorpusCounts]:
    """The counts of each file, in the order of reading."""
    counts: dict[str, CorpusCounts] = {}
    for batch in batches:
        counts[batch.origin.file] = counts.get(batch.origin.file, CorpusCounts()) + count_lattices(
            batch, references, equate
        )
    return counts


def total(parts: Iterable[CorpusCounts]) -> CorpusCounts:
    """All of them together."""
    return sum(parts, CorpusCounts())
