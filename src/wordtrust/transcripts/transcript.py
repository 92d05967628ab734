"""Transcripts: words with times, confidences and alternatives.

    transcript = scorer(lattice)
    transcript.text, transcript.words[0].confidence, transcript.to_dict()
    transcript.save("words.srt")

A `Transcript` shows itself in a notebook, coloured by confidence; `Transcripts` is a list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import csr_offsets, csr_rows
from ..base.errors import OptionError
from ..base.number_format import counted
from ..base.visible_text import visible
from ..lattices.lattice import Lattices, Offsets
from ..lattices.paths import Paths
from ..lattices.text import JOINER
from ..lattices.weights import Reals
from ..networks.word_confidence import word_confidence
from .alternatives import find_alternatives
from .notebook import utterances_html, words_html
from .table import data_frame
from .terminal import words_text
from .utterance import UtteranceWords, mean_confidence
from .warning_summary import WarningSummary
from .words import Alternative, LeftOut, Word, accepting, percent
from .writer import write_transcripts
from .written_times import written_times_of

if TYPE_CHECKING:
    import pandas as pd
    from rich.text import Text

ALTERNATIVES = 5
_FEW, _SHOWN = 5, 100  # transcripts that a list shows of itself, as text and in a notebook
_ROUNDING = 1e-6  # a float32 confidence may be that much over 1


@dataclass(frozen=True, slots=True, repr=False)
class Transcript(UtteranceWords):
    """The words of one utterance."""

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Word: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Word, ...]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Word | tuple[Word, ...]:
        return self.words[index]

    def accepting(self, threshold: float) -> Transcript:
        """The same, each word with whether it has at least this confidence (`accepted`)."""
        return replace(self, words=accepting(self.words, threshold))

    def save(self, path: str | Path, *, plain: bool = False) -> None:
        """Write it in the format that the name ends in: .txt, .srt, .vtt, .html, .json, .jsonl, .ctm, .parquet.

        A file that is there is replaced, when the new one is whole. With `plain`, subtitles mark nothing.
        """
        write_transcripts([self], path, plain=plain)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame with a row for each word. Needs pandas."""
        return data_frame([self])

    def to_rich(self) -> Text:
        """For the terminal: words under 0.9 in brackets, those under 0.5 with a question mark in front."""
        return words_text(self.words, self.missing_end)

    def _repr_html_(self) -> str:
        return words_html(self._summary(), self)

    def __repr__(self) -> str:
        return f"<Transcript {self._summary()}\n  {self.to_rich().plain or '(no words)'}>"

    def _summary(self) -> str:
        right = "" if self.correct is None else f", all right with {percent(self.correct)}"
        return f"{visible(self.utt)}: {_counts(self.words)}{right}"


def _counts(words: Sequence[Word]) -> str:
    confidence = mean_confidence(words)
    return counted(len(words), "word") + ("" if confidence is None else f", mean confidence {confidence:.2f}")


class Transcripts(list[Transcript]):
    """The transcripts of many utterances, or of the segments of a recording: a list that can be saved and shown.

    `about` is what is known about the recording, `left_out` the stretches of it that have no words and why (None
    where that is not known).
    """

    def __init__(
        self,
        transcripts: Iterable[Transcript] = (),
        *,
        about: Mapping[str, Any] | None = None,
        left_out: Sequence[LeftOut] | None = None,
    ) -> None:
        super().__init__(transcripts)
        self.about, self.left_out = dict(about or {}), left_out

    @property
    def text(self) -> str:
        """What was said, a line for each utterance or segment with words."""
        return "\n".join(transcript.text for transcript in self if transcript.words)

    @property
    def words(self) -> tuple[Word, ...]:
        """All words, in order."""
        return tuple(word for transcript in self for word in transcript.words)

    @property
    def confidence(self) -> float | None:
        """The mean confidence of all words; None if there are none. That of a `Transcript` is another thing."""
        return mean_confidence(self.words)

    @property
    def mean_confidence(self) -> float | None:
        """The mean confidence of all words; None if there are none."""
        return mean_confidence(self.words)

    @property
    def warnings(self) -> list[str]:
        """What is unusual about 5% of them or more, a line for each kind; each transcript has its own `warnings`."""
        return WarningSummary(self).lines()

    def save(self, path: str | Path, *, plain: bool = False) -> None:
        """Write them in the format that the name ends in: .txt, .srt, .vtt, .html, .json, .jsonl, .ctm, .parquet.

        A file that is there is replaced, when the new one is whole. With `plain`, subtitles mark nothing.
        """
        write_transcripts(self, path, about=self.about, left_out=self.left_out, plain=plain)

    def to_pandas(self) -> pd.DataFrame:
        """A data frame with a row for each word. Needs pandas."""
        return data_frame(self)

    def to_rich(self) -> Text:
        """For the terminal: a line for each that has words, marked as `Transcript.to_rich` does."""
        from rich.text import Text

        return Text("\n").join(transcript.to_rich() for transcript in self if transcript.words)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Transcript: ...
    @overload
    def __getitem__(self, index: slice) -> Transcripts: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Transcript | Transcripts:
        if isinstance(index, slice):
            return Transcripts(super().__getitem__(index), about=self.about)
        return super().__getitem__(index)

    def __add__(self, others: list[Transcript]) -> Transcripts:  # type: ignore[override]  # of transcripts alone
        return Transcripts([*self, *others])

    def _repr_html_(self) -> str:
        if not self:
            return "(no transcripts)"
        heading = f"{counted(len(self), 'transcript')}, {_counts(self.words)}"
        return utterances_html(heading, self[:_SHOWN], len(self) - _SHOWN)

    def __repr__(self) -> str:
        lines = [f"<Transcripts: {len(self):,}, with {_counts(self.words)}"]
        lines += [f"  {each.to_rich().plain or '(no words)'}" for each in self[:_FEW]]
        return "\n".join([*lines, *(["  ..."] if len(self) > _FEW else [])]) + ">"


def transcripts(
    networks: Lattices,
    confidence: NDArray[np.floating],
    paths: Paths,
    *,
    alternatives: int = ALTERNATIVES,
    show: Callable[[Reals], Reals] | None = None,
    missing: Reals | None = None,
    correct: Reals | None = None,
) -> Transcripts:
    """The words of each path, with the confidence that is shown for them and up to `alternatives` other words.

    `confidence` has one number from 0 to 1 for every arc that says a word. `wordtrust.transcripts.alternatives`
    defines what counts as an alternative, and its confidence. Silence is left out of both. `show` (a calibrator)
    turns confidences into those that are shown. `missing` is how likely words are missing in each gap of the paths,
    `correct` how likely each of them is right as a whole.
    """
    checked = _checked(networks, confidence, alternatives)
    shown = word_confidence(networks, checked, paths)
    arcs = paths.arcs_in(networks)
    is_word = networks.word[arcs] > 0
    offsets = csr_offsets(is_word)[paths.offsets]
    before: list[float | None] = [None] * int(offsets[-1])
    ends: list[float | None] = [None] * len(networks)
    if missing is not None:  # one gap more than words in every utterance
        before = missing[np.arange(len(before)) + csr_rows(offsets)].tolist()
        ends = missing[offsets[1:] + np.arange(len(networks))].tolist()
    words = _words(networks, checked, offsets, arcs[is_word], shown[is_word], alternatives, show, before)
    right = [None] * len(networks) if correct is None else correct.tolist()
    return Transcripts(
        Transcript(utt, words[first:last], (), probability, end)
        for utt, (first, last), probability, end in zip(
            networks.utts, pairwise(offsets.tolist()), right, ends, strict=True
        )
    )


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
    show: Callable[[Reals], Reals] | None, missing_before: list[float | None],
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
    times = written_times_of(networks, arcs) or (start[arcs].tolist(), end[arcs].tolist())
    return tuple(map(Word, spellings, norms, *times, shown.tolist(), alternatives, joins, missing_before))


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
