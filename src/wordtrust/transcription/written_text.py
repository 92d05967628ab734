"""Transcripts of others, as they are written: any file of words, with its spelling, speakers, channels and times.

What no reader knows and is text is read as plain text (`formats.onebest.plain_text`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..base.errors import InputError, OptionError, UnknownFormat
from ..base.problems import Problems
from ..formats import format_names, stream_files
from ..formats.chains import linear_lattice
from ..formats.format import ReadOptions
from ..formats.onebest import plain_text, srt, vtt
from ..formats.transcript import NAME as OURS
from ..formats.transcript import record_lattices
from ..lattices.assemble import Builder, Tokens
from ..lattices.lattice import Floats, Lattices, Offsets, Origin, Times, concatenate
from ..lattices.paths import Paths, one_best
from ..transcripts.segmenting import segments
from ..transcripts.transcript import Transcript, Transcripts, transcripts
from .text_to_audio import LocatedWords, TimedWords


@dataclass(frozen=True, slots=True, eq=False)
class WrittenText:
    """The words of a recording, or of one channel of it, as a file has them."""

    file: str
    lattices: Lattices  # of this one utterance
    path: Paths  # its words, silence left out

    @property
    def name(self) -> str:
        """What the file calls the recording."""
        return self.lattices.utts[0]

    @property
    def arcs(self) -> Offsets:
        """[words] the arcs of its words."""
        return self.path.arcs_in(self.lattices)

    def __len__(self) -> int:
        return len(self.path.arcs)

    @property
    def is_timed(self) -> bool:
        """Whether it has times of its own."""
        return self.lattices.origin.times == "given"

    @property
    def confidence(self) -> Floats | None:
        """[words] what it says of its own words, where it says anything."""
        return None if self.lattices.posterior is None else self.lattices.posterior[self.arcs]

    @property
    def is_calibrated(self) -> bool:
        """Whether what it says of its own words are probabilities: where our own models computed them."""
        return self.lattices.origin.format == OURS

    @property
    def by_recognizer(self) -> bool:
        """Whether its format says that a recognizer wrote it: people write subtitles and plain text too."""
        return self.lattices.origin.format not in (plain_text.NAME, srt.NAME, vtt.NAME)

    @property
    def norms(self) -> tuple[str, ...]:
        """[words] normalised."""
        return self.lattices.vocabulary.lookup(self.lattices.word[self.arcs].tolist())

    def timed(self) -> TimedWords:
        """Its words with its own times."""
        arcs, lattices = self.arcs, self.lattices
        return TimedWords(self.norms, lattices.start_time[arcs], lattices.end_time[arcs], self.is_timed)

    def transcript(self) -> Transcript:
        """Its words with its own confidences, 0 where it has none."""
        shown = np.zeros(len(self.lattices.word)) if self.lattices.posterior is None else self.lattices.posterior
        return transcripts(self.lattices, shown, self.path, alternatives=0)[0]

    def cut(self, transcript: Transcript) -> Transcripts:
        """A transcript of its words, cut as it is itself: by its phrases and speakers, or by pauses."""
        return Transcripts(segments(self.lattices, self.path, [transcript]))


def read_texts(
    path: str | Path, options: ReadOptions = ReadOptions(), notify: Callable[[str], None] | None = None,
    problems: Problems | None = None,
) -> list[WrittenText]:  # fmt: skip
    """The transcripts of a file, one for each recording or channel; those without words too.

    What cannot be read goes to `problems`.
    """
    options = replace(options, keep_times=True, only_chosen=True, keep_silent=True)
    if options.format is None and not _is_known(path):
        options = replace(options, format=plain_text.NAME)
    texts = [
        _text(lattice.batch(), str(path))
        for batch in stream_files([path], options, problems or Problems(), notify=notify)
        for lattice in batch
    ]
    if not texts:
        raise InputError("there is no transcript in the file", file=str(path))
    return texts


def texts_of(given: Transcripts) -> list[WrittenText]:
    """Transcripts that Python code holds, as their files would be read."""
    options = ReadOptions(keep_times=True, only_chosen=True)
    batches = record_lattices(given, options=options)
    texts = [_text(lattice.batch(), "transcripts") for batch in batches for lattice in batch]
    if not texts:
        raise OptionError("there is no transcript to check")
    return texts


def _is_known(path: str | Path) -> bool:
    """Whether the content says what format it is; text that does not is to be read as it is."""
    try:
        return bool(format_names([path]))
    except UnknownFormat as error:
        if error.found.startswith("no known format"):
            return False
        raise


def _text(batch: Lattices, file: str) -> WrittenText:
    return WrittenText(file, batch, one_best(batch).without_silence(batch))


def chains(text: WrittenText, located: LocatedWords, stretches: Sequence[tuple[int, float, float]]) -> Lattices:
    """The words of a text in the stretches of a recording, a chain each; times count from the start of the stretch.

    `stretches` are numbers as `LocatedWords` has them, rising, with start and end.
    """
    tokens, first = Tokens(), int(np.searchsorted(located.stretch, stretches[0][0])) if stretches else 0
    used = slice(first, int(np.searchsorted(located.stretch, stretches[-1][0], "right")) if stretches else 0)
    lattices, arcs = text.lattices, text.arcs[used]
    norms, surfaces = (lattices.vocabulary.lookup(ids[arcs].tolist()) for ids in (lattices.word, lattices.surface))
    token = np.array([tokens.pair(*pair) for pair in zip(norms, surfaces, strict=True)], np.int32)
    confidence = text.confidence
    origin = Origin(text.file, "check", times="given" if text.is_timed else "aligned")
    builder = Builder(tokens, Problems(), origin=origin)
    made = list[Lattices]()
    for number, begin, finish in stretches:
        words = slice(*np.searchsorted(located.stretch, [number, number + 1]))
        start, end = _inside(located.start[words], located.end[words], begin, finish)
        posterior = None if confidence is None else confidence[words].astype(np.float64)
        of_stretch = token[words.start - first : words.stop - first]
        chain = linear_lattice(
            str(number), of_stretch, start, end, posterior, finish=finish - begin, times=origin.times
        )
        made.extend(builder.add(chain))
    return concatenate([*made, *builder.flush()])


def _inside(start: Times, end: Times, begin: float, finish: float) -> tuple[Times, Times]:
    """Times within a stretch, counted from its start, that never fall."""
    length = max(finish - begin, 0.01 * len(start))
    first = np.maximum.accumulate(np.clip(start - begin, 0.0, length)) if len(start) else start
    return first, np.maximum(first, np.clip(end - begin, 0.0, length))
