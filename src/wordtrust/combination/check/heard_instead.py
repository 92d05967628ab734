"""What a listener heard instead of the words of a transcript, as it wrote it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...networks.align import Alignments
from ...transcripts.words import Alternative
from .aligned_output import AlignedOutput

MOST = 5  # alternatives of a word


@dataclass(frozen=True, slots=True)
class HeardInstead:
    """Of the words that a listener did not hear: what it heard there ("": nothing) and how sure it was."""

    words: int  # of the transcript
    text: dict[int, tuple[str, float]]  # by the number of the word

    @classmethod
    def joined(cls, parts: Sequence[HeardInstead]) -> HeardInstead:
        """Those of a transcript from its parts."""
        first, text = 0, dict[int, tuple[str, float]]()
        for part in parts:
            text |= {first + word: heard for word, heard in part.text.items()}
            first += part.words
        return cls(first, text)


def heard_instead(output: AlignedOutput) -> HeardInstead:
    """What the listener wrote in place of each word that it did not hear."""
    offsets, chosen = output.alignments.offsets, output.offsets
    wrong = np.flatnonzero(~output.alignments.correct)
    owner = np.searchsorted(offsets, wrong, side="right") - 1
    heard: dict[int, tuple[str, float]] = {}
    for word, utterance in zip(wrong.tolist(), owner.tolist(), strict=True):
        first, total = int(chosen[utterance]), int(chosen[utterance + 1] - chosen[utterance])
        span = _span(output.alignments, word, int(offsets[utterance]), int(offsets[utterance + 1]), total)
        here = slice(first + span.start, first + span.stop)
        sure = output.confidence[here]
        heard[word] = " ".join(output.spelled[here]), float(sure.mean()) if len(sure) else 1.0
    return HeardInstead(int(offsets[-1]), heard)


def _span(aligned: Alignments, word: int, first: int, last: int, total: int) -> range:
    """The listener's words in its place: all between two that agree if it stands alone there, else its partner."""
    is_first, is_last = word == first, word + 1 == last
    if (is_first or aligned.correct[word - 1]) and (is_last or aligned.correct[word + 1]):
        after = aligned.reference + 1 if aligned.after is None else aligned.after
        begin = 0 if is_first else int(after[word - 1])
        return range(begin, total if is_last else max(begin, int(aligned.reference[word + 1])))
    partner = int(aligned.reference[word])
    return range(partner, partner + 1) if partner >= 0 else range(0)


def alternatives(instead: Sequence[HeardInstead], words: int) -> list[tuple[Alternative, ...]]:
    """[words] what listeners heard instead; the confidence is their mean confidence in it, over all listeners."""
    support: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one in instead:
        for word, (text, sure) in one.text.items():
            support[word][text] += sure / len(instead)
    return [
        tuple(Alternative(text, min(1.0, sure)) for text, sure in sorted(support[word].items(), key=_surest)[:MOST])
        if word in support
        else ()
        for word in range(words)
    ]


def _surest(heard: tuple[str, float]) -> tuple[float, str]:
    return -heard[1], heard[0]
