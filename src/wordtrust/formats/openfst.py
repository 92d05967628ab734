"""OpenFst text (`fstprint`) and k2 text (`k2.to_str`), with symbol tables.

OpenFst's `fstprint` writes `source target input output [cost]`, for acceptors `source target label [cost]`, and final
states as `state [cost]`; a cost of 0 is left out. k2's `to_str` writes `source target label [aux_label] score`, with
label -1 on the arcs into the final state, which stands alone on the last line. Several automata in one file are
separated by blank lines, each under its name where Kaldi wrote them.

One arc is one frame; arcs without input (label 0 in OpenFst, -1 in k2, where 0 is the blank) take none. Words are the
outputs (`aux_labels`), or the labels of an acceptor, as numbers in a symbol table or as they are. There is one weight
an arc, the total of all models: it becomes the acoustic score, and the transition score is absent.

Where paths of different length lead to the same state, the arcs were no frames (a word lattice without times): times
are then made up, one second an arc along the longest path, unless a frame length is given.

Files that PyTorch saved (.pt) are never read: unpickling them can run any code.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ..base.errors import InputError
from ..base.jit import compiled
from ..base.problems import Problems
from ..lattices.assemble import Builder, RawLattice, Tokens
from ..lattices.lattice import Flags, Floats, Ints, Lattices, Offsets, Origin
from .format import Format, ReadOptions
from .frames import contract
from .inputs import Stream
from .symbols import Symbols, SymbolTokens

FRAME_LENGTH = 0.01
_MADE_UP_LENGTH = 1.0
# The second byte is the protocol; then a frame, a string, an empty list or dict, a tuple's mark, a class or a number.
_PICKLE = re.compile(rb"\x80[\x02-\x05][\x95XU\x8c\]})(c\x8a]", re.DOTALL)
_EPSILONS = frozenset({b"<eps>", b"<epsilon>"})
_WHOLE_NUMBER = re.compile(rb"-?[0-9]{1,18}")
_FRACTION = re.compile(rb"-?[0-9]*\.[0-9]*")
_LARGEST_WEIGHT = 1e30  # so that sums along paths stay numbers
_KALDI = "Weights with commas are Kaldi's: use --format kaldi"
_LAYOUT = "Lines are `source target input output [cost]`, as fstprint writes them, or as k2.to_str does"


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
    return 0.8 if all(len(row) < 5 or _is_weight(row[4]) for row in arcs) else 0.0


def _is_line(row: list[bytes]) -> bool:
    if not row[0].isdigit() or len(row) > 5:
        return False
    if len(row) == 2:
        return _is_weight(row[1]) or b"," in row[1]
    if len(row) == 1:
        return True
    # A label is a whole number or a symbol; a fraction is the time of something else.
    return row[1].isdigit() and not _FRACTION.fullmatch(row[2])


def _is_weight(text: bytes) -> bool:
    try:
        _weight(text)
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
    reader = _FstReader(stream, options, problems)
    for block in _automata(stream, stream.stem.removesuffix(".fst"), options.max_arcs):
        try:
            lattice = reader.convert(block)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=block.utt, place=f"line {block.line}"))
        else:
            yield from reader.builder.add(lattice)
    yield from reader.builder.flush()


@dataclass(slots=True)
class _AutomatonLines:
    """The lines of one automaton: arcs as fields behind the two states, and final states."""

    line: int
    utt: str
    start: int = -1
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    fields: list[tuple[bytes, ...]] = field(default_factory=list)
    final: dict[int, float] = field(default_factory=dict)  # state to cost, for k2 score
    error: InputError | None = None  # the first thing that is wrong with it


def _automata(stream: Stream, name: str, max_arcs: int) -> Iterator[_AutomatonLines]:
    """The automata of a file, called `name` where the file does not name them.

    One with an error, or with more than `max_arcs` arcs, comes without the rest of its lines.
    """
    block: _AutomatonLines | None = None
    count = 0
    for line_number, line in stream.lines():
        row = line.split()
        if not row:
            if block:
                yield block
            block = None
            continue
        if block is None:
            count += 1
            block = _AutomatonLines(line_number, name if count == 1 else f"{name}-{count}")
            if len(row) == 1:  # an automaton begins with an arc: this is its name
                block.utt = row[0].decode("utf-8", "replace")
                continue
        if block.error or len(block.source) > max_arcs:
            continue
        try:
            _add(block, row)
        except InputError as error:
            block.error = error.at(utt=block.utt, place=f"line {line_number}")
    if block:
        yield block


def _add(block: _AutomatonLines, row: list[bytes]) -> None:
    state = _state(row[0])
    if block.start < 0:
        block.start = state
    if len(row) <= 2:
        weight = _weight(row[1]) if len(row) == 2 else 0.0
        if math.isfinite(weight):  # of infinite cost: not final
            block.final[state] = weight
    elif len(row) <= 5:
        block.source.append(state)
        block.target.append(_state(row[1]))
        block.fields.append(tuple(row[2:]))
    else:
        raise InputError(f"{len(row)} columns, 5 at most are known", remedy=_LAYOUT)


def _state(text: bytes) -> int:
    if not text.isdigit() or len(text) > 18:
        raise InputError(f"the state is {_shown(text)}, not a number", remedy=_LAYOUT)
    return int(text)


def _weight(text: bytes) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if math.isnan(weight) or b"_" in text or (abs(weight) > _LARGEST_WEIGHT and math.isfinite(weight)):
        remedy = _KALDI if b"," in text else _LAYOUT
        raise InputError(f"the weight is {_shown(text)}, not a number", remedy=remedy)
    return weight


def _shown(text: bytes) -> str:
    """A field as messages quote it."""
    return repr(text[:40].decode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class _ArcColumns:
    """The columns of an automaton's arcs."""

    k2: bool
    label: list[bytes]  # what is matched with the audio
    word: list[bytes]  # the label again for an acceptor
    weight: list[bytes | None]  # cost, for k2 score; None where it is left out


def _arc_columns(block: _AutomatonLines) -> _ArcColumns:
    """Tell the columns apart. Their number alone does not: `0 1 7 5` has an output or a weight."""
    label = [row[0] for row in block.fields]
    sizes = {len(row) for row in block.fields}
    k2 = b"-1" in label
    if k2 and (len(sizes) > 1 or sizes == {1}):
        raise InputError("arcs of k2 have a score each and the same number of columns", remedy=_LAYOUT)
    if len(sizes) > 1 and 1 in sizes and 3 in sizes:
        raise InputError("some arcs have 3 columns and others 5", remedy=_LAYOUT)
    unweighted = sizes == {2} and not k2 and not _are_weights([row[1] for row in block.fields], label)
    if not unweighted and 3 not in sizes:
        return _ArcColumns(k2, label, label, [row[1] if len(row) > 1 else None for row in block.fields])
    weight = [row[2] if len(row) > 2 else None for row in block.fields]
    return _ArcColumns(k2, label, [row[1] for row in block.fields], weight)


def _are_weights(texts: list[bytes], labels: list[bytes]) -> bool:
    """Numbers; whole ones only beside labels that are symbols, or else they are labels themselves."""
    return all(map(_is_weight, texts)) and not all(text.isdigit() for text in (*texts, *labels))


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


class _FstReader:
    """One pass over a file: what its labels mean, and the lattices so far."""

    def __init__(self, stream: Stream, options: ReadOptions, problems: Problems) -> None:
        self._options = options
        self._tokens = Tokens(options.normalizer)
        self._by_number: SymbolTokens | None = None
        origin = Origin(stream.name, "openfst", frame_length=options.frame_length or FRAME_LENGTH)
        self.builder = Builder(self._tokens, problems, origin=origin, max_arcs=options.max_arcs)

    def convert(self, block: _AutomatonLines) -> RawLattice:
        """The lattice of an automaton: frames joined to words, and times."""
        if block.error:
            raise block.error
        if len(block.source) > self._options.max_arcs:
            raise self._options.too_many_arcs(len(block.source))
        if not block.source:
            raise InputError("there are no arcs", remedy="Was the file cut off, or decoding interrupted?")
        fst = self._automaton(block, _arc_columns(block))
        order = np.argsort(fst.source, kind="stable")
        first = np.searchsorted(fst.source[order], np.arange(fst.states + 1))
        frames, agree = _count_frames(fst.start, fst.target, fst.frame, first, order)
        length = self._options.frame_length or (FRAME_LENGTH if agree else _MADE_UP_LENGTH)
        final = np.arange(fst.states) == fst.end
        scores = {"acoustic": fst.score}
        words = contract(fst.states, fst.source, fst.target, fst.token, fst.frame, scores, fst.start, final)
        return RawLattice(
            utt=block.utt,
            time=frames[words.state].astype(np.float64) * length,
            times="given" if agree else "aligned",
            source=words.source,
            target=words.target,
            token=words.word,
            start=words.start,
            end=int(np.flatnonzero(words.final)[0]),
            acoustic=words.scores["acoustic"],
            place=block.line,
        )

    def _automaton(self, block: _AutomatonLines, arcs: _ArcColumns) -> _Automaton:
        """Arcs with scores between numbered states; final weights become arcs to one end."""
        sign = 1.0 if arcs.k2 else -1.0
        score = np.array([0.0 if text is None else sign * _weight(text) for text in arcs.weight], np.float32)
        taken = score > -np.inf  # an arc of infinite cost is no arc
        # The final state of k2 is where arcs of label -1 lead, should its own line be missing.
        pairs = zip(block.target, arcs.label, strict=True)
        final = block.final or {target: 0.0 for target, label in pairs if arcs.k2 and label == b"-1"}
        if not final:
            raise InputError("there is no final state", remedy="Was the file cut off?")
        ended = list(final.values()) == [0.0] and not final.keys() & set(block.source)  # the end as it stands
        # Numbered from last to first, with an added end as 0: `contract` would take a final state with the largest
        # number for one of those that Kaldi adds when it expands a lattice.
        mentioned = -np.array([block.start, *final, *block.source, *block.target], np.int64)
        states, state = np.unique(mentioned, return_inverse=True)
        state += not ended
        source, target = state[1 + len(final) :].reshape(2, -1)[:, taken]
        ends = state[1 : 1 + len(final)][: 0 if ended else None]
        silent = np.zeros(len(ends), np.int32)
        weight = np.array([sign * cost for cost in final.values()], np.float32)
        return _Automaton(
            states=len(states) + (not ended),
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
        tokens_of_labels = self._symbol_tokens()(np.minimum(labels, 2**31 - 1).astype(np.int32))
        if tokens_of_labels.min() < 0:
            raise InputError(
                f"label {labels[np.argmin(tokens_of_labels)]} is not in the symbol table",
                remedy="Is this the table of the outputs? Give another with --words",
            )
        return tokens_of_labels

    def _symbol_tokens(self) -> SymbolTokens:
        if self._by_number is None:
            if self._options.words is None:
                raise InputError(
                    "the words are numbers, and there is no symbol table to tell which words they are",
                    remedy="Give the table of the outputs with --words words.txt, or put it beside the file",
                )
            self._by_number = SymbolTokens(Symbols.load(self._options.words), self._tokens)
        return self._by_number


def _frames(arcs: _ArcColumns) -> Flags:
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
    queue[0], seen[start], done, queued = start, True, 0, 1
    while done < queued:  # count the arcs that enter each state that can be reached
        state = queue[done]
        done += 1
        for leaving in range(first[state], first[state + 1]):
            reached = target[order[leaving]]
            waiting[reached] += 1
            if not seen[reached]:
                seen[reached] = True
                queue[queued] = reached
                queued += 1
    frames, agree = np.full(states, -1, np.int64), True
    frames[start] = 0
    queue[0], done, queued = start, 0, 1
    while done < queued:  # a cycle is never left here; `assemble` reports it
        state = queue[done]
        done += 1
        for leaving in range(first[state], first[state + 1]):
            arc = order[leaving]
            reached, count = target[arc], frames[state] + frame[arc]
            agree &= frames[reached] < 0 or frames[reached] == count
            frames[reached] = max(frames[reached], count)
            waiting[reached] -= 1
            if waiting[reached] == 0:
                queue[queued] = reached
                queued += 1
    return np.maximum(frames, 0), agree


FORMAT = Format("openfst", "OpenFst or k2 text", (".fst.txt", ".txt"), sniff=sniff, read=read)
