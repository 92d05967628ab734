"""A long recording from end to end through `check`: time, memory, and whether words are put where they were said.

    python -m experiments.check_long CLIPS NBEST [--minutes 60] [--listener moonshine] [--timed]

CLIPS is a folder or a .tar of short clips, NBEST what a recognizer heard in them (JSON lines with word times): its
1-best is the transcript, and the times of its words are the truth. Clips follow one another with half a second
between them. Without `--timed` the transcript is given as text without times. Seconds are those of the processor, one
job.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import resource
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from wordtrust.audio import RATE, Samples
from wordtrust.audio.audio_file import AudioFile
from wordtrust.lattices.text import DEFAULT
from wordtrust.transcription.check import check_tasks
from wordtrust.transcription.check_job import CheckJob, CheckTask
from wordtrust.transcription.transcriber import Transcriber
from wordtrust.transcription.written_text import read_texts
from wordtrust.transcripts.words import Word

NEAR = (0.5, 2.0)  # seconds between where a word is put and when it was said
PAUSE = np.zeros(RATE // 2, np.float32)


def clips(path: Path) -> Iterator[tuple[str, Samples]]:
    """Utterances and their samples."""
    with tempfile.TemporaryDirectory() as folder:
        if path.is_dir():
            for file in sorted(path.iterdir()):
                yield file.stem, AudioFile.open(file).samples()
            return
        with tarfile.open(path) as archive:
            for member in (one for one in archive if one.isfile()):
                content = archive.extractfile(member)
                assert content is not None
                file = Path(folder, Path(member.name).name)
                file.write_bytes(content.read())
                yield file.stem, AudioFile.open(file).samples()
                file.unlink()


def printed(nbest: Path) -> dict[str, list[dict[str, Any]]]:
    """The words of each utterance's 1-best, with times."""
    with gzip.open(nbest) as file:
        records = map(json.loads, io.TextIOWrapper(file, "utf-8"))
        return {one["utt"]: one["nbest"][one.get("best_avg", 0)]["words"] for one in records}


def long_recording(folder: Path, source: Path, nbest: Path, minutes: float) -> list[tuple[str, float, float]]:
    """Write talk.flac, talk.ctm and talk.txt; returns the words with their times."""
    known, words, seconds = printed(nbest), list[tuple[str, float, float]](), 0.0
    with soundfile.SoundFile(folder / "talk.flac", "w", RATE, 1) as audio:
        for utt, samples in clips(source):
            if utt not in known or not known[utt]:
                continue
            audio.write(np.concatenate([samples, PAUSE]))
            words += [(word["word"], seconds + word["start"], seconds + word["end"]) for word in known[utt]]
            seconds += (len(samples) + len(PAUSE)) / RATE
            if seconds >= 60 * minutes:
                break
    lines = (f"talk 1 {start:.3f} {end - start:.3f} {word}\n" for word, start, end in words)
    (folder / "talk.ctm").write_text("".join(lines), "utf-8")
    (folder / "talk.txt").write_text(" ".join(word for word, _, _ in words), "utf-8")
    return words


def measured(task: CheckTask, listener: str) -> tuple[list[Word], str]:
    """The checked words, and a line about time and memory."""
    with Transcriber(listener.split(","), scores_texts=True) as transcriber:
        began, first, shown = time.process_time(), None, 0
        with CheckJob(transcriber, [task], {}, "") as job:
            for _ in job.listen(task):
                for segment in job.newly_checked(task):
                    first = time.process_time() - began if first is None else first
                    shown += len(segment.words)
            heard = time.process_time() - began
            summary = job.check(task)
    whole, peak = time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    words = [word for segment in job.transcripts[task.name] for word in segment.words]
    line = (
        f"{whole:.0f} s, first words after {first or whole:.1f} s, {shown:,} of {len(words):,} before the end, "
        f"{whole - heard:.1f} s after it; {peak:.0f} MB at most; {summary.found:.1%} of the words found"
    )
    return words, line


def placed(words: Sequence[Word], truth: Sequence[tuple[str, float, float]]) -> str:
    """How far the middles of words are from when they were said; pieces of one written word share its time."""
    said = np.array([(start, end) for word, start, end in truth for _ in DEFAULT.pieces(word)])
    if len(said) != len(words):
        raise SystemExit(f"{len(words)} words, and {len(said)} were written")
    middle = np.array([(word.start + word.end) / 2 for word in words])
    off = np.maximum(np.maximum(said[:, 0] - middle, middle - said[:, 1]), 0)
    shares = ", ".join(f"{(off <= near).mean():.2%} within {near} s" for near in NEAR)
    return f"words where they were said: {shares}; {off.max():.1f} s at most"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m experiments.check_long", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("clips", type=Path)
    parser.add_argument("nbest", type=Path)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--listener", default="moonshine")
    parser.add_argument("--timed", action="store_true", help="the transcript has times")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = long_recording(folder, given.clips, given.nbest, given.minutes)
        text = folder / ("talk.ctm" if given.timed else "talk.txt")
        [task] = check_tasks(read_texts(text), [AudioFile.open(folder / "talk.flac")])
        words, line = measured(task, given.listener)
        print(f"{given.minutes:.0f} min, {'with' if given.timed else 'without'} times: {line}")
        print(placed(words, truth))


if __name__ == "__main__":
    main(sys.argv[1:])
