"""All benchmarks, one after another: `make bench`. Every speed is a ratio against a baseline of the same run."""

from __future__ import annotations

import sys
from importlib import import_module

MODULES = (
    "kaldi",
    "htk",
    "nbest",
    "store",
    "memory",
    "hwcn",
    "wcn",
    "build",
    "labels",
    "metrics",
    "calibrate",
    "combine",
    "joint",
    "model",
    "score",
    "estimate",
    "report",
    "page",
    "vad",
    "moonshine",
    "transcribe",
    "check",
)


def main() -> None:
    """Run those that are named on the command line, or all."""
    for name in sys.argv[1:] or MODULES:
        print(f"-- {name}", flush=True)
        import_module(f"benchmarks.{name}").run()


if __name__ == "__main__":
    main()
