"""The study: every table of the paper for the recognizers of a folder, and all the work that takes (docs/study.md).

- `run` does everything in order; `layout` has the options and folders, `steps` records what is done
- `fitting` does everything on train and dev, with `stores`, `training`, `final_model`, `baselines` and `combination`
- `measure` does everything on the test split
- `tables` and `results` make study.json, results.md and the page
- `paper`, `paper_steps` and `paper_examples` are the paper's own system
"""

from __future__ import annotations

from .layout import StudyOptions
from .run import run_study

__all__ = ["StudyOptions", "run_study"]
