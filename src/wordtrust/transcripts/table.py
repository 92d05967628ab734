"""Words as a table, a row for each: .parquet files and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..base.errors import OptionError
from .utterance import UtteranceWords

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("utt", "index", "word", "norm", "start", "end", "confidence", "alternatives", "joins_next",
           "missing_before", "missing_end", "utterance_confidence", "accepted", "warnings", "speaker",
           "heard", "made_up", "checked", "original", "review_expected", "review_found", "channel")  # fmt: skip


def rows(transcript: UtteranceWords) -> Iterator[tuple[Any, ...]]:
    """The words of an utterance in the order of COLUMNS; `index` counts them from 0."""
    warnings = [warning.to_dict() for warning in transcript.warnings]
    for index, word in enumerate(transcript.words):
        others = [{"word": other.word, "confidence": other.confidence} for other in word.alternatives]
        of_word = word.word, word.norm, word.start, word.end, word.confidence, others, word.joins_next
        original = None if word.original is None else word.original.to_dict()
        checked = word.heard, word.made_up, word.checked, original, *(transcript.review or (None, None))
        beyond = word.missing_before, transcript.missing_end, transcript.correct
        whole = word.accepted, warnings, transcript.speaker
        yield transcript.utt, index, *of_word, *beyond, *whole, *checked, transcript.channel


def data_frame(transcripts: Iterable[UtteranceWords]) -> pd.DataFrame:
    """The words of transcripts as a pandas data frame."""
    try:
        import pandas as pd
    except ImportError:
        raise OptionError(
            "data frames need pandas, not installed here: pip install pandas "
            '(or save a table without it: .save("words.parquet"))'
        ) from None
    return pd.DataFrame([row for each in transcripts for row in rows(each)], columns=[*COLUMNS])
