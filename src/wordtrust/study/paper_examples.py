"""Examples of the choice between recognizers, like the paper's table 4: what each said, and whom each rule picks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..combination.subset_comparison import mean_confidence, select_system
from ..combination.system_output import SystemOutputs
from ..lattices.lattice import Ints
from ..lattices.weights import Reals


@dataclass(frozen=True, slots=True)
class Said:
    """What one recognizer made of an utterance."""

    name: str
    words: str
    errors: int
    raw: float  # mean confidence
    calibrated: float


@dataclass(frozen=True, slots=True)
class Example:
    """One utterance of table 4."""

    utt: str
    reference: str
    said: tuple[Said, ...]
    by_raw: str  # the recognizer that each rule picks
    by_calibrated: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def examples(together: SystemOutputs, count: int = 6) -> list[Example]:
    """Utterances where the two rules pick outputs with different numbers of errors, each speaker once.

    Half are the largest gains by calibration, half its largest losses: which of the two there are more of is what
    table 3 tells.
    """
    means = [mean_confidence(together, calibrated=each) for each in (False, True)]
    everybody = [tuple(range(len(together.names)))]
    raw, calibrated = (select_system(mean, everybody)[0] for mean in means)
    utterances = np.arange(len(together))
    gain = together.errors[raw, utterances] - together.errors[calibrated, utterances]
    wins, losses = _largest(gain, together.speakers), _largest(-gain, together.speakers)
    chosen = wins[: (count + 1) // 2] + losses[: count // 2]
    return [_example(together, number, means, int(raw[number]), int(calibrated[number])) for number in chosen]


def _largest(gain: Ints, speakers: Sequence[str]) -> list[int]:
    """Utterances with a gain, the largest first, one a speaker."""
    found: dict[str, int] = {}
    for number in np.argsort(-gain, kind="stable").tolist():
        if gain[number] > 0:
            found.setdefault(speakers[number], number)
    return list(found.values())


def _example(together: SystemOutputs, number: int, means: Sequence[Reals], raw: int, calibrated: int) -> Example:
    first, last = together.reference_offsets[number : number + 2].tolist()
    spoken = together.outputs[0].vocabulary.lookup(together.reference_words[first:last].tolist())
    said = tuple(
        Said(
            name, " ".join(outputs.words(number)), int(together.errors[place, number]),
            float(means[0][place, number]), float(means[1][place, number]),
        )
        for place, (name, outputs) in enumerate(zip(together.names, together.outputs, strict=True))
    )  # fmt: skip
    return Example(together.utts[number], " ".join(spoken), said, together.names[raw], together.names[calibrated])
