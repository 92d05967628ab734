"""How the scores of lattices that were read are weighed: as options say, or, where they are unscaled, as they tell.

Kaldi's meaning: `lmwt` N is `lattice-scale --inv-acoustic-scale=N`, `acoustic_scale` X is `lattice-scale
--acoustic-scale=X`, `word_ins_penalty` P is `lattice-add-penalty --word-ins-penalty=P`. Scores stay as they were
read; the weights are the `scales` of the lattices, which stores, networks and models keep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..base.errors import InputError
from ..lattices.lattice import Lattices
from ..lattices.text import JOINER
from ..lattices.unscaled import MOST_ARCS, MOST_UTTERANCES, find_scales, has_both_scores
from ..lattices.weights import Scales
from .format import ReadOptions

Notify = Callable[[str], None]
_NO_LABELS = ("", "<eps>")


class ReadBatch(NamedTuple):
    """A batch as it is in a file."""

    folder: Path
    keeps_scales: bool  # whether the format says how scores are weighed
    keeps_words: bool  # whether its words were normalised before
    lattices: Lattices
    given: ReadOptions  # of the whole run
    beside: ReadOptions  # the same, with what recognizer.json says

    @property
    def options(self) -> ReadOptions:
        """How it is weighed: recognizer.json speaks of the recognizer's own lattices only."""
        is_own = not self.keeps_scales and has_both_scores(self.lattices)
        return self.beside if is_own else self.given

    @property
    def kind(self) -> tuple[Path, bool, Scales]:
        """What batches have in common that are weighed alike."""
        may_be_unscaled = not self.keeps_scales and has_both_scores(self.lattices)
        return self.folder, may_be_unscaled and self.options.acoustic_weight is None, self.lattices.scales


def weigh(batch: Lattices, options: ReadOptions) -> Lattices:
    """The batch with the scales that the options ask for, if any; an error where there is nothing to weigh."""
    if options.acoustic_weight is None and options.word_ins_penalty is None:
        return batch
    if not has_both_scores(batch):
        raise _nothing_to_weigh(batch)
    scales = batch.scales
    if options.acoustic_weight is not None:
        penalty = scales.word_penalty / (scales.transition or 1.0)
        scales = Scales(options.acoustic_weight, 1.0, penalty, scales.length_exponent)
    if options.word_ins_penalty is not None:
        scales = replace(scales, word_penalty=-options.word_ins_penalty)
        batch = penalty_by_label(batch, scales)
    return replace(batch, scales=scales)


def penalty_by_label(batch: Lattices, scales: Scales, *, silent: bool = True) -> Lattices:
    """The batch, with the word penalty of `scales` for every label of the recognizer instead of every word.

    That x-ray is one label and two words, and <noise> a label and no word, joins the language scores; without
    `silent`, labels that say no word stay as they are.
    """
    if batch.transition is None or not scales.word_penalty or not scales.transition:
        return batch
    used = np.unique(batch.surface)
    texts = batch.vocabulary.lookup(used.tolist())
    is_label = np.isin(batch.surface, used[[not text.endswith(JOINER) and text not in _NO_LABELS for text in texts]])
    is_word = batch.word > 0
    labels_over_words = 1.0 * (is_label & (is_word | silent)) - is_word
    if not labels_over_words.any():
        return batch
    more = labels_over_words * (scales.word_penalty / scales.transition)
    return replace(batch, transition=(batch.transition + more).astype(np.float32))


def _nothing_to_weigh(batch: Lattices) -> InputError:
    if batch.origin.tolerance is not None:
        found = "these are networks: their posteriors were made when they were built"
        remedy = "Build them again from the lattices, with --lmwt, --acoustic-scale or --word-ins-penalty there"
    else:
        found = "there are no acoustic and language scores here to weigh against each other"
        remedy = "--lmwt, --acoustic-scale and --word-ins-penalty are for lattices with both; leave them out"
    return InputError(found, file=batch.origin.file, remedy=remedy)


def weighed(read: Iterable[ReadBatch], notify: Notify) -> Iterator[Lattices]:
    """The batches, weighed; `notify` is told once where unscaled scores were recognised.

    Whether scores are scaled is decided for the files of a folder together, on the first utterances.
    """
    told = set[str]()
    for (_, may_be_unscaled, _), group in groupby(read, lambda part: part.kind):
        first = list(_first(group)) if may_be_unscaled else []
        found = find_scales([part.lattices for part in first])
        if found and found.message not in told:
            told.add(found.message)
            notify(found.message)
        for part in chain(first, group):
            yield weigh(replace(part.lattices, scales=found.scales) if found else part.lattices, part.options)


def _first(batches: Iterator[ReadBatch]) -> Iterator[ReadBatch]:
    """As many batches as are needed to tell whether scores are scaled."""
    utterances = arcs = 0
    while utterances < MOST_UTTERANCES and arcs < MOST_ARCS and (part := next(batches, None)) is not None:
        utterances, arcs = utterances + len(part.lattices), arcs + len(part.lattices.source)
        yield part
