"""Speech recognizers, one module or folder per engine, each behind an extra; importing this loads none of them."""

from __future__ import annotations

from .base import NOTHING, ForcedScorer, ForcedScores, NBestRecord, Recognizer, RecognizerIdentity
from .registry import RecognizerEntry, entries, find, loader

__all__ = [
    "NOTHING",
    "ForcedScorer",
    "ForcedScores",
    "NBestRecord",
    "Recognizer",
    "RecognizerEntry",
    "RecognizerIdentity",
    "entries",
    "find",
    "loader",
]
