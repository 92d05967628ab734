"""References: what was really said, by utterance.

A file of references, packed or not, is recognised by its content:

- REF.tsv: a header with the columns `utt` and `text`, and `speaker`, `split`, `duration`, `accent` where known. There
  is no quoting: a `"` is a character like any other, and a text holds no tab.
- STM: `file channel speaker start end [<label>] text` (formats/stm.py), with alternatives and times: words are
  compared segment by segment, and segments that are to be ignored are. Where a plain text is needed, the first
  of several alternatives counts, and optional words and those like `%hesitation` are left out. The
  duration is the end of the last segment.
- TRN: `text (utt)`, an utterance a line, with alternatives as in STM.
- NLP, one file per recording: a header `token|speaker|ts|endTs|punctuation|case|tags`, then one token per line. The
  recording has the name of the file; its speaker is known where there is only one. Only the column `token` is needed.
- anything else is Kaldi `text`: `utt word word ...`, one utterance per line.

Names that differ in case only are the same utterance, and channels may be called A and B, 1 and 2, 0 and 1, ch_0 and
ch_1 on either side.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ...base.errors import InputError, OptionError
from ...base.number_format import counted
from ...base.problems import Problems
from ...lattices.graph import LATEST
from ...lattices.lattice import CHANNEL, Lattices, concatenate
from ...lattices.text import DEFAULT, Normalizer, is_mark
from ..inputs import Stream, streams
from .glm import Glm
from .nist_text import parse_text
from .reference import UTF8_MARK, Line, Reference, Segment, WordsOf, line_error, seconds, text_lines
from .stm import PartsOf, is_stm, plain_words, read_stm

__all__ = ["Reference", "References", "Segment", "read_references", "renamed", "with_references"]

REQUIRED = ("utt", "text")
OPTIONAL = ("speaker", "split", "duration", "accent")

_COLUMNS = frozenset({*REQUIRED, *OPTIONAL})
_TRN = re.compile(r"(?P<text>.*)\((?P<utt>[^()\s]+)\)\s*")
_CHANNEL = re.compile(r"(?:ch|chan|channel)?[_-]?([a-z]|[0-9]{1,3})")
_CTM = re.compile(r"\s*\S+\s+\d+(\.\d*)?\s+\d+(\.\d*)?\s+\S+(\s+-?[\d.]+)?\s*")  # behind the name
_NO_REFERENCES = "This looks like CTM, a recognizer's words, and not like references; are the two swapped?"
_EXAMPLES = 3  # names that a message lists


class References(Mapping[str, Reference]):
    """References by the name of the utterance, in the order of the file."""

    def __init__(
        self, references: Iterable[Reference], source: str = "references", normalizer: Normalizer = DEFAULT
    ) -> None:
        self.source = source  # the file, for messages
        self.normalizer = normalizer  # what their words were made with
        self._by_utt = {reference.utt: reference for reference in references}
        self._by_folded: dict[str, Reference | None] = {}  # None for a name that several have
        self._by_channel: dict[str, dict[int, Reference]] = {}  # of recordings: by folded file
        channels = {reference.channel for reference in self._by_utt.values() if reference.channel is not None}
        for reference in self._by_utt.values():
            folded = reference.utt.casefold()
            self._by_folded[folded] = None if folded in self._by_folded else reference
            if reference.channel is not None:
                file = folded.removesuffix(f"-{reference.channel.casefold()}")
                self._by_channel.setdefault(file, {})[_channel_index(reference.channel, channels)] = reference

    def __getitem__(self, utt: str) -> Reference:
        return self._by_utt[utt]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_utt)

    def __len__(self) -> int:
        return len(self._by_utt)

    def __repr__(self) -> str:
        words = sum(len(reference.words) for reference in self.values())
        return f"<References {self.source}: {counted(len(self), 'utterance')}, {counted(words, 'word')}>"

    def find(self, utt: str, channel: str = "", channels: Collection[str] = ()) -> Reference | None:
        """The reference of an utterance, whatever the case of its name and the names of channels.

        `channel` is where the utterance is from, if that is known, and `channels` are those beside it.
        """
        exact, folded = self._by_utt.get(utt), utt.casefold()
        if exact is not None and (exact.channel is None or not channel):
            return exact
        file = folded if folded in self._by_channel else folded.removesuffix(f"-{channel.casefold()}")
        if not channel and file not in self._by_channel:
            file, _, channel = folded.rpartition("-")
        among = self._by_channel.get(file, {})
        if channel and among:
            index = _channel_index(channel, channels or [channel])
            if len(among) == 1 and not _is_other_channel(channel, next(iter(among.values())).channel or ""):
                return next(iter(among.values()))
            return among.get(index)
        return exact or self._by_folded.get(folded)

    def of_split(self, split: str) -> References:
        """The references of one split of the corpus."""
        chosen = [reference for reference in self.values() if reference.split == split]
        if not chosen:
            splits = sorted({reference.split for reference in self.values() if reference.split})
            raise OptionError(f"{self.source} has no split {split!r}, but: {', '.join(splits) or 'none at all'}")
        return References(chosen, self.source, self.normalizer)


def _channel_index(channel: str, among: Collection[str]) -> int:
    """The number of a channel, from 0: A and B, 1 and 2, 0 and 1, ch_0 and ch_1; a hash for any other name."""
    match = _CHANNEL.fullmatch(channel.casefold())
    if match is None:
        return -1 - abs(hash(channel.casefold()))
    if match[1].isalpha():
        return ord(match[1]) - ord("a")
    others = (_CHANNEL.fullmatch(other.casefold()) for other in among)
    from_zero = any(other is not None and other[1].isdigit() and int(other[1]) == 0 for other in others)
    return int(match[1]) - (0 if from_zero else 1)


def _is_other_channel(channel: str, other: str) -> bool:
    """Whether two names must mean two channels: both are letters, or both are numbers, and they differ."""
    matches = [_CHANNEL.fullmatch(name.casefold()) for name in (channel, other)]
    if matches[0] is None or matches[1] is None:
        return False
    first, second = matches[0][1], matches[1][1]
    return first.isalpha() == second.isalpha() and first != second


def read_references(*paths: str | Path, normalizer: Normalizer = DEFAULT, glm: Glm | None = None) -> References:
    """Read references from tables (REF.tsv), Kaldi `text`, STM, TRN or NLP files, packed or not.

    `glm` are rules (`read_glm`) that are applied to their texts.
    """
    words_of = _cached_words(normalizer)
    references: list[Reference] = []
    places: dict[str, str] = {}
    for stream in streams(paths):
        before = len(references)
        for line, reference in _read_file(stream, words_of, glm):
            place = f"line {line}"
            if reference.utt in places:
                found = f"the utterance is there a second time, first in {places[reference.utt]}"
                remedy = _NO_REFERENCES if _CTM.fullmatch(reference.text) else "Keep one of the two"
                raise stream.error(found, utt=reference.utt, place=place, remedy=remedy)
            places[reference.utt] = f"{stream.name}, {place}"
            references.append(reference)
        if len(references) == before:
            raise stream.error(
                "there are no references in it", remedy="A reference is a line: a name, then the words"
            )
    return References(references, ", ".join(str(path) for path in paths), normalizer)


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
    """The utterances of a batch that have a reference, by the names of these; the others go to `problems`."""
    batch = renamed(batch, references)
    missing = [utt for utt in batch.utts if utt not in references]
    for utt in missing:
        examples = ", ".join(list(references)[:_EXAMPLES])
        error = InputError(
            "there is no reference for this utterance",
            file=batch.origin.file,
            utt=utt,
            remedy=f"{len(references):,} references were read ({examples}{', ...' * (len(references) > _EXAMPLES)}); "
            "add it there, or go on without it (--skip-bad)",
        )
        problems.report(error)
    if not missing:
        return batch
    return concatenate(lattice.batch() for lattice in batch if lattice.utt in references)


def renamed(batch: Lattices, references: Mapping[str, Reference]) -> Lattices:
    """The batch with the names that its utterances have in the references, where they have one."""
    if not isinstance(references, References):
        return batch
    channels = batch.notes.get(CHANNEL, ("",) * len(batch))
    beside: dict[str, set[str]] = {}
    for utt, channel in zip(batch.utts, channels, strict=True):
        beside.setdefault(utt.removesuffix(f"-{channel}"), set()).add(channel or utt.rpartition("-")[2])
    names = []
    for utt, channel in zip(batch.utts, channels, strict=True):
        reference = references.find(utt, channel, beside[utt.removesuffix(f"-{channel}")])
        names.append(utt if reference is None else reference.utt)
    return batch if tuple(names) == batch.utts else replace(batch, utts=tuple(names))


def _read_file(stream: Stream, words_of: WordsOf, glm: Glm | None) -> Iterator[Line]:
    """The references of a file, whichever kind it is; none for an empty file."""
    head, parts_of = _head(stream), parse_text if glm is None else glm.reference
    if not head:
        return iter(())
    columns = head[0].lower().split("\t")
    if len(columns) > 2 or (len(columns) == 2 and _COLUMNS.intersection(columns)):
        lines = _read_tsv(stream, words_of)
    elif _nlp_columns(head[0])[0] == "token" and "|" in head[0]:
        lines = _read_nlp(stream, words_of)
    elif stream.name.removesuffix(".gz").endswith(".stm") or all(is_stm(line) for line in head):
        return read_stm(stream, words_of, parts_of)
    elif _is_trn(stream, head):
        return _read_trn(stream, words_of, parts_of)
    else:
        _refuse_others(stream, head[0])
        lines = _read_kaldi(stream, words_of)
    return lines if glm is None else _by_rules(lines, words_of, parts_of, stream)


def _by_rules(lines: Iterable[Line], words_of: WordsOf, parts_of: PartsOf, stream: Stream) -> Iterator[Line]:
    """Plain references with rules applied to their texts."""
    for line_number, reference in lines:
        yield line_number, _with_parts(stream, line_number, reference, words_of, parts_of)


def _with_parts(
    stream: Stream, line_number: int, reference: Reference, words_of: WordsOf, parts_of: PartsOf
) -> Reference:
    """The reference with alternatives, as one segment without times."""
    try:
        parts = parts_of(reference.text)
    except ValueError as error:
        remedy = "Alternatives are written { a / b }"
        raise line_error(stream, line_number, str(error), remedy, utt=reference.utt) from None
    segment = Segment(0.0, LATEST, reference.speaker_or_utt, parts)
    return replace(reference, words=words_of(" ".join(plain_words(parts))), segments=(segment,))


def _is_trn(stream: Stream, head: list[str]) -> bool:
    lines = [line for line in head if not line.startswith(";;")]
    if stream.name.removesuffix(".gz").endswith(".trn"):
        return True
    return len(lines) > 0 and all(_TRN.fullmatch(line) for line in lines)


def _read_trn(stream: Stream, words_of: WordsOf, parts_of: PartsOf) -> Iterator[Line]:
    for line_number, line in text_lines(stream):
        if line.startswith(";;"):
            continue
        match = _TRN.fullmatch(line)
        if match is None:
            raise line_error(stream, line_number, "the line does not end in (utterance)", "A TRN line is: text (utt)")
        plain = Reference(match["utt"], match["text"].strip(), ())
        yield line_number, _with_parts(stream, line_number, plain, words_of, parts_of)


def _head(stream: Stream) -> list[str]:
    """The first lines that are not empty, for judging what they are; `_lines` decodes with care."""
    data = stream.head().removeprefix(UTF8_MARK)
    lines = data.decode("utf-8", "replace").split("\n")
    if len(lines) > 1:
        lines.pop()  # it may be cut
    return [line.strip("\r") for line in lines if line.strip()]


def _refuse_others(stream: Stream, line: str) -> None:
    """Kaldi `text` has no form of its own, so say what else a file seems to be before taking its lines for words."""
    remedy = (
        "References are tab-separated tables with the columns `utt` and `text`, Kaldi text, STM, TRN or NLP files"
    )
    if line.lstrip()[:1] in ("{", "["):
        raise stream.error("this looks like JSON", remedy=remedy)
    if {"utt", "text"} <= set(re.split(r"[,;\s]+", line.lower().strip())):
        raise stream.error("the columns of this table are not separated by tabs", remedy=remedy)


def _read_tsv(stream: Stream, words_of: WordsOf) -> Iterator[Line]:
    lines = text_lines(stream)
    line_number, header = next(lines)
    columns = [name.strip().lower() for name in header.split("\t")]
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        found = f"there is no column {' and no column '.join(missing)} among: {', '.join(columns)}"
        raise line_error(stream, line_number, found, "The first line names the columns, `utt` and `text` among them")
    double = [name for name in _COLUMNS if columns.count(name) > 1]
    if double:
        raise line_error(stream, line_number, f"the column {double[0]} appears twice", "Rename or remove one")
    for line_number, line in lines:
        yield line_number, _table_row(stream, line_number, columns, line, words_of)


def _table_row(stream: Stream, line_number: int, columns: list[str], line: str, words_of: WordsOf) -> Reference:
    values = line.split("\t")
    if len(values) != len(columns):
        found = f"{len(values)} fields where the header has {len(columns)}"
        raise line_error(stream, line_number, found, "Separate fields by one tab; a text holds none", utt=values[0])
    fields = {name: value.strip() for name, value in zip(columns, values, strict=True) if name in _COLUMNS}
    utt = fields["utt"]
    if not utt:
        raise line_error(stream, line_number, "the utterance has no name", "Fill in the column `utt`")
    duration = fields.pop("duration", "")
    time = seconds(duration) if duration else None
    if duration and time is None:
        raise line_error(
            stream, line_number, f"the duration is {duration!r}", "Give it in seconds, or leave it empty", utt
        )
    return Reference(
        utt=utt,
        text=fields["text"],
        words=words_of(fields["text"]),
        duration=time,
        speaker=fields.get("speaker") or None,
        split=fields.get("split") or None,
        accent=fields.get("accent") or None,
    )


def _read_kaldi(stream: Stream, words_of: WordsOf) -> Iterator[Line]:
    for line_number, line in text_lines(stream):
        utt, _, text = line.strip().replace("\t", " ", 1).partition(" ")
        yield line_number, Reference(utt, text.strip(), words_of(text))


def _nlp_columns(header: str) -> list[str]:
    return [name.strip().lower() for name in header.split("|")]


def _read_nlp(stream: Stream, words_of: WordsOf) -> Iterator[Line]:
    lines = text_lines(stream)
    first, header = next(lines)
    columns = _nlp_columns(header)
    tokens: list[str] = []
    speakers: set[str] = set()
    for line_number, line in lines:
        values = line.split("|")
        if len(values) != len(columns):
            found = f"{len(values)} fields where the header has {len(columns)}"
            raise line_error(
                stream, line_number, found, "Separate fields by one |; a token holds none", utt=stream.stem
            )
        fields = {name: value.strip() for name, value in zip(columns, values, strict=True)}
        token = fields["token"]
        tokens.append(token if is_mark(token) else token + fields.get("punctuation", ""))
        speakers.add(fields.get("speaker", ""))
    speaker = speakers.pop() if len(speakers) == 1 else ""
    text = " ".join(tokens)
    yield first, Reference(stream.stem, text, words_of(text), speaker=speaker or None)
