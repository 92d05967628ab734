"""What a study may be told besides its data."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..base.errors import OptionError
from ..training.options import TrainOptions

UNTIL = ("networks", "packs", "models", "results")


@dataclass(frozen=True, slots=True)
class StudyOptions:
    """Which split is reported, how models are trained, and how far to go."""

    test: str = "eval"  # the split to report
    models: Path | None = None  # final models of an earlier study: nothing is fitted
    until: str = UNTIL[-1]
    vectors: Path | None = None
    with_joint: bool = True
    with_paper: bool = False  # the paper's own system as well
    skip_bad: bool = False
    training: TrainOptions | None = None  # None: as the study thinks best
    teachers: int = 1  # for each fold, that the models learn from as well
    device: str = "auto"
    threads: int | None = None
    jobs: int = field(default_factory=lambda: os.cpu_count() or 1)

    def __post_init__(self) -> None:
        if not self.test or Path(self.test).name != self.test or self.test.startswith("."):
            raise OptionError(f"--test names a split, such as eval, not {self.test!r}")
        if self.until not in UNTIL:
            raise OptionError(f"a study stops after {', '.join(UNTIL)}, not after {self.until!r}")
        if self.models is not None and (self.until != UNTIL[-1] or self.with_paper):
            raise OptionError("--models fits nothing: it goes neither with --until nor with --paper")
        if self.models is not None and (self.vectors is not None or self.training is not None):
            raise OptionError("--models trains nothing: it goes with none of --vectors, --epochs, --state, --seed")
