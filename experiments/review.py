"""What reviewing to a target saves, and whether its promise is kept: simulated reviewers on real outputs.

    python -m experiments.review STUDY --refs DATA/refs.tsv --recognizers NAME ... [--split eval] [--held-out]
    python -m experiments.review OUTPUTS --refs REFS.tsv --outputs-of NAME

Utterances are strung together as long recordings. A reviewer plays stretch after stretch and corrects all errors in
what is heard as a whole. The first table has the share of the listening time, and the seconds for each error fixed,
until half of the errors are gone: by `wordtrust plan`, by listening through, by playing the words that are marked
under a confidence (all of them, in order, whatever share of the errors that is), and by the plan that the
recognizer's own scores would give. The second has how often the promise was kept in 1,000 reviews of recordings of
different length (by speaker, and of several speakers), and how long these took. STUDY has networks with references,
words are scored by the models that come with wordtrust; with --held-out those of train and dev, each by the model
that did not see its speaker: for choosing. With --outputs-of, OUTPUTS are a recognizer's outputs under several
conditions (column `condition` of REFS.tsv), a row for each.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc  # type: ignore[import-untyped]

from wordtrust import stream
from wordtrust.base.arrays import Reals
from wordtrust.base.table import Table
from wordtrust.confidence.word_scorer import load
from wordtrust.formats.references import read_references
from wordtrust.transcripts.review.items import ReviewItems
from wordtrust.transcripts.review.promise import LIMIT, STRENGTH, WEIGHT, most_errors
from wordtrust.transcripts.review.stretches import CONTEXT, Stretches, find_stretches

from .review_words import Ints, KnownWords, held_out_words, shipped_words
from .shift import networks_with_references

REVIEWS, TARGETS, SURE = 1000, (0.02, 0.05), 0.95
SIZES = (12, 40, 120, 300)  # utterances of a recording
LONG = 300  # utterances of the recordings of the first table
MARKS = (0.5, 0.9)


@dataclass(frozen=True, eq=False)
class Recording:
    """Utterances one after the other, and how many errors each word and gap has."""

    items: ReviewItems
    true: Ints  # [items]
    seconds: float
    own: Reals  # [items] chances by the recognizer's own scores

    @classmethod
    def of(cls, words: KnownWords, utterances: Ints, durations: Mapping[str, float]) -> Recording:
        """These utterances in this order."""
        some = words.of(utterances)
        last = [some.end[a:b].max(initial=0.0) for a, b in zip(some.offsets[:-1], some.offsets[1:], strict=True)]
        lengths = [max(durations.get(utt, 0.0), end) for utt, end in zip(some.utts, last, strict=True)]
        begin = np.repeat(np.cumsum([0.0, *lengths[:-1]]), np.diff(some.offsets))
        same = np.zeros(len(some.utts), np.int64)
        items = ReviewItems.of_arrays(
            some.offsets, some.start + begin, some.end + begin, 1 - some.confidence, some.missing, same
        )
        is_gap, true, own = items.is_gap, np.zeros(len(items.start), np.int64), np.zeros(len(items.start))
        true[is_gap], true[~is_gap], own[~is_gap] = some.lacking, some.wrong, 1 - some.own
        return cls(items, true, float(sum(lengths)), own)


class Course(NamedTuple):
    """What a reviewer has done after each number of stretches, from 0 on."""

    seconds: Reals
    fixed: Reals  # errors
    expected: Reals  # errors in what was heard: words and gaps
    found: Reals
    left: Reals  # expected errors in what was not


def course(recording: Recording, order: Stretches) -> Course:
    """A review of all of it."""
    rank = np.full(len(recording.true), len(order))
    for stretch in range(len(order) - 1, -1, -1):
        rank[order.first[stretch] : order.last[stretch] + 1] = stretch

    def sums(values: NDArray[np.generic]) -> Reals:
        return np.concatenate([[0.0], np.cumsum(np.bincount(rank, values, len(order) + 1)[:-1])])

    items = recording.items
    errors = items.errors
    return Course(
        np.concatenate([[0.0], np.cumsum(order.seconds)]), sums(recording.true), sums(items.chance),
        sums(recording.true > 0), np.maximum(errors.sum() - sums(errors), 0.0),
    )  # fmt: skip


class Outcome(NamedTuple):
    """The end of a review."""

    kept: bool  # no more errors are left than were allowed
    share: float  # of the listening time


def reviewed(recording: Recording, done: Course, target: float) -> Outcome:
    """Listen until the promise says that it is enough."""
    allowed, total = most_errors(target, recording.items.words), int(recording.true.sum())
    weight = WEIGHT / (1 + WEIGHT * done.expected / LIMIT)  # as `Belief.after`, for all steps at once
    shape, rate = STRENGTH + weight * done.found, STRENGTH + weight * done.expected
    promise = np.where(done.left > 1e-9, betainc(shape, allowed + 1, rate / (rate + done.left)), 1.0)
    step = int(np.argmax(promise >= SURE))
    return Outcome(total - done.fixed[step] <= allowed, done.seconds[step] / recording.seconds)


def until_half(recording: Recording, chance: Reals | None = None) -> tuple[float, float]:
    """Seconds that a plan takes until half of the errors are fixed, and how many these are."""
    items = recording.items
    planned = items if chance is None else ReviewItems(items.offsets, items.start, items.end, chance, items.track)
    done = course(recording, find_stretches(planned))
    step = int(np.searchsorted(done.fixed, recording.true.sum() / 2))
    step = min(step, len(done.fixed) - 1)
    return float(done.seconds[step]), float(done.fixed[step])


def by_marks(recording: Recording, under: float) -> tuple[float, float]:
    """Seconds of playing all words under a confidence, with context, and the errors that are heard there."""
    items = recording.items
    marked = ~items.is_gap & (items.chance > 1 - under)
    windows = list[list[float]]()
    for start, end in zip(items.start[marked] - CONTEXT, items.end[marked] + CONTEXT, strict=True):
        if windows and start <= windows[-1][1]:
            windows[-1][1] = end
        else:
            windows.append([max(0.0, start), end])
    if not windows:
        return 0.0, 0.0
    begin, stop = np.array(windows).T
    at = np.searchsorted(begin, items.start, "right") - 1
    heard = (at >= 0) & (items.end <= stop[at])
    return float((stop - begin).sum()), float(recording.true[heard].sum())


class Set(NamedTuple):
    """Words with their speakers, and how long utterances are."""

    words: KnownWords
    durations: Mapping[str, float]

    def long_recordings(self) -> list[Recording]:
        """All utterances, mixed, and again speaker by speaker, in recordings of some length."""
        random, count = np.random.default_rng(0), len(self.words.utts)
        orders = [random.permutation(count), np.argsort(np.array(self.words.speakers), kind="stable")]
        return [
            Recording.of(self.words, part, self.durations)
            for order in orders
            for part in np.array_split(order, max(1, round(count / LONG)))
        ]

    def own_recordings(self) -> list[Recording]:
        """Every utterance is a recording."""
        return [Recording.of(self.words, np.array([row]), self.durations) for row in range(len(self.words.utts))]

    def any_recordings(self, count: int) -> Iterator[Recording]:
        """Recordings of all lengths: of one speaker, of some speakers, and of utterances of everybody."""
        random, speakers = np.random.default_rng(1), np.array(self.words.speakers)
        names = np.unique(speakers)
        for index in range(count):
            size = min(SIZES[index % len(SIZES)], len(speakers))
            if index % 3 == 0:
                rows = np.flatnonzero(speakers == random.choice(names))
            elif index % 3 == 1:
                some = random.permutation(names)
                rows = np.concatenate([np.flatnonzero(speakers == name) for name in some[:size]])[:size]
            else:
                rows = random.permutation(len(speakers))[:size]
            yield Recording.of(self.words, rows, self.durations)


def saving_row(name: str, given: Set, *, by_utterance: bool = False) -> tuple[str, ...]:
    """A line of the first table."""
    recordings = given.own_recordings() if by_utterance else given.long_recordings()
    errors, seconds = sum(int(each.true.sum()) for each in recordings), sum(each.seconds for each in recordings)

    def share(found: Iterable[tuple[float, float]]) -> str:
        spent, fixed = np.array(list(found)).sum(axis=0)
        return f"{100 * spent / seconds:.1f}% ({spent / max(fixed, 1):.1f} s)"

    marks = [[by_marks(each, under) for each in recordings] for under in MARKS]
    caught = [sum(fixed for _, fixed in found) / errors for found in marks]
    return (
        name, f"{errors // 2:,}", share(until_half(each) for each in recordings), f"{seconds / errors:.1f} s",
        *(f"{share(found)}: {part:.0%}" for found, part in zip(marks, caught, strict=True)),
        share(until_half(each, each.own) for each in recordings),
    )  # fmt: skip


def promise_row(name: str, given: Set, count: int) -> tuple[str, ...]:
    """A line of the second table."""
    outcomes = {target: list[Outcome]() for target in TARGETS}
    errors = words = 0
    for recording in given.any_recordings(count):
        done = course(recording, find_stretches(recording.items))
        errors, words = errors + int(recording.true.sum()), words + recording.items.words
        for target, ended in outcomes.items():
            ended.append(reviewed(recording, done, target))
    cells = [
        f"{np.mean([each.kept for each in ended]):.1%} ({np.mean([each.share for each in ended]):.0%})"
        for ended in outcomes.values()
    ]
    return name, f"{errors / words:.1%}", *cells


def read_durations(file: Path) -> tuple[dict[str, float], dict[str, str]]:
    """The seconds of each utterance of a table of references, and its condition where there is one."""
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {row["utt"]: float(row["duration"]) for row in rows}, {
        row["utt"]: row.get("condition", "") for row in rows
    }


def _sets(arguments: argparse.Namespace) -> Iterator[tuple[str, Set]]:
    durations, conditions = read_durations(arguments.refs)
    if arguments.outputs_of:
        scorer = load(arguments.outputs_of)
        batches = networks_with_references(scorer, [arguments.study], read_references(arguments.refs))
        words = shipped_words(arguments.outputs_of, batches)
        kinds = np.array([conditions[utt] for utt in words.utts])
        for kind in [*np.unique(kinds).tolist(), "all of these"]:
            rows = np.flatnonzero((kinds == kind) | (kind == "all of these"))
            yield kind, Set(words.of(rows), durations)
        return
    for name in arguments.recognizers:
        if arguments.held_out:
            words = held_out_words(arguments.study, name)
            words = words.of(np.array([row for row, utt in enumerate(words.utts) if utt in durations]))
        else:
            words = shipped_words(name, stream([str(arguments.study / "work" / name / arguments.split)]))
        yield name, Set(words, durations)


def main(given: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("--refs", type=Path, required=True)
    parser.add_argument("--recognizers", nargs="*", default=[])
    parser.add_argument("--split", default="eval")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--outputs-of", metavar="NAME")
    parser.add_argument("--reviews", type=int, default=REVIEWS)
    arguments = parser.parse_args(given)
    savings, promises = list[tuple[str, ...]](), list[tuple[str, ...]]()
    for name, words in _sets(arguments):
        savings.append(saving_row(name, words))
        promises.append(promise_row(name, words, arguments.reviews))
        print(savings[-1], promises[-1], flush=True)
    head = ("", "errors", "plan", "listening through", *(f"marks under {under:g}" for under in MARKS), "own scores")
    print(Table("Until half of the errors are fixed", head, tuple(savings)).to_markdown())
    head = ("", "wrong or missing", *(f"at most {target:.0%}" for target in TARGETS))
    print(Table(f"Promises kept in {arguments.reviews:,} reviews", head, tuple(promises)).to_markdown())


if __name__ == "__main__":
    main()
