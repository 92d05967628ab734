"""The verb about transcripts of others: check."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..base.errors import InputError, OptionError
from ..base.files import is_stdout
from ..base.number_format import counted
from .audio import as_given
from .inputs import announce_compilation, resumable_once_kept, resumes_if
from .messages import echo, notify, notify_skipped
from .options import (
    jobs_option,
    json_option,
    out_option,
    overwrite_option,
    plain_option,
    share_of_errors,
    skip_bad_option,
)

if TYPE_CHECKING:
    from ..base.problems import Problems
    from ..base.progress import AudioProgress
    from ..transcription.check_job import Author, CheckJob, CheckTask
    from ..transcription.check_summary import CheckSummary
    from ..transcription.recording_job import Outputs
    from ..transcription.transcriber import Transcriber

NOT_OF_THIS_AUDIO, TOO_MANY_ERRORS = 3, 4  # exit status


@click.command()
@resumable_once_kept
@click.argument("transcript")
@click.option("--audio", multiple=True, metavar="FILE", help="The audio. Several, for as many transcripts: by name.")
@click.option("--listener", default="auto", show_default=True, metavar="NAME[=MODEL][,...]",
              help="Who listens (see `wordtrust recognizers`); the more, the better. auto: the best one that comes "
                   "with its weights.")  # fmt: skip
@click.option("--heard", multiple=True, metavar="TRANSCRIPT",
              help="Another transcript of the same recording, as one more listener. Needs no audio.")  # fmt: skip
@click.option("--author", type=click.Choice(["auto", "recognizer", "anybody"]), default="auto", show_default=True,
              help="Who wrote the transcript. People (anybody) may have made no errors; auto: subtitles and plain "
                   "text may be anybody's.")  # fmt: skip
@click.option("--language", metavar="CODE", help="The language, such as de, for Whisper [English].")
@click.option(
    "--format", "format_", metavar="NAME", help="The format of the transcript [seen in it; else plain text]."
)
@out_option(multiple=True, metavar="FILE",
              help=".txt, .html, .srt, .vtt, .json, .jsonl, .ctm, .parquet; {name} stands for the recording's name; "
                   "- prints .jsonl. May be given several times.")  # fmt: skip
@plain_option
@overwrite_option
@click.option("--channels", default="auto", show_default=True,
              help="mix, each, or a number; auto: each if the transcript has as many.")  # fmt: skip
@click.option("--fail-above", metavar="SHARE", callback=share_of_errors,
              help="Exit with status 4 if more than this share of the words is likely wrong: 10%.")  # fmt: skip
@jobs_option("Listeners that work in parallel [one per core, if it pays].")
@json_option
@skip_bad_option
def check(
    transcript: str,
    audio: tuple[str, ...],
    listener: str,
    heard: tuple[str, ...],
    author: Author,
    language: str | None,
    format_: str | None,
    out: tuple[str, ...],
    channels: str,
    fail_above: float | None,
    jobs: int | None,
    *,
    plain: bool,
    overwrite: bool,
    as_json: bool,
    skip_bad: bool,
) -> None:
    """Which words of a TRANSCRIPT from somewhere are wrong?

    TRANSCRIPT is any file of words: JSON of a speech service or of Whisper, subtitles (.srt, .vtt), CTM, our own
    files, or plain text with or without times. Listeners of ours hear the audio, and each word of the transcript gets
    a confidence; its words, spelling, speakers and times stay as they are. With --out, an interrupted check resumes
    where it stopped.

    Exit status: 0 it was checked, 1 it could not be, 3 the transcript is of another recording (others in the same
    file are checked all the same), 4 it has more errors than --fail-above allows.

    \b
    Examples: wordtrust check talk.json --audio talk.mp3
              wordtrust check talk.srt --audio talk.mp4 --listener moonshine,whisper=small --out talk.html
              wordtrust check ours.json --heard theirs.json
    """
    from ..base.problems import Problems
    from ..formats.format import ReadOptions
    from ..recognizers.registry import with_language
    from ..transcription.check import check_tasks
    from ..transcription.check_job import CheckJob, DoesNotBelong, problems
    from ..transcription.transcriber import split_names
    from ..transcription.transcription_job import open_audio, plan_outputs, require_most
    from ..transcription.written_text import read_texts

    announce_compilation()
    bad = Problems(skip=skip_bad, notify=notify_skipped)
    files = open_audio(audio, bad) if audio else None
    others = [text for path in heard for text in read_texts(path, notify=notify, problems=bad)]
    texts = read_texts(transcript, ReadOptions(format=format_), notify, bad)
    tasks = check_tasks(texts, files, others, channels, author)
    outputs = plan_outputs(out, [task.recording for task in tasks], overwrite=overwrite)
    to_stdout = any(map(is_stdout, outputs))
    if as_json and to_stdout:
        raise OptionError("--json prints to stdout, where the output goes too: leave out one of them")
    listener = ",".join(with_language(name, language) for name in split_names(listener))
    notify(*(line for task in tasks for line in problems(task)))
    with ExitStack() as stack:
        transcriber = None if files is None else stack.enter_context(_transcriber(listener, tasks, jobs))
        job = stack.enter_context(CheckJob(transcriber, tasks, _files(outputs), listener))
        resumes_if(lambda: job.has_kept)
        notify(f"listening: {job.listeners()}")
        if job.resumed:
            notify(f"resuming after {counted(job.resumed, 'segment')} done before")
        shown = Shown(as_json=as_json, as_lines=to_stdout)
        try:
            all_belong = _check_all(job, tasks, shown, bad) and bool(job.summaries)
        except DoesNotBelong as error:
            notify(str(error))
            sys.exit(NOT_OF_THIS_AUDIO)
        for path, words in job.write(plain=plain):
            echo(f"{as_given(path, out)}: {counted(words, 'word')}", err=True)
    require_most(files or [], bad)
    if not all_belong:
        sys.exit(NOT_OF_THIS_AUDIO)
    _end(job, fail_above)


class Shown(NamedTuple):
    """What is printed on stdout: words for people, one JSON document, or a line of JSON for each segment."""

    as_json: bool
    as_lines: bool


def _files(outputs: Outputs) -> Outputs:
    """All outputs but stdout, which gets words as they are checked."""
    return {path: members for path, members in outputs.items() if not is_stdout(path)}


def _transcriber(listener: str, tasks: list[CheckTask], jobs: int | None) -> Transcriber:
    """The listeners, as many of each as pay."""
    from ..transcription.transcriber import AudioRecording, Transcriber, split_names
    from ..transcription.transcription_job import default_jobs

    recordings = [task.recording for task in tasks if isinstance(task.recording, AudioRecording)]
    return Transcriber(split_names(listener), jobs=jobs or default_jobs(recordings), scores_texts=True)


def _check_all(job: CheckJob, tasks: list[CheckTask], shown: Shown, bad: Problems) -> bool:
    """Listen to every recording, print what was found, and return whether all transcripts belong to theirs."""
    from ..base.progress import AudioProgress
    from ..base.visible_text import visible
    from ..transcription.check_job import DoesNotBelong

    found, lengths = dict[str, Any](), [task.duration for task in tasks]
    belong = True
    with AudioProgress("listening", lengths, shows_results=not shown.as_lines) as progress:
        for task in tasks:
            if len(tasks) > 1 and not shown.as_json:
                progress.print(f"{visible(task.name)}:")
            try:
                found[task.name] = _check_one(job, task, progress, shown).to_dict()
            except InputError as error:
                if len(tasks) == 1 or not (bad.skip or isinstance(error, DoesNotBelong)):
                    raise
                if bad.skip:
                    bad.report(error)
                else:
                    notify(f"{task.name}: {error}")
                    belong = False
                found[task.name] = {"error": str(error)}
                job.leave_out(task)
            progress.finish_recording()
        if len(job.summaries) > 1 and not shown.as_json:
            _show_line(f"together: {job.together().line()}", progress, shown)
    if shown.as_json:
        echo(json.dumps(found[tasks[0].name] if len(tasks) == 1 else found))
    return belong


def _check_one(job: CheckJob, task: CheckTask, progress: AudioProgress, shown: Shown) -> CheckSummary:
    """Check one transcript; words are printed as they come."""
    from ..base.visible_text import visible

    for segment in job.listen(task):
        progress.at(segment.end)
        _show(job, task, progress, shown)
    summary = job.check(task)
    _show(job, task, progress, shown)
    channel = f", channel {task.recording.channel}" if task.recording.channel else ""
    if not shown.as_json:
        _show_line(f"{visible(task.text.file)}{channel}: {summary.line()}", progress, shown)
    late = f"{abs(summary.late):.1f} s {'late' if summary.late > 0 else 'early'}"
    notify(*([f"{task.text.file}: its times are {late}"] if abs(summary.late) >= 1 else []))
    if summary.is_vague:
        notify(
            f"{task.text.file}: listeners are too unsure here to tell how many words are wrong; they can tell which "
            "to look at first (a better listener: --listener whisper=small)"
        )
    if summary.belonging < 0:
        notify(f"{task.text.file}: {summary.found:.0%} of its words were found; is it of this recording?")
    return summary


def _show(job: CheckJob, task: CheckTask, progress: AudioProgress, shown: Shown) -> None:
    """Print the words that are checked by now."""
    from ..transcripts.terminal import SegmentView
    from ..transcripts.writer import TranscriptPrinter

    for segment in () if shown.as_json else job.newly_checked(task):
        if shown.as_lines:
            TranscriptPrinter(job.provenance).add([segment])
        else:
            progress.print(SegmentView(segment.words, missing_end=segment.missing_end, speaker=segment.speaker))


def _show_line(line: str, progress: AudioProgress, shown: Shown) -> None:
    """Print a line about all words."""
    if shown.as_lines:
        notify(line)
    progress.print(line)


def _end(job: CheckJob, fail_above: float | None) -> None:
    """Fail where a transcript has too many errors."""
    from ..base.number_format import percentage

    for name, summary in job.summaries.items():
        if fail_above is not None and summary.share_wrong > fail_above:
            wrong, most = percentage(summary.share_wrong, 1), percentage(fail_above)
            notify(f"{name}: {wrong} of the words are likely wrong, more than {most}")
            sys.exit(TOO_MANY_ERRORS)
