"""From stores of labelled networks to what training sees: features, labels, levels and the table of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays import concatenate_offsets
from ..base.errors import InputError, OptionError
from ..base.folds import speaker_number
from ..confidence import features
from ..confidence.features import Statistics
from ..confidence.lattice_rnn_kernels import node_levels
from ..confidence.model_card import ModelCard
from ..confidence.word_table import BatchWords, WordTable, heard, known_arcs
from ..confidence.word_vectors import make_table
from ..lattices.lattice import Floats, Ints, Lattices
from ..networks.build_store import LABEL, ONE_BEST_LABEL, ORACLE_LABEL, REFERENCE, SPEAKER, noted_references
from ..networks.labels import oracle_paths
from .dataset import Dataset, TrainingData

LABELS = {"oracle": ORACLE_LABEL, "one-best": ONE_BEST_LABEL, "store": LABEL}
Source = Callable[[], Iterable[Lattices]]  # reads a corpus, once more each time


@dataclass(frozen=True, slots=True)
class PrepareOptions:
    """What of the networks a model is to see."""

    features: str = "full"  # a set, or columns joined by commas
    labels: str = "store"  # the rule that a store was built with, or one by name
    silence_loss: bool = False  # whether silence carries loss: right where the path of fewest errors has it
    vectors: Path | None = None  # an embedding file
    lexicon: Path | None = None


def prepare(train: Source, dev: Source, options: PrepareOptions, card: ModelCard) -> TrainingData:
    """Read both corpora and make features and labels of them."""
    mass = heard(train())
    first = next((batch for batch in train() if len(batch)), None)
    if first is None:
        raise InputError("there are no utterances to train on")
    wanted = features.columns_of(options.features)
    columns = features.available(first, wanted)
    if not columns:
        raise InputError(f"none of the features {options.features} is there", file=first.origin.file)
    also = {word for batch in dev() for word in BatchWords.of(batch).words}
    table = make_table(mass, also, vectors=options.vectors, lexicon=options.lexicon)
    parts = [_Part.of(batch, table, columns, options, in_training=True) for batch in train() if len(batch)]
    silence, raw = (np.concatenate([getattr(part, name) for part in parts]) for name in ("silence", "raw"))
    statistics = Statistics.of(raw, columns, silence)
    held = [_Part.of(batch, table, columns, options, in_training=False) for batch in dev() if len(batch)]
    card = replace(
        card,
        features=options.features,
        absent=tuple(column for column in wanted if column not in columns),
        labels=options.labels,
        silence_loss=options.silence_loss,
    )
    return TrainingData(_joined(parts, statistics), _joined(held, statistics), table, statistics, card)


@dataclass(frozen=True, slots=True)
class _Part:
    """A batch of networks, features not yet normalised."""

    networks: Lattices
    raw: Floats
    silence: Any
    label: Any
    path: Any
    word: Ints

    @classmethod
    def of(
        cls,
        networks: Lattices,
        table: WordTable,
        columns: tuple[str, ...],
        options: PrepareOptions,
        in_training: bool,
    ) -> _Part:
        arcs, words, rows = known_arcs(networks, table, in_training=in_training)
        label, path = _labels(networks, options)
        return cls(networks, features.matrix(arcs, columns), arcs.silence, label, path, rows[words.index])


def _labels(networks: Lattices, options: PrepareOptions) -> tuple[Any, Any]:
    """Which words are right, and which arcs are on the path with the fewest errors."""
    name = LABELS.get(options.labels)
    if name is None:
        raise OptionError(f"labels are one of {', '.join(LABELS)}, not {options.labels!r}")
    if name not in networks.extra or REFERENCE not in networks.notes:
        raise InputError(
            "these networks have no labels, or no references",
            file=networks.origin.file,
            remedy="Make them with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )
    label, path = networks.extra[name].astype(np.int8), _best_path(networks)
    if options.silence_loss:
        label = np.where(networks.word == 0, path, label).astype(np.int8)
    return label, path


def _best_path(networks: Lattices) -> Any:
    """1 for arcs on the path with the fewest errors."""
    spoken = noted_references(networks)
    paths = oracle_paths(networks, spoken)
    found = np.zeros(len(networks.source), np.int8)
    found[paths.arcs_in(networks)] = 1
    return found


def _joined(parts: list[_Part], statistics: Statistics) -> Dataset:
    if not parts:
        raise InputError("there are no utterances to stop on (--dev)")

    def join(values: Iterable[Any]) -> Any:
        return np.concatenate(list(values))

    levels = [node_levels(part.networks) for part in parts]
    return Dataset(
        node_offsets=concatenate_offsets(part.networks.node_offsets for part in parts),
        arc_offsets=concatenate_offsets(part.networks.arc_offsets for part in parts),
        source=join(part.networks.source for part in parts),
        target=join(part.networks.target for part in parts),
        level=join(ahead for ahead, _ in levels),
        level_back=join(behind for _, behind in levels),
        features=join(statistics.normalise(part.raw, part.silence).astype(np.float16) for part in parts),
        posterior=join(part.networks.posterior for part in parts),
        label=join(part.label for part in parts),
        path=join(part.path for part in parts),
        word=join(part.word for part in parts),
        speaker=np.array([speaker_number(name) for part in parts for name in _speakers(part.networks)], np.uint32),
    )


def _speakers(networks: Lattices) -> tuple[str, ...]:
    return networks.notes.get(SPEAKER, networks.utts)
