"""N-best lists as plain text: `score<TAB>text` with a blank line between utterances, or `utt<TAB>score<TAB>text`.

    -1.89    I will sit there            u1    -1.89    I will sit there
    -2.66    I'll sit there              u1    -2.66    I'll sit there
                                         u2    -0.41    aisle seat here
    -0.41    aisle seat here

Scores are natural logs of probabilities, larger is better; numbers that look like costs or probabilities are
refused. There are no times, so they are made up by alignment. A line without a text is the empty hypothesis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice

from ...base.errors import InputError
from ...base.json_checks import number_in
from ...base.problems import Problems
from ...lattices.lattice import Lattices, Origin
from ..format import Format, ReadOptions
from ..inputs import HEAD, Stream
from .lists import LARGEST_SCORE, NBestBuilder, NBestList

SNIFFED_LINES = 50
_BOM = b"\xef\xbb\xbf"

_SCORE = re.compile(rb"\s*+[+-]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?\s*+")
_NO_INDEX = re.compile(rb"[-.eE]")  # lists of states or symbols have bare whole numbers


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # the content says enough
    """How much this looks like a plain N-best list: a number and a text on every line, a tab between them."""
    if b"\0" in head:
        return 0.0
    rows = _first_rows(head)
    column = 1 if _is_named(rows) else 0
    good = [row for row in rows if column < len(row) <= column + 2 and _SCORE.fullmatch(row[column])]
    if not any(len(row) == column + 2 and row[-1].strip() for row in good):
        return 0.0
    if len(good) == len(rows) and any(_NO_INDEX.search(row[column]) for row in good):
        return 0.7
    return 0.2 if 2 * len(good) > len(rows) else 0.0


def _first_rows(head: bytes) -> list[list[bytes]]:
    """The columns of the first lines that are not blank and not cut off."""
    lines = head.removeprefix(_BOM).split(b"\n")
    if len(head) >= HEAD:
        lines.pop()
    return [line.split(b"\t") for line in lines if line.strip()][:SNIFFED_LINES]


def _is_named(rows: list[list[bytes]]) -> bool:
    """Whether most lines begin with the name of the utterance, before the score."""
    named = [
        len(row) > 1 and _SCORE.fullmatch(row[1]) and (len(row) > 2 or not _SCORE.fullmatch(row[0])) for row in rows
    ]
    return 2 * sum(map(bool, named)) > len(rows)


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """Lattices of plain N-best lists; an utterance with a bad line is reported, and reading goes on with the next."""
    if options.pick == "average":
        raise stream.error("a plain list has no scores per token", remedy="Use --pick total, or the JSON form")
    named = _is_named(_first_rows(stream.head(HEAD)))
    builder = NBestBuilder(
        options.normalizer, problems, origin=Origin(stream.name, "nbest-plain"), max_arcs=options.max_arcs
    )
    lists = _lists(stream, options, named=named)
    first = list(islice(lists, 2))
    for count, lines in enumerate(chain(first, lists), 1):
        utt = lines.utt if named else stream.stem if len(first) == 1 else f"{stream.stem}-{count}"
        try:
            if lines.error:
                raise lines.error
            hypotheses = builder.merge(lines.texts, lines.scores, picked=None)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=utt, place=f"line {lines.place}"))
            continue
        yield from builder.add(NBestList(utt, lines.place, hypotheses))
    yield from builder.flush()


@dataclass(slots=True)
class _UtteranceLines:
    """The lines of one utterance."""

    utt: str
    place: int  # its first line
    texts: list[list[str]] = field(default_factory=list)  # the tokens of each hypothesis
    scores: list[float] = field(default_factory=list)
    size: int = 0  # words, and one for each line
    error: InputError | None = None  # the first; after it the rest does not matter

    def add(self, line: bytes, place: int, options: ReadOptions, *, named: bool) -> None:
        """One more hypothesis."""
        try:
            score, text = _hypothesis(line, named=named)
            self.scores.append(score)
            self.texts.append(text.split())
            self.size += 1 + len(self.texts[-1])
            if self.size > options.max_arcs:
                raise options.too_many_arcs(self.size)
        except InputError as error:
            self.error = error.at(place=f"line {place}")


def _lists(stream: Stream, options: ReadOptions, *, named: bool) -> Iterator[_UtteranceLines]:
    """Utterance by utterance. A blank line, or another name, begins the next."""
    current: _UtteranceLines | None = None
    seen: set[str] = set()
    for place, raw in stream.lines():
        line = raw.removeprefix(_BOM) if place == 1 else raw
        blank = not line.strip()
        utt = line.partition(b"\t")[0].decode("utf-8", "replace") if named else ""
        if current and (utt != current.utt if named and not blank else blank and not named):
            yield current
            current = None
        if current is None and not blank:
            current = _UtteranceLines(utt, place)
            if named and utt in seen:
                current.error = InputError("its lines do not stand together", remedy="Sort the file by utterance")
            seen.add(utt)
        if current and not blank and current.error is None:
            current.add(line, place, options, named=named)
    if current:
        yield current


def _hypothesis(line: bytes, *, named: bool) -> tuple[float, str]:
    try:
        columns = line.decode("utf-8").split("\t", 2 if named else 1)
    except UnicodeDecodeError as error:
        raise InputError(
            f"not UTF-8: byte {error.start} of the line is {line[error.start]:#04x}", remedy="Save the file as UTF-8"
        ) from None
    written, text = (*columns[1 if named else 0 :], "", "")[:2]
    score = number_in(written.strip(), "the score")
    if abs(score) > LARGEST_SCORE:
        raise InputError(f"the score is {score:g}, too large for a log-probability")
    return score, text


FORMAT = Format("nbest-plain", "plain N-best list (score, tab, text)", (".nbest", ".tsv", ".txt"), sniff, read)
