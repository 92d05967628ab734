"""What to listen to until few enough errors are left, and how long that takes.

plan = wt.plan("talk.json", target=0.02, sure=0.95)
plan.minutes, plan.promise, plan.stretches[0].text
wt.plan("talk-checked.json").is_enough
wt.plan("talk.json", reviewers=2).save_pages("to-review")
wt.plan("talk.json", verdicts=["anna.json", "ben.json"]).is_enough
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Offsets, Reals
from ..base.errors import InputError, OptionError
from ..base.files import atomic_folder, atomic_text
from .page import POLICY, page_text
from .page.data import audio_beside
from .reader import TranscriptSource, transcript_sources
from .review.items import ReviewItems, review_items
from .review.page_plan import plan_record
from .review.promise import SURE, TARGET, Belief, Evidence, most_errors
from .review.stretches import Stretches, find_stretches
from .transcript import Transcript
from .utterance import UtteranceWords
from .words import spelled

_LIKELY = 1.2816  # standard deviations: four minutes in five are between these ends
_NO_GAPS = "the transcript does not say where words are missing: only wrong words are counted"


class PlannedStretch(NamedTuple):
    """What is played at a time."""

    file: str
    utt: str
    start: float  # seconds, context included
    end: float
    expected_errors: float  # that it removes
    text: str
    reviewer: int  # from 1 on; 0 if nobody needs to listen to it, as things are

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "file": self.file,
            "utt": self.utt,
            "start": round(self.start, 3),
            "end": round(self.end, 3),
            "expected_errors": round(self.expected_errors, 4),
            "text": self.text,
            "reviewer": self.reviewer,
        }


@dataclass(frozen=True, eq=False)
class Plan:
    """Stretches in the order in which they are best listened to, and the promise as things are."""

    segments: Sequence[UtteranceWords]
    files: Sequence[str]  # [segments]
    items: ReviewItems
    evidence: Evidence
    target: float = TARGET
    sure: float = SURE
    reviewers: int = 1
    about: Mapping[str, Any] = field(default_factory=dict)  # of the recording, where there is one file

    @property
    def words(self) -> int:
        """How many words the transcript has."""
        return self.items.words

    @cached_property
    def allowed(self) -> int:
        """How many errors may be left."""
        return most_errors(self.target, self.words)

    @cached_property
    def belief(self) -> Belief:
        """How much worse the recording is than its confidences say."""
        return Belief.after(self.evidence)

    @cached_property
    def expected_errors(self) -> float:
        """That are left, as things are."""
        return float(self.belief.factor * self.items.errors.sum())

    @cached_property
    def promise(self) -> float:
        """How sure it is that few enough errors are left."""
        return self.belief.promise(float(self.items.errors.sum()), self.allowed)

    @property
    def is_enough(self) -> bool:
        """Whether nobody needs to listen any more."""
        return self.promise >= self.sure

    @cached_property
    def order(self) -> Stretches:
        """All stretches, also those that will not be needed."""
        return find_stretches(self.items)

    @cached_property
    def _after(self) -> tuple[Reals, Reals, Reals]:
        """Errors left, chances heard and seconds listened, after each number of stretches from 0 on."""
        order, rank = self.order, self._rank
        heard = np.bincount(rank, self.items.chance, len(order) + 1)[:-1].astype(np.float64)
        left = self.items.errors.sum() - _sums(order.errors)
        return np.maximum(left, 0.0), _sums(heard), _sums(order.seconds)

    @cached_property
    def _rank(self) -> Offsets:
        """[items] the stretch that each is first heard in; their number for those that are in none."""
        order = self.order
        rank = np.full(len(self.items.start), len(order), np.int64)
        for stretch in range(len(order) - 1, -1, -1):
            rank[order.first[stretch] : order.last[stretch] + 1] = stretch
        return rank

    def needed_if(self, factor: float) -> int:
        """How many stretches it takes if so many times the expected errors are found."""
        left, heard, _ = self._after
        low, high = 0, len(self.order)  # enough at `high`: then nothing is left
        while low < high:
            middle = (low + high) // 2
            found = self.evidence + Evidence(float(heard[middle]), factor * float(heard[middle]))
            enough = Belief.after(found).promise(float(left[middle]), self.allowed) >= self.sure
            low, high = (low, middle) if enough else (middle + 1, high)
        return low

    @cached_property
    def needed(self) -> int:
        """How many stretches it will take if as many errors are found as expected."""
        return 0 if self.is_enough else max(1, self.needed_if(self.belief.factor))

    @cached_property
    def minutes(self) -> float:
        """Of listening, all reviewers together."""
        return float(self._after[2][self.needed] / 60)

    @cached_property
    def minutes_likely(self) -> tuple[float, float]:
        """In four of five cases between these."""
        if self.is_enough:
            return 0.0, 0.0
        counts = [self.needed_if(self.belief.quantile(sign * _LIKELY)) for sign in (-1, 1)]
        low, high = (float(self._after[2][count] / 60) for count in counts)
        return min(low, self.minutes), max(high, self.minutes)

    @cached_property
    def minutes_through(self) -> float:
        """Of listening to everything from the first to the last word."""
        track = self.items.track
        return float((self.items.end[track[1:] - 1] - self.items.start[track[:-1]]).sum() / 60)

    @cached_property
    def reviewer_of(self) -> NDArray[np.int64]:
        """[stretches] who listens to each, from 1 on: whoever has the least to do so far; 0 to those not needed."""
        busy, who = np.zeros(self.reviewers), np.zeros(len(self.order), np.int64)
        for stretch, seconds in enumerate(self.order.seconds[: self.needed].tolist()):
            who[stretch] = int(busy.argmin()) + 1
            busy[who[stretch] - 1] += seconds
        return who

    @cached_property
    def stretches(self) -> list[PlannedStretch]:
        """Those that are needed."""
        return [self.stretch(index) for index in range(self.needed)]

    def stretch(self, index: int) -> PlannedStretch:
        """One of `order`."""
        order = self.order
        first, last = int(order.first[index]), int(order.last[index])
        of_first = self._segment_of(first)
        return PlannedStretch(
            self.files[of_first], self.segments[of_first].utt, float(order.start[index]), float(order.end[index]),
            float(self.belief.factor * order.errors[index]), self._text(first, last), int(self.reviewer_of[index]),
        )  # fmt: skip

    @cached_property
    def _first_item(self) -> Offsets:
        return 2 * self.items.offsets[:-1] + np.arange(len(self.segments))

    def _segment_of(self, item: int) -> int:
        return int(np.searchsorted(self._first_item, item, "right")) - 1

    def _text(self, first: int, last: int) -> str:
        parts = []
        for segment in range(self._segment_of(first), self._segment_of(last) + 1):
            begin = self._first_item[segment]
            low, high = max(0, (first - begin) // 2), max(0, (last - begin + 1) // 2)
            parts += [text for text, _ in spelled(self.segments[segment].words)[low:high]]
        return " ".join(filter(None, parts))

    def shares(self) -> list[tuple[int, float]]:
        """For each reviewer: how many stretches, how many minutes."""
        who, seconds = self.reviewer_of[: self.needed], self.order.seconds[: self.needed]
        return [
            (int((who == reviewer).sum()), float(seconds[who == reviewer].sum() / 60))
            for reviewer in range(1, self.reviewers + 1)
        ]

    def save_pages(self, folder: str | Path) -> list[Path]:
        """Write a page for each reviewer, with the whole transcript and the stretches that are this reviewer's."""
        names = [f"reviewer-{reviewer}.html" for reviewer in range(1, self.reviewers + 1)]
        with atomic_folder(Path(folder)) as draft:
            for reviewer, name in enumerate(names, 1):
                order = self.order.some(self.reviewer_of == reviewer)
                own = plan_record(self.items, order, target=self.target, sure=self.sure)
                audio = audio_beside(Path(folder) / name, self.about)
                more = {"plan": own, **({"audio": audio} if audio else {})}
                with atomic_text(draft / name) as file:
                    file.write(page_text(self.segments, self.about, None, more, POLICY))
        return [Path(folder) / name for name in names]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the promise leaves out."""
        return () if self.items.knows_gaps else (_NO_GAPS,)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        made: dict[str, Any] = {
            "words": self.words,
            "target": self.target,
            "sure": self.sure,
            "allowed_errors": self.allowed,
            "promise": round(self.promise, 6),
            "enough": self.is_enough,
            "expected_errors": round(self.expected_errors, 4),
            "checked": {"expected": round(self.evidence.expected, 4), "found": self.evidence.found},
            "factor": round(self.belief.factor, 4),
            "minutes": round(self.minutes, 3),
            "minutes_likely": [round(end, 3) for end in self.minutes_likely],
            "minutes_through": round(self.minutes_through, 3),
            "reviewers": [{"stretches": count, "minutes": round(minutes, 3)} for count, minutes in self.shares()],
            "stretches": [stretch.to_dict() for stretch in self.stretches],
        }
        return made | ({"warnings": list(self.warnings)} if self.warnings else {})


def _sums(values: Reals) -> Reals:
    """[values + 1] of the first ones."""
    return np.concatenate([[0.0], np.cumsum(values)])


def plan(
    outputs: Iterable[Transcript] | str | Path | Sequence[str | Path],
    *,
    target: float = TARGET,
    sure: float = SURE,
    reviewers: int = 1,
    verdicts: str | Path | Sequence[str | Path] = (),
) -> Plan:
    """What to listen to until at most a share `target` of the words is wrong or missing, with the probability `sure`.

    `outputs` are transcripts, or files of them (`wordtrust score`, `transcribe`, and what the page exports). Words
    that a person has checked count as evidence about the others. `reviewers` share the work; `verdicts` are what they
    exported, each a copy of the same transcript with some words checked.
    """
    if isinstance(outputs, str | Path) or _are_paths(outputs):
        sources = transcript_sources(outputs)  # type: ignore[arg-type]  # paths
    else:
        about = getattr(outputs, "about", {})
        sources = iter([TranscriptSource("", iter(outputs), about)])  # type: ignore[arg-type]  # no path
    heard = transcript_sources(verdicts) if verdicts else ()
    return plan_of(sources, heard, target=target, sure=sure, reviewers=reviewers)


def plan_of(
    sources: Iterable[TranscriptSource],
    verdicts: Iterable[TranscriptSource] = (),
    *,
    target: float,
    sure: float,
    reviewers: int,
) -> Plan:
    """The plan for files that are read."""
    if not 0 <= target < 1 or not 0 < sure < 1:
        raise OptionError(f"the target is {target:g} and the certainty {sure:g}, not shares like 0.02 and 0.95")
    if reviewers < 1:
        raise OptionError(f"there are {reviewers} reviewers, not one or more")
    segments, files, about = _segments(sources)
    items = review_items(segments, files)
    if not items.words:
        raise OptionError("there are no words to plan a review of")
    heard, _, _ = _segments(verdicts)
    if heard:
        items = items.checked(_checked(segments, heard))
    reviewed = [segment.review for segment in [*segments, *heard] if segment.review is not None]
    found = Evidence(sum(each.expected for each in reviewed), sum(each.found for each in reviewed))
    return Plan(segments, files, items, found, target, sure, reviewers, about)


def _checked(segments: Sequence[UtteranceWords], heard: Sequence[UtteranceWords]) -> NDArray[np.bool_]:
    """[words] which of the words of segments others have checked: those at the times of checked words."""
    times: dict[str, list[tuple[float, float]]] = {segment.utt: [] for segment in segments}
    for segment in heard:
        if segment.utt not in times:
            raise OptionError(f"the verdicts are about {segment.utt!r}, of which there are no words to review")
        times[segment.utt] += [(word.start, word.end) for word in segment.words if word.checked]
    middles = {utt: np.sort(np.array(spans).reshape(-1, 2), axis=0) for utt, spans in times.items()}
    marks = np.zeros(sum(len(segment.words) for segment in segments), np.bool_)
    at = 0
    for segment in segments:
        middle = np.array([(word.start + word.end) / 2 for word in segment.words])
        spans = middles[segment.utt]
        before = np.searchsorted(spans[:, 0], middle + 1e-6, "right") - 1
        inside = (
            (before >= 0) & (middle <= spans[before, 1] + 1e-6) if len(spans) else np.zeros(len(middle), np.bool_)
        )
        marks[at : at + len(middle)], at = inside, at + len(middle)
    return marks


def _segments(
    sources: Iterable[TranscriptSource],
) -> tuple[list[UtteranceWords], list[str], Mapping[str, Any]]:
    """The segments of all files, the file of each, and what is known about the recording if there is one file."""
    segments, files, known = list[UtteranceWords](), list[str](), list[Mapping[str, Any]]()
    with ExitStack() as opened:
        if isinstance(sources, Generator):
            opened.callback(sources.close)  # also where a file turns out to be bad
        for source in sources:
            if source.about.get("calibrated") is False:
                raise InputError(
                    "the confidences are another program's, and say nothing about errors until they are calibrated",
                    file=source.name,
                    remedy="Calibrate them (wordtrust calibrate --scores, then wordtrust score CALIBRATOR FILE)",
                )
            segments += source.transcripts
            files += [source.name] * (len(segments) - len(files))
            known.append(source.about)
    return segments, files, known[0] if len(known) == 1 else {}


def _are_paths(outputs: object) -> bool:
    return isinstance(outputs, list | tuple) and bool(outputs) and isinstance(outputs[0], str | Path)
