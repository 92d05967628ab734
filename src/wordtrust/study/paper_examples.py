"""Examples of the choice between recognizers: subsets, like the paper's table 4, and utterances.

Of subsets: the error rates of the best member alone and of every rule. Of utterances: what each recognizer said, and
whom each rule picks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..combination.subset_comparison import mean_confidence, select_system
from ..combination.system_output import SystemOutputs
from ..lattices.lattice import Ints
from ..lattices.weights import Reals


@dataclass(frozen=True, slots=True)
class SystemTranscript:
    """What one recognizer made of an utterance."""

    name: str
    words: str
    errors: int
    raw: float  # mean confidence
    calibrated: float


@dataclass(frozen=True, slots=True)
class ChoiceExample:
    """One utterance between several recognizers."""

    utt: str
    reference: str
    said: tuple[SystemTranscript, ...]
    by_raw: str  # the recognizer that each rule picks
    by_calibrated: str

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def chosen_subsets(subsets: Sequence[Mapping[str, Any]], method: str = "calibrated") -> list[Mapping[str, Any]]:
    """Subsets for table 4, out of all in JSON: of each size where the method gains most and loses most, by ratio.

    The paper shows some; all of ours are in study.json, and these say how far they reach.
    """

    def ratio(subset: Mapping[str, Any]) -> float:
        return float(subset[method] / subset["best_member"]) if subset["best_member"] else 1.0

    chosen = []
    for size in sorted({len(subset["members"]) for subset in subsets}):
        of_size = sorted((subset for subset in subsets if len(subset["members"]) == size), key=ratio)
        chosen += of_size[:1] if len(of_size) == 1 else [of_size[0], of_size[-1]]
    return chosen


def examples(systems: SystemOutputs, count: int = 6) -> list[ChoiceExample]:
    """Utterances where the two rules pick outputs with different numbers of errors, each speaker once.

    Half are the largest gains by calibration, half its largest losses: which of the two there are more of is what
    the table of all subsets tells.
    """
    means = [mean_confidence(systems, calibrated=calibrated) for calibrated in (False, True)]
    everybody = [tuple(range(len(systems.names)))]
    raw, calibrated = (select_system(mean, everybody)[0] for mean in means)
    utterances = np.arange(len(systems))
    gain = systems.errors[raw, utterances] - systems.errors[calibrated, utterances]
    wins, losses = _largest(gain, systems.speakers), _largest(-gain, systems.speakers)
    chosen = wins[: (count + 1) // 2] + losses[: count // 2]
    return [
        _example(systems, utterance, means, int(raw[utterance]), int(calibrated[utterance])) for utterance in chosen
    ]


def _largest(gain: Ints, speakers: Sequence[str]) -> list[int]:
    """Utterances with a gain, the largest first, one for each speaker."""
    first: dict[str, int] = {}
    for utterance in np.argsort(-gain, kind="stable").tolist():
        if gain[utterance] > 0:
            first.setdefault(speakers[utterance], utterance)
    return list(first.values())


def _example(
    systems: SystemOutputs, utterance: int, means: Sequence[Reals], raw: int, calibrated: int
) -> ChoiceExample:
    said = tuple(
        SystemTranscript(
            name, " ".join(outputs.words(utterance)), int(systems.errors[system, utterance]),
            float(means[0][system, utterance]), float(means[1][system, utterance]),
        )
        for system, (name, outputs) in enumerate(zip(systems.names, systems.outputs, strict=True))
    )  # fmt: skip
    reference = reference_text(systems, utterance)
    return ChoiceExample(systems.utts[utterance], reference, said, systems.names[raw], systems.names[calibrated])


def reference_text(systems: SystemOutputs, utterance: int) -> str:
    """The words of a reference."""
    first, last = systems.reference_offsets[utterance : utterance + 2].tolist()
    return " ".join(systems.outputs[0].vocabulary.lookup(systems.reference_words[first:last].tolist()))
