"""Audio: files of any format and length in, speech segments short enough for any recognizer out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RATE = 16_000  # samples per second: what every recognizer is given

Samples = NDArray[np.float32]  # mono, at RATE, from -1 to 1
