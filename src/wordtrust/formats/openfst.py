"""OpenFst text (`fstprint`) and k2 text (`k2.to_str`), with symbol tables.

One arc is one frame; arcs without input (label 0 in OpenFst, -1 in k2, where 0 is the blank) take none. Words are the
outputs (`aux_labels`), or the labels of an acceptor, as numbers in a symbol table or as they are. There is one weight
an arc, the total of all models: it becomes the acoustic score, and the transition score is absent.

Where paths of different length lead to the same state, the arcs were no frames (a word lattice without times): times
are then made up, one second an arc along the longest path, unless a frame length is given.

Files that PyTorch saved (.pt) are never read: unpickling them can run any code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..base.errors import InputError
from ..base.jit import compiled
from ..lattices.assemble import Builder, Problems, RawLattice, Tokens
from ..lattices.lattice import Flags, Floats, Ints, Lattices, Offsets, Origin
from .base import Format, ReadOptions
from .frames import contract
from .inputs import Stream
from .openfst_blocks import Block, Columns, blocks, columns, number
from .symbols import Symbols, SymbolTokens

FRAME_LENGTH = 0.01
_MADE_UP_LENGTH = 1.0
# The second byte is the protocol; then a frame, a string, an empty list or dict, a tuple's mark, a class or a number.
_PICKLE = re.compile(rb"\x80[\x02-\x05][\x95XU\x8c\]})(c\x8a]", re.DOTALL)
_EPSILONS = frozenset({b"<eps>", b"<epsilon>"})
_WHOLE_NUMBER = re.compile(rb"-?[0-9]{1,18}")
_FRACTION = re.compile(rb"-?[0-9]*\.[0-9]*")


def sniff(head: bytes, name: str) -> float:
    """How surely these are arcs of an automaton: lines that begin with two states. Also claims what PyTorch saved."""
    if _PICKLE.match(head):
        return 1.0 if name.endswith((".pt", ".pth", ".pkl", ".pickle", ".ckpt")) else 0.5
    lines = head.split(b"\n")[:200]
    rows = [line.split() for line in (lines[:-1] if len(lines) > 1 else lines)]
    # A single field at the beginning, or after a blank line, is a name.
    rows = [row for before, row in pairwise([[], *rows]) if row and (before or len(row) > 1)]
    arcs = [row for row in rows if len(row) > 2]
    if not arcs or not all(_is_line(row) for row in rows):
        return 0.0
    if any(b"," in row[-1] for row in arcs):
        return 0.2  # Kaldi's weights
    if any(row[2] == b"-1" for row in arcs):
        return 0.95
    return 0.8 if all(len(row) < 5 or _is_number(row[4]) for row in arcs) else 0.0


def _is_line(row: list[bytes]) -> bool:
    if not row[0].isdigit() or len(row) > 5:
        return False
    if len(row) == 2:
        return _is_number(row[1]) or b"," in row[1]
    if len(row) == 1:
        return True
    # A label is a whole number or a symbol; a fraction is the time of something else.
    return row[1].isdigit() and not _FRACTION.fullmatch(row[2])


def _is_number(text: bytes) -> bool:
    try:
        number(text)
    except InputError:
        return False
    return True


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """A lattice for each automaton; a bad one is reported, and reading goes on with the next."""
    if _PICKLE.match(stream.head()):
        raise stream.error(
            "a file that Python pickled (torch.save): it is not read, because unpickling can run any code",
            remedy="Write the lattice as text where it was made: open('utt.fst.txt', 'w').write(k2.to_str(fsa))",
        )
    reading = _Reading(stream, options, problems)
    for block in blocks(stream, stream.stem.removesuffix(".fst"), options.max_arcs):
        try:
            lattice = reading.convert(block)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=block.utt, place=f"line {block.line}"))
        else:
            yield from reading.builder.add(lattice)
    yield from reading.builder.flush()


@dataclass(frozen=True, slots=True)
class _Automaton:
    """Arcs between numbered states; only `end` is final."""

    states: int
    start: int
    end: int
    source: Ints
    target: Ints
    token: Ints  # 0 where there is no word
    frame: Flags
    score: Floats


class _Reading:
    """One pass over a file: what its labels mean, and the lattices so far."""

    def __init__(self, stream: Stream, options: ReadOptions, problems: Problems) -> None:
        self._options = options
        self._tokens = Tokens(options.normalizer)
        self._by_number: SymbolTokens | None = None
        origin = Origin(stream.name, "openfst", frame_length=options.frame_length or FRAME_LENGTH)
        self.builder = Builder(self._tokens, problems, origin=origin)

    def convert(self, block: Block) -> RawLattice:
        """The lattice of an automaton: frames joined to words, and times."""
        if block.error:
            raise block.error
        if len(block.source) > self._options.max_arcs:
            raise self._options.too_many_arcs(len(block.source))
        if not block.source:
            raise InputError("there are no arcs", remedy="Was the file cut off, or decoding interrupted?")
        found = self._automaton(block, columns(block))
        order = np.argsort(found.source, kind="stable")
        first = np.searchsorted(found.source[order], np.arange(found.states + 1))
        frames, agree = _count_frames(found.start, found.target, found.frame, first, order)
        length = self._options.frame_length or (FRAME_LENGTH if agree else _MADE_UP_LENGTH)
        final = np.arange(found.states) == found.end
        scores = {"acoustic": found.score}
        made = contract(
            found.states, found.source, found.target, found.token, found.frame, scores, found.start, final
        )
        return RawLattice(
            utt=block.utt,
            time=frames[made.state].astype(np.float64) * length,
            times="given" if agree else "aligned",
            source=made.source,
            target=made.target,
            token=made.word,
            start=made.start,
            end=int(np.flatnonzero(made.final)[0]),
            acoustic=made.scores["acoustic"],
            place=block.line,
        )

    def _automaton(self, block: Block, arcs: Columns) -> _Automaton:
        """Arcs with scores between numbered states; final weights become arcs to one end."""
        sign = 1.0 if arcs.k2 else -1.0
        score = np.array([0.0 if text is None else sign * number(text) for text in arcs.weight], np.float32)
        taken = score > -np.inf  # an arc of infinite cost is no arc
        final = block.final or dict.fromkeys(_k2_ends(block, arcs), 0.0)
        if not final:
            raise InputError("there is no final state", remedy="Was the file cut off?")
        ended = list(final.values()) == [0.0] and not final.keys() & set(block.source)  # the end as it stands
        # Numbered from last to first, with an added end as 0: `contract` would take a final state with the largest
        # number for one of those that Kaldi adds when it expands a lattice.
        mentioned = -np.array([block.start, *final, *block.source, *block.target], np.int64)
        known, state = np.unique(mentioned, return_inverse=True)
        state += not ended
        source, target = state[1 + len(final) :].reshape(2, -1)[:, taken]
        ends = state[1 : 1 + len(final)][: 0 if ended else None]
        silent = np.zeros(len(ends), np.int32)
        weight = np.array([sign * each for each in final.values()], np.float32)
        return _Automaton(
            states=len(known) + (not ended),
            start=int(state[0]),
            end=int(state[1]) if ended else 0,
            source=np.concatenate([source, ends]).astype(np.int32),
            target=np.concatenate([target, silent]).astype(np.int32),
            token=np.concatenate([self._words(arcs.word)[taken], silent]),
            frame=np.concatenate([_frames(arcs)[taken], silent]) != 0,
            score=np.concatenate([score[taken], weight[: len(ends)]]),
        )

    def _words(self, texts: list[bytes]) -> Ints:
        """The tokens of labels: numbers of a symbol table, or words."""
        if not _are_numbers(texts):
            tokens = {text: 0 if text in _EPSILONS else self._tokens.id(_decoded(text)) for text in set(texts)}
            return np.array([tokens[text] for text in texts], np.int32)
        labels = np.maximum(np.array(list(map(int, texts)), np.int64), 0)  # -1 is no word of k2
        if not labels.any():
            return labels.astype(np.int32)
        found = self._symbol_tokens()(np.minimum(labels, 2**31 - 1).astype(np.int32))
        if found.min() < 0:
            raise InputError(
                f"label {labels[np.argmin(found)]} is not in the symbol table",
                remedy="Is this the table of the outputs? Give another with --words",
            )
        return found

    def _symbol_tokens(self) -> SymbolTokens:
        if self._by_number is None:
            if self._options.words is None:
                raise InputError(
                    "the words are numbers, and there is no symbol table to tell which words they are",
                    remedy="Give the table of the outputs with --words words.txt, or put it beside the file",
                )
            self._by_number = SymbolTokens(Symbols.load(self._options.words), self._tokens)
        return self._by_number


def _k2_ends(block: Block, arcs: Columns) -> list[int]:
    """The final state of k2 is where arcs of label -1 lead, should its own line be missing."""
    return [target for target, label in zip(block.target, arcs.label, strict=True) if arcs.k2 and label == b"-1"]


def _frames(arcs: Columns) -> Flags:
    """Which arcs take a frame."""
    without = frozenset({b"-1"} if arcs.k2 else {b"0"} if _are_numbers(arcs.label) else _EPSILONS)
    return np.array([label not in without for label in arcs.label], np.bool_)


def _are_numbers(texts: list[bytes]) -> bool:
    return all(_WHOLE_NUMBER.fullmatch(text) for text in set(texts))


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise InputError(f"not UTF-8: {text[:40]!r}", remedy="Convert the file to UTF-8") from None


@compiled
def _count_frames(start: int, target: Ints, frame: Flags, first: Offsets, order: Offsets) -> tuple[Offsets, bool]:
    """Frames from the start to every state, along the longest path; and whether all paths have that many."""
    states = len(first) - 1
    waiting, seen = np.zeros(states, np.int64), np.zeros(states, np.bool_)
    queue = np.empty(states, np.int64)
    queue[0], seen[start], done, known = start, True, 0, 1
    while done < known:  # count the arcs that enter each state that can be reached
        state = queue[done]
        done += 1
        for place in range(first[state], first[state + 1]):
            reached = target[order[place]]
            waiting[reached] += 1
            if not seen[reached]:
                seen[reached] = True
                queue[known] = reached
                known += 1
    frames, agree = np.full(states, -1, np.int64), True
    frames[start] = 0
    queue[0], done, known = start, 0, 1
    while done < known:  # a cycle is never left here; `assemble` reports it
        state = queue[done]
        done += 1
        for place in range(first[state], first[state + 1]):
            arc = order[place]
            reached, count = target[arc], frames[state] + frame[arc]
            agree &= frames[reached] < 0 or frames[reached] == count
            frames[reached] = max(frames[reached], count)
            waiting[reached] -= 1
            if waiting[reached] == 0:
                queue[known] = reached
                known += 1
    return np.maximum(frames, 0), agree


FORMAT = Format("openfst", "OpenFst or k2 text", (".fst.txt", ".txt"), sniff=sniff, read=read)
