"""Score lattices with a model: transcripts whose words have confidences. Needs no torch.

scorer = wt.load("model")
transcript = scorer(lattice)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from dataclasses import asdict, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from ..base.errors import InputError, OptionError, WordtrustWarning
from ..base.folds import speaker_id
from ..base.number_format import counted
from ..lattices.batching import as_batches
from ..lattices.evidence import OPTIONAL_EVIDENCE
from ..lattices.lattice import Floats, Lattice, Lattices, concatenate
from ..lattices.paths import Paths
from ..lattices.unscaled import has_both_scores
from ..lattices.weights import Reals, Scales
from ..networks.hwcn import Network, Networks
from ..networks.text_probability import text_probability
from ..transcripts.transcript import Transcript, Transcripts, transcripts
from .adapt import ENOUGH_UTTERANCES, adapt, networks_for, tolerance_of
from .calibration.model_calibration import ModelCalibration
from .choice import Choice
from .estimation.held_out import KnownOfOutputs
from .lattice_rnn import ArcScores, LatticeRNNScorer
from .lm_part import FILE as LM_FILE
from .lm_part import FittedLanguageModel, LanguageModelPart, ReadBy, without_promises
from .model_file import Model, load_model
from .out_of_domain import UsualFeatures
from .shipped import FOLDER, MODEL, folder_of, names
from .unusual import model_warnings

if TYPE_CHECKING:
    from ..language_models.evidence import LanguageEvidence

ALTERNATIVES = 5
FAR_RATIO = 4.0  # times: acoustic scores that weigh so much more or less are unscaled, or scaled twice
MOST_AHEAD = 1000  # utterances that a generic model is adapted to before the first is scored


class WordScorer:
    """A model that takes lattices or networks and gives transcripts.

    It never changes, and may be used from several threads at once.
    """

    def __init__(
        self,
        model: Model,
        *,
        allow_mismatch: bool = False,
        threads: int | None = None,
        evidence: LanguageEvidence | None = None,
        read_by: ReadBy | None = None,
    ) -> None:
        self._model, self._allow_mismatch, self._threads = model, allow_mismatch, threads
        self._evidence, self._read_by = evidence, read_by
        self._scorer = LatticeRNNScorer(
            model.config, model.weights, model.table, model.statistics, threads=threads, lenient=model.is_generic,
            trees=model.trees,
            lattices=model.lattices,
        )  # fmt: skip
        record = model.card.calibration
        self._choice = model.card.choice or Choice()
        self._calibration = None if record is None else ModelCalibration.from_dict(record)
        self._usual_features = UsualFeatures.of_model(model)

    @property
    def model(self) -> Model:
        """The model itself: weights, words, card."""
        return self._model

    @property
    def tolerance(self) -> float:
        """Seconds within which nodes of its networks are merged."""
        return tolerance_of(self.model.card)

    @property
    def scales(self) -> Scales | None:
        """The scales of the posteriors of its networks, or None for those of the lattices."""
        return self.model.card.scales

    @property
    def choice(self) -> Choice:
        """How words are chosen by their confidences."""
        return self._choice

    @property
    def calibration(self) -> ModelCalibration | None:
        """The calibration of its confidences, if it is calibrated."""
        return self._calibration

    @cached_property
    def known(self) -> KnownOfOutputs:
        """What the model knows about its outputs, beyond the confidence of each word."""
        return KnownOfOutputs.of_model(self.model.card)

    @property
    def language_model(self) -> str | None:
        """The name of the language model that reads the sentences; None without one."""
        return None if self._read_by is None else self._read_by.name

    def another_language_model(self) -> FittedLanguageModel | None:
        """The one that reads here, if the model was fitted with another one."""
        return None if self._read_by is None or self._read_by.fitted_with is None else self._read_by.here

    def language_model_warning(self) -> str | None:
        """What to say of a language model that the model was not fitted with."""
        fitted = None if self._read_by is None else self._read_by.fitted_with
        if fitted is None:
            return None
        return (
            f"the model was fitted with the language model {fitted}, and what {self.language_model} says means "
            "something else: nothing is promised about these confidences until they are calibrated"
        )

    def with_choice(self, choice: Choice) -> WordScorer:
        """The same model with another way to choose words."""
        other = copy(self)
        other._choice = choice
        return other

    def __repr__(self) -> str:
        facts = [f"for {self.model.recognizer}"] if self.model.recognizer else []
        nce = self.model.card.metrics.get("dev_nce")
        facts += [f"dev NCE {nce:.3f}"] if isinstance(nce, float) else []
        facts += ["calibrated" if self.calibration else "not calibrated", f"words by {self.choice.criterion}"]
        return f"<WordScorer {', '.join(facts)}>"

    @overload
    def __call__(self, lattice: Lattice | Network, *, alternatives: int = ...) -> Transcript: ...
    @overload
    def __call__(self, lattice: _Many, *, alternatives: int = ...) -> Transcripts: ...

    def __call__(
        self, lattice: Lattice | Network | _Many, *, alternatives: int = ALTERNATIVES
    ) -> Transcript | Transcripts:
        """The transcript of a lattice, or the transcripts of a batch or a list of lattices."""
        if isinstance(lattice, Lattice | Network):
            return self.score(_graph(lattice).batch(), alternatives=alternatives)[0]
        if isinstance(lattice, Networks | Lattices):
            return self.score(_graphs(lattice), alternatives=alternatives)
        scorer, batches = self.adapted_ahead(_joined(_listed(lattice)))
        if (message := scorer.adaptation_warning()) and scorer is not self:
            warnings.warn(message, WordtrustWarning, stacklevel=2)
        scored = (scorer.score(batch, alternatives=alternatives) for batch in batches)
        return Transcripts(chain.from_iterable(scored))

    def score(self, lattices: Lattices, *, alternatives: int = ALTERNATIVES) -> Transcripts:
        """The transcripts of a batch."""
        networks = self.networks(lattices)
        if self.wants_adapting and len(networks):
            adapted = self.adapted([networks])
            if message := adapted.adaptation_warning():
                warnings.warn(f"{message}. Score all you have in one call", WordtrustWarning, stacklevel=3)
            return adapted.score(networks, alternatives=alternatives)
        scores = self.arc_scores(networks)
        return self.with_warnings(
            networks, self.transcripts(networks, alternatives=alternatives, scores=scores), scores
        )

    def transcripts(
        self, networks: Lattices, *, alternatives: int = ALTERNATIVES, scores: ArcScores | None = None
    ) -> Transcripts:
        """The transcripts of networks, without warnings; `scores` are those of their arcs, if they are known."""
        scores = self.arc_scores(networks) if scores is None else scores
        paths = self.choice.paths(networks, scores.confidence)
        missing = self._scorer.missing(networks, scores, paths)
        return transcripts(
            networks,
            scores.confidence,
            paths,
            alternatives=alternatives,
            show=self.word_calibration(),
            missing=None if missing is None else self._calibrated("gaps", missing),
            correct=self._calibrated("utterances", _all_right(networks, scores, paths, missing)),
        )

    def missing(
        self, networks: Lattices, scores: ArcScores, paths: Paths, *, calibrated: bool = True
    ) -> Reals | None:
        """[gaps] how likely words are missing before, between and after the words of paths.

        None if the model does not tell: it was trained by a version that knew nothing of gaps.
        """
        missing = self._scorer.missing(networks, scores, paths)
        return missing if missing is None or not calibrated else self._calibrated("gaps", missing)

    def correct(self, networks: Lattices, scores: ArcScores, paths: Paths, *, calibrated: bool = True) -> Reals:
        """[utterances] how likely the words of paths are right, all of them, and none is missing."""
        correct = _all_right(networks, scores, paths, self._scorer.missing(networks, scores, paths))
        return self._calibrated("utterances", correct) if calibrated else correct

    def _calibrated(self, part: str, probability: Reals) -> Reals:
        return probability if self.calibration is None else self.calibration.of_part(part, probability)

    def with_warnings(self, networks: Lattices, of: Transcripts, scores: ArcScores | None = None) -> Transcripts:
        """The transcripts of networks with what is unusual about each of them, which changes no confidence."""
        seen = None if scores is None else scores.features
        found = model_warnings(self.model, self._usual_features, networks, [each.words for each in of], seen)
        return Transcripts(
            replace(each, warnings=unusual) if unusual else each for each, unusual in zip(of, found, strict=True)
        )

    def word_calibration(self) -> Callable[[Reals], Reals] | None:
        """From confidences of chosen words to those that are shown; None if the model is not calibrated."""
        calibration = self.calibration
        return None if calibration is None else lambda scores: calibration.of("words", scores)

    @property
    def wants_adapting(self) -> bool:
        """Whether it is a generic model that no recognizer's statistics were given to yet."""
        model = self.model
        return model.is_generic and model.card.adapted is None and not model.has_fixed_statistics

    def adaptation_warning(self) -> str | None:
        """What to say about a generic model that has heard little of a recognizer."""
        adapted = self.model.card.adapted
        if not self.model.is_generic or adapted is None or adapted.utterances >= ENOUGH_UTTERANCES:
            return None
        return (
            f"the generic model heard {counted(adapted.utterances, 'utterance')} of this recognizer; "
            f"under {ENOUGH_UTTERANCES} its percentages are rough"
        )

    def adapted(self, batches: Iterable[Lattices]) -> WordScorer:
        """The same, for the recognizer of these lattices or networks (see `adapt`)."""
        model = adapt(self.model, batches)
        settings: dict[str, Any] = {"allow_mismatch": self._allow_mismatch, "threads": self._threads}
        scorer = WordScorer(model, **settings, evidence=self._evidence, read_by=self._read_by)
        return scorer.with_choice(self.choice)

    def adapted_ahead(self, batches: Iterable[Lattices]) -> tuple[WordScorer, Iterator[Lattices]]:
        """A generic model adapted to the first utterances that come, and all of them; other models as they are."""
        coming = iter(batches)
        if not self.wants_adapting:
            return self, coming
        first: list[Lattices] = []
        while sum(map(len, first)) < MOST_AHEAD and (batch := next(coming, None)) is not None:
            first.append(batch if self._evidence is None else self.networks(batch))  # nothing is read twice
        return (self.adapted(first) if first else self), chain(first, coming)

    def networks(self, lattices: Lattices) -> Lattices:
        """The networks of lattices, built as those that the model was trained on; networks stay as they are.

        With a language model, they also get its evidence where they lack it.
        """
        if not self._allow_mismatch:
            self._check(lattices)
        networks = networks_for(self.model, lattices)
        return networks if self._evidence is None else self._evidence(networks)

    def calibrated_on(self, speakers: Iterable[str]) -> int:
        """How many of these speakers the calibration was fitted on."""
        fitted_on = self.model.card.calibrated_on
        return len({speaker_id(name) for name in speakers} & set(fitted_on.speakers if fitted_on else ()))

    def confidence(self, networks: Lattices) -> Floats:
        """[arcs] how likely each word is right; of silence its posterior."""
        return self._scorer.confidence(networks)

    def arc_scores(self, networks: Lattices) -> ArcScores:
        """Confidences, and what else the model knows of every arc."""
        return self._scorer.scores(networks)

    def _check(self, lattices: Lattices) -> None:
        """Refuse what the model was not trained for: its confidences would mean nothing."""
        recognizer, trained = lattices.origin.recognizer, self.model.recognizer
        if recognizer and trained and recognizer != trained:
            raise self._mismatch(
                lattices,
                f"the recognizer is {recognizer}, the model was trained for {trained}",
                f'Use a model trained for it; if it is {trained}, say so with "name" in recognizer.json beside the '
                "files (without, the name is that of their folder)",
            )
        if lattices.origin.tolerance is None:
            self._check_ratio(lattices)
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
                f"posteriors made with {_shown(lattices.scales)}, the model was trained on {_shown(self.scales)}",
                "Build the networks with its scales: wordtrust build ... --scales MODEL",
            )

    def _check_ratio(self, lattices: Lattices) -> None:
        """Refuse lattices whose acoustic scores are on another scale than those the model was trained on."""
        if self.scales is None or not has_both_scores(lattices):
            return
        here, trained = (scales.acoustic / (scales.transition or 1.0) for scales in (lattices.scales, self.scales))
        if min(here, trained) > 0 and max(here, trained) > FAR_RATIO * min(here, trained):
            raise self._mismatch(
                lattices,
                f"acoustic scores are weighed by {here:.3g} of language scores here, by {trained:.3g} in the model",
                "Read them as in training (--lmwt, --acoustic-scale), use a model trained for them",
            )

    @staticmethod
    def _mismatch(lattices: Lattices, found: str, better: str = "Use a model trained for it") -> InputError:
        remedy = f"{better}, or allow the mismatch (--allow-mismatch; allow_mismatch=True)"
        return InputError(found, file=lattices.origin.file, remedy=remedy)


def _all_right(networks: Lattices, scores: ArcScores, paths: Paths, missing: Reals | None) -> Reals:
    """[utterances] the probability of the text, times that of no missing words where the model tells of them.

    Chances of words are those of the network alone: trees correct each as if it were the only one, and what they are
    off by would be multiplied over all words.
    """
    text = text_probability(networks, scores.share, paths, scores.network_chance)
    if missing is None:
        return text
    offsets = paths.without_silence(networks).offsets + np.arange(len(paths.offsets))
    return np.asarray(text * np.multiply.reduceat(1.0 - missing, offsets[:-1]))


_Many = Lattices | Networks | Iterable[Lattice | Lattices | Network | Networks]


def _graph(lattice: Lattice | Network) -> Lattice:
    return lattice.lattice if isinstance(lattice, Network) else lattice


def _graphs(lattices: Any) -> Any:
    return lattices.lattices if isinstance(lattices, Networks) else lattices


def _listed(lattices: Iterable[Any]) -> Iterator[Lattices]:
    """The batches of a list; what else people try is an error that says what to do."""
    if isinstance(lattices, str | Path):
        raise TypeError(f"a scorer takes lattices, not the name of a file: scorer(wt.read({str(lattices)!r}))")
    if isinstance(lattices, Iterable) and not isinstance(lattices, Mapping):
        lattices = [_graph(each) if isinstance(each, Network) else _graphs(each) for each in lattices]
    return as_batches(lattices)


def _joined(batches: Iterable[Lattices]) -> list[Lattices]:
    """All in one batch where their arrays fit together: they are of one recognizer then."""
    listed = list(batches)
    try:
        return [concatenate(listed)] if listed else []
    except ValueError:
        return listed


def _shown(scales: Scales) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in asdict(scales).items() if value)


def load(
    model: str | Path,
    *,
    allow_mismatch: bool = False,
    threads: int | None = None,
    lm: str | Path | LanguageEvidence | None = None,
) -> WordScorer:
    """A model folder or a shipped model (`models`), ready to score.

    The bare name of a shipped model means that one; a folder of the same name here is `./NAME`. `allow_mismatch` also
    scores what the model was not trained for. `lm` is a language model (an ARPA file, a .gguf file, a folder or a hub
    name) that reads the sentences, for models that were fitted with one.
    """
    if not isinstance(model, str | Path):
        raise TypeError(f"a model is a name (wt.models() lists them) or a folder, not {type(model).__name__}")
    loaded, evidence, read_by = load_model(model, allow_mismatch=allow_mismatch), None, None
    if lm is not None:
        loaded, evidence, read_by = _reading(loaded, model, lm, threads, allow_mismatch)
    return WordScorer(loaded, allow_mismatch=allow_mismatch, threads=threads, evidence=evidence, read_by=read_by)


def _reading(
    model: Model, name: str | Path, lm: str | Path | LanguageEvidence, threads: int | None, allow_mismatch: bool
) -> tuple[Model, LanguageEvidence, ReadBy]:
    """The model as it is with a language model, and that one; an `OptionError` if it was fitted with none."""
    from ..language_models.evidence import load_evidence

    part = LanguageModelPart.load(folder_of(name), model)
    if part is None and not set(OPTIONAL_EVIDENCE["has_lm"]) & set(model.config.columns):
        raise _fitted_without(name)
    paths = None if part is None else part.language_model.paths
    evidence = load_evidence(lm, k=paths, threads=threads) if isinstance(lm, str | Path) else lm
    if part is None:
        return model, evidence, ReadBy(Path(evidence.model.name).name)
    here = FittedLanguageModel.of(evidence)
    if not allow_mismatch:
        part.language_model.check(here, Path(name).name)
    applied = part.applied(model)
    if part.language_model.is_like(here):
        return applied, evidence, ReadBy(part.language_model.name)
    own = here.name if here.name != part.language_model.name else f"another {here.name}"
    return without_promises(applied), evidence, ReadBy(own, part.language_model.name, here)


def _fitted_without(model: str | Path) -> OptionError:
    """Why a model has no use for a language model, and which have."""
    takes = ", ".join(each for each in names(MODEL) if (FOLDER / each / LM_FILE).is_file())
    return OptionError(
        f"{Path(model).name} was fitted without a language model, which would change nothing: leave --lm out, or fit "
        "a model with it (wordtrust study DATA --lm, docs/language-models.md). Of the models that come with "
        f"wordtrust, these take one: {takes}"
    )
