"""How fast Kaldi lattices are read, from text, packed text and binary, against plain Python on the same files.

Run with `python -m benchmarks.kaldi`. It takes the developers' real lattices where they are, else made-up ones. Both
sides look words up in a symbol table that was read before; ours also normalises words, checks and orders the graphs
and gives them times. The first round, which compiles and meets all words for the first time, does not count.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import synthetic
from benchmarks.plain import kaldi as plain
from benchmarks.timing import SHARED, best
from wordtrust.formats import stream, write

REAL = SHARED / "kaldi-small-2020"


@dataclass(frozen=True, slots=True)
class Result:
    """Seconds that reading takes, for `size` bytes (unpacked) and `arcs` arcs."""

    name: str
    ours: float
    plain: float
    size: int
    arcs: int

    @property
    def ratio(self) -> float:
        """How many times as fast as plain Python."""
        return self.plain / self.ours

    def __str__(self) -> str:
        return (
            f"Kaldi {self.name}: {self.ours:.3f} s, {self.size / self.ours / 1e6:.0f} MB/s, "
            f"{self.arcs / self.ours:,.0f} arcs/s; plain Python {self.plain:.3f} s, "
            f"{self.size / self.plain / 1e6:.0f} MB/s: {self.ratio:.1f} times as fast"
        )


def _files(folder: Path) -> tuple[Path, Path]:
    """A packed text archive and its symbol table."""
    if REAL.is_dir():
        return REAL / "train.ark.gz", REAL / "words.txt.gz"
    write(synthetic.lattices(), folder / "made.ark.gz", frame_length=synthetic.FRAME)
    return folder / "made.ark.gz", folder / "words.txt"


def _read_words(path: Path) -> dict[str, str]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return plain.read_words(file)


def _ours(path: Path, words: Path) -> int:
    return sum(len(batch.source) for batch in stream(path, words=words, frame_length=synthetic.FRAME))


def _measure(name: str, size: int, ours: Callable[[], int], theirs: Callable[[], object]) -> Result:
    arcs = ours()
    mine, other = best(ours, theirs, rounds=5)
    return Result(name, mine, other, size, arcs)


def results() -> Iterator[Result]:
    """Text, packed text and binary, one after the other."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        packed, words = _files(folder)
        table = _read_words(words)
        text, binary = folder / "text.ark", folder / "binary.ark"
        text.write_bytes(gzip.decompress(packed.read_bytes()))
        size = text.stat().st_size

        def plain_text() -> object:
            with text.open() as file:
                return plain.read_text(file, table)

        def plain_packed() -> object:
            with gzip.open(packed, "rt") as file:
                return plain.read_text(file, table)

        def plain_binary() -> object:
            return plain.read_binary(binary.read_bytes(), by_number)

        yield _measure("text", size, lambda: _ours(text, words), plain_text)
        yield _measure("text.gz", size, lambda: _ours(packed, words), plain_packed)
        with text.open() as file:
            lattices = plain.read_text(file, table)
        numbers = {word: int(number) for number, word in table.items()}
        by_number = {number: word for word, number in numbers.items()}
        binary.write_bytes(plain.write_binary(lattices, numbers))
        del lattices
        yield _measure("binary", binary.stat().st_size, lambda: _ours(binary, words), plain_binary)


def run() -> list[Result]:
    """Print each result as it comes."""
    found = []
    for result in results():
        print(result, flush=True)
        found.append(result)
    return found


if __name__ == "__main__":
    run()
