"""The bugs that `make mutants` tries, and that its tables name what is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.mutants.__main__ import EQUIVALENT, ROOT, equivalent_bugs
from tools.mutants.operators import mutants, mutated
from tools.mutants.targets import TARGETS

SOURCE = '''"""A module with 1 in its docstring."""

def clipped(values: list[float], low: float = 0.5) -> list[float]:
    """No bug here: 2 < 3."""
    if not values:
        raise ValueError("there are 0 values")
    found = []
    for value in values[1:]:
        found.append(max(value, low) + 1)
    return found
'''


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "clipped.py").write_text(SOURCE)
    return tmp_path


def test_bugs_of_a_small_module(module: Path) -> None:
    changes = [bug.change for bug in mutants(module, "clipped.py")]
    assert sorted(changes) == sorted([
        "0.5 -> 1.0", "not values -> values", "not values -> not not values",
        "raise ValueError('there are 0 values') -> pass", "1 -> 2", "1 -> 0",
        "found.append(max(value, low) + 1) -> pass", "max(value, low) + 1 -> max(value, low) - 1", "max -> min",
        "1 -> 2", "1 -> 0",
    ])  # fmt: skip


def test_every_bug_is_another_module_that_compiles(module: Path) -> None:
    found = mutants(module, "clipped.py")
    results = set()
    for bug in found:
        names: dict[str, object] = {}
        exec(compile(mutated(module, bug), "clipped.py", "exec"), names)
        try:
            results.add(str(names["clipped"]([3.0, 0.1, 4.0])))  # type: ignore[operator]
        except (ValueError, IndexError) as error:
            results.add(str(error))
    assert "[1.5, 5.0]" in results  # the removed check is not seen with values
    assert len(results) > 5
    assert len({bug.name for bug in found}) == len(found)


@pytest.mark.parametrize("name", TARGETS)
def test_targets_name_modules_and_tests(name: str) -> None:
    for file in TARGETS[name].modules:
        assert (ROOT / "src" / "wordtrust" / file).is_file()
    for file in TARGETS[name].tests:
        assert (ROOT / "tests" / file.partition("::")[0]).is_file()


def test_what_changes_nothing_is_still_there_to_change() -> None:
    files = {f"src/wordtrust/{module}" for target in TARGETS.values() for module in target.modules}
    possible = {bug.name for file in files for bug in mutants(ROOT, file)}
    assert equivalent_bugs() <= possible, f"remove from {EQUIVALENT.name} what no bug is called any more"
