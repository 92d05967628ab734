"""What a language model says about the words of networks, as evidence on their arcs.

The k best word sequences of each network (k = 8 by default; by posterior, exact) are scored. Each gets a share of all
k by its posterior and its probability as a sentence, the latter weighed by WEIGHT. Then every word arc has

- `lm_logprob`: log P(word | words before it), on the best of the sequences that it is on;
- `lm_next_logprob`: the same of the word that follows it there: a wrong word makes the next one improbable;
- `lm_share`: the log-odds of the shares of all sequences that it is on.

An arc on none of them has the least `lm_share` there is and the mean of its utterance for the others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..base.arrays import csr_offsets, csr_rows, logit
from ..base.errors import OptionError
from ..lattices.evidence import OPTIONAL_EVIDENCE
from ..lattices.lattice import Floats, Lattices, Offsets
from ..lattices.weights import Reals
from .best_sentences import BestSentences
from .language_model import LanguageModel
from .loading import load_language_model

K_BEST = 8
WEIGHT = 0.5  # of the language model against posteriors: flat from .3 to 1 on dev of kaldi-small-2020, the only gain
LEAST_SHARE = 1e-4
COLUMNS = OPTIONAL_EVIDENCE["has_lm"]


@dataclass(frozen=True, slots=True)
class LanguageEvidence:
    """A language model that reads networks: `evidence(networks)` gives them back with its columns."""

    model: LanguageModel
    k: int = K_BEST

    def to_json(self) -> dict[str, object]:
        """What figures about networks with this evidence are reported with."""
        return {"name": self.model.name, "paths": self.k, "weight": WEIGHT}

    def __call__(self, networks: Lattices) -> Lattices:
        """The networks with what the model says on their arcs; they stay as they are if they have it already."""
        if set(COLUMNS) <= networks.extra.keys() or not len(networks):
            return networks
        best = BestSentences.of(networks, self.k, surfaces=self.model.reads_surfaces)
        values = self.model.word_logprobs(best.words)
        return replace(networks, extra={**networks.extra, **columns(networks, best, values)})


def load_evidence(
    model: str | Path, *, k: int | None = None, device: str = "auto", threads: int | None = None
) -> LanguageEvidence:
    """The evidence of a language model by its file, folder or name (see `load_language_model`)."""
    loaded = load_language_model(model, device=device, threads=threads)
    own = getattr(loaded, "k", None)  # sentences that were scored elsewhere are so many of an utterance
    if own is not None and k not in (None, own):
        raise OptionError(f"{model}: has the {own} best sentences of each utterance, not {k}")
    return LanguageEvidence(loaded, k or own or K_BEST)


def columns(networks: Lattices, best: BestSentences, values: Reals) -> dict[str, Floats]:
    """The columns by name; `values` are what `LanguageModel.word_logprobs` gives for the sentences."""
    paths, count = best.paths, np.bincount(best.path, minlength=len(best.paths.score))
    ends = csr_offsets(count + 1)[1:] - 1  # where in `values` the end of each sentence is
    path_of_value = np.repeat(np.arange(len(count)), count + 1)
    total = paths.score + WEIGHT * np.bincount(path_of_value, values, len(count))
    is_word = np.ones(len(values), bool)
    is_word[ends] = False
    word, following = values[is_word], values[np.flatnonzero(is_word) + 1]
    share = np.zeros(len(networks.source))
    np.add.at(share, paths.arcs_in(networks), np.repeat(_softmax(total, paths.offsets), np.diff(paths.path_offsets)))
    chosen = _best_use(best, total)
    own, after = (_spread(networks, best.arc[chosen], part[chosen]) for part in (word, following))
    logits = logit(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))
    return {name: part.astype(np.float32) for name, part in zip(COLUMNS, (own, after, logits), strict=True)}


def _softmax(total: Reals, offsets: Offsets) -> Reals:
    """The share of each path among those of its utterance."""
    rows = csr_rows(offsets)
    weight = np.exp(total - np.maximum.reduceat(total, offsets[:-1])[rows])
    shares: Reals = weight / np.bincount(rows, weight)[rows]
    return shares


def _best_use(best: BestSentences, total: Reals) -> Offsets:
    """For each arc that is on a path, the word (of all paths) that it is on the best of its paths."""
    order = np.lexsort((-total[best.path], best.arc))
    first = np.diff(best.arc[order], prepend=-1) > 0
    chosen: Offsets = order[first]
    return chosen


def _spread(networks: Lattices, arc: Offsets, values: Reals) -> Reals:
    """[arcs] the values on their arcs, on all others the mean of their utterance."""
    utterance = networks.utterance_of_arc
    count = np.bincount(utterance[arc], minlength=len(networks))
    mean = np.bincount(utterance[arc], values, len(networks)) / np.maximum(count, 1)
    spread: Reals = mean[utterance]
    spread[arc] = values
    return spread
