"""wordtrust: which words of a speech transcript can you trust?

    import wordtrust as wt
    lattices = wt.read("lat.1.gz", words="words.txt")
    lattices[0].text

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base.version import __version__ as __version__

if TYPE_CHECKING:
    from .base.errors import InputError, OptionError, UnknownFormat, WordtrustError, WordtrustWarning
    from .combination.combine import combine, fit_combination
    from .confidence import calibration as calibrate
    from .confidence.calibrate_model import calibrate_model
    from .confidence.calibrate_scores import calibrate_scores
    from .confidence.drift import drift
    from .confidence.estimate import estimate
    from .confidence.evaluate_model import evaluate
    from .confidence.shipped import models
    from .confidence.word_scorer import WordScorer, load
    from .evaluation import metrics
    from .evaluation.threshold import threshold
    from .evaluation.tune import tune
    from .formats import read, stream, write
    from .formats.nbest.from_python import from_nbest
    from .formats.references import read_references
    from .lattices.lattice import Lattice, Lattices
    from .lattices.text import Normalizer
    from .networks.build_store import BuildOptions, build_networks
    from .networks.hwcn import Network, Networks, build
    from .transcription.check import check
    from .transcription.transcriber import transcribe
    from .transcripts.plan import plan
    from .transcripts.reader import read_transcripts
    from .transcripts.transcript import Transcript, Transcripts

_HOMES = {
    "BuildOptions": "networks.build_store",
    "InputError": "base.errors",
    "Lattice": "lattices.lattice",
    "Lattices": "lattices.lattice",
    "Network": "networks.hwcn",
    "Networks": "networks.hwcn",
    "Normalizer": "lattices.text",
    "OptionError": "base.errors",
    "Transcript": "transcripts.transcript",
    "Transcripts": "transcripts.transcript",
    "UnknownFormat": "base.errors",
    "WordScorer": "confidence.word_scorer",
    "WordtrustError": "base.errors",
    "WordtrustWarning": "base.errors",
    "build": "networks.hwcn",
    "build_networks": "networks.build_store",
    "calibrate": "confidence.calibration",
    "calibrate_model": "confidence.calibrate_model",
    "calibrate_scores": "confidence.calibrate_scores",
    "check": "transcription.check",
    "combine": "combination.combine",
    "drift": "confidence.drift",
    "estimate": "confidence.estimate",
    "evaluate": "confidence.evaluate_model",
    "fit_combination": "combination.combine",
    "from_nbest": "formats.nbest.from_python",
    "load": "confidence.word_scorer",
    "metrics": "evaluation.metrics",
    "models": "confidence.shipped",
    "plan": "transcripts.plan",
    "read": "formats",
    "read_references": "formats.references",
    "read_transcripts": "transcripts.reader",
    "stream": "formats",
    "threshold": "evaluation.threshold",
    "transcribe": "transcription.transcriber",
    "tune": "evaluation.tune",
    "write": "formats",
}
_MODULES = {"calibrate", "metrics"}  # public modules; all else is a class or a function

__all__ = [
    "BuildOptions", "InputError", "Lattice", "Lattices", "Network", "Networks", "Normalizer", "OptionError",
    "Transcript", "Transcripts", "UnknownFormat", "WordScorer", "WordtrustError", "WordtrustWarning", "build",
    "build_networks", "calibrate", "calibrate_model", "calibrate_scores", "check", "combine", "drift", "estimate",
    "evaluate", "fit_combination", "from_nbest", "load", "metrics", "models", "plan", "read", "read_references",
    "read_transcripts", "stream", "threshold", "transcribe", "tune", "write",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'wordtrust' has no attribute {name!r}")
    module = import_module(f".{home}", __name__)
    return module if name in _MODULES else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
