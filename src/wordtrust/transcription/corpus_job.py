"""A corpus through a recognizer into a store of lattices: the work behind `wordtrust recognize`.

Whole utterances are recognised, on all cores. What is finished is kept in a journal beside the output, so an
interrupted or killed run resumes where it stopped; at the end it becomes a store, or one store for each split.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..audio import RATE, Samples
from ..audio.audio_file import AudioFile
from ..base.errors import InputError, OptionError
from ..base.files import atomic_text, require_new, require_parent
from ..base.journal import Journal, journal_path
from ..base.locks import claimed
from ..base.problems import Problems
from ..base.version import __version__
from ..formats.inputs import STORE_FILE
from ..formats.store.write import StoreWriter
from ..lattices.lattice import Lattices
from ..recognizers import RecognizerIdentity
from ..recognizers.pool import RecognitionRequest, RecognizerPool
from ..recognizers.serialization import to_lattice, to_lattices
from .manifest import ManifestEntry

LONGEST = 30.0  # seconds that a recognizer is given at once
RECOGNIZER_FILE = "recognizer.json"
_TOLERANCE = 0.25  # seconds by which an utterance may end after its file
_CHUNK = 500  # utterances that become lattices together

Watch = Callable[[float], None]  # called with the seconds of audio after every utterance


@dataclass(frozen=True, slots=True)
class CorpusResult:
    """What a run did."""

    identity: RecognizerIdentity
    utterances: int
    resumed: int  # of these, finished by an earlier run
    seconds: float  # of audio, without what was finished before


def recognize_corpus(
    entries: Sequence[ManifestEntry],
    recognizer: str,
    out: Path,
    *,
    jobs: int,
    problems: Problems,
    by_split: bool,
    watch: Watch,
    overwrite: bool = True,
) -> CorpusResult:
    """Recognise a corpus into a store, or into a folder with a store for each split.

    A store that is there already is only replaced if that is said (`overwrite`), or if it is of a run that was killed
    before it had written all of its stores.
    """
    stores = _stores(entries, out, by_split)
    check_output(out, list(stores), overwrite=overwrite)
    with claimed(out), RecognizerPool(recognizer, jobs=jobs) as pool:
        work = {"wordtrust": __version__, "recognizer": pool.identity.to_dict()}
        with Journal(out, work) as journal:
            for store in stores:
                require_new(store, overwrite=overwrite or _store_key(store) in journal)
            by_key = {_journal_key(entry): entry for entry in entries}
            resumed = sum(key in journal for key in by_key)
            rest = [entry for key, entry in by_key.items() if key not in journal]
            seconds = _recognize(pool, rest, journal, problems, watch)
            for store, of_store in stores.items():
                _write_store(store, of_store, journal, pool.identity, problems)
            if by_split:
                _write_identity(out, pool.identity)
            journal.remove()
        return CorpusResult(pool.identity, sum(key in journal for key in by_key), resumed, seconds)


def _stores(entries: Sequence[ManifestEntry], out: Path, by_split: bool) -> dict[Path, list[ManifestEntry]]:
    """The utterances of each store."""
    if not by_split:
        return {out: list(entries)}
    splits: dict[Path, list[ManifestEntry]] = {}
    for entry in entries:
        if not entry.split or "/" in entry.split or entry.split.startswith("."):
            message, remedy = (
                "the split has no name that a folder can have",
                "Fill in the column `split`: train, dev, eval",
            )
            raise InputError(message, utt=entry.utt, place=entry.place, remedy=remedy)
        splits.setdefault(out / entry.split, []).append(entry)
    return splits


def _journal_key(entry: ManifestEntry) -> str:
    return json.dumps(entry.fingerprint)


def _store_key(store: Path) -> str:
    """In a journal: this run writes that store, so it may replace it."""
    return f"store {store.name}"


def _recognize(
    pool: RecognizerPool, entries: Sequence[ManifestEntry], journal: Journal, problems: Problems, watch: Watch
) -> float:
    """Recognise utterances into the journal; returns the seconds of their audio."""
    total = 0.0
    for (entry, samples), result in pool.map(_read_all(entries, problems), lambda pair: RecognitionRequest(pair[1])):
        if result.error is not None and not isinstance(result.error, InputError):
            raise result.error
        try:
            if result.error is not None:
                raise result.error
            to_lattice(result.line, entry.utt, pool.identity, str(entry.path))  # what cannot be used is not kept
            journal.add(_journal_key(entry), result.line)
        except InputError as error:
            problems.report(error.at(file=str(entry.path), utt=entry.utt))
        total += len(samples) / RATE
        watch(len(samples) / RATE)
    return total


def _read_all(entries: Iterable[ManifestEntry], problems: Problems) -> Iterator[tuple[ManifestEntry, Samples]]:
    """The samples of every utterance that can be read."""
    for entry in entries:
        try:
            yield entry, _read_samples(entry)
        except InputError as error:
            problems.report(error.at(file=str(entry.path), utt=entry.utt))


def _read_samples(entry: ManifestEntry) -> Samples:
    """The audio of an utterance; longer ones than a recognizer takes at once are refused."""
    audio = AudioFile.open(entry.path)
    end = max(entry.start or 0.0, entry.end or 0.0)
    if audio.duration is not None and end > audio.duration + _TOLERANCE:
        raise InputError(f"it should go on until {end:g} s, but the file has {audio.duration:.2f} s")
    samples = audio.samples(entry.start or 0.0, entry.end, entry.channel, longest=LONGEST)
    if audio.problems:
        raise InputError("; ".join(audio.problems), remedy="Mend or remove the file; --skip-bad goes on without it")
    if len(samples) > LONGEST * RATE:
        raise InputError(
            f"longer than {LONGEST:g} s", remedy="Give the columns `start` and `end`, or use: wordtrust transcribe"
        )
    return samples


def _write_store(
    out: Path,
    entries: Sequence[ManifestEntry],
    journal: Journal,
    identity: RecognizerIdentity,
    problems: Problems,
) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    recognized = [entry for entry in entries if _journal_key(entry) in journal]
    if not recognized:
        raise InputError("no utterance is left", file=str(out))
    journal.add(_store_key(out), None)
    with StoreWriter(out, recognizer=identity.name) as store:
        for first in range(0, len(recognized), _CHUNK):
            for batch in _lattices(recognized[first : first + _CHUNK], journal, identity, problems, str(out)):
                store.add(batch)


def _lattices(
    entries: Sequence[ManifestEntry], journal: Journal, identity: RecognizerIdentity, problems: Problems, file: str
) -> Iterator[Lattices]:
    """The lattices of some utterances: all at once, or one by one to find a bad one."""
    lines, utts = [str(journal[_journal_key(entry)]) for entry in entries], [entry.utt for entry in entries]
    try:
        yield from list(to_lattices(lines, utts, identity, file))
    except InputError:
        for entry, line in zip(entries, lines, strict=True):
            try:
                yield to_lattice(line, entry.utt, identity, str(entry.path))
            except InputError as error:
                problems.report(error)


def _write_identity(folder: Path, identity: RecognizerIdentity) -> None:
    with atomic_text(folder / RECOGNIZER_FILE) as file:
        file.write(json.dumps(identity.to_dict(), indent=1) + "\n")


def check_output(out: Path, stores: Sequence[Path], *, overwrite: bool) -> None:
    """Refuse before hours of work what could not be written after them."""
    require_parent(out)
    if out.is_file():
        raise OptionError(f"{out}: is a file; name a folder for the store")
    for store in stores:
        if store.is_dir() and any(store.iterdir()) and not (store / STORE_FILE).is_file():
            raise OptionError(f"{store}: is there already, and is no store")
        if not journal_path(out).exists():
            require_new(store, overwrite=overwrite)
