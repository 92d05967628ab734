"""Transcripts of others, checked against the audio by listeners of ours: the work behind `wordtrust check`.

Listeners hear the recording as `wordtrust transcribe` does, segment by segment, and what they heard is kept in a
journal; so are the scores of the transcript's words. Words have a verdict soon after they were heard
(`running_check`); that of the files comes at the end, when all was heard.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from ..base.errors import InputError
from ..base.number_format import counted
from ..base.version import __version__
from ..combination.check import CheckModel
from ..lattices.lattice import Lattices
from ..lattices.paths import one_best
from ..lattices.text import join_surfaces
from ..recognizers import RecognizerIdentity
from ..transcripts.transcript import Transcript
from ..transcripts.words import LeftOut, clock
from .belonging import LEAST
from .check_evidence import (
    ForcedByListener,
    by_listener,
    forced_words,
    recognizer_listeners,
    segment_texts,
)
from .check_summary import CheckSummary
from .checked_recording import (
    Evidence,
    LocatedText,
    Stretch,
    checked_transcript,
    heard_clock,
    judge,
    lacking_stretches,
    locate_text,
    other_listener,
    unwritten,
    written_clock,
)
from .recording_job import Outputs, Recording, RecordingJob
from .running_check import RunningCheck
from .text_scores import TextScorer
from .text_to_audio import Clock, LocatedWords, locate
from .transcriber import AudioRecording, RecognizedSegment, Transcriber
from .written_text import WrittenText

Author = Literal["auto", "recognizer", "anybody"]  # who wrote a transcript; auto: as its format says
AUTHORS = get_args(Author)
_WEAK, _SEVERAL = 0.15, 2  # errors that the best listener expects of itself; other transcripts that make up for it
_BEYOND = 2.0  # seconds after the end of the audio that are no mistake


class DoesNotBelong(InputError):
    """A transcript of another recording."""


@dataclass(frozen=True, slots=True)
class TextRecording:
    """A recording of which there are transcripts only."""

    name: str
    file: str  # the transcript
    channel: int | None = None

    @property
    def about(self) -> dict[str, Any]:
        """What files of its words say about it."""
        return {}


@dataclass(frozen=True, slots=True, eq=False)
class CheckTask:
    """A transcript, the recording that it is of, and other transcripts of that."""

    text: WrittenText
    recording: AudioRecording | TextRecording
    heard: tuple[WrittenText, ...] = ()
    author: Author = "auto"

    @property
    def by_recognizer(self) -> bool:
        """Whether a recognizer wrote it, and not somebody who may have made no errors."""
        return self.text.by_recognizer if self.author == "auto" else self.author == "recognizer"

    @property
    def name(self) -> str:
        """That of the recording."""
        return self.recording.name

    @property
    def has_times(self) -> bool:
        """Whether anything tells when words were said; without, they get a second each."""
        return self.text.is_timed or not isinstance(self.recording, TextRecording)

    @property
    def duration(self) -> float | None:
        """Seconds of audio, where they are known."""
        return self.recording.audio.duration if isinstance(self.recording, AudioRecording) else 0.0


class CheckJob(RecordingJob):
    """Checks transcripts one after the other, then writes the files.

    with CheckJob(transcriber, tasks, outputs, "moonshine") as job:
        for task in tasks:
            for segment in job.listen(task):
                for checked in job.newly_checked(task): ...
            print(job.check(task).line())
            for checked in job.newly_checked(task): ...
        for path, words in job.write(): ...
    """

    def __init__(
        self, transcriber: Transcriber | None, tasks: Sequence[CheckTask], outputs: Outputs, listener: str,
        model: CheckModel | None = None,
    ) -> None:  # fmt: skip
        self._transcriber, self._tasks = transcriber, {task.name: task for task in tasks}
        self._model = model or CheckModel.load()
        self._segments: dict[str, list[RecognizedSegment]] = {}
        self._text_scorers: dict[str, TextScorer] = {}
        self._running: dict[str, RunningCheck] = {}
        self._left_out: dict[str, tuple[LeftOut, ...]] = {}
        self.summaries: dict[str, CheckSummary] = {}
        work: dict[str, Any] = {"about": self.provenance, "asked": listener}
        if outputs:  # else nothing is resumed
            audio = [task.recording for task in tasks if isinstance(task.recording, AudioRecording)]
            work["recordings"] = [each.fingerprint for each in audio]
        super().__init__(outputs, work)

    @property
    def provenance(self) -> dict[str, Any]:
        """Which version, listeners and models the confidences come from."""
        if self._transcriber is None:
            return {"wordtrust": __version__}
        kept = ("wordtrust", "recognizers", "models")
        return {name: value for name, value in self._transcriber.provenance.items() if name in kept}

    def listen(self, task: CheckTask) -> Iterator[RecognizedSegment]:
        """The segments of the recording as they are heard."""
        self._segments[task.name] = []
        if self._transcriber is None or not isinstance(task.recording, AudioRecording):
            return
        text_scorer = TextScorer(self._transcriber.pools, task.recording, self._journal)
        running = RunningCheck(
            task.text, self._model, self._transcriber.combiner.scorers, text_scorer, by_recognizer=task.by_recognizer
        )
        self._text_scorers[task.name], self._running[task.name] = text_scorer, running
        self._segments[task.name] = running.segments
        for segment in self._transcriber.recognize(task.recording, self._journal):
            for scorer, lattices in zip(self._transcriber.combiner.scorers, segment.lattices, strict=True):
                if scorer.is_provisional:
                    scorer.networks(lattices, learn=True)
            running.hear(segment)
            yield segment

    def check(self, task: CheckTask) -> CheckSummary:
        """The verdict on a transcript whose recording was heard; InputError if it is of another recording."""
        segments = self._segments[task.name]
        clocks = _clocks(task, segments)
        pivot = locate_text(task.text, clocks, task.duration or 0.0)
        if not pivot.stretches:
            return self._nothing(task)
        _require_belonging(task.text, pivot.located, task.recording)
        others = [_located(text, clocks) for text in task.heard]
        for text, located in others:
            _require_belonging(text, located, task.recording)
        lacking = [lacking_stretches(pivot, located) for _, located in others]
        forced = self._forced(task, pivot)
        scorers = self._transcriber.combiner.scorers if self._transcriber else []

        def evidence(part: Sequence[Stretch]) -> Evidence:
            heard = list(recognizer_listeners(scorers, segments, part))
            heard += [other_listener(*other, part, gaps) for other, gaps in zip(others, lacking, strict=True)]
            return heard, forced_words(forced, pivot, part)

        checked = judge(pivot, self._model, evidence, by_recognizer=task.by_recognizer)
        self.transcripts[task.name] = list(checked_transcript(pivot, checked, task.name))
        self._left_out[task.name] = unwritten(pivot, lambda index: _said(segments, index))
        located = pivot.located
        strictly = None if task.by_recognizer else checked.if_recognizer.tolist()
        is_vague = checked.misheard > _WEAK and len(others) < _SEVERAL and not task.text.is_calibrated
        summary = CheckSummary.of(
            self.transcripts[task.name], located.found, located.late, located.belonging, strictly, checked.misheard,
            is_vague=is_vague,
        )  # fmt: skip
        if not task.has_times:
            summary = replace(summary, worst=())
        self.summaries[task.name] = summary
        return summary

    def leave_out(self, task: CheckTask) -> None:
        """Write the files without a transcript that could not be checked."""
        kept = {path: [one for one in members if one.name != task.name] for path, members in self._outputs.items()}
        self._outputs = {path: members for path, members in kept.items() if members}

    def together(self) -> CheckSummary:
        """A summary of all transcripts that were checked."""
        return CheckSummary.together(list(self.summaries.values()))

    def listeners(self) -> str:
        """Who listens, and where that comes from, for people."""
        others = {text.file: None for task in self._tasks.values() for text in task.heard}
        identities = self._transcriber.identities if self._transcriber else ()
        return "; ".join([*map(_described, identities), *(f"the transcript {file}" for file in others)])

    def _nothing(self, task: CheckTask) -> CheckSummary:
        """Of a recording in which nothing was heard, and of which nothing is written."""
        self.transcripts[task.name], self._left_out[task.name] = [], ()
        self.summaries[task.name] = CheckSummary.of((), 1.0, 0.0)
        return self.summaries[task.name]

    def _forced(self, task: CheckTask, pivot: LocatedText) -> ForcedByListener:
        """How probable listeners find the words of stretches."""
        if self._transcriber is None or task.name not in self._text_scorers:
            return {}
        texts = segment_texts(pivot, self._segments[task.name])
        scored = self._text_scorers[task.name].scores(list(texts.values()))
        scores = {number: of_text for number, (_, of_text) in zip(texts, scored, strict=True)}
        return by_listener([identity.name for identity in self._transcriber.identities], scores)

    def _is_certain(self, task: CheckTask) -> bool:
        """Whether what is said of words will hardly change when all was heard."""
        return self._transcriber is not None and not self._transcriber.combiner.is_provisional and not task.heard

    def newly_checked(self, task: CheckTask) -> Iterator[Transcript]:
        """The segments of the transcript that are checked since it was last asked: all of them after `check`.

        Those that come while the recording is heard have a verdict on what was heard so far. None do where this would
        change: models of listeners adapt to what they hear, or other transcripts are to be placed first.
        """
        running, done = self._running.get(task.name), self.transcripts.get(task.name)
        if done is None:
            yield from running.checked() if running is not None and self._is_certain(task) else ()
            return
        first = 0
        for segment in done:
            new = segment.words[max(0, (running.reported if running is not None else 0) - first) :]
            first += len(segment.words)
            if new:
                yield replace(segment, words=new)

    def about(self, members: Sequence[Recording]) -> dict[str, Any]:
        """What a file of these recordings says about them."""
        about = dict(self.provenance)
        if len(members) == 1:
            name = members[0].name
            about = members[0].about | {"transcript": self._tasks[name].text.file} | about
            about["check"] = self.summaries[name].to_dict()
            if self._tasks[name].heard:
                about["heard"] = [text.file for text in self._tasks[name].heard]
        return about

    def left_out(self, name: str) -> Sequence[LeftOut] | None:
        """The stretches of the recording of this name that have no words, but in which words were heard."""
        return self._left_out[name]


def _described(identity: RecognizerIdentity) -> str:
    model = identity.settings.get("model")
    return f"{identity.name} ({f'{model}, ' if model and model != identity.name else ''}{identity.version})"


def _clocks(task: CheckTask, segments: Sequence[RecognizedSegment]) -> list[Clock]:
    """What tells when words were said: each listener, or the transcript itself where there is no audio."""
    if isinstance(task.recording, TextRecording):
        return [written_clock(task.text)]
    bounds = [(segment.start, segment.end) for segment in segments]
    listeners = len(segments[0].lattices) if segments else 1
    return [heard_clock([segment.lattices[index] for segment in segments], bounds) for index in range(listeners)]


def _located(text: WrittenText, clocks: Sequence[Clock]) -> tuple[WrittenText, LocatedWords]:
    words = text.timed()
    located = (locate(words, clock, pauses=False) for clock in clocks)
    return text, max(located, key=lambda each: each.found)


def _require_belonging(text: WrittenText, located: LocatedWords, recording: AudioRecording | TextRecording) -> None:
    """An error if a transcript is of another recording."""
    if located.belonging >= LEAST:
        return
    what = "transcript" if isinstance(recording, TextRecording) else "audio"
    heard = f"{located.found:.0%} of its words were found there"
    raise DoesNotBelong(
        f"this transcript does not belong to this {what}: {heard}",
        file=text.file,
        remedy=f"Is it of another recording than {recording.file}, or in another language (--language)?",
    )


def problems(task: CheckTask) -> Iterator[str]:
    """What is strange about a transcript, a line each."""
    if not task.has_times:
        yield f"{task.text.file} has no times, and there is no audio: its words are written with a second each"
    duration = task.duration or 0.0
    if duration and task.text.is_timed and len(task.text):
        start = task.text.timed().start
        beyond = int((start > duration + _BEYOND).sum())
        if beyond:
            yield (
                f"{counted(beyond, 'word')} of {task.text.file} {'is' if beyond == 1 else 'are'} after the end of "
                f"the audio: up to {clock(float(start.max()))}, and it ends at {clock(duration)}"
            )


def _said(segments: Sequence[RecognizedSegment], index: int) -> str:
    """What the first listener heard in a segment."""
    if not segments:
        return ""
    lattices: Lattices = segments[index].lattices[0]
    arcs = one_best(lattices).without_silence(lattices).arcs_in(lattices)
    return join_surfaces(lattices.vocabulary.lookup(lattices.surface[arcs].tolist()))
