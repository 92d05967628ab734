"""Lattices in batches, wherever they come from: files, folders, globs, or what was read already.

What is counted, fitted or kept must hold every utterance once (`unique_utterances`) and be of one recognizer
(`one_recognizer`): figures would count some utterances twice, and a store or model has the name of one recognizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.problems import Problems
from ..lattices.batching import as_batches
from ..lattices.lattice import Lattice, Lattices, Origin, concatenate
from . import stream_files
from .format import ReadOptions
from .transcript import is_record, record_lattices

BatchSource = Lattice | Lattices | str | Path | Iterable[Any]  # of the same, or of transcripts


def read_batches(
    source: BatchSource, problems: Problems | None = None, options: ReadOptions = ReadOptions()
) -> Iterator[Lattices]:
    """Batches of lattices or networks, read from files unless they are given; every utterance has to come once."""
    return unique_utterances(_batches(source, problems, options), problems)


def files_of(source: BatchSource) -> list[str | Path] | None:
    """The files, folders and globs that a source names; None if it is something else."""
    if isinstance(source, str | Path):
        return [source]
    if isinstance(source, list | tuple) and all(isinstance(part, str | Path) for part in source):
        return list(source)
    return None


def _batches(source: BatchSource, problems: Problems | None, options: ReadOptions) -> Iterator[Lattices]:
    if isinstance(source, Lattice | Lattices):
        yield from as_batches(source)
    elif isinstance(source, str | Path):
        yield from stream_files(source, options, problems)
    elif isinstance(source, list | tuple) and source and is_record(source[0]):
        yield from record_lattices(source, problems)
    elif is_record(source):
        yield from record_lattices([source], problems)
    elif isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        raise TypeError(f"files, lattices or transcripts are needed, not {type(source).__name__}")
    else:
        for part in source:
            yield from _batches(part, problems, options)


def unique_utterances(batches: Iterable[Lattices], problems: Problems | None = None) -> Iterator[Lattices]:
    """The batches; an utterance whose name came before is bad input, and left out where `problems` skips that.

    Keeps the names of all utterances: about 120 MB for a million.
    """
    problems, first = problems or Problems(), dict[str, str]()
    for batch in batches:
        names = dict.fromkeys(batch.utts, _input_of(batch.origin))
        if not batch.files and len(names) == len(batch.utts) and first.keys().isdisjoint(names):
            first.update(names)
            yield batch
            continue
        kept = []
        for lattice in batch:
            file = _input_of(lattice.origin)
            if lattice.utt in first:
                problems.report(_repeated(lattice.utt, file, first[lattice.utt]))
            else:
                first[lattice.utt] = file
                kept.append(lattice.batch())
        if kept:
            yield concatenate(kept)


def _input_of(origin: Origin) -> str:
    return origin.container or origin.file


def _repeated(utt: str, file: str, first: str) -> InputError:
    if file == first:
        found, remedy = "the utterance is there a second time", "Keep one of the two, or give the file once"
    elif _are_one(file, first):
        found, remedy = f"the utterance came before, from the same file as {first}", "Give the file once"
    else:
        found, remedy = f"the utterance came before, in {first}", "Keep one of the two"
    return InputError(found, file=file, utt=utt, remedy=f"{remedy}, or go on without the second one (--skip-bad)")


def _are_one(file: str, other: str) -> bool:
    try:
        return Path(file).samefile(other)
    except (OSError, ValueError):  # members of archives have names of their own
        return False


def one_recognizer(batches: Iterable[Lattices], remedy: str) -> Iterator[Lattices]:
    """The batches; an error as soon as one comes from another recognizer than the first, with what to do."""
    first: Origin | None = None
    for batch in batches:
        first = first or batch.origin
        require_same_recognizer(first, batch.origin, remedy)
        yield batch


def require_same_recognizer(first: Origin, other: Origin, remedy: str) -> None:
    """An error that names both, if these come from different recognizers; one without a name is another one."""
    if first.recognizer != other.recognizer:
        named, unnamed = (first, other) if first.recognizer else (other, first)
        if unnamed.recognizer:
            found = (
                f"these are of the recognizer {other.recognizer}, those in {_input_of(first)} of {first.recognizer}"
            )
        else:
            found = f"{_input_of(unnamed)} has no recognizer's name, {_input_of(named)} is of {named.recognizer}"
            remedy = (
                f'{remedy}; if it is the same one, put a recognizer.json with {{"name": "{named.recognizer}"}} there'
            )
        raise InputError(found, file=_input_of(other), remedy=remedy)
