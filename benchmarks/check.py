"""What `check` costs: a transcript without times, checked, against the listeners' own work in the same run.

    python -m benchmarks.check [LISTENER ...] [--minutes 10]

Listeners are named as `--listener` takes them [moonshine]. The speech is the reading in Moonshine's wheel, over and
over; the transcript is what was heard, with every eighth word wrong, so that nearly all segments have to be scored.
Seconds are those of the processor, one job; both are done twice, in turn, and the quicker one counts.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.transcribe import MINUTES, ten_minutes
from wordtrust.audio.audio_file import AudioFile
from wordtrust.transcription.check import check_tasks
from wordtrust.transcription.check_job import CheckJob, CheckTask
from wordtrust.transcription.transcriber import AudioRecording, RecognizedSegment, Transcriber, recordings
from wordtrust.transcription.written_text import read_texts

TIMES = 2


def listened(transcriber: Transcriber, recording: AudioRecording) -> tuple[float, list[RecognizedSegment]]:
    """Processor seconds of listening, and what was heard."""
    began = time.process_time()
    heard = list(transcriber.recognize(recording))
    return time.process_time() - began, heard


def checked(transcriber: Transcriber, task: CheckTask) -> tuple[float, float, int]:
    """Processor seconds of the whole check, and those after all was heard; words."""
    with CheckJob(transcriber, [task], {}, "") as job:
        began = time.process_time()
        for _ in job.listen(task):
            for _ in job.newly_checked(task):
                pass
        heard = time.process_time()
        summary = job.check(task)
        return time.process_time() - began, time.process_time() - heard, summary.words


def run(listener: str, minutes: float) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name, Transcriber(listener.split(","), scores_texts=True) as transcriber:
        path, text = ten_minutes(Path(name), minutes), Path(name, "reading.txt")
        [recording] = recordings([AudioFile.open(path)])
        alone, whole = list[float](), list[float]()
        for _ in range(TIMES):
            seconds, heard = listened(transcriber, recording)
            alone.append(seconds)
            words = [word for segment in heard for word in transcriber.transcript(recording, segment).text.split()]
            text.write_text(" ".join("wrong" if at % 8 == 0 else word for at, word in enumerate(words)))
            seconds, verdict, count = checked(transcriber, check_tasks(read_texts(text), [recording.audio])[0])
            whole.append(seconds)
    print(f"{listener}: {count:,} words in {minutes * 60:.0f} s of audio")
    print(f"listening     {min(alone):6.1f} s (each time {', '.join(f'{one:.1f}' for one in alone)})")
    print(f"check         {min(whole):6.1f} s (each time {', '.join(f'{one:.1f}' for one in whole)})")
    print(f"ratio         {min(whole) / min(alone) - 1:6.2f} on top; after all was heard {verdict:.1f} s")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each listener."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.check")
    parser.add_argument("listeners", nargs="*", default=["moonshine"])
    parser.add_argument("--minutes", type=float, default=MINUTES, help="of audio")
    given = parser.parse_args(arguments)
    for listener in given.listeners:
        run(listener, given.minutes)


if __name__ == "__main__":
    main()
