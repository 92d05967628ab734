"""Verbs about audio: transcribe, recognize, recognizers."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import InputError, OptionError
from .inputs import announce_compilation, tell_skipped

if TYPE_CHECKING:
    from ..base.journal import Journal
    from ..base.progress import AudioProgress
    from ..transcription.transcriber import Recording, Transcriber
    from ..transcripts.transcript import Transcript

_SEVERAL = (".jsonl", ".jsonl.gz", ".ctm", ".ctm.gz", ".parquet")  # files that may hold several recordings
_LONG = 120.0  # seconds of audio from which on it is worth starting processes

recognizer_option = click.option(
    "--recognizer", "recognizer", default="auto", show_default=True, metavar="NAME[=MODEL][,...]",
    help="Who recognises (`wordtrust recognizers`); with commas several, put together. auto: the best there is.",
)  # fmt: skip
jobs_option = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Recognizers at work side by side [a core each, if it pays].",
)


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def recognizers(*, as_json: bool) -> None:
    """Which recognizers there are, which of them are ready, and how to get the others."""
    from ..recognizers import entries
    from .tables import print_recognizers

    found = entries()
    if as_json:
        click.echo(json.dumps([each.to_dict() for each in found]))
    else:
        print_recognizers(found)


@click.command()
@click.argument("audio", nargs=-1, required=True, metavar="AUDIO...")
@recognizer_option
@click.option("--model", help="Who judges the words: a model folder or a shipped model [the one for the recognizer].")
@click.option("--out", multiple=True, metavar="FILE",
              help=".json, .jsonl, .ctm, .srt, .vtt, .html, .parquet; {name} in it stands for the recording's name. "
                   "May be given several times.")  # fmt: skip
@click.option(
    "--channels", default="mix", show_default=True, help="mix, each (one transcript a channel), or a number."
)
@click.option(
    "--alternatives", type=click.IntRange(min=0), default=5, show_default=True, help="Other words, for each."
)
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for every segment instead of words.")
@click.option("--skip-bad", is_flag=True, help="Leave out files that cannot be read, say which, and go on.")
def transcribe(
    audio: tuple[str, ...],
    recognizer: str,
    model: str | None,
    out: tuple[str, ...],
    channels: str,
    alternatives: int,
    jobs: int | None,
    *,
    as_json: bool,
    skip_bad: bool,
) -> None:
    """Turn AUDIO into words that say how far they can be trusted.

    Words under 0.9 stand in brackets, those under 0.5 with a question mark in front; below are words that may have
    been said instead. With --out, an interrupted transcription goes on where it was when it is started again.

    \b
    Examples: wordtrust transcribe talk.wav
              wordtrust transcribe talk.mp3 --out talk.html --out talk.srt
              wordtrust transcribe calls/*.wav --channels each --out "words/{name}.json"
              wordtrust transcribe talk.wav --recognizer moonshine,whisper=base.en
    """
    from ..transcription.transcriber import Transcriber

    announce_compilation()
    found = _recordings(audio, channels, skip_bad)
    targets = _targets(out, found)
    long = sum(each.audio.duration or _LONG for each in found) >= _LONG
    count = jobs or (cores() if long else 1)
    names, models = recognizer.split(","), model.split(",") if model else []
    with Transcriber(names, models, jobs=count, alternatives=alternatives) as transcriber:
        for line in transcriber.together.told():
            click.echo(f"wordtrust: {line}", err=True)
        with _journal(targets, transcriber, found) as journal:
            _transcribe(transcriber, found, journal, targets, as_json=as_json)


def _recordings(audio: Sequence[str], channels: str, skip_bad: bool) -> list[Recording]:
    """The recordings, all opened before the work begins."""
    from ..audio.audio_file import AudioFile
    from ..transcription.transcriber import recordings

    files = []
    for path in audio:
        try:
            files.append(AudioFile.open(path))
        except InputError as error:
            if not skip_bad:
                raise
            tell_skipped(error)
    if not files:
        raise OptionError("no audio file is left")
    return recordings(files, channels)


def _targets(out: Sequence[str], found: Sequence[Recording]) -> dict[Path, list[Recording]]:
    """What goes into which file; what cannot be written is told before the work, not after it."""
    from ..transcripts.writer import TranscriptWriter

    targets: dict[Path, list[Recording]] = {}
    for pattern in out:
        if "{name}" not in pattern and len(found) > 1 and not pattern.endswith(_SEVERAL):
            raise OptionError(
                f"{pattern}: one file holds one recording, here are {len(found)}: put {{name}} into the file's name"
            )
        for each in found:
            path = Path(pattern.replace("{name}", each.name)).resolve()
            TranscriptWriter(path, recordings=True)
            _refuse(path, found)
            if each not in targets.setdefault(path, []):
                targets[path].append(each)
    return targets


def _refuse(path: Path, found: Sequence[Recording]) -> None:
    if not path.parent.is_dir():
        raise OptionError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise OptionError(f"{path}: cannot be written: it is a folder")
    if not os.access(path.parent, os.W_OK):
        raise OptionError(f"{path}: cannot be written: the folder does not allow it")
    if any(path == Path(one.audio.path).resolve() for one in found):
        raise OptionError(f"{path}: is what is read; name another file")


def _journal(
    targets: Iterable[Path], transcriber: Transcriber, found: Sequence[Recording]
) -> AbstractContextManager[Journal | None]:
    """Where finished segments are kept until all are done: beside the first file that is written."""
    from ..base.journal import Journal

    first = next(iter(targets), None)
    if first is None:
        return nullcontext()
    asked = click.get_current_context().params["recognizer"]  # two folders may hold models of one name
    work = {"about": transcriber.about, "asked": asked, "recordings": [each.key for each in found]}
    return Journal(first.with_name(f".{first.name}.heard"), work)


def _transcribe(
    transcriber: Transcriber,
    found: Sequence[Recording],
    journal: Journal | None,
    targets: dict[Path, list[Recording]],
    *,
    as_json: bool,
) -> None:
    """Show the words as they come, then write them."""
    from ..base.progress import AudioProgress
    from ..lattices.text import visible

    if journal is not None and journal.resumed:
        click.echo(f"wordtrust: going on after {journal.resumed:,} segments that were done before", err=True)
    said: dict[str, list[Transcript]] = {}
    with AudioProgress("transcribing", [each.audio.duration for each in found]) as progress:
        for recording in found:
            if len(found) > 1 and not as_json:
                progress.print(f"{visible(recording.name)}:")
            shown = _shown(transcriber, recording, journal, progress, as_json=as_json)
            said[recording.name] = [each for each in shown if each.words]
            progress.finish_recording()
    if transcriber.together.changes and journal is not None:
        said = {each.name: _again(transcriber, each, journal) for each in found}
    for line in transcriber.together.doubts():
        click.echo(f"wordtrust: {line}", err=True)
    _write(targets, said, transcriber)
    if journal is not None:
        journal.remove()


def _shown(
    transcriber: Transcriber, recording: Recording, journal: Journal | None, progress: AudioProgress, *, as_json: bool
) -> Iterator[Transcript]:
    """Every segment, printed."""
    from ..transcripts.json_writer import json_line
    from ..transcripts.terminal import SegmentView

    words = 0
    for heard in transcriber.hear(recording, journal):
        transcript = transcriber.transcript(recording, heard)
        progress.at(heard.end)
        words += len(transcript.words)
        if transcript.words:
            progress.print(json_line(transcript).rstrip() if as_json else SegmentView(transcript.words))
        if not progress.is_read and journal is None:
            raise BrokenPipeError
        if heard.dropped:
            click.echo(f"wordtrust: {recording.name}: at {heard.start:.1f} s left out: {heard.dropped}", err=True)
        yield transcript
    for problem in recording.audio.problems:
        click.echo(f"wordtrust: {recording.audio.path}: {problem}", err=True)
    if not words:
        click.echo(f"wordtrust: {recording.name}: no speech was found", err=True)


def _again(transcriber: Transcriber, recording: Recording, journal: Journal) -> list[Transcript]:
    """The words of all segments with what was learned until the end; nothing is recognised again."""
    heard = transcriber.hear(recording, journal)
    found = (transcriber.transcript(recording, each, again=True) for each in heard)
    return [each for each in found if each.words]


def _write(targets: dict[Path, list[Recording]], said: dict[str, list[Transcript]], transcriber: Transcriber) -> None:
    from ..transcripts.writer import TranscriptWriter

    for path, members in targets.items():
        about = dict(transcriber.about)
        if len(members) == 1:
            about = {"file": members[0].audio.path, "duration": members[0].audio.duration, **about}
        channels = {each.name: _ctm_name(each) for each in members if each.channel}
        with TranscriptWriter(path, recordings=True, about=about, channels=channels) as writer:
            for each in members:
                writer.add(said[each.name])
        words = sum(len(segment.words) for each in members for segment in said[each.name])
        click.echo(f"{path}: {words:,} words", err=True)


def _ctm_name(recording: Recording) -> tuple[str, str]:
    """CTM has a field for the channel, so the file's name need not tell it."""
    stem, channel = Path(recording.audio.path).stem, str(recording.channel)
    return (stem if recording.name == f"{stem}-{channel}" else recording.name), channel


@click.command()
@click.argument("manifest")
@click.option("--recognizer", default="auto", show_default=True, metavar="NAME[=MODEL]",
              help="Who recognises (`wordtrust recognizers`). auto: the best there is.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The store to write.")
@click.option("--audio", type=click.Path(path_type=Path), help="Folder of the audio [that of the manifest].")
@click.option("--by-split", is_flag=True, help="Write a folder with a store for each split, as `study` reads it.")
@jobs_option
@click.option("--skip-bad", is_flag=True, help="Leave bad utterances out, say which and how many, and go on.")
def recognize(
    manifest: str, recognizer: str, out: Path, audio: Path | None, jobs: int | None, *, by_split: bool, skip_bad: bool
) -> None:
    """Recognise the utterances of MANIFEST into a store of lattices, on all cores.

    MANIFEST is a table with the column `audio` (and utt, start, end, channel, split), JSON lines, a wav.scp, a table
    of references whose utterances are called like audio files, or a folder of audio files. Interrupted or killed, it
    goes on where it was when it is started again.

    \b
    Examples: wordtrust recognize clips/ --recognizer moonshine --out clips.store
              wordtrust recognize corpus/refs.tsv --audio clips --by-split --out corpus/moonshine
    """
    from ..base.progress import AudioProgress
    from ..lattices.assemble import Problems
    from ..transcription.corpus_job import recognize as run
    from ..transcription.corpus_job import refuse
    from ..transcription.manifest import read_manifest

    announce_compilation()
    if "," in recognizer:
        raise OptionError("one recognizer at a time: each gets a store of its own")
    refuse(out, by_split=by_split)
    problems = Problems(skip=skip_bad, tell=tell_skipped)
    items = read_manifest(manifest, audio, problems)
    with AudioProgress("recognising", [None], utterances=len(items)) as progress:
        done = run(items, recognizer, out, jobs=jobs or cores(), problems=problems, by_split=by_split,
                   watch=progress.one_more)  # fmt: skip
    before = f", {done.resumed:,} of them done before" if done.resumed else ""
    lost = f"; left out {len(problems.errors):,} bad ones" if problems.errors else ""
    count = "1 utterance" if done.utterances == 1 else f"{done.utterances:,} utterances"
    click.echo(f"{out}: {count} by {done.identity.name} {done.identity.version}{before}{lost}")
