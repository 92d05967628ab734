"""Word confidences segment by segment, while recognizers are still working, of one recognizer or of several.

Every segment tells more about a recognizer: a generic model adapts to its statistics. So the confidences of its early
segments may change, and can be computed again at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ..base.errors import OptionError
from ..combination.combination_file import FittedCombination
from ..combination.joint import JointHypotheses, JointModel, hypotheses
from ..confidence.calibrate_scores import CalibratedWords
from ..confidence.calibrator_file import is_calibrator
from ..confidence.estimation.accepted import AcceptedPrecision, accepting
from ..confidence.estimation.held_out import KnownOfOutputs
from ..confidence.shipped import COMBINATION, FOLDER, MODEL, names
from ..confidence.word_scorer import ALTERNATIVES, MOST_AHEAD, load
from ..lattices.lattice import Floats, Lattices
from ..lattices.paths import Paths, one_best
from ..lattices.vocabulary import Vocabulary
from ..networks.hwcn import build
from ..recognizers import RecognizerIdentity
from ..transcripts.transcript import Transcript, Transcripts
from ..transcripts.utterance import distinct_warnings

GENERIC, JOINT = "generic", "joint"  # shipped models


class OnlineScorer(ABC):
    """What gives the words of one recognizer their confidences."""

    identity: RecognizerIdentity
    model: str  # its name, for the files that the words are written to

    @property
    @abstractmethod
    def is_provisional(self) -> bool:
        """Whether later speech may change the confidences of earlier words."""

    @abstractmethod
    def message(self) -> str:
        """What computes the confidences."""

    @abstractmethod
    def networks(self, lattices: Lattices, *, learn: bool) -> Lattices:
        """The networks of an utterance; with `learn`, the scorer adapts to them first."""

    @property
    @abstractmethod
    def language_model(self) -> str | None:
        """The name of the one that reads the sentences, where there is one."""

    @property
    @abstractmethod
    def known(self) -> KnownOfOutputs:
        """What is known about its outputs; of a recognizer that a model does not know, nothing is promised."""

    @abstractmethod
    def score(self, networks: Lattices) -> tuple[Lattices, Floats, Paths]:
        """Networks, the confidence of every arc, and the path of the chosen words."""

    @abstractmethod
    def hypotheses(self, networks: Lattices, vocabulary: Vocabulary) -> Lattices:
        """What it brings to a joint network."""

    @abstractmethod
    def transcript(self, networks: Lattices, alternatives: int) -> Transcript:
        """The words of an utterance."""

    @abstractmethod
    def with_warnings(self, networks: Lattices, transcript: Transcript) -> Transcript:
        """The transcript with what is unusual about it for the model, beside what others found."""


class _ModelScorer(OnlineScorer):
    """The confidence model of one recognizer, which adapts to it if it is a generic one."""

    def __init__(self, identity: RecognizerIdentity, model: str | None = None, *, lm: str | None = None) -> None:
        self.identity = identity
        self.model = model or (identity.name if identity.name in names(MODEL) else GENERIC)
        self._original = load(model or FOLDER / self.model, threads=1, lm=lm)
        self._scorer = self._original
        self._seen: list[Lattices] = []
        self._next_update = 1  # utterances after which the scorer is adapted again
        if not self._original.model.is_generic and self._original.model.recognizer not in (None, "", identity.name):
            raise OptionError(
                f"{self.model} was trained for {self._original.model.recognizer}, not for {identity.name}: "
                "leave --model out, or train one (docs/audio.md)"
            )

    @property
    def is_provisional(self) -> bool:
        return self._original.wants_adapting

    def message(self) -> str:
        if self._original.model.is_generic:
            return f"{self.identity.name}: no model was trained for it, so its words are scored by the generic one"
        return f"{self.identity.name}: words scored by the model {self.model}"

    def networks(self, lattices: Lattices, *, learn: bool) -> Lattices:
        networks = self._original.networks(lattices)
        if learn and self._original.wants_adapting and len(self._seen) < MOST_AHEAD and networks.word.any():
            self._seen.append(networks)
            if len(self._seen) >= self._next_update:
                self._next_update = 2 * len(self._seen)
                self._scorer = self._original.adapted(self._seen)
        return networks

    @property
    def language_model(self) -> str | None:
        return self._original.language_model

    @property
    def known(self) -> KnownOfOutputs:
        return self._original.known

    def score(self, networks: Lattices) -> tuple[Lattices, Floats, Paths]:
        confidence = self._scorer.confidence(networks)
        return networks, confidence, self._scorer.choice.paths(networks, confidence)

    def hypotheses(self, networks: Lattices, vocabulary: Vocabulary) -> Lattices:
        scores = self._scorer.arc_scores(networks)
        paths = self._scorer.choice.paths(networks, scores.confidence)
        missing = self._scorer.missing(networks, scores, paths, calibrated=False)
        return hypotheses(networks, scores.confidence, paths, vocabulary, missing=missing)

    def transcript(self, networks: Lattices, alternatives: int) -> Transcript:
        return self.with_warnings(networks, self._scorer.transcripts(networks, alternatives=alternatives)[0])

    def with_warnings(self, networks: Lattices, transcript: Transcript) -> Transcript:
        (found,) = self._scorer.with_warnings(networks, Transcripts([transcript]))
        return replace(transcript, warnings=distinct_warnings(transcript.warnings, found.warnings))


class _CalibratorScorer(OnlineScorer):
    """The words that a recognizer prints with its own posteriors, calibrated by the file of a calibrator.

    There is no model: nothing is chosen anew, gaps are not told, and nothing is unusual for it.
    """

    def __init__(self, identity: RecognizerIdentity, calibrator: str, *, lm: str | None = None) -> None:
        if lm is not None:
            raise OptionError("--lm is for models; a calibrator changes nothing but confidences")
        self.identity, self.model = identity, Path(calibrator).name
        self._calibrated = CalibratedWords.load(Path(calibrator))

    @property
    def is_provisional(self) -> bool:
        return False

    def message(self) -> str:
        return f"{self.identity.name}: its own words and posteriors, calibrated by {self.model}"

    def networks(self, lattices: Lattices, *, learn: bool) -> Lattices:  # noqa: ARG002  # it learns nothing
        return build(lattices).lattices

    @property
    def language_model(self) -> str | None:
        return None

    @property
    def known(self) -> KnownOfOutputs:
        return self._calibrated.known

    def score(self, networks: Lattices) -> tuple[Lattices, Floats, Paths]:
        assert networks.posterior is not None
        return networks, networks.posterior, one_best(networks)

    def hypotheses(self, networks: Lattices, vocabulary: Vocabulary) -> Lattices:
        return hypotheses(*self.score(networks), vocabulary)

    def transcript(self, networks: Lattices, alternatives: int) -> Transcript:
        return self._calibrated(networks, alternatives=alternatives)[0]

    def with_warnings(self, networks: Lattices, transcript: Transcript) -> Transcript:  # noqa: ARG002
        return transcript


def online_scorer(identity: RecognizerIdentity, model: str | None = None, *, lm: str | None = None) -> OnlineScorer:
    """The scorer of a recognizer: a model, or the file of a calibrator."""
    if model is not None and is_calibrator(Path(model)):
        return _CalibratorScorer(identity, model, lm=lm)
    return _ModelScorer(identity, model, lm=lm)


class OnlineCombiner:
    """Transcripts of what one or several recognizers heard, utterance by utterance.

    Several are decoded jointly where a shipped joint model knows them all; otherwise the transcript with the highest
    mean confidence is taken.
    """

    def __init__(
        self,
        identities: Sequence[RecognizerIdentity],
        models: Sequence[str] = (),
        *,
        alternatives: int = ALTERNATIVES,
        lm: str | None = None,
    ) -> None:
        if models and len(models) != len(identities):
            raise OptionError(f"{len(identities)} recognizers need as many models, not {len(models)}: --model A,B")
        self._names = [identity.name for identity in identities]
        repeated = [name for name in self._names if self._names.count(name) > 1]
        if repeated:
            raise OptionError(f"{repeated[0]} is named twice; combine different recognizers")
        chosen = [*models, *[None] * (len(identities) - len(models))]
        self.joint = _shipped_joint_model(self._names) if len(identities) > 1 and not models else None
        if lm is not None and self.joint is not None:
            raise OptionError("--lm is for one recognizer: several are combined by what was fitted without it")
        self.scorers = [
            online_scorer(identity, model, lm=lm) for identity, model in zip(identities, chosen, strict=True)
        ]
        self._alternatives = alternatives

    @property
    def is_provisional(self) -> bool:
        """Whether later speech may change the words and confidences of earlier transcripts."""
        return any(scorer.is_provisional for scorer in self.scorers)

    @property
    def models(self) -> list[str]:
        """Those that give the words their confidences: one for each recognizer, or the joint network of all."""
        return [scorer.model for scorer in self.scorers] if self.joint is None else [JOINT]

    @property
    def language_model(self) -> str | None:
        """The name of the one that reads the sentences, where there is one."""
        return self.scorers[0].language_model

    def accepted(self, precision: float) -> AcceptedPrecision:
        """From which confidence on words are accepted; an `OptionError` where the model cannot promise this."""
        if len(self.scorers) > 1:
            raise OptionError("--accept is for one recognizer: of several together nothing was shown yet")
        return accepting(self.scorers[0].known.accept, precision, self.scorers[0].model)

    def messages(self) -> list[str]:
        """Which models compute the confidences, and how several recognizers are combined."""
        messages = [scorer.message() for scorer in self.scorers]
        if self.joint is not None:
            messages.append("together: the joint network that was fitted for them")
        elif len(self.scorers) > 1:
            messages.append("together: for each stretch of speech the one with the higher mean confidence")
        return messages

    def transcript(self, lattices: Sequence[Lattices], *, learn: bool = True) -> Transcript:
        """The transcript of an utterance from the lattices of every recognizer, with all that was learned so far."""
        networks = [
            scorer.networks(of_one, learn=learn) for scorer, of_one in zip(self.scorers, lattices, strict=True)
        ]
        if self.joint is not None:
            return self._decode_jointly(self.joint, networks)
        candidates = [
            scorer.transcript(of_one, self._alternatives)
            for scorer, of_one in zip(self.scorers, networks, strict=True)
        ]
        return max(candidates, key=lambda transcript: transcript.mean_confidence or 0.0)

    def _decode_jointly(self, joint: JointModel, networks: Sequence[Lattices]) -> Transcript:
        vocabulary = Vocabulary()
        members = [
            scorer.hypotheses(of_one, vocabulary) for scorer, of_one in zip(self.scorers, networks, strict=True)
        ]
        decoded = joint.decode(JointHypotheses.of(members), self._names)
        transcript = decoded.transcripts(alternatives=self._alternatives)[0]
        for scorer, of_one in zip(self.scorers, networks, strict=True):
            transcript = scorer.with_warnings(of_one, transcript)
        return transcript


def _shipped_joint_model(recognizers: Sequence[str]) -> JointModel | None:
    """The joint model that comes with wordtrust, if it knows all of these recognizers."""
    if JOINT not in names(COMBINATION):
        return None
    joint = FittedCombination.load(FOLDER / JOINT).joint
    return joint if joint is not None and set(recognizers) <= set(joint.names) else None
