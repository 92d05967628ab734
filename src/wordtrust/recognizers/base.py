"""The interface of a recognizer: audio in, an N-best list or a lattice with times and scores out.

A recognizer of your own is one small module with a function `load`, named in your package's entry points:

    [project.entry-points."wordtrust.recognizers"]
    mine = "my_package.wordtrust_adapter"

    def load(model: str | None = None, *, threads: int = 1) -> Recognizer: ...

`model` is what follows the name in `--recognizer mine=MODEL`: a folder, or a name that the engine knows. `wordtrust
recognize` loads one in every process it starts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..audio import Samples
from ..lattices.lattice import Lattice

# An N-best list as formats.nbest reads it: {"nbest": [{"score", "text", "words"}, ...]}
NBestRecord = Mapping[str, Any]

NOTHING: NBestRecord = {"nbest": [{"score": 0.0, "words": []}]}  # no words were said


@dataclass(frozen=True, slots=True)
class RecognizerIdentity:
    """Who recognised something, for provenance and for the choice of a confidence model."""

    name: str  # of engine and weights, such as whisper-base: confidence models are trained for this
    version: str  # of the engine
    settings: Mapping[str, Any] = field(default_factory=dict)  # what changes its output, as JSON
    pick: str = "total"  # the score by which it chooses the hypothesis that it prints: total or average

    def to_dict(self) -> dict[str, Any]:
        """The contents of a recognizer.json."""
        return {"name": self.name, "pick": self.pick, "version": self.version, "settings": dict(self.settings)}


class Recognizer(Protocol):
    """A loaded recognizer. It is used by one thread at a time."""

    @property
    def identity(self) -> RecognizerIdentity:
        """Who it is."""

    def recognize(self, samples: Samples) -> NBestRecord | Lattice:
        """What may have been said in one segment of at most 30 s; times count from its beginning.

        For a segment without words return NOTHING, a record with one empty hypothesis.
        """


class ForcedScores(NamedTuple):
    """What a recognizer thinks of the words of a text that it is given ("teacher forcing"): natural logarithms.

    NaN where a word was not scored: it spells nothing, or the text is longer than the recognizer can follow.
    """

    logprob: NDArray[np.float64]  # [words] of all tokens of the word, given the audio and the words before it
    least: NDArray[np.float64]  # [words] of its least probable token
    tokens: NDArray[np.int64]  # [words] how many it has
    margin: NDArray[np.float64]  # [words] the least of its tokens' log-probability less that of the most probable
    # token there: 0 where the recognizer would have written the word itself
    end: float  # log-probability that the text ends after its last word


@runtime_checkable
class ForcedScorer(Recognizer, Protocol):
    """A recognizer that can also score texts it is given. Not every engine can: those have no such method."""

    def score_texts(self, samples: Samples, texts: Sequence[Sequence[str]]) -> list[ForcedScores]:
        """The scores of texts of one segment of at most 30 s.

        A text is a list of words as they are written, with capitals and punctuation; no space follows a word that
        ends with `lattices.text.JOINER`.
        """
