"""Tables of words (.parquet): a row for each word; utterances without words have none."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..base.files import atomic
from ..formats.transcript.records import ABOUT
from .table import COLUMNS, rows
from .target import AddTranscripts, Target
from .utterance import UtteranceWords

GROUP_WORDS = 1 << 16  # words of a row group, held in memory until they are written


@contextmanager
def write_parquet(target: Target) -> Iterator[AddTranscripts]:
    """Write row groups of about `GROUP_WORDS` words; what is known about the recording is in the file's metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(target)
    waiting: list[tuple[Any, ...]] = []

    def flush() -> None:
        columns = zip(*waiting, strict=True) if waiting else [()] * len(schema)
        file.write_table(pa.table([*map(list, columns)], schema=schema))
        waiting.clear()

    def add(transcripts: Sequence[UtteranceWords]) -> None:
        for transcript in transcripts:
            waiting.extend(tuple(map(_utf8, row)) for row in rows(transcript))
            if len(waiting) >= GROUP_WORDS:
                flush()

    with atomic(target.path) as raw, pq.ParquetWriter(raw, schema, compression="zstd") as file:
        yield add
        if waiting:
            flush()


def _schema(target: Target) -> Any:
    import pyarrow as pa

    text, number = pa.string(), pa.float64()
    types = {
        "index": pa.int32(), "start": number, "end": number, "confidence": number,
        "joins_next": pa.bool_(), "accepted": pa.bool_(), "checked": pa.bool_(),
        "original": pa.struct([("word", text), ("confidence", number)]),
        "heard": number, "missing_before": number, "missing_end": number, "utterance_confidence": number,
        "review_expected": number, "review_found": number,
        "alternatives": pa.list_(pa.struct([("word", text), ("confidence", number)])),
        "warnings": pa.list_(pa.struct([("name", text), ("figure", number), ("message", text)])),
    }  # fmt: skip
    schema = pa.schema([(name, types.get(name, text)) for name in COLUMNS])
    if not target.about and target.left_out is None:
        return schema
    about: dict[str, Any] = {"about": dict(target.about)}
    if target.left_out is not None:
        about["left_out"] = [stretch.to_dict() for stretch in target.left_out]
    return schema.with_metadata({ABOUT: json.dumps(about, default=str)})


def _utf8(value: Any) -> Any:
    """The value with `?` for what UTF-8 cannot hold (unpaired surrogates)."""
    if isinstance(value, list):
        return [_utf8(entry) for entry in value]
    if isinstance(value, dict):
        return {name: _utf8(entry) for name, entry in value.items()}
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
