"""Files of words with confidences as transcripts: our own with all that is in them, others as what they print.

talk = wt.read_transcripts("talk.json")
talk.save("talk.srt")
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from ..base.errors import InputError, OptionError
from ..base.problems import Problems
from ..formats import known_streams, read_stream
from ..formats.format import Format, ReadOptions
from ..formats.inputs import Stream, listed_paths
from ..formats.transcript import FORMAT, open_transcripts
from ..formats.transcript.records import language_models_of, note_language_models
from ..lattices.lattice import Lattices
from ..lattices.paths import one_best
from .segmenting import segments
from .transcript import Transcript, Transcripts, transcripts
from .words import LeftOut
from .writer import TranscriptWriter

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class TranscriptSource:
    """One open file: its transcripts, which can be gone through once, and what it says about the recording."""

    name: str
    transcripts: Iterator[Transcript]
    about: dict[str, Any] = field(default_factory=dict)  # lines of .jsonl may add to it
    left_out: Sequence[LeftOut] | None = None
    is_ours: bool = True  # a file that wordtrust wrote, with all that its words have


def transcript_sources(
    paths: str | Path | Iterable[str | Path],
    options: ReadOptions = ReadOptions(),
    problems: Problems | None = None,
    *,
    watch: Callable[[int], None] | None = None,
    notify: Callable[[str], None] | None = None,
) -> Iterator[TranscriptSource]:
    """Files, folders and globs one by one. What cannot be read raises an `InputError`, or goes to `problems`."""
    problems = problems or Problems()
    for source, fmt in known_streams(listed_paths(paths), options.format, problems, watch=watch, notify=notify):
        try:
            yield _opened(source, fmt, options, problems)
        except InputError as error:
            problems.report(error.at(file=source.name))


def read_transcripts(path: str | Path | Iterable[str | Path]) -> Transcripts:
    """The transcripts of files that wordtrust wrote (.json, .jsonl, .parquet), or of any words with confidences."""
    read: list[Transcript] = []
    sources: list[TranscriptSource] = []
    for source in transcript_sources(path):
        sources.append(source)
        read.extend(source.transcripts)
    if len(sources) != 1:
        return Transcripts(read)
    return Transcripts(read, about=sources[0].about, left_out=sources[0].left_out)


def _opened(source: Stream, fmt: Format, options: ReadOptions, problems: Problems) -> TranscriptSource:
    if fmt.name != FORMAT.name:
        options = replace(options.beside(source.path), keep_times=True)
        about = {"calibrated": False}
        return TranscriptSource(source.name, _printed(source, options, problems), about, is_ours=False)
    file = open_transcripts(source, problems)
    records = (Transcript(*record) for record in _reported(file.records, source, problems))
    return TranscriptSource(source.name, records, file.about, file.left_out)


def _printed(source: Stream, options: ReadOptions, problems: Problems) -> Iterator[Transcript]:
    """What a recognizer printed, with the confidences that came with it."""
    for batch in _reported(read_stream(source, options, problems), source, problems):
        yield from as_printed(batch)


def as_printed(batch: Lattices) -> Transcripts:
    """The 1-best of lattices whose arcs have posteriors: the confidences of a recognizer that gives them.

    Recordings are cut into segments, by the recognizer's own or by pauses.
    """
    if batch.posterior is None:
        raise InputError(
            "the words have no confidences",
            file=batch.origin.file,
            utt=batch.utts[0] if batch.utts else "",
            remedy="Give them some: wordtrust score MODEL FILE --out words.json (`wordtrust models` lists models)",
        )
    paths = one_best(batch)
    return Transcripts(segments(batch, paths, transcripts(batch, batch.posterior, paths)))


def _reported(items: Iterator[Item], source: Stream, problems: Problems) -> Iterator[Item]:
    """All of them; an error that ends them goes to `problems`."""
    try:
        yield from items
    except InputError as error:
        problems.report(error.at(file=source.name))


def are_ours(paths: Iterable[str | Path], options: ReadOptions = ReadOptions()) -> bool:
    """Whether the first of these files is one that wordtrust wrote."""
    coming = known_streams(
        listed_paths(paths), options.format, notify=lambda _: None
    )  # it closes the file when it is gone
    try:
        _, fmt = next(coming, (None, None))
        return fmt is not None and fmt.name == FORMAT.name
    except InputError:
        return False  # whoever reads it says what is wrong with it


def _join_about(about: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Make what is known about some recordings true of another one too."""
    lists = {name: [*about.get(name, ()), *other.get(name, ())] for name in ("recognizers", "models")}
    files = [file for known in (about, other) for file in (*known.get("files", ()), known.get("file")) if file]
    is_calibrated = about.get("calibrated") is not False and other.get("calibrated") is not False
    read_by = [*language_models_of(about), *language_models_of(other)]
    of_one = {"file", "duration", "channel"}
    shared = {name: value for name, value in about.items() if name not in of_one and other.get(name) == value}
    about.clear()
    about |= shared | {name: _distinct(values) for name, values in {**lists, "files": files}.items() if values}
    note_language_models(about, read_by)
    if not is_calibrated:
        about["calibrated"] = False


def _distinct(values: list[Any]) -> list[Any]:
    return [value for index, value in enumerate(values) if value not in values[:index]]


def convert_transcripts(
    sources: Iterable[TranscriptSource],
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    utts: Iterable[str] = (),
    plain: bool = False,
) -> tuple[int, int]:
    """Write transcripts as they are read, all or those of the names `utts`: how many, and their words.

    Of several files the names of recordings, models and recognizers are kept, and what they agree on; durations,
    channels and the stretches that are left out are of one recording, and kept where a file is the only one.
    """
    coming, wanted, present = iter(sources), set(utts), set[str]()
    first = next(coming, None)
    if first is None:
        raise OptionError("no transcripts found")
    about, utterances, words = first.about, 0, 0
    left_out = None if first.left_out is None else list(first.left_out)
    with TranscriptWriter(
        path, format=format, recordings=True, about=about, left_out=left_out, plain=plain
    ) as writer:
        for source in chain([first], coming):
            if source is not first:  # no longer the only one; both are read when the writer ends
                _join_about(about, source.about)
                (left_out or []).clear()
            for transcript in source.transcripts:
                if not wanted or transcript.utt in wanted:
                    present.add(transcript.utt)
                    writer.add([transcript])
                    utterances, words = utterances + 1, words + len(transcript.words)
            if source is not first:
                _join_about(about, source.about)  # lines of .jsonl say it one by one
        if missing := wanted - present:
            raise OptionError(f"no utterance {', '.join(sorted(missing))} in the input")
    return utterances, words
