"""Degraded and synthetic speech with references, for training confidences that hold outside the lab.

    python -m tools.degraded_speech clips ../shared/data/audio-cv9.tar --refs ../shared/data/refs.tsv
        --splits train --out degraded-train
    python -m tools.degraded_speech synthetic --counts 800,200,300 --out synthetic
    wordtrust recognize degraded-train/refs.tsv --by-split --recognizer moonshine --out degraded-train/moonshine-tiny

`clips` takes a folder or a tar file of clips and puts each under as many random conditions as `--per-clip` says
(conditions.py has them): utterances are called CLIP.CONDITION, keep speaker, split and reference, and have their
strength in the column `detail`. `dropouts` and `bandstop` are for dev and eval only and never for training.
`synthetic` speaks what read speech lacks (texts.py): letters, digits, telephone numbers, names, dates, times, money,
commands and short answers, by other voices in every split; half of it under a condition.

Both write OUT/audio/UTT.flac (16 kHz) and OUT/refs.tsv. All is drawn from the seed and the name of the utterance: the
same bytes in every run, however many jobs there are and whatever else is made.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tools.degraded_speech.clips import Clips, Degrading
from tools.degraded_speech.conditions import CONDITIONS
from tools.degraded_speech.corpus import Row, write_corpus
from tools.degraded_speech.synthetic import SPLITS, Speaking, utterances
from tools.sample_sound import check_voices
from wordtrust.base.threads import available_cores


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.degraded_speech", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--out", type=Path, required=True, help="the folder to make")
    common.add_argument("--overwrite", action="store_true", help="replace what is there")
    common.add_argument("--jobs", type=int, default=available_cores(), help="processes [one per core]")
    common.add_argument("--seed", type=int, default=0, help="other numbers draw other conditions and texts [0]")
    commands = parser.add_subparsers(dest="command", required=True)
    clips = commands.add_parser("clips", parents=[common], help="degrade clips")
    clips.add_argument("audio", type=Path, help="folder or tar file of clips, called like the utterances")
    clips.add_argument("--refs", type=Path, help="table with utt, split, speaker, text [refs.tsv beside the audio]")
    clips.add_argument(
        "--conditions", type=_names, default=list(CONDITIONS), help=f"of {', '.join(CONDITIONS)} [all]"
    )
    clips.add_argument("--per-clip", type=int, default=1, help="different conditions for each clip [1]")
    clips.add_argument("--splits", type=lambda text: text.split(","), default=list(SPLITS), help="[train,dev,eval]")
    clips.add_argument("--limit", type=int, help="clips of each split [all]")
    synthetic = commands.add_parser("synthetic", parents=[common], help="make synthetic speech")
    synthetic.add_argument("--counts", type=_counts, default=(800, 200, 300), help="train,dev,eval [800,200,300]")
    return parser


def _names(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in CONDITIONS:
            raise argparse.ArgumentTypeError(f"no condition is called {name}; there are: {', '.join(CONDITIONS)}")
    return names


def _counts(text: str) -> tuple[int, ...]:
    counts = tuple(map(int, text.split(",")))
    if len(counts) != len(SPLITS) or min(counts) < 0:
        raise argparse.ArgumentTypeError(f"three numbers, for {', '.join(SPLITS)}")
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Make what the command line asks for."""
    given = _parser().parse_args(arguments)
    writing = {"jobs": given.jobs, "overwrite": given.overwrite}
    if given.command == "synthetic":
        check_voices()
        tasks = utterances(dict(zip(SPLITS, given.counts, strict=True)), given.seed)
        rows = write_corpus(given.out, Speaking(given.seed), tasks, **writing)
    else:
        degrading = Degrading(Clips(given.audio, given.refs or given.audio.parent / "refs.tsv"), given.seed)
        pairs = degrading.tasks(given.conditions, given.splits, given.per_clip, given.limit)
        rows = write_corpus(given.out, degrading, pairs, **writing)
    _show(given.out, rows)


def _show(out: Path, rows: Sequence[Row]) -> None:
    print(f"{out}: {len(rows)} utterances, {sum(row.duration for row in rows) / 3600:.2f} hours")
    for (split, condition), count in sorted(Counter((row.split, row.condition) for row in rows).items()):
        print(f"  {split:6} {condition:12} {count:5}")


if __name__ == "__main__":
    main()
