"""Packed training data: the round trip, and arrays that do not fit together."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.helpers.model_data import COLUMNS, WORDS, random_dataset, training_data
from tests.helpers.mutate import damaged
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.tensors import write_tensors
from wordtrust.training.dataset import Dataset, read_pack, write_pack
from wordtrust.training.gap_data import GapData


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    write_pack(tmp_path / "data.pack", training_data(utterances=5))
    return tmp_path / "data.pack"


def test_a_pack_comes_back_as_it_was(pack: Path) -> None:
    data, again = training_data(utterances=5), read_pack(pack)
    for one, other in ((data.train, again.train), (data.dev, again.dev)):
        assert one.gaps is not None
        assert other.gaps is not None
        pairs = [(getattr(one, c.name), getattr(other, c.name)) for c in fields(Dataset) if c.name != "gaps"]
        pairs += [(getattr(one.gaps, c.name), getattr(other.gaps, c.name)) for c in fields(GapData)]
        for values, kept in pairs:
            assert (values is None) == (kept is None)
            if values is not None:
                np.testing.assert_array_equal(values, kept)
                assert values.dtype == kept.dtype
    assert again.table.words == data.table.words
    assert again.statistics.columns == data.statistics.columns
    assert again.card == data.card
    assert [path.name for path in pack.parent.iterdir()] == ["data.pack"]


def test_a_pack_of_before_there_were_gaps_is_read(tmp_path: Path) -> None:
    data = training_data(utterances=3)
    parts = {split: replace(getattr(data, split), gaps=None) for split in ("train", "dev")}
    write_pack(tmp_path / "old.pack", replace(data, **parts))
    assert read_pack(tmp_path / "old.pack").train.gaps is None


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [("offsets", 0, 1), ("offsets", -1, 99), ("near_offsets", 1, 99), ("before", 0, -2), ("after", 0, 10_000),
     ("near", 0, 10_000), ("near", 0, -1), ("missing", 0, 2), ("fixed", 0, np.nan),
     ("teacher_targets", 0, 1.5)],
)  # fmt: skip
def test_gaps_that_do_not_fit_are_told(name: str, index: int, value: float) -> None:
    data = random_dataset(3)[0]
    assert data.gaps is not None
    gaps = replace(data.gaps, teacher_targets=np.zeros(len(data.gaps.missing), np.float16))
    replace(data, gaps=gaps).check(len(COLUMNS), len(WORDS))
    array = getattr(gaps, name).copy()
    array[index] = value
    with pytest.raises(ValueError, match="gap"):
        replace(data, gaps=replace(gaps, **{name: array})).check(len(COLUMNS), len(WORDS))


def test_gaps_of_some_utterances_are_theirs() -> None:
    data = random_dataset(3, utterances=5)[0]
    assert data.gaps is not None
    chosen = np.array([4, 1])
    found = data.gaps.of(chosen, np.array([100, 200]))
    for place, (utterance, first) in enumerate(zip(chosen, (100, 200), strict=True)):
        own = range(data.gaps.offsets[utterance], data.gaps.offsets[utterance + 1])
        for gap, old in zip(range(found.offsets[place], found.offsets[place + 1]), own, strict=True):
            assert found.before[gap] == (data.gaps.before[old] + first if data.gaps.before[old] >= 0 else -1)
            assert found.missing[gap] == data.gaps.missing[old]
            near = data.gaps.near[data.gaps.near_offsets[old] : data.gaps.near_offsets[old + 1]]
            assert (
                found.near[found.near_offsets[gap] : found.near_offsets[gap + 1]].tolist() == (near + first).tolist()
            )


def test_a_pack_into_no_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be written"):
        write_pack(tmp_path / "nowhere" / "data.pack", training_data(utterances=2))


def test_a_file_that_is_no_pack_is_told(pack: Path) -> None:
    for about in ({}, {"kind": "wordtrust training data", "version": 1}, {"kind": 5}):
        write_tensors(pack, {"a": np.zeros(1)}, about)
        with pytest.raises(InputError, match=r"no wordtrust training data of version 2.*--pack"):
            read_pack(pack)
    pack.write_bytes(b"no pack at all, but some text")
    with pytest.raises(InputError, match="no whole safetensors file"):
        read_pack(pack)
    with pytest.raises(InputError, match="cannot be opened"):
        read_pack(pack.with_name("nowhere"))


@pytest.mark.parametrize("columns", [5, None, ["utts", "a", "b"], [], ["posterior"], "posterior"])
def test_a_pack_of_unknown_columns_is_told(pack: Path, columns: Any) -> None:
    about = {"kind": "wordtrust training data", "version": 2, "columns": columns, "about": {}}
    write_tensors(pack, load_file(pack), about)
    with pytest.raises(InputError, match="damaged"):
        read_pack(pack)


def changed(name: str, index: int, value: Any) -> dict[str, Any]:
    array = getattr(random_dataset(3)[0], name).copy()
    array[index] = value
    return {name: array}


BROKEN: list[tuple[dict[str, Any], str]] = [
    (changed("node_offsets", 1, 99), "rise|due"),
    (changed("node_offsets", 0, 1), "rise"),
    (changed("arc_offsets", 1, 0), "rise"),
    ({"arc_offsets": np.zeros(1, np.int64)}, "rise"),
    ({"arc_offsets": np.zeros((2, 2), np.int64)}, "rise"),
    ({"source": np.zeros(1, np.int32)}, "source has the shape"),
    ({"level": np.zeros((2, 2), np.int32)}, "level has the shape"),
    ({"posterior": np.zeros((len(random_dataset(3)[0].source), 1), np.float32)}, "posterior has the shape"),
    ({"speaker": np.zeros(7, np.uint32)}, "numbers of utterances"),
    ({"speaker": np.zeros((3, 1), np.uint32)}, "numbers of utterances"),
    ({"features": np.zeros((len(random_dataset(3)[0].source), 9), np.float16)}, "columns differ"),
    (changed("source", 0, -1), "leads nowhere"),
    (changed("source", 0, 99), "leads nowhere"),
    (changed("target", 0, 99), "leads nowhere"),
    (changed("target", 0, 0), "leads nowhere"),
    (changed("level", -1, 0), "levels"),
    (changed("level", -1, 1 << 30), "levels"),
    (changed("level_back", 0, 0), "levels"),
    (changed("level", 0, -1), "levels"),
    (changed("features", 0, np.nan), "not finite"),
    (changed("features", 0, np.inf), "not finite"),
    (changed("posterior", 0, 1.5), "no probability"),
    (changed("posterior", 0, np.nan), "no probability"),
    (changed("label", 0, 2), "label"),
    (changed("label", 0, -2), "label"),
    (changed("word", 0, len(WORDS)), "not in the table"),
    (changed("word", 0, -2), "not in the table"),
]


@pytest.mark.parametrize(("change", "told"), BROKEN, ids=[f"{n}-{next(iter(c))}" for n, (c, _) in enumerate(BROKEN)])
def test_arrays_that_do_not_fit_together_are_told(change: dict[str, Any], told: str) -> None:
    data = random_dataset(3)[0]
    data.check(len(COLUMNS), len(WORDS))
    with pytest.raises(ValueError, match=told):
        replace(data, **change).check(len(COLUMNS), len(WORDS))


def test_the_checksum_of_data_is_theirs_alone() -> None:
    data, again, other = random_dataset(3)[0], random_dataset(3)[0], random_dataset(4)[0]
    assert data.checksum() == again.checksum()
    assert data.checksum() != other.checksum()
    assert data.checksum() != replace(data, **changed("label", 0, 1 - max(data.label[0], 0))).checksum()


def test_damage_ends_in_an_error_for_people_or_in_data(pack: Path) -> None:
    refused = 0
    for made in damaged(pack.read_bytes(), 150, 3):
        pack.write_bytes(made)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                read_pack(pack)
        except InputError:
            refused += 1
    assert refused > 50
