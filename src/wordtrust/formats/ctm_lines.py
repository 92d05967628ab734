"""From CTM to CTM: lines as they are written, with other confidences.

A lattice cuts tokens into words, sorts them, and moves words that overlap. Where a file of CTM is written again,
nothing of that may be seen: order, names, channels, times, words, marks, types, speakers and comments stay to the
letter. Line ends become plain ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..base.errors import InputError, OptionError
from ..base.files import atomic, is_stream
from ..base.problems import Problems
from ..lattices.weights import Reals
from . import detect_format
from .ctm import FORMAT, CtmRecording, files_with_channels, read_recordings, utterance_name
from .format import ReadOptions
from .inputs import Stream, streams

_SIXTH_FIELD = re.compile(rb"(\s*+(?:\S++\s++){5})\S++")
Key = tuple[bytes, bytes]  # file and channel


def are_ctm(paths: Iterable[str | Path], options: ReadOptions = ReadOptions()) -> bool:
    """Whether all of these are files of CTM; a pipe can be read once only, and is none."""
    given = [Path(path) for path in paths]
    if any(is_stream(path) for path in given):
        return False
    try:
        return {detect_format(source, options.format).name for source in streams(given)} == {FORMAT.name}
    except InputError:
        return False  # whoever reads it says what is wrong with it


@dataclass
class CtmCopy:
    """What is copied, and how: `show` turns confidences into those that are written; without it they stay."""

    show: Callable[[Reals], Reals] | None = None
    options: ReadOptions = ReadOptions()
    problems: Problems = field(default_factory=Problems)
    utts: Collection[str] = ()  # only these, if there are any
    utterances: int = 0  # copied so far
    words: int = 0

    def write(self, sources: Iterable[Stream], path: Path) -> None:
        """Copy the lines of all sources to one file."""
        seen: dict[Key, str] = {}
        with atomic(path) as file:
            for source in sources:
                for line in self._lines(source, seen, path):
                    file.write(line + b"\n")
            if missing := {*self.utts} - {*seen.values()}:
                raise OptionError(f"no utterance {', '.join(sorted(missing))} in the input")

    def _lines(self, source: Stream, seen: dict[Key, str], path: Path) -> Iterable[bytes]:
        """The lines of a file, but those of recordings that are bad or not asked for."""
        lines = dict(source.lines())
        recordings = read_recordings(
            source.name, lines.items(), self.options, self.options.shared_tokens(), self.problems
        )
        several = files_with_channels(recordings)
        names = {key: utterance_name(*key, several) for key in recordings}
        kept = {
            key: recording
            for key, recording in recordings.items()
            if (not self.utts or names[key] in self.utts) and self._is_good(recording, names[key], source.name)
        }
        for key in kept:
            if key in seen:
                raise OptionError(
                    f"{path}: two utterances would be called {names[key]!r} and be read as one. "
                    "Write them to two files"
                )
            seen[key] = names[key]
        self.utterances += len(kept)
        self.words += sum(len(recording) for recording in kept.values())
        self._set_confidences(lines, kept.values())
        return [line for number, line in lines.items() if _is_kept(line, number, kept)]

    def _is_good(self, recording: CtmRecording, utt: str, file: str) -> bool:
        if recording.is_bad or self.show is None or not np.isnan(recording.columns()[3]).any():
            return not recording.is_bad
        found = "the utterance has no confidences, or not for all of its words"
        remedy = "Let the recognizer write one for every word, or go on without the utterance (--skip-bad)"
        self.problems.report(InputError(found, file=file, utt=utt, remedy=remedy))
        return False

    def _set_confidences(self, lines: dict[int, bytes], recordings: Iterable[CtmRecording]) -> None:
        if self.show is None:
            return
        for recording in recordings:
            if not len(recording):
                continue
            given = recording.columns()[3].astype(np.float32).astype(np.float64)  # as lattices have them
            for number, shown in zip(recording.lines(), self.show(given).tolist(), strict=True):
                lines[number] = _SIXTH_FIELD.sub(rb"\g<1>%.6f" % shown, lines[number], count=1)


def _is_kept(line: bytes, number: int, kept: Collection[Key]) -> bool:
    """Whether a line belongs to one of these recordings, or to none."""
    fields = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).split(None, 2)
    return not fields or fields[0].startswith(b";;") or tuple(fields[:2]) in kept
