"""Transcripts: words with times, confidences and alternatives.

    transcript = scorer(lattice)
    transcript.text, transcript.words[0].confidence, transcript.to_dict()

A `Transcript` shows itself in a notebook, coloured by confidence; `wordtrust.transcripts.writer` writes files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_offsets, csr_rows
from ..base.errors import OptionError
from ..formats import ctm
from ..lattices.lattice import Lattices, Offsets
from ..lattices.paths import Paths
from ..lattices.text import JOINER, join_surfaces, visible
from ..lattices.weights import Reals
from ..networks.word_confidence import word_confidence
from .alternatives import find_alternatives
from .notebook import words_html
from .terminal import words_text
from .words import Alternative, Word, spelled

if TYPE_CHECKING:
    from rich.text import Text

ALTERNATIVES = 5
_ROUNDING = 1e-6  # a float32 confidence may be that much over 1


@dataclass(frozen=True, slots=True, repr=False)
class Transcript:
    """The words of one utterance."""

    utt: str
    words: tuple[Word, ...]

    @property
    def text(self) -> str:
        """What was said, with the recognizer's own spelling."""
        return join_surfaces(word.word + JOINER if word.joins_next else word.word for word in self.words)

    @property
    def confidence(self) -> float | None:
        """The mean confidence of the words; None if there are none."""
        return sum(word.confidence for word in self.words) / len(self.words) if self.words else None

    def to_dict(self) -> dict[str, Any]:
        """A line of the .jsonl output. Times are rounded to milliseconds, confidences to six decimals."""
        confidence = self.confidence
        return {
            "utt": self.utt,
            "text": self.text,
            "confidence": None if confidence is None else round(confidence, 6),
            "words": [_word_dict(word) for word in self.words],
        }

    def to_ctm(self, channel: str = "1") -> str:
        """NIST CTM: a line `utt channel start duration word confidence` for each word.

        White space in names and words becomes `_`, a control character U+FFFD. What CTM gives a meaning of its own
        (`;;`, `<ALT>`) is written as the normalised word. An utterance without words is a comment.
        """
        if channel.split() != [channel]:
            raise OptionError(f"the channel is {channel!r}, not one word like 1 or A")
        name = ctm.name_field(self.utt)
        words = [
            ctm.word_field(written, word.norm)
            for word, (written, _) in zip(self.words, spelled(self.words), strict=True)
        ]
        start, end = [word.start for word in self.words], [word.end for word in self.words]
        return ctm.ctm_text(name, channel, words, start, end, (word.confidence for word in self.words))

    def to_rich(self) -> Text:
        """For the terminal: words under 0.9 in brackets, those under 0.5 with a question mark in front."""
        return words_text(self.words)

    def _repr_html_(self) -> str:
        return words_html(self._summary(), self.words)

    def __repr__(self) -> str:
        return f"<Transcript {self._summary()}\n  {self.to_rich().plain or '(no words)'}>"

    def _summary(self) -> str:
        count, confidence = len(self.words), self.confidence
        mean = "" if confidence is None else f", confidence {confidence:.2f}"
        return f"{visible(self.utt)}: {count} {'word' if count == 1 else 'words'}{mean}"


def _word_dict(word: Word) -> dict[str, Any]:
    return {
        "word": word.word,
        "norm": word.norm,
        "start": round(word.start, 3),
        "end": round(word.end, 3),
        "confidence": round(word.confidence, 6),
        "alternatives": [
            {"word": other.word, "confidence": round(other.confidence, 6)} for other in word.alternatives
        ],
    }  # fmt: skip


def transcripts(
    networks: Lattices,
    confidence: NDArray[np.floating],
    paths: Paths,
    *,
    alternatives: int = ALTERNATIVES,
    show: Callable[[Reals], Reals] | None = None,
) -> list[Transcript]:
    """The words of each path, with the confidence that is shown for them and up to `alternatives` other words.

    `confidence` has one number from 0 to 1 for every arc that says a word. `wordtrust.transcripts.alternatives`
    defines what counts as an alternative, and its confidence. Silence is left out of both. `show` (a calibrator)
    turns confidences into those that are shown.
    """
    checked = _checked(networks, confidence, alternatives)
    shown = word_confidence(networks, checked, paths)
    arcs = paths.arcs_in(networks)
    is_word = networks.word[arcs] > 0
    offsets = csr_offsets(is_word)[paths.offsets]
    words = _words(networks, checked, offsets, arcs[is_word], shown[is_word], alternatives, show)
    return [
        Transcript(utt, words[first:last])
        for utt, (first, last) in zip(networks.utts, pairwise(offsets.tolist()), strict=True)
    ]


def _checked(networks: Lattices, confidence: NDArray[np.floating], alternatives: int) -> Reals:
    if alternatives < 0:
        raise OptionError(f"the number of alternatives is {alternatives}, not 0 or more")
    if confidence.shape != networks.word.shape:
        raise ValueError(f"{networks.word.shape[0]} arcs, but confidences of the shape {confidence.shape}")
    checked = np.where(networks.word > 0, confidence, 0.0)
    if not ((checked >= 0) & (checked <= 1 + _ROUNDING)).all():
        raise OptionError("a confidence is not a number from 0 to 1; logits have to be turned into probabilities")
    return checked


def _words(
    networks: Lattices, confidence: Reals, offsets: Offsets, arcs: Offsets, shown: Reals, most: int,
    show: Callable[[Reals], Reals] | None,
) -> tuple[Word, ...]:  # fmt: skip
    """The words of all paths end to end."""
    start, end = networks.start_time, networks.end_time
    others = find_alternatives(networks, start, end, confidence, offsets, arcs, most)
    spellings, _, norms = _spellings(networks, others.arcs)
    texts = [spelling or norm for spelling, norm in zip(spellings, norms, strict=True)]
    others_shown, order = others.confidence, np.arange(len(texts))
    if show is not None:
        shown = show(shown)
        others_shown, order = _scaled_beside(show(others_shown), shown, others.offsets)
    listed = tuple(map(Alternative, [texts[index] for index in order.tolist()], others_shown.tolist()))
    alternatives = [listed[first:last] for first, last in pairwise(others.offsets.tolist())]
    spellings, joins, norms = _spellings(networks, arcs)
    times = start[arcs].tolist(), end[arcs].tolist()
    return tuple(map(Word, spellings, norms, *times, shown.tolist(), alternatives, joins))


def _scaled_beside(others: Reals, words: Reals, offsets: Offsets) -> tuple[Reals, Offsets]:
    """Alternatives of each word, scaled so that with it they sum to 1 at most, and their order by confidence.

    Each was calibrated on its own, which does not keep the sum.
    """
    word = csr_rows(offsets)
    total = np.bincount(word, others, minlength=len(words))
    room = np.minimum(1.0, np.maximum(0.0, 1.0 - words) / np.maximum(total, 1e-12))
    scaled = others * room[word]
    order = np.lexsort((-scaled, word))
    return scaled[order], order


def _spellings(networks: Lattices, arcs: Offsets) -> tuple[list[str], list[bool], tuple[str, ...]]:
    """What people read on each arc, whether it joins the next one, and the normalised word."""
    surface, strings = networks.surface[arcs].tolist(), networks.vocabulary.strings
    spellings = {surface_id: spelling(strings[surface_id]) for surface_id in set(surface)}
    norms = networks.vocabulary.lookup(networks.word[arcs].tolist())
    return [spellings[each][0] for each in surface], [spellings[each][1] for each in surface], norms


def spelling(surface: str) -> tuple[str, bool]:
    """What people read of a surface form, and whether it joins the next one. White space is one space at most."""
    joins = surface.endswith(JOINER) and not surface[-2:-1].isspace()
    return " ".join(surface.replace(JOINER, "").split()), joins
