"""From stores of labelled networks to what training sees: features, labels, levels and the table of words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import concatenate_offsets
from ..base.errors import InputError, OptionError
from ..base.folds import speaker_id
from ..confidence import features
from ..confidence.config import GENERIC
from ..confidence.features import Statistics
from ..confidence.gap_head import fixed_gap_inputs
from ..confidence.lattice_rnn_kernels import node_levels
from ..confidence.model_card import ModelCard
from ..confidence.model_file import load_model
from ..confidence.word_table import BatchWords, WordTable, expected_counts, known_arcs
from ..confidence.word_vectors import make_rank_table, make_table
from ..formats.batches import one_recognizer, read_batches, require_same_recognizer
from ..lattices.lattice import Flags, Floats, Ints, Lattices
from ..lattices.paths import Paths, best_confidence, one_best
from ..networks.build_store import LABEL, ONE_BEST_LABEL, ORACLE_LABEL, REFERENCE, SPEAKER, noted_references
from ..networks.gaps import Gaps, missing_words
from ..networks.labels import score_paths
from ..networks.oracle import oracle_paths
from .dataset import Dataset, TrainingData, read_pack
from .gap_data import GapData

_ONE_RECOGNIZER = "Train a model for each recognizer, on stores of its own"
LABELS = {"oracle": ORACLE_LABEL, "one-best": ONE_BEST_LABEL, "store": LABEL}
GAIN = 0.4  # the threshold of the second path whose gaps are trained on
Source = Callable[[], Iterable[Lattices]]  # reads a corpus, once more each time
Bits = NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class PrepareOptions:
    """What of the networks a model is to see."""

    features: str = "full"  # a set, or columns joined by commas
    labels: str = "store"  # the rule that a store was built with, or one by name
    silence_loss: bool = False  # whether silence carries loss: right where the path of fewest errors has it
    vectors: Path | None = None  # an embedding file
    lexicon: Path | None = None


def read_training_data(
    stores: Sequence[str], dev: Sequence[str], options: PrepareOptions, start: str = ""
) -> TrainingData:
    """From stores of networks, or from one packed file; `start` is the model that training will start with."""
    if len(stores) == 1 and Path(stores[0]).is_file():
        if options != PrepareOptions():
            raise OptionError(
                f"{stores[0]}: features, labels, vectors, lexicon and silence loss were settled when it was packed"
            )
        return read_pack(Path(stores[0]))
    if not dev:
        raise OptionError("training needs networks to stop on: --dev STORE")
    if start and options.vectors is None:
        options = replace(options, vectors=start_vectors(start))
    return prepare(lambda: _networks(stores), lambda: _networks(dev), options)


def _networks(stores: Sequence[str]) -> Iterator[Lattices]:
    return one_recognizer(read_batches(stores), _ONE_RECOGNIZER)


def start_vectors(start: str) -> Path | None:
    """Where training that starts with a model has its word vectors from: that model, if it has any."""
    return Path(start) if load_model(Path(start)).table.vectors is not None else None


def prepare(train: Source, dev: Source, options: PrepareOptions, card: ModelCard | None = None) -> TrainingData:
    """Read both corpora and make features and labels of them; without a card, the networks say what is known."""
    first = next((batch for batch in train() if len(batch)), None)
    if first is None:
        raise InputError("there are no utterances to train on")
    card = ModelCard.of_networks(first) if card is None else card
    wanted = features.columns_of(options.features)
    given = set(features.available(first, wanted))
    mass = expected_counts(_noting_optional(train(), wanted, given))
    columns = tuple(column for column in wanted if column in given)
    if not columns:
        raise InputError(f"none of the features {options.features} is there", file=first.origin.file)
    dev_words = {word for batch in dev() for word in BatchWords.of(batch).words}
    table, is_counted = _word_table(mass, dev_words, options)
    seen = [
        _PreparedBatch.of(batch, table, columns, options, in_training=is_counted) for batch in train() if len(batch)
    ]
    silence, raw = (np.concatenate([getattr(batch, name) for batch in seen]) for name in ("silence", "raw"))
    is_generic = options.features == GENERIC
    statistics = Statistics.fixed(columns) if is_generic else Statistics.of(raw, columns, silence)
    held_out = [_PreparedBatch.of(batch, table, columns, options, in_training=False) for batch in dev() if len(batch)]
    if not held_out:
        raise InputError("there are no utterances to stop on (--dev)")
    require_same_recognizer(first.origin, held_out[0].networks.origin, _ONE_RECOGNIZER)
    card = replace(
        card,
        features=options.features,
        absent=tuple(column for column in wanted if column not in columns),
        labels=options.labels,
        silence_loss=options.silence_loss,
    )
    return TrainingData(_dataset(seen, statistics), _dataset(held_out, statistics), table, statistics, card)


def _word_table(mass: dict[str, float], dev_words: set[str], options: PrepareOptions) -> tuple[WordTable, bool]:
    """The table of words, and whether it counts those of the training data.

    A generic model is for recognizers and data of others: how rare words are it has from a file, if there is one.
    """
    if options.features == GENERIC and options.vectors is not None:
        return make_rank_table(mass.keys() | dev_words, options.vectors), False
    return make_table(mass, dev_words, vectors=options.vectors, lexicon=options.lexicon), True


def _noting_optional(batches: Iterable[Lattices], wanted: Sequence[str], given: set[str]) -> Iterator[Lattices]:
    """The batches; optional columns that any of them has are added to those that are `given`."""
    optional = [column for column in wanted if column in features.OPTIONAL]
    for batch in batches:
        given.update(features.available(batch, optional))
        yield batch


@dataclass(frozen=True, slots=True)
class _PreparedBatch:
    """A batch of networks, features not yet normalised."""

    networks: Lattices
    raw: Floats
    silence: Flags
    label: Bits
    path: Bits
    word: Ints
    gaps: GapData

    @classmethod
    def of(
        cls,
        networks: Lattices,
        table: WordTable,
        columns: tuple[str, ...],
        options: PrepareOptions,
        in_training: bool,
    ) -> _PreparedBatch:
        arcs, words, rows = known_arcs(networks, table, in_training=in_training)
        label, path = _labels(networks, options)
        return cls(
            networks, features.matrix(arcs, columns), arcs.silence, label, path, rows[words.index], gaps_of(networks)
        )


def _labels(networks: Lattices, options: PrepareOptions) -> tuple[Bits, Bits]:
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
    label, path = networks.extra[name].astype(np.int8), _oracle_path(networks)
    if options.silence_loss:
        label = np.where(networks.word == 0, path, label).astype(np.int8)
    return label, path


def _oracle_path(networks: Lattices) -> Bits:
    """1 for arcs on the path with the fewest errors."""
    paths = oracle_paths(networks, noted_references(networks), as_written=True)  # that of the labels
    on_path = np.zeros(len(networks.source), np.int8)
    on_path[paths.arcs_in(networks)] = 1
    return on_path


def gaps_of(networks: Lattices) -> GapData:
    """The gaps of the 1-best of each utterance, and of the words that gain most by their posteriors."""
    assert networks.posterior is not None
    gain = best_confidence(networks, networks.posterior, "gain", threshold=GAIN)
    parts = [_gaps_of_paths(networks, paths) for paths in (one_best(networks), gain)]
    joined, utterances = GapData.concatenated(parts), len(networks)
    both = np.arange(2 * utterances).reshape(2, utterances).T.ravel()  # both paths of an utterance side by side
    gaps = joined.of(both, np.zeros(len(both), np.int64))
    return replace(gaps, offsets=gaps.offsets[::2])


def _gaps_of_paths(networks: Lattices, paths: Paths) -> GapData:
    """With arcs counted within their utterances."""
    references, gaps = noted_references(networks), Gaps.of(networks, paths)
    scored = score_paths(networks, paths, references)
    first = np.repeat(networks.arc_offsets[:-1], np.diff(gaps.offsets))

    def within(words: NDArray[np.integer], shift: NDArray[np.int64]) -> Ints:
        return np.where(words >= 0, words - shift, -1).astype(np.int32)

    return GapData(
        offsets=gaps.offsets,
        before=within(gaps.before, first),
        after=within(gaps.after, first),
        missing=(missing_words(scored.alignments, references.offsets) > 0).astype(np.int8),
        fixed=fixed_gap_inputs(networks, gaps),
        near_offsets=gaps.near_offsets,
        near=within(gaps.near, np.repeat(first, np.diff(gaps.near_offsets))),
        is_rival=gaps.is_rival,
        is_inside=gaps.is_inside,
    )


def _dataset(batches: list[_PreparedBatch], statistics: Statistics) -> Dataset:
    def joined(values: Iterable[Any]) -> Any:
        return np.concatenate(list(values))

    networks = [batch.networks for batch in batches]
    levels = [node_levels(one) for one in networks]
    speakers = [name for one in networks for name in one.notes.get(SPEAKER, one.utts)]
    return Dataset(
        node_offsets=concatenate_offsets(one.node_offsets for one in networks),
        arc_offsets=concatenate_offsets(one.arc_offsets for one in networks),
        source=joined(one.source for one in networks),
        target=joined(one.target for one in networks),
        level=joined(forwards for forwards, _ in levels),
        level_back=joined(backwards for _, backwards in levels),
        features=joined(statistics.normalise(batch.raw, batch.silence).astype(np.float16) for batch in batches),
        posterior=joined(one.posterior for one in networks),
        label=joined(batch.label for batch in batches),
        path=joined(batch.path for batch in batches),
        word=joined(batch.word for batch in batches),
        speaker=np.array([speaker_id(name) for name in speakers], np.uint32),
        gaps=GapData.concatenated([batch.gaps for batch in batches]),
    )
