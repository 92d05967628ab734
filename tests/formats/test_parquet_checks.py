"""What parquet files say of themselves, read without pyarrow and without trust."""

from __future__ import annotations

import io
import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.helpers.bombs import read_bounded
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.formats import read
from wordtrust.formats.parquet_checks import group_sizes
from wordtrust.transcripts.reader import read_transcripts

STORE = SAMPLES / "store" / "tide.store"
WORDS = SAMPLES / "transcript" / "words.parquet"


def written(table: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_sizes_are_those_that_arrow_tells(compression: str) -> None:
    table = pa.table({"a": [1, 2, 3, None], "b": [[1.0] * 9, [], [2.0], None], "c": [{"d": "x", "e": True}] * 4})
    file = written(table, row_group_size=3, compression=compression, write_page_index=True)
    metadata = pq.ParquetFile(file).metadata
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    assert len(groups) == 2
    for found, group in zip(group_sizes(file), groups, strict=True):
        columns = [group.column(column) for column in range(metadata.num_columns)]
        assert found.values == max(column.num_values for column in columns)
        assert found.unpacked == sum(column.total_uncompressed_size for column in columns)


def test_damaged_footers_are_errors_of_values() -> None:
    data = (STORE / "utterances-00000.parquet").read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    refused = 0
    for seed in range(2_000):
        random, damaged = Random(seed), bytearray(data)
        for _ in range(random.choice((1, 2, 4))):
            damaged[random.randrange(footer, len(data))] = random.choice((0, 255, random.randrange(256)))
        try:
            group_sizes(io.BytesIO(damaged))
        except ValueError:
            refused += 1
    assert 100 < refused < 2_000


@pytest.mark.parametrize("data", [b"", b"PAR1", b"\xff\xff\xff\x7fPAR1", b"\0\0\0\0PAR1", b"PAR1" * 5])
def test_what_is_no_parquet_file(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"parquet|footer"):
        group_sizes(io.BytesIO(data))


def test_lists_of_nodes_are_bounded_before_they_are_unpacked(tmp_path: Path) -> None:
    rows = pq.read_table(STORE / "utterances-00000.parquet")
    times = pa.array([np.zeros(8_000_000)], rows.schema.field("time").type)
    rows = rows.set_column(rows.schema.get_field_index("time"), rows.schema.field("time"), times)
    store = tmp_path / "a.store"
    store.mkdir()
    for name in ("store.json", "arcs-00000.parquet"):
        (store / name).write_bytes((STORE / name).read_bytes())
    file = store / "utterances-00000.parquet"
    pq.write_table(rows, file, compression="zstd")
    about = json.loads((store / "store.json").read_text())
    about["shards"][0]["utterances_bytes"] = file.stat().st_size
    (store / "store.json").write_text(json.dumps(about))
    assert file.stat().st_size < 10_000
    with pytest.raises(InputError, match=r"utterances-00000.parquet: 8,000,000 values in a row group, more than"):
        read(store)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("word", ["x" * 100_000] * 4096, r"the column 'word' has a text of 100,000 bytes"),
        ("utt", ["x" * 120_000_000], r"bytes that unpack to 1\d\d,\d{3},\d{3} with"),
        ("alternatives", [[{"word": "a", "confidence": 0.1}] * 900_000], r"unpack to [\d,]+ with 900,000 values"),
    ],
)
def test_tables_of_words_are_bounded(tmp_path: Path, column: str, values: list[Any], message: str) -> None:
    table = pq.read_table(WORDS).take(pa.array(np.zeros(len(values), np.int64)))
    field = table.schema.field(column)
    path = tmp_path / "a.parquet"
    pq.write_table(
        table.set_column(table.schema.get_field_index(column), field, pa.array(values, field.type)),
        path,
        compression="zstd",
    )
    assert path.stat().st_size < 10_000_000
    with pytest.raises(InputError, match=message):
        read_transcripts(path)


@pytest.mark.slow
def test_types_that_do_not_fit_the_columns_end_no_process(tmp_path: Path) -> None:
    """To ask pyarrow about the columns of these ends the process."""
    data = WORDS.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    types = [footer + place for place in range(240) if data[footer + place : footer + place + 3] == b"\x15\x0c\x25"]
    files = [tmp_path / f"{place + 1}-0.parquet" for place in types]
    assert len(files) > 2
    for path in files:
        place, value = map(int, path.stem.split("-"))
        path.write_bytes(data[:place] + bytes([value]) + data[place + 1 :])
    outcomes = [reading.outcome for reading in read_bounded([*files, WORDS])]
    assert set(outcomes) <= {"read", "refused"}
