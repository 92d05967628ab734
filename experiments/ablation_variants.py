"""What the ablations try: the paper's system, and one thing at a time changed.

Two of them are not alone: `all` has every improvement that needs no other head, and `all, head: normalised` is the
default of this package. The training-size curves are those of the paper's system and of the latter, and end there.
docs/ablations.md also has merging by maximum and attention, which did not help and were dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from wordtrust.base.errors import OptionError
from wordtrust.networks.hwcn import TOLERANCE
from wordtrust.training.options import TrainOptions

EIGHTHS = 8
# Short enough for hundreds of runs on a CPU; NCE decides, as EER is noisy on a development set of this size.
OPTIONS = TrainOptions(
    head="independent", merge="mean", skip=False, state=128, hidden=32, epochs=25, patience=5, gap=0
)


@dataclass(frozen=True, slots=True)
class NetworkBuild:
    """How the networks of a variant are built."""

    tolerance: float = TOLERANCE
    tuned: bool = True  # posteriors at the scales that `wordtrust tune` chose, or as the recognizer gave them
    push: bool = True  # scores made local before nodes merge

    @property
    def name(self) -> str:
        """Of their folder."""
        made = ("tuned" if self.tuned else "untuned", "pushed" if self.push else "unpushed")
        return f"{'-'.join(made)}-{1000 * self.tolerance:.0f}ms"


@dataclass(frozen=True, slots=True)
class Variant:
    """One line of the table."""

    name: str
    networks: NetworkBuild = NetworkBuild()
    features: str = "paper"
    labels: str = "one-best"
    silence_loss: bool = False
    vectors: bool = True  # from a file, where there is one
    eighths: int = EIGHTHS  # of the speakers to train on
    training: Mapping[str, Any] = field(default_factory=dict)  # options that differ from OPTIONS

    def options(self, seed: int) -> TrainOptions:
        """How to train it."""
        return replace(OPTIONS, seed=seed, **self.training)

    def to_json(self) -> dict[str, Any]:
        """All of it, for the record."""
        return asdict(self)


_NORMALISED = {"head": "normalised", "skip": True}
_BETTER: dict[str, Any] = {"features": "full", "labels": "oracle"}
_DEFAULT = Variant("all, head: normalised", training=_NORMALISED, **_BETTER)

VARIANTS = (
    Variant("paper"),
    Variant("labels: oracle", labels="oracle"),
    Variant("features: full", features="full"),
    Variant("skip: the posterior's logit", training={"skip": True}),
    Variant("all", training={"skip": True}, **_BETTER),
    Variant("silence: with loss", silence_loss=True),
    Variant("embedding: hashed", vectors=False, training={"embedding": "hashed"}),
    Variant("embedding: none", vectors=False, training={"embedding": "none"}),
    Variant("merging: posterior", training={"merge": "posterior"}),
    Variant("state: 64", training={"state": 64}),
    Variant("state: 200", training={"state": 200}),
    Variant("head: normalised", training=_NORMALISED),
    _DEFAULT,
    Variant("posteriors: not tuned", NetworkBuild(tuned=False)),
    Variant("scores: not pushed", NetworkBuild(push=False)),
    Variant("tolerance: 0 ms", NetworkBuild(tolerance=0.0)),
    Variant("tolerance: 50 ms", NetworkBuild(tolerance=0.05)),
    Variant("tolerance: 150 ms", NetworkBuild(tolerance=0.15)),
    *(Variant(f"training: {eighths}/8", eighths=eighths) for eighths in (1, 2, 4)),
    *(
        Variant(f"{_DEFAULT.name}, training: {eighths}/8", eighths=eighths, training=_NORMALISED, **_BETTER)
        for eighths in (1, 2, 4)
    ),
)


def variants_of(names: Sequence[str]) -> list[Variant]:
    """Those that are named, or all."""
    by_name = {variant.name: variant for variant in VARIANTS}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        raise OptionError(f"there is no variant {unknown[0]!r}, but: {', '.join(by_name)}")
    return [by_name[name] for name in names] or list(VARIANTS)
