"""Settings for all tests."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

pytest_plugins = ["tests.helpers.browser"]  # its fixtures

# Kernels are compiled inside the first example, so there is no deadline; CI repeats the same examples every time.
settings.register_profile("wordtrust", deadline=None, max_examples=60, derandomize=bool(os.environ.get("CI")))
settings.load_profile("wordtrust")
if os.environ.get("CI") and hasattr(providers, "_local_constants"):
    # Numbers and strings of the modules loaded so far get into examples, and which are loaded depends on the order.
    known = providers._local_constants
    setattr(providers, "_get_local_constants", lambda: known)  # noqa: B010


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--quick`: for the inner loop."""
    parser.addoption("--quick", action="store_true", help="leave slow tests out; few examples for each property")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Properties run at full speed, not measured for coverage; quick runs take few examples and no slow tests."""
    for item in items:
        if hasattr(getattr(item, "obj", None), "hypothesis"):
            item.add_marker(pytest.mark.no_cover)
    if not config.getoption("--quick"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    for test in {getattr(item, "obj", None) for item in items}:
        own = getattr(test, "_hypothesis_internal_use_settings", None)
        if isinstance(own, settings):
            few = settings(own, max_examples=5, suppress_health_check=list(HealthCheck))
            setattr(test, "_hypothesis_internal_use_settings", few)  # noqa: B010  # as Hypothesis's decorators do
