"""Plain text (.txt): a line for each segment or utterance, an empty line where a recording pauses for long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..base.files import atomic_text
from ..base.visible_text import visible
from .target import AddTranscripts, Target
from .utterance import UtteranceWords

PARAGRAPH = 3.0  # seconds of a pause that begins a new paragraph


@contextmanager
def write_text(target: Target) -> Iterator[AddTranscripts]:
    """What was said, with the name before the first line of a speaker who is known.

    Utterances without words are empty lines, so that lines can be counted.
    """
    last: UtteranceWords | None = None

    def add(transcripts: Sequence[UtteranceWords]) -> None:
        nonlocal last
        for transcript in transcripts:
            goes_on = last is not None and transcript.utt == last.utt
            if not transcript.words:
                file.write("" if goes_on else "\n")
                last = last if goes_on else transcript
                continue
            if goes_on and last and last.words and transcript.words[0].start - last.words[-1].end >= PARAGRAPH:
                file.write("\n")
            named = f"{transcript.voice}: " if transcript.voice and not _says_on(last, transcript) else ""
            file.write(visible(" ".join((named + transcript.text).split())) + "\n")
            last = transcript

    with atomic_text(target.path) as file:
        yield add


def _says_on(before: UtteranceWords | None, transcript: UtteranceWords) -> bool:
    """Whether the line before was said by the same speaker."""
    return before is not None and (before.utt, before.voice) == (transcript.utt, transcript.voice)
