"""A corpus through a recognizer: `wordtrust recognize MANIFEST --recognizer NAME --out STORE`.

Whole utterances are recognised as they are, on all cores. What is done is kept in a journal beside the output, so an
interrupted or killed run goes on where it was; at the end it becomes a store, or one store for each split.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from ..audio import RATE, Samples
from ..audio.audio_file import AudioFile
from ..base.errors import InputError, OptionError
from ..base.files import atomic_text
from ..base.journal import Journal
from ..base.version import __version__
from ..lattices.assemble import Problems
from ..lattices.lattice import Lattices
from ..recognizers import RecognizerIdentity
from ..recognizers.answers import to_lattice, to_lattices
from ..recognizers.pool import RecognitionRequest, RecognizerPool
from .manifest import Item

LONGEST = 30.0  # seconds that a recognizer is given at once
_LATE = 0.25  # seconds that a manifest may be off
_CHUNK = 500  # utterances that become lattices together
RECOGNIZER = "recognizer.json"

Watch = Callable[[float], None]  # told the seconds of audio after every utterance


@dataclass(frozen=True, slots=True)
class Done:
    """What a run did."""

    identity: RecognizerIdentity
    utterances: int
    resumed: int  # of these, done before
    seconds: float  # of audio, without what was done before


def journal_of(out: Path) -> Path:
    """Where finished utterances are kept until all are done."""
    out = out.resolve()
    return out.with_name(f".{out.name}.heard")


def recognize(
    items: Sequence[Item], spec: str, out: Path, *, jobs: int, problems: Problems, by_split: bool, watch: Watch
) -> Done:
    """Recognise a corpus into a store, or into a folder with a store for each split."""
    splits = _splits(items, by_split)
    with RecognizerPool(spec, jobs=jobs) as pool:
        work = {"wordtrust": __version__, "recognizer": pool.identity.to_dict()}
        with Journal(journal_of(out), work) as journal:
            items_of = {_name(item): item for item in items}
            before = sum(name in journal for name in items_of)
            seconds = _hear(pool, [item for name, item in items_of.items() if name not in journal], journal,
                            problems, watch)  # fmt: skip
            for split, of_split in splits.items():
                place = out if split is None else out / split
                _write(place, of_split, journal, pool.identity, problems)
            if by_split:
                _write_about(out, pool.identity)
            journal.remove()
        return Done(pool.identity, sum(name in journal for name in items_of), before, seconds)


def _splits(items: Sequence[Item], by_split: bool) -> dict[str | None, list[Item]]:
    if not by_split:
        return {None: list(items)}
    found: dict[str | None, list[Item]] = {}
    for item in items:
        if not item.split or "/" in item.split or item.split.startswith("."):
            raise InputError("the split has no name that a folder can have", utt=item.utt, place=item.place,
                             remedy="Fill in the column `split`: train, dev, eval")  # fmt: skip
        found.setdefault(item.split, []).append(item)
    return found


def _name(item: Item) -> str:
    return json.dumps(item.key)


def _hear(pool: RecognizerPool, items: Sequence[Item], journal: Journal, problems: Problems, watch: Watch) -> float:
    """Recognise what is not in the journal; gives the seconds of it."""
    total = 0.0
    for (item, samples), answer in pool.map(_read(items, problems), lambda pair: RecognitionRequest(pair[1])):
        if answer.error is not None and not isinstance(answer.error, InputError):
            raise answer.error
        try:
            if answer.error is not None:
                raise answer.error
            to_lattice(answer.line, item.utt, pool.identity, str(item.path))  # what cannot be used is not kept
            journal.add(_name(item), answer.line)
        except InputError as error:
            problems.report(error.at(file=str(item.path), utt=item.utt))
        total += len(samples) / RATE
        watch(len(samples) / RATE)
    return total


def _read(items: Iterable[Item], problems: Problems) -> Iterator[tuple[Item, Samples]]:
    """The samples of every utterance that can be read."""
    for item in items:
        try:
            yield item, samples_of(item)
        except InputError as error:
            problems.report(error.at(file=str(item.path), utt=item.utt))


def samples_of(item: Item) -> Samples:
    """The audio of an utterance; longer ones than a recognizer takes at once are refused."""
    audio = AudioFile.open(item.path)
    end = max(item.start or 0.0, item.end or 0.0)
    if audio.duration is not None and end > audio.duration + _LATE:
        raise InputError(f"it should go on until {end:g} s, but the file has {audio.duration:.2f} s")
    found = audio.samples(item.start or 0.0, item.end, item.channel, longest=LONGEST)
    if audio.problems:
        raise InputError("; ".join(audio.problems), remedy="Mend or remove the file; --skip-bad goes on without it")
    if len(found) > LONGEST * RATE:
        raise InputError(
            f"longer than {LONGEST:g} s", remedy="Give the columns `start` and `end`, or use: wordtrust transcribe"
        )
    return found


def _write(
    out: Path, items: Sequence[Item], journal: Journal, identity: RecognizerIdentity, problems: Problems
) -> None:
    from ..formats.store.write import StoreWriter

    out.parent.mkdir(parents=True, exist_ok=True)
    heard = (item for item in items if _name(item) in journal)
    if not any(_name(item) in journal for item in items):
        raise InputError("no utterance is left", file=str(out))
    with StoreWriter(out, recognizer=identity.name) as store:
        while chunk := list(islice(heard, _CHUNK)):
            for batch in _lattices(chunk, journal, identity, problems, str(out)):
                store.add(batch)


def _lattices(
    items: Sequence[Item], journal: Journal, identity: RecognizerIdentity, problems: Problems, file: str
) -> Iterator[Lattices]:
    """The lattices of some utterances: all at once, or one by one to find the bad one."""
    lines, utts = [journal[_name(item)] for item in items], [item.utt for item in items]
    try:
        yield from list(to_lattices(lines, utts, identity, file))
    except InputError:
        for item, line in zip(items, lines, strict=True):
            try:
                yield to_lattice(line, item.utt, identity, str(item.path))
            except InputError as error:
                problems.report(error)


def _write_about(folder: Path, identity: RecognizerIdentity) -> None:
    with atomic_text(folder / RECOGNIZER) as file:
        file.write(json.dumps(identity.to_dict(), indent=1) + "\n")


def refuse(out: Path, *, by_split: bool) -> None:
    """Say before hours of work what could not be written after them."""
    if not out.resolve().parent.is_dir():
        raise OptionError(f"{out}: there is no folder {out.resolve().parent}")
    if out.is_file() or (out.is_dir() and not by_split and any(out.iterdir()) and not (out / "store.json").is_file()):
        raise OptionError(f"{out}: is there already, and is no store")
