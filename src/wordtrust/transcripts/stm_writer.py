"""References for training and evaluation (.stm, NIST's segment time marks), of segments that a person has checked.

Segments of which a word is not checked are marked as not to be scored, so that nothing is learned from what nobody
has heard. The page (`page/script/nist.js`) writes the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..base.errors import OptionError
from ..base.files import atomic_text
from ..base.visible_text import visible
from ..formats.ctm import name_field
from .ctm_writer import segment_channel
from .target import AddTranscripts, Target
from .utterance import UtteranceWords

IGNORED = "IGNORE_TIME_SEGMENT_IN_SCORING"
_SIGNS = re.compile(r"[{}()<>\[\];\\*@]")  # that have a meaning of their own in NIST's texts
_FRAGMENT = re.compile(r"^[-%]+|-+$")


@contextmanager
def write_stm(target: Target) -> Iterator[AddTranscripts]:
    """A line for each segment with words. Without one that is checked there is nothing to learn from."""
    segments = checked = 0

    def add(transcripts: Sequence[UtteranceWords]) -> None:
        nonlocal segments, checked
        for segment in transcripts:
            if segment.words:
                segments += 1
                checked += is_checked(segment)
                file.write(_line(segment, *segment_channel(segment, target)))

    with atomic_text(target.path) as file:
        yield add
        if segments and not checked:
            raise OptionError(
                f"{target.path}: no segment is checked, so there are no references. Check words in the page "
                "(wordtrust view), export .json there, and convert that"
            )


def is_checked(segment: UtteranceWords) -> bool:
    """Whether a person has listened to every word."""
    return bool(segment.words) and all(word.checked for word in segment.words)


def _line(segment: UtteranceWords, name: str, channel: str) -> str:
    start = max(0.0, segment.words[0].start)
    end = max(start, *(word.end for word in segment.words))
    text = _nist_text(segment.text) if is_checked(segment) else IGNORED
    shown = f"{name_field(name)} {channel} {name_field(segment.speaker or name)} {start:.3f} {end:.3f} {text}"
    return shown.rstrip() + "\n"


def _nist_text(text: str) -> str:
    """The words without the signs that NIST gives a meaning."""
    tokens = (_FRAGMENT.sub("", _SIGNS.sub("", visible(token))) for token in text.split())
    return " ".join(filter(None, tokens))
