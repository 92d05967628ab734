"""What is said of the words of a transcript."""

from __future__ import annotations

from typing import NamedTuple

from ...lattices.lattice import Floats, Offsets
from ...lattices.weights import Reals
from ...transcripts.words import Alternative


class CheckedWords(NamedTuple):
    """The verdict on the words of a transcript, utterances end to end."""

    offsets: Offsets  # [utterances + 1]
    confidence: Reals  # [words] how likely each word is right
    missing_before: Reals  # [words] how likely words are missing before it
    missing_end: Reals  # [utterances] and after the last one
    alternatives: list[tuple[Alternative, ...]]  # [words] what listeners heard instead; "": nothing
    made_up: list[str]  # [words] "silence": nothing was heard there, "loop": said again and again, else ""
    heard: Floats  # [words] the share of listeners whose output has the word
    if_recognizer: Reals  # [words] how likely each word is right if a recognizer wrote the transcript
    misheard: float  # share of the words that the best listener expects to have wrong itself
