"""wordtrust: which words of a speech transcript can you trust?

    import wordtrust as wt
    lattices = wt.read("lat.1.gz", words="words.txt")
    lattices[0].text

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import calibrate, metrics
    from .errors import InputError, OptionError, UnknownFormat, WordtrustError
    from .formats import read, stream, write
    from .hwcn import Network, Networks, build
    from .lattice import Lattice, Lattices
    from .score import WordScorer, load
    from .shipped import models
    from .text import Normalizer
    from .transcriber import transcribe
    from .transcript import Transcript

_HOMES = {
    "InputError": "errors",
    "Lattice": "lattice",
    "Lattices": "lattice",
    "Network": "hwcn",
    "Networks": "hwcn",
    "Normalizer": "text",
    "OptionError": "errors",
    "Transcript": "transcript",
    "UnknownFormat": "errors",
    "WordScorer": "score",
    "WordtrustError": "errors",
    "build": "hwcn",
    "calibrate": "calibrate",
    "load": "score",
    "metrics": "metrics",
    "models": "shipped",
    "read": "formats",
    "stream": "formats",
    "transcribe": "transcriber",
    "write": "formats",
}

__all__ = [
    "InputError", "Lattice", "Lattices", "Network", "Networks", "Normalizer", "OptionError", "Transcript",
    "UnknownFormat", "WordScorer", "WordtrustError", "build", "calibrate", "load", "metrics", "models", "read",
    "stream", "transcribe", "write",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'wordtrust' has no attribute {name!r}")
    module = import_module(f".{home}", __name__)
    return module if name == home and not hasattr(module, name) else getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
