"""State-level lattices, where an arc is one frame, back to lattices whose arcs are words.

Used by every format that stores one arc a frame (Kaldi's `Lattice`, OpenFst and k2 text).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.jit import compiled, inner
from ..lattices.lattice import Flags, Floats, Ints, Offsets

_TRIES = 16  # guesses at how many states there were before a lattice was expanded; the first nearly always fits


@dataclass(frozen=True, slots=True)
class Contracted:
    """One utterance with chains of frames joined to arcs, states numbered anew without gaps."""

    state: Ints  # [states] the number that each had before, ascending
    own: int  # the first `own` states are those of the lattice before it was expanded; all of them if it was not
    source: Ints  # [arcs] in the order of each chain's first arc
    target: Ints
    word: Ints  # [arcs] the word of the chain, 0 where it has none
    frames: Ints  # [arcs] how many frames long
    scores: dict[str, Floats]  # summed along the chain
    start: int
    final: Flags  # [states]


def contract(
    states: int,
    source: Ints,
    target: Ints,
    word: Ints,
    frame: NDArray[np.generic],
    scores: Mapping[str, Floats],
    start: int,
    final: Flags,
) -> Contracted:
    """Join chains of frames into word arcs. `frame` is 1 for arcs that take a frame; word 0 is none.

    A lattice that Kaldi expanded from a compact one (`lattice-copy`, its states first and then those of the
    chains, arc by arc) gets its own states back, those at the ends of final strings behind them. Otherwise every
    state with one arc in and one wordless arc out is dissolved. Start and final states always stay. All state
    numbers must be below `states`.
    """
    values = np.array(list(scores.values()), np.float64).reshape(len(scores), len(source))
    order = np.argsort(source, kind="stable")
    first = np.searchsorted(source[order], np.arange(states + 1))
    taken, weighted = np.asarray(frame) != 0, np.any(values != 0, axis=0)
    own = _own_states(first, order, target, word, taken, weighted, start, final)
    inner = np.zeros(states, np.bool_)
    if own < states:
        inner[own:] = np.diff(first)[own:] == 1
    else:
        entering = np.bincount(target, minlength=states)
        single = np.flatnonzero((entering == 1) & (np.diff(first) == 1))
        inner[single] = word[order[first[single]]] == 0
        inner[start] = False
        inner &= ~final
    kept = np.flatnonzero(~inner).astype(np.int32)
    new_state = (np.cumsum(~inner) - 1).astype(np.int32)
    heads = np.flatnonzero(~inner[source])
    frames, sums = np.zeros(len(heads), np.int32), np.zeros((len(scores), len(heads)))
    ends = _follow(heads, first, order, target, taken, values, inner, frames, sums)
    return Contracted(
        state=kept,
        own=int(np.searchsorted(kept, own)),
        source=new_state[source[heads]],
        target=new_state[ends],
        word=word[heads],
        frames=frames,
        scores={name: sums[row].astype(np.float32) for row, name in enumerate(scores)},
        start=int(new_state[start]),
        final=final[kept],
    )


@compiled
def _follow(heads: Offsets, first: Offsets, order: Offsets, target: Ints, frame: Flags, values: NDArray[np.float64],
            inner: Flags, frames: Ints, sums: NDArray[np.float64]) -> Ints:  # fmt: skip
    """Add up each chain that begins with one of the arcs `heads`; gives the states where they end."""
    ends = np.empty(len(heads), np.int32)
    for chain in range(len(heads)):
        arc = heads[chain]
        while True:
            frames[chain] += frame[arc]
            for row in range(len(values)):
                sums[row, chain] += values[row, arc]
            state = target[arc]
            if not inner[state]:  # an inner state has one arc in, so no chain can come back to itself
                break
            arc = order[first[state]]
        ends[chain] = state
    return ends


@compiled
def _own_states(first: Offsets, order: Offsets, target: Ints, word: Ints, frame: Flags, weighted: Flags,
                start: int, final: Flags) -> int:  # fmt: skip
    """How many states the lattice had before it was expanded; all that there are if it was not."""
    states = len(final)
    lowest = states  # from here on, every state could be one of a chain
    while lowest > start + 1 and _in_chain(lowest - 1, first, order, word, frame, weighted, final):
        lowest -= 1
    # The first chain state is what the first longer arc leads to, and has a larger number than any target before.
    largest, tries = -1, 0
    for state in range(states):
        for leaving in range(first[state], first[state + 1]):
            reached = target[order[leaving]]
            if reached <= largest:
                continue
            largest = reached
            if reached >= lowest and reached > state and tries < _TRIES:
                tries += 1
                if _fits(reached, first, order, target, word, frame, weighted, final):
                    return int(reached)
    return states


@inner
def _in_chain(state: int, first: Offsets, order: Offsets, word: Ints, frame: Flags, weighted: Flags,
              final: Flags) -> bool:  # fmt: skip
    """Whether a state looks like one that expanding added: inside a chain, or at the end of a final string."""
    leaving = first[state + 1] - first[state]
    if leaving != 1:
        return bool(leaving == 0 and final[state])
    arc = order[first[state]]
    return bool(not final[state] and word[arc] == 0 and frame[arc] and not weighted[arc])


@compiled
def _fits(own: int, first: Offsets, order: Offsets, target: Ints, word: Ints, frame: Flags, weighted: Flags,
          final: Flags) -> bool:  # fmt: skip
    """Whether all states from `own` on are chains, numbered in the order in which Kaldi adds them."""
    following = own
    for state in range(own):
        for leaving in range(first[state], first[state + 1]):
            arc = order[leaving]
            reached = target[arc]
            if reached >= own and not frame[arc]:
                return False
            while reached >= own:
                if reached != following or not _in_chain(reached, first, order, word, frame, weighted, final):
                    return False
                following += 1
                if first[reached] == first[reached + 1]:  # a final string has no word
                    if word[arc] != 0:
                        return False
                    break
                reached = target[order[first[reached]]]
    return following == len(final)
