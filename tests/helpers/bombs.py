"""Files that are small and would take much time or memory to read, and a way to find out how much they take.

`python -m tests.helpers.bombs FILE ...` reads each file in its own process, with limits, and prints what came of it.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from wordtrust.base.errors import WordtrustError
from wordtrust.base.problems import Problems
from wordtrust.formats import stream_files
from wordtrust.formats.format import ReadOptions

UNPACKED = 4_000_000  # bytes, about as much as any file may unpack to
MEMORY, MEMORY_RATIO = 650_000_000, 50  # bytes of a process that reads nothing, and 500 MB; for each byte of the file
SECONDS, SECONDS_PER_MB = 6.0, 1.0  # the same for the time of the processor: what is free to unpack is read
LONG_SECONDS = 40.0  # for the files in LONG: a tenth of a millisecond for each utterance
LONG = frozenset({  # take a tenth of a millisecond for each of hundreds of thousands of utterances, or the like
    "lattices.slf", "automata.fst.txt", "lines.jsonl", "kinds.jsonl", "bad.jsonl", "lists.nbest.json",
    "lines.nbest.txt", "recordings.ctm", "results.vosk.json", "alternatives.vosk.json", "words.ctm", "arcs.fst.txt",
    "utterances.ark", "text.vosk.json", "text.google.json", "many.nbest.json", "words.whisper.json",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of a file."""

    file: str
    outcome: str  # read, refused, or how it died
    seconds: float
    peak: int  # bytes

    @property
    def is_bounded(self) -> bool:
        """Whether it took as little as was promised."""
        size = Path(self.file).stat().st_size
        is_long = Path(self.file).name.removesuffix(".gz") in LONG
        fast = self.seconds <= (LONG_SECONDS if is_long else SECONDS) + SECONDS_PER_MB * size / 1e6
        return self.outcome in ("read", "refused") and fast and self.peak <= MEMORY + MEMORY_RATIO * size


def read_bounded(files: list[Path]) -> list[Reading]:
    """Read files in processes of their own."""
    command = [sys.executable, "-m", "tests.helpers.bombs", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    return [Reading(**json.loads(line)) for line in done.stdout.splitlines()]


def repeated(unit: str, before: str = "", after: str = "", size: int = UNPACKED) -> bytes:
    """A text of one part again and again."""
    return (before + unit * (size // len(unit)) + after).encode()


def numbered(unit: str, size: int = UNPACKED) -> bytes:
    """The same with a number in each part, where `#` stands."""
    count = size // (len(unit) + 5)
    return "".join([unit.replace("#", str(number)) for number in range(count)]).encode()


TEXTS = {  # by file name: a format, and what there is too much of
    "arcs.ark": lambda: repeated("0 1 a\n", "u\n"),
    "chain.ark": lambda: b"u\n" + b"".join(b"%d %d a 1,1,1\n" % (k, k + 1) for k in range(300_000)) + b"300000\n\n",
    "utterances.ark": lambda: repeated("u\n0 1 a 1,1,1\n1\n\n"),
    "empty.ark": lambda: repeated("u\n\n"),
    "finals.ark": lambda: repeated("0\n", "u\n"),
    "words.ark": lambda: repeated("a-", "u\n0 1 ", " 1,1,1\n1\n\n"),
    "frames.ark": lambda: repeated("0 1 1 a 1,1\n", "u\n"),
    "nodes.slf": lambda: repeated("I=0 t=0\n", "VERSION=1.0\nN=9 L=9\n"),
    "links.slf": lambda: repeated("J=0 S=0 E=1 W=a\n", "VERSION=1.0\nN=2 L=9\nI=0 t=0\nI=1 t=1\n"),
    "lattices.slf": lambda: repeated("VERSION=1.0\nN=2 L=1\nI=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W=a a=1 l=1\n"),
    "header.slf": lambda: repeated("x=1 ", "VERSION=1.0\n", "\nN=2 L=1\nI=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W=a a=1\n"),
    "quotes.slf": lambda: repeated('\\"', 'VERSION=1.0\nN=2 L=1\nI=0 t=0\nI=1 t=1\nJ=0 S=0 E=1 W="', "\n"),
    "nodes.lat": lambda: repeated("0 a 1 1 1\n", "# getcwd: /\n# -logbase 1.0001\nFrames 9\nNodes 9 (NODEID)\n"),
    "arcs.fst.txt": lambda: repeated("0 1 5\n", "", "1\n"),
    "automata.fst.txt": lambda: repeated("0 1 5 5 1\n1\n\n"),
    "lines.jsonl": lambda: repeated('{"wordtrust":1,"time":[0,1],"source":[0],"target":[1],"word":["a"]}\n'),
    "kinds.jsonl": lambda: numbered(
        '{"wordtrust":1,"time":[0,1],"source":[0],"target":[1],"word":["a"],"extra":{"e#":[1]}}\n', 2_000_000
    ),
    "bad.jsonl": lambda: repeated(
        "[]\n", '{"wordtrust":1,"time":[0,1],"source":[0],"target":[1],"word":["a"]}\n', size=2_000_000
    ),
    "time.jsonl": lambda: repeated("1,", '{"wordtrust":1,"time":[', '1],"source":[0],"target":[1],"word":["a"]}\n'),
    "objects.json": lambda: repeated("{},", '{"text": "a", "segments": [', "{}]}"),
    "lists.nbest.json": lambda: repeated('{"utt":"u","nbest":[{"score":-1,"text":"a"}]}\n'),
    "long.nbest.json": lambda: repeated("a ", '{"utt":"u","nbest":[{"score":-1,"text":"', '"}]}\n'),
    "two.nbest.json": lambda: repeated(
        "b c ", f'{{"nbest":[{{"score":-1,"text":"{"a " * 60_000}"}},{{"score":-2,"text":"', '"}]}\n', 240_000
    ),
    "many.nbest.json": lambda: repeated(
        '{"score":-1,"text":"a"},', '{"utt":"u","nbest":[', '{"score":-1,"text":"a"}]}\n'
    ),
    "lines.nbest.txt": lambda: repeated("-1.5\ta\n"),
    "long.nbest.txt": lambda: repeated("a ", "-1.5\t", "\n"),
    "words.ctm": lambda: repeated("u 1 0 0 a\n"),
    "recordings.ctm": lambda: numbered("u# 1 0 1 a\n"),
    "words.whisper.json": lambda: repeated(
        "a ", '{"segments": [{"start": 0, "end": 1, "avg_logprob": -1, "text": "', '"}]}'
    ),
    "text.vosk.json": lambda: repeated("a ", '{"text": "', '"}'),
    "results.vosk.json": lambda: repeated('{"text": "a"}\n'),
    "alternatives.vosk.json": lambda: repeated('{"alternatives": [{"confidence": 1, "text": "a"}]}\n'),
    "text.google.json": lambda: repeated("a ", '{"results": [{"alternatives": [{"transcript": "', '"}]}]}'),
    "text.assemblyai.json": lambda: repeated("a ", '{"status": "completed", "audio_url": "", "text": "', '"}'),
    "digits.txt": lambda: repeated("1", "", "x"),
    "slashes.txt": lambda: repeated("/", "a ", " x"),
    "zeros.bin": lambda: bytes(UNPACKED),
}  # fmt: skip


def write_bombs(folder: Path, *, quick: bool = False) -> list[Path]:
    """One file of each kind, or of those kinds that are quickly read."""
    names = [name for name in TEXTS if not (quick and name in LONG)]
    return [*_packed_texts(folder, names), *_archives(folder), *_binaries(folder)]


def _packed_texts(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    for name in names:
        text = TEXTS[name]()
        path = folder / (f"{name}.gz" if len(text) > 2_100_000 else name)
        path.write_bytes(gzip.compress(text, 1, mtime=0) if path.suffix == ".gz" else text)
        yield path


def _archives(folder: Path) -> Iterator[Path]:
    line, text = TEXTS["lines.jsonl"]()[:68], TEXTS["finals.ark"]()
    with tarfile.open(folder / "members.tar.gz", "w:gz", compresslevel=1) as archive:
        for number in range(1_000):
            member = tarfile.TarInfo(f"{number}.jsonl")
            member.size = len(line)
            archive.addfile(member, io.BytesIO(line))
    yield folder / "members.tar.gz"
    yield _overlapping_zip(folder / "overlap.zip", gzip.compress(text))
    with zipfile.ZipFile(folder / "quine.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(f"{number}.ark.gz", gzip.compress(text))
    yield folder / "quine.zip"


def _overlapping_zip(path: Path, data: bytes) -> Path:
    """A hundred entries for the same bytes."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.ark.gz", data)
    whole = made.getvalue()
    start, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    entry = whole[start:end]
    tail = bytearray(whole[end:])
    tail[8:12] = struct.pack("<HH", 100, 100)
    tail[12:16] = struct.pack("<I", 100 * len(entry))
    path.write_bytes(whole[:start] + entry * 100 + bytes(tail))
    return path


def _binaries(folder: Path) -> Iterator[Path]:
    head = struct.pack("<i", 2125659606) + struct.pack("<i", 6) + b"vector" + struct.pack("<i", 22)
    head += b"compactlattice44" + b"\0" * 6
    for number, states in enumerate((2**31 - 1, 2**62)):
        path = folder / f"states{number}.ark"
        path.write_bytes(b"u " + head + struct.pack("<iiqqqq", 2, 0, 0, 0, states, 2**31) + b"\0" * 4000)
        yield path


def _read(path: str) -> str:
    try:
        for batch in stream_files(path, ReadOptions(), Problems(skip=True)):
            len(batch)
    except WordtrustError:
        return "refused"
    return "read"


def _in_a_fork(path: str) -> Reading:
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        signal.alarm(300)
        try:
            os._exit(0 if _read(path) == "read" else 1)
        except BaseException as error:  # whatever it is, it is not ours
            os.write(2, f"{path}: {type(error).__name__}: {error}\n".encode())
            os._exit(2)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    outcome = {0: "read", 1: "refused", 2: "another error"}.get(code, f"signal {-code}")
    return Reading(path, outcome, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def main() -> None:
    """Read the files that are named, after samples of all formats: so kernels are there before the clock runs."""
    samples = Path(__file__).parents[1] / "samples"
    for path in sorted(samples.rglob("*")):
        if path.is_file() and path.suffix != ".parquet" and path.name != "store.json":
            _read(str(path))
    for name in sys.argv[1:]:
        sys.stdout.write(json.dumps(asdict(_in_a_fork(name))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
