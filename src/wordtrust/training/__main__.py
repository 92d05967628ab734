"""Training from packed files, for machines that have numpy, torch and safetensors and nothing else:

    python -m wordtrust.training a.pack b.pack --seeds 0,1,2 --side-by-side 6 --out models

trains a model for every file and seed, several at a time on one GPU. `wordtrust train --pack FILE` makes the files.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from ..base.errors import OptionError, WordtrustError
from .options import TOGETHER, TrainOptions


def main(arguments: list[str] | None = None) -> int:
    """Run; gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m wordtrust.training", description=__doc__.split(":")[0] + ".", allow_abbrev=False
    )
    parser.add_argument("packs", nargs="+", type=Path, metavar="PACK")
    parser.add_argument("--out", type=Path, required=True, help="The model folder; of several, the folder for them.")
    parser.add_argument("--device", default="auto", help="cpu, cuda or cuda:1.")
    parser.add_argument("--threads", type=int, help="Threads on a CPU.")
    parser.add_argument("--seeds", help="Several seeds, joined by commas.")
    parser.add_argument("--side-by-side", type=int, default=1, help="How many trainings run at once.")
    parser.add_argument("--overwrite", action="store_true", help="Replace a model that is there already.")
    parser.add_argument("--together", action="store_true", help="One training on all files; a model for each.")
    parser.add_argument("--teachers", nargs="+", type=Path, default=[], metavar="FOLDER",
                        help="With --together: learn from these, each without a fold of speakers.")  # fmt: skip
    parser.add_argument("--study", type=int, metavar="TEACHERS",
                        help="All models of a study: so many teachers for each fold, then students.")  # fmt: skip
    parser.add_argument("--search", action="store_true", help="Try the paper's grid and keep the best dev EER.")
    add_options(parser)
    given = parser.parse_args(arguments)
    try:
        _check(given)
        if given.study is not None:
            _study(given)
            return 0
        if given.together:
            _together(given)
            return 0
        if len(given.packs) > 1 or given.seeds:
            return _many(given, sys.argv[1:] if arguments is None else arguments)
        _one(given)
    except WordtrustError as error:
        sys.stderr.write(f"wordtrust: {error}\n")
        return 1
    return 0


def _check(given: argparse.Namespace) -> None:
    """Refuse options that would be of no effect."""
    several = given.together or given.study is not None
    for name, value, fits in (
        ("--teachers", given.teachers, given.together),
        ("--seeds", given.seeds, not several),
        ("--search", given.search, not several),
        ("--together", given.together, given.study is None),
    ):
        if value and not fits:
            raise OptionError(f"{name} does not go with these options")
    if given.study is not None and given.study < 0:
        raise OptionError(f"a study has no teachers, or some, not {given.study} (--study)")
    if len({pack.stem for pack in given.packs}) < len(given.packs):
        raise OptionError("two packed files have the same name; models take their names from them")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of training, with their defaults."""
    for each in fields(TrainOptions):
        name = "--" + each.name.replace("_", "-")
        text = f"{each.metadata['help']} [{each.default}]"
        if isinstance(each.default, bool):
            parser.add_argument(name, action=argparse.BooleanOptionalAction, default=each.default, help=text)
        else:
            kind: Any = type(each.default)
            choices = f"{{{','.join(each.metadata['choices'])}}}" if each.metadata["choices"] else None
            text = text if each.metadata["help"] else argparse.SUPPRESS
            parser.add_argument(name, type=kind, default=each.default, metavar=choices, help=text)


def options_of(given: argparse.Namespace) -> TrainOptions:
    """The options of training among those of the command line."""
    return TrainOptions(**{each.name: getattr(given, each.name) for each in fields(TrainOptions)})


def _one(given: argparse.Namespace) -> None:
    from ..confidence.model_file import refuse_to_overwrite
    from .machine import machine
    from .pack import read_pack
    from .run import search, train_model

    refuse_to_overwrite(given.out, overwrite=given.overwrite)
    data = read_pack(given.packs[0])
    with machine(given.device, given.threads) as here:
        work = search if given.search else train_model
        tell = partial(_say, given.out) if here.is_first else _keep_quiet
        work(data, options_of(given), given.out, here, tell=tell)


def _together(given: argparse.Namespace) -> None:
    from .distil import taught_by, teachers_of
    from .machine import machine
    from .pack import read_pack
    from .together import train_together

    if given.out.exists() and any(given.out.glob("*/model.json")) and not given.overwrite:
        raise OptionError(f"{given.out}: there are models already; name another folder, or use --overwrite")
    parts = {pack.stem: read_pack(pack) for pack in given.packs}
    with machine(given.device, given.threads) as here:
        if given.teachers:
            parts = {name: taught_by(part, teachers_of(name, given.teachers), here) for name, part in parts.items()}
        tell = partial(_say, given.out) if here.is_first else _keep_quiet
        train_together(parts, options_of(given), given.out, here, tell=tell)


def _study(given: argparse.Namespace) -> None:
    from dataclasses import replace

    from .plan import Plan, train_everything

    packs = {pack.stem: pack for pack in given.packs}
    chosen, default = options_of(given), TrainOptions()
    own = {each.name for each in fields(TrainOptions) if getattr(chosen, each.name) != getattr(default, each.name)}
    options = replace(TOGETHER, **{name: getattr(chosen, name) for name in own - {"folds"}})
    plan = Plan(
        packs, given.out, given.folds or 4, given.study, options, given.device, given.threads, given.side_by_side
    )
    train_everything(plan, _tell)


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _keep_quiet(line: dict[str, Any]) -> None:
    """Only one of several processes talks."""


def _say(out: Path, line: dict[str, Any]) -> None:
    parts = [f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {value}" for name, value in line.items()]
    sys.stdout.write(f"{out.name}: {', '.join(parts)}\n")
    sys.stdout.flush()


def _many(given: argparse.Namespace, arguments: list[str]) -> int:
    """Every file with every seed, each in a process of its own: one GPU serves them all."""
    from .plan import side_by_side

    seeds = _seeds(given.seeds or str(given.seed))
    rest = _without(arguments, set(given.packs), ("--out", "--seeds", "--seed", "--side-by-side"))
    jobs = [(pack, seed) for pack in given.packs for seed in seeds]
    commands = {}
    for pack, seed in jobs:
        out = given.out / (f"{pack.stem}-{seed}" if len(seeds) > 1 else pack.stem)
        commands[out] = [sys.executable, "-m", __package__, str(pack), "--out", str(out), "--seed", str(seed), *rest]
    codes = [code for _, code in side_by_side(commands, given.side_by_side)]  # all of them run
    return int(any(codes))


def _seeds(text: str) -> list[int]:
    try:
        return [int(seed) for seed in text.split(",")]
    except ValueError:
        raise OptionError(f"seeds are whole numbers joined by commas, not {text!r}") from None


def _without(arguments: list[str], packs: set[Path], names: tuple[str, ...]) -> list[str]:
    """The arguments less the files and these options with their values."""
    kept, skip = [], False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in names:
            skip = True
        elif Path(argument) not in packs and not argument.startswith(tuple(f"{name}=" for name in names)):
            kept.append(argument)
    return kept


if __name__ == "__main__":
    sys.exit(main())
