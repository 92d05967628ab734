"""The words that a listener chose, aligned with a transcript as a reference would be: other spellings agree."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ...base.arrays import csr_offsets
from ...lattices.lattice import Floats, Ints, Lattices, Offsets
from ...lattices.text import UNKNOWN
from ...lattices.vocabulary import Vocabulary
from ...networks.align import Alignments
from ...networks.equivalents import ALL
from ...networks.lenient import align_leniently
from ...networks.reference_words import ReferenceWords
from .listener import Listener, listener_networks


@dataclass(frozen=True, slots=True, eq=False)
class AlignedOutput:
    """The output of a listener, utterances end to end, and which of its words those of the transcript stand for."""

    offsets: Offsets  # [utterances + 1] into the listener's words
    word: Ints  # [its words] numbers of `vocabulary`
    vocabulary: Vocabulary
    spelled: tuple[str, ...]  # [its words] as it wrote them
    confidence: Floats  # [its words]
    alignments: Alignments  # of the words of the transcript, with the listener's as reference

    @classmethod
    def of(cls, pivot: Lattices, listener: Listener) -> AlignedOutput:
        """Align them; `pivot` are chains as `pivot_chains` makes them."""
        networks, confidence, output = listener_networks(listener)
        chosen = output.without_silence(networks)
        arcs = chosen.arcs_in(networks)
        words = networks.vocabulary.lookup(networks.word[arcs].tolist())
        texts = [words[first:last] for first, last in pairwise(chosen.offsets.tolist())]
        is_word = pivot.word > 0
        alignments = align_leniently(
            ReferenceWords.of(texts, pivot, ALL), pivot.word[is_word], csr_offsets(is_word)[pivot.arc_offsets],
            unknown=pivot.vocabulary.find(UNKNOWN),
        )  # fmt: skip
        spelled = networks.vocabulary.lookup(networks.surface[arcs].tolist())
        return cls(chosen.offsets, networks.word[arcs], networks.vocabulary, spelled, confidence[arcs], alignments)
