"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Kernels are compiled inside the first example, so there is no deadline; CI repeats the same examples every time.
settings.register_profile("wordtrust", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("wordtrust")
