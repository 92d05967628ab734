"""The study: every table of the paper for the recognizers of a folder, and everything that takes (docs/study.md).

- `run` has all of it in order; `options` and `layout`: what it is told, and where things are
- `fitting` has all that is chosen on train and dev, in the steps of `stores`, `training`, `finish` and `together`
- `figures` has all that is measured on the test split: `judge`, `together`, `examples`
- `files` and `tables` make study.json, results.md and the page
- `steps` and `results` keep what is done, so that a killed run goes on
- `baselines` and `logistic` are what a model has to beat; `paper*` the paper's own system
"""

from __future__ import annotations

from .options import StudyOptions
from .run import run_study

__all__ = ["StudyOptions", "run_study"]
