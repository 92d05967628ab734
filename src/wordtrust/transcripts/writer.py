"""Files of transcripts, written piece by piece, whole or not at all. The ending of the name chooses the format:

- .txt: plain text;
- .jsonl: `Transcript.to_dict` of each utterance on a line of its own;
- .json: one document with the text, the segments, and what is known about the recording;
- .ctm: NIST CTM;
- .stm: references of NIST's kind, of segments that a person has checked;
- .vtt and .srt: subtitles in which doubtful words are marked;
- .html: a page to read, to check and to listen along;
- .parquet: a row for each word.

.txt, .jsonl, .json and .ctm may end in .gz as well. A pipe or a device without such an ending gets .jsonl.

Transcripts are utterances, each with a name and a clock of its own, unless a writer is told that they are segments of
`recordings`: then times count from the start of the recording that `utt` names.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..base.errors import OptionError
from ..base.files import is_stream
from ..base.visible_text import visible
from .ctm_writer import write_ctm
from .json_writer import json_line, write_json, write_jsonl
from .page import write_page
from .parquet_writer import write_parquet
from .plain_text import write_text
from .stm_writer import write_stm
from .subtitles import write_srt, write_vtt
from .target import AddTranscripts, Target
from .utterance import UtteranceWords
from .words import LeftOut

FORMATS: dict[str, Callable[[Target], AbstractContextManager[AddTranscripts]]] = {
    ".txt": write_text,
    ".jsonl": write_jsonl,
    ".json": write_json,
    ".ctm": write_ctm,
    ".stm": write_stm,
    ".vtt": write_vtt,
    ".srt": write_srt,
    ".html": write_page,
    ".parquet": write_parquet,
}
_COMPRESSED = {f"{ending}.gz": FORMATS[ending] for ending in (".txt", ".jsonl", ".json", ".ctm")}


class TranscriptWriter:
    """Writes transcripts to a file of the format that its name ends in.

        with TranscriptWriter("words.ctm") as out:
            out.add(transcripts)

    `format` (txt, srt, ...) is for names that end otherwise.
    The file appears when the block ends. If the block raises, nothing is left and what was there before is untouched.

    With `recordings`, transcripts are segments of the recordings that they are named after, in the order of time:
    lines of .ctm may share a name, and a .vtt file names a recording once. `about` is what .json and .html files say
    about it (recognizer, model, duration, ...), as JSON; it is read when the block ends. `left_out` are the stretches
    of it without words, which .json, .html and .parquet files show. `channels` says which recordings are channels
    of a file, `{"call-2": ("call", "2")}`: CTM has a field for that; it may be filled while transcripts are added.
    With `plain`, subtitles mark nothing.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002  # the user's word for it
        recordings: bool = False,
        about: Mapping[str, Any] | None = None,
        left_out: Sequence[LeftOut] | None = None,
        channels: Mapping[str, tuple[str, str]] | None = None,
        plain: bool = False,
    ) -> None:
        about = {} if about is None else about
        self._target = Target(Path(path), recordings, about, left_out, {} if channels is None else channels, plain)
        if self._target.path.is_dir():
            raise OptionError(f"{path}: cannot be written: it is a folder; name a file in it")
        self._open = _format_of(self._target.path, format)
        self._stack = ExitStack()
        self._add: AddTranscripts | None = None

    def __enter__(self) -> Self:
        self._add = self._stack.enter_context(self._open(self._target))
        return self

    def add(self, transcripts: Sequence[UtteranceWords]) -> None:
        """Write these too."""
        assert self._add, "a TranscriptWriter writes inside its `with` block"
        self._add(transcripts)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._add = None
        self._stack.__exit__(kind, error, trace)


class TranscriptFiles:
    """Writes a file for each utterance; `{name}` in `pattern` stands for its name.

    `claim` may refuse a file. What a file name cannot hold, or what leads to another folder, becomes `_`. A context
    manager like `TranscriptWriter`, but each file appears when its utterance is added.
    """

    def __init__(
        self, pattern: str | Path, claim: Callable[[Path], None], *, about: Mapping[str, Any] | None = None
    ) -> None:
        self._pattern, self._claim, self._about = str(pattern), claim, about
        self._written: set[Path] = set()
        TranscriptWriter(self._path("name"))  # refuses what cannot be written

    def __enter__(self) -> Self:
        return self

    def add(self, transcripts: Sequence[UtteranceWords]) -> None:
        """Write these too."""
        for transcript in transcripts:
            path = self._path(transcript.utt)
            if path in self._written:
                raise OptionError(f"{path}: two utterances would be written to this file. Write them to .jsonl")
            self._claim(path)
            self._written.add(path)
            with TranscriptWriter(path, about=self._about) as writer:
                writer.add([transcript])

    def _path(self, name: str) -> Path:
        plain = re.sub(r"[/\\\0]|^\.+", "_", visible(name))
        return Path(self._pattern.replace("{name}", plain))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class TranscriptPrinter:
    """Prints transcripts as lines of .jsonl on stdout; a context manager like `TranscriptWriter`."""

    def __init__(self, about: Mapping[str, Any] | None = None) -> None:
        self._about = about

    def __enter__(self) -> Self:
        return self

    def add(self, transcripts: Sequence[UtteranceWords]) -> None:
        """Print these too, at once."""
        lines = "".join(json_line(each, self._about) for each in transcripts)
        sys.stdout.write(lines.encode("utf-8", "replace").decode("utf-8"))
        sys.stdout.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


def write_transcripts(
    transcripts: Sequence[UtteranceWords],
    path: str | Path,
    *,
    about: Mapping[str, Any] | None = None,
    left_out: Sequence[LeftOut] | None = None,
    plain: bool = False,
) -> None:
    """Write transcripts to one file; those that share a name are segments of one recording."""
    has_channels = any(transcript.channel for transcript in transcripts)
    recordings = has_channels or len({transcript.utt for transcript in transcripts}) < len(transcripts)
    with TranscriptWriter(path, recordings=recordings, about=about, left_out=left_out, plain=plain) as writer:
        writer.add(transcripts)


def names_format(path: Path, format: str | None = None) -> bool:  # noqa: A002  # the user's word for it
    """Whether `format`, or else the ending of a name, is one that transcripts are written in; streams need none."""
    if format is not None:
        return f".{format}" in FORMATS
    return path.name.lower().endswith((*FORMATS, *_COMPRESSED)) or (not path.suffix and is_stream(path))


def _format_of(path: Path, name: str | None) -> Callable[[Target], AbstractContextManager[AddTranscripts]]:
    if name is not None:
        return FORMATS[f".{name}"]
    for ending, write in (FORMATS | _COMPRESSED).items():
        if path.name.lower().endswith(ending):
            return write
    if is_stream(path):
        return write_jsonl
    *most, last = FORMATS
    raise OptionError(
        f"{path}: the name says what to write and should end in {', '.join(most)} or {last} "
        "(.txt.gz, .jsonl.gz, .json.gz and .ctm.gz are packed)"
    )
