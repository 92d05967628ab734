"""Subtitles: WebVTT, with a class for each word, and SubRip (.srt), with doubtful words in colour.

Both are cut into the same cues, short enough to be read while they are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil

from ..base.errors import OptionError
from ..base.files import atomic_text
from ..base.visible_text import visible
from .target import AddTranscripts, Target
from .utterance import UtteranceWords
from .words import Level, Word, shown_level, spelled

SpelledWord = tuple[Word, str, str]  # a word, its spelling, the space after it

_CUE_WORDS, _CUE_SECONDS, _PAUSE = 7, 5.0, 1.0
_COLOURS: dict[Level, str] = {"low": "#ff8a80", "medium": "#ffe082", "high": "#ffffff"}
_VTT_HEAD = f"""\
WEBVTT

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


@dataclass(frozen=True, slots=True)
class Cue:
    """The words that are shown at once."""

    start: int  # milliseconds
    end: int
    words: tuple[SpelledWord, ...]


def cues(words: Sequence[Word]) -> Iterator[Cue]:
    """Cues of about the same number of words; a joined token such as `Middle-earth` is never cut."""
    for run in _runs(words):
        pieces = ceil(len(run) / _CUE_WORDS)
        most = ceil(len(run) / pieces)
        cue: list[SpelledWord] = []
        for entry in run:
            too_long = cue and (len(cue) >= most or entry[0].end - cue[0][0].start > _CUE_SECONDS)
            if too_long and cue[-1][2]:
                yield _timed(cue)
                cue = []
            cue.append(entry)
        yield _timed(cue)


def _runs(words: Sequence[Word]) -> Iterator[list[SpelledWord]]:
    """Words between pauses, each with its spelling and the space after it."""
    run: list[SpelledWord] = []
    for word, (written, space) in zip(words, spelled(words), strict=True):
        if run and run[-1][2] and word.start - run[-1][0].end > _PAUSE:
            yield run
            run = []
        run.append((word, written, space))
    if run:
        yield run


def _timed(words: Sequence[SpelledWord]) -> Cue:
    start = _milliseconds(words[0][0].start)
    end = max(start + 1, *(_milliseconds(word.end) for word, _, _ in words))  # a cue has a length
    return Cue(start, end, tuple(words))


def _milliseconds(seconds: float) -> int:
    return max(0, round(seconds * 1000))


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
    named: str | None = None

    def add(transcripts: Sequence[UtteranceWords]) -> None:
        nonlocal named
        for transcript in transcripts:
            if not target.recordings or transcript.utt != named:
                file.write(f"NOTE {_vtt_text(transcript.utt) or '-'}\n\n")
                named = transcript.utt
            file.writelines(f"NOTE {_vtt_text(warning.told)}\n\n" for warning in transcript.warnings)
            voice = f"<v {_voice(transcript.speaker)}>" if transcript.speaker else ""
            file.writelines(_vtt_block(cue, voice) for cue in cues(transcript.words))

    with atomic_text(target.path) as file:
        file.write(_VTT_HEAD)
        yield add


def _voice(speaker: str) -> str:
    """The name of a speaker in a tag, which ends with a `>` and may not be empty."""
    return _vtt_text(speaker).replace("&gt;", "\u203a") or "-"


def _vtt_block(cue: Cue, voice: str) -> str:
    spans = (f"<c.{shown_level(word)}>{_vtt_text(written)}</c>{space}" for word, written, space in cue.words)
    return f"{_times(cue, '.')}\n{voice}{''.join(spans).rstrip()}\n\n"


def _vtt_text(text: str) -> str:
    return _line(text).translate(_VTT_ESCAPES)


@contextmanager
def write_srt(target: Target) -> Iterator[AddTranscripts]:
    """SubRip. It has no comments that could name a second recording, so a file holds one only."""
    count, named = 0, None

    def add(transcripts: Sequence[UtteranceWords]) -> None:
        nonlocal count, named
        for transcript in transcripts:
            if named not in (None, transcript.utt):
                raise OptionError(
                    f"{target.path}: subtitles belong to one recording, and {visible(transcript.utt)!r} comes after "
                    f"{visible(named or '')!r}. Write a file for each (`score --out "
                    "'{name}.srt'`), or .vtt, which names them"
                )
            named = transcript.utt
            speaker = _line(transcript.speaker or "").translate(_SRT_ESCAPES)
            for position, cue in enumerate(cues(transcript.words)):
                if text := _srt_text(cue):  # an empty line would end the cue
                    count += 1
                    label = f"{speaker}: " if speaker and not position else ""
                    file.write(f"{count}\n{_times(cue, ',')}\n{label}{text}\n\n")

    with atomic_text(target.path) as file:
        yield add


def _srt_text(cue: Cue) -> str:
    return "".join(_srt_word(word, written) + space for word, written, space in cue.words).strip()


def _srt_word(word: Word, written: str) -> str:
    text = _line(written).translate(_SRT_ESCAPES)
    before, after = _SRT_MARKS[shown_level(word)]
    return before + text + after if text else ""
