"""Recognizers at work, utterance by utterance: which model judges the words of each, and what they say together.

What was heard so far tells more about a recognizer than the first utterance did: a generic model takes its statistics
from it, and any model sees whether it is out of its depth. So the first utterances may be judged again at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.errors import OptionError
from ..combination.joint import JointHypotheses, JointModel, hypotheses
from ..confidence.out_of_domain import LEAST_UTTERANCES
from ..confidence.shipped import COMBINATION, FOLDER, MODEL, names
from ..confidence.word_scorer import ALTERNATIVES, MOST_AHEAD, load
from ..lattices.lattice import Floats, Lattices, Vocabulary, concatenate
from ..lattices.paths import Paths
from ..recognizers import RecognizerIdentity
from ..transcripts.transcript import Transcript, transcripts

GENERIC, JOINT = "generic", "joint"


class Judge:
    """The model that judges the words of one recognizer."""

    def __init__(self, identity: RecognizerIdentity, model: str | None = None) -> None:
        self.identity = identity
        self.model = model or (identity.name if identity.name in names(MODEL) else GENERIC)
        self._own = load(model or FOLDER / self.model, threads=1)
        self._scorer = self._own
        self._seen: list[Lattices] = []
        self._next = 1  # utterances that must have been heard before the model is looked at again
        self.trust = 1.0  # what confidences are multiplied with where the model knows nothing like it
        if not self._own.model.is_generic and self._own.model.recognizer not in (None, "", identity.name):
            raise OptionError(
                f"{self.model} was trained for {self._own.model.recognizer}, not for {identity.name}: "
                "leave --model out, or train one (docs/audio.md)"
            )

    @property
    def changes(self) -> bool:
        """Whether what was heard later may change what was said before."""
        return self._own.wants_adapting or self.trust < 1

    def told(self) -> str:
        """For people: who judges."""
        if self._own.model.is_generic:
            return f"{self.identity.name}: no model was trained for it, so the generic one judges its words"
        return f"{self.identity.name}: words judged by the model {self.model}"

    def networks(self, lattices: Lattices, *, learn: bool) -> Lattices:
        """The networks of an utterance, after having learned from it."""
        networks = self._own.networks(lattices)
        if learn and len(self._seen) < MOST_AHEAD and networks.word.any():
            self._seen.append(networks)
            if len(self._seen) >= self._next:
                self._learn()
        return networks

    def _learn(self) -> None:
        self._next = 2 * len(self._seen)
        if self._own.wants_adapting:
            self._scorer = self._own.adapted(self._seen)
        if len(self._seen) >= LEAST_UTTERANCES:
            self.trust = self._scorer.domain_factor(concatenate(_alike(self._seen)))

    def scored(self, networks: Lattices) -> tuple[Lattices, Floats, Paths]:
        """Networks, the confidence of every arc, and the chosen words."""
        confidence = self._scorer.confidence(networks)
        return networks, confidence, self._scorer.choice.paths(networks, confidence)

    def transcript(self, networks: Lattices, alternatives: int) -> Transcript:
        """The words of an utterance."""
        curve, trust = self._scorer.calibration, self.trust
        return transcripts(
            *self.scored(networks),
            alternatives=alternatives,
            show=lambda scores: trust * (curve.of("words", scores) if curve else scores),
        )[0]


def _alike(seen: Sequence[Lattices]) -> list[Lattices]:
    """Those that have the same scores and evidence as most: a recognizer may not know the same of every utterance."""
    kinds: dict[object, list[Lattices]] = {}
    for each in seen:
        known = tuple(sorted(each.arrays())), tuple(sorted(each.extra)), each.scales, tuple(sorted(each.notes))
        kinds.setdefault(known, []).append(each)
    return max(kinds.values(), key=len)


class Together:
    """Some recognizers, one or several, and the words that can be trusted of what they heard."""

    def __init__(
        self,
        identities: Sequence[RecognizerIdentity],
        models: Sequence[str] = (),
        *,
        alternatives: int = ALTERNATIVES,
    ) -> None:
        if models and len(models) != len(identities):
            raise OptionError(f"{len(identities)} recognizers need as many models, not {len(models)}: --model A,B")
        if len({each.name for each in identities}) < len(identities):
            raise OptionError(f"{identities[0].name} is there twice; other recognizers are other ears")
        given = [*models, *[None] * (len(identities) - len(models))]
        self.judges = [Judge(each, model) for each, model in zip(identities, given, strict=True)]
        self._alternatives = alternatives
        self.joint = _joint([each.name for each in identities]) if len(identities) > 1 and not models else None

    @property
    def changes(self) -> bool:
        """Whether what was heard later may change what was said before."""
        return any(each.changes for each in self.judges)

    def told(self) -> list[str]:
        """For people: who judges, and how several are put together."""
        found = [each.told() for each in self.judges]
        if self.joint is not None:
            found.append("together: the joint network that was fitted for them")
        elif len(self.judges) > 1:
            found.append("together: for each stretch of speech the one with the higher mean confidence")
        return found

    def doubts(self) -> list[str]:
        """For people: models that are out of their depth."""
        return [
            f"{each.identity.name}: this speech is unlike all that the model {each.model} knows, so confidences were "
            "lowered (docs/shift.md)"
            for each in self.judges
            if each.trust < 1
        ]

    def transcript(self, heard: Sequence[Lattices], *, again: bool = False) -> Transcript:
        """The words of an utterance that each recognizer heard; `again`: with all that was learned since."""
        networks = [
            judge.networks(lattices, learn=not again) for judge, lattices in zip(self.judges, heard, strict=True)
        ]
        if self.joint is not None:
            return self._joined(networks)
        found = [
            judge.transcript(each, self._alternatives) for judge, each in zip(self.judges, networks, strict=True)
        ]
        return max(found, key=lambda each: each.confidence or 0.0)

    def _joined(self, networks: Sequence[Lattices]) -> Transcript:
        assert self.joint is not None
        vocabulary = Vocabulary()
        believed = [
            hypotheses(*judge.scored(each), vocabulary) for judge, each in zip(self.judges, networks, strict=True)
        ]
        decoded = self.joint.decode(JointHypotheses.of(believed), [judge.identity.name for judge in self.judges])
        trust = min(judge.trust for judge in self.judges)
        return decoded.transcripts(alternatives=self._alternatives, show=lambda scores: trust * scores)[0]


def _joint(identities: Sequence[str]) -> JointModel | None:
    """The joint model that comes with wordtrust, if it knows all of them."""
    from ..combination.combination_file import FittedCombination

    if JOINT not in names(COMBINATION):
        return None
    found = FittedCombination.load(FOLDER / JOINT).joint
    return found if found is not None and set(identities) <= set(found.names) else None
