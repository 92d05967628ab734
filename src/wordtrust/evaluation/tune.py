"""Choose scales on a development set: `wordtrust tune`.

Comparisons on untuned lattices are meaningless. Three settings are chosen, each for its own purpose:

- `one_best`, for the best path: the ratio of acoustic to transition score and the word penalty (N-best lists: length
  exponent and word bonus) with the fewest word errors. The overall scale does not matter to it.
- `posterior`: the overall scale, on top of these or of the recognizer's own (N-best lists: of any length exponent),
  at which the posteriors of the network's words are the best probabilities (largest NCE).
- `mbr`: likewise, where minimum Bayes risk decoding makes the fewest errors.

Ties go to the setting nearest to the recognizer's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ..base.errors import OptionError
from ..formats.batches import BatchSource, read_batches
from ..formats.references import Reference
from ..lattices.lattice import Lattices
from ..lattices.paths import best_paths, one_best
from ..lattices.text import UNKNOWN
from ..lattices.weights import LENGTH, Scales, log_scores, only_posteriors
from ..networks.align import align_ids
from ..networks.consensus import consensus
from ..networks.equivalents import ALL, Equate
from ..networks.hwcn import TOLERANCE, build
from ..networks.labels import Labels, label_arcs, score_paths
from ..networks.reference_words import ReferenceWords
from ..networks.spoken import equated_words, spoken_words
from ..networks.tuned_scales import TunedScales
from .metrics import Scores

# A first look at the whole range in use, word penalty aside: Kaldi's LMWT 7 to 17 are 0.14 to 0.06.
COARSE = (0.02, 0.03, 0.045, 0.065, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 4.0)  # times the given ratio
RATIOS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.15, 1.3, 1.6, 2.0)  # times the given ratio, or one beyond these
PENALTIES = tuple(round(-3 + 0.5 * step, 1) for step in range(15))  # -3 to 4
EXPONENTS = tuple(round(0.1 * step, 1) for step in range(13))  # 0 to 1.2
OVERALL = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 3.0)
MEAN_LENGTH = 10  # scores divided by length ** exponent are tried times this ** exponent, to be of the old size


@dataclass(frozen=True, slots=True)
class _TuningBatch:
    """Lattices with their references."""

    lattices: Lattices
    references: ReferenceWords  # that settings are chosen by
    lenient: ReferenceWords  # the same where spellings are equated

    @classmethod
    def of(cls, lattices: Lattices, references: Mapping[str, Reference], equate: Equate) -> _TuningBatch:
        """A batch without what is to be ignored, and the words that were said."""
        kept, spoken = spoken_words(lattices, references)
        lenient = ReferenceWords.of(spoken, kept, equated_words(references, equate or ALL))
        return cls(kept, lenient if equate else lenient.strict, lenient)


def tune(
    lattices: BatchSource,
    references: Mapping[str, Reference],
    *,
    tolerance: float = TOLERANCE,
    equate: Equate | str = "none",
    notify: Callable[[str], None] = lambda _: None,
) -> TunedScales:
    """Choose scales on the lattices of a development set, read or to be read from files.

    Settings are chosen by the words as they are written, or with some spellings equated (`equate`: "all", "numbers",
    ...); both error rates are reported. `notify` is called at the beginning of each stage.
    """
    kinds = Equate.parse(equate)
    parts = [_TuningBatch.of(batch, references, kinds) for batch in read_batches(lattices)]
    words = sum(len(part.references.words) for part in parts)
    if not words:
        raise OptionError("there is nothing to tune on: no reference words")
    _require_scores(parts)
    given = parts[0].lattices.scales
    if any(part.lattices.scales != given for part in parts):
        raise OptionError("these lattices come with different scales; tune those of one recognizer at a time")
    notify("1-best: ratio and word penalty")
    best = _fewest_errors(parts, given, _grid(parts, given))
    notify("posteriors: overall scale")
    labels = [label_arcs(build(part.lattices, tolerance=tolerance).lattices, part.references) for part in parts]
    tried = list(dict.fromkeys(_overall(_shapes(parts, given, best))))
    quality = {scales: _nce(parts, labels, scales, tolerance) for scales in tried}
    posterior = max(quality, key=lambda scales: quality[scales])
    notify("minimum Bayes risk: overall scale")
    mbr_errors = {scales: _mbr_errors(parts, scales) for scales in tried}
    mbr = min(mbr_errors, key=lambda scales: mbr_errors[scales])
    rates = {
        name: _errors_of(parts, scales, lenient=name.startswith("lenient")) / words
        for name, scales in {
            "as_given": None, "one_best": best, "lenient_as_given": None, "lenient_one_best": best,
        }.items()
    }  # fmt: skip
    dev = rates | {
        "utterances": float(sum(len(part.lattices) for part in parts)),
        "mbr": mbr_errors[mbr] / words,
        "nce_as_given": _nce(parts, labels, given, tolerance),
        "nce": quality[posterior],
    }
    return TunedScales(best, posterior, mbr, dev)


def _require_scores(parts: Sequence[_TuningBatch]) -> None:
    for part in parts:
        if only_posteriors(part.lattices) or (part.lattices.acoustic is None and part.lattices.transition is None):
            raise OptionError(
                f"{part.lattices.origin.file}: there are no scores to scale, only confidences; "
                "tuning needs lattices or N-best lists"
            )


def _grid(parts: Sequence[_TuningBatch], given: Scales) -> Iterator[Scales]:
    """The settings to try: lattices by ratio and penalty, N-best lists by length exponent and word bonus."""
    both = all(p.lattices.acoustic is not None and p.lattices.transition is not None for p in parts)
    lengths = all(LENGTH in part.lattices.extra for part in parts)
    yield given
    if both:
        size, centre = abs(given.transition) or 1.0, _centre(parts, given)
        for ratio, penalty in product(RATIOS, PENALTIES):
            acoustic = centre * ratio * (given.acoustic or given.transition)
            yield replace(given, acoustic=acoustic, word_penalty=given.word_penalty + penalty * size)
    else:
        for exponent, bonus in product(EXPONENTS if lengths else (0.0,), _bonuses()):
            yield replace(given, length_exponent=exponent, word_penalty=given.word_penalty + bonus)


def _centre(parts: Sequence[_TuningBatch], given: Scales) -> float:
    """What the given ratio is multiplied by before others around it are tried: 1, unless the best is far from it."""
    own = given.acoustic or given.transition
    errors = {ratio: _one_best_errors(parts, replace(given, acoustic=ratio * own)) for ratio in COARSE}
    best = min(COARSE, key=lambda ratio: (errors[ratio], abs(np.log(ratio))))
    return 1.0 if RATIOS[0] <= best <= RATIOS[-1] else best


def _bonuses() -> Iterator[float]:
    """Finer near 0: scores per token are small."""
    for size in (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0):
        yield from {size, -size}


def _fewest_errors(parts: Sequence[_TuningBatch], given: Scales, grid: Iterable[Scales]) -> Scales:
    errors = {scales: _one_best_errors(parts, scales) for scales in grid}
    return min(errors.items(), key=lambda item: (item[1], _distance(item[0], given)))[0]


def _errors_of(parts: Sequence[_TuningBatch], scales: Scales | None, *, lenient: bool) -> int:
    """The errors of the best paths; without scales, of those that the recognizer prints."""
    errors = 0
    for part in parts:
        lattices, words = part.lattices, part.lenient if lenient else part.lenient.strict
        paths = one_best(lattices) if scales is None else best_paths(lattices, log_scores(lattices, scales))
        errors += score_paths(lattices, paths, words).errors
    return errors


def _distance(scales: Scales, given: Scales) -> float:
    size = abs(given.transition) or 1.0
    return float(
        abs(scales.acoustic - given.acoustic) / (abs(given.acoustic) or 1.0)
        + abs(scales.word_penalty - given.word_penalty) / size
        + abs(scales.length_exponent - given.length_exponent)
    )


def _one_best_errors(parts: Sequence[_TuningBatch], scales: Scales) -> int:
    chosen = ((part, best_paths(part.lattices, log_scores(part.lattices, scales))) for part in parts)
    return sum(score_paths(part.lattices, paths, part.references).errors for part, paths in chosen)


def _shapes(parts: Sequence[_TuningBatch], given: Scales, best: Scales) -> Iterator[Scales]:
    """Ratios, penalties and exponents to try with every overall scale."""
    yield from (best, given)
    if all(LENGTH in part.lattices.extra for part in parts):
        for exponent in EXPONENTS[::2]:
            yield replace(given, length_exponent=exponent)


def _overall(shapes: Iterable[Scales]) -> Iterator[Scales]:
    for shape, size in product(shapes, OVERALL):
        times = size * MEAN_LENGTH**shape.length_exponent
        acoustic, transition, penalty = (times * w for w in (shape.acoustic, shape.transition, shape.word_penalty))
        yield Scales(acoustic, transition, penalty, shape.length_exponent)


def _nce(parts: Sequence[_TuningBatch], labels: Sequence[Labels], scales: Scales, tolerance: float) -> float:
    total = Scores()
    for part, right in zip(parts, labels, strict=True):
        networks = build(part.lattices, tolerance=tolerance, scales=scales).lattices
        words = networks.word > 0
        assert networks.posterior is not None
        total = total + Scores.of(np.minimum(networks.posterior[words], 1), right[words] > 0)
    nce = total.metrics().nce
    return -np.inf if nce is None else nce


def _mbr_errors(parts: Sequence[_TuningBatch], scales: Scales) -> int:
    errors = 0
    for part in parts:
        decoded, references = consensus(part.lattices, scales), part.references
        unknown = decoded.vocabulary.find(UNKNOWN)
        words = decoded.word[decoded.best]
        aligned = align_ids(references.words, references.offsets, words, decoded.best_offsets, unknown=unknown)
        errors += int(aligned.errors.sum())
    return errors
