"""Another model beside those that come with the package, which stay as they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tools.shipped_models.make import add_shipped, make_shipped

from tests.confidence.test_shipped import with_table
from tests.helpers.made_models import sample_networks, write_networks
from wordtrust.base.errors import OptionError
from wordtrust.confidence.model_file import WORDS, load_model, save_model
from wordtrust.confidence.tensors import read_tensors
from wordtrust.lattices.lattice import Lattices


@pytest.fixture(scope="module")
def networks() -> Lattices:
    return sample_networks("made up")


@pytest.fixture
def out(networks: Lattices, tmp_path: Path) -> Path:
    """Where one model is shipped; another is in `study/two`, with networks to measure it on."""
    for seed, folder in enumerate(("first/one", "study/two")):
        path = "/elsewhere/a model" if seed else ""
        save_model(with_table(networks, seed, training={"start": path, "state": 4}), tmp_path / folder)
    make_shipped(tmp_path / "first", tmp_path / "out")
    (tmp_path / "two").mkdir()
    write_networks(tmp_path / "two" / "dev", networks)
    return tmp_path / "out"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_model_is_added_and_nothing_else_changes(out: Path) -> None:
    before = contents(out)
    assert add_shipped(out.parent / "study" / "two", out, networks=out.parent, splits=("dev",)) == "two"
    after = contents(out)
    assert {name: text for name, text in after.items() if not name.startswith("two/")} == before
    model, original = load_model(out / "two"), load_model(out.parent / "study" / "two")
    assert model.card.to_json()["card"]["metrics"]["dev"]["utterances"] == 36
    assert model.card.training.start == "a model"
    shared = load_model(out / "one").table
    assert model.table.words == shared.words
    np.testing.assert_array_equal(model.table.vectors, shared.vectors)
    rows = original.table.rows(model.table.words)
    assert model.table.mass is not None
    np.testing.assert_allclose(model.table.mass, original.table.mass_of(rows), rtol=1e-3)
    assert "words.vectors" not in read_tensors(out / "two" / "model.safetensors")[0]


def test_a_model_that_does_not_fit_leaves_all_as_it_was(out: Path, networks: Lattices) -> None:
    before = contents(out)
    model = with_table(networks, 1)
    assert model.table.vectors is not None
    for name, vectors in (("other", -model.table.vectors), ("wide", np.tile(model.table.vectors, 2))):
        config = replace(model.config, dimension=vectors.shape[1])
        weights = {
            key: np.tile(weight, (1, 2)) [:, : len(config.columns) + vectors.shape[1]]
            if key.endswith("input.weight") else weight
            for key, weight in model.weights.items()
        }  # fmt: skip
        table = replace(model.table, vectors=vectors)
        save_model(replace(model, config=config, weights=weights, table=table), out.parent / "study" / name)
        with pytest.raises(OptionError, match="word vectors"):
            add_shipped(out.parent / "study" / name, out)
    with pytest.raises(OptionError, match="already"):
        add_shipped(out.parent / "first" / "one", out)
    assert contents(out) == before
    assert (out / WORDS).is_file()


def test_only_words_that_were_heard_take_room(networks: Lattices, tmp_path: Path) -> None:
    model = with_table(networks)
    assert model.table.mass is not None
    mass = np.where(np.arange(len(model.table.mass)) % 3 == 0, model.table.mass, 0).astype(np.float16)
    model = replace(model, table=replace(model.table, mass=mass.astype(np.float32)))
    save_model(model, tmp_path / "model", small=True)
    assert len(read_tensors(tmp_path / "model" / "model.safetensors")[0]["words.mass"]) == np.count_nonzero(mass)
    np.testing.assert_array_equal(load_model(tmp_path / "model").table.mass, mass)
