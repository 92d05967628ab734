"""Amazon Transcribe: the JSON of a finished job, `results.items[]`.

Items are words (`pronunciation`, with times) and punctuation, which joins the word before it. The first alternative
of an item counts. Each channel is an utterance of its own when items carry several: NAME-ch_0, NAME-ch_1.
`results.segments` (whole alternative texts) is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base.errors import InputError
from ..base.json_checks import number, number_in, object_of, objects_of, record, string
from .json_documents import JsonKeys
from .onebest import (
    RecognizedPhrase,
    RecognizedTranscript,
    RecognizedWord,
    by_channel,
    channel,
    checked_confidence,
    json_format,
)


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is the result of a job of Amazon Transcribe, by its keys."""
    if not keys.has("results"):
        return 0.0
    if keys.has("items", "alternatives", "content") or keys.has("jobName", "transcripts"):
        return 1.0
    return 0.6 if keys.has("transcripts", "transcript") else 0.0


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    results = object_of(record(document, "the job"), "results")
    channels: dict[str, list[RecognizedWord]] = {}
    for index, item in enumerate(objects_of(results, "items", "results")):
        where = f"results.items[{index}]"
        words = channels.setdefault(channel(item, "channel_label", where), [])
        alternatives = objects_of(item, "alternatives", where)
        if not alternatives:
            continue
        if item.get("type") == "punctuation":
            if words:
                mark = string(alternatives[0], "content", f"{where}.alternatives[0]")
                words[-1] = words[-1]._replace(text=words[-1].text + mark)
        else:
            words.append(_word(item, alternatives[0], where))
    return by_channel(utt, {name: [RecognizedPhrase(words)] for name, words in channels.items()})


def _word(item: dict[str, Any], alternative: dict[str, Any], where: str) -> RecognizedWord:
    inside = f"{where}.alternatives[0]"
    confidence = None if alternative.get("confidence") is None else _number(alternative, "confidence", inside)
    return RecognizedWord(
        string(alternative, "content", inside),
        _number(item, "start_time", where),
        _number(item, "end_time", where),
        None if confidence is None else checked_confidence(confidence, f"{inside}.confidence"),
    )


def _number(holder: dict[str, Any], name: str, where: str) -> float:
    """A number, or a string that spells one, which is how Amazon writes them."""
    value = holder.get(name)
    try:
        return number_in(value, name) if isinstance(value, str) else number(holder, name, where)
    except InputError as error:
        raise error.at(place=where) from None


FORMAT = json_format("amazon", "Amazon Transcribe JSON", _likelihood, _transcripts)
