"""What Kaldi's lattice formats share: from arcs, final weights and frame counts to checked lattices.

Costs become scores (transition = -graph, acoustic = -acoustic), numbers of frames become times, and final weights
become arcs to one end node, so that no weight is lost. An arc of infinite cost is no arc.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np

from ...base.arrays import concatenate_offsets, csr_items, csr_offsets
from ...base.errors import InputError
from ...base.problems import Problems
from ...base.threads import ahead
from ...lattices.assemble import RawLattices, Tokens, assemble, assemble_parts
from ...lattices.lattice import Flags, Floats, Ints, Lattices, Offsets, Origin
from ..format import ReadOptions
from ..frames import contract
from ..inputs import Stream
from ..symbols import Symbols, SymbolTokens
from . import close_kernels as closing

FRAME_LENGTH = 0.01
_Parsed = TypeVar("_Parsed")
_REMEDIES = {
    closing.EMPTY: "The recognizer found nothing: decode the utterance again, or leave it out",
    closing.DANGLING: "The arcs and the number of states do not fit: the file is damaged",
    closing.FAR_APART: "States are numbered from 0 on without large gaps: the file is damaged",
    closing.NO_FINAL: "A lattice has at least one final state: was the file cut off, or decoding interrupted?",
    closing.TWO_TIMES: (
        "All paths to a state must have the same number of transition ids: a tool has taken some away; "
        "use the lattice as it was decoded"
    ),
}


@dataclass(slots=True)
class KaldiBatch:
    """A batch of lattices as a Kaldi file has them: arrays end to end, state numbers and costs as they were."""

    utts: list[str]
    tokens: Tokens  # what the numbers in `token` mean
    place: Offsets  # line or byte of each utterance
    framed: Flags  # whether its arcs are single frames (Lattice) and not words (CompactLattice)
    start: Ints
    states: Ints  # how many the file says there are, or -1
    arc_offsets: Offsets
    final_offsets: Offsets
    source: Ints
    target: Ints
    label: Ints  # the word's number in the symbol table, -1 where the file has words themselves
    token: Ints  # -1 for a word that the symbol table does not have
    frames: Ints
    graph: Floats
    acoustic: Floats
    final_state: Ints
    final_frames: Ints
    final_graph: Floats
    final_acoustic: Floats


ARC_ARRAYS = ("source", "target", "label", "token", "frames", "graph", "acoustic")
FINAL_ARRAYS = ("final_state", "final_frames", "final_graph", "final_acoustic")
_UTT_ARRAYS = ("place", "framed", "start", "states")


def select(batch: KaldiBatch, rows: Iterable[int]) -> KaldiBatch:
    """Some utterances of a batch."""
    chosen = np.fromiter(rows, np.int64)
    arcs, finals = csr_items(batch.arc_offsets, chosen), csr_items(batch.final_offsets, chosen)
    return KaldiBatch(
        utts=[batch.utts[row] for row in chosen.tolist()],
        tokens=batch.tokens,
        arc_offsets=csr_offsets(np.diff(batch.arc_offsets)[chosen]),
        final_offsets=csr_offsets(np.diff(batch.final_offsets)[chosen]),
        **{name: getattr(batch, name)[chosen] for name in _UTT_ARRAYS},
        **{name: getattr(batch, name)[arcs] for name in ARC_ARRAYS},
        **{name: getattr(batch, name)[finals] for name in FINAL_ARRAYS},
    )


def join(parts: list[KaldiBatch]) -> KaldiBatch:
    """Several batches as one; their tokens must have the same numbers."""
    return KaldiBatch(
        utts=[utt for part in parts for utt in part.utts],
        tokens=parts[0].tokens,
        arc_offsets=concatenate_offsets(part.arc_offsets for part in parts),
        final_offsets=concatenate_offsets(part.final_offsets for part in parts),
        **{
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in (*_UTT_ARRAYS, *ARC_ARRAYS, *FINAL_ARRAYS)
        },
    )


class KaldiReader:
    """One pass over a Kaldi file: its options, and what its words mean."""

    def __init__(self, file: str, options: ReadOptions, problems: Problems, *, form: str, place: str) -> None:
        self.file, self.options, self.problems = file, options, problems
        self.spelled = Tokens(options.normalizer)  # of files that have words instead of numbers
        self.place_name = place
        self._frame_length = options.frame_length or FRAME_LENGTH
        self._origin = Origin(file, form, frame_length=self._frame_length)
        self._symbol_tokens: SymbolTokens | None = None

    def error(self, found: str, *, utt: str = "", place: int = -1, remedy: str = "") -> InputError:
        """An error about this file; `place` is a line or byte."""
        where = f"{self.place_name} {place}" if place >= 0 else ""
        return InputError(found, file=self.file, utt=utt, place=where, remedy=remedy)

    def parsed(
        self, stream: Stream, piece: int, parse: Callable[[Iterator[bytes]], Iterable[_Parsed | InputError]]
    ) -> Iterator[_Parsed]:
        """What `parse` makes of a file in pieces of this size; the errors that it gives are reported.

        If the file is not a small one, threads unpack and parse while the last batch is worked on.
        """
        source = stream.pieces(piece)
        first = next(source, b"")
        small = len(first) < piece
        batches = iter(parse(iter([first]) if small else chain([first], ahead(source))))
        for batch in batches if small else ahead(batches):
            if isinstance(batch, InputError):
                self.problems.report(batch)
            else:
                yield batch

    def look_up(self, labels: Ints) -> tuple[Tokens, Ints]:
        """Word numbers to tokens, -1 where the symbol table has no such number."""
        if self._symbol_tokens is None:
            if not labels.any():  # nothing but epsilon
                return self.spelled, labels
            self._symbol_tokens = SymbolTokens.shared(self._symbols(), self.options.normalizer)
        return self._symbol_tokens.tokens, self._symbol_tokens(labels)

    def _symbols(self) -> Symbols:
        if self.options.words is None:
            raise self.error(
                "the words are numbers, and there is no symbol table to tell which words they are",
                remedy="Give the recognizer's table with --words words.txt, or put it beside the lattices",
            )
        return Symbols.load(self.options.words)

    def lattices(self, batch: KaldiBatch) -> Iterator[Lattices]:
        """Checked lattices out of a batch; bad ones are reported."""
        batch = self._with_known_words(self._of_fair_size(batch))
        if batch.framed.any():
            batch = join([_words_of_frames(select(batch, [row])) for row in range(len(batch.utts))])
        raw, status, about = _closed(batch, self._frame_length)
        for row in np.flatnonzero(status).tolist():
            # Where times disagree, the graph may have a cycle: that is then what is wrong with it.
            if status[row] != closing.TWO_TIMES or len(self._assembled(raw.select([row]), batch.tokens)):
                self._report(batch, row, int(status[row]), about[row].tolist())
        good = np.flatnonzero(status == closing.OK)
        if len(good):
            yield from assemble_parts(
                raw if len(good) == len(status) else raw.select(good), batch.tokens, origin=self._origin,
                problems=self.problems, place_name=self.place_name, max_arcs=self.options.max_arcs,
            )  # fmt: skip

    def _assembled(self, raw: RawLattices, tokens: Tokens) -> Lattices:
        return assemble(raw, tokens, origin=self._origin, problems=self.problems, place_name=self.place_name)

    def _of_fair_size(self, batch: KaldiBatch) -> KaldiBatch:
        arcs = np.diff(batch.arc_offsets)
        too_large = arcs > self.options.max_arcs
        for row in np.flatnonzero(too_large).tolist():
            where = {"file": self.file, "utt": batch.utts[row], "place": f"{self.place_name} {batch.place[row]}"}
            self.problems.report(self.options.too_many_arcs(int(arcs[row]), **where))
        return select(batch, np.flatnonzero(~too_large)) if too_large.any() else batch

    def _with_known_words(self, batch: KaldiBatch) -> KaldiBatch:
        unknown = np.flatnonzero(batch.token < 0)
        rows, first = np.unique(np.searchsorted(batch.arc_offsets, unknown, "right") - 1, return_index=True)
        for row, arc in zip(rows.tolist(), unknown[first].tolist(), strict=True):
            table = self.options.words.name if self.options.words else "the symbol table"
            error = self.error(
                f"word id {batch.label[arc]} is not in {table}",
                utt=batch.utts[row],
                place=int(batch.place[row]),
                remedy="Is this the table that the recognizer was built with? Give another with --words",
            )
            self.problems.report(error)
        return select(batch, np.setdiff1d(np.arange(len(batch.utts)), rows)) if len(rows) else batch

    def _report(self, batch: KaldiBatch, row: int, status: int, about: list[int]) -> None:
        state, once, again = about
        texts = {
            closing.EMPTY: "the lattice is empty",
            closing.DANGLING: f"the start, or an arc, is at state {state - 1} of {batch.states[row]}",
            closing.FAR_APART: f"there is a state {state - 1}, but few arcs",
            closing.NO_FINAL: "no state is final",
            closing.TWO_TIMES: f"{f'state {state}' if state >= 0 else 'the end'} is reached after {once} frames and "
            f"after {again}, along two paths",
        }
        place = int(batch.place[row])
        self.problems.report(self.error(texts[status], utt=batch.utts[row], place=place, remedy=_REMEDIES[status]))


def _words_of_frames(batch: KaldiBatch) -> KaldiBatch:
    """One utterance; if its arcs are single frames, they become words. Strings at final states are kept there."""
    states = closing.count_states(batch.source, batch.target, batch.final_state, int(batch.start[0]))
    lines = len(batch.source) + len(batch.final_state)
    if not batch.framed[0] or closing.check_states(states, int(batch.states[0]), lines, batch.target) != closing.OK:
        return batch
    final = np.zeros(states, np.bool_)
    final[batch.final_state] = ~(np.isposinf(batch.final_graph) & np.isposinf(batch.final_acoustic))
    scores = {"graph": batch.graph, "acoustic": batch.acoustic}
    start = int(batch.start[0])
    words = contract(states, batch.source, batch.target, batch.token, batch.frames, scores, start, final)
    # An arc into a state behind the lattice's own is a string at a final state. All keep their numbers.
    own = int(words.state[words.own]) if words.own < len(words.state) else states
    source, target = words.state[words.source], words.state[words.target]
    kept, ends, listed = target < own, target >= own, batch.final_state < own
    graph, acoustic = words.scores["graph"], words.scores["acoustic"]
    return replace(
        batch,
        states=np.array([states], np.int32),
        arc_offsets=np.array([0, kept.sum()]),
        final_offsets=np.array([0, listed.sum() + ends.sum()]),
        source=source[kept],
        target=target[kept],
        label=words.word[kept],
        token=words.word[kept],
        frames=words.frames[kept],
        graph=graph[kept],
        acoustic=acoustic[kept],
        final_state=np.concatenate([batch.final_state[listed], source[ends]]),
        final_frames=np.concatenate([batch.final_frames[listed], words.frames[ends]]),
        final_graph=np.concatenate([batch.final_graph[listed], graph[ends]]),
        final_acoustic=np.concatenate([batch.final_acoustic[listed], acoustic[ends]]),
    )


def _closed(batch: KaldiBatch, frame_length: float) -> tuple[RawLattices, Ints, Offsets]:
    """Raw lattices, one for every utterance; the status of each; what the status is about."""
    utts, lines = len(batch.utts), len(batch.source) + len(batch.final_state)
    status, about = np.zeros(utts, np.int32), np.zeros((utts, 3), np.int64)
    nodes, arcs = np.zeros(utts, np.int64), np.zeros(utts, np.int64)
    start, end = np.zeros(utts, np.int32), np.zeros(utts, np.int32)
    time = np.empty(2 * lines + utts)
    source, target, token = (np.empty(lines, np.int32) for _ in range(3))
    acoustic, transition = (np.empty(lines, np.float32) for _ in range(2))
    closing.close(
        batch.arc_offsets, batch.final_offsets, batch.start, batch.states,
        batch.source, batch.target, batch.token, batch.frames, batch.graph, batch.acoustic,
        batch.final_state, batch.final_frames, batch.final_graph, batch.final_acoustic, frame_length,
        status, about, nodes, arcs, start, end, time, source, target, token, acoustic, transition,
    )  # fmt: skip
    node_offsets, arc_offsets = csr_offsets(nodes), csr_offsets(arcs)
    every_node, every_arc = slice(node_offsets[-1]), slice(arc_offsets[-1])
    raw = RawLattices(
        utts=batch.utts, place=batch.place, node_offsets=node_offsets, arc_offsets=arc_offsets, start=start, end=end,
        time=time[every_node], source=source[every_arc], target=target[every_arc], token=token[every_arc],
        scores={"acoustic": acoustic[every_arc], "transition": transition[every_arc]},
    )  # fmt: skip
    return raw, status, about
