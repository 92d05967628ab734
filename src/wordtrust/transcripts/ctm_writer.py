"""Files of NIST CTM (.ctm), in which names tell utterances, or recordings, apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from ..base.errors import OptionError
from ..base.files import atomic_text
from ..formats.ctm import name_field
from .target import AddTranscripts, Target, accept_threshold
from .utterance import UtteranceWords

_OVERLAP = 1.0  # seconds that two segments of a recording may share where words are timed loosely


@contextmanager
def write_ctm(target: Target) -> Iterator[AddTranscripts]:
    """Utterances of different names; or segments, where those of one name and channel are in the order of time."""
    ends: dict[tuple[str, str], float] = {}
    silent: dict[tuple[str, str], str] = {}  # recordings without a word so far, with their names

    def add_utterances(transcripts: Sequence[UtteranceWords]) -> None:
        for transcript in transcripts:
            name, channel = target.channels.get(transcript.utt) or _own_channel(transcript) or (transcript.utt, "1")
            key = name_field(name), channel
            if key in ends:
                raise _same_name(target, "utterances", key[0])
            ends[key] = inf
            file.write(replace(transcript, utt=name).to_ctm(channel))

    def add_segments(transcripts: Sequence[UtteranceWords]) -> None:
        for segment in transcripts:
            name, channel = segment_channel(segment, target)
            key = name_field(name), channel
            if not segment.words:
                silent.setdefault(key, segment.utt)
                continue
            end = ends.get(key, -inf)
            if segment.words[0].start < end - _OVERLAP:
                raise _same_name(target, "recordings", key[0])
            ends[key] = max(end, segment.words[-1].end)
            file.write(replace(segment, utt=name).to_ctm(channel))

    with atomic_text(target.path) as file:
        if (threshold := accept_threshold(target.about)) is not None:
            file.write(
                f";; accepted words: confidence from {threshold:g} on; {target.about['accept'].get('promise', '')}\n"
            )
        yield add_segments if target.recordings else add_utterances
        file.writelines(UtteranceWords(name, ()).to_ctm() for key, name in silent.items() if key not in ends)


def _own_channel(segment: UtteranceWords) -> tuple[str, str] | None:
    """The file and the channel of a segment that names it."""
    if not segment.channel or len(segment.channel.split()) != 1:
        return None
    return segment.recording, segment.channel


def segment_channel(segment: UtteranceWords, target: Target) -> tuple[str, str]:
    """The name and the channel of the recording that a segment is of."""
    given = target.channels.get(segment.utt) or _own_channel(segment)
    return given or channel_name(segment.utt, target.about)


def channel_name(utt: str, about: Mapping[str, Any]) -> tuple[str, str]:
    """The name and the channel of a recording: CTM has a field for the channel, so it need not be in the name."""
    stem, channel = Path(str(about.get("file", ""))).stem, str(about.get("channel") or "1")
    return (stem if utt == f"{stem}-{channel}" else utt), channel


def _same_name(target: Target, what: str, name: str) -> OptionError:
    return OptionError(
        f"{target.path}: two {what} would be called {name!r} and be read as one. Write them to two files, "
        "or to .jsonl"
    )
