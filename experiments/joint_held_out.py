"""What joint networks make of the speech that they were fitted on, each speaker by weights fitted without them.

    python -m experiments.joint_held_out JOINT ...

JOINT is a folder that `wordtrust combine --fit` or `wordtrust study` wrote. Its file has the word errors of every
subset and of its best member on the held-out folds, as words are written; the table has their means by size.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from wordtrust.base.errors import WordtrustError
from wordtrust.base.table import Table
from wordtrust.combination.combination_file import JOINT
from wordtrust.combination.joint import JointModel, SubsetSettings, load_joint


def held_out_table(title: str, model: JointModel) -> Table:
    """By size of the subsets: errors of the best member, of the joint network, their ratio, and the counts."""
    measured = [(len(members), *_row(settings)) for members, settings in model.settings.items()]
    values = np.array(measured, np.float64).reshape(-1, 5)
    sizes = sorted(set(values[:, 0].tolist()))
    groups = [(f"{size:g}", values[values[:, 0] == size]) for size in sizes]
    rows = []
    for name, group in [*groups, ("all", values)]:
        best, errors, alone, deviation = group[:, 1:].T
        reliable = int((best - errors > 2 * deviation).sum())
        counts = (str(len(group)), f"{best.mean():.0f}", f"{errors.mean():.0f}", f"{(errors / best).mean():.4f}")
        rows.append((name, *counts, str(reliable), str(int(alone.sum()))))
    columns = ("recognizers", "subsets", "best member", "joint", "ratio", "better by 2 s.e.", "best member stands")
    return Table(title, columns, tuple(rows), "Word errors on the held-out folds, means over subsets.")


def _row(settings: SubsetSettings) -> tuple[float, ...]:
    return settings.best_member, settings.errors, settings.alone, settings.deviation


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("joint", nargs="+", type=Path)
    for folder in parser.parse_args().joint:
        print(held_out_table(str(folder), load_joint(folder / JOINT)).to_markdown())


if __name__ == "__main__":
    try:
        main()
    except WordtrustError as error:
        sys.exit(f"experiments.joint_held_out: {error}")
