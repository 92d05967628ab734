"""Reviews of earnings calls that other people's systems transcribed: text only, no audio is needed.

    python -m experiments.review_earnings EARNINGS21 [--calls 20]

Two systems of Earnings-21 write confidences (CTM). These are calibrated on four fifths of the calls for the others,
in turn; nothing is known about gaps, so missing words do not count, neither as expected nor as errors. Tables as in
`experiments.review`; a recording is a call, and in the second table a part of one, too.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import wordtrust as wt
from wordtrust.base.folds import balanced_folds
from wordtrust.base.table import Table
from wordtrust.confidence.calibration import Calibrator, make
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.text import DEFAULT
from wordtrust.networks.equivalents import ALL
from wordtrust.networks.labels import score_paths
from wordtrust.networks.reference_words import ReferenceWords
from wordtrust.transcripts.review.stretches import find_stretches

from .review import MARKS, TARGETS, Outcome, Recording, Set, course, reviewed, saving_row
from .review_words import KnownWords, joined

SYSTEMS = {"Rev, Kaldi": "rev/kaldi/ctm", "Kaldi, LibriSpeech": "kaldi_org/librispeech/ctm"}
PARTS = 5  # of the calls, for calibration
SIZES = (300, 1000, 3000, 100_000)  # words of a part of a call
DRAWS = 24  # parts of each call


def call_words(ctm: Path, reference: Path) -> KnownWords:
    """The words of one call, as the system scored them."""
    with reference.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="|", quoting=csv.QUOTE_NONE)
        said = [word for token in rows for word in DEFAULT.words(token["token"])]
    lattices = wt.read(str(ctm))
    assert len(lattices) == 1
    scored = score_paths(lattices, one_best(lattices), ReferenceWords.of([said], lattices, ALL))
    arcs = scored.words.arcs_in(lattices)
    assert lattices.posterior is not None
    score = lattices.posterior[arcs].astype(np.float64)
    nothing = np.zeros(len(arcs) + 1)
    return KnownWords(
        (ctm.stem,), (ctm.stem,), np.array([0, len(arcs)]), lattices.start_time[arcs].astype(np.float64),
        lattices.end_time[arcs].astype(np.float64), score, score, ~scored.alignments.correct, nothing,
        nothing.astype(np.int64),
    )  # fmt: skip


def calibrated(calls: Sequence[KnownWords]) -> list[KnownWords]:
    """Each with confidences by a curve that was fitted on other calls."""
    part, curves = balanced_folds(len(calls), np.arange(len(calls)), PARTS), list[Calibrator]()
    for left_out in range(PARTS):
        others = joined([call for call, own in zip(calls, part, strict=True) if own != left_out])
        speaker = np.repeat(np.arange(len(others.utts)), np.diff(others.offsets))
        curves.append(make("kernel").fit(others.own, ~others.wrong, groups=speaker))
    return [
        KnownWords(**{**vars(call), "confidence": np.asarray(curves[own].predict(call.own), np.float64)})
        for call, own in zip(calls, part.tolist(), strict=True)
    ]


def part_of(call: KnownWords, first: int, size: int) -> KnownWords:
    """Some words of a call, one after the other."""
    some = slice(first, first + size)
    start = call.start[some]
    return KnownWords(
        call.utts, call.speakers, np.array([0, len(start)]), start - start[0], call.end[some] - start[0],
        call.confidence[some], call.own[some], call.wrong[some], call.missing[: len(start) + 1],
        call.lacking[: len(start) + 1],
    )  # fmt: skip


def promise_row(name: str, calls: Sequence[KnownWords]) -> tuple[str, ...]:
    """How often the promise was kept for parts of calls."""
    random, outcomes = np.random.default_rng(0), {target: list[Outcome]() for target in TARGETS}
    for call in calls:
        for draw in range(DRAWS):
            size = min(SIZES[draw % len(SIZES)], len(call.start))
            some = part_of(call, int(random.integers(0, len(call.start) - size + 1)), size)
            recording = Recording.of(some, np.array([0]), {})
            done = course(recording, find_stretches(recording.items))
            for target, ended in outcomes.items():
                ended.append(reviewed(recording, done, target))
    wrong = np.concatenate([call.wrong for call in calls]).mean()
    cells = [
        f"{np.mean([each.kept for each in ended]):.1%} ({np.mean([each.share for each in ended]):.0%})"
        for ended in outcomes.values()
    ]
    return name, f"{wrong:.1%}", f"{len(ended):,}", *cells


def main(given: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calls", type=int, default=100)
    arguments = parser.parse_args(given)
    folder = arguments.folder
    savings, promises = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for name, output in SYSTEMS.items():
        files = sorted((folder / "output" / output).glob("*.ctm"))
        references = [folder / "transcripts" / "nlp_references" / f"{file.stem}.nlp" for file in files]
        pairs = [(file, reference) for file, reference in zip(files, references, strict=True) if reference.is_file()]
        chosen = np.linspace(0, len(pairs) - 1, min(len(pairs), arguments.calls)).round().astype(int).tolist()
        calls = calibrated([call_words(*pairs[index]) for index in chosen])
        savings.append(saving_row(name, Set(joined(calls), {}), by_utterance=True))
        promises.append(promise_row(name, calls))
        print(savings[-1], promises[-1], flush=True)
    head = ("", "errors", "plan", "listening through", *(f"marks under {under:g}" for under in MARKS), "own scores")
    print(Table("Until half of the errors are fixed", head, tuple(savings)).to_markdown())
    head = ("", "wrong", "reviews", *(f"at most {target:.0%}" for target in TARGETS))
    print(Table("Promises kept", head, tuple(promises)).to_markdown())


if __name__ == "__main__":
    main()
