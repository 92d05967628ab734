"""Labelled networks from lattices: the job of `wordtrust build`.

A built network is a lattice like any other, so it is kept in the same kind of store; what else is known of it stands
in named columns: labels on the arcs; the reference, the speaker and the outputs of other decoders on the utterance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import chain, pairwise, tee
from pathlib import Path
from typing import Protocol

import numpy as np

from ..base.errors import InputError
from ..base.files import resumable_key
from ..base.threads import available_cores, workers
from ..base.version import __version__
from ..formats.inputs import side_files
from ..formats.references import Reference
from ..lattices.lattice import Lattices, Offsets
from ..lattices.paths import Paths, best_paths
from ..lattices.posterior import prune
from ..lattices.weights import log_scores
from .consensus import consensus
from .equivalents import Equate
from .hwcn import TOLERANCE, build
from .labels import label_arcs
from .reference_words import ReferenceWords
from .spoken import equated_words, spoken_words
from .tuned_scales import TunedScales

# On arcs: 1 right, 0 wrong, -1 silence. By both rules, and by the one that was asked for.
LABEL, ORACLE_LABEL, ONE_BEST_LABEL = "label", "label_oracle", "label_one_best"
REFERENCE, SPEAKER = "reference", "speaker"  # on utterances: normalised words; who spoke, or the utterance
READ_AT_ONCE = 256  # utterances, by a language model
SHARD_BYTES = 1 << 24  # of arrays, about a thousand utterances: what an interrupt may cost
TUNED_ONE_BEST, TUNED_MBR = "tuned_one_best", "tuned_mbr"  # words of decoding with tuned scales


class NetworkEvidence(Protocol):
    """Adds evidence to networks, as `language_models.evidence.LanguageEvidence` does."""

    def __call__(self, networks: Lattices) -> Lattices: ...  # noqa: D102

    def to_json(self) -> dict[str, object]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How networks are built."""

    tolerance: float = TOLERANCE
    push: bool = True
    tuned: TunedScales | None = None
    references: Mapping[str, Reference] | None = None
    labels: str = "oracle"  # the rule of the column `label`; those of both rules are there as well
    beam: float | None = None  # prune lattices first: arcs on no path within this of the best
    evidence: NetworkEvidence | None = None  # a language model that reads the networks
    equate: Equate | str = (
        "all"  # spellings that count as the same word, but not where words count as they are written
    )

    @property
    def adds_evidence_only(self) -> bool:
        """Whether there is nothing to do for networks but to have them read by a language model."""
        return self.evidence is not None and self.references is None and self.tuned is None and self.beam is None

    @property
    def equated(self) -> Equate:
        """What networks and labels equate."""
        equate = Equate.parse(self.equate)
        return equate if self.references is None else equated_words(self.references, equate)

    def to_json(self) -> dict[str, object]:
        """The options that figures about these networks are reported with."""
        options = {"tolerance": self.tolerance, "push": self.push, "labels": self.labels, "beam": self.beam}
        options["equate"] = str(self.equated)
        return options if self.evidence is None else {**options, "language_model": self.evidence.to_json()}


@dataclass(frozen=True, slots=True)
class BuiltStore:
    """How much is in a store of networks."""

    utterances: int
    nodes: int
    arcs: int


def build_networks(lattices: Lattices, options: BuildOptions = BuildOptions()) -> Lattices:
    """The networks of a batch with posteriors; with labels and references where these are given.

    Networks stay as they are where nothing but evidence is to be added; that is left to the caller.
    """
    if lattices.origin.tolerance is not None:
        if options.adds_evidence_only:
            return lattices
        raise InputError(
            "these are networks already", file=lattices.origin.file, remedy="Build from the lattices they came from"
        )
    spoken: list[tuple[str, ...]] = []
    if options.references is not None:
        lattices, spoken = spoken_words(lattices, options.references)
    scales = options.tuned.posterior if options.tuned else None
    if options.beam is not None:
        lattices = prune(lattices, beam=options.beam, scales=scales)
    networks = build(
        lattices, tolerance=options.tolerance, scales=scales, push=options.push, equate=options.equated
    ).lattices
    notes, extra = dict(networks.notes), dict(networks.extra)
    if options.tuned:
        notes[TUNED_ONE_BEST] = _path_words(
            lattices, best_paths(lattices, log_scores(lattices, options.tuned.one_best))
        )
        notes[TUNED_MBR] = _consensus_words(lattices, options.tuned)
    if options.references is not None:
        references = [options.references[utt] for utt in lattices.utts]
        notes[REFERENCE] = tuple(" ".join(words) for words in spoken)
        notes[SPEAKER] = tuple(reference.speaker_or_utt for reference in references)
        words = ReferenceWords.of(spoken, networks, options.equated)
        extra[ORACLE_LABEL] = label_arcs(networks, words, "oracle").astype(np.float32)
        extra[ONE_BEST_LABEL] = label_arcs(networks, words, "one-best").astype(np.float32)
        extra[LABEL] = extra[ORACLE_LABEL if options.labels == "oracle" else ONE_BEST_LABEL]
    return replace(networks, notes=notes, extra=extra)


def noted_references(networks: Lattices, equate: Equate | None = None) -> ReferenceWords:
    """The references that networks were built with, and the alternatives that their labels know, or these."""
    equate = Equate.of_networks(networks.origin) if equate is None else equate
    return ReferenceWords.of([note.split() for note in networks.notes[REFERENCE]], networks, equate)


def _path_words(lattices: Lattices, paths: Paths) -> tuple[str, ...]:
    spoken = paths.without_silence(lattices)
    words = lattices.vocabulary.lookup(lattices.word[spoken.arcs_in(lattices)].tolist())
    return _texts(words, spoken.offsets)


def _consensus_words(lattices: Lattices, tuned: TunedScales) -> tuple[str, ...]:
    decoded = consensus(lattices, tuned.mbr)
    words = decoded.vocabulary.lookup(decoded.word[decoded.best].tolist())
    return _texts(words, decoded.best_offsets)


def _texts(words: Sequence[str], offsets: Offsets) -> tuple[str, ...]:
    """The words of each utterance as text."""
    return tuple(" ".join(words[start:stop]) for start, stop in pairwise(offsets.tolist()))


def build_store(
    batches: Iterable[Lattices], out: Path, options: BuildOptions, *, jobs: int | None = None, key: Iterable[str] = ()
) -> BuiltStore:
    """Build networks into a store, `jobs` batches at a time; gives how much is in it.

    With a `key` that names the input and all that is in it, an interrupted or killed build goes on after its last
    finished shard when it is called with the same options and key.
    """
    from ..formats.store.write import StoreWriter

    key = list(key)
    references = sorted(
        (utt, reference.words, *([repr(reference.segments)] if reference.segments else []))
        for utt, reference in (options.references or {}).items()
    )
    work = (__version__, options.to_json(), options.tuned, references, key)
    resume = resumable_key(work) if key else None
    coming = iter(batches)
    first = next(coming, None)
    batches = coming if first is None else chain([first], coming)
    with StoreWriter(out, resume=resume, shard_bytes=SHARD_BYTES, network=_about(first, options)) as store:
        utterances, nodes, arcs = store.resumed_totals.values()
        for networks in _built(batches, store.resumed, options, jobs or available_cores()):
            store.add(networks)
            utterances, nodes, arcs = (
                utterances + len(networks), nodes + len(networks.time), arcs + len(networks.source)
            )  # fmt: skip
    return BuiltStore(utterances, nodes, arcs)


def _about(first: Lattices | None, options: BuildOptions) -> dict[str, object]:
    """What store.json says about networks: how they are built; of those that were before, what is known of them."""
    about = options.to_json()
    if first is None or first.origin.tolerance is None:
        return about
    known = {"tolerance": first.origin.tolerance, "equate": first.origin.equate}
    return {**known, "language_model": about.get("language_model")}


def _built(batches: Iterable[Lattices], done: int, options: BuildOptions, jobs: int) -> Iterator[Lattices]:
    """Networks of what comes after the utterances that are done.

    A language model reads the same pieces however often a build was interrupted, so that its bytes are the same.
    """
    if options.evidence is None:
        yield from _parallel((batch[skip:] for batch, skip in _after(batches, done)), options, jobs)
        return
    pieces, skips = tee(_after(_pieces(batches), done))
    built = _parallel((piece for piece, _ in pieces), options, jobs)
    for networks, (_, skip) in zip(built, skips, strict=True):
        yield options.evidence(networks)[skip:]


def _pieces(batches: Iterable[Lattices]) -> Iterator[Lattices]:
    """Small batches: what an interrupt may cost."""
    for batch in batches:
        for first in range(0, len(batch), READ_AT_ONCE):
            yield batch[first : first + READ_AT_ONCE]


def resume_key(paths: Sequence[str], *settings: object, files: Iterable[Path | None] = ()) -> list[str]:
    """The `key` of a build from files: how they are read, and the size and time of each of them and of `files`."""
    inputs = [file for path in paths for file in side_files(path)]
    inputs += [file for file in files if file and file.is_file()]
    stamps = (f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in inputs)
    return [repr((paths, settings)), *stamps]


def _after(batches: Iterable[Lattices], utterances: int) -> Iterator[tuple[Lattices, int]]:
    """The batches with anything that comes after the first utterances, and how many of each are among these."""
    for batch in batches:
        if utterances < len(batch):
            yield batch, utterances
        utterances = max(0, utterances - len(batch))


def _parallel(batches: Iterable[Lattices], options: BuildOptions, jobs: int) -> Iterator[Lattices]:
    """Networks in the order of their lattices. Kernels run without the interpreter lock, so threads are enough."""
    waiting: deque[Future[Lattices]] = deque()
    with workers(jobs) as pool:
        for batch in batches:
            waiting.append(pool.submit(build_networks, batch, options))
            if len(waiting) > jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
