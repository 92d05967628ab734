"""Joint combination: the hypotheses of several recognizers in one network, weighed and decoded together.

1. `hypotheses` prunes each recognizer's scored networks to what it believes.
2. `union` puts recognizers on one clock and merges their hypotheses into one network.
3. `evidence` gathers what every recognizer says about every arc of it.
4. `arc_models` turns that evidence into probabilities of arcs and into confidences.
5. `model` decodes the words that gain most, or the best member's output where a subset does not beat it.
6. `fit` learns the weights on held-out utterances, by expected word errors (`objective`); `model_file` stores them.

    vocabulary = Vocabulary()
    members = [hypotheses(networks, confidence, paths, vocabulary) for ... in recognizers]
    model = fit_joint(JointHypotheses.of(members), names)            # on held-out utterances with references
    decoded = model.decode(JointHypotheses.of(others), names)        # any subset of these recognizers
    decoded.transcripts()
"""

from __future__ import annotations

from .fit import fit_joint
from .fit_options import FitOptions
from .hypotheses import align_utterances, hypotheses
from .model import JointDecoding, JointModel, SubsetSettings, joint_errors
from .model_file import load_joint, save_joint
from .union import JointHypotheses, JointLattice

__all__ = [
    "FitOptions", "JointDecoding", "JointHypotheses", "JointLattice", "JointModel", "SubsetSettings",
    "align_utterances", "fit_joint", "hypotheses", "joint_errors", "load_joint", "save_joint",
]  # fmt: skip
