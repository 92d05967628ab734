"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings
from hypothesis.internal.conjecture import providers

# Kernels are compiled inside the first example, so there is no deadline; CI repeats the same examples every time.
settings.register_profile("wordtrust", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("wordtrust")
if os.environ.get("CI") and hasattr(providers, "_local_constants"):
    # Numbers and strings of the modules loaded so far get into examples, and which are loaded depends on the order.
    known = providers._local_constants
    setattr(providers, "_get_local_constants", lambda: known)  # noqa: B010
