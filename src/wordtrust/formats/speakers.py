"""Who spoke: Kaldi's utt2spk (`utterance speaker` on each line), or a table with the columns utt and speaker."""

from __future__ import annotations

from pathlib import Path

from ..base.errors import InputError
from .inputs import streams

_REMEDY = "Give an utterance and its speaker on each line (utt2spk), or a table with the columns utt and speaker"


def read_speakers(path: str | Path) -> dict[str, str]:
    """The speaker of each utterance or recording; anything else is an `InputError`."""
    speakers: dict[str, str] = {}
    for stream in streams([Path(path)]):
        columns: tuple[int, int] | None = None
        for number, raw in stream.lines():
            line = raw.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n")
            names = [name.strip().lower() for name in line.split("\t")]
            if number == 1 and {"utt", "speaker"} <= set(names):
                columns = names.index("utt"), names.index("speaker")
            elif line.strip():
                fields = line.split("\t") if columns else line.split(maxsplit=1)
                if len(fields) <= max(columns or (0, 1)):
                    raise InputError("no speaker", file=stream.name, place=f"line {number}", remedy=_REMEDY)
                utt, speaker = (fields[index].strip() for index in columns or (0, 1))
                if speakers.setdefault(utt, speaker or utt) != (speaker or utt):
                    found = f"{utt} has two speakers, {speakers[utt]} and {speaker}"
                    raise InputError(found, file=stream.name, place=f"line {number}", remedy=_REMEDY)
    return speakers
