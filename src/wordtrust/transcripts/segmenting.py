"""Recordings of other programs as segments: their own (Whisper's segments, Google's results), or by pauses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..formats.onebest.recognized import PHRASE
from ..lattices.lattice import Lattices
from ..lattices.paths import Paths
from .transcript import Transcript
from .words import Word

LONG = 30.0  # seconds: what is shorter is an utterance, and stays one
_PAUSE = 1.0  # seconds between two segments
_BREATH, _ENOUGH = 0.3, 15.0  # seconds between two segments once the first is that long


def segments(batch: Lattices, paths: Paths, transcripts: Sequence[Transcript]) -> Iterator[Transcript]:
    """The transcripts of a batch, those of long recordings as segments that have the name of the recording."""
    arcs = paths.arcs_in(batch)
    said = arcs[batch.word[arcs] > 0]
    phrase = batch.extra[PHRASE][said].tolist() if PHRASE in batch.extra else None
    first = 0
    for transcript in transcripts:
        last = first + len(transcript.words)
        own = None if phrase is None else phrase[first:last]
        first = last
        words = transcript.words
        cuts = _pauses(words) if own is None or len({*own}) < 2 else _changes(words, own)
        if not cuts:
            yield transcript
            continue
        for begin, end in pairwise([0, *cuts, len(words)]):
            yield Transcript(transcript.utt, words[begin:end])


def _changes(words: Sequence[Word], phrase: Sequence[float]) -> list[int]:
    return [at for at in range(1, len(words)) if phrase[at] != phrase[at - 1] and not words[at - 1].joins_next]


def _pauses(words: Sequence[Word]) -> list[int]:
    """Where a recording pauses; never within a token."""
    if not words or words[-1].end - words[0].start < LONG:
        return []
    cuts, begin = list[int](), words[0].start
    for at, (before, word) in enumerate(pairwise(words), start=1):
        pause = word.start - before.end
        is_long = before.end - begin >= _ENOUGH
        if not before.joins_next and word.word and (pause >= _PAUSE or (is_long and pause >= _BREATH)):
            cuts.append(at)
            begin = word.start
    return cuts
