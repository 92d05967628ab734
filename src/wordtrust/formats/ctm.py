"""NIST CTM: a word a line, `file channel start duration word [confidence [type [speaker]]]`.

Reading gives one lattice for each file and channel, in the order in which they first appear; their words may be
anywhere in the file and are sorted by start. A lattice is named FILE, or FILE-CHANNEL where a file has several
channels; the channel is noted unless all are called 1. The confidence is the posterior; if a word of an utterance has
none (or `NA`, or -1, as NIST's rover writes it), the utterance has none. Words of the types `noise`, `non-lex` and
`misc` are silence. Comments begin with `;;`.

Alternations (`<ALT_BEGIN>`, `<ALT>`, `<ALT_END>`, with any times) become parallel branches, the first of which is
the picked one. A branch with nothing but `@` is silence, and its posterior is what the other branches leave of 1.

Writing gives the recognizer's 1-best, one line for each normalised word, spelled as the recognizer wrote it (the
pieces of `Middle-earth` are two lines, `Middle-` and `earth`). White space in names becomes `_`, a control character
U+FFFD; a word that CTM gives a meaning of its own (`;;`, `<ALT>`) is written as the normalised one. Times have three
decimals, confidences six; the channel is that of the CTM which was read, else 1. An utterance without words is a
comment, as CTM cannot hold it; for `evaluate` such a comment is read as an utterance without words.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import row_offsets
from ..base.errors import InputError, OptionError
from ..base.files import atomic_text
from ..base.problems import Problems
from ..base.visible_text import visible
from ..lattices.assemble import Builder, RawLattice, Tokens
from ..lattices.graph import LATEST
from ..lattices.lattice import CHANNEL, Floats, Ints, Lattice, Lattices, Offsets, Origin, Times
from ..lattices.paths import one_best
from ..lattices.text import JOINER, UNKNOWN, UNKNOWN_MARKS, is_mark
from .chains import SegmentWords, linear_lattice, segment_chains
from .format import Format, ReadOptions, WriteOptions
from .inputs import Stream
from .kept_times import time_parts
from .onebest.lattices import checked_confidence

ALTERNATION = {b"<ALT_BEGIN>", b"<ALT>", b"<ALT_END>"}
_NO_CONFIDENCE = {b"NA", b"N/A", b"-", b"na", b"n/a", b"-1", b"-1.0", b"-1.000000"}
_NO_WORD_TYPES = {b"noise", b"non-lex", b"misc"}
_NUMBER = re.compile(rb"(?:[0-9]++(?:\.[0-9]++)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")


def name_field(utt: str) -> str:
    """The name of an utterance as a field of its own that begins no comment."""
    name = _one_field(utt) or "_"
    return f"_{name}" if name.startswith(";;") else name


@lru_cache(maxsize=1 << 16)
def word_field(surface: str, word: str) -> str:
    """A field that is read back as the normalised `word`: no comment, alternation, silence or noise.

    That is the surface if possible.
    """
    for text in (surface, word):
        written = _one_field(text)
        is_unknown = written.lower() in UNKNOWN_MARKS
        if ";;" not in written and not is_mark(written) and (word == UNKNOWN or not is_unknown):
            return written
    return UNKNOWN


def ctm_text(
    name: str,
    channel: str,
    words: Sequence[str],
    start: ArrayLike,
    end: ArrayLike,
    confidences: Iterable[float | None],
) -> str:
    """The lines of an utterance; a comment where nothing was said.

    Starts and ends are rounded to milliseconds, so that words that follow each other still do when read again.
    """
    if not words:
        return f";; {name} has no words\n"
    first, last = (np.rint(np.asarray(times) * 1000).astype(np.int64).clip(0) for times in (start, end))
    times = zip((first / 1000).tolist(), ((last - first) / 1000).tolist(), strict=True)
    return "".join(
        f"{name} {channel} {begin:.3f} {duration:.3f} {word}\n"
        if confidence is None
        else f"{name} {channel} {begin:.3f} {duration:.3f} {word} {confidence:.6f}\n"
        for word, (begin, duration), confidence in zip(words, times, confidences, strict=True)
    )


def _one_field(text: str) -> str:
    """The text without white space, and with nothing in it that acts on a terminal."""
    return visible("_".join(text.split()))


def sniff(head: bytes, name: str) -> float:  # noqa: ARG001  # a sniffer
    """How surely these bytes are CTM: lines with two times, and a word that is no number."""
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:500]
    if len(lines) > 1:
        lines.pop()  # it may be cut
    rows = [line.split() for line in lines if line.strip() and not line.lstrip().startswith(b";;")]
    if not rows or not all(_is_ctm_row(row) for row in rows):
        return 0.0
    marks = sum(row[4] in ALTERNATION for row in rows)
    words = sum(not _NUMBER.fullmatch(row[4]) for row in rows)
    if words > marks:
        return 1.0
    # Only numbers: the states and labels of an automaton look the same, unless there are fractions of seconds.
    return 0.5 if any(b"." in row[2] and len(row) > 5 for row in rows) else 0.2


def _is_ctm_row(row: list[bytes]) -> bool:
    if not 5 <= len(row) <= 8:
        return False
    return (
        row[4] in ALTERNATION or all(_NUMBER.fullmatch(time) for time in row[2:4]) or row[2:5] == [b"*", b"*", b"@"]
    )


_COLUMNS = ("start", "end", "token", "confidence", "middle", "line")  # a confidence is NaN where there is none
Alternation = list[list[int]]  # the words of each branch, by index


@dataclass(slots=True)
class CtmRecording:
    """The words of a file and channel as columns."""

    line: int  # its first
    rows: array[float] = field(default_factory=lambda: array("d"))  # of _COLUMNS; one array, as there may be many
    alternations: list[Alternation] = field(default_factory=list)
    in_alternation: bool = False
    is_bad: bool = False  # and was reported

    def add(self, fields: Sequence[bytes], line_number: int, token_ids: _TokenIds, for_scoring: bool) -> None:
        """Add the word of a line, or what a mark says about alternations; marks have no times, nor has `@` there."""
        if not 5 <= len(fields) <= 8:
            raise _wrong_field_count(fields)
        word = fields[4]
        if word[:1] in b"<@":
            if word.upper() in ALTERNATION:
                self._mark(word.upper())
                return
            if word == b"@" and self.in_alternation:
                return
        try:
            start, duration = float(fields[2]), float(fields[3])
        except ValueError:
            _refuse_times(fields)
        if not (0 <= start <= LATEST and 0 <= duration <= LATEST):
            _refuse_times(fields)
        if len(fields) > 6 and fields[6].lower() in _NO_WORD_TYPES:
            word = b""
        token = token_ids[word]
        confidence = _parse_confidence(fields[5], for_scoring) if len(fields) > 5 else np.nan
        if self.in_alternation:
            self.alternations[-1][-1].append(len(self))
        self.rows.extend((start, start + duration, token, confidence, start + duration / 2, line_number))

    def __len__(self) -> int:
        return len(self.rows) // len(_COLUMNS)

    def _mark(self, mark: bytes) -> None:
        """Begin an alternation, or a branch of it, or end it."""
        if self.in_alternation == (mark == b"<ALT_BEGIN>"):
            where = "within another one" if self.in_alternation else "without <ALT_BEGIN>"
            raise InputError(f"{mark.decode()} stands {where}", remedy="Alternations do not nest")
        if mark == b"<ALT_END>":
            self.in_alternation = False
            return
        if mark == b"<ALT_BEGIN>":
            self.in_alternation = True
            self.alternations.append([])
        self.alternations[-1].append([])

    def middles(self, words: Ints | Offsets) -> dict[str, Floats]:
        """The middles of some words as numbers of arcs, which are exact when added up again (`exact_middles`).

        Their durations as well.
        """
        start, end, _, _, middle, _ = self._table()
        return time_parts(middle[words], (end - start)[words])

    def columns(self) -> tuple[Times, Times, Ints, Times]:
        """Start, end, token and confidence of every word."""
        start, end, token, confidence, *_ = self._table()
        return start, end, token.astype(np.int32), confidence

    def lines(self) -> list[int]:
        """The number of the line of every word."""
        return [int(number) for number in self.rows[_COLUMNS.index("line") :: len(_COLUMNS)]]

    def _table(self) -> Times:
        return np.array(self.rows).reshape(-1, len(_COLUMNS)).T.copy()


def names_and_channels(lattices: Lattices) -> dict[str, tuple[str, str]]:
    """The file and the channel of each utterance that CTM gave a channel: a name has it where a file has several."""
    channels = lattices.notes.get(CHANNEL, ("",) * len(lattices))
    named = [(utt, channel) for utt, channel in zip(lattices.utts, channels, strict=True) if channel]
    files = Counter(utt.removesuffix(f"-{channel}") for utt, channel in named)
    stems = {utt: utt.removesuffix(f"-{channel}") for utt, channel in named}
    return {utt: (stems[utt] if files[stems[utt]] > 1 else utt, channel) for utt, channel in named}


def read(stream: Stream, options: ReadOptions, problems: Problems) -> Iterator[Lattices]:
    """One lattice for each file and channel."""
    tokens = options.shared_tokens()
    recordings = read_recordings(stream.name, stream.lines(), options, tokens, problems)
    has_picked = any(recording.alternations for recording in recordings.values())
    keep_times = options.for_scoring or options.keep_times
    has_confidences = _has_confidences(recordings.values())
    has_channels = any(channel != b"1" for _, channel in recordings)
    builder = Builder(tokens, problems, origin=Origin(stream.name, "ctm"), max_arcs=options.max_arcs)
    several = files_with_channels(recordings)
    for file, channel in list(recordings):
        recording = recordings.pop((file, channel))  # what was given need not be kept
        utt = utterance_name(file, channel, several)
        try:
            if not recording.is_bad:
                made = _branched if recording.alternations else _linear
                notes = {CHANNEL: channel.decode("utf-8", "replace")} if has_channels else {}
                lattice = replace(made(utt, recording, has_picked, keep_times), notes=notes)
                is_unknown = not len(recording) and not has_confidences
                yield from builder.add(replace(lattice, posterior=None) if is_unknown else lattice)
        except InputError as error:
            problems.report(error.at(file=stream.name, utt=utt, place=f"line {recording.line}"))
    yield from builder.flush()


def _has_confidences(recordings: Iterable[CtmRecording]) -> bool:
    """Whether a recording with words has confidences: those without words are then like it."""
    given = (recording.columns()[3] for recording in recordings if len(recording))
    return not all(np.isnan(confidence).any() for confidence in given)


def files_with_channels(recordings: Iterable[tuple[bytes, bytes]]) -> set[bytes]:
    """The files that have several channels."""
    return {file for file, channels in Counter(file for file, _ in recordings).items() if channels > 1}


def utterance_name(file: bytes, channel: bytes, several: Container[bytes]) -> str:
    """What a file and channel is called: the file, and the channel where that has `several`."""
    return (b"%s-%s" % (file, channel) if file in several else file).decode("utf-8", "replace")


class _TokenIds(dict[bytes, int]):
    """Ids of tokens by the bytes of the file."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def __missing__(self, word: bytes) -> int:
        try:
            token_id = self[word] = self._tokens.id(word.decode("utf-8"))
        except UnicodeDecodeError:
            raise InputError(f"the word {word[:20]!r} is not UTF-8", remedy="Save the file as UTF-8") from None
        return token_id


def _wrong_field_count(fields: Sequence[bytes]) -> InputError:
    return InputError(
        f"{len(fields)} fields: {b' '.join(fields).decode('utf-8', 'replace')[:60]!r}",
        remedy="A line of CTM is: file channel start duration word [confidence [type [speaker]]]",
    )


def _refuse_times(fields: Sequence[bytes]) -> NoReturn:
    start, duration = (time.decode("utf-8", "replace")[:20] for time in fields[2:4])
    raise InputError(
        f"start and duration are {start!r} and {duration!r}",
        remedy="Both are seconds, not negative; `*` is for alternations only",
    )


def _parse_confidence(text: bytes, for_scoring: bool) -> float:
    """A confidence; NaN for one that is not known."""
    if text in _NO_CONFIDENCE:
        return np.nan
    try:
        return checked_confidence(float(text), "the confidence")
    except InputError:
        if for_scoring:  # the words can be compared all the same
            return np.nan
        raise
    except ValueError:
        found = f"the confidence is {text.decode('utf-8', 'replace')[:20]!r}"
        raise InputError(found, remedy="It is a number from 0 to 1, or NA") from None


def read_recordings(
    name: str, lines: Iterable[tuple[int, bytes]], options: ReadOptions, tokens: Tokens, problems: Problems
) -> dict[tuple[bytes, bytes], CtmRecording]:
    """All words by file and channel. A bad recording is reported once, and marked."""
    silent: dict[bytes, int] = {}
    lines = _noting_silent(lines, silent) if options.keep_silent else lines
    recordings = _by_file_and_channel(name, lines, tokens, problems, options.for_scoring)
    files = {file for file, _ in recordings} if silent else set()
    recordings |= {(file, b"1"): CtmRecording(line) for file, line in silent.items() if file not in files}
    several = files_with_channels(recordings)
    for (file, channel), recording in recordings.items():
        error = None
        if recording.in_alternation:
            error = InputError("an alternation has no <ALT_END>", remedy="The file is cut off or damaged")
        elif len(recording) > options.max_arcs:
            error = options.too_many_arcs(len(recording))
        if error is not None:
            recording.is_bad = True
            utt = utterance_name(file, channel, several)
            problems.report(error.at(file=name, utt=utt, place=f"line {recording.line}"))
    return recordings


def _noting_silent(lines: Iterable[tuple[int, bytes]], silent: dict[bytes, int]) -> Iterator[tuple[int, bytes]]:
    """The lines; `silent` gets the names that comments, as `ctm_text` writes them, say have no words."""
    for line_number, raw in lines:
        if raw.startswith(b";; ") and raw.endswith(b" has no words") and len(fields := raw.split()) == 5:
            silent.setdefault(fields[1], line_number)
        yield line_number, raw


def _by_file_and_channel(
    name: str, lines: Iterable[tuple[int, bytes]], tokens: Tokens, problems: Problems, for_scoring: bool
) -> dict[tuple[bytes, bytes], CtmRecording]:
    recordings: dict[tuple[bytes, bytes], CtmRecording] = {}
    token_ids = _TokenIds(tokens)
    for line_number, raw in lines:
        fields = (raw.removeprefix(b"\xef\xbb\xbf") if line_number == 1 else raw).split()
        if not fields or fields[0].startswith(b";;"):
            continue
        if len(fields) < 2:
            raise _wrong_field_count(fields).at(file=name, place=f"line {line_number}")
        key = fields[0], fields[1]
        recording = recordings.get(key)
        if recording is None:
            recording = recordings[key] = CtmRecording(line_number)
        if recording.is_bad:
            continue
        try:
            recording.add(fields, line_number, token_ids, for_scoring)
        except InputError as error:
            recording.is_bad, recording.in_alternation = True, False
            utt = fields[0].decode("utf-8", "replace")
            problems.report(error.at(file=name, utt=utt, place=f"line {line_number}"))
    return recordings


def _linear(utt: str, recording: CtmRecording, has_picked: bool, keep_times: bool) -> RawLattice:
    start, end, token, confidence = recording.columns()
    order = np.argsort(start, kind="stable")
    posterior = None if np.isnan(confidence).any() else confidence[order]
    extra = recording.middles(order) if keep_times else {}
    lattice = linear_lattice(
        utt, token[order], start[order], end[order], posterior, place=recording.line, extra=extra
    )
    return replace(lattice, picked=[True] * len(lattice.source)) if has_picked else lattice


def _branched(utt: str, recording: CtmRecording, has_picked: bool, keep_times: bool) -> RawLattice:
    start, end, token, confidence = recording.columns()
    segments = _segments(recording, start)
    words = np.array([word for branches in segments for branch in branches for word in branch], np.int64)
    graph = segment_chains([_segment_words(branches, start, end) for branches in segments])
    posterior = None
    if not np.isnan(confidence).any():
        silence = np.append(_branch_posteriors(segments, confidence), 1.0)[graph.hypothesis]
        posterior = np.where(graph.word < 0, silence, np.append(confidence[words], 1.0)[graph.word])
    is_first = np.array([index == 0 for branches in segments for index in range(len(branches))] + [True])
    picked = is_first[graph.hypothesis] if has_picked else None
    middles = recording.middles(words) if keep_times else {}
    extra = {name: np.append(values, np.float32(0))[graph.word] for name, values in middles.items()}
    return graph.lattice(utt, token[words], place=recording.line, posterior=posterior, picked=picked, extra=extra)


def _segments(recording: CtmRecording, start: Times) -> list[Alternation]:
    """Alternations and the words between them, in order of time; the latter as segments with one branch."""
    inside = {word for alternation in recording.alternations for branch in alternation for word in branch}
    outside = [word for word in np.argsort(start, kind="stable").tolist() if word not in inside]
    timed = [
        (min(start[word] for branch in alternation for word in branch), alternation)
        for alternation in recording.alternations
        if any(alternation)
    ]
    timed.sort(key=lambda item: item[0])
    before = np.searchsorted(start[outside], [first for first, _ in timed]).tolist()
    runs = [[outside[first:last]] for first, last in pairwise([0, *before, len(outside)])]
    branches = [[sorted(branch, key=start.__getitem__) for branch in alternation] for _, alternation in timed]
    segments = [part for run, alternation in zip(runs, [*branches, []], strict=True) for part in (run, alternation)]
    return [segment for segment in segments if any(segment)] or [[[]]]


def _segment_words(branches: Alternation, start: Times, end: Times) -> SegmentWords:
    words = np.array([word for branch in branches for word in branch], np.int64)
    return SegmentWords(row_offsets(branches), start[words], end[words])


def _branch_posteriors(segments: Sequence[Alternation], confidence: Times) -> list[float]:
    """What the pauses of a branch have: the mean of its words, or what the other branches leave if it has none."""
    posteriors: list[float] = []
    for branches in segments:
        means = [float(confidence[branch].mean()) if branch else 0.0 for branch in branches]
        rest = max(0.0, 1.0 - sum(means))
        posteriors += [mean if branch else rest for branch, mean in zip(branches, means, strict=True)]
        if len(branches) == 1:
            posteriors[-1] = 1.0
    return posteriors


def write(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:  # noqa: ARG001  # a Writer
    """Write the 1-best of every lattice."""
    names: set[tuple[str, str]] = set()
    with atomic_text(path) as file:
        for batch in batches:
            paths, channels = one_best(batch), names_and_channels(batch)
            for index, lattice in enumerate(batch):
                utt, channel = channels.get(lattice.utt, (lattice.utt, "1"))
                name = name_field(utt)
                if (name, channel) in names:
                    raise OptionError(
                        f"{path}: two utterances would be called {name!r} and be read as one. Write them to two files"
                    )
                names.add((name, channel))
                arcs = paths.arcs[paths.offsets[index] : paths.offsets[index + 1]]
                file.write(_lattice_text(name, name_field(channel), lattice, arcs[lattice.word[arcs] > 0]))


def _lattice_text(name: str, channel: str, lattice: Lattice, arcs: NDArray[np.int32]) -> str:
    start, end = lattice.time[lattice.source[arcs]], lattice.time[lattice.target[arcs]]
    confidences = [None] * len(arcs) if lattice.posterior is None else lattice.posterior[arcs].tolist()
    return ctm_text(name, channel, _written_words(lattice, arcs.tolist()), start, end, confidences)


def _written_words(lattice: Lattice, arcs: Sequence[int]) -> list[str]:
    """Words as the recognizer wrote them. A number that was spelled out has that on its first word only: 42 is
    written as its words, forty and two.
    """
    words, all_surfaces = lattice.words, lattice.surfaces
    surfaces = ["".join(all_surfaces[arc].replace(JOINER, "").split()) for arc in arcs]
    following = [*surfaces[1:], "."]  # nothing goes on after the last one
    return [
        word_field(surface if surface and after else words[arc], words[arc])
        for arc, surface, after in zip(arcs, surfaces, following, strict=False)
    ]


FORMAT = Format(name="ctm", title="NIST CTM", suffixes=(".ctm",), sniff=sniff, read=read, write=write)
