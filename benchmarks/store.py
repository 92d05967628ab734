"""How fast a store is read, against plain Python over the Kaldi text that it came from, in one run."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from benchmarks import synthetic
from benchmarks.kaldi import REAL
from benchmarks.plain import kaldi as plain
from benchmarks.timing import best
from wordtrust import stream, write


def _read(path: Path) -> int:
    return sum(len(batch.source) for batch in stream(path))


def run() -> None:
    """Print megabytes and arcs a second, the ratio to plain Python, and the size against packed text."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if REAL.is_dir():
            packed = REAL / "train.ark.gz"
        else:
            packed = folder / "made.ark.gz"
            write(synthetic.lattices(), packed)
        text, store = folder / "text.ark", folder / "corpus.store"
        text.write_bytes(gzip.decompress(packed.read_bytes()))
        words = _words(packed.parent)
        write(stream(packed), store)
        size, arcs = sum(file.stat().st_size for file in store.iterdir()), _read(store)
        ours, theirs = best(lambda: _read(store), lambda: _plain(text, words), rounds=5)
        print(
            f"store: {ours:.3f} s, {size / ours / 1e6:.0f} MB/s, {arcs / ours:,.0f} arcs/s; plain Python, from text, "
            f"{theirs:.3f} s, {text.stat().st_size / theirs / 1e6:.0f} MB/s: {theirs / ours:.0f} times as fast; "
            f"{size / 1e6:.1f} MB on disk, .ark.gz {packed.stat().st_size / 1e6:.1f} MB"
        )


def _words(folder: Path) -> dict[str, str]:
    packed = folder / "words.txt.gz"
    with gzip.open(packed, "rt") if packed.is_file() else (folder / "words.txt").open() as file:
        return plain.read_words(file)


def _plain(text: Path, words: dict[str, str]) -> int:
    with text.open() as file:
        return len(plain.read_text(file, words))


if __name__ == "__main__":
    run()
