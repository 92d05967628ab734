"""How much memory streaming a corpus takes: the peak of a process of its own, in which nothing else is done.

The peak is what Linux says of that process (resource.getrusage would count its parent too).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import synthetic
from benchmarks.timing import SHARED
from wordtrust import stream, write

REAL = SHARED / "kaldi-small-2020"
UTTERANCES = 7_000
_CODE = """
import sys, wordtrust
count = sum(len(batch) for batch in wordtrust.stream(sys.argv[1:]))
[peak] = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(count, int(peak.split()[1]) // 1024)
"""


def _peak(*paths: Path) -> tuple[int, int]:
    command = [sys.executable, "-c", _CODE, *map(str, paths)]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    utterances, megabytes = shown.split()
    return int(utterances), int(megabytes)


def run() -> None:
    """Print the peak for text and for a store, real lattices if they are there; importing alone for comparison."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "corpus.store"
        texts = sorted(REAL.glob("*.ark.gz")) + sorted(REAL.glob("dev.ark.gz"))
        if texts:
            print("streaming {} lattices of Kaldi text: {} MB at most".format(*_peak(*texts)))
            write(stream(texts), store)
        else:
            write(synthetic.lattices(UTTERANCES), store)
        print("streaming {} lattices of a store: {} MB at most".format(*_peak(store)))
        empty = Path(folder) / "empty.store"
        write([], empty)
        print("importing and reading nothing: {1} MB".format(*_peak(empty)))


if __name__ == "__main__":
    run()
