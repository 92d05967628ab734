"""Lattices as Kaldi text: a CompactLattice archive, and beside it the symbol table that its word numbers need.

What the format cannot hold: times are whole frames, so *node* times are rounded (a word of less than half a frame
may get none) and count from the start of the lattice; scores are written with their scales in them, those that are
absent as 0; transition ids are placeholders, all 1; names and words have no blanks, `_` stands for them. Surface
forms are what is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np

from ...base.errors import OptionError
from ...base.files import atomic_text, is_stream
from ...base.locks import claimed
from ...lattices.lattice import Floats, Ints, Lattice, Lattices
from ...lattices.weights import weighed_scores
from ..format import WORDS_FILES, ReadOptions, WriteOptions
from ..symbols import Symbols
from .lattices import FRAME_LENGTH

_EPSILON = "<eps>"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")  # what would act on a terminal
_MAX_FRAMES = 10_000_000  # of an utterance: a day


def write(batches: Iterable[Lattices], path: Path, options: WriteOptions) -> None:
    """Write all utterances to one archive.

    The symbol table of its folder (words.txt) keeps the words that it has and gets the new ones at its end; a frame
    length other than 0.01 is noted in a recognizer.json. No file there says where anything is written. Archives of a
    folder are written one after another: two at once would give one number to two words.
    """
    if is_stream(path):
        raise OptionError(f"{path}: a Kaldi archive has a symbol table beside it: name a file in a folder")
    used = ReadOptions().beside(path)
    if used.acoustic_weight is not None or used.word_ins_penalty is not None:
        raise OptionError(
            f"{path.parent / 'recognizer.json'} says how the costs of lattices there are to be weighed, and those "
            "that are written are weighed already: write to another folder"
        )
    table_path = _table_path(path.parent, used.words)
    with claimed(table_path):
        _write(batches, path, options, used, _SymbolTable(table_path))


def _write(
    batches: Iterable[Lattices], path: Path, options: WriteOptions, used: ReadOptions, table: _SymbolTable
) -> None:
    batches = iter(batches)
    first = next(batches, None)
    frame_length = options.frame_length or (first.origin.frame_length if first else None) or FRAME_LENGTH
    with atomic_text(path) as file:
        for batch in chain([] if first is None else [first], batches):
            labels = table.labels(batch)
            for row, lattice in enumerate(batch):
                arcs = slice(batch.arc_offsets[row], batch.arc_offsets[row + 1])
                _write_one(file, lattice, labels[arcs], frame_length)
        # Before the archive appears: what reads it needs them.
        table.save()
        _note_frame_length(path.parent / "recognizer.json", used.frame_length, frame_length)


def _table_path(folder: Path, used: Path | None) -> Path:
    """Where the symbol table of a folder is written: a file of that name in the folder itself, and nothing else."""
    path = used or folder / WORDS_FILES[0]
    if path not in [folder / name for name in WORDS_FILES]:
        raise OptionError(
            f"{folder / 'recognizer.json'} names the symbol table {path.name!r}, and new words are written to "
            f"{WORDS_FILES[0]} only: write to another folder"
        )
    for each in (path, folder / "recognizer.json"):
        if each.is_symlink():
            raise OptionError(f"{each} is a link, which is not written through: write to another folder")
    return path


def _write_one(file: TextIO, lattice: Lattice, labels: Ints, frame_length: float) -> None:
    frames = np.rint((lattice.time - lattice.time[0]) / frame_length)
    if frames[-1] > _MAX_FRAMES:
        raise OptionError(
            f"utterance {lattice.utt} is {frames[-1]:,.0f} frames of {frame_length} s long, and Kaldi has an id for "
            f"each: cut it, or use a longer --frame-length"
        )
    lengths = (frames[lattice.target] - frames[lattice.source]).astype(int)
    ids = {length: "_".join(["1"] * length) for length in np.unique(lengths).tolist()}
    acoustic, transition = weighed_scores(lattice)
    columns = (lattice.source, lattice.target, labels, _costs(transition, lattice), _costs(acoustic, lattice))
    rows = zip(*(column.tolist() for column in (*columns, lengths)), strict=True)
    file.write(f"{_unbroken(lattice.utt)}\n")
    for source, target, label, graph, acoustic, length in rows:
        file.write(f"{source}\t{target}\t{label}\t{graph},{acoustic},{ids[length]}\n")
    file.write(f"{lattice.nodes - 1}\n\n")


def _costs(scores: Floats | None, lattice: Lattice) -> np.ndarray:
    """Scores as costs, in as few digits as give the same single-precision number again."""
    return (np.float32(0) - scores if scores is not None else np.zeros(lattice.arcs, np.float32)).astype(str)


def _unbroken(text: str) -> str:
    return _CONTROL.sub("\ufffd", "_".join(text.split())) or "_"


class _SymbolTable:
    """The symbol table that grows while lattices are written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._old: list[tuple[str, int]] = [(_EPSILON, 0)]
        if path.is_file():
            symbols = Symbols.load(path)
            words = symbols.words(symbols.ids)
            self._old = [(word, word_id) for word, word_id in zip(words, symbols.ids.tolist(), strict=True) if word]
        # Number 0 is no word to any reader, whatever a table says.
        self._ids = {word: word_id for word, word_id in self._old if word_id > 0} | {"": 0, _EPSILON: 0}
        self._next = max([0, *(word_id for _, word_id in self._old)]) + 1
        self._new: list[tuple[str, int]] = []

    def labels(self, batch: Lattices) -> Ints:
        """The number of every arc's word."""
        size = len(batch.vocabulary)
        pairs, inverse = np.unique(batch.surface.astype(np.int64) * size + batch.word, return_inverse=True)
        texts = [(batch.vocabulary[pair // size], batch.vocabulary[pair % size]) for pair in pairs.tolist()]
        word_ids = [self._id(surface or word) for surface, word in texts]
        return np.array(word_ids, np.int32)[inverse]

    def _id(self, text: str) -> int:
        text = _unbroken(text) if text else ""
        word_id = self._ids.get(text)
        if word_id is None:
            word_id = self._ids[text] = self._next
            self._new.append((text, word_id))
            self._next += 1
        return word_id

    def save(self) -> None:
        """Write the table if it has new words."""
        if self._new or not self._path.is_file():
            with atomic_text(self._path) as file:
                file.writelines(f"{word} {word_id}\n" for word, word_id in (*self._old, *self._new))


def _note_frame_length(path: Path, noted: float | None, frame_length: float) -> None:
    """Readers must learn the frame length from somewhere."""
    if path.is_file():
        if (noted or FRAME_LENGTH) != frame_length:
            raise OptionError(
                f"{path} says that frames here are {noted or FRAME_LENGTH} s long, not {frame_length}: "
                f"write to another folder, or with --frame-length {noted or FRAME_LENGTH}"
            )
    elif frame_length != FRAME_LENGTH:
        with atomic_text(path) as file:
            file.write(json.dumps({"frame_length": frame_length}) + "\n")
