"""Whether words of lattices differ in accents only, which the normaliser takes off: in English they are one word.

In Vietnamese, Polish or German they are two (một and mốt, chce and chcę, schon and schön), and nothing in a file
names its language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from ..lattices.lattice import Lattices
from ..lattices.text import Normalizer
from .format import ReadOptions
from .scaling import ReadBatch

LEAST_WORDS, LEAST_SHARE = 2, 0.005  # that have several spellings; English vocabularies have a few (café, cafe)
MOST_ARCS = 200_000  # then it is not looked at any longer
_EXAMPLES = 2
_WITH_ACCENTS = Normalizer(accents=False)


def with_checked_words(read: Iterable[ReadBatch], notify: Callable[[str], None]) -> Iterator[ReadBatch]:
    """The batches as they are; `notify` is told, once, if accents seem to make other words.

    Words that were normalised before, and those that are read for scoring, which has its own rules, are left alone.
    """
    spellings: dict[str, set[str]] = {}
    arcs, several, is_told = 0, 0, False
    for part in read:
        if not is_told and arcs < MOST_ARCS and not part.keeps_words and _drops_accents(part.given):
            several += _add_spellings(part.lattices, spellings)
            arcs += len(part.lattices.word)
            if several >= max(LEAST_WORDS, LEAST_SHARE * len(spellings)):
                notify(_problem(spellings))
                is_told = True
        yield part


def _drops_accents(options: ReadOptions) -> bool:
    return options.normalizer.accents and not options.normalizer.as_written and not options.for_scoring


def _add_spellings(batch: Lattices, spellings: dict[str, set[str]]) -> int:
    """Add the words of a batch, each with its spellings, case and punctuation aside; how many now have several."""
    several = 0
    pairs = np.unique(batch.word[batch.word > 0].astype(np.int64) << 32 | batch.surface[batch.word > 0])
    words, surfaces = (batch.vocabulary.lookup(ids.tolist()) for ids in (pairs >> 32, pairs & 0xFFFFFFFF))
    for word, surface in zip(words, surfaces, strict=True):
        own = spellings.setdefault(word, set())
        had_several = len(own) > 1
        own.update([word] if surface.isascii() else _WITH_ACCENTS.words(surface)[:1])
        several += len(own) > 1 and not had_several
    return several


def _problem(spellings: dict[str, set[str]]) -> str:
    several = [sorted(own) for own in spellings.values() if len(own) > 1]
    examples = ", ".join(" and ".join(own[:3]) for own in several[:_EXAMPLES])
    return (
        f"{len(several):,} of {len(spellings):,} words differ in accents only ({examples}) and are taken for the "
        "same: --as-written keeps them apart"
    )
