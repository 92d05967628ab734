"""How fast HTK lattices are read: from text to checked lattices against a plain line-by-line parser of the same text.

Run with `python -m benchmarks.htk`. Made-up lattices have words on links and two scores; the developers' real ones
(PocketSphinx: words on nodes, scores of eight digits, posteriors with exponents) are taken where they are.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks import synthetic
from benchmarks.plain import htk as plain
from benchmarks.timing import SHARED, best
from wordtrust.base.problems import Problems
from wordtrust.formats import htk
from wordtrust.formats.format import ReadOptions, WriteOptions
from wordtrust.formats.htk.write import write
from wordtrust.formats.inputs import Stream

REAL = SHARED / "formats" / "pocketsphinx.slf.tar"
MADE_UP = 3_000  # lattices


def made_up() -> list[bytes]:
    """The texts of made-up lattices."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.slf"
        write(synthetic.lattices(MADE_UP), path, WriteOptions())
        head, *texts = path.read_bytes().split(b"# Written")
    return [head + b"# Written" + text for text in texts]


def real() -> list[bytes]:
    """The texts of PocketSphinx lattices."""
    with tarfile.open(REAL) as archive:
        files = [archive.extractfile(member) for member in archive]
        return [gzip.decompress(file.read()) for file in files if file]


def _read(texts: Iterable[bytes]) -> int:
    arcs = 0
    for text in texts:
        stream = Stream(io.BytesIO(text), "benchmark.slf", Path("benchmark.slf"))
        arcs += sum(len(batch.source) for batch in htk.read(stream, ReadOptions(), Problems()))
    return arcs


def _parse(texts: Iterable[bytes]) -> int:
    return sum(len(plain.read(text.decode())[2]) for text in texts)


def measure(name: str, texts: list[bytes], files: list[bytes]) -> float:
    """Print how long `files` take to read, and how many times as long the plain parser takes for `texts`."""
    arcs, size = _read(files), sum(map(len, texts))  # compiles the kernels
    ours, theirs = best(lambda: _read(files), lambda: _parse(texts), rounds=5)
    print(
        f"HTK lattices, {name}: {size / ours / 1e6:.0f} MB/s, {arcs / ours:,.0f} arcs/s; "
        f"{theirs / ours:.1f} times as fast as plain Python ({size / theirs / 1e6:.0f} MB/s)"
    )
    return theirs / ours


def run() -> None:
    """Print megabytes and arcs a second, and the ratio to the plain parser."""
    sets = {"made up": made_up()} | ({"real": real() * 5} if REAL.is_file() else {})
    for name, texts in sets.items():
        measure(f"{name}, {len(texts)} in one file", texts, [b"".join(texts)])
        measure(f"{name}, {len(texts)} files", texts, texts)


if __name__ == "__main__":
    run()
