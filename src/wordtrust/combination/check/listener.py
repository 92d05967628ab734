"""A transcript to check and the listeners that check it, as members of joint networks.

The transcript is the pivot: a chain of words, all sure. A listener brings scored networks, or a chain of its own
where it is another transcript.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...base.errors import OptionError
from ...lattices.lattice import Flags, Floats, Ints, Lattices, Offsets
from ...lattices.paths import Paths, one_best
from ...lattices.vocabulary import Vocabulary
from ...networks.equivalents import ALL
from ...networks.equivalents.classes import classes_of
from ..joint.hypotheses import hypotheses


class Listener(NamedTuple):
    """What one recognizer heard in the utterances of a transcript, in the same order."""

    name: str
    networks: Lattices  # scored networks, or chains: another transcript
    confidence: Floats | None = None  # [arcs] None: chains without confidences
    output: Paths | None = None  # the chosen words; None: the 1-best
    covers: Flags | None = None  # [utterances] which it listened to; None: all


class ForcedWords(NamedTuple):
    """How probable a listener finds the words of the transcript, read to it; NaN where it was not asked."""

    logprob: Floats  # [words] of all tokens of the word, given the audio and the words before
    least: Floats  # [words] of its least probable token
    tokens: Floats  # [words] how many it has
    margin: Floats  # [words] how far the worst token is from the most probable one there; 0: would have been written
    end: Floats  # [utterances] that the text ends after its last word


def pivot_chains(pivot: Lattices) -> Lattices:
    """The words of the transcript as networks of one path, all sure; spellings of a word are the same word."""
    if len(pivot.source) != len(pivot.time) - len(pivot):
        raise OptionError("a transcript is one chain of words for each utterance, without alternatives")
    sure = np.ones(len(pivot.source), np.float32)
    return replace(
        pivot, acoustic=None, transition=None, posterior=sure, picked=sure > 0, extra={},
        origin=replace(pivot.origin, equate=str(ALL)),
    )  # fmt: skip


def listener_networks(listener: Listener) -> tuple[Lattices, Floats, Paths]:
    """Its networks with posteriors, the confidence of every arc, and the words that it chose."""
    networks, confidence = listener.networks, listener.confidence
    if networks.posterior is None or confidence is None:
        networks = replace(networks, posterior=np.ones(len(networks.source), np.float32))
        confidence = np.ones(len(networks.source), np.float32) if confidence is None else confidence
    return networks, confidence, one_best(networks) if listener.output is None else listener.output


def joint_members(pivot: Lattices, listener: Listener) -> list[Lattices]:
    """Transcript and listener as hypotheses of a joint network, words numbered for these two alone."""
    if pivot.utts != listener.networks.utts:
        raise OptionError(f"{listener.name} has other utterances than the transcript, or in another order")
    sure, vocabulary = np.ones(len(pivot.source), np.float32), Vocabulary()
    members = [
        hypotheses(pivot, sure, one_best(pivot), vocabulary),
        hypotheses(*listener_networks(listener), vocabulary),
    ]
    return _in_one_spelling(members, vocabulary)


def _in_one_spelling(members: list[Lattices], vocabulary: Vocabulary) -> list[Lattices]:
    """The same; where words count as the same as one that the transcript has in the utterance, they are that word."""
    classes = classes_of(np.unique(np.concatenate([lattices.word for lattices in members])), vocabulary, ALL)
    if classes is None:
        return members
    keys = [lattices.utterance_of_arc * (int(classes.max()) + 1) + classes[lattices.word] for lattices in members]
    spelled = members[0].word > 0
    known, first = np.unique(keys[0][spelled], return_index=True)
    word = members[0].word[spelled][first]
    return [_spelled_as(lattices, key, known, word) for lattices, key in zip(members, keys, strict=True)]


def _spelled_as(lattices: Lattices, key: Offsets, known: Offsets, word: Ints) -> Lattices:
    """Words with a known key as the word that belongs to it."""
    if not len(known):
        return lattices
    place = np.minimum(np.searchsorted(known, key), len(known) - 1)
    is_known = (known[place] == key) & (lattices.word > 0)
    return replace(lattices, word=np.where(is_known, word[place], lattices.word).astype(np.int32))
