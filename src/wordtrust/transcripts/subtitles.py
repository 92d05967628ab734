"""Subtitles: WebVTT, with a class for each word, and SubRip (.srt), with doubtful words in colour; or plain.

Both are cut into the same cues (`cues`). Channels of one recording are one file, in the order of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain

from ..base.errors import OptionError
from ..base.files import atomic_text
from ..base.visible_text import visible
from .cues import Cue, SpelledWord, cues, kept_cue, stay_on
from .target import AddTranscripts, Target
from .utterance import UtteranceWords
from .words import Level, Word, shown_level

_COLOURS: dict[Level, str] = {"low": "#ff8a80", "medium": "#ffe082", "high": "#ffffff"}
_VTT_HEAD = "WEBVTT\n\n"
_VTT_STYLE = f"""\
STYLE
::cue(.low) {{ color: {_COLOURS["low"]}; text-decoration: underline; }}
::cue(.medium) {{ color: {_COLOURS["medium"]}; }}
::cue(.high) {{ color: {_COLOURS["high"]}; }}

"""
_VTT_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# SubRip has no way to write these: players take them for tags, for commands in braces or for line ends.
_SRT_ESCAPES = str.maketrans("<>{}\\", "\u2039\u203a()/")
_SRT_MARKS: dict[Level, tuple[str, str]] = {
    "low": (f'<font color="{_COLOURS["low"]}"><u>', "</u></font>"),
    "medium": (f'<font color="{_COLOURS["medium"]}">', "</font>"),
    "high": ("", ""),
}

WriteRecording = Callable[[str, Sequence[UtteranceWords]], None]


class _Recordings:
    """Transcripts as they are added, until all of a recording are there: a cue stays on until the next begins."""

    def __init__(self, target: Target, write: WriteRecording) -> None:
        self._target, self._write = target, write
        self._name, self._waiting = "", list[UtteranceWords]()

    def add(self, transcripts: Sequence[UtteranceWords]) -> None:
        """Write what is complete."""
        for transcript in transcripts:
            name = transcript.recording
            if self._waiting and (name != self._name or not self._target.recordings):
                self.flush()
            self._name = name
            self._waiting.append(transcript)

    def flush(self) -> None:
        """Write the rest."""
        if self._waiting:
            self._write(self._name, self._waiting)
        self._waiting = []


def _cues(transcripts: Sequence[UtteranceWords], labelled: Callable[[str], str]) -> Iterator[Cue]:
    """The cues of a recording, whose channels are mixed; `labelled` is what is written of a voice."""
    made = (_spoken(transcript, labelled(transcript.voice)) for transcript in transcripts)
    shown = (cue for cue in chain.from_iterable(made) if cue.letters)
    has_channels = len({transcript.channel for transcript in transcripts}) > 1
    yield from stay_on(sorted(shown, key=lambda cue: cue.start) if has_channels else shown)


def _spoken(transcript: UtteranceWords, label: str) -> Iterator[Cue]:
    if transcript.shown is not None and transcript.words:
        yield replace(kept_cue(transcript.words, transcript.shown, label), voice=transcript.voice, begins=True)
        return
    for position, cue in enumerate(cues(transcript.words, label)):
        yield replace(cue, voice=transcript.voice, begins=position == 0)


def _timestamp(milliseconds: int, point: str) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{point}{rest:03}"


def _times(cue: Cue, point: str) -> str:
    return f"{_timestamp(cue.start, point)} --> {_timestamp(cue.end, point)}"


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


@contextmanager
def write_vtt(target: Target) -> Iterator[AddTranscripts]:
    """WebVTT. A comment names each utterance, or each recording where its first segment comes; others warn."""

    def write(name: str, transcripts: Sequence[UtteranceWords]) -> None:
        file.write(f"NOTE {_vtt_text(name) or '-'}\n\n")
        warnings = (warning for transcript in transcripts for warning in transcript.warnings)
        file.writelines(f"NOTE {_vtt_text(warning.told)}\n\n" for warning in warnings)
        file.writelines(_vtt_block(cue, target.plain) for cue in _cues(transcripts, lambda _: ""))

    with atomic_text(target.path) as file:
        file.write(_VTT_HEAD + ("" if target.plain else _VTT_STYLE))
        recordings = _Recordings(target, write)
        yield recordings.add
        recordings.flush()


def _vtt_block(cue: Cue, plain: bool) -> str:
    voice = f"<v {_voice(cue.voice)}>" if cue.voice else ""
    lines = "\n".join(_vtt_line(line, plain) for line in cue.lines)
    return f"{_times(cue, '.')}\n{voice}{lines}\n\n"


def _vtt_line(line: Sequence[SpelledWord], plain: bool) -> str:
    spans = (
        (_vtt_text(written) if plain else f"<c.{shown_level(word)}>{_vtt_text(written)}</c>") + space
        for word, written, space in line
    )
    return "".join(spans).rstrip()


def _voice(speaker: str) -> str:
    """The name of a speaker in a tag, which ends with a `>` and may not be empty."""
    return _vtt_text(speaker).replace("&gt;", "\u203a") or "-"


def _vtt_text(text: str) -> str:
    return _line(text).translate(_VTT_ESCAPES)


@contextmanager
def write_srt(target: Target) -> Iterator[AddTranscripts]:
    """SubRip. It has no comments that could name a second recording, so a file holds one only."""
    count, named = 0, None

    def write(_: str, transcripts: Sequence[UtteranceWords]) -> None:
        nonlocal count
        before = ""
        for cue in _cues(transcripts, _srt_label):
            label = _srt_label(cue.voice) if cue.begins or cue.voice != before else ""
            before = cue.voice
            if text := "\n".join(filter(None, (_srt_line(line, target.plain) for line in cue.lines))):
                count += 1
                file.write(f"{count}\n{_times(cue, ',')}\n{label}{text}\n\n")

    def add(transcripts: Sequence[UtteranceWords]) -> None:
        nonlocal named
        for transcript in transcripts:
            name = transcript.recording
            if named not in (None, name):
                raise OptionError(
                    f"{target.path}: subtitles belong to one recording, and {visible(name)!r} comes after "
                    f"{visible(named or '')!r}. Write a file for each (`score --out "
                    "'{name}.srt'`), or .vtt, which names them"
                )
            named = name
        recordings.add(transcripts)

    with atomic_text(target.path) as file:
        recordings = _Recordings(target, write)
        yield add
        recordings.flush()


def _srt_label(voice: str) -> str:
    return f"{shown}: " if (shown := _line(voice).translate(_SRT_ESCAPES)) else ""


def _srt_line(line: Sequence[SpelledWord], plain: bool) -> str:
    return "".join(_srt_word(word, written, plain) + space for word, written, space in line).strip()


def _srt_word(word: Word, written: str, plain: bool) -> str:
    text = _line(written).translate(_SRT_ESCAPES)
    before, after = ("", "") if plain else _SRT_MARKS[shown_level(word)]
    return before + text + after if text else ""
