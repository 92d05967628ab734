"""What encoders made of the last segments, kept for texts of them that are scored a little later.

Encoding is most of what scoring a text costs, and the same as for recognizing. One encoding is kept at least: texts
may be scored just after their segment was recognised. `wordtrust check` asks for more (`RecognizerPool`).
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Generic, TypeVar

import numpy as np

from ..audio import Samples

Encoding = TypeVar("Encoding")


def fingerprint(samples: Samples) -> bytes:
    """What tells samples from others."""
    return blake2b(np.ascontiguousarray(samples, np.float32).data, digest_size=16).digest()


class KeptEncodings(Generic[Encoding]):
    """The encodings of the last `most` segments; what is not among them is encoded again."""

    def __init__(self, encode: Callable[[Samples], Encoding], most: int = 1) -> None:
        self._encode, self.most = encode, most
        self._kept: dict[bytes, Encoding] = {}

    def of(self, samples: Samples) -> Encoding:
        """What the encoder makes of samples."""
        key = fingerprint(samples)
        encoded = self._kept.pop(key) if key in self._kept else self._encode(samples)
        self._kept[key] = encoded
        while len(self._kept) > self.most:
            del self._kept[next(iter(self._kept))]
        return encoded
