"""A transcript from somewhere, checked: `wt.check` in Python, and which transcript belongs to which recording.

checked = wt.check("talk.json", "talk.mp3")
checked.save("talk.html")
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ..audio.audio_file import AudioFile
from ..base.errors import InputError, OptionError
from ..recognizers import Recognizer
from ..recognizers.registry import with_language
from ..transcripts.transcript import Transcripts
from .check_job import AUTHORS, Author, CheckJob, CheckTask, TextRecording
from .transcriber import Transcriber, opened_audio, recognizer_list, recordings
from .written_text import WrittenText, read_texts, texts_of


def check(
    transcript: str | Path | Transcripts,
    audio: str | Path | ArrayLike | Sequence[str | Path] | None = None,
    listener: str | Recognizer | Sequence[str | Recognizer] = "auto",
    *,
    heard: str | Path | Sequence[str | Path] = (),
    sample_rate: float | None = None,
    language: str | None = None,
    author: Author = "auto",
    channels: str = "auto",
    jobs: int = 1,
) -> Transcripts:
    """A transcript of any program with a confidence for each of its words, by listeners that hear the audio.

    `transcript` is any file of words that wordtrust reads, subtitles and plain text too, or transcripts. `audio` and
    `listener` are what `transcribe` takes as audio and recognizers. `heard` are other transcripts of the same
    recording: listeners too, with or without audio. `author` is recognizer, anybody (people may make no errors), or
    auto: anybody may have written subtitles and plain text. `channels` is mix, each, a number, or auto: each where
    the transcript has as many. What was found is in `about["check"]`; a transcript of another recording is an
    `InputError`.
    """
    others = [heard] if isinstance(heard, str | Path) else list(heard)
    texts = read_texts(transcript) if isinstance(transcript, str | Path) else texts_of(transcript)
    files = None if audio is None else opened_audio(audio, sample_rate, "check")
    tasks = check_tasks(texts, files, [text for other in others for text in read_texts(other)], channels, author)
    named = [with_language(one, language) if isinstance(one, str) else one for one in recognizer_list(listener)]
    with ExitStack() as stack:
        transcriber = stack.enter_context(Transcriber(named, jobs=jobs, scores_texts=True)) if files else None
        job = stack.enter_context(CheckJob(transcriber, tasks, {}, ""))
        for task in tasks:
            for _ in job.listen(task):
                pass
            job.check(task)
        return _result(job, tasks)


def _result(job: CheckJob, tasks: Sequence[CheckTask]) -> Transcripts:
    about = job.about([task.recording for task in tasks])
    if len(tasks) > 1:
        about["check"] = {task.name: job.summaries[task.name].to_dict() for task in tasks}
    left_out = job.left_out(tasks[0].name) if len(tasks) == 1 else None
    checked = (segment for task in tasks for segment in job.transcripts[task.name])
    return Transcripts(checked, about=about, left_out=left_out)


def check_tasks(
    texts: Sequence[WrittenText], files: Sequence[AudioFile] | None, heard: Sequence[WrittenText] = (),
    channels: str = "auto", author: Author = "auto",
) -> list[CheckTask]:  # fmt: skip
    """Each transcript with its recording: the only one, a channel of it, or the one of its name."""
    for text in texts:
        if len(texts) == 1 and not len(text):
            raise InputError(
                "there are no words in the transcript", file=text.file, remedy="There is nothing to check"
            )
    if files is None and not heard:
        raise OptionError(
            "nothing to check it with: name the audio (--audio FILE), or other transcripts (--heard FILE)"
        )
    if author not in AUTHORS:
        raise OptionError(f"the author is {author!r}; known are {', '.join(AUTHORS)}")
    texts = _in_order(texts)
    tasks = _by_text(texts) if files is None else _by_audio(texts, files, channels)
    return [replace(task, heard=tuple(_others(task, heard, len(tasks))), author=author) for task in tasks]


def _by_text(texts: Sequence[WrittenText]) -> list[CheckTask]:
    names = [text.name for text in texts]
    if len(set(names)) < len(names):
        raise OptionError(f"{texts[0].file}: two recordings have the same name")
    if _channel_numbers(texts) is not None:  # as `transcribe` names them
        names = [f"{Path(texts[0].file).stem}-{number}" for number in range(1, len(texts) + 1)]
    return [CheckTask(text, TextRecording(name, text.file)) for text, name in zip(texts, names, strict=True)]


def _channel_numbers(texts: Sequence[WrittenText]) -> list[int] | None:
    """The numbers of channels, which most services count from 0; None where these are no channels."""
    found = [re.fullmatch(rf"{re.escape(Path(text.file).stem)}-(?:ch_)?(\d{{1,4}})", text.name) for text in texts]
    numbers = [int(match[1]) for match in found if match]
    first = min(numbers, default=0)
    is_whole = first <= 1 < len(texts) and sorted(numbers) == list(range(first, first + len(texts)))
    return numbers if is_whole else None


def _in_order(texts: Sequence[WrittenText]) -> list[WrittenText]:
    """Channels by their numbers: a service may list first who spoke first."""
    numbers = _channel_numbers(texts)
    return list(texts) if numbers is None else [texts[index] for index in np.argsort(numbers)]


def _by_audio(texts: Sequence[WrittenText], files: Sequence[AudioFile], channels: str) -> list[CheckTask]:
    if len(files) == 1:
        if channels == "auto":
            channels = "each" if len(texts) == files[0].channels else "mix"
        found = recordings(files, channels)
        if len(found) != len(texts):
            raise OptionError(_counts_differ(texts, files[0], len(found)))
        return [CheckTask(text, recording) for text, recording in zip(texts, found, strict=True)]
    named = {recording.name: recording for recording in recordings(files, "mix" if channels == "auto" else channels)}
    missing = [text.name for text in texts if text.name not in named]
    if missing:
        listed = ", ".join(sorted(named)[:5])
        raise OptionError(f"there is no audio for {missing[0]!r} of {texts[0].file}; the audio is named {listed}")
    return [CheckTask(text, named[text.name]) for text in texts]


def _counts_differ(texts: Sequence[WrittenText], audio: AudioFile, recordings: int) -> str:
    has = "1 channel" if audio.channels == 1 else f"{audio.channels} channels"
    if len(texts) == 1:
        return f"{texts[0].file} is one transcript, for {recordings} channels of {audio.path}: --channels mix, or one"
    if _channel_numbers(texts) is not None:
        return (
            f"{texts[0].file} has {len(texts)} channels, and {audio.path} has {has}: name the audio that was sent to "
            "the service"
        )
    names = ", ".join(text.name for text in texts[:3]) + ("..." if len(texts) > 3 else "")
    return (
        f"{texts[0].file} has {len(texts)} transcripts ({names}), and {audio.path} has {has}: a transcript for each "
        "channel, or one for all, or name an audio file for each"
    )


def _others(task: CheckTask, heard: Sequence[WrittenText], tasks: int) -> list[WrittenText]:
    """The other transcripts of a recording: those of its name, or all where there is but one recording."""
    named = [text for text in heard if text.name == task.text.name]
    return list(heard) if tasks == 1 and not named else named
