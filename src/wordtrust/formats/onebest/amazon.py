"""Amazon Transcribe: the JSON of a finished job (`results.items[]`), of Call Analytics, and of streams.

- A job: items are words (`pronunciation`, with times) and punctuation, which joins the word before it. Each channel
  is an utterance of its own when items carry several: NAME-ch_0, NAME-ch_1. Alternative transcriptions
  (`results.segments`, with ShowAlternatives) are used where their first ones are what the items say.
- Call Analytics: turns (`Transcript[].Items[]`, times in milliseconds). Each participant is an utterance of its own:
  NAME-AGENT, NAME-CUSTOMER.
- Events of a stream, one after the other (`Transcript.Results[].Alternatives[].Items[]`, or `UtteranceEvent` of
  real-time Call Analytics): partial results are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .json_documents import JsonKeys, JsonObject
from .lattices import by_channel, channel, checked_confidence, flattened, json_format, speaker
from .recognized import RecognizedPhrase, RecognizedTranscript, RecognizedWord

_CALL = {"JobStatus", "Participants", "ContentMetadata", "ConversationCharacteristics", "Categories"}
_EVENTS = ("TranscriptEvent", "UtteranceEvent", "Transcript")
_MILLISECONDS = "BeginOffsetMillis", "EndOffsetMillis"
_SECONDS = ("start_time", "StartTime"), ("end_time", "EndTime")


def _likelihood(keys: JsonKeys) -> float:
    """How surely this is the result of a job of Amazon Transcribe, by its keys."""
    if "Transcript" in keys.anywhere and (len(keys.top & _CALL) > 1 or keys.has("Items", "BeginOffsetMillis")):
        return 1.0
    if keys.top & {"TranscriptEvent", "UtteranceEvent", "Transcript"} and keys.has("Items", "Content"):
        return 1.0
    if not keys.has("results"):
        return 0.0
    if keys.has("items", "alternatives", "content") or keys.has("jobName", "transcripts"):
        return 1.0
    return 0.6 if keys.has("transcripts", "transcript") else 0.0


def _as_one(documents: list[Any]) -> list[Any]:
    """The events of a stream are one recording."""
    events = list(flattened(documents))
    are_events = all(isinstance(event, dict) and not _is_job(event) for event in events)
    return [events] if are_events and any(event.keys() & {*_EVENTS, "Results"} for event in events) else documents


def _is_job(document: dict[str, Any]) -> bool:
    return "results" in document or isinstance(document.get("Transcript"), list)


def _transcripts(document: Any, utt: str) -> Iterator[RecognizedTranscript]:
    if isinstance(document, list):
        return by_channel(utt, _event_phrases([JsonObject.of(event, "the event") for event in document]))
    job = JsonObject.of(document, "the job")
    if isinstance(job.get("Transcript"), list):
        return by_channel(utt, _turns(job.children("Transcript")))
    results = job.child("results")
    chosen = _by_channel(_with_speakers(results))
    branched = _alternatives(results, chosen) if results.get("segments") else {}
    return by_channel(utt, {name: branched.get(name) or [RecognizedPhrase(words)] for name, words in chosen.items()})


def _with_speakers(results: JsonObject) -> list[JsonObject]:
    """The items of a job; older jobs have the speakers beside them, by the start of each word."""
    items = results.children("items")
    if results.get("speaker_labels") is None:
        return items
    turns = results.child("speaker_labels").optional_children("segments")
    named = {item.get("start_time"): _speaker(item) for turn in turns for item in turn.optional_children("items")}
    return [
        JsonObject({"speaker_label": named.get(item.get("start_time")), **item.fields}, item.path) for item in items
    ]


def _by_channel(items: Sequence[JsonObject]) -> dict[str, list[RecognizedWord]]:
    """The words of a job, by channel."""
    channels: dict[str, list[RecognizedWord]] = {}
    for item in items:
        words = channels.setdefault(channel(item, "channel_label"), [])
        alternatives = item.children("alternatives")
        if alternatives:
            _add(words, item, alternatives[0])
    return channels


def _alternatives(
    results: JsonObject, chosen: Mapping[str, Sequence[RecognizedWord]]
) -> dict[str, list[RecognizedPhrase]]:
    """The segments of every channel with their alternatives, where the first of these say what the items say."""
    channels: dict[str, list[RecognizedPhrase]] = {}
    for segment in results.children("segments"):
        hypotheses = [_words(one.children("items")) for one in segment.children("alternatives") if one.get("items")]
        if hypotheses:
            others = [RecognizedPhrase(words) for words in hypotheses[1:]]
            phrases = channels.setdefault(channel(segment, "channel_label"), [])
            phrases.append(RecognizedPhrase(hypotheses[0], alternatives=others))
    return {
        name: phrases
        for name, phrases in channels.items()
        if [word.text for phrase in phrases for word in phrase.words] == [word.text for word in chosen.get(name, ())]
    }


def _turns(turns: Sequence[JsonObject]) -> dict[str, list[RecognizedPhrase]]:
    """The turns of a call, by participant."""
    channels: dict[str, list[RecognizedPhrase]] = {}
    for turn in turns:
        phrases = channels.setdefault(channel(turn, "ParticipantRole"), [])
        phrases.append(RecognizedPhrase(_words(turn.optional_children("Items"))))
    return channels


def _event_phrases(events: Sequence[JsonObject]) -> dict[str, list[RecognizedPhrase]]:
    """What the events of a stream say at last, by channel or participant."""
    channels: dict[str, list[RecognizedPhrase]] = {}
    for event in events:
        name = event.name_of(*_EVENTS)
        content = event.child(name) if event.get(*_EVENTS) is not None else event
        if name == "UtteranceEvent":
            if not content.get("IsPartial"):
                phrases = channels.setdefault(channel(content, "ParticipantRole"), [])
                phrases.append(RecognizedPhrase(_words(content.optional_children("Items"))))
            continue
        content = content.child("Transcript") if content.get("Transcript") is not None else content
        for result in content.optional_children("Results"):
            if not result.get("IsPartial"):
                channels.setdefault(channel(result, "ChannelId"), []).append(_result(result))
    return channels


def _result(result: JsonObject) -> RecognizedPhrase:
    hypotheses = [_words(one.optional_children("Items")) for one in result.optional_children("Alternatives")] or [[]]
    return RecognizedPhrase(hypotheses[0], alternatives=[RecognizedPhrase(words) for words in hypotheses[1:]])


def _words(items: Sequence[JsonObject]) -> list[RecognizedWord]:
    """The words of items that have their content themselves."""
    words: list[RecognizedWord] = []
    for item in items:
        _add(words, item, item)
    return words


def _add(words: list[RecognizedWord], item: JsonObject, content: JsonObject) -> None:
    """Add a word, or punctuation to the word before it."""
    text = content.string("content", "Content")
    if item.get("type", "Type") != "punctuation":
        words.append(RecognizedWord(text, *_times(item), _confidence(content), speaker=_speaker(item)))
    elif words:
        words[-1] = words[-1]._replace(text=words[-1].text + text)


def _speaker(item: JsonObject) -> str | None:
    return speaker(item, "speaker_label", "Speaker")


def _times(item: JsonObject) -> tuple[float, float]:
    if item.get(_MILLISECONDS[0]) is not None:
        return item.number(_MILLISECONDS[0]) / 1000, item.number(_MILLISECONDS[1]) / 1000
    return item.spelled_number(*_SECONDS[0]), item.spelled_number(*_SECONDS[1])


def _confidence(content: JsonObject) -> float | None:
    names = "confidence", "Confidence"
    if content.get(*names) is None:
        return None
    return checked_confidence(content.spelled_number(*names), content.path_to(content.name_of(*names)))


FORMAT = json_format("amazon", "Amazon Transcribe JSON", _likelihood, _transcripts, group=_as_one)
