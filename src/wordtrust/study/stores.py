"""From the files of a recognizer to training data: tuned scales, networks with references, packed training data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ..base.errors import OptionError
from ..base.problems import Problems
from ..base.progress import byte_progress
from ..confidence.shipped import MODEL, folder_of
from ..confidence.word_vectors import lexicon_coverage
from ..evaluation.tune import tune
from ..formats import stream, stream_files
from ..formats.batches import unique_utterances
from ..formats.inputs import side_files
from ..formats.references import References, with_references
from ..lattices.lattice import Lattices
from ..networks.build_store import BuildOptions, build_store
from ..networks.equivalents import ALL, Equate
from ..networks.tuned_scales import TunedScales
from .layout import DEV, TRAIN, Corpus, StudyFolder
from .steps import Steps, file_key, key_of


@dataclass(frozen=True, slots=True)
class StoreBuilder:
    """Makes the scales, networks and training data of recognizers; a step that is done is not repeated."""

    corpus: Corpus
    folder: StudyFolder
    steps: Steps
    skip_bad: bool = False
    jobs: int | None = None
    equate: Equate = ALL
    tuned: StudyFolder | None = None  # an earlier study, whose scales are taken

    def scales(self, name: str) -> str:
        """Tune the scales on dev, or take those of an earlier study; returns their key."""
        path, references = self.folder.scales(name), self.corpus.references(DEV)
        earlier = None if self.tuned is None else TunedScales.load(self.tuned.scales(name))
        key = key_of(self._files_key(name, DEV), _references_key(references)) if earlier is None else key_of(earlier)
        path.parent.mkdir(parents=True, exist_ok=True)

        def work() -> None:
            if earlier is not None:
                earlier.save(path)
                return

            def notify(stage: str) -> None:
                self.steps.notify(f"{name}: tuning {stage}")

            tune(list(self._batches(name, DEV, references)), references, notify=notify).save(path)

        self.steps.run(f"{name}: scales", key, [path], work)
        return key

    def networks(self, name: str, split: str, scales: Path) -> str:
        """Build the networks of a split with references; returns their key."""
        references, store = self.corpus.references(split), self.folder.store(name, split)
        tuned = TunedScales.load(scales)
        key = key_of(self._files_key(name, split), _references_key(references), tuned, self.equate)
        store.parent.mkdir(parents=True, exist_ok=True)

        def work() -> None:
            options = BuildOptions(tuned=tuned, references=references, equate=self.equate)
            batches = self._batches(name, split, references)
            done = build_store(batches, store, options, jobs=self.jobs, key=[key])
            if not done.utterances:
                raise OptionError(f"{self.corpus.folder / name}: the split {split!r} has no utterances")
            missing = len(references) - done.utterances
            if missing > 0 and self.corpus.has_splits:
                self.steps.notify(f"{name}: {missing:,} of {len(references):,} references of {split} have no output")

        self.steps.run(f"{name}: networks of {split}", key, [store], work)
        return key

    def pack(self, name: str, vectors: Path | None, networks_key: str, lexicon: Path | None = None) -> str:
        """Pack the networks of train and dev as training data; returns their key."""
        from ..training.dataset import write_pack
        from ..training.prepare import PrepareOptions, prepare

        train, dev = (str(self.folder.store(name, split)) for split in (TRAIN, DEV))
        key = self.pack_key(networks_key, vectors, lexicon)

        def work() -> None:
            options = PrepareOptions(vectors=vectors, lexicon=lexicon)
            data = prepare(lambda: stream(train), lambda: stream(dev), options)
            write_pack(self.folder.pack(name), data)
            if coverage := lexicon_coverage(data.table):
                self.steps.notify(f"{name}: {coverage}")

        self.steps.run(f"{name}: training data", key, [self.folder.pack(name)], work)
        return key

    @staticmethod
    def pack_key(networks: str, vectors: Path | None, lexicon: Path | None = None) -> str:
        """The key of training data, whether they are needed or not."""
        if vectors is not None and not vectors.is_file():
            vectors = folder_of(vectors) / MODEL
        more = () if lexicon is None else (file_key([lexicon]),)
        return key_of(networks, None if vectors is None else file_key([vectors]), *more)

    def _files_key(self, name: str, split: str) -> str:
        return file_key({file for given in self.corpus.files(name, split) for file in side_files(given)})

    def _batches(self, name: str, split: str, references: References) -> Iterator[Lattices]:
        """The lattices of a split; a recognizer is called as its folder is, unless it says otherwise itself."""
        files, linked = self.corpus.files(name, split), (self.corpus.folder / name).resolve().name
        problems = Problems(skip=self.skip_bad, notify=lambda error: self.steps.notify(f"skipped: {error}"))

        def notify(message: str) -> None:
            self.steps.notify(f"{name}: {message}")

        with byte_progress(f"{name} {split}", files) as watch:
            batches = stream_files(files, problems=problems, watch=watch, notify=notify)
            for batch in unique_utterances(batches, problems):
                kept = with_references(batch, references, problems)
                if len(kept):
                    own = kept.origin.recognizer
                    yield replace(kept, origin=replace(kept.origin, recognizer=name if own == linked else own))


def _references_key(references: References) -> str:
    return key_of(sorted((utt, reference.words, reference.speaker) for utt, reference in references.items()))
