"""What confidence costs: ten minutes of speech through `transcribe`, against the recognizer's beam search alone.

Run with `python -m benchmarks.transcribe`. The speech is the reading in Moonshine's wheel, over and over. Seconds are
those of the processor, one job. The search alone is given the segments; ours reads, resamples, finds speech, cuts,
searches, guards, builds networks, judges words and writes three files. Then: how long a person waits for first words.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from wordtrust.audio import RATE
from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.segments import segments
from wordtrust.base.journal import Journal
from wordtrust.recognizers import loader
from wordtrust.transcription.transcriber import Transcriber, recordings
from wordtrust.transcripts.writer import TranscriptWriter

MINUTES = 10


def reading() -> Path:
    """A real recording that comes with Moonshine's weights."""
    spec = find_spec("moonshine_voice")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "assets" / "two_cities.wav"


def ten_minutes(folder: Path, minutes: float = MINUTES) -> Path:
    """The reading again and again, as a file; or as many minutes of it as are wanted."""
    import soundfile

    once = AudioFile.open(reading()).samples()
    path = folder / "reading.flac"
    soundfile.write(path, np.resize(once, round(minutes * 60 * RATE)), RATE)
    return path


def ours(path: Path, folder: Path) -> tuple[float, int]:
    """Processor seconds of the whole way, and words."""
    with Transcriber(["moonshine"]) as transcriber, Journal(folder / "journal", {}) as journal:
        [recording] = recordings([AudioFile.open(path)])
        started = time.process_time()
        said = [transcriber.transcript(recording, heard) for heard in transcriber.recognize(recording, journal)]
        for ending in ("json", "srt", "html"):
            with TranscriptWriter(folder / f"words.{ending}", recordings=True, about=transcriber.provenance) as out:
                out.add(said)
        journal.remove()
        return time.process_time() - started, sum(len(each.words) for each in said)


def search_alone(path: Path) -> float:
    """Processor seconds of the beam search over the same segments."""
    recognizer = loader("moonshine")()
    pieces = [segment.samples for segment in segments(AudioFile.open(path).blocks())]
    started = time.process_time()
    for samples in pieces:
        recognizer.recognize(samples)
    return time.process_time() - started


def first_words(path: Path) -> float:
    """Seconds from the start of the command until there are words on its output."""
    command = [sys.executable, "-m", "wordtrust", "transcribe", str(path)]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        process.stdout.readline()
        waited = time.perf_counter() - started
        process.kill()
    return waited


def run() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = ten_minutes(folder)
        loader("moonshine")().recognize(np.zeros(RATE, np.float32))  # what is made once is made now
        ours(reading(), folder)
        alone = search_alone(path)
        all_of_it, words = ours(path, folder)
        again = search_alone(path)
        search = min(alone, again)
        seconds = MINUTES * 60
        slower = max(alone, again)
        print(f"search alone  {search:6.1f} s ({search / seconds:.3f} of real time; another run {slower:.1f} s)")
        print(f"transcribe    {all_of_it:6.1f} s ({all_of_it / seconds:.3f} of real time), {words:,} words")
        print(f"ratio         {all_of_it / search:6.2f}")
        print(f"first words after {first_words(path):.1f} s")


if __name__ == "__main__":
    run()
