"""Models with made-up weights, and networks to run them on: what tests of everything after training need."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import wordtrust as wt
from wordtrust.confidence.config import Config, weight_shapes
from wordtrust.confidence.features import Statistics, available
from wordtrust.confidence.model_card import ModelCard
from wordtrust.confidence.model_file import Model, save_model
from wordtrust.confidence.word_table import WordTable
from wordtrust.formats.references import read_references
from wordtrust.lattices.lattice import Lattices
from wordtrust.networks.build_store import BuildOptions, build_networks

SAMPLE = Path(wt.__file__).parent / "sample"
COLUMNS = ("silence", "phones", "acoustic", "posterior", "frames", "one_best", "posterior_logit")


def sample_networks(recognizer: str = "") -> Lattices:
    """The networks of the bundled sample, with labels; every two utterances are a speaker's."""
    lattices = wt.read(str(SAMPLE / "lattices" / "*.slf.gz"))
    named = replace(lattices, origin=replace(lattices.origin, recognizer=recognizer))
    networks = build_networks(named, BuildOptions(references=read_references(SAMPLE / "ref.tsv")))
    speakers = tuple(f"speaker {number // 2}" for number in range(len(networks)))
    return replace(networks, notes={**networks.notes, "speaker": speakers})


def made_model(networks: Lattices, seed: int = 0, **about: Any) -> Model:
    """A model that has learned nothing, but trusts what the recognizer trusts; `about` goes into model.json."""
    return _made_model(networks, seed, 0, about)


def made_gap_model(networks: Lattices, seed: int = 0, **about: Any) -> Model:
    """Such a model that tells where words are missing, wherever that may be."""
    return _made_model(networks, seed, 4, about)


def _made_model(networks: Lattices, seed: int, gap: int, about: dict[str, Any]) -> Model:
    rng = np.random.default_rng(seed)
    config = Config(state=4, hidden=3, dimension=2, buckets=16, columns=available(networks, COLUMNS), gap=gap)
    weights = {name: rng.normal(0, 0.3, shape).astype(np.float32) for name, shape in weight_shapes(config).items()}
    weights["skip"] = np.ones(1, np.float32)
    size = len(config.columns)
    statistics = Statistics(config.columns, np.zeros(size, np.float32), np.ones(size, np.float32))
    card = ModelCard.from_json(ModelCard.of_networks(networks).to_json() | about)
    return Model(config, weights, WordTable(), statistics, card)


def write_model(folder: Path, networks: Lattices, seed: int = 0, **about: Any) -> Path:
    """Such a model as a folder."""
    save_model(made_model(networks, seed, **about), folder)
    return folder


def write_networks(path: Path, networks: Lattices) -> Path:
    """Networks as a store."""
    wt.write(networks, path, format="store")
    return path
