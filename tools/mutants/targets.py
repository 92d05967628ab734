"""Which modules get bugs, and which tests should notice them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """Modules below src/wordtrust, and tests below tests/, the quickest first."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]
    left_out: tuple[str, ...] = ()  # tests that take long where kernels are plain Python, by a part of their names


TARGETS = {
    "posterior": Target(("lattices/posterior.py",), ("lattices/test_posterior.py",)),
    "hwcn": Target(
        ("networks/hwcn.py", "networks/hwcn_kernels.py"),
        ("networks/test_hwcn_example.py", "networks/test_hwcn.py"),
    ),
    "labels": Target(
        ("networks/labels.py", "networks/lenient.py", "networks/oracle.py"),
        ("networks/test_labels.py", "networks/test_lenient.py"),
    ),
    "paths": Target(
        ("lattices/paths.py", "lattices/path_kernels.py"), ("lattices/test_paths.py", "lattices/test_posterior.py")
    ),
    "calibration": Target(
        tuple(f"confidence/calibration/{name}.py" for name in ("base", "parametric", "registry", "stepwise")),
        (
            "confidence/test_calibration_parametric_stepwise.py",
            "confidence/test_calibration_registry.py",
        ),
        left_out=("a_million_words", "kernel"),
    ),
    "kernel calibration": Target(
        ("confidence/calibration/kernel.py", "confidence/calibration/kernel_choice.py"),
        ("confidence/test_calibration_kernel.py", "confidence/test_calibration_registry.py"),
        left_out=("is_small_and", "sum_for_many", "best_likelihood"),
    ),
    "guarantee": Target(
        (
            "evaluation/metrics/accepted_words.py",
            "evaluation/metrics/guarantee.py",
            "evaluation/metrics/thresholds.py",
            "evaluation/threshold.py",
        ),
        ("evaluation/test_metrics_points.py", "evaluation/test_metrics_guarantee.py"),
        left_out=("bound_on_words", "more_speakers"),
    ),
    "joint": Target(
        tuple(f"combination/joint/{name}.py" for name in ("union", "hypotheses", "evidence")),
        (
            "combination/test_joint_warp.py",
            "combination/test_joint_union.py",
            "combination/test_joint_model.py::test_recognizers_are_matched_by_utterance",
        ),
    ),
    "store": Target(
        tuple(f"formats/store/{name}.py" for name in ("layout", "read", "decode", "write")),
        ("formats/test_store.py", "formats/test_store_damage.py"),
    ),
    "journal": Target(("base/journal.py",), ("base/test_journal.py",)),
}
