"""Clips of a folder or a tar file under random conditions."""

from __future__ import annotations

import io
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
import soxr

from tools.degraded_speech.conditions import CONDITIONS, HELD_OUT, Scene, within_range
from tools.degraded_speech.corpus import Row
from tools.sample_sound import RATE, Samples, random_of
from wordtrust.audio.listing import SUFFIXES


@dataclass(frozen=True)
class Clip:
    """What a row of refs.tsv says about a clip."""

    utt: str
    split: str
    speaker: str
    text: str


class Clips:
    """The clips of a table of references whose audio is in a folder or a tar file, called like the utterances."""

    def __init__(self, audio: Path, references: Path) -> None:
        self.audio = audio
        self._at = dict(_in_tar(audio) if audio.is_file() else _in_folder(audio))
        rows = [clip for clip in _rows(references) if clip.utt in self._at]
        if not rows:
            raise SystemExit(f"{audio}: has none of the utterances of {references}")
        self.clips = {clip.utt: clip for clip in rows}

    def samples(self, utt: str) -> Samples:
        """The audio of a clip: one channel at RATE."""
        path, offset, size = self._at[utt]
        with path.open("rb") as file:
            file.seek(offset)
            sound, rate = soundfile.read(io.BytesIO(file.read(size)), always_2d=True)
        return np.asarray(soxr.resample(sound.mean(axis=1), rate, RATE) if rate != RATE else sound.mean(axis=1))

    def others(self, clip: Clip, count: int, random: np.random.Generator) -> list[Samples]:
        """What others say in the same split: any `count` clips of other speakers, some twice where there are few."""
        among = [other.utt for other in self.clips.values() if other.split == clip.split]
        among = [utt for utt in among if self.clips[utt].speaker != clip.speaker] or [clip.utt]
        return [self.samples(among[int(drawn)]) for drawn in random.integers(len(among), size=count)]


def _in_tar(path: Path) -> Iterator[tuple[str, tuple[Path, int, int]]]:
    with tarfile.open(path, "r:") as tar:
        for member in tar:
            if member.isfile() and Path(member.name).suffix.lower() in SUFFIXES:
                yield Path(member.name).stem, (path, member.offset_data, member.size)


def _in_folder(path: Path) -> Iterator[tuple[str, tuple[Path, int, int]]]:
    for file in sorted(path.rglob("*")):
        if file.suffix.lower() in SUFFIXES:
            yield file.stem, (file, 0, file.stat().st_size)


def _rows(references: Path) -> Iterator[Clip]:
    header, *lines = references.read_text("utf-8").splitlines()
    names = header.split("\t")
    for line in lines:
        row = dict(zip(names, line.split("\t"), strict=True))
        yield Clip(row["utt"], row["split"], row["speaker"], row["text"])


@dataclass(frozen=True)
class Degrading:
    """Clips and what is to be done with them; called with a clip and a condition, makes a row."""

    clips: Clips
    seed: int

    def tasks(
        self, conditions: Sequence[str], splits: Sequence[str], per_clip: int, limit: int | None
    ) -> list[tuple[str, str]]:
        """Clips and conditions: `per_clip` different ones for each of (at most `limit`) clips of every split."""
        made = []
        for split in splits:
            allowed = [name for name in conditions if split != "train" or name not in HELD_OUT]
            utts = [clip.utt for clip in self.clips.clips.values() if clip.split == split]
            for utt in sorted(utts, key=lambda name: zlib.crc32(name.encode()))[:limit]:
                drawn = random_of(f"{self.seed} {utt} conditions").permutation(len(allowed))[:per_clip]
                made += [(utt, allowed[number]) for number in sorted(drawn.tolist())]
        return made

    def __call__(self, task: tuple[str, str]) -> tuple[Row, Samples]:
        """A clip under a condition."""
        utt, condition = task
        clip, random = self.clips.clips[utt], random_of(f"{self.seed} {utt} {condition}")
        scene = Scene(random, lambda count: self.clips.others(clip, count, random))
        samples, detail = CONDITIONS[condition](self.clips.samples(utt), scene)
        samples = within_range(samples)
        row = Row(f"{utt}.{condition}", clip.split, clip.speaker, len(samples) / RATE, condition, detail, clip.text)
        return row, samples
