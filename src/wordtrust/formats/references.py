"""References: what was really said, by utterance.

A file of references, packed or not, is recognised by its content:

- REF.tsv: a header with the columns `utt` and `text`, and `speaker`, `split`, `duration`, `accent` where known. There
  is no quoting: a `"` is a character like any other, and a text holds no tab.
- STM: `file channel speaker start end [<label>] text`, comments after `;;`. The segments of a file (or of one of its
  channels, then called FILE-CHANNEL, where it has several) are joined in the order of their starts. What STM leaves
  open is settled as follows: the first of several alternatives `{ a / b }` counts, and `@` is no word; words in
  parentheses and those like `%hesitation` are optional and left out; a segment IGNORE_TIME_SEGMENT_IN_SCORING has no
  words. The speaker is known where a file has only one; the duration is the end of the last segment.
- NLP, one file per recording: a header `token|speaker|ts|endTs|punctuation|case|tags`, then one token per line. The
  recording has the name of the file; its speaker is known where there is only one. Only the column `token` is needed.
- anything else is Kaldi `text`: `utt word word ...`, one utterance per line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..base.errors import InputError, OptionError
from ..base.problems import Problems
from ..lattices.graph import LATEST
from ..lattices.lattice import Lattices, concatenate
from ..lattices.text import DEFAULT, UNKNOWN_MARKS, Normalizer, is_mark
from .inputs import Stream, streams

REQUIRED = ("utt", "text")
OPTIONAL = ("speaker", "split", "duration", "accent")

_COLUMNS = frozenset({*REQUIRED, *OPTIONAL})
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK = b"\xef\xbb\xbf"
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?")
_LABEL = re.compile(r"<[^<>\s]*>")
_OPTIONAL_WORDS = re.compile(r"\([^()]*\)|(?<!\S)%[^\W\d]\S*")
_IGNORED = "ignore_time_segment_in_scoring"
_NO_SPEAKERS = frozenset({"inter_segment_gap", "excluded_region"})


@dataclass(frozen=True, slots=True)
class Reference:
    """What was said in one utterance, and what is known about it."""

    utt: str
    text: str  # as the file has it
    words: tuple[str, ...]  # normalised
    speaker: str | None = None
    split: str | None = None
    duration: float | None = None  # seconds
    accent: str | None = None

    @property
    def speaker_or_utt(self) -> str:
        """What intervals and tests resample: the speaker, or the utterance where the speaker is not known."""
        return self.speaker or self.utt


class References(Mapping[str, Reference]):
    """References by the name of the utterance, in the order of the file."""

    def __init__(self, references: Iterable[Reference], source: str = "references") -> None:
        self.source = source  # the file, for messages
        self._by_utt = {reference.utt: reference for reference in references}

    def __getitem__(self, utt: str) -> Reference:
        return self._by_utt[utt]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_utt)

    def __len__(self) -> int:
        return len(self._by_utt)

    def __repr__(self) -> str:
        words = sum(len(reference.words) for reference in self.values())
        return f"<References {self.source}: {len(self):,} utterances, {words:,} words>"

    def of_split(self, split: str) -> References:
        """The references of one split of the corpus."""
        chosen = [reference for reference in self.values() if reference.split == split]
        if not chosen:
            splits = sorted({reference.split for reference in self.values() if reference.split})
            raise OptionError(f"{self.source} has no split {split!r}, but: {', '.join(splits) or 'none at all'}")
        return References(chosen, self.source)


WordsOf = Callable[[str], tuple[str, ...]]  # the normalised words of a text
Line = tuple[int, Reference]  # with the number of the line that it begins on


def read_references(*paths: str | Path, normalizer: Normalizer = DEFAULT) -> References:
    """Read references from tables (REF.tsv), Kaldi `text`, STM or NLP files, packed or not."""
    words_of = _cached_words(normalizer)
    references: list[Reference] = []
    places: dict[str, str] = {}
    for stream in streams(paths):
        before = len(references)
        for line, reference in _read_file(stream, words_of):
            place = f"line {line}"
            if reference.utt in places:
                found = f"the utterance is there a second time, first in {places[reference.utt]}"
                raise stream.error(found, utt=reference.utt, place=place, remedy="Keep one of the two")
            places[reference.utt] = f"{stream.name}, {place}"
            references.append(reference)
        if len(references) == before:
            raise stream.error(
                "there are no references in it", remedy="A reference is a line: a name, then the words"
            )
    return References(references, ", ".join(str(path) for path in paths))


def _cached_words(normalizer: Normalizer) -> WordsOf:
    """Normalisation of texts, in which most tokens come again and again."""
    words: dict[str, list[str]] = {}

    def words_of(text: str) -> tuple[str, ...]:
        for token in text.split():
            if token not in words:
                words[token] = normalizer.words(token)
        return tuple(word for token in text.split() for word in words[token])

    return words_of


def with_references(batch: Lattices, references: Mapping[str, Reference], problems: Problems) -> Lattices:
    """The utterances of a batch that have a reference; the others go to `problems`."""
    missing = [utt for utt in batch.utts if utt not in references]
    for utt in missing:
        error = InputError(
            "there is no reference for this utterance",
            file=batch.origin.file,
            utt=utt,
            remedy=f"{len(references):,} references were read; add it there, or go on without it (--skip-bad)",
        )
        problems.report(error)
    if not missing:
        return batch
    return concatenate(lattice.batch() for lattice in batch if lattice.utt in references)


def _read_file(stream: Stream, words_of: WordsOf) -> Iterator[Line]:
    """The references of a file, whichever kind it is; none for an empty file."""
    head = _head(stream)
    if not head:
        return iter(())
    columns = head[0].lower().split("\t")
    if len(columns) > 2 or (len(columns) == 2 and _COLUMNS.intersection(columns)):
        return _read_tsv(stream, words_of)
    if _nlp_columns(head[0])[0] == "token" and "|" in head[0]:
        return _read_nlp(stream, words_of)
    if stream.name.removesuffix(".gz").endswith(".stm") or all(_is_stm(line) for line in head):
        return _read_stm(stream, words_of)
    _refuse_others(stream, head[0])
    return _read_kaldi(stream, words_of)


def _head(stream: Stream) -> list[str]:
    """The first lines that are not empty, for judging what they are; `_lines` decodes with care."""
    data = stream.head().removeprefix(_UTF8_MARK)
    lines = data.decode("utf-8", "replace").split("\n")
    if len(lines) > 1:
        lines.pop()  # it may be cut
    return [line.strip("\r") for line in lines if line.strip()]


def _lines(stream: Stream) -> Iterator[tuple[int, str]]:
    """Numbered lines that are not empty."""
    for line_number, raw in stream.lines():
        data = raw.removeprefix(_UTF8_MARK) if line_number == 1 else raw
        if (line_number == 1 and data.startswith(_UTF16)) or b"\0" in data:
            raise _error(stream, line_number, "this is not UTF-8 text but UTF-16 or binary", "Save the text as UTF-8")
        try:
            line = data.decode()
        except UnicodeDecodeError as error:
            found = f"byte 0x{data[error.start]:02x} at column {error.start + 1} is not UTF-8"
            raise _error(stream, line_number, found, "Convert the file, as in: iconv -f latin1 -t utf-8") from None
        if line.strip():
            yield line_number, line


def _error(stream: Stream, line: int, found: str, remedy: str, utt: str = "") -> InputError:
    return stream.error(found, utt=utt, place=f"line {line}", remedy=remedy)


def _refuse_others(stream: Stream, line: str) -> None:
    """Kaldi `text` has no form of its own, so say what else a file seems to be before taking its lines for words."""
    remedy = "References are tab-separated tables with the columns `utt` and `text`, Kaldi text, STM or NLP files"
    if line.lstrip()[:1] in ("{", "["):
        raise stream.error("this looks like JSON", remedy=remedy)
    if {"utt", "text"} <= set(re.split(r"[,;\s]+", line.lower().strip())):
        raise stream.error("the columns of this table are not separated by tabs", remedy=remedy)


def _read_tsv(stream: Stream, words_of: WordsOf) -> Iterator[Line]:
    lines = _lines(stream)
    line_number, header = next(lines)
    columns = [name.strip().lower() for name in header.split("\t")]
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        found = f"there is no column {' and no column '.join(missing)} among: {', '.join(columns)}"
        raise _error(stream, line_number, found, "The first line names the columns, `utt` and `text` among them")
    double = [name for name in _COLUMNS if columns.count(name) > 1]
    if double:
        raise _error(stream, line_number, f"the column {double[0]} appears twice", "Rename or remove one")
    for line_number, line in lines:
        yield line_number, _table_row(stream, line_number, columns, line, words_of)


def _table_row(stream: Stream, line_number: int, columns: list[str], line: str, words_of: WordsOf) -> Reference:
    values = line.split("\t")
    if len(values) != len(columns):
        found = f"{len(values)} fields where the header has {len(columns)}"
        raise _error(stream, line_number, found, "Separate fields by one tab; a text holds none", utt=values[0])
    fields = {name: value.strip() for name, value in zip(columns, values, strict=True) if name in _COLUMNS}
    utt = fields["utt"]
    if not utt:
        raise _error(stream, line_number, "the utterance has no name", "Fill in the column `utt`")
    duration = fields.pop("duration", "")
    seconds = _seconds(duration) if duration else None
    if duration and seconds is None:
        raise _error(
            stream, line_number, f"the duration is {duration!r}", "Give it in seconds, or leave it empty", utt
        )
    return Reference(
        utt=utt,
        text=fields["text"],
        words=words_of(fields["text"]),
        duration=seconds,
        **{name: fields.get(name) or None for name in ("speaker", "split", "accent")},
    )


def _seconds(text: str) -> float | None:
    """A time, or None for what is none."""
    if not _NUMBER.fullmatch(text):
        return None
    seconds = float(text)
    return seconds if seconds <= LATEST else None


def _read_kaldi(stream: Stream, words_of: WordsOf) -> Iterator[Line]:
    for line_number, line in _lines(stream):
        utt, _, text = line.strip().replace("\t", " ", 1).partition(" ")
        yield line_number, Reference(utt, text.strip(), words_of(text))


def _nlp_columns(header: str) -> list[str]:
    return [name.strip().lower() for name in header.split("|")]


def _read_nlp(stream: Stream, words_of: WordsOf) -> Iterator[Line]:
    lines = _lines(stream)
    first, header = next(lines)
    columns = _nlp_columns(header)
    tokens: list[str] = []
    speakers: set[str] = set()
    for line_number, line in lines:
        values = line.split("|")
        if len(values) != len(columns):
            found = f"{len(values)} fields where the header has {len(columns)}"
            raise _error(stream, line_number, found, "Separate fields by one |; a token holds none", utt=stream.stem)
        fields = {name: value.strip() for name, value in zip(columns, values, strict=True)}
        token = fields["token"]
        tokens.append(token if is_mark(token) else token + fields.get("punctuation", ""))
        speakers.add(fields.get("speaker", ""))
    speaker = speakers.pop() if len(speakers) == 1 else ""
    text = " ".join(tokens)
    yield first, Reference(stream.stem, text, words_of(text), speaker=speaker or None)


@dataclass(slots=True)
class _StmRecording:
    """The segments of a file and channel."""

    line: int
    segments: list[tuple[float, str]] = field(default_factory=list)  # start and text
    speakers: set[str] = field(default_factory=set)
    end: float = 0.0


def _read_stm(stream: Stream, words_of: WordsOf) -> Iterator[Line]:
    recordings: dict[tuple[str, str], _StmRecording] = {}
    for line_number, line in _lines(stream):
        if not line.lstrip().startswith(";;"):
            _add_segment(stream, line_number, line, recordings)
    channels = Counter(file for file, _ in recordings)
    for (file, channel), recording in recordings.items():
        segments = sorted(recording.segments, key=lambda segment: segment[0])
        text = " ".join(words for _, words in segments if words)
        yield (
            recording.line,
            Reference(
                utt=file if channels[file] == 1 else f"{file}-{channel}",
                text=text,
                words=words_of(text),
                speaker=next(iter(recording.speakers)) if len(recording.speakers) == 1 else None,
                duration=recording.end,
            ),
        )


def _is_stm(line: str) -> bool:
    if line.lstrip().startswith(";;"):
        return True
    fields = line.split(None, 5)
    return len(fields) >= 5 and all(_NUMBER.fullmatch(time) for time in fields[3:5])


def _add_segment(
    stream: Stream, line_number: int, line: str, recordings: dict[tuple[str, str], _StmRecording]
) -> None:
    file, channel, speaker, *times, text = [*line.split(None, 5), "", "", "", "", "", ""][:6]
    start, end = (_seconds(time) for time in times)
    if start is None or end is None or end < start:
        found = f"the times of this segment are {times[0]!r} and {times[1]!r}"
        remedy = "An STM line is: file channel speaker start end [<label>] text, with times in seconds"
        raise _error(stream, line_number, found, remedy, utt=file)
    recording = recordings.setdefault((file, channel), _StmRecording(line_number))
    recording.end = max(recording.end, end)
    try:
        words = _segment_words(text)
    except ValueError as error:
        raise _error(stream, line_number, str(error), "Alternatives are written { a / b }", utt=file) from None
    recording.segments.append((start, words))
    if speaker.lower() not in _NO_SPEAKERS:
        recording.speakers.add(speaker)


def _segment_words(text: str) -> str:
    """The words of a segment: without its label, optional words, and all alternatives but the first."""
    label = _LABEL.match(text)
    if label and label[0].lower() not in UNKNOWN_MARKS:
        text = text[label.end() :]
    if text.strip().lower() == _IGNORED:
        return ""
    if "{" in text or "}" in text:
        text = _first_alternatives(text)
    words = _OPTIONAL_WORDS.sub(" ", text).split()
    return " ".join(word for word in words if word != "@")


def _first_alternatives(text: str) -> str:
    """Choose the first of each `{ a / b }`, also within another; braces without a slash are left as they are."""
    open_groups: list[list[list[str]]] = [[[]]]  # the alternatives of each; the outermost is the text itself
    for piece in text.replace("{", " { ").replace("}", " } ").split():
        if piece == "{":
            open_groups.append([[]])
        elif piece == "/" and len(open_groups) > 1:
            open_groups[-1].append([])
        elif piece == "}":
            if len(open_groups) == 1:
                raise ValueError("there is a } without a {")
            first, *others = open_groups.pop()
            open_groups[-1][-1] += first if others else ["{" + " ".join(first) + "}"]
        else:
            open_groups[-1][-1].append(piece)
    if len(open_groups) > 1:
        raise ValueError("there is a { without a }")
    return " ".join(open_groups[0][0])
