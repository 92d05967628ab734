"""Recordings of other programs as segments: their own (Whisper's segments, Google's results), or by pauses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from ..formats.onebest.recognized import CUES, PHRASE, SPEAKER, SPEAKERS
from ..lattices.lattice import CHANNEL, Lattices
from ..lattices.paths import Paths
from .transcript import Transcript
from .words import Word

LONG = 30.0  # seconds: what is shorter is an utterance, and stays one
_PAUSE = 1.0  # seconds between two segments
_BREATH, _ENOUGH = 0.3, 15.0  # seconds between two segments once the first is that long


def segments(batch: Lattices, paths: Paths, transcripts: Sequence[Transcript]) -> Iterator[Transcript]:
    """The transcripts of a batch, those of long recordings as segments that have the name of the recording.

    Another speaker begins another segment.
    """
    arcs = paths.arcs_in(batch)
    said = arcs[batch.word[arcs] > 0]
    phrase, speaker = (
        batch.extra[name][said].tolist() if name in batch.extra else None for name in (PHRASE, SPEAKER)
    )
    first = 0
    channels, listed = batch.notes.get(CHANNEL, ("",) * len(batch)), (_listed(batch, SPEAKERS), _listed(batch, CUES))
    for transcript, channel, names, shown in zip(transcripts, channels, *listed, strict=True):
        last = first + len(transcript.words)
        phrases, speakers = (None if each is None else each[first:last] for each in (phrase, speaker))
        first = last
        named = replace(transcript, channel=channel or transcript.channel)
        yield from _cut(named, phrases, speakers, names, shown)


def _listed(batch: Lattices, note: str) -> Iterator[list[Any]]:
    for listed in batch.notes.get(note, ("",) * len(batch)):
        yield json.loads(listed) if listed else []


def _cut(
    transcript: Transcript, phrases: Sequence[float] | None, speakers: Sequence[float] | None, names: Sequence[str],
    shown: Sequence[Sequence[float] | None],
) -> Iterator[Transcript]:  # fmt: skip
    words = transcript.words
    has_phrases = phrases is not None and (len({*phrases}) > 1 or bool(shown))
    cuts = set(_changes(words, phrases) if phrases is not None and has_phrases else _pauses(words))
    cuts |= set(_changes(words, speakers) if speakers and names else ())
    for begin, end in pairwise([0, *sorted(cuts), len(words)]):
        who = int(speakers[begin]) if speakers and names and words else -1
        segment = replace(transcript, speaker=names[who] if who >= 0 else transcript.speaker)
        if cuts:
            missing = transcript.missing_end if end == len(words) else None
            segment = replace(segment, words=words[begin:end], correct=None, missing_end=missing)
        if shown and phrases and begin < end and (times := shown[int(phrases[begin])]) is not None:
            segment = replace(segment, shown=(times[0], times[1]))
        yield segment


def _changes(words: Sequence[Word], owner: Sequence[float]) -> list[int]:
    """Where words begin that are of another phrase, or of another speaker; never within a token."""
    return [at for at in range(1, len(words)) if owner[at] != owner[at - 1] and not words[at - 1].joins_next]


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
