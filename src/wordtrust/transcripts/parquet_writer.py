"""Tables of words (.parquet): a row for each word; utterances without words have none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..base.files import atomic
from .target import AddTranscripts, Target
from .transcript import Transcript

GROUP_WORDS = 1 << 16  # words of a row group, held in memory until they are written


@contextmanager
def write_parquet(target: Target) -> Iterator[AddTranscripts]:
    """Write row groups of about `GROUP_WORDS` words."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.float64()
    alternatives = pa.list_(pa.struct([("word", text), ("confidence", number)]))
    schema = pa.schema(
        [
            ("utt", text), ("index", pa.int32()), ("word", text), ("norm", text), ("start", number), ("end", number),
            ("confidence", number), ("alternatives", alternatives),
        ]
    )  # fmt: skip
    rows: list[tuple[object, ...]] = []

    def flush() -> None:
        columns = zip(*rows, strict=True) if rows else [()] * len(schema)
        file.write_table(pa.table([*map(list, columns)], schema=schema))
        rows.clear()

    def add(transcripts: Sequence[Transcript]) -> None:
        for transcript in transcripts:
            rows.extend(_rows(transcript))
            if len(rows) >= GROUP_WORDS:
                flush()

    with atomic(target.path) as raw, pq.ParquetWriter(raw, schema, compression="zstd") as file:
        yield add
        if rows:
            flush()


def _rows(transcript: Transcript) -> Iterator[tuple[object, ...]]:
    utt = _utf8(transcript.utt)
    for index, word in enumerate(transcript.words):
        others = [{"word": _utf8(other.word), "confidence": other.confidence} for other in word.alternatives]
        yield utt, index, _utf8(word.word), _utf8(word.norm), word.start, word.end, word.confidence, others


def _utf8(text: str) -> str:
    """The text with `?` for what UTF-8 cannot hold (unpaired surrogates)."""
    return text.encode("utf-8", "replace").decode("utf-8")
