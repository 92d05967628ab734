"""Sentences of networks to a machine with a GPU and back:

    python -m wordtrust.language_models export train.networks dev.networks --lm MODEL --out sentences.tries
    python -m wordtrust.language_models score sentences.tries --lm MODEL --out sentences.scored
    wordtrust build train.networks --lm sentences.scored --out train-lm.networks

The second command, on the other machine, needs numpy, torch, safetensors and transformers (for a .gguf file also gguf
and accelerate), and no more of wordtrust's dependencies.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import OptionError, WordtrustError
from ..base.files import require_new, require_parent

if TYPE_CHECKING:
    from ..lattices.lattice import Lattices


def main(arguments: list[str] | None = None) -> int:
    """Run; gives the exit code."""
    given = _parser().parse_args(arguments)
    try:
        require_parent(given.out)
        require_new(given.out, overwrite=given.overwrite)
        (_export if given.command == "export" else _score)(given)
    except WordtrustError as error:
        sys.stderr.write(f"wordtrust: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m wordtrust.language_models", description=__doc__, allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    commands = parser.add_subparsers(dest="command", required=True)
    export = commands.add_parser("export", help="The best sentences of stores of networks as tokens.")
    export.add_argument("stores", nargs="+", type=Path, metavar="STORE")
    export.add_argument("--paths", type=int, default=8, help="Best sentences of each network [8].")
    score = commands.add_parser("score", help="Log-probabilities of their words.")
    score.add_argument("tries", type=Path, metavar="TRIES")
    score.add_argument("--device", default="auto", help="cpu, cuda or cuda:1.")
    score.add_argument("--threads", type=int, help="Threads on a CPU.")
    for command in (export, score):
        command.add_argument("--lm", required=True, metavar="MODEL", help="A folder, a .gguf file or a hub name.")
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--overwrite", action="store_true", help="Replace what is there already.")
    return parser


def _export(given: argparse.Namespace) -> None:
    from .loading import require_packages

    require_packages(["transformers"])
    from .scored_sentences import export_sentences
    from .tokens import Tokens

    tokens = Tokens.load(given.lm)
    utterances, size = export_sentences(_networks(given.stores), tokens, Path(given.lm).name, given.paths, given.out)
    sys.stderr.write(f"{given.out}: sentences of {utterances:,} utterances, {size:,} tokens\n")


def _networks(stores: list[Path]) -> Iterator[Lattices]:
    from ..formats import stream

    for store in stores:
        for batch in stream(store):
            if batch.origin.tolerance is None:
                raise OptionError(f"{store}: lattices, not networks: wordtrust build makes these")
            yield batch


def _score(given: argparse.Namespace) -> None:
    from .loading import require_packages

    require_packages(["transformers", "torch"])
    from .causal import CausalModel
    from .scored_sentences import score_file

    weights = CausalModel.load(given.lm, device=given.device, threads=given.threads)
    for done, count in score_file(given.tries, weights, given.out):
        sys.stderr.write(f"\r{done:,} of {count:,} utterances" + ("\n" if done == count else ""))


if __name__ == "__main__":
    sys.exit(main())
