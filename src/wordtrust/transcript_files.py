"""Files of transcripts: .jsonl, .ctm, .vtt and .parquet, written piece by piece, whole or not at all.

- .jsonl: `Transcript.to_dict` of each utterance on a line of its own;
- .ctm: `Transcript.to_ctm`; no two utterances may have one name;
- .vtt: WebVTT subtitles, doubtful words in the classes `low` and `medium`, others in `high`. Times count from the
  start of each utterance, and a comment names it, so a file to play beside audio should hold one utterance;
- .parquet: a row for each word; utterances without words have none.

.jsonl and .ctm may end in .gz as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from .errors import OptionError
from .formats.outputs import atomic, atomic_text
from .transcript import Transcript, Word
from .transcript_views import ctm_name, level, spelled, to_ctm, visible

Add = Callable[[Sequence[Transcript]], None]

# JSON allows these within a line, yet many programs end a line there.
_LINE_ENDS = str.maketrans({"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"})
_GROUP_WORDS = 1 << 16  # words of a parquet row group, held in memory until they are written
_CUE_WORDS, _CUE_SECONDS, _PAUSE = 7, 5.0, 1.0  # subtitles that can be read while they are shown
_VTT_HEAD = """\
WEBVTT

STYLE
::cue(.low) { color: #ff8a80; text-decoration: underline; }
::cue(.medium) { color: #ffe082; }
::cue(.high) { color: #ffffff; }

"""


class TranscriptWriter:
    """Writes transcripts to a file of the kind that its name ends in.

        with TranscriptWriter("words.ctm") as out:
            out.add(transcripts)

    The file appears when the block ends. If the block raises, nothing is left and what was there before is untouched.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._open = _writer(self._path)
        self._stack = ExitStack()
        self._add: Add | None = None

    def __enter__(self) -> Self:
        if self._path.is_dir():
            raise OptionError(f"{self._path}: cannot be written: it is a folder")
        self._add = self._stack.enter_context(self._open(self._path))
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


def json_line(transcript: Transcript) -> str:
    """One line of .jsonl, with its end."""
    return json.dumps(transcript.to_dict(), ensure_ascii=False).translate(_LINE_ENDS) + "\n"


@contextmanager
def _jsonl(path: Path) -> Iterator[Add]:
    with atomic_text(path) as file:
        yield lambda transcripts: file.writelines(map(json_line, transcripts))


@contextmanager
def _ctm(path: Path) -> Iterator[Add]:
    names: set[str] = set()

    def add(transcripts: Sequence[Transcript]) -> None:
        for each in transcripts:
            name = ctm_name(each.utt)
            if name in names:
                raise OptionError(
                    f"{path}: two utterances would be called {name!r} and be read as one. "
                    "Write them to two files, or to .jsonl"
                )
            names.add(name)
            file.write(to_ctm(each))

    with atomic_text(path) as file:
        yield add


@contextmanager
def _vtt(path: Path) -> Iterator[Add]:
    with atomic_text(path) as file:
        file.write(_VTT_HEAD)
        yield lambda transcripts: file.writelines(map(_vtt_blocks, transcripts))


def _vtt_blocks(transcript: Transcript) -> str:
    blocks = [f"NOTE {_vtt_text(transcript.utt) or '-'}\n\n"]
    for cue in _cues(transcript.words):
        start = _milliseconds(cue[0][0].start)
        end = max(start + 1, *(_milliseconds(word.end) for word, _, _ in cue))  # a cue has a length
        spans = (f"<c.{level(word.confidence)}>{_vtt_text(written)}</c>{space}" for word, written, space in cue)
        blocks.append(f"{_timestamp(start)} --> {_timestamp(end)}\n{''.join(spans).rstrip()}\n\n")
    return "".join(blocks)


def _cues(words: Sequence[Word]) -> Iterator[list[tuple[Word, str, str]]]:
    """Words in handy pieces, each with its spelling and the space after it; never cut inside `Middle-earth`."""
    cue: list[tuple[Word, str, str]] = []
    for word, (written, space) in zip(words, spelled(words), strict=True):
        if cue and cue[-1][2]:
            first, last = cue[0][0], cue[-1][0]
            too_long = len(cue) >= _CUE_WORDS or word.end - first.start > _CUE_SECONDS
            if too_long or word.start - last.end > _PAUSE:
                yield cue
                cue = []
        cue.append((word, written, space))
    if cue:
        yield cue


def _vtt_text(text: str) -> str:
    return visible(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _milliseconds(seconds: float) -> int:
    return max(0, round(seconds * 1000))


def _timestamp(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"


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


_WRITERS: dict[str, Callable[[Path], AbstractContextManager[Add]]] = {
    ".jsonl": _jsonl,
    ".ctm": _ctm,
    ".vtt": _vtt,
    ".parquet": _parquet,
    ".jsonl.gz": _jsonl,
    ".ctm.gz": _ctm,
}


def _writer(path: Path) -> Callable[[Path], AbstractContextManager[Add]]:
    for ending, writer in _WRITERS.items():
        if path.name.endswith(ending):
            return writer
    raise OptionError(
        f"{path}: the name says what to write and should end in .jsonl, .ctm, .vtt or .parquet "
        "(.jsonl.gz and .ctm.gz are packed)"
    )
