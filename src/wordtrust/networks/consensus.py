"""The classic word confusion network and minimum Bayes risk decoding: the baseline that the HWCN is measured against.

All paths of a lattice are forced into one sequence of slots, each holding words and an epsilon ("nothing was said
here") with posteriors that sum to 1. The slots come from the recursion of Xu, Povey, Mangu and Zhu ("Minimum Bayes
risk decoding and system combination based on a recursion for edit distance", 2011), which Kaldi's lattice-mbr-decode
uses too: align all paths at once with a word sequence (first the best path) that has a free position between any two
words, replace each position by its most probable word or epsilon, and again while that saves errors.

`errors`, the expected number of errors of the result, is exact where paths meet only at the start and the end (N-best
lists). Elsewhere it is an upper bound: paths that meet in a node must agree from there on how much of the sequence is
used up. It never rises from one round to the next.

Silence says nothing, like an epsilon. Where a recognizer gave nothing but word posteriors, these only weigh the arcs
that end in one node against each other; a single hypothesis with confidences gets slots of posterior 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from ..base.arrays import csr_offsets
from ..base.errors import OptionError
from ..base.number_format import counted
from ..lattices.lattice import Ints, Lattice, Lattices, Offsets, Times
from ..lattices.paths import Paths, best_paths
from ..lattices.posterior import posteriors
from ..lattices.text import join_surfaces
from ..lattices.vocabulary import Vocabulary
from ..lattices.weights import Reals, Scales, log_scores
from . import consensus_kernels as kernels

WINDOW = 2.0  # seconds
ROUNDS = 100  # seldom more than five are needed
EPSILON = "-"  # how a slot shows that nothing was said
_SHOWN = 8  # entries of a slot, when printed


class SlotEntry(NamedTuple):
    """A word of a slot, or "" for the epsilon."""

    word: str
    surface: str  # as the recognizer wrote it
    posterior: float
    start: float  # seconds, the mean over the arcs with this word; for epsilon the slot's
    end: float


@dataclass(frozen=True, slots=True)
class Slot:
    """What may have been said at one place; the first entry is what minimum Bayes risk decoding says there."""

    start: float
    end: float
    entries: tuple[SlotEntry, ...]

    def __str__(self) -> str:
        listed = " | ".join(f"{entry.surface or EPSILON} {entry.posterior:.2f}" for entry in self.entries[:_SHOWN])
        more = len(self.entries) - _SHOWN
        return f"{self.start:7.2f} {self.end:7.2f}  {listed}" + (f" | {more} more" if more > 0 else "")


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionNetwork:
    """One utterance: its slots, and how many errors its best words are expected to have."""

    utt: str
    slots: tuple[Slot, ...]
    errors: float
    rounds: int  # how often the sequence was changed for a better one

    @property
    def words(self) -> tuple[SlotEntry, ...]:
        """The word sequence with the least expected errors, each word with its posterior and mean times."""
        return tuple(slot.entries[0] for slot in self.slots if slot.entries[0].word)

    @property
    def text(self) -> str:
        """That sequence as people read it."""
        return join_surfaces(entry.surface for entry in self.words)

    def __repr__(self) -> str:
        shown = "".join(f"\n  {slot}" for slot in self.slots[:20]) + ("\n  ..." if len(self.slots) > 20 else "")
        return (
            f"<ConfusionNetwork {self.utt}: {counted(len(self.slots), 'slot')}, {self.errors:.2f} errors expected\n"
            f"  {self.text or '(no words)'}{shown}>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionNetworks(Sequence[ConfusionNetwork]):
    """Confusion networks of many utterances, their arrays end to end.

    The first entry of a slot is what minimum Bayes risk decoding says there, the others follow by posterior. Slots
    that hold nothing but epsilon are left out.
    """

    utts: tuple[str, ...]
    slot_offsets: Offsets  # [utterances + 1] utterance u has slots slot_offsets[u] to slot_offsets[u + 1]
    start: Times  # [slots] seconds, the mean over all words of the slot, put in order
    end: Times
    entry_offsets: Offsets  # [slots + 1]
    word: Ints  # [entries] id of the normalised word in `vocabulary`; 0 for the epsilon
    surface: Ints  # [entries] as the recognizer wrote it
    posterior: Reals  # [entries] sum to 1 in every slot
    entry_start: Times  # [entries] mean times of this word in this slot
    entry_end: Times
    errors: Reals  # [utterances] expected number of errors of the best words
    rounds: Ints  # [utterances] how often the sequence was changed for a better one
    vocabulary: Vocabulary

    @cached_property
    def best(self) -> Offsets:
        """The entries that are the words of the sequences with the least expected errors, in order."""
        first = self.entry_offsets[:-1]
        return first[self.word[first] > 0]

    @cached_property
    def best_offsets(self) -> Offsets:
        """[utterances + 1] the offsets of each utterance in `best`."""
        offsets: Offsets = csr_offsets(self.word[self.entry_offsets[:-1]] > 0)[self.slot_offsets]
        return offsets

    def __len__(self) -> int:
        return len(self.utts)

    @overload
    def __getitem__(self, index: int | str) -> ConfusionNetwork: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ConfusionNetwork, ...]: ...

    def __getitem__(self, index: int | str | slice) -> ConfusionNetwork | tuple[ConfusionNetwork, ...]:
        if isinstance(index, slice):
            return tuple(self._view(i) for i in range(*index.indices(len(self))))
        if isinstance(index, str) and index not in self.utts:
            raise KeyError(f"no utterance {index!r} among {len(self)}")
        return self._view(self.utts.index(index) if isinstance(index, str) else range(len(self))[index])

    def __iter__(self) -> Iterator[ConfusionNetwork]:
        return map(self._view, range(len(self)))

    def _view(self, index: int) -> ConfusionNetwork:
        slots = range(int(self.slot_offsets[index]), int(self.slot_offsets[index + 1]))
        return ConfusionNetwork(
            self.utts[index],
            tuple(Slot(float(self.start[slot]), float(self.end[slot]), self._entries(slot)) for slot in slots),
            float(self.errors[index]),
            int(self.rounds[index]),
        )

    def _entries(self, slot: int) -> tuple[SlotEntry, ...]:
        rows = slice(self.entry_offsets[slot], self.entry_offsets[slot + 1])
        words, surfaces = (self.vocabulary.lookup(ids[rows].tolist()) for ids in (self.word, self.surface))
        figures = (values[rows].tolist() for values in (self.posterior, self.entry_start, self.entry_end))
        return tuple(map(SlotEntry, words, surfaces, *figures))

    def __repr__(self) -> str:
        listed = "".join(f"\n  {network!r}" for network in self[:3]) + ("\n  ..." if len(self) > 3 else "")
        slots, entries = counted(len(self.start), "slot"), f"{len(self.word)} entries"
        return f"<ConfusionNetworks: {counted(len(self), 'utterance')}, {slots}, {entries}{listed}>"


def consensus(
    lattices: Lattices | Lattice,
    scales: Scales | None = None,
    *,
    window: float = WINDOW,
    rounds: int = ROUNDS,
    start: Paths | None = None,
) -> ConfusionNetworks:
    """The confusion networks of a batch, each around the word sequence with the least expected errors.

    Posteriors are made with `scales`, or those of the lattices. Nodes are compared only with words of the sequence
    that lie at most `window` seconds from them (`math.inf` for all). The search begins with the best path, or the
    paths given as `start`, and ends after so many `rounds`; with 0 the slots are those around the path itself.
    """
    if not window > 0:
        raise OptionError(f"the window is in seconds, more than 0, not {window}")
    if rounds < 0:
        raise OptionError(f"the number of rounds is 0 or more, not {rounds}")
    batch = lattices.batch() if isinstance(lattices, Lattice) else lattices
    path = best_paths(batch, log_scores(batch, scales)) if start is None else _checked(start, batch)
    slot_offsets, errors = np.zeros(len(batch) + 1, np.int64), np.empty(len(batch))
    rounds_taken = np.empty(len(batch), np.int32)
    entries = kernels.decode(
        batch.node_offsets, batch.arc_offsets, batch.time, batch.source, batch.target, batch.word,
        _shares(batch, scales), path.offsets, path.arcs, float(window), rounds, len(batch.vocabulary),
        slot_offsets, errors, rounds_taken,
    )  # fmt: skip
    return _arranged(batch, slot_offsets, entries, errors, rounds_taken)


def _checked(start: Paths, lattices: Lattices) -> Paths:
    """The paths, if they can be such of these lattices: kernels do not look where they read."""
    fits = len(start.offsets) == len(lattices) + 1 and start.offsets[-1] == len(start.arcs)
    if fits:
        arcs = np.repeat(np.diff(lattices.arc_offsets), np.diff(start.offsets))
        fits = bool(((start.arcs >= 0) & (start.arcs < arcs)).all())
    if not fits:
        raise OptionError("the paths to start with are not those of these lattices")
    return start


def _shares(lattices: Lattices, scales: Scales | None) -> Reals:
    """[arcs] the share that each has of the mass that enters its target."""
    mass, target = np.maximum(posteriors(lattices, scales).arc, 1e-30), lattices.batch_target
    shares: Reals = mass / np.bincount(target, mass)[target]
    return shares


def _arranged(
    lattices: Lattices, slot_offsets: Offsets, entries: Reals, errors: Reals, rounds: Ints
) -> ConfusionNetworks:
    """What the kernel found, with slot times and surface forms."""
    slot, word, arc = entries[:, :3].T.astype(np.int64)
    posterior, entry_start, entry_end = entries[:, 3:].T.copy()
    weight = np.where(word > 0, np.maximum(posterior, kernels.TINY), 0.0)
    means = (np.bincount(slot, weight * times) / np.bincount(slot, weight) for times in (entry_start, entry_end))
    start, end = _ascending(slot_offsets, *means)
    return ConfusionNetworks(
        utts=lattices.utts,
        slot_offsets=slot_offsets,
        start=start,
        end=end,
        entry_offsets=csr_offsets(np.bincount(slot)),
        word=word.astype(np.int32),
        surface=np.where(arc < 0, word, lattices.surface[arc]).astype(np.int32),
        posterior=posterior,
        entry_start=np.where(word > 0, entry_start, start[slot]),
        entry_end=np.where(word > 0, entry_end, end[slot]),
        errors=errors,
        rounds=rounds,
        vocabulary=lattices.vocabulary,
    )


def _ascending(slot_offsets: Offsets, start: Times, end: Times) -> tuple[Times, Times]:
    """Slot times that do not overlap: those in the wrong order become their mean."""
    both = np.stack([start, end], axis=1).ravel()
    kernels.make_ascending(2 * slot_offsets, both)
    return both[::2].copy(), both[1::2].copy()
