"""Audio in, words with confidences out: `wt.transcribe` in Python, and the engine of `wordtrust transcribe`.

    for transcript in wt.transcribe("talk.wav"):
        print(transcript)

A voice activity detector finds speech and cuts it into segments, every segment goes to one or several recognizers,
and a confidence model scores the words. Files of any length take little memory: segments come one by one.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import file_digest
from itertools import chain, count
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self

from numpy.typing import ArrayLike

from ..audio import Samples
from ..audio.audio_file import AudioFile
from ..audio.audio_samples import AudioSamples
from ..audio.listing import listed_audio
from ..audio.quality import audio_quality
from ..audio.segments import Segment, segments
from ..base.errors import InputError, OptionError
from ..base.journal import Journal
from ..base.version import __version__
from ..confidence.warm_up import warm_up
from ..confidence.word_scorer import ALTERNATIVES
from ..formats.transcript.records import LANGUAGE_MODEL, WARNINGS, SpeechWarning, warnings_of
from ..lattices.lattice import Lattices
from ..recognizers import Recognizer, RecognizerIdentity
from ..recognizers.hallucinations import drop_hallucinations
from ..recognizers.languages import language_warnings
from ..recognizers.pool import RecognitionRequest, RecognitionResult, RecognizerPool
from ..recognizers.registry import with_language
from ..recognizers.serialization import to_lattice
from ..transcripts.transcript import Transcript, Transcripts
from ..transcripts.utterance import distinct_warnings
from .left_out import HeardSegment, left_out
from .online_scorer import OnlineCombiner
from .spoken_language import SpokenLanguage

_ARGUMENTS = {"transcribe": "samples", "check": "transcript, samples"}  # of functions that take audio
_FRESH = 12  # segments of which each recognizer keeps what it encoded them to, where texts of them will be scored
_KERNELS = ("graph", "networks", "paths", "confidence")  # compiled steps of scoring


@dataclass(frozen=True, slots=True)
class AudioRecording:
    """An audio file, or one channel of it."""

    name: str
    audio: AudioFile
    channel: int | None = None  # counted from 1; None: the mean of all

    @property
    def about(self) -> dict[str, Any]:
        """What files of its words say about it."""
        about: dict[str, Any] = {"file": self.audio.path, "duration": self.audio.duration}
        return about if self.channel is None else about | {"channel": self.channel}

    @property
    def is_one_of_several(self) -> bool:
        """Whether it is a channel that has a transcript beside those of others."""
        return self.channel is not None and self.name.endswith(f"-{self.channel}")

    @property
    def file(self) -> str:
        """What is read."""
        return str(self.audio.path)

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What must not have changed if work on it is to be resumed."""
        if self.audio.source:  # a copy, whose name and date are new every time
            with Path(self.audio.source).open("rb") as file:
                digest = file_digest(file, "sha256").hexdigest()
            return {"name": self.name, "content": digest, "channel": self.channel}
        path = Path(self.audio.path).resolve()
        stat = path.stat()
        return {
            "name": self.name, "file": str(path), "bytes": stat.st_size,
            "changed": stat.st_mtime_ns, "channel": self.channel,
        }  # fmt: skip


def recordings(files: Iterable[AudioFile], channels: str = "mix") -> list[AudioRecording]:
    """The recordings of audio files, each under a unique name; `channels` is mix, each, or a number."""
    by_name: dict[str, AudioRecording] = {}
    for audio in files:
        for channel in _channels(audio, channels):
            name = (Path(audio.source) if audio.source else Path(audio.path)).stem + (
                f"-{channel}" if channels == "each" and channel else ""
            )
            name = _unique_name(name, by_name)
            by_name[name] = AudioRecording(name, audio, channel)
    return list(by_name.values())


def _channels(audio: AudioFile, channels: str) -> list[int | None]:
    if channels == "mix":
        return [None]
    if channels == "each":
        return [*range(1, audio.channels + 1)] if audio.channels > 1 else [None]
    if not channels.isdecimal() or not 1 <= int(channels) <= audio.channels:
        raise OptionError(f"{audio.path}: there is no channel {channels!r}: 1 to {audio.channels}, mix or each")
    return [int(channels)]


def _unique_name(name: str, taken: Container[str]) -> str:
    candidates = chain([name], (f"{name}-{suffix}" for suffix in count(2)))
    return next(candidate for candidate in candidates if candidate not in taken)


@dataclass(frozen=True, slots=True)
class RecognizedSegment:
    """A segment of a recording with the output of every recognizer."""

    start: float  # seconds from the beginning of the recording
    end: float
    lines: tuple[str, ...]  # of JSON, one for each recognizer
    dropped: str | None = None  # why words were taken for hallucinated
    warnings: tuple[SpeechWarning, ...] = ()  # about its sound and its language
    lattices: tuple[Lattices, ...] = field(default=(), compare=False, repr=False)  # of the lines; times from `start`
    samples: Samples | None = field(default=None, compare=False, repr=False)  # where texts of it will be scored

    def to_dict(self) -> dict[str, Any]:
        """The segment as JSON, for a journal."""
        found, lines = [warning.to_dict() for warning in self.warnings], list(self.lines)
        return {"start": self.start, "end": self.end, "lines": lines, "dropped": self.dropped, WARNINGS: found}

    @classmethod
    def from_dict(cls, record: Any, file: str) -> RecognizedSegment:
        """A segment of a journal, `file`; what is none is an `InputError`."""
        try:
            lines, dropped = tuple(map(str, record["lines"])), record["dropped"]
            dropped = None if dropped is None else str(dropped)
            return cls(float(record["start"]), float(record["end"]), lines, dropped, warnings_of(record))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError, InputError):
            raise InputError("a segment that was kept is damaged", file=file, remedy="Remove the file") from None


class Transcriber:
    """Recognizers and the models that score their words, loaded once for any number of recordings.

    with Transcriber(["moonshine"]) as transcriber:
        for recording in recordings([AudioFile.open("talk.wav")]):
            for segment in transcriber.recognize(recording):
                print(transcriber.transcript(recording, segment))

    With `scores_texts`, texts of a segment can be scored soon after it without much work (`text_scores`).
    """

    def __init__(
        self,
        recognizers: Sequence[str | Recognizer],
        models: Sequence[str] = (),
        *,
        jobs: int = 1,
        alternatives: int = ALTERNATIVES,
        lm: str | None = None,
        accept: float | None = None,
        scores_texts: bool = False,
    ) -> None:
        self._stack, self._accept, self._keeps_samples = ExitStack(), accept, scores_texts
        encodings = _FRESH if scores_texts else 1
        self.pools = [
            RecognizerPool(spec, jobs=jobs, keep=drop_hallucinations, encodings=encodings) for spec in recognizers
        ]
        self._models, self._alternatives, self._lm = models, alternatives, lm

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for pool in self.pools:
                stack.enter_context(pool)
            # Kernels are loaded while recognizers are, so that the first words come sooner.
            warming = Thread(target=warm_up, args=(_KERNELS,))
            warming.start()
            stack.callback(warming.join)
            self.identities: tuple[RecognizerIdentity, ...] = tuple(pool.identity for pool in self.pools)
            self.combiner = OnlineCombiner(
                self.identities, self._models, alternatives=self._alternatives, lm=self._lm
            )
            self.accepted = None if self._accept is None else self.combiner.accepted(self._accept)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    @property
    def provenance(self) -> dict[str, Any]:
        """Which versions, recognizers and models the words come from, for the files they are written to."""
        provenance: dict[str, Any] = {
            "wordtrust": __version__,
            "recognizers": [identity.to_dict() for identity in self.identities],
            "models": self.combiner.models,
        }
        if name := self.combiner.language_model:
            provenance[LANGUAGE_MODEL] = name
        if len(self.identities) > 1:
            provenance["combined"] = "joint network" if self.combiner.joint else "by mean confidence"
        return provenance | ({} if self.accepted is None else {"accept": self.accepted.about})

    def recognize(self, recording: AudioRecording, journal: Journal | None = None) -> Iterator[RecognizedSegment]:
        """The segments of a recording as they are recognised; those in the journal are not recognised again."""
        coming = segments(recording.audio.blocks(recording.channel))
        if journal is not None:
            for segment in coming:
                key = _journal_key(recording, segment)
                if key not in journal:
                    coming = chain([segment], coming)
                    break
                yield self._with_lattices(recording, RecognizedSegment.from_dict(journal[key], str(journal.path)))
        for segment, results in self._recognize_all(coming):
            recognized = self._with_lattices(recording, _recognized_segment(recording, segment, results))
            if journal is not None:  # its lines have been read: what cannot be used is not kept
                journal.add(_journal_key(recording, segment), recognized.to_dict())
            yield replace(recognized, samples=segment.samples) if self._keeps_samples else recognized

    def _recognize_all(self, coming: Iterable[Segment]) -> Iterator[tuple[Segment, tuple[RecognitionResult, ...]]]:
        """Each recognizer works on a segment while the next one works on the segments before it."""
        recognized: Iterable[tuple[Segment, tuple[RecognitionResult, ...]]] = ((segment, ()) for segment in coming)
        for pool in self.pools:
            recognized = _with_results(pool, recognized)
        return iter(recognized)

    def _with_lattices(self, recording: AudioRecording, segment: RecognizedSegment) -> RecognizedSegment:
        where = f"{recording.audio.path}, at {segment.start:.1f} s"
        lattices = (
            to_lattice(line, recording.name, identity, where)
            for line, identity in zip(segment.lines, self.identities, strict=True)
        )
        return replace(segment, lattices=tuple(lattices))

    def transcript(self, recording: AudioRecording, segment: RecognizedSegment, *, learn: bool = True) -> Transcript:
        """The words of a segment, with times of the recording; without `learn`, models do not adapt to it again."""
        if not segment.lattices:
            segment = self._with_lattices(recording, segment)
        transcript = self.combiner.transcript(segment.lattices, learn=learn)
        words = (
            replace(word, start=word.start + segment.start, end=word.end + segment.start) for word in transcript.words
        )
        found = distinct_warnings(segment.warnings, transcript.warnings)
        channel = str(recording.channel) if recording.is_one_of_several else None
        timed = replace(transcript, words=tuple(words), warnings=found, channel=channel)
        return timed if self.accepted is None else timed.accepting(self.accepted.threshold)


def _with_results(
    pool: RecognizerPool, recognized: Iterable[tuple[Segment, tuple[RecognitionResult, ...]]]
) -> Iterator[tuple[Segment, tuple[RecognitionResult, ...]]]:
    requests = pool.map(recognized, lambda pair: RecognitionRequest(pair[0].samples, pair[0].speech))
    for (segment, results), result in requests:
        yield segment, (*results, result)


def _journal_key(recording: AudioRecording, segment: Segment) -> str:
    return f"{recording.name} {recording.channel or 0} {segment.index} {segment.start:.3f} {len(segment.samples)}"


def _recognized_segment(
    recording: AudioRecording, segment: Segment, results: Sequence[RecognitionResult]
) -> RecognizedSegment:
    for result in results:
        if isinstance(result.error, InputError):
            raise result.error.at(file=recording.audio.path, place=f"{segment.start:.1f} s")
        if result.error is not None:
            raise result.error
    reasons = [result.dropped for result in results if result.dropped]
    dropped = "; ".join(dict.fromkeys(reasons)) if len(reasons) == len(results) else None  # else one has words
    lines = tuple(result.line for result in results)
    languages = (language_warnings(line, segment.seconds) for line in lines)
    found = distinct_warnings(audio_quality(segment.samples).warnings(), *languages)
    return RecognizedSegment(segment.start, segment.end, lines, dropped, found)


def transcribe(
    audio: str | Path | ArrayLike | Sequence[str | Path],
    recognizer: str | Recognizer | Sequence[str | Recognizer] = "auto",
    *,
    sample_rate: float | None = None,
    language: str | None = None,
    model: str | Path | Sequence[str | Path] | None = None,
    channel: int | None = None,
    alternatives: int = ALTERNATIVES,
    accept: float | None = None,
    jobs: int = 1,
) -> Transcripts:
    """The segments of a recording, with times of the recording. `recognizer` is NAME or NAME=MODEL, or several.

    `audio` is a file, a folder, several of these, or samples with their `sample_rate`. `recognizer` may be an object
    of your own with `identity` and `recognize` (`wordtrust.recognizers.base`). `language` is a code such as de, for
    Whisper; English by default. `model` is the confidence model, by default the one for the recognizer. `channel`
    counts from 1; None is the mean of all. Several recognizers, and a model for each, are sequences, or strings with
    commas between the names. `accept` (0.98) marks the words that can go unread so that this share of them is right.
    Two `jobs` and more are processes, so a script that asks for them needs `if __name__ == "__main__"`.
    """
    files = opened_audio(audio, sample_rate)
    named = [with_language(each, language) if isinstance(each, str) else each for each in recognizer_list(recognizer)]
    with Transcriber(
        named, split_names(model or ()), alternatives=alternatives, accept=accept, jobs=jobs
    ) as transcriber:
        opened = recordings(files, _channel_option(files, channel))
        heard = [(recording, list(transcriber.recognize(recording))) for recording in opened]
        segments = [(recording, segment) for recording, recognized in heard for segment in recognized]
        transcripts = [transcriber.transcript(recording, segment) for recording, segment in segments]
        if transcriber.combiner.is_provisional:
            transcripts = [transcriber.transcript(*each, learn=False) for each in segments]
        about = transcriber.provenance
    if len(opened) > 1:
        return Transcripts(transcripts, about=about)
    said = zip(heard[0][1], transcripts, strict=True)
    outcome = [HeardSegment(each.start, each.end, bool(words.words), each.dropped) for each, words in said]
    silent = left_out(outcome, files[0].damaged, files[0].duration)
    if foreign := SpokenLanguage.of(heard[0][1]):
        about["language"] = foreign.to_dict()
    return Transcripts(transcripts, about=opened[0].about | about, left_out=silent)


def _channel_option(files: Sequence[AudioFile], channel: int | None) -> str:
    """What `recordings` is to be told; a number that a file has no channel for is an error."""
    if channel is None:
        return "mix"
    for audio in files:
        if not 1 <= channel <= audio.channels:
            found = f"there is no channel {channel}: 1 to {audio.channels}, or None for the mean of all"
            raise OptionError(f"{audio.path}: {found}")
    return str(channel)


def opened_audio(audio: Any, sample_rate: float | None, verb: str = "transcribe") -> list[AudioFile]:
    """The audio that Python code names or holds; what else people try is an error that says what to do."""
    files = [audio] if isinstance(audio, str | Path) else audio
    if isinstance(files, list | tuple) and files and all(isinstance(each, str | Path) for each in files):
        if sample_rate is not None:
            raise OptionError("sample_rate is for samples: a file says its own")
        return [AudioFile.open(path) for each in files for path in listed_audio(str(each), _raise)]
    is_samples = hasattr(audio, "__array__") or (isinstance(audio, list) and len(audio) > 2)
    if not is_samples:
        raise TypeError(
            f"{verb} takes the path of an audio file, several, or samples, not {type(audio).__name__}: "
            f"wt.{verb}({_ARGUMENTS[verb]}, sample_rate=16000)"
        )
    if sample_rate is None:
        raise OptionError(f"samples need their rate: wt.{verb}({_ARGUMENTS[verb]}, sample_rate=16000)")
    return [AudioSamples.of(audio, sample_rate)]


def _raise(error: InputError) -> None:
    raise error


def recognizer_list(given: Any) -> list[str | Recognizer]:
    """Recognizers that are named, or loaded already."""
    if isinstance(given, str | Path):
        return [*split_names(given)]
    listed = list(given) if isinstance(given, Sequence) else [given]
    for each in listed:
        if not isinstance(each, str) and (
            isinstance(each, type) or not (hasattr(each, "recognize") and hasattr(each, "identity"))
        ):
            kind = f"the class {each.__name__}" if isinstance(each, type) else type(each).__name__
            raise TypeError(
                f"a recognizer is a name (`wordtrust recognizers` lists them) or an object with `identity` and "
                f"`recognize(samples)`, not {kind} (see wordtrust.recognizers.base)"
            )
    return listed


def split_names(names: str | Path | Sequence[str | Path]) -> list[str]:
    """Names of recognizers or models: those of a sequence, or those between the commas of one string."""
    return str(names).split(",") if isinstance(names, str | Path) else [str(name) for name in names]
