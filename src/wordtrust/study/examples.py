"""Examples of what best-confidence words repair."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..combination.system_output import SystemOutputs
from ..lattices.lattice import Ints

_LONGEST = 20  # words said: longer ones are hard to read in a table


def repair_examples(together: SystemOutputs, printed: SystemOutputs) -> list[dict[str, Any]]:
    """For each recognizer the utterance whose best-confidence words repair most of what it would print."""
    found = []
    for place, name in enumerate(together.names):
        number = _largest(together, printed.errors[place] - together.errors[place])
        if number is not None:
            found.append(
                {
                    "recognizer": name,
                    "utt": together.utts[number],
                    "said": _said(together, number),
                    "printed": " ".join(printed.outputs[place].words(number)),
                    "best_confidence": " ".join(together.outputs[place].words(number)),
                }
            )
    return found


def _largest(together: SystemOutputs, gained: Ints) -> int | None:
    """The utterance with the largest gain, if there is any; ties to the one that comes first."""
    worth = np.where(np.diff(together.spoken_offsets) <= _LONGEST, gained, 0)
    best = int(worth.argmax())
    return best if worth[best] > 0 else None


def _said(together: SystemOutputs, number: int) -> str:
    first, last = together.spoken_offsets[number : number + 2].tolist()
    return " ".join(together.outputs[0].vocabulary.lookup(together.spoken[first:last].tolist()))
