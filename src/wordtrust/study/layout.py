"""The options of a study, the folder of data that it reads, and the folder that it writes.

DATA has a subfolder with a `recognizer.json` for each recognizer, in it the files `train.*`, `dev.*` and those of the
split to report, and `refs.tsv` with the references. OUT has the results, `models/` (everything that was chosen) and
`work/` (everything that can be made again).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ..base.errors import InputError, OptionError
from ..base.threads import available_cores
from ..combination.subset_comparison import MAX_SYSTEMS
from ..confidence.model_file import SCALES
from ..confidence.shipped import is_model
from ..formats.references import References, read_references
from ..networks.equivalents import ALL, Equate
from ..training.options import MULTI_RECOGNIZER, TrainOptions, require_torch

UNTIL = ("networks", "packs", "models", "results")


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """Which split is reported, how models are trained, and how far to go."""

    test: str = "eval"  # the split to report
    models: Path | None = None  # final models of an earlier study: nothing is fitted
    until: str = UNTIL[-1]
    vectors: Path | None = None
    lexicon: Path | None = None  # a pronouncing dictionary, for the phones of words
    baselines: Path | None = None  # an earlier study: its scales, and networks to fit baselines and combinations on
    with_joint: bool = True
    with_paper: bool = False  # the paper's own system as well
    with_trees: bool = True  # beside the networks
    lm: str | None = None  # a language model that reads the networks, for trees that see what it says
    skip_bad: bool = False
    equate: Equate = ALL  # which spellings count as the same word, in labels and in lenient error rates
    training: TrainOptions | None = None  # None: as the study thinks best
    teachers: int = 1  # for each fold, that the models learn from as well
    device: str = "auto"
    threads: int | None = None
    jobs: int = field(default_factory=available_cores)

    def __post_init__(self) -> None:
        if not self.test or Path(self.test).name != self.test or self.test.startswith("."):
            raise OptionError(f"--test names a split, such as eval, not {self.test!r}")
        if self.until not in UNTIL:
            raise OptionError(f"a study stops after {', '.join(UNTIL)}, not after {self.until!r}")
        if self.models is not None and (self.until != UNTIL[-1] or self.with_paper):
            raise OptionError("--models fits nothing: it goes neither with --until nor with --paper")
        if self.models is not None and (self.vectors or self.lexicon or self.training is not None):
            raise OptionError(
                "--models trains nothing: it goes with none of --vectors, --lexicon, --epochs, --state, --seed"
            )
        if self.models is not None and self.baselines is not None:
            raise OptionError("--models have baselines of their own: they do not go with --baselines")
        if self.lm is not None and self.models is None and not self.with_trees:
            raise OptionError("--lm is for trees that see what it says: it does not go with --no-trees")
        if self.lexicon is not None and not self.lexicon.is_file():
            raise OptionError(f"{self.lexicon}: there is no such lexicon (--lexicon)")

    def with_training(self, **given: Any) -> StudyOptions:
        """With these options of training; those that are None stay as the study has them."""
        chosen = {name: value for name, value in given.items() if value is not None}
        return replace(self, training=replace(MULTI_RECOGNIZER, **chosen)) if chosen else self

    def word_vectors(self) -> Path | None:
        """The word vectors that were named, or those of the model that training starts with."""
        if self.vectors is None and self.training is not None and self.training.start:
            from ..training.prepare import start_vectors

            return start_vectors(self.training.start)
        return self.vectors


RECOGNIZER, REFERENCES, VECTORS = "recognizer.json", ("refs.tsv", "refs.tsv.gz"), "embeddings"
JOINT = "joint"
TRAIN, DEV = "train", "dev"
_TAKEN = (
    "generic",
    "joint",
    "paper",
    "results",
    "trained",
    "with-lm",
    "with-trees",
)  # folders of OUT, so no recognizer can have these names
_OF_A_FOLD = re.compile(r"-fold-[0-9]+\Z")  # nor one that ends like the models of another's folds


@dataclass(frozen=True)
class Corpus:
    """The outputs of recognizers for a corpus, and its references."""

    folder: Path
    names: tuple[str, ...]  # of the recognizers

    @classmethod
    def of(cls, folder: Path, wanted: Sequence[str] = ()) -> Corpus:
        """All recognizers of a folder, or those that are wanted."""
        if not folder.is_dir():
            raise OptionError(f"{folder}: there is no such folder")
        present = sorted(path.parent.name for path in folder.glob(f"*/{RECOGNIZER}"))
        if not present:
            raise InputError(
                "no recognizer is in it", file=str(folder),
                remedy=f"Each has a folder of its own with a {RECOGNIZER} (docs/study.md)",
            )  # fmt: skip
        unknown = [name for name in wanted if name not in present]
        if unknown:
            raise OptionError(f"{folder}: there is no recognizer {unknown[0]!r}, but: {', '.join(present)}")
        names = tuple(dict.fromkeys(wanted)) or tuple(present)
        if set(names) & set(_TAKEN):
            raise OptionError(f"{folder}: no recognizer can be called {', '.join(_TAKEN)}")
        folds = [name for name in names if _OF_A_FOLD.search(name)]
        if folds:
            raise OptionError(
                f"{folder}: a recognizer cannot be called {folds[0]}, like a model of a fold; rename it"
            )
        if len(names) > MAX_SYSTEMS:
            raise OptionError(
                f"{folder}: {len(names)} recognizers are more than can be combined, {MAX_SYSTEMS}; name some with "
                "--recognizers"
            )
        return cls(folder, names)

    def only(self, names: Sequence[str]) -> Corpus:
        """With some of the recognizers."""
        return Corpus(self.folder, tuple(name for name in self.names if name in names))

    def files(self, name: str, split: str) -> list[str]:
        """The files, or the folder, of one split of a recognizer."""
        folder = self.folder / name
        files = sorted(path for path in folder.iterdir() if path.name == split or path.name.startswith(f"{split}."))
        if not files:
            raise InputError(
                f"there is no file of the split {split!r}", file=str(folder),
                remedy=f"Lattices or N-best lists are in {name}/{split}.* (see `wordtrust formats`)",
            )  # fmt: skip
        return [str(path) for path in files]

    @cached_property
    def reference_file(self) -> Path:
        """The file with the references."""
        path = next((path for name in REFERENCES if (path := self.folder / name).is_file()), None)
        if path is None:
            raise InputError(
                f"there is no {REFERENCES[0]}", file=str(self.folder),
                remedy="It has a header and the columns utt, text, split and speaker, with tabs between them",
            )  # fmt: skip
        return path

    @cached_property
    def _references(self) -> References:
        return read_references(self.reference_file)

    def references(self, split: str) -> References:
        """The references of a split; a file that names no splits holds for all."""
        return self._references.of_split(split) if self.has_splits else self._references

    @cached_property
    def has_splits(self) -> bool:
        """Whether references say which split they are of."""
        return any(reference.split is not None for reference in self._references.values())

    def vectors(self, given: Path | None) -> Path | None:
        """The word vectors: those that were named, else the one file in `embeddings`, else none."""
        if given is not None:
            if not given.is_file() and not is_model(given):
                raise OptionError(f"{given}: there is no such file of word vectors")
            return given
        folder = self.folder / VECTORS
        files = sorted(path for path in folder.glob("*.txt*") if path.is_file()) if folder.is_dir() else []
        if len(files) > 1:
            raise OptionError(f"{folder}: there are {len(files)} files; say which with --vectors FILE")
        return files[0] if files else None


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """The folder that a study writes."""

    folder: Path

    @property
    def work(self) -> Path:
        """Everything that can be made again."""
        return self.folder / "work"

    @property
    def models(self) -> Path:
        """Everything that scoring a blind split needs."""
        return self.folder / "models"

    @property
    def trained(self) -> Path:
        """Models as they come out of training."""
        return self.work / "trained"

    @property
    def with_trees(self) -> Path:
        """The same models with trees beside the network."""
        return self.work / "with-trees"

    @property
    def with_lm(self) -> Path:
        """What was fitted with a language model, by recognizer."""
        return self.work / "with-lm"

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

    def lm_store(self, name: str, split: str) -> Path:
        """The same, read by a language model."""
        return self.work / name / f"{split}-lm"

    def pack(self, name: str) -> Path:
        """Training data."""
        return self.work / f"{name}.pack"

    def require_torch(self) -> None:
        """Fail with what to do if torch is not installed."""
        require_torch(
            f"or train elsewhere from {self.work}/*.pack and put the models into {self.trained} (docs/study.md)"
        )

    def make(self, *, models: bool) -> None:
        """Make the folders, or go on with those of an earlier run; a folder of other things is left alone."""
        try:
            if self.folder.is_dir() and any(self.folder.iterdir()) and not self.work.is_dir():
                raise OptionError(f"{self.folder}: exists and is no study; name another folder")
            for folder in (self.work, self.results, *([self.models] if models else [])):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"{self.folder}: cannot be made: {error.strerror}") from None
