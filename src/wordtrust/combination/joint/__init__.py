"""Joint combination: the word hypotheses of several recognizers in one network, weighed and decoded together.

    vocabulary = Vocabulary()
    members = [hypotheses(networks, confidence, paths, vocabulary) for ... in recognizers]
    model = fit_joint(JointHypotheses.of(members), names)           # on held-out utterances with references
    decoded = model.decode(JointHypotheses.of(others), names)       # any subset of these recognizers
    transcripts(decoded.lattices, decoded.confidence, decoded.paths)

`hypotheses` is what a recognizer holds possible; `warp` puts clocks right; `union` makes one network; `evidence` is
what every recognizer says about every arc of it; `weigh` turns that into probabilities; `fit` and `fit_model` fit.
"""

from __future__ import annotations

from .files import load_joint, save_joint
from .fit import FitOptions
from .fit_model import fit_joint
from .hypotheses import hypotheses
from .model import Decoded, JointModel, Settings
from .subsets import joint_errors, matched
from .union import JointHypotheses, Union

__all__ = [
    "Decoded",
    "FitOptions",
    "JointHypotheses",
    "JointModel",
    "Settings",
    "Union",
    "fit_joint",
    "hypotheses",
    "joint_errors",
    "load_joint",
    "matched",
    "save_joint",
]  # fmt: skip
