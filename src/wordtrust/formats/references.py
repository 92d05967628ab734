"""References: what was really said, by utterance, and whether they fit the hypotheses at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..base.errors import InputError, OptionError
from ..lattices import text as words_of_text
from ..lattices.assemble import Problems
from ..lattices.lattice import Lattices, concatenate
from .inputs import streams
from .reference_files import Row, rows

EXAMPLES = 3  # names that a message lists


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


@dataclass(frozen=True, slots=True)
class Match:
    """Which utterances are on both sides, and which on one only."""

    source: str  # of the references
    both: int
    only_hypotheses: tuple[str, ...]
    only_references: tuple[str, ...]
    hint: str = ""  # how the names seem to differ

    def __str__(self) -> str:
        parts = [f"{self.both:,} {'utterance is' if self.both == 1 else 'utterances are'} on both sides"]
        if self.only_hypotheses:
            total = self.both + len(self.only_hypotheses)
            parts.append(_count(self.only_hypotheses, total, "hypotheses have no reference"))
        if self.only_references:
            total = self.both + len(self.only_references)
            parts.append(_count(self.only_references, total, "references have no hypothesis"))
        return f"{self.source}: " + "; ".join(parts)

    def require_references(self) -> None:
        """Raise an error that says what is missing, unless every hypothesis has a reference."""
        if self.only_hypotheses or not self.both:
            remedy = self.hint or "Add the missing references, or leave these utterances out"
            raise InputError(str(self).removeprefix(f"{self.source}: "), file=self.source, remedy=remedy)


def _count(names: tuple[str, ...], total: int, what: str) -> str:
    listed = ", ".join(names[:EXAMPLES]) + (", ..." if len(names) > EXAMPLES else "")
    return f"{len(names):,} of {total:,} {what} ({listed})"


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
            known = sorted({reference.split for reference in self.values() if reference.split})
            raise OptionError(f"{self.source} has no split {split!r}, but: {', '.join(known) or 'none at all'}")
        return References(chosen, self.source)

    def match(self, utts: Iterable[str]) -> Match:
        """Compare the names of these hypotheses with those of the references."""
        hypotheses = dict.fromkeys(utts)
        only_hypotheses = tuple(utt for utt in hypotheses if utt not in self._by_utt)
        only_references = tuple(utt for utt in self._by_utt if utt not in hypotheses)
        hint = _hint(only_hypotheses, only_references)
        both = len(hypotheses) - len(only_hypotheses)
        return Match(self.source, both, only_hypotheses, only_references, hint)


def _hint(only_hypotheses: tuple[str, ...], only_references: tuple[str, ...]) -> str:
    """The usual reason why names do not fit: one side has a folder or a file ending in them, or other case."""
    bare = {_bare(utt): utt for utt in only_references}
    for utt in only_hypotheses:
        other = bare.get(_bare(utt))
        if other is not None:
            return f"The hypothesis {utt} and the reference {other} seem to be one utterance: give them one name"
    return ""


def _bare(utt: str) -> str:
    name = PurePosixPath(utt.replace("\\", "/")).name
    return (PurePosixPath(name).stem or name).lower()


def read_references(*paths: str | Path, normalizer: words_of_text.Normalizer = words_of_text.DEFAULT) -> References:
    """Read references: REF.tsv, Kaldi `text`, STM or NLP (see `wordtrust.formats.reference_files`), packed or not."""
    words_of: dict[str, list[str]] = {}  # most tokens come again and again
    references: list[Reference] = []
    places: dict[str, str] = {}
    for stream in streams(paths):
        before = len(references)
        for row in rows(stream):
            place = f"line {row.line}"
            if row.utt in places:
                found = f"the utterance is there a second time, first in {places[row.utt]}"
                raise stream.error(found, utt=row.utt, place=place, remedy="Keep one of the two")
            places[row.utt] = f"{stream.name}, {place}"
            references.append(_reference(row, normalizer, words_of))
        if len(references) == before:
            raise stream.error(
                "there are no references in it", remedy="A reference is a line: a name, then the words"
            )
    return References(references, ", ".join(str(path) for path in paths))


def _reference(row: Row, normalizer: words_of_text.Normalizer, words_of: dict[str, list[str]]) -> Reference:
    words: list[str] = []
    for token in row.text.split():
        if token not in words_of:
            words_of[token] = normalizer.words(token)
        words += words_of[token]
    return Reference(row.utt, row.text, tuple(words), row.speaker, row.split, row.duration, row.accent)


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
