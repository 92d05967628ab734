"""Where the developers' shared data are; tests that use them skip when they are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the developers' shared data folder")
SAMPLES = Path(__file__).parents[1] / "samples"
