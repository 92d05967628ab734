"""Audio in, trusted words out: `wordtrust transcribe`, and `wt.transcribe` in Python.

    for transcript in wt.transcribe("talk.wav"):
        print(transcript)

Speech is found by a voice activity detector and cut into segments, every segment goes to one recognizer
or several, and a model judges the words. Files of any length take little memory: segments come one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self

from ..audio.audio_file import AudioFile
from ..audio.segments import Segment, segments
from ..base.errors import InputError, OptionError
from ..base.journal import Journal
from ..base.version import __version__
from ..confidence.warm_up import warm_up
from ..confidence.word_scorer import ALTERNATIVES
from ..lattices.lattice import Lattices
from ..recognizers import RecognizerIdentity
from ..recognizers.answers import to_lattice
from ..recognizers.hallucinations import drop_hallucinations
from ..recognizers.pool import RecognitionAnswer, RecognitionRequest, RecognizerPool
from ..transcripts.transcript import Transcript
from .online_scorer import Together

STEPS = ("graph", "networks", "paths", "confidence")  # of judging words


@dataclass(frozen=True, slots=True)
class Recording:
    """A file, or one channel of it."""

    name: str
    audio: AudioFile
    channel: int | None = None  # counted from 1; None: all of them mixed

    @property
    def key(self) -> dict[str, Any]:
        """What must not have changed if work on it is to be taken up again."""
        path = Path(self.audio.path).resolve()
        stat = path.stat()
        return {
            "name": self.name, "file": str(path), "bytes": stat.st_size,
            "changed": stat.st_mtime_ns, "channel": self.channel,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heard:
    """What every recognizer made of a segment, as lines of JSON."""

    start: float  # seconds from the beginning of the recording
    end: float
    lines: tuple[str, ...]
    dropped: str | None = None  # why words were taken for hallucination_reason
    lattices: tuple[Lattices, ...] = field(default=(), compare=False)  # of the lines, if they have been read already

    def to_dict(self) -> dict[str, Any]:
        """For a journal."""
        return {"start": self.start, "end": self.end, "lines": list(self.lines), "dropped": self.dropped}


class Transcriber:
    """Recognizers and the models that judge their words, loaded once for any number of recordings.

    with Transcriber(["moonshine"]) as transcriber:
        for recording in recordings([AudioFile.open("talk.wav")]):
            for heard in transcriber.hear(recording):
                print(transcriber.transcript(recording, heard))
    """

    def __init__(
        self,
        recognizers: Sequence[str],
        models: Sequence[str] = (),
        *,
        jobs: int = 1,
        alternatives: int = ALTERNATIVES,
    ) -> None:
        self._stack = ExitStack()
        self._pools = [RecognizerPool(each, jobs=jobs, keep=drop_hallucinations) for each in recognizers]
        self._models, self._alternatives = models, alternatives

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for pool in self._pools:
                stack.enter_context(pool)
            # Kernels are loaded while recognizers are, so that the first words come sooner.
            warming = Thread(target=warm_up, args=(STEPS,))
            warming.start()
            stack.callback(warming.join)
            self.identities: tuple[RecognizerIdentity, ...] = tuple(pool.identity for pool in self._pools)
            self.together = Together(self.identities, self._models, alternatives=self._alternatives)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def about(self) -> dict[str, Any]:
        """Where words come from: for the files they are written to."""
        found: dict[str, Any] = {
            "wordtrust": __version__,
            "recognizers": [each.to_dict() for each in self.identities],
            "models": [each.model for each in self.together.judges],
        }
        if len(self.identities) > 1:
            found["combined"] = "joint network" if self.together.joint else "by mean confidence"
        return found

    def hear(self, recording: Recording, journal: Journal | None = None) -> Iterator[Heard]:
        """The segments of a recording as they are recognised; those that a journal has are not done again."""
        coming = segments(recording.audio.blocks(recording.channel))
        if journal is not None:
            for segment in coming:
                if _name(recording, segment) not in journal:
                    coming = chain([segment], coming)
                    break
                kept = journal[_name(recording, segment)]
                yield Heard(kept["start"], kept["end"], tuple(kept["lines"]), kept["dropped"])
        for segment, answers in self._ask(coming):
            heard = _heard(recording, segment, answers)
            if journal is not None:
                # What cannot be used must not be kept.
                heard = replace(heard, lattices=self.lattices(recording, heard))
                journal.add(_name(recording, segment), heard.to_dict())
            yield heard

    def _ask(self, coming: Iterable[Segment]) -> Iterator[tuple[Segment, tuple[RecognitionAnswer, ...]]]:
        """Each recognizer works on its own while the next one works on what came before."""
        asked: Iterable[tuple[Segment, tuple[RecognitionAnswer, ...]]] = ((segment, ()) for segment in coming)
        for pool in self._pools:
            asked = _with_answers(pool, asked)
        return iter(asked)

    def transcript(self, recording: Recording, heard: Heard, *, again: bool = False) -> Transcript:
        """The words of a segment, by global times; `again`: with all that was learned since the first time."""
        found = self.together.transcript(self.lattices(recording, heard), again=again)
        return _moved(found, heard.start)

    def lattices(self, recording: Recording, heard: Heard) -> tuple[Lattices, ...]:
        """What every recognizer heard in a segment, times counted from its beginning."""
        where = f"{recording.audio.path}, at {heard.start:.1f} s"
        return heard.lattices or tuple(
            to_lattice(line, recording.name, identity, where)
            for line, identity in zip(heard.lines, self.identities, strict=True)
        )


def _with_answers(
    pool: RecognizerPool, asked: Iterable[tuple[Segment, tuple[RecognitionAnswer, ...]]]
) -> Iterator[tuple[Segment, tuple[RecognitionAnswer, ...]]]:
    for (segment, answers), answer in pool.map(
        asked, lambda item: RecognitionRequest(item[0].samples, item[0].speech)
    ):
        yield segment, (*answers, answer)


def _name(recording: Recording, segment: Segment) -> str:
    return f"{recording.name} {recording.channel or 0} {segment.index} {segment.start:.3f} {len(segment.samples)}"


def _heard(recording: Recording, segment: Segment, answers: Sequence[RecognitionAnswer]) -> Heard:
    for answer in answers:
        if isinstance(answer.error, InputError):
            raise answer.error.at(file=recording.audio.path, place=f"{segment.start:.1f} s")
        if answer.error is not None:
            raise answer.error
    dropped = [answer.dropped for answer in answers if answer.dropped]
    lines = tuple(answer.line for answer in answers)
    told = "; ".join(dict.fromkeys(dropped)) if len(dropped) == len(answers) else None  # else somebody has words
    return Heard(segment.start, segment.end, lines, told)


def _moved(transcript: Transcript, seconds: float) -> Transcript:
    words = (replace(word, start=word.start + seconds, end=word.end + seconds) for word in transcript.words)
    return replace(transcript, words=tuple(words))


def recordings(files: Iterable[AudioFile], channels: str = "mix") -> list[Recording]:
    """The recordings of audio files, each under a name of its own; `channels` is mix, each, or a number."""
    found: list[Recording] = []
    for audio in files:
        for channel in _channels(audio, channels):
            name = Path(audio.path).stem + (f"-{channel}" if channels == "each" and channel else "")
            found.append(Recording(_unused(name, found), audio, channel))
    return found


def _channels(audio: AudioFile, channels: str) -> list[int | None]:
    if channels == "mix":
        return [None]
    if channels == "each":
        return [*range(1, audio.channels + 1)] if audio.channels > 1 else [None]
    if not channels.isdecimal() or not 1 <= int(channels) <= audio.channels:
        raise OptionError(f"{audio.path}: there is no channel {channels!r}: 1 to {audio.channels}, mix or each")
    return [int(channels)]


def _unused(name: str, found: Sequence[Recording]) -> str:
    taken = {each.name for each in found}
    others = (f"{name}-{number}" for number in range(2, len(taken) + 3))
    return next(each for each in chain([name], others) if each not in taken)


def transcribe(
    path: str | Path,
    recognizer: str = "auto",
    *,
    model: str | Path | None = None,
    channel: int | None = None,
    alternatives: int = ALTERNATIVES,
    jobs: int = 1,
) -> list[Transcript]:
    """The segments of a recording, with global times. `recognizer` is NAME or NAME=MODEL, several with commas.

    `model` judges the words (several with commas as well). Two `jobs` and more are processes, so a script that asks
    for them needs its `if __name__ == "__main__"`.
    """
    if not isinstance(path, str | Path):
        raise TypeError(
            f"transcribe takes the path of an audio file, not {type(path).__name__}: save samples to a file"
        )
    names, models = recognizer.split(","), str(model).split(",") if model else []
    with Transcriber(names, models, alternatives=alternatives, jobs=jobs) as transcriber:
        recording = recordings([AudioFile.open(path)], "mix" if channel is None else str(channel))[0]
        heard = list(transcriber.hear(recording))
        said = [transcriber.transcript(recording, each) for each in heard]
        if transcriber.together.changes:
            said = [transcriber.transcript(recording, each, again=True) for each in heard]
        return said
