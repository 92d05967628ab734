"""What recognizers said, word by word, and several of them side by side: the input of combination.

`SystemOutput` is one system over a corpus. It comes from networks that a model has scored (`SystemOutput.of`), or
from any file with words, with or without confidences (`SystemOutput.one_best`): a CTM, a cloud service's JSON, a
lattice. `SystemOutputs` puts several systems side by side, with the references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import csr_offsets, row_offsets
from ..base.errors import InputError, OptionError
from ..evaluation.evaluation import one_best_words
from ..formats.kept_times import written_times
from ..formats.references import Reference
from ..lattices.lattice import Floats, Ints, Lattices, Offsets, Times
from ..lattices.paths import Paths, one_best
from ..lattices.text import JOINER, UNKNOWN
from ..lattices.vocabulary import Vocabulary, renumbered
from ..lattices.weights import Reals
from ..networks.align import Alignments, align_ids
from ..networks.build_store import REFERENCE, SPEAKER
from ..networks.equivalents import ALL, NONE, Equate
from ..networks.equivalents.classes import classes_of
from ..networks.lenient import align_leniently
from ..networks.reference_words import ReferenceWords
from ..networks.segments import BY_WORDS, Comparison, count_errors, reference_length
from ..networks.word_confidence import word_confidence
from ..transcripts.transcript import Transcript, spelling
from ..transcripts.words import Word

EXAMPLES = 3  # names that a message lists
Missing = Literal["error", "leave out", "empty"]


class Predicts(Protocol):
    """What turns confidences into probabilities: any calibrator."""

    def predict(self, scores: ArrayLike, /) -> Reals:
        """The probability of being right for each score."""


@dataclass(frozen=True, eq=False)
class SystemOutput:
    """The output words of one system over a corpus, utterances end to end."""

    utts: tuple[str, ...]
    offsets: Offsets  # [utterances + 1] utterance u has the words offsets[u] to offsets[u + 1]
    word: Ints  # [words] normalised word, an index into `vocabulary`, never 0
    start: Times  # [words] seconds
    end: Times
    vocabulary: Vocabulary
    confidence: Reals | None = None  # [words] as the model or the file gave it; None where they gave none
    calibrated: Reals | None = None  # [words] calibrated confidence
    surface: Ints | None = None  # [words] the word as the recognizer wrote it, likewise an index into `vocabulary`

    @classmethod
    def of(cls, networks: Lattices, confidence: Floats | Reals, paths: Paths) -> SystemOutput:
        """The words of paths through scored networks, with the confidences that are shown for them."""
        return _on_paths(networks, word_confidence(networks, confidence, paths), paths)

    @classmethod
    def one_best(cls, lattices: Lattices) -> SystemOutput:
        """The recognizer's own 1-best, with the confidences that its file gave."""
        if lattices.posterior is None:
            return _on_paths(lattices, None, one_best(lattices))
        paths, confidence = one_best_words(lattices)
        return _on_paths(lattices, confidence, paths)

    def __len__(self) -> int:
        return len(self.utts)

    @property
    def lengths(self) -> Offsets:
        """[utterances] how many words each output has."""
        return np.diff(self.offsets)

    def words(self, utterance: int) -> tuple[str, ...]:
        """The words of one utterance, by its index."""
        return self.vocabulary.lookup(self.word[self.offsets[utterance] : self.offsets[utterance + 1]].tolist())

    def as_lattices(self) -> Lattices:
        """The words as lattices of one path each, a second for every word."""
        source = (np.arange(len(self.word)) - np.repeat(self.offsets[:-1], self.lengths)).astype(np.int32)
        nodes = self.offsets + np.arange(len(self.offsets))
        time = (np.arange(nodes[-1]) - np.repeat(nodes[:-1], np.diff(nodes))).astype(np.float64)
        surface = self.word if self.surface is None else self.surface
        return Lattices(
            self.utts, nodes, self.offsets, time, source, source + np.int32(1), self.word, surface, self.vocabulary
        )

    def with_calibrated(self, calibrator: Predicts) -> SystemOutput:
        """The same with calibrated confidences beside the raw ones."""
        if self.confidence is None:
            raise OptionError("these words have no confidences that could be calibrated")
        return replace(self, calibrated=calibrator.predict(self.confidence))

    def sums(self, values: Reals) -> Reals:
        """[utterances] what `values`, one a word, add up to."""
        owner = np.repeat(np.arange(len(self)), self.lengths)
        return np.bincount(owner, values, len(self)).astype(np.float64)

    def means(self, values: Reals) -> Reals:
        """[utterances] the mean of `values`, one a word; 0 for an output without words: nothing speaks for it."""
        return self.sums(values) / np.maximum(self.lengths, 1)

    def take(self, utts: Sequence[str], vocabulary: Vocabulary) -> SystemOutput:
        """These utterances in this order, words numbered by `vocabulary`; one that is not there has no words."""
        row = {utt: index for index, utt in enumerate(self.utts)}
        rows = np.array([row.get(utt, -1) for utt in utts], np.int64)
        lengths = np.where(rows < 0, 0, np.append(self.lengths, 0)[rows])
        offsets = csr_offsets(lengths)
        first = np.where(rows < 0, 0, self.offsets[rows])
        indices = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], lengths)
        word = renumbered(self.word, self.vocabulary, vocabulary)
        return SystemOutput(
            tuple(utts), offsets, word[indices], self.start[indices], self.end[indices],
            vocabulary, _part(self.confidence, indices), _part(self.calibrated, indices),
            None if self.surface is None else _surfaces(self, vocabulary)[indices],
        )  # fmt: skip


def _part(values: Reals | None, indices: NDArray[np.int64]) -> Reals | None:
    return None if values is None else values[indices]


def _on_paths(lattices: Lattices, shown: Reals | None, paths: Paths) -> SystemOutput:
    arcs = paths.arcs_in(lattices)
    is_word = lattices.word[arcs] > 0
    offsets, arcs = csr_offsets(is_word)[paths.offsets], arcs[is_word]
    start, end = _times(lattices)
    return SystemOutput(
        utts=lattices.utts,
        offsets=offsets,
        word=lattices.word[arcs],
        start=start[arcs],
        end=end[arcs],
        vocabulary=lattices.vocabulary,
        confidence=None if shown is None else shown[is_word],
        surface=lattices.surface[arcs],
    )


def _times(lattices: Lattices) -> tuple[Times, Times]:
    """[arcs] starts and ends of words: as the file has them, where that is known, except for pieces of words."""
    written = written_times(lattices)
    if written is None:
        return lattices.start_time, lattices.end_time
    is_piece = np.array([text.endswith(JOINER) for text in lattices.vocabulary.strings], np.bool_)[lattices.surface]
    is_piece |= np.append(False, is_piece[:-1])
    start, end = (
        np.where(is_piece | (lattices.word == 0), moved, own)
        for moved, own in zip((lattices.start_time, lattices.end_time), written, strict=True)
    )
    return start, end


def _surfaces(output: SystemOutput, vocabulary: Vocabulary) -> Ints:
    surface = output.word if output.surface is None else output.surface
    return renumbered(surface, output.vocabulary, vocabulary)


def concatenate_outputs(batches: Iterable[SystemOutput]) -> SystemOutput:
    """The outputs of one system over several batches as one; an utterance may be in one of them only."""
    parts = list(batches)
    vocabulary = parts[0].vocabulary if parts else Vocabulary()
    utts = tuple(utt for part in parts for utt in part.utts)
    _require_once(utts)
    words = (renumbered(part.word, part.vocabulary, vocabulary) for part in parts)
    lengths = np.concatenate([np.zeros(0, np.int64), *(part.lengths for part in parts)])
    return SystemOutput(
        utts=utts,
        offsets=csr_offsets(lengths),
        word=np.concatenate([np.zeros(0, np.int32), *words]),
        start=np.concatenate([np.zeros(0), *(part.start for part in parts)]),
        end=np.concatenate([np.zeros(0), *(part.end for part in parts)]),
        vocabulary=vocabulary,
        confidence=_joined(parts, "confidence"),
        calibrated=_joined(parts, "calibrated"),
        surface=np.concatenate([np.zeros(0, np.int32), *(_surfaces(part, vocabulary) for part in parts)]),
    )


def _require_once(utts: Sequence[str]) -> None:
    if len(set(utts)) < len(utts):
        utt, _ = Counter(utts).most_common(1)[0]
        raise InputError("the utterance appears twice", utt=utt, remedy="Give every utterance of a recognizer once")


def _joined(parts: Sequence[SystemOutput], name: str) -> Reals | None:
    given = [(part, getattr(part, name)) for part in parts if len(part.word)]
    known = [values for _, values in given if values is not None]
    if known and len(known) < len(given):
        utt = next(part.utts[int(np.argmax(part.lengths > 0))] for part, values in given if values is None)
        raise InputError(
            "the words have no confidence, while those of other utterances have one",
            utt=utt,
            remedy="Leave such utterances out, or the confidences of all",
        )
    if not known:  # without any word there is nothing that could lack a confidence
        return None if given else np.zeros(0)
    return np.concatenate(known)


def references_of(networks: Lattices) -> dict[str, Reference]:
    """The references of networks that were built with them, by utterance."""
    if REFERENCE not in networks.notes or SPEAKER not in networks.notes:
        raise InputError(
            "these networks have no references",
            file=networks.origin.file,
            remedy="Make them with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )
    known = zip(networks.utts, networks.notes[REFERENCE], networks.notes[SPEAKER], strict=True)
    return {utt: Reference(utt, text, tuple(text.split()), speaker) for utt, text, speaker in known}


@dataclass(frozen=True, eq=False)
class SystemOutputs:
    """Several systems on the same utterances, their words numbered alike, with the references."""

    names: tuple[str, ...]
    outputs: tuple[SystemOutput, ...]  # one for each system
    speakers: tuple[str, ...]  # [utterances]
    reference_words: Ints  # of the references, numbered as in the outputs, utterances end to end
    reference_offsets: Offsets  # [utterances + 1]
    left_out: Mapping[str, int]  # how many utterances each system lacked
    references: tuple[Reference, ...] = ()  # with segments and alternatives, where they have any (STM)
    how: Comparison = BY_WORDS  # words with these
    counts_leniently: bool = False  # whether words in another spelling are right (`leniently`)

    @classmethod
    def of(
        cls,
        systems: Mapping[str, SystemOutput],
        references: Mapping[str, Reference],
        *,
        missing: Missing = "error",
        how: Comparison = BY_WORDS,
    ) -> SystemOutputs:
        """Put systems side by side on the utterances of all of them.

        `missing` says what happens with an utterance that one of them lacks: it is an error, the utterance is left
        out for all, or (as a CTM cannot say that nothing was recognized) its output is empty.
        """
        if not systems:
            raise OptionError("there is no recognizer")
        every = dict.fromkeys(utt for outputs in systems.values() for utt in outputs.utts)
        lacking = {name: _lacking(outputs, every) for name, outputs in systems.items()}
        gone = {utt for absent in lacking.values() for utt in absent}
        if gone and missing == "error":
            raise _missing(lacking, len(every))
        utts = [utt for utt in every if missing == "empty" or utt not in gone]
        chosen = _references(utts, references)
        vocabulary = Vocabulary()
        outputs = tuple(output.take(utts, vocabulary) for output in systems.values())
        words = np.array([vocabulary.id(word) for reference in chosen for word in reference.words], np.int32)
        offsets = row_offsets(reference.words for reference in chosen)
        return cls(
            tuple(systems), outputs, tuple(reference.speaker_or_utt for reference in chosen), words, offsets,
            {name: len(absent) for name, absent in lacking.items()}, tuple(chosen), how,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.speakers)

    @property
    def utts(self) -> tuple[str, ...]:
        """The utterances that all recognizers are compared on."""
        return self.outputs[0].utts

    @property
    def unknown(self) -> int:
        """The index of the unknown word, -1 if it does not occur."""
        return self.outputs[0].vocabulary.find(UNKNOWN)

    @property
    def equate(self) -> Equate:
        """The spellings that are one word; none by the rules of NIST."""
        if self.how.rules == "sclite" or self.how.glm is not None:
            return NONE
        return ALL if self.how.equate is None else self.how.equate

    @property
    def leniently(self) -> SystemOutputs | None:
        """The same where words in another spelling count as right; None if there are none that could."""
        return replace(self, counts_leniently=True) if self.equate and not self.have_segments else None

    @cached_property
    def word_classes(self) -> Ints | None:
        """For each word of the vocabulary the class that is one vote; None where every word is its own."""
        if not self.equate:
            return None
        used = np.unique(np.concatenate([output.word for output in self.outputs]))
        return classes_of(used, self.outputs[0].vocabulary, self.equate)

    @property
    def have_segments(self) -> bool:
        """Whether references have segments or alternatives, or are compared by NIST's rules."""
        return (
            self.how.rules == "sclite"
            or self.how.glm is not None
            or any(reference.segments for reference in self.references)
        )

    @property
    def said_words(self) -> int:
        """How many words were said: what rates are of; of alternatives, the first ones count."""
        if not self.have_segments:
            return len(self.reference_words)
        return sum(reference_length(reference, self.how) for reference in self.references)

    @cached_property
    def errors(self) -> Ints:
        """[systems, utterances] word errors of each output."""
        return np.stack([self.count_errors(output) for output in self.outputs])

    def count_errors(self, output: SystemOutput) -> Ints:
        """[utterances] word errors of an output that has these utterances and word numbers, as `evaluate` counts."""
        if self.have_segments:
            return count_errors([_with_middles(output, row) for row in range(len(self))], self.references, self.how)
        return self.align(output).errors

    def align(self, output: SystemOutput) -> Alignments:
        """The words of an output with plain references."""
        if self.counts_leniently:
            said = [reference.words for reference in self.references]
            spoken = ReferenceWords.of(said, output.as_lattices(), self.equate)
            return align_leniently(spoken, output.word, output.offsets, unknown=self.unknown)
        words, offsets = self.reference_words, self.reference_offsets
        return align_ids(words, offsets, output.word, output.offsets, unknown=self.unknown)

    def subset(self, names: Sequence[str]) -> SystemOutputs:
        """Some of the systems, in this order."""
        strange = [name for name in names if name not in self.names]
        if strange:
            raise OptionError(f"there is no recognizer {strange[0]!r}, but: {', '.join(self.names)}")
        outputs = tuple(self.outputs[self.names.index(name)] for name in names)
        return replace(self, names=tuple(names), outputs=outputs)

    def by_errors(self) -> tuple[str, ...]:
        """The systems, the one with the fewest errors first."""
        order = np.argsort(self.errors.sum(axis=1), kind="stable")
        return tuple(self.names[index] for index in order.tolist())


def _with_middles(output: SystemOutput, row: int) -> list[tuple[str, float]]:
    first, last = output.offsets[row : row + 2].tolist()
    middles = (output.start[first:last] + output.end[first:last]) / 2
    return list(zip(output.words(row), middles.tolist(), strict=True))


def _lacking(outputs: SystemOutput, every: Mapping[str, None]) -> list[str]:
    _require_once(outputs.utts)
    own = set(outputs.utts)
    return [utt for utt in every if utt not in own]


def _missing(lacking: Mapping[str, Sequence[str]], total: int) -> InputError:
    name, absent = next((name, absent) for name, absent in lacking.items() if absent)
    listed = ", ".join(absent[:EXAMPLES]) + (", ..." if len(absent) > EXAMPLES else "")
    return InputError(
        f"{name} lacks {len(absent):,} of {total:,} utterances ({listed})",
        remedy="Leave them out for all recognizers, or count them as empty if it said nothing there",
    )


def _references(utts: Sequence[str], references: Mapping[str, Reference]) -> list[Reference]:
    if not utts:
        raise InputError("no utterance is shared by all recognizers", remedy="Do their names of utterances differ?")
    unknown = [utt for utt in utts if utt not in references]
    if unknown:
        raise InputError(
            f"{len(unknown):,} of {len(utts):,} utterances have no reference, among them this one",
            utt=unknown[0],
            remedy="Add the missing references, or leave these utterances out",
        )
    return [references[utt] for utt in utts]


def chosen_transcripts(outputs: SystemOutputs, chosen: Sequence[int]) -> list[Transcript]:
    """The words of the system that was chosen for each utterance, with the best confidences it has."""
    transcripts = []
    for row, (utt, system) in enumerate(zip(outputs.utts, chosen, strict=True)):
        output = outputs.outputs[system]
        first, last = output.offsets[row : row + 2].tolist()
        confidence = output.confidence if output.calibrated is None else output.calibrated
        if confidence is None:
            raise OptionError(f"the words of {outputs.names[system]} have no confidences")
        surface = output.word if output.surface is None else output.surface
        written = [spelling(text) for text in output.vocabulary.lookup(surface[first:last].tolist())]
        rows = zip(
            written, output.words(row), output.start[first:last].tolist(), output.end[first:last].tolist(),
            confidence[first:last].tolist(), strict=True,
        )  # fmt: skip
        words = (Word(text, norm, start, end, sure, (), joins) for (text, joins), norm, start, end, sure in rows)
        transcripts.append(Transcript(utt, tuple(words)))
    return transcripts
