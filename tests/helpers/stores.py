"""Stores for the tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.helpers.strategies import assembled
from wordtrust.formats import stream_files
from wordtrust.formats.inputs import STORE_FILE
from wordtrust.formats.store.write import StoreWriter
from wordtrust.lattices.lattice import Lattice


def everything(path: Path, **options: Any) -> list[Lattice]:
    return [lattice for batch in stream_files(path, **options) for lattice in batch]


def write_store(path: Path, *found: Lattice, **sizes: Any) -> Path:
    with StoreWriter(path, **sizes) as store:
        for lattice in found:
            store.add(lattice.batch())
    return path


def tables(path: Path) -> tuple[pa.Table, pa.Table]:
    """The utterances and arcs of a store of one shard, as any tool reads them."""
    return pq.read_table(path / "utterances-00000.parquet"), pq.read_table(path / "arcs-00000.parquet")


def replace_file(path: Path, kind: str, table: pa.Table) -> None:
    """Write the `utterances` or `arcs` of a store of one shard anew, with the size that store.json says."""
    file = path / f"{kind}-00000.parquet"
    pq.write_table(table, file)
    change_json(path, lambda about: about["shards"][0].update({f"{kind}_bytes": file.stat().st_size}))


def change_json(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what store.json says."""
    about = json.loads((path / STORE_FILE).read_text())
    change(about)
    (path / STORE_FILE).write_text(json.dumps(about).replace("Infinity", "1e400"))


def simple(utt: str = "u1", **arrays: Any) -> Lattice:
    """Two ways from start to end, through `a` and `b` or with silence."""
    return assembled(
        utt, time=[0, 0.5, 1.0], ends=[(0, 1), (1, 2), (0, 2)], tokens=["a", "b", "<eps>"],
        **arrays or {"acoustic": [-1.5, -2, 0]},
    )  # fmt: skip


def four_shards(path: Path) -> Path:
    return write_store(path, *(simple(f"u{number}") for number in range(4)), group_arcs=3, shard_bytes=1)
