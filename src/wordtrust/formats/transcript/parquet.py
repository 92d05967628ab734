"""Tables of words (.parquet) as transcripts: a row for each word, whose index counts from 0 in every utterance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...base import json_checks as check
from ...base.errors import InputError
from ..inputs import Stream
from .records import ABOUT, TranscriptFile, TranscriptRecord, Word, left_out_of, word_of

COLUMNS = ("utt", "index", "word", "norm", "start", "end", "confidence", "alternatives")
MOST_WORDS = 200_000  # of an utterance, twenty hours of speech: more is an attack
_MOST_ALTERNATIVES = 1_000_000  # of the rows that are read at a time
_ROWS = 1 << 12  # read at a time
_REMEDY = "Name the folder that has a store.json in it, or a table of words that wordtrust wrote"


def open_table(stream: Stream) -> TranscriptFile:
    """The transcripts of a table; utterances without words have no rows."""
    data = stream.document()
    with _damage(stream.name):
        table = pq.ParquetFile(pa.BufferReader(data))
        missing = set(COLUMNS) - set(table.schema_arrow.names)
        if missing:
            found = f"a parquet file alone is no store, and no table of words: no column {sorted(missing)[0]!r}"
            raise stream.error(found, remedy=_REMEDY)
        _check_size(table, len(data))
        head = _head(table.schema_arrow.metadata or {})
        return TranscriptFile(_records(table, stream.name), check.object_of(head, "about"), left_out_of(head))


def _head(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    return check.record(check.parse(metadata[ABOUT])) if ABOUT in metadata else {"about": {}}


def _check_size(table: Any, size: int) -> None:
    """Refuse what would unpack to far more than its size: sizes and numbers of values are in the file's footer."""
    groups = [table.metadata.row_group(index) for index in range(table.metadata.num_row_groups)]
    largest = max((group.total_byte_size for group in groups), default=0)
    columns = range(table.metadata.num_columns)
    values = max((sum(group.column(column).num_values for group in groups) for column in columns), default=0)
    if largest > 50 * size + 500_000_000 or values > 2 * size + 1_000_000:
        found = f"{size:,} bytes that unpack to {largest:,} with {values:,} values in a column"
        raise InputError(found, remedy="No table of words is packed as tightly: was it made by wordtrust?")


def _records(table: Any, name: str) -> Iterator[TranscriptRecord]:
    """An index of 0 begins the next utterance."""
    utt, words = "", list[Word]()
    for row_number, row in enumerate(_rows(table, name)):
        with _damage(name, f"row {row_number}"):
            index, row_utt = check.number(row, "index"), check.string(row, "utt")
            if index == 0 and words:
                yield TranscriptRecord(utt, tuple(words))
                words = []
            if index != len(words) or (words and row_utt != utt) or index >= MOST_WORDS:
                raise InputError(f"word {index:g} of {row_utt!r} comes after word {len(words) - 1} of {utt!r}")
            utt = row_utt
            words.append(word_of(row, "the row"))
    if words:
        yield TranscriptRecord(utt, tuple(words))


def _rows(table: Any, name: str) -> Iterator[dict[str, Any]]:
    wanted = [column for column in table.schema_arrow.names if column in (*COLUMNS, "joins_next")]
    batches = table.iter_batches(_ROWS, columns=wanted)
    while True:
        with _damage(name):
            batch = next(batches, None)
            if batch is None:
                return
            if len(batch.column("alternatives").flatten()) > _MOST_ALTERNATIVES:
                raise InputError(f"{len(batch):,} words with more than {_MOST_ALTERNATIVES:,} alternatives")
            rows = batch.to_pylist()
        yield from rows


@contextmanager
def _damage(file: str, place: str = "") -> Iterator[None]:
    """Whatever arrow finds wrong with a file becomes an `InputError`."""
    try:
        yield
    except InputError as error:
        raise error.at(file=file, place=place) from None
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, OverflowError, RuntimeError) as error:
        message = " ".join(str(error).split())[:200] or type(error).__name__
        remedy = "The file is cut off or damaged; copy or make it again"
        raise InputError(f"cannot be read on: {message}", file=file, place=place, remedy=remedy) from None
