"""Fitting a whole joint model: a model for each fold of speakers, trust, then what is to be known of each subset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from zlib import crc32

import numpy as np

from ...base.errors import InputError, OptionError
from ...confidence.calibration.folds import fold_numbers
from ...networks.build_store import REFERENCE, SPEAKER
from .examples import MOST, Batch, examples
from .files import load_joint, save_joint
from .fit import DEFAULT, FitOptions, fit_shared
from .measure import Folds, own_errors
from .model import JointModel, Members, Settings
from .trust import fit_trust
from .union import JointHypotheses

THRESHOLDS = (0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
_TRIED = 24  # subsets that the threshold is chosen on
_AT_ONCE = 32  # subsets between two drafts: what a kill may cost
_OPEN = "open"  # what a draft says of itself as long as its threshold is not chosen
Tell = Callable[[str], None]


def fit_joint(
    systems: JointHypotheses, names: Sequence[str], *, subsets: Sequence[Sequence[str]] | None = None,
    options: FitOptions = DEFAULT, jobs: int = 1, tell: Tell | None = None, draft: Path | None = None,
) -> JointModel:  # fmt: skip
    """Fit on held-out utterances with references, for all subsets of two and more unless some are given.

    With `draft`, a file, what is done is kept there, and taken from there after a kill: weights, trust, threshold,
    then some subsets at a time.
    """
    _check(systems, names)
    alone = np.array([own_errors(each).sum() for each in systems.hypotheses])
    best_first = np.argsort(alone, kind="stable").tolist()
    systems, names = systems.order(best_first), [names[number] for number in best_first]
    wanted, say = _numbers(subsets, names), tell or (lambda _: None)
    key = _key(systems, names, options)
    parts = _parts(systems, options.folds)
    with ThreadPoolExecutor(jobs) as pool:
        begun = _kept(draft, key) or JointModel(tuple(names), (), about={"key": key, _OPEN: True})
        folds = Folds.of(parts)
        model = begun if begun.trusts else _weights(begun, parts, options, pool, say, draft)
        if _OPEN in model.about:
            model = replace(model, threshold=_threshold(model, folds, wanted, pool), about={"key": key})
            _keep(model, draft)
        missing = [members for members in wanted if members not in model.settings]
        for first in range(0, len(missing), _AT_ONCE):
            found = _measured(model, folds, missing[first : first + _AT_ONCE], options, pool)
            model = replace(model, settings={**model.settings, **found})
            _keep(model, draft)
            say(f"{len(model.settings)} of {len(wanted)} subsets")
    return replace(model, settings={members: model.settings[members] for members in wanted}, about={})


def _check(systems: JointHypotheses, names: Sequence[str]) -> None:
    if len(names) != len(systems.hypotheses) or len(set(names)) < len(names) or len(names) < 2:
        raise OptionError(f"{len(systems.hypotheses)} recognizers need names of their own, not {', '.join(names)}")
    notes = systems.hypotheses[0].notes
    if REFERENCE not in notes or SPEAKER not in notes or len(set(notes[SPEAKER])) < 2:
        raise InputError(
            "a joint model is fitted on utterances of several speakers with references",
            remedy="Build the networks with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )


def _numbers(subsets: Sequence[Sequence[str]] | None, names: Sequence[str]) -> list[Members]:
    if subsets is not None:
        known = JointModel(tuple(names), ())
        return list(dict.fromkeys(known.members(each) for each in subsets))
    sizes = range(2, len(names) + 1)
    return [members for size in sizes for members in combinations(range(len(names)), size)]


def _parts(systems: JointHypotheses, folds: int) -> list[JointHypotheses]:
    """The utterances of each fold of speakers."""
    speakers = np.array(systems.hypotheses[0].notes[SPEAKER])
    fold = fold_numbers(len(speakers), speakers, folds)
    return [systems.take(np.flatnonzero(fold == number).tolist()) for number in range(int(fold.max()) + 1)]


def _weights(
    model: JointModel,
    parts: Sequence[JointHypotheses],
    options: FitOptions,
    pool: Executor,
    tell: Tell,
    draft: Path | None,
) -> JointModel:
    """With models of all folds, each fitted without it; weights that are there already stay."""
    count, utterances = len(parts[0].hypotheses), sum(map(len, parts))
    random, unions = np.random.default_rng(options.seed), max(1, min(options.unions, MOST // utterances))
    joined = [examples(part, options.batch, unions, random, pool) for part in parts]
    tell(f"{unions} unions of each of {utterances:,} utterances")

    def others(fold: int) -> list[Batch]:
        return [batch for other, batches in enumerate(joined) if other != fold for batch in batches]

    folds = range(len(parts))
    if not model.weighers:
        weighers = tuple(pool.map(lambda fold: fit_shared(others(fold), count, options, seed=fold), folds))
        model = replace(model, weighers=weighers)
        _keep(model, draft)
        tell(f"the weights of {len(parts)} folds")
    trusts = tuple(pool.map(lambda fold: fit_trust(others(fold), count, options, seed=fold), folds))
    model = replace(model, trusts=trusts)
    _keep(model, draft)
    tell(f"the trust of {len(parts)} folds")
    return model


def _threshold(model: JointModel, folds: Folds, subsets: Sequence[Members], pool: Executor) -> float:
    """The one with the fewest errors of the best member's, over some subsets: one subset alone says little."""
    some = subsets[:: max(1, len(subsets) // _TRIED)]
    errors = np.array(list(pool.map(lambda members: folds.errors(model, members, THRESHOLDS).sum(axis=1), some)))
    best = np.array([folds.alone[members[0]].sum() for members in some])
    return THRESHOLDS[int((errors / np.maximum(best, 1)[:, np.newaxis]).mean(axis=0).argmin())]


def _measured(
    model: JointModel, folds: Folds, subsets: Sequence[Members], options: FitOptions, pool: Executor
) -> dict[Members, Settings]:
    found = pool.map(lambda members: folds.settings(model, members, options.least_gain), subsets)
    return dict(zip(subsets, found, strict=True))


def _key(systems: JointHypotheses, names: Sequence[str], options: FitOptions) -> str:
    """What a draft must be of to be gone on with."""
    key = crc32(repr((list(names), asdict(options))).encode())
    for each in systems.hypotheses:
        key = crc32(repr((each.utts, each.notes[REFERENCE])).encode("utf-8", "surrogatepass"), key)
        for values in (each.word, each.picked, *each.extra.values()):
            key = crc32(np.ascontiguousarray(values).tobytes(), key)
    return f"{key:08x}"


def _kept(draft: Path | None, key: str) -> JointModel | None:
    if draft is None or not draft.is_file():
        return None
    try:
        model = load_joint(draft)
    except InputError:
        return None  # damaged: begun again
    return model if model.about.get("key") == key else None


def _keep(model: JointModel, draft: Path | None) -> None:
    if draft is not None:
        save_joint(model, draft)
