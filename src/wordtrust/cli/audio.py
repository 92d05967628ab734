"""Verbs about audio: transcribe, recognize, recognizers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..base.errors import OptionError
from ..base.files import is_stdout
from ..base.number_format import counted, rounded_up
from .inputs import announce_compilation, resumable, resumable_once_kept, resumes_if
from .messages import echo, notify, notify_skipped
from .options import (
    accept_option,
    jobs_option,
    json_option,
    lm_option,
    out_option,
    overwrite_option,
    plain_option,
    skip_bad_option,
)

if TYPE_CHECKING:
    from ..base.progress import AudioProgress
    from ..transcription.transcriber import AudioRecording
    from ..transcription.transcription_job import TranscriptionJob

_recognizers_at_once = jobs_option("Recognizers that work in parallel [one per core, if it pays].")
_language_option = click.option("--language", metavar="CODE", help="The language, such as de, for Whisper [English].")


@click.command()
@json_option
def recognizers(*, as_json: bool) -> None:
    """List the recognizers: which are ready, and how to get the others.

    \b
    Example: wordtrust recognizers
    """
    from ..recognizers import entries
    from .tables import print_recognizers

    if as_json:
        echo(json.dumps([entry.to_dict() for entry in entries()]))
    else:
        print_recognizers(entries())


@click.command()
@resumable_once_kept
@click.argument("audio", nargs=-1, required=True, metavar="AUDIO...")
@click.option("--recognizer", default="auto", show_default=True, metavar="NAME[=MODEL][,...]",
              help="The recognizer (see `wordtrust recognizers`); several, with commas, are combined. "
                   "auto: the best one.")  # fmt: skip
@_language_option
@click.option("--model", help="The confidence model: a folder, a shipped model, or the file of a calibrator "
              "[the one for the recognizer].")  # fmt: skip
@out_option(multiple=True, metavar="FILE",
              help=".txt, .html, .srt, .vtt, .json, .jsonl, .ctm, .parquet; {name} stands for the recording's name; "
                   "- prints .jsonl. "
                   "May be given several times.")  # fmt: skip
@plain_option
@overwrite_option
@click.option(
    "--channels", default="mix", show_default=True, help="mix, each (one transcript per channel), or a number."
)
@click.option(
    "--alternatives", type=click.IntRange(min=0), default=5, show_default=True, help="Alternatives for each word."
)
@lm_option
@accept_option
@_recognizers_at_once
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for every segment instead of words.")
@skip_bad_option
def transcribe(
    audio: tuple[str, ...],
    recognizer: str,
    language: str | None,
    model: str | None,
    out: tuple[str, ...],
    channels: str,
    alternatives: int,
    lm: str | None,
    accept: float | None,
    jobs: int | None,
    *,
    plain: bool,
    overwrite: bool,
    as_json: bool,
    skip_bad: bool,
) -> None:
    """Transcribe AUDIO into words with confidences.

    AUDIO is files of any kind that people have (WAV, MP3, M4A, MP4, MKV, WebM, WMA, AMR, ...; of films the sound),
    folders of them, or - for stdin. What is damaged is told; if most of a file is lost, the exit status is 1.

    Words below 0.9 are in brackets, those below 0.5 have a question mark in front; alternatives are listed
    underneath. With --out, an interrupted transcription resumes where it stopped when it is started again.

    \b
    Examples: wordtrust transcribe talk.wav
              wordtrust transcribe talk.mp3 --out talk.html --out talk.srt
              wordtrust transcribe calls/*.wav --channels each --out "words/{name}.json"
              wordtrust transcribe talk.wav --recognizer moonshine,whisper=base.en
              curl -s $URL | wordtrust transcribe - --out talk.txt
    """
    from ..audio.listing import STDIN, saved_stdin
    from ..base.problems import Problems
    from ..base.progress import AudioProgress
    from ..base.visible_text import visible
    from ..recognizers.registry import with_language
    from ..transcription.transcriber import Transcriber, split_names
    from ..transcription.transcription_job import (
        TranscriptionJob,
        default_jobs,
        open_recordings,
        plan_outputs,
        require_most,
    )

    announce_compilation()
    problems = Problems(skip=skip_bad, notify=notify_skipped)
    stdin = click.get_current_context().with_resource(saved_stdin()) if STDIN in audio else None
    recordings = open_recordings(audio, channels, problems, stdin=stdin)
    outputs = plan_outputs(out, recordings, overwrite=overwrite)
    to_stdout = any(map(is_stdout, outputs))
    if as_json and to_stdout:
        raise OptionError("--json prints to stdout, where the output goes too: leave out one of them")
    recognizer = ",".join(with_language(name, language) for name in split_names(recognizer))
    names, models = split_names(recognizer), split_names(model or ())
    at_once = jobs or default_jobs(recordings)
    with Transcriber(names, models, jobs=at_once, alternatives=alternatives, lm=lm, accept=accept) as transcriber:
        notify(*transcriber.combiner.messages())
        if accept and (rule := transcriber.accepted):
            limit = rounded_up(rule.threshold, 4)
            notify(f"words from {limit} on are accepted, others in brackets: {rule.told(accept)}")
        with TranscriptionJob(transcriber, recordings, outputs, recognizer) as job:
            resumes_if(lambda: job.has_kept)
            if job.resumed:
                notify(f"resuming after {counted(job.resumed, 'segment')} done before")
            lengths = [recording.audio.duration for recording in recordings]
            with AudioProgress("transcribing", lengths, shows_results=not to_stdout) as progress:
                for recording in recordings:
                    if len(recordings) > 1 and not as_json:
                        progress.print(f"{visible(recording.name)}:")
                    _show(job, recording, progress, as_json=as_json, must_be_read=not outputs)
                    progress.finish_recording()
            for path, words in job.write(plain=plain):
                echo(f"{as_given(path, out)}: {counted(words, 'word')}", err=True)
    require_most([recording.audio for recording in recordings], problems)


def as_given(path: Path, patterns: tuple[str, ...]) -> Path:
    """The path of an output as the user would write it: from here, if all were given so."""
    here, is_relative = Path.cwd().resolve(), not any(Path(pattern).is_absolute() for pattern in patterns)
    return path.relative_to(here) if is_relative and path.is_relative_to(here) else path


def _show(
    job: TranscriptionJob, recording: AudioRecording, progress: AudioProgress, *, as_json: bool, must_be_read: bool
) -> None:
    """Print every segment of a recording as it comes, and what was wrong with it."""
    from ..transcripts.json_writer import json_line
    from ..transcripts.terminal import SegmentView
    from ..transcripts.warning_summary import WarningSummary

    words, dropped, unusual = 0, False, WarningSummary()
    for segment, transcript in job.segments(recording):
        progress.at(segment.end)
        words += len(transcript.words)
        unusual.add([transcript])
        if transcript.words:
            view = SegmentView(transcript.words, missing_end=transcript.missing_end)
            progress.print(json_line(transcript, job.provenance).rstrip() if as_json else view)
        if not progress.is_read and must_be_read:
            raise BrokenPipeError
        dropped = dropped or bool(segment.dropped)
        if segment.dropped:
            notify(f"{recording.name}: at {segment.start:.1f} s left out: {segment.dropped}")
    notify(*(f"{recording.audio.path}: {line}" for line in (*recording.audio.notes, *recording.audio.problems)))
    notify(*(f"{recording.name}: {line}" for line in unusual.lines()))
    if language := job.foreign_language(recording):
        notify(f"{recording.name}: {language.line}")
    if not words:
        notify(f"{recording.name}: no {'words are left' if dropped else 'speech was found'}")


@click.command()
@resumable
@click.argument("manifest")
@click.option("--recognizer", default="auto", show_default=True, metavar="NAME[=MODEL]",
              help="The recognizer (see `wordtrust recognizers`). auto: the best installed.")  # fmt: skip
@_language_option
@out_option(is_folder=True, type=click.Path(path_type=Path), required=True, help="The store to write.")
@overwrite_option
@click.option("--audio", type=click.Path(path_type=Path), help="Folder of the audio [that of the manifest].")
@click.option("--by-split", is_flag=True, help="Write a folder with a store for each split, as `study` reads it.")
@_recognizers_at_once
@skip_bad_option
def recognize(
    manifest: str,
    recognizer: str,
    language: str | None,
    out: Path,
    audio: Path | None,
    jobs: int | None,
    *,
    overwrite: bool,
    by_split: bool,
    skip_bad: bool,
) -> None:
    """Recognise the utterances of MANIFEST into a store of lattices, on all cores.

    MANIFEST is a table with the column `audio` (and utt, start, end, channel, split), JSON lines (also NeMo's, and
    lhotse's cuts), a wav.scp, a table of references whose utterances are named like audio files, or a folder of audio
    files. An interrupted or killed run resumes where it stopped when it is started again.

    \b
    Examples: wordtrust recognize clips/ --recognizer moonshine --out clips.store
              wordtrust recognize corpus/refs.tsv --audio clips --by-split --out corpus/moonshine
    """
    from ..base.problems import Problems
    from ..base.progress import AudioProgress
    from ..base.threads import available_cores
    from ..recognizers.registry import with_language
    from ..transcription.corpus_job import recognize_corpus
    from ..transcription.manifest import read_manifest

    announce_compilation()
    if "," in recognizer:
        raise OptionError("one recognizer at a time: each gets a store of its own")
    recognizer = with_language(recognizer, language)
    problems = Problems(skip=skip_bad, notify=notify_skipped)
    entries = read_manifest(manifest, audio, problems)
    with AudioProgress("recognising", [None], utterances=len(entries)) as progress:
        result = recognize_corpus(entries, recognizer, out, jobs=jobs or available_cores(), problems=problems,
                                  by_split=by_split, watch=progress.one_more, overwrite=overwrite)  # fmt: skip
    resumed = f", {result.resumed:,} of them done before" if result.resumed else ""
    skipped = f"; left out {len(problems.errors):,} bad" if problems.errors else ""
    count, who = counted(result.utterances, "utterance"), f"{result.identity.name} {result.identity.version}"
    echo(f"{out}: {count} by {who}{resumed}{skipped}")
