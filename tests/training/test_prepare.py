"""From labelled networks to training data: labels, levels, features, words, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.model_data import levels
from tests.helpers.strategies import assembled, batch_of
from wordtrust import read
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.folds import speaker_id
from wordtrust.confidence import features
from wordtrust.confidence.features import Arcs
from wordtrust.confidence.lattice_rnn_kernels import node_levels
from wordtrust.confidence.model_card import ModelCard
from wordtrust.confidence.word_table import BatchWords, own_mass
from wordtrust.formats.references import Reference, References, read_references
from wordtrust.lattices.evidence import OPTIONAL_EVIDENCE
from wordtrust.lattices.lattice import Lattices
from wordtrust.networks.build_store import BuildOptions, build_networks
from wordtrust.training.dataset import Dataset, TrainingData
from wordtrust.training.prepare import PrepareOptions, prepare

SAMPLE = Path(__file__).parents[2] / "src" / "wordtrust" / "sample"


def corpus(labels: str = "oracle") -> Lattices:
    """`I will sit there` was said; the recognizer says `I will sit here`. Then nothing was said, and it heard `a`."""
    one = assembled(
        "one",
        time=[0, 0.3, 0.6, 1.0, 1.5, 2.0],
        ends=[(0, 1), (1, 2), (2, 3), (3, 4), (3, 5), (3, 4), (4, 5), (4, 5)],
        tokens=["I", "will", "sit", "here", "there", "<sil>", "<sil>", "now"],
        acoustic=[-1, -1, -1, -1, -3, -9, -1, -8],
    )
    two = assembled(
        "two", time=[0, 1.0, 2.0], ends=[(0, 1), (0, 2), (1, 2)], tokens=["a", "<sil>", "<sil>"], acoustic=[-1, -2, 0]
    )
    references = References(
        [Reference("one", "", ("i", "will", "sit", "there"), speaker="ann"), Reference("two", "", (), speaker="bob")]
    )
    return build_networks(batch_of(one, two), BuildOptions(references=references, labels=labels))


@cache
def sample() -> Lattices:
    lattices = read(f"{SAMPLE}/lattices/*.slf.gz")[:12]
    return build_networks(lattices, BuildOptions(references=read_references(SAMPLE / "ref.tsv")))


def made(networks: Lattices, dev: Lattices | None = None, **options: Any) -> TrainingData:
    held = networks if dev is None else dev
    return prepare(lambda: [networks], lambda: [held], PrepareOptions(**options), ModelCard("x"))


def labels_by_arc(networks: Lattices, data: Dataset) -> dict[tuple[str, str, float], int]:
    """By utterance, word and start."""
    labels, arc = {}, 0
    for lattice in networks:
        for word, source in zip(lattice.words, lattice.source.tolist(), strict=True):
            labels[lattice.utt, word, round(float(lattice.time[source]), 2)] = int(data.label[arc])
            arc += 1
    return labels


ORACLE = {
    ("one", "i", 0.0): 1, ("one", "will", 0.3): 1, ("one", "sit", 0.6): 1, ("one", "here", 1.0): 0,
    ("one", "there", 1.0): 1, ("one", "", 1.0): -1, ("one", "", 1.5): -1, ("one", "now", 1.5): 0,
    ("two", "a", 0.0): 0, ("two", "", 0.0): -1, ("two", "", 1.0): -1,
}  # fmt: skip
PAPER = ORACLE | {("one", "there", 1.0): 0}  # it has not the ends of `here`, which it should replace


@pytest.mark.parametrize(
    ("built", "asked", "expected"),
    [
        ("oracle", "store", ORACLE),
        ("one-best", "store", PAPER),
        ("one-best", "oracle", ORACLE),
        ("oracle", "one-best", PAPER),
    ],
)
def test_labels_by_each_rule(built: str, asked: str, expected: dict[tuple[str, str, float], int]) -> None:
    networks = corpus(built)
    assert labels_by_arc(networks, made(networks, labels=asked).train) == expected


def test_silence_is_right_where_the_path_with_the_fewest_errors_has_it() -> None:
    networks = corpus()
    labels = labels_by_arc(networks, made(networks, silence_loss=True).train)
    assert labels == ORACLE | {
        ("one", "", 1.0): 0, ("one", "", 1.5): 0, ("two", "", 0.0): 1, ("two", "", 1.0): 0
    }  # fmt: skip


def test_levels_are_the_longest_ways() -> None:
    networks = sample()
    data = made(networks).train
    for index, lattice in enumerate(networks):
        nodes = slice(data.node_offsets[index], data.node_offsets[index + 1])
        arcs = list(zip(lattice.source.tolist(), lattice.target.tolist(), strict=True))
        turned = [(lattice.nodes - 1 - t, lattice.nodes - 1 - s) for s, t in arcs]
        assert data.level[nodes].tolist() == levels(arcs, lattice.nodes)
        assert data.level_back[nodes].tolist() == levels(turned, lattice.nodes)[::-1]
    ahead, behind = node_levels(networks)
    assert data.level.tolist() == ahead.tolist()
    assert data.level_back.tolist() == behind.tolist()


def test_batches_are_joined_end_to_end() -> None:
    networks = sample()
    options = PrepareOptions()
    whole = prepare(lambda: [networks], lambda: [networks], options, ModelCard())
    cut = prepare(lambda: [networks[:5], networks[5:]], lambda: [networks[:1], networks[1:]], options, ModelCard())
    for name in Dataset.__dataclass_fields__:
        for one, other in ((whole.train, cut.train), (whole.dev, cut.dev)):
            if name != "gaps":
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)
            elif one.gaps and other.gaps:
                for column, values in one.gaps.arrays("").items():
                    np.testing.assert_array_equal(values, other.gaps.arrays("")[column], column)
    assert whole.train.arc_offsets.tolist() == networks.arc_offsets.tolist()
    whole.train.check(len(whole.statistics.columns), len(whole.table.words))


def test_features_are_normalised_and_leave_the_own_utterance_out_of_the_frequency() -> None:
    networks = sample()
    data = made(networks)
    words = BatchWords.of(networks)
    rows = data.table.rows(words.words)
    mass = data.table.mass_of(rows)[words.index].astype(np.float64)
    phones = data.table.phones_of(words.words, rows)[words.index].astype(np.float64)
    for held, dataset in ((own_mass(networks), data.train), (0.0, data.dev)):
        arcs = Arcs(networks, phones, mass - held)
        raw = features.matrix(arcs, data.statistics.columns)
        expected = data.statistics.normalise(raw, arcs.silence).astype(np.float16)
        np.testing.assert_array_equal(dataset.features, expected)
    assert np.array_equal(data.train.word, rows[words.index])
    assert (data.train.word[networks.word == 0] == -1).all()


def test_words_of_both_corpora_are_known_and_only_training_has_heard() -> None:
    networks = corpus()
    data = made(networks[:1], networks[1:])
    assert data.table.words == ("a", "here", "i", "now", "sit", "there", "will")
    assert data.table.mass is not None
    assert data.table.mass[0] == 0
    assert data.table.mass[2] == pytest.approx(1, abs=1e-5)
    assert data.dev.speaker.tolist() == [speaker_id("bob")]


def test_what_the_recognizer_does_not_give_is_recorded() -> None:
    data = made(corpus(), features="paper")
    assert data.card.absent == ("transition",)
    assert data.statistics.columns == ("silence", "phones", "acoustic", "posterior", "frames", "one_best")
    assert data.train.features.shape[1] == 6
    full = made(sample(), features="full")
    assert set(full.card.absent) == {"transition", *features.EVIDENCE} | (features.OPTIONAL & set(features.FULL))
    assert data.card == ModelCard("x", features="paper", absent=("transition",), labels="store", silence_loss=False)


def test_optional_evidence_of_some_batches_is_enough() -> None:
    """Old outputs of a recognizer, which lack it, are trained on with new ones."""
    old, names = corpus(), OPTIONAL_EVIDENCE["has_tokens"]
    new = replace(old, extra={**old.extra, **dict.fromkeys(names, np.arange(len(old.source), dtype=np.float32))})
    both = [lambda: [old, new], lambda: [new, old]]
    for train in both:
        data = prepare(train, lambda: [old], PrepareOptions(), ModelCard("x"))
        columns = data.statistics.columns
        assert columns[-4:] == ("has_tokens", *names)
        assert not data.dev.features[:, -4:].any()
        there, words = data.train.features[:, -4] > 0, data.train.word >= 0
        assert there.sum() == len(old.source)
        assert data.train.features[there & words, -1].astype(float).mean() == pytest.approx(0, abs=1e-3)
        assert not data.train.features[~there, -4:].any()


def test_columns_by_name() -> None:
    assert made(corpus(), features="frames,rank,posterior").statistics.columns == ("frames", "posterior")


def test_dev_that_lacks_a_column_of_training_is_told() -> None:
    bare = replace(corpus(), acoustic=None)
    with pytest.raises(InputError, match="no 'acoustic' on the arcs"):
        made(corpus(), bare)


def test_utterances_without_speakers_are_their_own() -> None:
    networks = corpus()
    bare = replace(networks, notes={name: note for name, note in networks.notes.items() if name != "speaker"})
    assert made(bare).train.speaker.tolist() == [speaker_id("one"), speaker_id("two")]


def test_networks_without_labels_or_references_are_refused() -> None:
    lattices = read(f"{SAMPLE}/lattices/*.slf.gz")[:2]
    bare = build_networks(lattices, BuildOptions())
    for train, dev in ((bare, None), (corpus(), bare), (replace(corpus(), notes={}), None)):
        with pytest.raises(InputError, match=r"no labels, or no references.*build LATTICES --ref"):
            made(train, dev, silence_loss=True)
    with pytest.raises(InputError, match=r"lattices, not networks.*wordtrust build"):
        ModelCard.of_networks(lattices)


def test_an_empty_corpus_is_told() -> None:
    networks = corpus()
    for empty in ([], [networks[:0]]):
        with pytest.raises(InputError, match="no utterances to train on"):
            prepare(lambda: empty, lambda: [networks], PrepareOptions(), ModelCard())  # noqa: B023
        with pytest.raises(InputError, match="no utterances to stop on"):
            prepare(lambda: [networks], lambda: empty, PrepareOptions(), ModelCard())  # noqa: B023


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"labels": "best"}, OptionError, "labels are one of oracle, one-best, store, not 'best'"),
        ({"features": "papers"}, OptionError, "no feature set or column 'papers'"),
        ({"features": "rank,share"}, InputError, "none of the features"),
    ],
)
def test_unknown_labels_and_features_are_refused(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        made(corpus(), **options)
