"""Checking a transcript with listeners: which of its words are wrong, and where words are missing.

1. `listener`: the transcript and what listeners heard, as members of joint networks.
2. `pair_evidence`: what one listener says of each word, and of each gap between words.
3. `columns`: the same of all listeners, as two tables that trees see.
4. `model`: the verdict, calibrated; `gathered` is for transcripts that come in parts, `coverage` for listeners that
   heard a part, `heard_instead` for what listeners wrote there.

    model = CheckModel.load()                                   # the shipped one
    checked = model.judge(transcript, [Listener("moonshine-tiny", networks, confidence, output)])
    checked.confidence, checked.missing_before
"""

from __future__ import annotations

from .checked_words import CheckedWords
from .gathered import Gathered, gather, joined
from .listener import ForcedWords, Listener
from .model import CheckModel

__all__ = ["CheckModel", "CheckedWords", "ForcedWords", "Gathered", "Listener", "gather", "joined"]
