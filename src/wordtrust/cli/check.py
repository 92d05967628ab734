"""The verb about transcripts of others: check."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from ..base.errors import OptionError
from ..base.files import is_stdout
from ..base.number_format import counted
from .audio import as_given
from .inputs import announce_compilation, resumable
from .messages import echo, notify
from .options import jobs_option, json_option, out_option, overwrite_option, plain_option, share_of_words

if TYPE_CHECKING:
    from ..base.progress import AudioProgress
    from ..transcription.check_job import Author, CheckJob, CheckTask
    from ..transcription.transcriber import Transcriber

NOT_OF_THIS_AUDIO, TOO_MANY_ERRORS = 3, 4  # exit status


@click.command()
@resumable
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
@click.option("--fail-above", metavar="SHARE", callback=share_of_words,
              help="Exit with status 4 if more than this share of the words is likely wrong: 10%.")  # fmt: skip
@jobs_option("Listeners that work in parallel [one per core, if it pays].")
@json_option
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
) -> None:
    """Which words of a TRANSCRIPT from somewhere are wrong?

    TRANSCRIPT is any file of words: JSON of a speech service or of Whisper, subtitles (.srt, .vtt), CTM, our own
    files, or plain text with or without times. Listeners of ours hear the audio, and each word of the transcript gets
    a confidence; its words, spelling, speakers and times stay as they are. With --out, an interrupted check resumes
    where it stopped.

    Exit status: 0 it was checked, 1 it could not be, 3 the transcript is of another recording, 4 it has more errors
    than --fail-above allows.

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
    files = open_audio(audio) if audio else None
    others = [text for path in heard for text in read_texts(path, notify=notify)]
    texts = read_texts(transcript, ReadOptions(format=format_), notify)
    tasks = check_tasks(texts, files, others, channels, author)
    outputs = plan_outputs(out, [task.recording for task in tasks], overwrite=overwrite)
    if as_json and any(map(is_stdout, outputs)):
        raise OptionError("--json prints to stdout, where the output goes too: leave out one of them")
    listener = ",".join(with_language(name, language) for name in split_names(listener))
    notify(*(line for task in tasks for line in problems(task)))
    with ExitStack() as stack:
        transcriber = None if files is None else stack.enter_context(_transcriber(listener, tasks, jobs))
        job = stack.enter_context(CheckJob(transcriber, tasks, outputs, listener))
        if job.resumed:
            notify(f"resuming after {counted(job.resumed, 'segment')} done before")
        try:
            _check_all(job, tasks, as_json=as_json, quiet=any(map(is_stdout, outputs)))
        except DoesNotBelong as error:
            notify(str(error))
            sys.exit(NOT_OF_THIS_AUDIO)
        for path, words in job.write(plain=plain):
            echo(f"{as_given(path, out)}: {counted(words, 'word')}", err=True)
    require_most(files or [], Problems())
    _end(job, fail_above)


def _transcriber(listener: str, tasks: list[CheckTask], jobs: int | None) -> Transcriber:
    """The listeners, as many of each as pay."""
    from ..transcription.transcriber import AudioRecording, Transcriber, split_names
    from ..transcription.transcription_job import default_jobs

    recordings = [task.recording for task in tasks if isinstance(task.recording, AudioRecording)]
    return Transcriber(split_names(listener), jobs=jobs or default_jobs(recordings), scores_texts=True)


def _check_all(job: CheckJob, tasks: list[CheckTask], *, as_json: bool, quiet: bool) -> None:
    """Listen to every recording, then print what was found."""
    from ..base.progress import AudioProgress

    lengths = [task.duration for task in tasks]
    with AudioProgress("listening", lengths, shows_results=not quiet) as progress:
        for task in tasks:
            for segment in job.listen(task):
                progress.at(segment.end)
                _show(job, task, progress, as_json=as_json)
            summary = job.check(task)
            _show(job, task, progress, as_json=as_json)
            _show_summary(job, task, progress, as_json=as_json, quiet=quiet)
            progress.finish_recording()
            late = f"{abs(summary.late):.1f} s {'late' if summary.late > 0 else 'early'}"
            notify(*([f"{task.text.file}: its times are {late}"] if abs(summary.late) >= 1 else []))
            if summary.belonging < 0:
                notify(f"{task.text.file}: {summary.found:.0%} of its words were found; is it of this recording?")
    if as_json:
        found = {task.name: job.summaries[task.name].to_dict() for task in tasks}
        echo(json.dumps(found[tasks[0].name] if len(tasks) == 1 else found))


def _show(job: CheckJob, task: CheckTask, progress: AudioProgress, *, as_json: bool) -> None:
    """Print the words that are checked by now."""
    from ..transcripts.terminal import SegmentView

    for segment in () if as_json else job.newly_checked(task):
        progress.print(SegmentView(segment.words, missing_end=segment.missing_end, speaker=segment.speaker))


def _show_summary(job: CheckJob, task: CheckTask, progress: AudioProgress, *, as_json: bool, quiet: bool) -> None:
    """Print a line about all words."""
    from ..base.visible_text import visible

    if as_json:
        return
    line = f"{visible(task.text.file)}: {job.summaries[task.name].line()}"
    if quiet:
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
