"""Manifests of the utterances that are sure enough to train on, or that are best labelled first.

Manifests are JSON lines, packed (.gz) or not, of two kinds: NeMo's (`audio_filepath`, `duration`, `text`) and
lhotse's cuts and supervisions (`id`, `start`, `duration`, `supervisions`). Every line that is chosen is written as it
was, with what it did not have: the estimate of its word error rate, and the words of the output (`pred_text`). Of
lhotse's, that goes into `custom`, where lhotse keeps what it does not know. What is sure enough to train on gets the
words as its `text` too, where it had none; what is to be labelled does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..base import json_checks as check
from ..base.errors import InputError, OptionError
from ..base.files import atomic_text
from ..confidence.estimate import Estimate, Estimates
from ..formats.inputs import streams
from .manifest import entry_of

_REMEDY = "A manifest to select from has a line of JSON for each utterance: NeMo's, or lhotse's cuts or supervisions"


@dataclass(frozen=True, slots=True)
class SelectedUtterance:
    """An utterance that was chosen."""

    utt: str
    text: str
    duration: float  # seconds; of the words, where no manifest says more
    estimate: Estimate
    line: Mapping[str, Any] | None = None  # of the manifest
    label: str = ""  # the text, where it is sure enough to train on

    @property
    def errors_per_minute(self) -> float:
        """Expected errors for each minute of listening."""
        errors = self.estimate.substitutions + self.estimate.insertions + self.estimate.deletions
        return 60 * errors / max(self.duration, 1e-3)

    def to_dict(self) -> dict[str, Any]:
        """A line of the manifest that is written."""
        known: dict[str, Any] = {"wer_estimate": round(self.estimate.wer, 6), "pred_text": self.text}
        if self.estimate.interval is not None:
            known["wer_interval"] = [round(end, 6) for end in self.estimate.interval]
        if self.line is None:
            about = {"utt": self.utt, "duration": round(self.duration, 3)}
            return {**about, **_text(self.label), **known}
        completed = _lhotse_line if _is_lhotse(self.line) else _line
        return completed(self.line, self.label, known)


def read_lines(manifest: Path) -> dict[str, dict[str, Any]]:
    """The lines of a manifest by the name of their utterance; anything bad is an `InputError`."""
    lines: dict[str, dict[str, Any]] = {}
    for stream in streams([manifest]):
        for number, raw in stream.lines():
            if not raw.strip():
                continue
            try:
                line = check.record(check.parse(raw), "the line")
                name = _name(line, manifest.parent)
            except InputError as error:
                raise InputError(
                    error.found, file=stream.name, place=f"line {number}", remedy=error.remedy or _REMEDY
                ) from None
            if name in lines:
                found = "two lines have this name"
                raise InputError(found, file=stream.name, utt=name, place=f"line {number}", remedy=_REMEDY)
            lines[name] = line
    if not lines:
        raise InputError("there are no utterances in it", file=str(manifest), remedy=_REMEDY)
    return lines


def candidates(estimates: Estimates, lines: Mapping[str, Mapping[str, Any]] | None = None) -> list[SelectedUtterance]:
    """All utterances, those of the same name together; of a manifest, those that there are outputs of."""
    texts: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    for spoken in estimates.spoken:
        texts.setdefault(spoken.utt, []).append(spoken.text)
        seconds[spoken.utt] = seconds.get(spoken.utt, 0.0) + spoken.duration
    found = [
        SelectedUtterance(
            each.name, " ".join(filter(None, texts[each.name])),
            _duration(lines[each.name], seconds[each.name]) if lines else seconds[each.name],
            each, lines[each.name] if lines else None,
        )
        for each in estimates.recordings
        if lines is None or each.name in lines
    ]  # fmt: skip
    if not found:
        raise OptionError("no utterance of the manifest is among the outputs: do their names differ?")
    return found


def under(utterances: Iterable[SelectedUtterance], wer: float) -> list[SelectedUtterance]:
    """Those that have words and whose estimated word error rate is at most this, in their order."""
    return [replace(each, label=each.text) for each in utterances if each.text and each.estimate.wer <= wer]


def to_label(utterances: Iterable[SelectedUtterance], minutes: float) -> list[SelectedUtterance]:
    """Those with the most expected errors for each minute that fit into so many minutes, the worst first."""
    chosen, left = list[SelectedUtterance](), 60 * minutes
    for each in sorted(utterances, key=lambda each: (-each.errors_per_minute, each.utt)):
        if 0 < each.duration <= left:
            chosen.append(each)
            left -= each.duration
    return chosen


def write_selection(path: Path, chosen: Sequence[SelectedUtterance]) -> None:
    """Write a manifest of them, whole or not at all."""
    with atomic_text(path) as file:
        file.writelines(json.dumps(each.to_dict(), ensure_ascii=False) + "\n" for each in chosen)


def _is_lhotse(line: Mapping[str, Any]) -> bool:
    return "supervisions" in line or "recording_id" in line


def _name(line: Mapping[str, Any], folder: Path) -> str:
    if _is_lhotse(line):
        return check.string(line, "id")
    return entry_of(line, folder).utt


def _duration(line: Mapping[str, Any], known: float) -> float:
    duration = check.number_or_none(line, "duration")
    return known if duration is None or duration <= 0 else duration


def _text(label: str) -> dict[str, str]:
    return {"text": label} if label else {}


def _line(line: Mapping[str, Any], label: str, known: Mapping[str, Any]) -> dict[str, Any]:
    return {**line, **({} if line.get("text") else _text(label)), **known}


def _lhotse_line(line: Mapping[str, Any], label: str, known: Mapping[str, Any]) -> dict[str, Any]:
    custom = line.get("custom")
    made = {**line, "custom": {**(custom if isinstance(custom, Mapping) else {}), **known}}
    supervisions = line.get("supervisions")
    if supervisions is None:
        return made if line.get("text") else {**made, **_text(label)}
    listed = supervisions if isinstance(supervisions, list) else []
    if not listed and label:  # a cut of which nobody has said anything yet
        made["supervisions"] = [_supervision(line, label)]
    if len(listed) == 1 and isinstance(listed[0], Mapping) and not listed[0].get("text"):
        made["supervisions"] = [{**listed[0], **_text(label)}]
    return made


def _supervision(cut: Mapping[str, Any], label: str) -> dict[str, Any]:
    """What was said in all of a cut; times count from its beginning."""
    recording = cut.get("recording")
    recorded = recording.get("id") if isinstance(recording, Mapping) else None
    known = {name: cut.get(name) for name in ("duration", "channel")}
    return {"id": cut["id"], "recording_id": recorded or cut["id"], "start": 0.0, **known, "text": label}
