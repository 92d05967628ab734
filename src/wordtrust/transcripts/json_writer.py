"""Transcripts as JSON: a line for each (.jsonl), or one document about a recording (.json)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..base.files import atomic_text
from ..base.version import __version__
from ..base.visible_text import json_text
from ..formats.transcript.records import LANGUAGE_MODEL, MEAN, MODELS
from .target import AddTranscripts, Target
from .utterance import UtteranceWords, rounded_mean


def json_line(transcript: UtteranceWords, about: Mapping[str, Any] | None = None) -> str:
    """One line of .jsonl, with its end; `about` may name the models that gave the words their confidences."""
    made_by = {name: value for name in (MODELS, LANGUAGE_MODEL) if (value := (about or {}).get(name))}
    return json_text(transcript.to_dict() | made_by) + "\n"


@contextmanager
def write_jsonl(target: Target) -> Iterator[AddTranscripts]:
    """A line for each transcript."""
    with atomic_text(target.path) as file:
        yield lambda transcripts: file.writelines(json_line(each, target.about) for each in transcripts)


@contextmanager
def write_json(target: Target) -> Iterator[AddTranscripts]:
    """One document: what is known about the recording, its text, and its segments as `Transcript.to_dict` has them.

    `utt` is left out where the segments are of several recordings; each segment has its own anyway.
    """
    segments: list[UtteranceWords] = []
    with atomic_text(target.path) as file:
        yield segments.extend
        records = [_segment(segment) for segment in segments]
        head = {**target.about, **_summary(segments, records)}
        if target.left_out is not None:
            head["left_out"] = [stretch.to_dict() for stretch in target.left_out]
        file.write("{\n" + "".join(f" {json_text(str(name))}: {json_text(value)},\n" for name, value in head.items()))
        lines = ",\n".join(f"  {json_text(record)}" for record in records)
        file.write(' "segments": [' + (f"\n{lines}\n " if lines else "") + "]\n}\n")


def _summary(segments: list[UtteranceWords], records: list[dict[str, Any]]) -> dict[str, Any]:
    names = {segment.utt for segment in segments}
    return {
        "wordtrust": __version__,
        **({"utt": segments[0].utt} if len(names) == 1 else {}),
        "text": "\n".join(segment.text for segment in segments if segment.words),
        "confidence": (mean := rounded_mean([word["confidence"] for record in records for word in record["words"]])),
        MEAN: mean,
    }


def _segment(transcript: UtteranceWords) -> dict[str, Any]:
    """A line of .jsonl, with the times of the first and of the last word where there are words."""
    record = transcript.to_dict()
    if not transcript.words:
        return record
    times = {"start": round(transcript.words[0].start, 3), "end": round(transcript.words[-1].end, 3)}
    return {"utt": record.pop("utt"), **times, **record}
