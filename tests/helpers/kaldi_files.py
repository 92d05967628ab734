"""Kaldi lattices for tests, written byte by byte without any code of the package, and what reading must give."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from tests.helpers.reading import read_bytes
from tests.helpers.strategies import assembled
from wordtrust.base.problems import Problems
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.kaldi import binary as kaldi_binary
from wordtrust.formats.kaldi import text as kaldi_text
from wordtrust.lattices.lattice import Lattice, Lattices

WORDS = ("<eps>", "I", "will", "sit", "there", "naïve", "I'll", "<sil>")
FRAME = 0.03

Arc = tuple[int, int, int, float, float, int]  # source, target, word, graph and acoustic cost, frames
FrameArc = tuple[int, int, int, int, float, float]  # source, target, ilabel, olabel, costs
Final = tuple[int, float, float, int]  # state, costs, frames


@dataclass(frozen=True)
class Compact:
    """A CompactLattice. `start` is the source of its first arc, as text has it."""

    utt: str
    states: int
    arcs: tuple[Arc, ...]
    finals: tuple[Final, ...]
    start: int = 0

    def expected(self, words: tuple[str, ...] = WORDS) -> Lattice:
        """What reading must give, by a plain search for times and a plain list of arcs."""
        ends = [(source, target) for source, target, *_ in self.arcs]
        frames = [arc[5] for arc in self.arcs]
        tokens = ["" if arc[2] == 0 else words[arc[2]] for arc in self.arcs]
        graph, acoustic = [arc[3] for arc in self.arcs], [arc[4] for arc in self.arcs]
        end = self.finals[0][0]
        if len(self.finals) > 1 or any(self.finals[0][1:]) or any(source == end for source, _ in ends):
            end = self.states
            for state, final_graph, final_acoustic, final_frames in self.finals:
                ends.append((state, end))
                frames.append(final_frames)
                tokens.append("")
                graph.append(final_graph)
                acoustic.append(final_acoustic)
        time = {self.start: 0}
        while len(before := dict(time)) and any(source in before and target not in before for source, target in ends):
            time |= {b: before[a] + n for (a, b), n in zip(ends, frames, strict=True) if a in before}
        order = [self.start, *(s for s in range(max(self.states, end + 1)) if s not in (self.start, end)), end]
        number = {state: place for place, state in enumerate(order)}
        return assembled(
            self.utt,
            time=[round(time.get(state, 0) * FRAME, 9) for state in order],
            ends=[(number[source], number[target]) for source, target in ends],
            tokens=tokens,
            acoustic=[-cost for cost in acoustic],
            transition=[-cost for cost in graph],
        )


@dataclass(frozen=True)
class Framed:
    """A Lattice: an arc is at most one frame."""

    utt: str
    states: int
    arcs: tuple[FrameArc, ...]
    finals: tuple[Final, ...]
    start: int = 0


def expanded(lattice: Compact) -> Framed:
    """What lattice-copy makes of a CompactLattice: its states first, then those of the chains, as they come."""
    arcs: list[FrameArc] = []
    finals: list[Final] = []
    states = lattice.states
    for state in range(lattice.states):
        for _, graph, acoustic, frames in (final for final in lattice.finals if final[0] == state):
            here = state
            for frame in range(frames):
                arcs.append((here, states, 7, 0, *((graph, acoustic) if frame == 0 else (0.0, 0.0))))
                here, states = states, states + 1
            finals.append((here, *((0.0, 0.0) if frames else (graph, acoustic)), 0))
        for _, target, word, graph, acoustic, frames in (arc for arc in lattice.arcs if arc[0] == state):
            here = state
            for frame in range(max(1, frames)):
                last = frame + 1 >= frames
                costs = (graph, acoustic) if frame == 0 else (0.0, 0.0)
                arcs.append((here, target if last else states, 7 if frames else 0, word if frame == 0 else 0, *costs))
                if not last:
                    here, states = states, states + 1
    return Framed(lattice.utt, states, tuple(arcs), tuple(finals), lattice.start)


def is_told_by_frames(made: Compact) -> bool:
    """Whether frames tell where each arc begins: wordless ones do by their cost, but not two of them at the end."""
    long = any(arc[5] > 1 for arc in made.arcs)
    costly = all(word or graph or acoustic for _, _, word, graph, acoustic, _ in made.arcs)
    if len(made.finals) == 1 and not any(made.finals[0][1:]):
        return long and costly
    ends = {state for state, *_ in made.finals}
    costly = costly and all(graph or acoustic for _, graph, acoustic, _ in made.finals)
    return long and costly and all(word for _, target, word, *_ in made.arcs if target in ends)


def number(value: float) -> str:
    """As few digits as give the same single-precision number again; Kaldi's names for the others."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "BadNumber" if math.isnan(value) else str(np.float32(value))


def ids(frames: int) -> str:
    return "_".join(str(17 + frame) for frame in range(frames))


def archive_text(
    lattice: Compact | Framed, *, sep: str = "\t", words: tuple[str, ...] = (), newline: str = "\n"
) -> str:
    """An archive entry as Kaldi prints it: the start state first, weights that are one left out."""
    compact = isinstance(lattice, Compact)

    def weight(graph: float, acoustic: float, frames: float = 0) -> str:
        costs = f"{number(graph)},{number(acoustic)}"
        return (f"{costs},{ids(int(frames))}" if compact else costs) if graph or acoustic or frames else ""

    lines = [f"{lattice.utt} "]
    for state in [lattice.start, *(state for state in range(lattice.states) if state != lattice.start)]:
        for source, target, label, *rest in (arc for arc in lattice.arcs if arc[0] == state):
            labels = [words[label] if words else str(label)] if compact else [str(label), str(rest.pop(0))]
            lines.append(sep.join(filter(None, [str(source), str(target), *labels, weight(*rest)])))
        for _, *rest in (final for final in lattice.finals if final[0] == state):
            lines.append(sep.join(filter(None, [str(state), weight(*rest)])))
    return newline.join([*lines, "", ""])


def header(arc_type: str, start: int, states: int, *, flags: int = 0, graph_type: str = "vector") -> bytes:
    """The header of an OpenFst file."""
    names = b"".join(struct.pack("<i", len(name)) + name.encode() for name in (graph_type, arc_type))
    return struct.pack("<i", 2125659606) + names + struct.pack("<iiQqqq", 2, flags, 3, start, states, 0)


def binary(lattice: Compact | Framed, *, double: bool = False, key: bool = True, states: int | None = None) -> bytes:
    """An archive entry in binary; `states` is what the header says."""
    compact = isinstance(lattice, Compact)
    costs = "<dd" if double else "<ff"
    size = 8 if double else 4
    arc_type = f"compactlattice{size}4" if compact else f"lattice{size}"

    def weight(graph: float, acoustic: float, frames: int) -> bytes:
        return struct.pack(costs, graph, acoustic) + (
            struct.pack(f"<{frames + 1}i", frames, *[9] * frames) if compact else b""
        )

    parts = [f"{lattice.utt} ".encode()] if key else []
    parts.append(header(arc_type, lattice.start, lattice.states if states is None else states))
    for state in range(lattice.states):
        final = next((each for each in lattice.finals if each[0] == state), (state, math.inf, math.inf, 0))
        leaving = [arc for arc in lattice.arcs if arc[0] == state]
        parts += [weight(*final[1:]), struct.pack("<q", len(leaving))]
        for arc in leaving:
            if isinstance(lattice, Compact):
                _, target, word, graph, acoustic, frames = arc
                parts.append(struct.pack("<ii", word, word) + weight(graph, acoustic, int(frames)))
            else:
                _, target, ilabel, olabel, graph, acoustic = arc
                parts.append(struct.pack("<ii", int(ilabel), int(olabel)) + weight(graph, acoustic, 0))
            parts.append(struct.pack("<i", int(target)))
    return b"".join(parts)


def words_txt(folder: Path) -> Path:
    """A symbol table for WORDS."""
    path = folder / "words.txt"
    path.write_text("".join(f"{word} {number}\n" for number, word in enumerate(WORDS)), "utf-8")
    return path


def options(words: Path | None, max_arcs: int = 2_000_000) -> ReadOptions:
    return ReadOptions(words=words, frame_length=FRAME, max_arcs=max_arcs)


def read_text(data: str | bytes, words: Path | None, problems: Problems | None = None, **more: int) -> Lattices:
    return read_bytes(
        kaldi_text.FORMAT, data, name="some/lat.1.ark", problems=problems, options=options(words, **more)
    )


def read_binary(data: bytes, words: Path | None, problems: Problems | None = None, **more: int) -> Lattices:
    return read_bytes(kaldi_binary.FORMAT, data, name="some/lat.1", problems=problems, options=options(words, **more))


def costs() -> st.SearchStrategy[float]:
    return st.one_of(st.just(0.0), st.floats(-1e4, 1e4, width=32, allow_subnormal=False))


@st.composite
def compacts(draw: st.DrawFn, *, utt: str = "utt-1", start_anywhere: bool = False) -> Compact:
    """A CompactLattice with any numbering of states, several final states, and strings at them."""
    states = draw(st.integers(2, 7))
    time = [0, *np.cumsum(draw(st.lists(st.integers(0, 5), min_size=states - 1, max_size=states - 1))).tolist()]
    pair = st.tuples(st.integers(0, states - 1), st.integers(0, states - 1)).filter(lambda ends: ends[0] < ends[1])
    ends = [(k, k + 1) for k in range(states - 1)] + draw(st.lists(pair, max_size=8))
    others = list(range(0 if start_anywhere else 1, states))
    shuffled = draw(st.permutations(others))
    number = list(shuffled) if start_anywhere else [0, *shuffled]
    arcs = [
        (number[a], number[b], draw(st.integers(0, len(WORDS) - 1)), draw(costs()), draw(costs()), time[b] - time[a])
        for a, b in ends
    ]
    finals = {states - 1} | draw(st.sets(st.integers(1, states - 1), max_size=3))
    tail = draw(st.integers(0, 2))
    weighed = [
        (number[state], draw(costs()), draw(costs()), time[-1] + tail - time[state]) for state in sorted(finals)
    ]
    return Compact(utt, states, tuple(sorted(arcs, key=lambda arc: arc[0])), tuple(weighed), number[0])


EXAMPLE = Compact(
    "utt-1",
    4,
    ((0, 1, 1, 1.5, -2.25, 3), (0, 2, 6, 0.25, 8.0, 5), (1, 2, 2, 0.0, 0.0, 2), (2, 3, 0, 4.0, 0.5, 1)),
    ((3, 0.0, 0.0, 0),),
)


def with_arcs(lattice: Compact, *arcs: Arc) -> Compact:
    """The same lattice with other arcs."""
    return replace(lattice, arcs=arcs)
