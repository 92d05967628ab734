"""What the script of the page needs to lead a reviewer: stretches in their order, and the numbers of the promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..utterance import UtteranceWords
from .items import WORDS_PER_GAP, ReviewItems, review_items
from .promise import LIMIT, STRENGTH, SURE, TARGET, WEIGHT
from .stretches import Stretches, find_stretches


def page_plan(segments: Sequence[UtteranceWords]) -> dict[str, Any]:
    """The plan of all of it, for one reviewer."""
    items = review_items(segments, [""] * len(segments))
    return plan_record(items, find_stretches(items))


def plan_record(
    items: ReviewItems, order: Stretches, *, target: float = TARGET, sure: float = SURE
) -> dict[str, Any]:
    """`stretches` are rows [segment, word, segment, word, start, end]: first and last word, and when it is played.

    Segments and words are numbered from 0 on, words in their segment; times are seconds, context included.
    """
    return {
        "target": target,
        "sure": sure,
        "strength": STRENGTH,
        "weight": WEIGHT,
        "limit": LIMIT,
        "words_per_gap": WORDS_PER_GAP,
        "stretches": _rows(items, order),
    }


def _rows(items: ReviewItems, order: Stretches) -> list[list[float]]:
    """Gaps at the ends of a segment go with the word beside them."""
    segment, words = items.segment, np.flatnonzero(~items.is_gap)
    first = words[np.searchsorted(words, order.first)]
    last = words[np.searchsorted(words, order.last, "right") - 1]
    begin = 2 * items.offsets[:-1] + np.arange(len(items.offsets) - 1)
    columns = [column for at in (first, last) for column in (segment[at], (at - begin[segment[at]]) // 2)]
    times = np.round(order.start, 3), np.round(order.end, 3)
    return [list(row) for row in zip(*(each.tolist() for each in (*columns, *times)), strict=True)]
