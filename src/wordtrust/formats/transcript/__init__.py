"""Our own transcripts, as `wordtrust transcribe` and `wordtrust score` write them: .json, .jsonl and .parquet.

records      words, alternatives, stretches that were left out; from JSON
parquet      the same from tables of words

Here they are read as lattices: what was said, one linear lattice for an utterance or for all segments of a
recording, with the confidences as posteriors. `wordtrust.transcripts.reader` reads them as transcripts, with all that
is in them. The writers are in `wordtrust.transcripts`.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from ...base import json_checks as check
from ...base.errors import InputError
from ...base.problems import Problems
from ...lattices.graph import LATEST
from ...lattices.lattice import Lattices
from ...lattices.text import JOINER
from ..format import Format, ReadOptions
from ..inputs import HEAD, Stream
from ..onebest.json_documents import scan_keys
from ..onebest.lattices import MAX_DOCUMENT, lattices
from ..onebest.recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord
from .records import (
    LANGUAGE_MODEL,
    MEAN,
    MODELS,
    TranscriptFile,
    TranscriptRecord,
    Word,
    left_out_of,
    note_language_models,
    record_of,
)

NAME = "transcript"
_PARQUET = b"PAR1"
_DERIVED = {"utt", "text", "confidence", MEAN, "segments", "left_out"}  # of a document: worked out when it is written
_RECORD = {"utt", "text", "confidence"}


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the content says enough
    """A document says that it is ours, a line has our keys. Parquet has its columns at its end: the reader looks."""
    if head.startswith(_PARQUET):
        return 1.0
    keys = scan_keys(head)
    if keys is None or keys.has("nbest"):
        return 0.0
    return 1.0 if keys.top >= {"wordtrust", "text"} or keys.top >= _RECORD else 0.0


def open_transcripts(stream: Stream, problems: Problems) -> TranscriptFile:
    """What is in a file of ours; a bad utterance goes to `problems`."""
    if stream.head(HEAD).startswith(_PARQUET):
        from .parquet import open_table  # arrow takes a while to load, and JSON does not need it

        return open_table(stream)
    if _is_json_lines(stream.head(HEAD)):
        lines = ((place, line) for place, line in stream.lines() if line.strip())
        notes = _LineNotes()
        return TranscriptFile(_records(lines, stream, problems, "line", notes.parse), notes.about)
    try:
        document = check.parse(stream.document(MAX_DOCUMENT))
        if isinstance(document, dict) and "segments" in document:
            items: list[Any] = check.objects_of(document, "segments")
            about = {key: value for key, value in document.items() if key not in _DERIVED}
            records = _records(enumerate(items), stream, problems, "segment")
            return TranscriptFile(records, about, left_out_of(document))
    except InputError as error:
        raise error.at(file=stream.name) from None
    items = document if isinstance(document, list) else [document]
    return TranscriptFile(_records(enumerate(items), stream, problems, "record"))


class _LineNotes:
    """What lines say one by one about all of them: the models that they name."""

    def __init__(self) -> None:
        self.about: dict[str, Any] = {}
        self._language_models: list[str | None] = []

    def parse(self, line: Any) -> Any:
        """What a line says."""
        record = check.parse(line)
        said = record if isinstance(record, dict) else {}
        models, read_by = said.get(MODELS), said.get(LANGUAGE_MODEL)
        for name in models if isinstance(models, list) else ():
            if isinstance(name, str) and name not in self.about.setdefault(MODELS, []):
                self.about[MODELS].append(name)
        language_model = read_by if isinstance(read_by, str) else None
        if language_model not in self._language_models:
            self._language_models.append(language_model)
            note_language_models(self.about, self._language_models)
        return record


def _is_json_lines(head: bytes) -> bool:
    """Whether each line is an utterance; else the file is one JSON text."""
    keys = scan_keys(head)
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0].rstrip()
    is_whole = line.endswith(b"}") or len(line) >= HEAD - 3
    return line.startswith(b"{") and is_whole and not (keys and {"wordtrust", "segments"} & keys.top)


def _records(
    items: Iterable[tuple[int, Any]], stream: Stream, problems: Problems, kind: str,
    parse: Callable[[Any], Any] = lambda item: item,
) -> Iterator[TranscriptRecord]:  # fmt: skip
    for place, item in items:
        try:
            yield record_of(parse(item), stream.stem)
        except InputError as error:
            problems.report(error.at(file=stream.name, place=f"{kind} {place}"))


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """The lattice of each utterance; segments of one recording, which follow each other, are one."""
    file = open_transcripts(stream, problems)
    duration = file.about.get("duration")
    seconds = float(duration) if isinstance(duration, int | float) and abs(duration) < LATEST else None
    yield from lattices(_joined(file.records, seconds), stream, options, problems, NAME)


def is_record(value: Any) -> bool:
    """Whether Python code gives a transcript: a name and words."""
    words = getattr(value, "words", None)
    return hasattr(value, "utt") and isinstance(words, tuple) and all(isinstance(word, Word) for word in words)


def record_lattices(
    records: Iterable[Any], problems: Problems | None = None, *, options: ReadOptions = ReadOptions()
) -> Iterator[Lattices]:
    """The lattices of transcripts that Python code holds, as those of their files."""
    stream = Stream(io.BytesIO(), "transcripts", Path("transcripts"))
    yield from lattices(_joined(records, None), stream, options, problems or Problems(), NAME)


def _joined(records: Iterable[Any], seconds: float | None) -> Iterator[RecognizedTranscript]:
    for utt, segments in groupby(records, lambda record: record.utt):
        listed = list(segments)
        phrases = [_phrase(segment.words, segment.speaker) for segment in listed]
        yield RecognizedTranscript(str(utt), phrases, seconds, listed[0].channel)


def _phrase(words: tuple[Word, ...], speaker: str | None) -> RecognizedPhrase:
    return RecognizedPhrase(
        [
            RecognizedWord(
                word.word + JOINER * word.joins_next,
                word.start,
                word.end,
                min(word.confidence, 1.0),
                word.norm if word.original is None else None,  # what a person wrote may be several words
            )
            for word in words
        ],
        speaker=speaker,
    )


FORMAT = Format(NAME, "wordtrust transcript (JSON, parquet)", (".json", ".jsonl", ".parquet"), sniff, read)
