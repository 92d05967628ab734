"""What Kaldi's lattice formats share: from arcs, final weights and frame counts to checked lattices.

Costs become scores (transition = -graph, acoustic = -acoustic), numbers of frames become times, and final weights
become arcs to one end node, so that no weight is lost. An arc of infinite cost is no arc.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...base.arrays import concatenate_offsets, csr_items, csr_offsets
from ...base.errors import InputError
from ...lattices.assemble import Problems, RawLattices, Tokens, assemble
from ...lattices.lattice import Flags, Floats, Ints, Lattices, Offsets, Origin
from ..format import ReadOptions
from ..frames import contract
from ..symbols import Symbols, SymbolTokens
from . import close_kernels as closing

FRAME_LENGTH = 0.01
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


def select(found: KaldiBatch, rows: Iterable[int]) -> KaldiBatch:
    """Some utterances of a batch."""
    chosen = np.fromiter(rows, np.int64)
    arcs, finals = csr_items(found.arc_offsets, chosen), csr_items(found.final_offsets, chosen)
    return KaldiBatch(
        utts=[found.utts[row] for row in chosen.tolist()],
        tokens=found.tokens,
        arc_offsets=csr_offsets(np.diff(found.arc_offsets)[chosen]),
        final_offsets=csr_offsets(np.diff(found.final_offsets)[chosen]),
        **{name: getattr(found, name)[chosen] for name in _UTT_ARRAYS},
        **{name: getattr(found, name)[arcs] for name in ARC_ARRAYS},
        **{name: getattr(found, name)[finals] for name in FINAL_ARRAYS},
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

    def lattices(self, found: KaldiBatch) -> Iterator[Lattices]:
        """Checked lattices out of a batch; bad ones are reported."""
        found = self._with_known_words(self._of_fair_size(found))
        if found.framed.any():
            found = join([_words_of_frames(select(found, [row])) for row in range(len(found.utts))])
        raw, status, about = _closed(found, self._frame_length)
        for row in np.flatnonzero(status).tolist():
            # Where times disagree, the graph may have a cycle: that is then what is wrong with it.
            if status[row] != closing.TWO_TIMES or len(self._assembled(raw.select([row]), found.tokens)):
                self._report(found, row, int(status[row]), about[row].tolist())
        good = np.flatnonzero(status == closing.OK)
        if len(good):
            batch = self._assembled(raw if len(good) == len(status) else raw.select(good), found.tokens)
            if len(batch):
                yield batch

    def _assembled(self, raw: RawLattices, tokens: Tokens) -> Lattices:
        return assemble(raw, tokens, origin=self._origin, problems=self.problems, place_name=self.place_name)

    def _of_fair_size(self, found: KaldiBatch) -> KaldiBatch:
        arcs = np.diff(found.arc_offsets)
        too_large = arcs > self.options.max_arcs
        for row in np.flatnonzero(too_large).tolist():
            where = {"file": self.file, "utt": found.utts[row], "place": f"{self.place_name} {found.place[row]}"}
            self.problems.report(self.options.too_many_arcs(int(arcs[row]), **where))
        return select(found, np.flatnonzero(~too_large)) if too_large.any() else found

    def _with_known_words(self, found: KaldiBatch) -> KaldiBatch:
        unknown = np.flatnonzero(found.token < 0)
        rows, first = np.unique(np.searchsorted(found.arc_offsets, unknown, "right") - 1, return_index=True)
        for row, arc in zip(rows.tolist(), unknown[first].tolist(), strict=True):
            table = self.options.words.name if self.options.words else "the symbol table"
            error = self.error(
                f"word id {found.label[arc]} is not in {table}",
                utt=found.utts[row],
                place=int(found.place[row]),
                remedy="Is this the table that the recognizer was built with? Give another with --words",
            )
            self.problems.report(error)
        return select(found, np.setdiff1d(np.arange(len(found.utts)), rows)) if len(rows) else found

    def _report(self, found: KaldiBatch, row: int, status: int, about: list[int]) -> None:
        state, once, again = about
        texts = {
            closing.EMPTY: "the lattice is empty",
            closing.DANGLING: f"the start, or an arc, is at state {state - 1} of {found.states[row]}",
            closing.FAR_APART: f"there is a state {state - 1}, but few arcs",
            closing.NO_FINAL: "no state is final",
            closing.TWO_TIMES: f"{f'state {state}' if state >= 0 else 'the end'} is reached after {once} frames and "
            f"after {again}, along two paths",
        }
        place = int(found.place[row])
        self.problems.report(self.error(texts[status], utt=found.utts[row], place=place, remedy=_REMEDIES[status]))


def _words_of_frames(found: KaldiBatch) -> KaldiBatch:
    """One utterance; if its arcs are single frames, they become words. Strings at final states are kept there."""
    states = closing.count_states(found.source, found.target, found.final_state, int(found.start[0]))
    lines = len(found.source) + len(found.final_state)
    if not found.framed[0] or closing.check_states(states, int(found.states[0]), lines, found.target) != closing.OK:
        return found
    final = np.zeros(states, np.bool_)
    final[found.final_state] = ~(np.isposinf(found.final_graph) & np.isposinf(found.final_acoustic))
    scores = {"graph": found.graph, "acoustic": found.acoustic}
    made = contract(states, found.source, found.target, found.token, found.frames, scores, int(found.start[0]), final)
    # An arc into a state behind the lattice's own is a string at a final state. All keep their numbers.
    own = int(made.state[made.own]) if made.own < len(made.state) else states
    source, target = made.state[made.source], made.state[made.target]
    kept, ends, listed = target < own, target >= own, found.final_state < own
    graph, acoustic = made.scores["graph"], made.scores["acoustic"]
    return replace(
        found,
        states=np.array([states], np.int32),
        arc_offsets=np.array([0, kept.sum()]),
        final_offsets=np.array([0, listed.sum() + ends.sum()]),
        source=source[kept],
        target=target[kept],
        label=made.word[kept],
        token=made.word[kept],
        frames=made.frames[kept],
        graph=graph[kept],
        acoustic=acoustic[kept],
        final_state=np.concatenate([found.final_state[listed], source[ends]]),
        final_frames=np.concatenate([found.final_frames[listed], made.frames[ends]]),
        final_graph=np.concatenate([found.final_graph[listed], graph[ends]]),
        final_acoustic=np.concatenate([found.final_acoustic[listed], acoustic[ends]]),
    )


def _closed(found: KaldiBatch, frame_length: float) -> tuple[RawLattices, Ints, Offsets]:
    """Raw lattices, one for every utterance; the status of each; what the status is about."""
    utts, lines = len(found.utts), len(found.source) + len(found.final_state)
    status, about = np.zeros(utts, np.int32), np.zeros((utts, 3), np.int64)
    nodes, arcs = np.zeros(utts, np.int64), np.zeros(utts, np.int64)
    start, end = np.zeros(utts, np.int32), np.zeros(utts, np.int32)
    time = np.empty(2 * lines + utts)
    source, target, token = (np.empty(lines, np.int32) for _ in range(3))
    acoustic, transition = (np.empty(lines, np.float32) for _ in range(2))
    closing.close(
        found.arc_offsets, found.final_offsets, found.start, found.states,
        found.source, found.target, found.token, found.frames, found.graph, found.acoustic,
        found.final_state, found.final_frames, found.final_graph, found.final_acoustic, frame_length,
        status, about, nodes, arcs, start, end, time, source, target, token, acoustic, transition,
    )  # fmt: skip
    node_offsets, arc_offsets = csr_offsets(nodes), csr_offsets(arcs)
    every_node, every_arc = slice(node_offsets[-1]), slice(arc_offsets[-1])
    raw = RawLattices(
        utts=found.utts, place=found.place, node_offsets=node_offsets, arc_offsets=arc_offsets, start=start, end=end,
        time=time[every_node], source=source[every_arc], target=target[every_arc], token=token[every_arc],
        scores={"acoustic": acoustic[every_arc], "transition": transition[every_arc]},
    )  # fmt: skip
    return raw, status, about
