"""What a language model is to the rest of wordtrust."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Sentence = Sequence[str]  # its words


class LanguageModel(Protocol):
    """Gives the words of hypotheses their log-probabilities."""

    @property
    def name(self) -> str:
        """What it is called, for people."""
        ...

    @property
    def reads_surfaces(self) -> bool:
        """Whether it reads words as the recognizer wrote them, with case and punctuation, or normalised."""
        ...

    def word_logprobs(self, utterances: Sequence[Sequence[Sentence]]) -> NDArray[np.float64]:
        """For every hypothesis of every utterance: log P(word | words before it) of each word, then of the end."""
        ...
