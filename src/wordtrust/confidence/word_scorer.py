"""A model at work: from what a recognizer knows to a transcript whose words have confidences. Needs no torch.

scorer = wt.load("model")
transcript = scorer(lattice)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..base.errors import InputError, OptionError
from ..base.folds import speaker_number
from ..lattices.lattice import Floats, Lattice, Lattices, Scales
from ..lattices.paths import CRITERIA, Paths, best_confidence
from ..networks.hwcn import TOLERANCE, Network, build
from ..transcripts.transcript import Transcript, transcripts
from .adapt import adapt
from .lattice_rnn import Scorer
from .model_file import Model, load_model
from .out_of_domain import familiarity_of

if TYPE_CHECKING:
    from .model_calibration import Calibration

ALTERNATIVES = 5
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 17))  # that `gain` is tried with


@dataclass(frozen=True, slots=True)
class Choice:
    """How words are chosen by their confidences (DESIGN, section 7)."""

    criterion: str = "mean"
    threshold: float = 0.5  # of `gain`

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA or not 0 <= self.threshold <= 1:
            raise OptionError(
                f"words are chosen by {', '.join(CRITERIA)}, with a threshold from 0 to 1, not by {self}"
            )

    def paths(self, networks: Lattices, confidence: Floats) -> Paths:
        """The chosen words of every utterance."""
        return best_confidence(networks, confidence, self.criterion, threshold=self.threshold)

    @classmethod
    def all(cls) -> list[Choice]:
        """Those worth trying, the paper's first."""
        return [cls("mean"), cls("mean-silence"), *(cls("gain", threshold) for threshold in THRESHOLDS)]


class WordScorer:
    """A model that takes lattices or networks and gives transcripts. May be used from several threads at once."""

    def __init__(self, model: Model, *, allow_mismatch: bool = False, threads: int | None = None) -> None:
        self.model, self._allow_mismatch, self._threads = model, allow_mismatch, threads
        self._scorer = Scorer(
            model.config, model.weights, model.table, model.statistics, threads=threads, lenient=model.is_generic
        )
        try:
            self.tolerance = float(model.about.get("tolerance", TOLERANCE))
            if not 0 <= self.tolerance < np.inf:
                raise ValueError(f"a tolerance of {self.tolerance}")  # told with the others
            self.scales = Scales(**model.about["scales"]) if model.about.get("scales") else None
            self.choice = Choice(**model.about.get("choice", {}))
            self.calibration = _calibration(model)
            self._familiar = familiarity_of(model)
        except (TypeError, ValueError, OverflowError, OptionError) as error:
            raise InputError(f"the model does not say how its networks are built: {error}") from None

    def __repr__(self) -> str:
        known = [f"for {self.model.recognizer}"] if self.model.recognizer else []
        nce = self.model.about.get("metrics", {}).get("dev_nce")
        known += [f"dev NCE {nce:.3f}"] if isinstance(nce, float) else []
        known += ["calibrated" if self.calibration else "not calibrated", f"words by {self.choice.criterion}"]
        return f"<WordScorer {', '.join(known)}>"

    @overload
    def __call__(self, lattice: Lattice | Network, *, alternatives: int = ...) -> Transcript: ...
    @overload
    def __call__(self, lattice: Lattices, *, alternatives: int = ...) -> list[Transcript]: ...

    def __call__(
        self, lattice: Lattice | Network | Lattices, *, alternatives: int = ALTERNATIVES
    ) -> Transcript | list[Transcript]:
        """The transcript of a lattice, or the transcripts of a batch."""
        if isinstance(lattice, Lattices):
            networks = self.networks(lattice)
            if self.wants_adapting and len(networks):
                return self.adapted([networks])(networks, alternatives=alternatives)
            confidence = self.confidence(networks)
            paths, curve = self.choice.paths(networks, confidence), self.calibration
            trust = self.trust(networks)
            show = (lambda scores: trust * curve.of("words", scores)) if curve else None
            return transcripts(networks, confidence, paths, alternatives=alternatives, show=show)
        if not isinstance(lattice, (Lattice, Network)):
            raise TypeError(
                f"a scorer takes a Lattice, a Network or Lattices (wt.read), not {type(lattice).__name__}"
            )
        single = lattice.lattice if isinstance(lattice, Network) else lattice
        return self(single.batch(), alternatives=alternatives)[0]

    def trust(self, networks: Lattices) -> float:
        """1, or what calibrated confidences are lowered by where a batch is unlike all that the model knows."""
        return 1.0 if self._familiar is None else self._familiar.trust(self.model, networks)

    @property
    def wants_adapting(self) -> bool:
        """Whether it is a generic model that no recognizer's statistics were given to yet."""
        return self.model.is_generic and "adapted" not in self.model.about

    def adapted(self, batches: Iterable[Lattices]) -> WordScorer:
        """The same, for the recognizer of these lattices or networks (see `adapt`)."""
        found = WordScorer(adapt(self.model, batches), allow_mismatch=self._allow_mismatch, threads=self._threads)
        found.choice = self.choice
        return found

    def networks(self, lattices: Lattices) -> Lattices:
        """The networks of lattices, built as those that the model was trained on; networks stay as they are."""
        if not self._allow_mismatch:
            self._check(lattices)
        if lattices.origin.tolerance is not None:
            return lattices
        return build(lattices, tolerance=self.tolerance, scales=self.scales).lattices

    def calibrated_on(self, speakers: Iterable[str]) -> int:
        """How many of these speakers the calibration was fitted on."""
        found = self.model.about.get("calibrated_on")
        known = found.get("speakers") if isinstance(found, Mapping) else None
        numbers = {each for each in known if isinstance(each, int)} if isinstance(known, list) else set()
        return len({speaker_number(name) for name in speakers} & numbers)

    def confidence(self, networks: Lattices) -> Floats:
        """[arcs] how likely each word is right; of silence its posterior."""
        return self._scorer.confidence(networks)

    def _check(self, lattices: Lattices) -> None:
        """Refuse what the model was not trained for: its confidences would mean nothing."""
        here, trained = lattices.origin.recognizer, self.model.recognizer
        if here and trained and here != trained:
            raise self._mismatch(lattices, f"the recognizer is {here}, the model was trained for {trained}")
        if lattices.origin.tolerance is None:
            return
        if abs(lattices.origin.tolerance - self.tolerance) > 1e-9:
            raise self._mismatch(
                lattices,
                f"networks with a tolerance of {lattices.origin.tolerance:g} s, the model was trained on "
                f"{self.tolerance:g} s",
            )
        if self.scales is not None and lattices.scales != self.scales:
            raise self._mismatch(
                lattices,
                f"posteriors made with {_said(lattices.scales)}, the model was trained on {_said(self.scales)}",
                "Build the networks with its scales: wordtrust build ... --scales MODEL",
            )

    @staticmethod
    def _mismatch(lattices: Lattices, found: str, better: str = "Use a model trained for it") -> InputError:
        remedy = f"{better}, or allow the mismatch (--allow-mismatch; allow_mismatch=True)"
        return InputError(found, file=lattices.origin.file, remedy=remedy)


def _calibration(model: Model) -> Calibration | None:
    if "calibration" not in model.about:
        return None
    from .model_calibration import Calibration

    return Calibration.from_dict(model.about["calibration"])


def _said(scales: Scales) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in asdict(scales).items() if value)


def load(model: str | Path, *, allow_mismatch: bool = False, threads: int | None = None) -> WordScorer:
    """A model folder or a shipped model (`models`), ready to score.

    `allow_mismatch` also scores what it was not trained for.
    """
    return WordScorer(
        load_model(Path(model), allow_mismatch=allow_mismatch), allow_mismatch=allow_mismatch, threads=threads
    )


def about_networks(networks: Lattices) -> Mapping[str, Any]:
    """What a model has to know of the networks it is trained on."""
    if networks.origin.tolerance is None:
        raise InputError(
            "these are lattices, not networks",
            file=networks.origin.file,
            remedy="Make networks with: wordtrust build LATTICES --ref REF.tsv --out STORE",
        )
    return {
        "recognizer": networks.origin.recognizer or None,
        "tolerance": networks.origin.tolerance,
        "scales": asdict(networks.scales),
    }


def choose(
    confidence: Callable[[Lattices], Floats], batches: Iterable[Lattices], count: Callable[[Lattices, Paths], int]
) -> tuple[Choice, dict[str, int]]:
    """The way to choose words that makes the fewest errors on a development set, and the errors of every way.

    `count` gives the errors of paths. Ties go to the way that comes first, the paper's before all.
    """
    ways = Choice.all()
    errors = np.zeros(len(ways), np.int64)
    for batch in batches:
        scores = confidence(batch)
        errors += [count(batch, way.paths(batch, scores)) for way in ways]
    named = [way.criterion if way.criterion != "gain" else f"gain {way.threshold:g}" for way in ways]
    return ways[int(errors.argmin())], dict(zip(named, errors.tolist(), strict=True))
