"""Files of transcripts, written piece by piece, whole or not at all. The ending of the name says what they are:

- .jsonl: `Transcript.to_dict` of each utterance on a line of its own;
- .json: one document with the text, the segments, and what is known about the recording (`transcript_json`);
- .ctm: `Transcript.to_ctm`;
- .vtt and .srt: subtitles in which doubtful words are marked (`transcript_subtitles`);
- .html: a page to read, to check and to listen along (`transcript_page`);
- .parquet: a row for each word; utterances without words have none.

.jsonl, .json and .ctm may end in .gz as well.

Transcripts are utterances, each with a name and a clock of its own, unless a writer is told that they are segments of
`recordings`: then times count from the start of the recording that `utt` names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..base.errors import OptionError
from ..base.files import atomic, atomic_text
from ..formats.ctm import name_field
from .json import json_line, write_json, write_jsonl
from .page import write_page
from .subtitles import write_srt, write_vtt
from .transcript import Add, Transcript

__all__ = ["TranscriptWriter", "json_line"]

Channels = Mapping[str, tuple[str, str]]  # the file and the channel that a recording is

_GROUP_WORDS = 1 << 16  # words of a parquet row group, held in memory until they are written
_OVERLAP = 1.0  # seconds that two segments of a recording may share where words are timed loosely


class TranscriptWriter:
    """Writes transcripts to a file of the kind that its name ends in.

        with TranscriptWriter("words.ctm") as out:
            out.add(transcripts)

    The file appears when the block ends. If the block raises, nothing is left and what was there before is untouched.

    With `recordings`, transcripts are segments of the recordings that they are named after, in the order of time:
    lines of .ctm may share a name, and a .vtt file names a recording once. `about` is what .json and .html files say
    about it (recognizer, model, duration, ...), as JSON; it is looked at when the block ends. `channels` says which
    recordings are channels of a file, `{"call-2": ("call", "2")}`: CTM has a field for that.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        recordings: bool = False,
        about: Mapping[str, Any] | None = None,
        channels: Channels | None = None,
    ) -> None:
        self._path = Path(path)
        self._open = _writer(self._path, recordings, {} if about is None else about, channels or {})
        self._stack = ExitStack()
        self._add: Add | None = None

    def __enter__(self) -> Self:
        if self._path.is_dir():
            raise OptionError(f"{self._path}: cannot be written: it is a folder")
        self._add = self._stack.enter_context(self._open())
        return self

    def add(self, transcripts: Sequence[Transcript]) -> None:
        """Write these too."""
        assert self._add, "a TranscriptWriter writes inside its `with` block"
        self._add(transcripts)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._add = None
        self._stack.__exit__(kind, error, trace)


def _ctm(path: Path, *, recordings: bool, channels: Channels) -> AbstractContextManager[Add]:
    return _ctm_recordings(path, channels) if recordings else _ctm_utterances(path)


@contextmanager
def _ctm_utterances(path: Path) -> Iterator[Add]:
    names: set[str] = set()

    def add(transcripts: Sequence[Transcript]) -> None:
        for each in transcripts:
            name = name_field(each.utt)
            if name in names:
                raise _one_name(path, "utterances", name)
            names.add(name)
            file.write(each.to_ctm())

    with atomic_text(path) as file:
        yield add


@contextmanager
def _ctm_recordings(path: Path, channels: Channels) -> Iterator[Add]:
    """Segments of one name and channel are one recording if they follow each other in time."""
    ends: dict[tuple[str, str], float] = {}
    silent: dict[tuple[str, str], str] = {}  # and what they are called

    def add(transcripts: Sequence[Transcript]) -> None:
        for each in transcripts:
            name, channel = channels.get(each.utt, (each.utt, "1"))
            key = name_field(name), channel
            if not each.words:
                silent.setdefault(key, each.utt)
                continue
            end = ends.get(key, -inf)
            if each.words[0].start < end - _OVERLAP:
                raise _one_name(path, "recordings", key[0])
            ends[key] = max(end, each.words[-1].end)
            file.write(Transcript(name, each.words).to_ctm(channel))

    with atomic_text(path) as file:
        yield add
        file.writelines(Transcript(name, ()).to_ctm() for key, name in silent.items() if key not in ends)


def _one_name(path: Path, what: str, name: str) -> OptionError:
    return OptionError(
        f"{path}: two {what} would be called {name!r} and be read as one. Write them to two files, or to .jsonl"
    )


@contextmanager
def _parquet(path: Path) -> Iterator[Add]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.float64()
    other = pa.list_(pa.struct([("word", text), ("confidence", number)]))
    schema = pa.schema(
        [
            ("utt", text), ("index", pa.int32()), ("word", text), ("norm", text), ("start", number), ("end", number),
            ("confidence", number), ("alternatives", other),
        ]
    )  # fmt: skip
    rows: list[tuple[object, ...]] = []

    def write() -> None:
        columns = zip(*rows, strict=True) if rows else [()] * len(schema)
        file.write_table(pa.table([*map(list, columns)], schema=schema))
        rows.clear()

    def add(transcripts: Sequence[Transcript]) -> None:
        for each in transcripts:
            rows.extend(_rows(each))
            if len(rows) >= _GROUP_WORDS:
                write()

    with atomic(path) as raw, pq.ParquetWriter(raw, schema, compression="zstd") as file:
        yield add
        if rows:
            write()


def _rows(transcript: Transcript) -> Iterator[tuple[object, ...]]:
    utt = _whole(transcript.utt)
    for index, word in enumerate(transcript.words):
        others = [{"word": _whole(other.word), "confidence": other.confidence} for other in word.alternatives]
        yield (
            utt, index, _whole(word.word), _whole(word.norm), word.start, word.end, word.confidence, others,
        )  # fmt: skip


def _whole(text: str) -> str:
    """What UTF-8 cannot hold (half characters) becomes `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _writer(
    path: Path, recordings: bool, about: Mapping[str, Any], channels: Channels
) -> Callable[[], AbstractContextManager[Add]]:
    """What writes a file of this name."""
    writers: dict[str, Callable[[], AbstractContextManager[Add]]] = {
        ".jsonl": partial(write_jsonl, path),
        ".json": partial(write_json, path, about),
        ".ctm": partial(_ctm, path, recordings=recordings, channels=channels),
        ".vtt": partial(write_vtt, path, recordings=recordings),
        ".srt": partial(write_srt, path),
        ".html": partial(write_page, path, about),
        ".parquet": partial(_parquet, path),
    }
    packed = {f"{ending}.gz": writers[ending] for ending in (".jsonl", ".json", ".ctm")}
    for ending, writer in (writers | packed).items():
        if path.name.endswith(ending):
            return writer
    raise OptionError(
        f"{path}: the name says what to write and should end in .jsonl, .json, .ctm, .vtt, .srt, .html or .parquet "
        "(.jsonl.gz, .json.gz and .ctm.gz are packed)"
    )
