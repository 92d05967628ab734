"""What the verdict costs: `check` of a transcript without times, against the listeners' own work in the same run.

Run with `python -m benchmarks.check`. The speech is the reading in Moonshine's wheel, over and over; the transcript
is what was heard, with every eighth word wrong, so that nearly all segments have to be scored again. Seconds are
those of the processor, one job.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.transcribe import MINUTES, ten_minutes
from wordtrust.audio.audio_file import AudioFile
from wordtrust.transcription.check import check_tasks
from wordtrust.transcription.check_job import CheckJob
from wordtrust.transcription.transcriber import Transcriber, recordings
from wordtrust.transcription.written_text import read_texts


def run() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name, Transcriber(["moonshine"]) as transcriber:
        path, text = ten_minutes(Path(name)), Path(name, "reading.txt")
        [recording] = recordings([AudioFile.open(path)])
        began = time.process_time()
        heard = list(transcriber.recognize(recording))
        listening = time.process_time() - began
        words = [word for segment in heard for word in transcriber.transcript(recording, segment).text.split()]
        text.write_text(" ".join("wrong" if at % 8 == 0 else word for at, word in enumerate(words)))
        tasks = check_tasks(read_texts(text), [recording.audio])
        with CheckJob(transcriber, tasks, {}, "") as job:
            began = time.process_time()
            for _ in job.listen(tasks[0]):
                pass
            again = time.process_time() - began
            began = time.process_time()
            summary = job.check(tasks[0])
            verdict = time.process_time() - began
        once, twice = sorted([listening, again])
        print(f"listening     {once:6.1f} s of {MINUTES * 60} s (another run {twice:.1f} s)")
        print(f"verdict       {verdict:6.1f} s on {summary.words:,} words")
        print(f"ratio         {verdict / once:6.2f} on top")


if __name__ == "__main__":
    run()
