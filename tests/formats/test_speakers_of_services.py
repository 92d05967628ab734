"""Who said what, in the JSON of services."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers.reading import read_bytes
from wordtrust.formats import formats_by_name
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.onebest.recognized import SPEAKER, SPEAKERS

WORDS = [("so", 0.0, 1.0, 1), ("it", 1.0, 2.0, 1), ("is", 2.0, 3.0, 2)]


def _amazon_item(word: str, start: float, end: float) -> dict[str, Any]:
    times = {"start_time": str(start), "end_time": str(end)}
    return {**times, "type": "pronunciation", "alternatives": [{"content": word, "confidence": "0.5"}]}


def _google_words(*, speakers: bool) -> list[dict[str, Any]]:
    return [
        {"word": word, "startTime": f"{start}s", "endTime": f"{end}s", **({"speakerTag": who} if speakers else {})}
        for word, start, end, who in WORDS
    ]


DOCUMENTS: dict[str, tuple[str, Any]] = {
    "deepgram": ("deepgram", {"results": {"channels": [{"alternatives": [{"transcript": "so it is", "words": [
        {"word": word, "start": start, "end": end, "confidence": 0.5, "speaker": who}
        for word, start, end, who in WORDS]}]}]}}),
    "assemblyai": ("assemblyai", {"status": "completed", "text": "so it is", "words": [
        {"text": word, "start": 1000 * start, "end": 1000 * end, "confidence": 0.5, "speaker": str(who)}
        for word, start, end, who in WORDS]}),
    "azure": ("azure", {"recognizedPhrases": [
        {"speaker": who, "offsetInTicks": start * 1e7, "durationInTicks": 1e7,
         "nBest": [{"confidence": 0.5, "display": word}]} for word, start, _, who in WORDS]}),
    "amazon": ("amazon", {"results": {"items": [
        {**_amazon_item(word, start, end), "speaker_label": str(who)} for word, start, end, who in WORDS]}}),
    "amazon beside": ("amazon", {"results": {
        "items": [_amazon_item(word, start, end) for word, start, end, _ in WORDS],
        "speaker_labels": {"segments": [
            {"items": [{"start_time": str(start), "speaker_label": str(who)}]} for _, start, _, who in WORDS]}}}),
    "google": ("google", {"results": [
        {"alternatives": [{"transcript": "so it is", "words": _google_words(speakers=True)}]}]}),
    "google repeats": ("google", {"results": [
        {"alternatives": [{"transcript": "so it is", "words": _google_words(speakers=False)}]},
        {"alternatives": [{"words": _google_words(speakers=True)}]}]}),
    "whisperx": ("whisper", {"segments": [
        {"start": start, "end": end, "text": word, "speaker": str(who),
         "words": [{"word": word, "start": start, "end": end, "score": 0.5}]} for word, start, end, who in WORDS]}),
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_speakers_are_kept_where_words_are_to_be_written_again(name: str) -> None:
    service, document = DOCUMENTS[name]
    (lattice,) = read_bytes(formats_by_name()[service], document, options=ReadOptions(keep_times=True))
    names = json.loads(lattice.notes[SPEAKERS])
    words = [arc for arc in range(lattice.arcs) if lattice.word[arc]]
    said = [(lattice.surfaces[arc], names[int(lattice.extra[SPEAKER][arc])]) for arc in words]
    assert said == [("so", "1"), ("it", "1"), ("is", "2")]
    (plain,) = read_bytes(formats_by_name()[service], document)
    assert SPEAKER not in plain.extra
    assert not plain.notes
