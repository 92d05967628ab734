"""Training from packed files, for machines that have numpy, torch and safetensors and nothing else:

    python -m wordtrust.training a.pack b.pack --seeds 0,1,2 --side-by-side 6 --out models

trains a model for every file and seed, several at a time on one GPU. `wordtrust train --pack FILE` makes the files.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import OptionError, WordtrustError
from ..base.processes import Terminated, exit_code, exit_with_parent, raising_when_terminated
from .options import MULTI_RECOGNIZER, TrainOptions, parse_seeds

if TYPE_CHECKING:
    from .trainer import EpochRecord, Progress


def main(arguments: list[str] | None = None) -> int:
    """Run; gives the exit code."""
    given = _parser().parse_args(arguments)
    exit_with_parent()
    try:
        with raising_when_terminated():
            return _train(given, sys.argv[1:] if arguments is None else arguments)
    except WordtrustError as error:
        sys.stderr.write(f"wordtrust: {error}\n")
        return 1
    except Terminated as error:
        return exit_code(error)


def _train(given: argparse.Namespace, arguments: list[str]) -> int:
    _check(given)
    if given.paper and len(given.packs) == 1:
        _train_paper(given)
    elif given.study is not None:
        _train_study(given)
    elif given.together:
        _train_multi_recognizer(given)
    elif len(given.packs) > 1 or given.seeds:
        return _train_many(given, arguments)
    else:
        _train_one(given)
    return 0


def _parser() -> argparse.ArgumentParser:
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
    parser.add_argument("--teacher-epochs", type=int, metavar="EPOCHS",
                        help="With --study: epochs of teachers, at most [as many as of the others].")  # fmt: skip
    parser.add_argument("--no-fold-models", action="store_true",
                        help="With --study: only the models of all speakers, to compare ways to train.")  # fmt: skip
    parser.add_argument("--paper", action="store_true",
                        help="The paper's system: its grid of sizes by dev EER, then without each fold.")  # fmt: skip
    parser.add_argument("--search", action="store_true", help="Try the paper's grid and keep the best dev EER.")
    for option in fields(TrainOptions):
        flag, choices = "--" + option.name.replace("_", "-"), ",".join(option.metadata["choices"])
        text = f"{option.metadata['help']} [{option.default}]" if option.metadata["help"] else argparse.SUPPRESS
        if isinstance(option.default, bool):
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=text)
        else:
            metavar = f"{{{choices}}}" if choices else None
            kind = type(option.default)
            parser.add_argument(flag, type=kind, default=argparse.SUPPRESS, metavar=metavar, help=text)
    return parser


def _check(given: argparse.Namespace) -> None:
    """Refuse values that cannot be used and options that would be of no effect, before anything is read."""
    options, several = _options(given), given.together or given.study is not None
    for name, value, fits in (
        ("--teachers", given.teachers, given.together),
        ("--seeds", given.seeds, not several),
        ("--search", given.search, not several),
        ("--together", given.together, given.study is None),
        ("--no-fold-models", given.no_fold_models, given.study is not None),
        ("--teacher-epochs", given.teacher_epochs is not None, bool(given.study)),
        ("--train-on-dev", options.train_on_dev, several),
        ("--other-fold", options.other_fold >= 0, given.together and options.folds),
        ("--paper", given.paper, not (several or given.search or given.seeds)),
    ):
        if value and not fits:
            raise OptionError(f"{name} does not go with these options")
    if given.study is not None and given.study < 0:
        raise OptionError(f"a study has no teachers, or some, not {given.study} (--study)")
    if len({pack.stem for pack in given.packs}) < len(given.packs):
        raise OptionError("two packed files have the same name; models take their names from them")


def _options(given: argparse.Namespace, base: TrainOptions = TrainOptions()) -> TrainOptions:  # noqa: B008  # frozen
    """The options of training that the command line has, in place of these."""
    names = [option.name for option in fields(TrainOptions) if hasattr(given, option.name)]
    return replace(base, **{name: getattr(given, name) for name in names})


def _train_one(given: argparse.Namespace) -> None:
    from ..confidence.model_file import refuse_to_overwrite
    from .dataset import read_pack
    from .pipeline import train

    refuse_to_overwrite(given.out, overwrite=given.overwrite)
    train(
        read_pack(given.packs[0]), _options(given), given.out, device=given.device, threads=given.threads,
        search=given.search, progress=_progress(given.out),
    )  # fmt: skip


def _train_multi_recognizer(given: argparse.Namespace) -> None:
    from .dataset import read_pack
    from .multi_recognizer import is_unfinished, load_teachers, train_multi_recognizer, with_teacher_targets
    from .worker import training_worker

    has_models = given.out.exists() and any(given.out.glob("*/model.json"))
    if has_models and not is_unfinished(given.out) and not given.overwrite:
        raise OptionError(f"{given.out}: there are models already; name another folder, or use --overwrite")
    options, recognizers = _options(given), {pack.stem: read_pack(pack) for pack in given.packs}
    if options.train_on_dev:
        recognizers = {name: data.with_dev_to_train_on() for name, data in recognizers.items()}
    with training_worker(given.device, given.threads) as worker:
        if given.teachers:
            recognizers = {
                name: with_teacher_targets(data, load_teachers(name, given.teachers), worker)
                for name, data in recognizers.items()
            }
        progress = _progress(given.out) if worker.is_first else None
        train_multi_recognizer(recognizers, options, given.out, worker, progress)


def _train_study(given: argparse.Namespace) -> None:
    from .study_training import FOLDS, StudyTraining

    options = _options(given, MULTI_RECOGNIZER)
    training = StudyTraining(
        {pack.stem: pack for pack in given.packs}, given.out, options.folds or FOLDS, given.study,
        options, given.device, given.threads, given.side_by_side, not given.no_fold_models, given.teacher_epochs,
    )  # fmt: skip
    training.run(_notify)


def _train_paper(given: argparse.Namespace) -> None:
    from .paper_training import PAPER, train_paper
    from .study_training import FOLDS

    options = _options(given, PAPER)
    train_paper(
        {pack.stem: pack for pack in given.packs}, given.out, folds=options.folds or FOLDS,
        options=replace(options, folds=PAPER.folds), device=given.device, threads=given.threads, progress=_progress,
    )  # fmt: skip


def _notify(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _progress(out: Path) -> Progress:
    from .trainer import Progress

    def on_epoch(record: EpochRecord) -> None:
        values = {**record.trial, **record.to_json()}
        values |= {"seconds": record.seconds, "arcs_per_second": record.arcs_per_second}
        texts = [f"{name} {value:.4f}" if isinstance(value, float) else f"{name} {value}"
                 for name, value in values.items()]  # fmt: skip
        sys.stdout.write(f"{out.name}: {', '.join(texts)}\n")
        sys.stdout.flush()

    return Progress(on_epoch)


def _train_many(given: argparse.Namespace, arguments: list[str]) -> int:
    """Every file with every seed, each in a process of its own: one GPU serves them all."""
    from .study_training import run_side_by_side

    seeds = parse_seeds(given.seeds or str(_options(given).seed))
    rest = _without(arguments, set(given.packs), ("--out", "--seeds", "--seed", "--side-by-side"))
    commands = {}
    for pack in given.packs:
        for seed in seeds:
            out = given.out / (f"{pack.stem}-{seed}" if len(seeds) > 1 else pack.stem)
            own = [str(pack), "--out", str(given.out if given.paper else out), "--seed", str(seed)]
            commands[out] = [sys.executable, "-m", "wordtrust.training", *own, *rest]
    codes = [code for _, code in run_side_by_side(commands, given.side_by_side)]  # all of them run
    return int(any(codes))


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
