"""Speech recognizers, one module an engine, each behind an extra; importing this loads none of them."""

from __future__ import annotations

from ..audio import RATE, Samples
from .base import Identity, Recognizer, Record
from .registry import Entry, entries, find, loader

__all__ = ["RATE", "Entry", "Identity", "Recognizer", "Record", "Samples", "entries", "find", "loader"]
