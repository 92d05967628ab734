"""ROVER: systems vote word by word (NIST's "Recognizer Output Voting Error Reduction").

The first output is a row of slots with one word each. Every further output is aligned with it, with the least cost
(NIST's weights: a match costs 0, another word 4, a word left alone 3; a word where the slot can be empty already 1,
and passing such a slot 0.001), and joins the words it stands beside; a word that stands beside nothing makes a new
slot, which is empty for all before it. So the order counts: usually the best recognizer comes first. NIST leaves ties
to the order of arcs; here a word beside others comes before one in a new slot, and that before a slot passed.

Then each slot is decided: what gets the largest alpha * N / recognizers + (1 - alpha) * C, where N of them say
the word and C is the average or the maximum of their confidences; that of saying nothing is a number chosen, with
alpha, on held-out data. By frequency alone alpha is 1. Ties go to what the earlier recognizer says. Recognizers may
have more or fewer votes than one: a power of 1 / their error rate on held-out data, the power chosen there too. Words
that count as the same (`6` and `six`) are one vote, and what the earliest recognizer wrote is taken.

NIST's program cuts recordings at common pauses first; here utterances are aligned whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError, OptionError
from ..lattices.lattice import Ints, Offsets
from ..lattices.weights import Reals
from .rover_kernels import AVERAGE, FREQUENCY, MAXIMUM, count_errors, write_winners
from .system_output import SystemOutput, SystemOutputs

VOTES = {"frequency": FREQUENCY, "average": AVERAGE, "maximum": MAXIMUM}
POWERS = (1.0, 2.0, 4.0)  # of 1 / error rate: votes to try
GRID = tuple(round(0.1 * step, 1) for step in range(11))


@dataclass(frozen=True, slots=True)
class RoverSettings:
    """How slots are decided."""

    by: str = "frequency"  # or "average", "maximum": which confidence of the recognizers that say a word
    alpha: float = 1.0  # weight of how many they are; the rest is that of their confidence
    nothing: float = 0.0  # confidence of saying nothing
    calibrated: bool = False  # whether confidences are calibrated ones
    votes: tuple[tuple[str, float], ...] = ()  # how many each recognizer has, by name; one where nothing is said

    def __post_init__(self) -> None:
        object.__setattr__(self, "votes", tuple((str(name), float(votes)) for name, votes in self.votes))
        if not all(0 < votes < np.inf for _, votes in self.votes):
            raise OptionError(f"every recognizer has more than 0 votes, not {dict(self.votes)}")
        if self.by not in VOTES:
            raise OptionError(f"votes are counted by {', '.join(VOTES)}, not by {self.by!r}")
        if not (0 <= self.alpha <= 1 and 0 <= self.nothing <= 1):
            raise OptionError(f"alpha and nothing are from 0 to 1, not {self.alpha} and {self.nothing}")

    def votes_of(self, names: Sequence[str]) -> list[float]:
        """How many votes each of these recognizers has."""
        votes = dict(self.votes)
        return [votes.get(name, 1.0) for name in names]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; `RoverSettings(**...)` makes it again."""
        record = asdict(self)
        return record if self.votes else {name: value for name, value in record.items() if name != "votes"}


def grid(*, calibrated: bool = False) -> tuple[RoverSettings, ...]:
    """The settings worth trying, plain frequency first."""
    return (
        RoverSettings(),
        *(
            RoverSettings(by, alpha, nothing, calibrated)
            for by in ("average", "maximum")
            for alpha in GRID[:-1:2]
            for nothing in GRID
        ),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _VotingWords:
    """The words of all systems end to end, for the kernels."""

    word: Ints
    voted: Ints  # the same number for words that are one vote
    confidence: Reals
    offsets: Offsets  # [systems, utterances + 1]

    @classmethod
    def of(cls, outputs: SystemOutputs, *, voting: bool, calibrated: bool) -> _VotingWords:
        sizes = [len(output.word) for output in outputs.outputs]
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        offsets = np.stack([output.offsets for output in outputs.outputs]) + first[:, np.newaxis]
        confidence = _confidences(outputs, calibrated) if voting else np.zeros(sum(sizes))
        word, classes = np.concatenate([output.word for output in outputs.outputs]), outputs.word_classes
        return cls(word, word if classes is None else classes[word], confidence, offsets)


def _confidences(outputs: SystemOutputs, calibrated: bool) -> Reals:
    which = "calibrated" if calibrated else "confidence"
    confidences = [getattr(output, which) for output in outputs.outputs]
    lacking = [name for name, values in zip(outputs.names, confidences, strict=True) if values is None]
    if lacking:
        raise OptionError(
            f"the words of {lacking[0]} have no {'calibrated ' if calibrated else ''}confidences: vote by frequency"
        )
    return np.concatenate(confidences)


def _check_aligned(outputs: SystemOutputs, too_long: int) -> None:
    """Raise an error if there is an utterance that a kernel could not align."""
    if too_long >= 0:
        words = sum(int(output.lengths[too_long]) for output in outputs.outputs)
        raise InputError(
            f"{words:,} words of {len(outputs.names)} recognizers are too many to align",
            utt=outputs.utts[too_long],
            remedy="Cut the recording into segments",
        )


def rover(outputs: SystemOutputs, settings: RoverSettings = RoverSettings()) -> SystemOutput:  # noqa: B008  # it is frozen
    """The words that win the vote, aligned in the order of the systems; times and confidences are means over voters.

    Without confidences they vote by frequency, and the result has none either.
    """
    has_confidence = settings.by != "frequency" or all(output.confidence is not None for output in outputs.outputs)
    words = _VotingWords.of(outputs, voting=has_confidence, calibrated=settings.calibrated)
    most = len(words.word)
    offsets = np.zeros(len(outputs) + 1, np.int64)
    word, means = np.empty(most, np.int32), np.empty((3, most))
    too_long = write_winners(
        words.word, words.voted, words.confidence, np.concatenate([output.start for output in outputs.outputs]),
        np.concatenate([output.end for output in outputs.outputs]), words.offsets, VOTES[settings.by],
        float(settings.alpha), float(settings.nothing), np.array(settings.votes_of(outputs.names)), offsets, word,
        means,
    )  # fmt: skip
    _check_aligned(outputs, too_long)
    size = int(offsets[-1])
    return SystemOutput(
        outputs.utts, offsets, word[:size], means[1, :size], means[2, :size], outputs.outputs[0].vocabulary,
        means[0, :size] if has_confidence else None,
    )  # fmt: skip


def rover_errors(
    outputs: SystemOutputs, subsets: Sequence[Sequence[int]], settings: RoverSettings | Sequence[RoverSettings]
) -> Ints:
    """[subsets, utterances] the word errors of many subsets.

    A subset has the indices of its systems in the order of aligning; `settings` are those of all, or one for each.
    """
    chosen = [settings] * len(subsets) if isinstance(settings, RoverSettings) else list(settings)
    if len(chosen) != len(subsets):
        raise ValueError(f"{len(chosen)} settings for {len(subsets)} subsets")
    if outputs.have_segments or outputs.counts_leniently:
        votes = zip(subsets, chosen, strict=True)
        elected = (rover(outputs.subset([outputs.names[one] for one in subset]), how) for subset, how in votes)
        return np.stack([outputs.count_errors(output) for output in elected])
    distinct = list(dict.fromkeys(chosen))
    index = np.array([distinct.index(setting) for setting in chosen], np.int32)
    columns = np.arange(len(outputs), dtype=np.int32)
    errors: Ints = _count(outputs, subsets, distinct, np.stack([index, index + 1], 1), columns)[0]
    return errors


def tune_rover(
    outputs: SystemOutputs, subsets: Sequence[Sequence[int]], settings: Sequence[RoverSettings] | None = None
) -> list[RoverSettings]:
    """The settings with the fewest errors on held-out data for each of these subsets; ties to the earlier setting.

    Without settings to try: all of `grid`, then votes by error rate with the best of these, and another alpha.
    """
    tried = list(settings or grid(calibrated=all(output.calibrated is not None for output in outputs.outputs)))
    if any(output.confidence is None for output in outputs.outputs):
        tried = [setting for setting in tried if setting.by == "frequency"] or [RoverSettings()]
    best = _fewest_errors(outputs, subsets, [tried] * len(subsets))
    if settings is not None:
        return best
    return _fewest_errors(outputs, subsets, [_with_votes(outputs, setting) for setting in best])


def _with_votes(outputs: SystemOutputs, setting: RoverSettings) -> list[RoverSettings]:
    """The setting as it is, then with votes by error rate, and then these with every alpha."""
    rates = (outputs.errors.sum(axis=1) + 1) / max(outputs.said_words, 1)
    tried = [setting]
    for power in POWERS:
        votes = tuple(zip(outputs.names, ((rates.min() / rates) ** power).tolist(), strict=True))
        alphas = (setting.alpha,) if setting.by == "frequency" else dict.fromkeys((setting.alpha, *GRID[:-1:2]))
        tried += [replace(setting, votes=votes, alpha=alpha) for alpha in alphas]
    return tried


def _fewest_errors(
    outputs: SystemOutputs, subsets: Sequence[Sequence[int]], tried: Sequence[Sequence[RoverSettings]]
) -> list[RoverSettings]:
    """Of those that are tried for each subset."""
    distinct: dict[tuple[RoverSettings, ...], int] = {}  # where the settings of a subset begin among all
    every: list[RoverSettings] = []
    for settings in map(tuple, tried):
        if settings not in distinct:
            distinct[settings] = len(every)
            every += settings
    bounds = [(distinct[tuple(settings)], distinct[tuple(settings)] + len(settings)) for settings in tried]
    errors = _count(outputs, subsets, every, np.array(bounds, np.int32), np.zeros(len(outputs), np.int32))[:, :, 0]
    return [settings[int(errors[: len(settings), row].argmin())] for row, settings in enumerate(tried)]


def _count(
    outputs: SystemOutputs,
    subsets: Sequence[Sequence[int]],
    settings: Sequence[RoverSettings],
    tried: Ints,
    column: Ints,
) -> NDArray[np.int32]:
    """[settings of a subset, subsets, columns] errors.

    `tried` has the first and the end of the settings of each subset; `column` is where an utterance is counted.
    """
    if any(len(set(subset)) < len(subset) or not subset for subset in subsets):
        raise ValueError("a subset has at least one recognizer, and each of them once")
    voting = {one.calibrated for one in settings if one.by != "frequency"}
    if len(voting) > 1:
        raise OptionError("raw and calibrated confidences cannot vote in one table")
    words = _VotingWords.of(outputs, voting=bool(voting), calibrated=True in voting)
    order = sorted(range(len(subsets)), key=lambda row: tuple(subsets[row]))
    members, sizes, shared = _rows([tuple(subsets[row]) for row in order])
    by = np.array([VOTES[one.by] for one in settings], np.int32)
    parameters = np.array([(one.alpha, one.nothing) for one in settings], np.float64)
    votes = np.array([one.votes_of(outputs.names) for one in settings], np.float64)
    most = int((tried[:, 1] - tried[:, 0]).max(initial=0))
    errors = np.zeros((most, len(order), int(column.max(initial=0)) + 1), np.int32)
    too_long = count_errors(
        words.word, words.voted, words.confidence, words.offsets, outputs.reference_words, outputs.reference_offsets,
        outputs.unknown, members, sizes, shared, np.ascontiguousarray(tried[order]), by, parameters, votes, column,
        errors,
    )  # fmt: skip
    _check_aligned(outputs, too_long)
    return errors[:, np.argsort(order)]


def _rows(subsets: Sequence[tuple[int, ...]]) -> tuple[Ints, Ints, Ints]:
    """Sorted subsets as rows of members, their sizes, and how many first members each shares with the one before."""
    sizes = np.array([len(subset) for subset in subsets], np.int32)
    members = np.zeros((len(subsets), sizes.max(initial=0)), np.int32)
    for row, subset in enumerate(subsets):
        members[row, : len(subset)] = subset
    shared = np.zeros(len(subsets), np.int32)
    for row, (before, subset) in enumerate(pairwise(subsets), start=1):
        shared[row] = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(before, subset, strict=False))))
    return members, sizes, shared
