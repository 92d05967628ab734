"""Evidence that only some recognizers give: by groups, each of which an utterance has as a whole or not at all.

It stands in `Lattices.extra` like other evidence. Where utterances with and without it share arrays, it is NaN on all
arcs of those without (in a store: null); other evidence is never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

# By the name of the feature that says whether an arc has the group: the names of its evidence.
OPTIONAL_EVIDENCE: Mapping[str, tuple[str, ...]] = {
    "has_tokens": ("token_entropy", "token_rank", "token_margin"),  # how sure a decoder was of the tokens of a word
    "has_segments": ("segment_logprob", "no_speech_prob"),  # what Whisper says of a whole segment
    "has_lm": ("lm_logprob", "lm_next_logprob", "lm_share"),  # what a language model says (language_models.evidence)
}
OPTIONAL_NAMES = frozenset(name for names in OPTIONAL_EVIDENCE.values() for name in names)


def is_missing(name: str, values: NDArray[np.float32]) -> bool:
    """Whether the arcs of an utterance lack optional evidence of this name; of other evidence, never."""
    return name in OPTIONAL_NAMES and len(values) > 0 and bool(np.isnan(values[0]))
