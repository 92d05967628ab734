"""Tables of words (.parquet) as transcripts: a row for each word, whose index counts from 0 in every utterance."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...base import json_checks as check
from ...base.errors import InputError
from ..inputs import Stream
from ..parquet_checks import arrow_errors, group_sizes
from .records import (
    ABOUT,
    ACCEPTED,
    CHANNEL,
    CHECKED,
    HEARD,
    MADE_UP,
    MISSING_BEFORE,
    MISSING_END,
    ORIGINAL,
    SPEAKER,
    WARNINGS,
    TranscriptFile,
    TranscriptRecord,
    Word,
    channel_of,
    left_out_of,
    probability_of,
    reviewed_of,
    warnings_of,
    word_of,
)

COLUMNS = ("utt", "index", "word", "norm", "start", "end", "confidence", "alternatives")
UTTERANCE_CONFIDENCE = "utterance_confidence"  # the same on every row of an utterance, as `missing_end` is
REVIEWED = ("review_expected", "review_found")  # likewise
MORE_COLUMNS = (
    "joins_next",
    MISSING_BEFORE,
    MISSING_END,
    UTTERANCE_CONFIDENCE,
    ACCEPTED,
    WARNINGS,
    SPEAKER,
    CHANNEL,
    HEARD,
    MADE_UP,
    *REVIEWED,
    CHECKED,
    ORIGINAL,
)  # that older tables lack
MOST_WORDS = 200_000  # of an utterance, twenty hours of speech: more is an attack
_MOST_ALTERNATIVES = 200_000  # of the rows that are read at a time
_LONGEST_TEXT = 1 << 13  # bytes of a name or word
_MOST_WARNINGS, _LONGEST_MESSAGE = 20, 1 << 10  # of an utterance; bytes
_FREE_BYTES, _FREE_VALUES = 100_000_000, 200_000  # that any table may unpack to
_TEXTS = ("utt", "word", "norm")
_ROWS = 1 << 12  # read at a time
_DAMAGED = "The file is cut off or damaged; copy or make it again"
_REMEDY = "Name the folder that has a store.json in it, or a table of words that wordtrust wrote"


def open_table(stream: Stream) -> TranscriptFile:
    """The transcripts of a table; utterances without words have no rows."""
    data = stream.document()
    with arrow_errors(stream.name, remedy=_DAMAGED):
        table = pq.ParquetFile(pa.BufferReader(data))
        missing = set(COLUMNS) - set(table.schema_arrow.names)
        if missing:
            found = f"a parquet file alone is no store, and no table of words: no column {sorted(missing)[0]!r}"
            raise stream.error(found, remedy=_REMEDY)
        _check_size(data)
        texts = [*_TEXTS, *({SPEAKER, CHANNEL, MADE_UP} & set(table.schema_arrow.names))]
        table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        head = _head(table.schema_arrow.metadata or {})
        return TranscriptFile(_records(table, stream.name), check.object_of(head, "about"), left_out_of(head))


def _head(metadata: Mapping[bytes, bytes]) -> dict[str, Any]:
    return check.record(check.parse(metadata[ABOUT])) if ABOUT in metadata else {"about": {}}


def _check_size(data: bytes) -> None:
    """Refuse what would unpack to far more than its size."""
    groups = group_sizes(io.BytesIO(data))
    largest, values = max((group.unpacked for group in groups), default=0), sum(group.values for group in groups)
    if largest > _FREE_BYTES + 50 * len(data) or values > _FREE_VALUES + 2 * len(data):
        found = f"{len(data):,} bytes that unpack to {largest:,} with {values:,} values in a column"
        raise InputError(found, remedy="No table of words is packed as tightly: was it made by wordtrust?")


def _records(table: Any, name: str) -> Iterator[TranscriptRecord]:
    """An index of 0 begins the next utterance."""
    words, whole = list[Word](), TranscriptRecord("", ())
    for row_number, row in enumerate(_rows(table, name)):
        with arrow_errors(name, f"row {row_number}", remedy=_DAMAGED):
            index, row_utt = check.number(row, "index"), check.string(row, "utt")
            if index == 0 and words:
                yield whole._replace(words=tuple(words))
                words = []
            if index != len(words) or (words and row_utt != whole.utt) or index >= MOST_WORDS:
                raise InputError(f"word {index:g} of {row_utt!r} comes after word {len(words) - 1} of {whole.utt!r}")
            words.append(word_of(row, "the row"))
            right, missing = (
                probability_of(row, column, "the row") for column in (UTTERANCE_CONFIDENCE, MISSING_END)
            )
            speaker = check.string_or_none(row, SPEAKER) or None
            review = None
            if all(row.get(column) is not None for column in REVIEWED):
                review = reviewed_of(*(check.number(row, column, "the row") for column in REVIEWED))
            whole = TranscriptRecord(row_utt, (), warnings_of(row), right, missing, speaker, review, channel_of(row))
    if words:
        yield whole._replace(words=tuple(words))


def _rows(table: Any, name: str) -> Iterator[dict[str, Any]]:
    wanted = [column for column in table.schema_arrow.names if column in (*COLUMNS, *MORE_COLUMNS)]
    batches = table.iter_batches(_ROWS, columns=wanted)
    while True:
        with arrow_errors(name, remedy=_DAMAGED):
            batch = next(batches, None)
            if batch is None:
                return
            if len(batch.column("alternatives").flatten()) > _MOST_ALTERNATIVES:
                raise InputError(f"{len(batch):,} words with more than {_MOST_ALTERNATIVES:,} alternatives")
            _check_texts(batch)
            _check_originals(batch)
            _check_warnings(batch)
            rows = batch.to_pylist()
        yield from rows


def _check_texts(batch: Any) -> None:
    """Equal texts are unpacked once, and would be many when they are rows."""
    for name in (*_TEXTS, *({SPEAKER, CHANNEL, MADE_UP} & set(batch.schema.names))):
        column = batch.column(name)
        texts = column.dictionary if pa.types.is_dictionary(column.type) else column
        longest = pc.max(pc.binary_length(texts)).as_py() if len(texts) else 0
        if (longest or 0) > _LONGEST_TEXT:
            raise InputError(f"the column {name!r} has a text of {longest:,} bytes", remedy="No word is as long")


def _check_originals(batch: Any) -> None:
    """What a person wrote over is a word, or some of them."""
    if ORIGINAL not in batch.schema.names:
        return
    column = batch.column(ORIGINAL)
    if not pa.types.is_struct(column.type):
        raise InputError(f"the column {ORIGINAL!r} has {column.type}", remedy="It has a word and its confidence")
    texts = [values for values in column.flatten() if pa.types.is_string(values.type)]
    longest = max((pc.max(pc.binary_length(values)).as_py() or 0 for values in texts), default=0)
    if longest > _LONGEST_TEXT:
        raise InputError(f"the column {ORIGINAL!r} has a text of {longest:,} bytes", remedy="No word is as long")


def _check_warnings(batch: Any) -> None:
    """They are on every row of an utterance, so a few long ones would be many."""
    if WARNINGS not in batch.schema.names:
        return
    column = batch.column(WARNINGS)
    if not pa.types.is_list(column.type) or not pa.types.is_struct(column.type.value_type):
        raise InputError(f"the column {WARNINGS!r} has {column.type}", remedy="It has lists of warnings")
    kept, most = column.flatten(), _MOST_WARNINGS * len(batch)
    texts = [values for values in kept.flatten() if pa.types.is_string(values.type)]
    longest = max((pc.max(pc.binary_length(values)).as_py() or 0 for values in texts), default=0)
    if len(kept) > most or longest > _LONGEST_MESSAGE:
        raise InputError(f"{len(batch):,} words with {len(kept):,} warnings of up to {longest:,} bytes")
