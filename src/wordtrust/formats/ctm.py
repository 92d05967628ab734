"""NIST CTM: a word a line, `file channel start duration word [confidence [type [speaker]]]`.

Read: one lattice for each file and channel, in the order in which they first appear; their words may stand anywhere
in the file and are sorted by start. Its name is FILE, or FILE-CHANNEL where a file has several channels. The
confidence is the posterior; where a word of an utterance has none (or `NA`), the utterance has none. Words of the
types `noise`, `non-lex` and `misc` are marks, not words. Comments begin with `;;`.

Alternations (`<ALT_BEGIN>`, `<ALT>`, `<ALT_END>`, with any times) become parallel branches, the first of which is
the picked one. A branch with nothing but `@` is silence, and its posterior is what the other branches leave of 1.

Written: the recognizer's 1-best, one line for each normalised word, spelled as the recognizer wrote it (the pieces
of `Middle-earth` are two lines, `Middle-` and `earth`). Times have three decimals, confidences six; channel 1. White
space in names becomes `_`. An utterance that says nothing is a comment, as CTM cannot hold it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError, OptionError
from ..base.files import atomic_text
from ..lattices.assemble import Builder, Problems
from ..lattices.lattice import Lattice, Lattices, Origin, Times
from ..lattices.paths import one_best
from ..lattices.text import JOINER
from .base import Format, ReadOptions, WriteOptions
from .ctm_lines import ALTERNATION, Alternation, Utterance, text, utterances
from .inputs import Stream
from .series import Piece, series
from .timing import chain

_NUMBER = re.compile(rb"[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # a sniffer
    """How surely these bytes are CTM: lines with two times, and a word that is no number."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:500]
    if len(lines) > 1:
        lines.pop()  # it may be cut
    rows = [line.split() for line in lines if line.strip() and not line.lstrip().startswith(b";;")]
    if not rows or not all(_is_row(row) for row in rows):
        return 0.0
    marks = sum(row[4] in ALTERNATION for row in rows)
    words = sum(not _NUMBER.fullmatch(row[4]) for row in rows)
    if words > marks:
        return 1.0
    # Only numbers: the states and labels of an automaton look the same, unless there are fractions of seconds.
    return 0.5 if any(b"." in row[2] and len(row) > 5 for row in rows) else 0.2


def _is_row(row: list[bytes]) -> bool:
    if not 5 <= len(row) <= 8:
        return False
    return (
        row[4] in ALTERNATION or all(_NUMBER.fullmatch(time) for time in row[2:4]) or row[2:5] == [b"*", b"*", b"@"]
    )


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """One lattice for each file and channel."""
    tokens = options.shared_tokens()
    found = utterances(stream, tokens, problems)
    channels = Counter(file for file, _ in found)
    has_picked = any(each.alternations for each in found.values())
    builder = Builder(tokens, problems, origin=Origin(stream.name, "ctm"))
    for (file, channel), utterance in found.items():
        utt = text(file) if channels[file] == 1 else f"{text(file)}-{text(channel)}"
        try:
            if utterance.is_open:
                raise InputError("an alternation has no <ALT_END>", remedy="The file is cut off or damaged")
            if len(utterance.start) > options.max_arcs:
                raise options.too_many_arcs(len(utterance.start))
            if not utterance.is_bad:
                add = _add_branched if utterance.alternations else _add_linear
                yield from add(builder, utt, utterance, has_picked)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=utt, place=f"line {utterance.line}"))
    yield from builder.flush()


def _add_linear(builder: Builder, utt: str, utterance: Utterance, has_picked: bool) -> Iterator[Lattices]:
    start, end, token, confidence = utterance.columns()
    order = np.argsort(start, kind="stable")
    line = chain(start[order], end[order])
    confidence = confidence[order]
    yield from builder.add(
        utt,
        time=line.time,
        source=line.source,
        target=line.target,
        token=np.append(token[order], np.int32(0))[line.word],  # -1, silence, is the last
        start=line.start,
        end=line.end,
        place=utterance.line,
        spread_words=line.spread_words,
        posterior=None if np.isnan(confidence).any() else line.on_arcs(confidence, silence=1.0),
        picked=np.ones(len(line.word), bool) if has_picked else None,
    )


def _add_branched(builder: Builder, utt: str, utterance: Utterance, has_picked: bool) -> Iterator[Lattices]:
    start, end, token, confidence = utterance.columns()
    pieces = _pieces(utterance, start)
    branches = [branch for piece in pieces for branch in piece]
    words = np.array([word for branch in branches for word in branch], np.int64)
    made = series([_piece(piece, start, end) for piece in pieces])
    posterior = None
    if not np.isnan(confidence).any():
        silence = np.append(_branch_posteriors(pieces, confidence), 1.0)[made.hypothesis]
        posterior = np.where(made.word < 0, silence, np.append(confidence[words], 1.0)[made.word])
    is_first = np.array([place == 0 for piece in pieces for place in range(len(piece))] + [True])
    yield from builder.add(
        utt,
        time=made.time,
        source=made.source,
        target=made.target,
        token=np.append(token[words], np.int32(0))[made.word],
        start=0,
        end=made.end,
        place=utterance.line,
        spread_words=made.spread_words,
        posterior=posterior,
        picked=is_first[made.hypothesis] if has_picked else None,
    )


def _pieces(utterance: Utterance, start: Times) -> list[Alternation]:
    """Alternations and the words between them, in order of time; the latter as pieces with one branch."""
    inside = {word for alternation in utterance.alternations for branch in alternation for word in branch}
    outside = [word for word in np.argsort(start, kind="stable").tolist() if word not in inside]
    timed = [
        (min(start[word] for branch in alternation for word in branch), alternation)
        for alternation in utterance.alternations
        if any(alternation)
    ]
    timed.sort(key=lambda item: item[0])
    before = np.searchsorted(start[outside], [first for first, _ in timed]).tolist()
    runs = [[outside[first:last]] for first, last in pairwise([0, *before, len(outside)])]
    branches = [[sorted(branch, key=start.__getitem__) for branch in alternation] for _, alternation in timed]
    pieces = [piece for run, alternation in zip(runs, [*branches, []], strict=True) for piece in (run, alternation)]
    return [piece for piece in pieces if any(piece)] or [[[]]]


def _piece(branches: Alternation, start: Times, end: Times) -> Piece:
    words = np.array([word for branch in branches for word in branch], np.int64)
    return Piece(np.cumsum([0, *map(len, branches)]), start[words], end[words])


def _branch_posteriors(pieces: Sequence[Alternation], confidence: Times) -> list[float]:
    """What the pauses of a branch have: the mean of its words, or what the other branches leave if it has none."""
    found: list[float] = []
    for piece in pieces:
        means = [float(confidence[branch].mean()) if branch else 0.0 for branch in piece]
        rest = max(0.0, 1.0 - sum(means))
        found += [mean if branch else rest for branch, mean in zip(piece, means, strict=True)]
        if len(piece) == 1:
            found[-1] = 1.0
    return found


def write(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:  # noqa: ARG001  # a Writer
    """Write the 1-best of every lattice."""
    names: set[str] = set()
    with atomic_text(path) as file:
        for batch in batches:
            paths = one_best(batch)
            for number, lattice in enumerate(batch):
                name = _written_name(lattice.utt)
                if name in names:
                    raise OptionError(
                        f"{path}: two utterances would be called {name!r} and be read as one. Write them to two files"
                    )
                names.add(name)
                file.writelines(_lines(name, lattice, paths.arcs[paths.offsets[number] : paths.offsets[number + 1]]))


def _written_name(utt: str) -> str:
    """A name that is one field and begins no comment."""
    name = "_".join(utt.split()) or "_"
    return f"_{name}" if name.startswith(";;") else name


def _lines(name: str, lattice: Lattice, path: NDArray[np.int32]) -> Iterator[str]:
    arcs = path[lattice.word[path] > 0]
    if not len(arcs):
        yield f";; {name} has no words\n"
        return
    # Whole milliseconds, so that words that follow each other still do when they are read again.
    starts = np.rint(lattice.time[lattice.source[arcs]] * 1000).astype(np.int64).tolist()
    ends = np.rint(lattice.time[lattice.target[arcs]] * 1000).astype(np.int64).tolist()
    sure = [""] * len(arcs)
    if lattice.posterior is not None:
        sure = [f" {posterior:.6f}" for posterior in lattice.posterior[arcs].tolist()]
    for word, start, end, confidence in zip(_spelled(lattice, arcs.tolist()), starts, ends, sure, strict=True):
        yield f"{name} 1 {start / 1000:.3f} {(end - start) / 1000:.3f} {word}{confidence}\n"


def _spelled(lattice: Lattice, arcs: Sequence[int]) -> list[str]:
    """Words as the recognizer wrote them. A number that was spelled out has that on its first word only: 42 is
    written as its words, forty and two.
    """
    surfaces = ["".join(lattice.surfaces[arc].replace(JOINER, "").split()) for arc in arcs]
    return [
        surface if surface and following else lattice.words[arc]
        for arc, surface, following in zip(arcs, surfaces, [*surfaces[1:], "."], strict=True)
    ]


FORMAT = Format(name="ctm", title="NIST CTM", suffixes=(".ctm",), sniff=sniff, read=read, write=write)
