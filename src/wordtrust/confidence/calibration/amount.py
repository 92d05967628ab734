"""How many words a calibration needs: with a handful, it would say more about chance than about the recognizer."""

from __future__ import annotations

from ...base.errors import InputError
from ...base.number_format import counted

LEAST_WORDS = 50  # fewer are refused
FEW_WORDS, FEW_SPEAKERS = 1_000, 5  # fewer are enough for a rough idea only


def require_enough_words(words: int, speakers: int) -> None:
    """Refuse to fit a calibration on a handful of words."""
    if words < LEAST_WORDS:
        raise InputError(
            f"{_amount(words, speakers)}: too few to calibrate on",
            remedy=f"{LEAST_WORDS} words are the least; {FEW_WORDS:,} of {FEW_SPEAKERS} speakers give confidences "
            "that hold for others",
        )


def few_words_warning(words: int, speakers: int) -> str | None:
    """What to say of a calibration that was fitted on few words or speakers."""
    if words >= FEW_WORDS and speakers >= FEW_SPEAKERS:
        return None
    return (
        f"calibrated on {_amount(words, speakers)}: confidences will be rough for other speakers; "
        f"{FEW_WORDS:,} words of {FEW_SPEAKERS} speakers or more would be better"
    )


def _amount(words: int, speakers: int) -> str:
    return f"{counted(words, 'word')} of {counted(speakers, 'speaker')}"
