"""Audio: files of any kind and length in, segments of speech short enough for any recognizer out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

RATE = 16_000  # samples a second: what every recognizer is given

Samples = NDArray[np.float32]  # mono, RATE, from -1 to 1
