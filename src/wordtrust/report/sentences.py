"""The summary in words, and the numbers that stand above it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..evaluation.evaluate import Evaluation
from ..evaluation.metrics import Scores, SpeakerErrors, compare, errors_caught, intervals, operating_point
from .chart import percent, rounded_up
from .plots import PRECISION, REVIEWED
from .wording import KINDS, called, counted

_CHANCE = 0.05  # a difference with a larger p may be chance


@dataclass(frozen=True, slots=True)
class Tile:
    """A number to see first."""

    value: str
    name: str
    remark: str


def tiles(evaluation: Evaluation) -> list[Tile]:
    """Word errors, what the confidences are worth, and what to do with them."""
    found = []
    output, scores = evaluation.errors.get("best_confidence"), _shown(evaluation)
    if output is not None and output.total.wer is not None:
        found.append(Tile(_rate(output.total.wer), "word error rate", _against(evaluation)))
    if scores is None:
        return found
    kind, words = scores
    measured = words.metrics()
    if measured.nce is not None:
        found.append(Tile(_signed(measured.nce), "NCE of the " + called(KINDS, kind), "1 is perfect, 0 is no help"))
    point = operating_point(words, PRECISION) if len(words) else None
    if point:
        found.append(
            Tile(
                rounded_up(point.threshold),
                f"{percent(PRECISION)} right from here on",
                f"{_rate(point.accepted, 0)} of the words",
            )
        )
    if measured.errors_caught is not None:
        remark = f"in the least trusted {percent(REVIEWED)} of the words"
        found.append(Tile(_rate(measured.errors_caught, 0), "of the wrong words found", remark))
    return found


def summary(evaluation: Evaluation) -> list[str]:
    """What a reader should know, one thought a sentence."""
    lines = [" ".join(_about_words(evaluation))]
    scores = _shown(evaluation)
    if scores and len(scores[1]):
        lines += [" ".join(_about_confidence(evaluation, *scores)), " ".join(_about_use(scores[1]))]
    return [line for line in lines if line]


def _shown(evaluation: Evaluation) -> tuple[str, Scores] | None:
    """The scores that people see: those that chose the words of the output, the last ones."""
    found = [(kind, words) for (population, kind), words in evaluation.scores.items() if population == "output"]
    return found[-1] if found else None


def _rate(value: float, decimals: int = 2) -> str:
    return f"{100 * value:.{decimals}f}%"


def _against(evaluation: Evaluation) -> str:
    own = evaluation.errors.get("one_best")
    return "" if own is None or own.total.wer is None else f"1-best as given: {_rate(own.total.wer)}"


def _about_words(evaluation: Evaluation) -> Iterator[str]:
    output, own, best = (evaluation.errors.get(name) for name in ("best_confidence", "one_best", "oracle"))
    if output is None or output.total.wer is None:
        return
    total, rate = output.total, _rate(output.total.wer)
    who = f"{counted(evaluation.utterances, 'utterance')} of {counted(len(output.speakers), 'speaker')}"
    yield f"In {who}, {counted(total.reference_words, 'word')} were said."
    yield (f"The output has {counted(total.errors, 'error')}: a word error rate of {rate}{_between(output)}.")
    if own is not None:
        yield _difference(output, own)
    if best is not None and total.errors:
        kept = best.total.errors / total.errors
        yield f"No choice of words from these networks could have fewer than {kept:.0%} of the errors."


def _between(errors: SpeakerErrors) -> str:
    found = intervals(errors)["wer"]
    return (
        "" if found.low is None or found.high is None else f" (95%: {_rate(found.low, 1)} to {_rate(found.high, 1)})"
    )


def _difference(output: SpeakerErrors, own: SpeakerErrors) -> str:
    fewer = own.total.errors - output.total.errors
    if not fewer:
        return "The recognizer's own 1-best has as many."
    amount = f"{abs(fewer):,} {'fewer' if fewer > 0 else 'more'}"
    share = f" ({abs(fewer) / own.total.errors:.1%})" if own.total.errors else ""
    p = compare(output, own)["wer"].p
    sure = "" if p is None else "; the difference may be chance" if p > _CHANCE else "; hardly by chance"
    return f"That is {amount}{share} than the recognizer's own 1-best{sure}{'' if p is None else f' (p = {p:.2g})'}."


def _about_confidence(evaluation: Evaluation, kind: str, words: Scores) -> Iterator[str]:
    measured, name = words.metrics(), called(KINDS, kind)
    right = _rate(measured.correct / measured.words, 1)
    yield f"Of the {counted(len(words), 'word')} of the output, {right} are right."
    if measured.ece is not None:
        yield (
            f"The {name} of a word is off from its true chance to be right by {100 * measured.ece:.1f} percentage "
            "points on average (ECE)."
        )
    if measured.nce is not None:
        worth = f"worth {measured.nce:.0%} of what knowing right from wrong would be"
        worth = "worse than no confidence at all" if measured.nce < 0 else worth
        yield f"It is {worth} (NCE {_signed(measured.nce)}; 1 would be perfect)."
    first = next(other for population, other in evaluation.scores if population == "output")
    nce = evaluation.scores["output", first].metrics().nce
    if first != kind and nce is not None:
        yield f"For the same words, the {called(KINDS, first)} has an NCE of {_signed(nce)}."


def _signed(value: float) -> str:
    return f"{value:.3f}".replace("-", "\u2212")


def _about_use(words: Scores) -> Iterator[str]:
    point = operating_point(words, PRECISION)
    if point is None:
        yield f"No threshold gives {percent(PRECISION)} right words."
    else:
        yield (
            f"Accept words from {rounded_up(point.threshold)} on: {_rate(point.precision, 1)} of these are right, "
            f"and they are {_rate(point.accepted, 0)} of all words."
        )
        if point.errors_rejected is not None:
            yield f"{_rate(point.errors_rejected, 0)} of the wrong words are kept out."
        yield (
            "(Measured on these very words; the command wordtrust threshold gives one to rely on with new speakers.)"
        )
    caught = errors_caught(words, REVIEWED)
    if caught is not None:
        yield (
            f"Checking the least trusted {percent(REVIEWED)} of the words finds {_rate(caught, 0)} of the wrong "
            "ones. Missing words have no confidence and are not found so."
        )
