"""Where things are: the folder of data that a study reads, and the folder that it writes.

DATA has a subfolder with a `recognizer.json` for each recognizer, in it the files `train.*`, `dev.*` and those of the
split to report, and `refs.tsv` with what was said. OUT has the results, `models/` (all that was chosen) and `work/`
(all that can be made again).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ..base.errors import InputError, OptionError
from ..combination.subset_comparison import MOST_SYSTEMS
from ..confidence.model_file import SCALES
from ..confidence.shipped import is_model
from ..formats.references import References, read_references
from ..training.availability import require_torch

RECOGNIZER, REFERENCES, VECTORS = "recognizer.json", ("refs.tsv", "refs.tsv.gz"), "embeddings"
JOINT = "joint"
TRAIN, DEV = "train", "dev"
_TAKEN = ("generic", "joint", "paper", "results", "trained")  # folders of OUT, so no recognizer can have these names
_OF_A_FOLD = re.compile(r"-fold-[0-9]+\Z")  # nor one that ends like the models of another's folds


@dataclass(frozen=True)
class Corpus:
    """What recognizers made of a corpus, and what was said in it."""

    folder: Path
    names: tuple[str, ...]  # of the recognizers

    @classmethod
    def of(cls, folder: Path, wanted: Sequence[str] = ()) -> Corpus:
        """All recognizers of a folder, or those that are wanted."""
        if not folder.is_dir():
            raise OptionError(f"{folder}: there is no such folder")
        found = sorted(each.parent.name for each in folder.glob(f"*/{RECOGNIZER}"))
        if not found:
            raise InputError(
                "no recognizer is in it", file=str(folder),
                remedy=f"Each has a folder of its own with a {RECOGNIZER} (docs/study.md)",
            )  # fmt: skip
        strange = [name for name in wanted if name not in found]
        if strange:
            raise OptionError(f"{folder}: there is no recognizer {strange[0]!r}, but: {', '.join(found)}")
        names = tuple(dict.fromkeys(wanted)) or tuple(found)
        if set(names) & set(_TAKEN):
            raise OptionError(f"{folder}: no recognizer can be called {', '.join(_TAKEN)}")
        folds = [name for name in names if _OF_A_FOLD.search(name)]
        if folds:
            raise OptionError(
                f"{folder}: a recognizer cannot be called {folds[0]}, like a model of a fold; rename it"
            )
        if len(names) > MOST_SYSTEMS:
            raise OptionError(
                f"{folder}: {len(names)} recognizers are more than can be combined, {MOST_SYSTEMS}; name some with "
                "--recognizers"
            )
        return cls(folder, names)

    def only(self, names: Sequence[str]) -> Corpus:
        """With some of the recognizers."""
        return Corpus(self.folder, tuple(name for name in self.names if name in names))

    def files(self, name: str, split: str) -> list[str]:
        """The files, or the folder, of one split of a recognizer."""
        place = self.folder / name
        found = sorted(each for each in place.iterdir() if each.name == split or each.name.startswith(f"{split}."))
        if not found:
            raise InputError(
                f"there is no file of the split {split!r}", file=str(place),
                remedy=f"Lattices or N-best lists are in {name}/{split}.* (see `wordtrust formats`)",
            )  # fmt: skip
        return [str(each) for each in found]

    @cached_property
    def reference_file(self) -> Path:
        """The file that says what was said."""
        found = next((path for name in REFERENCES if (path := self.folder / name).is_file()), None)
        if found is None:
            raise InputError(
                f"there is no {REFERENCES[0]}", file=str(self.folder),
                remedy="It has a header and the columns utt, text, split and speaker, with tabs between them",
            )  # fmt: skip
        return found

    @cached_property
    def _references(self) -> References:
        return read_references(self.reference_file)

    def references(self, split: str) -> References:
        """What was said in a split; a file that names no splits holds for all."""
        return self._references.of_split(split) if self.has_splits else self._references

    @cached_property
    def has_splits(self) -> bool:
        """Whether references say which split they are of."""
        return any(each.split is not None for each in self._references.values())

    def vectors(self, given: Path | None) -> Path | None:
        """The word vectors: those that were named, else the one file in `embeddings`, else none."""
        if given is not None:
            if not given.is_file() and not is_model(given):
                raise OptionError(f"{given}: there is no such file of word vectors")
            return given
        folder = self.folder / VECTORS
        found = sorted(each for each in folder.glob("*.txt*") if each.is_file()) if folder.is_dir() else []
        if len(found) > 1:
            raise OptionError(f"{folder}: there are {len(found)} files; say which with --vectors FILE")
        return found[0] if found else None


@dataclass(frozen=True, slots=True)
class Output:
    """The folder that a study writes."""

    folder: Path

    @property
    def work(self) -> Path:
        """What can be made again."""
        return self.folder / "work"

    @property
    def models(self) -> Path:
        """What a blind split needs."""
        return self.folder / "models"

    @property
    def trained(self) -> Path:
        """Models as they come out of training."""
        return self.work / "trained"

    @property
    def results(self) -> Path:
        """Figures of single recognizers and subsets, until all are there."""
        return self.work / "results"

    def scales(self, name: str) -> Path:
        """Tuned scales."""
        return self.work / name / SCALES

    def store(self, name: str, split: str) -> Path:
        """The networks of a split."""
        return self.work / name / split

    def pack(self, name: str) -> Path:
        """Training data."""
        return self.work / f"{name}.pack"

    def require_torch(self) -> None:
        """Say what to do where torch is not installed."""
        require_torch(
            f"or train elsewhere from {self.work}/*.pack and put the models into {self.trained} (docs/study.md)"
        )

    def make(self, *, models: bool) -> None:
        """Make the folders, or say why that cannot be."""
        try:
            for folder in (self.work, self.results, *([self.models] if models else [])):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"{self.folder}: cannot be made: {error.strerror}") from None
