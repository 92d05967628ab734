"""Long segments out of short clips: models learned from sentences, and `transcribe` cuts speech into up to 15 s.

    python -m experiments.long_speech REFS.tsv --audio CLIPS --split dev --limit 150 --out long
    wordtrust recognize long/refs.tsv --by-split --recognizer moonshine --out long/moonshine-tiny
    python -m experiments.conditions moonshine-tiny long/moonshine-tiny/dev --refs long/refs.tsv --out rows

Clips of one speaker follow one another until no further one fits into `--seconds`; the condition says how many words
were said.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import numpy as np
from tools.degraded_speech.conditions import within_range
from tools.degraded_speech.corpus import Row, write_corpus
from tools.sample_sound import RATE, Samples

from wordtrust.audio.audio_file import AudioFile
from wordtrust.formats.references import Reference, read_references
from wordtrust.transcription.manifest import ManifestEntry, read_manifest

Clip = tuple[ManifestEntry, Reference, float]  # with its seconds
_BANDS = ((16, "under 16 words"), (24, "16 to 23 words"), (10**6, "24 words or more"))


def joined(clips: Iterable[Clip], seconds: float) -> Iterator[list[Clip]]:
    """Clips of the same speaker, two at least, as many as fit."""
    part: list[Clip] = []
    for clip in clips:
        same = part and part[0][1].speaker == clip[1].speaker
        if part and (not same or sum(each[2] for each in part) + clip[2] > seconds):
            if len(part) > 1:
                yield part
            part = []
        part.append(clip)
    if len(part) > 1:
        yield part


def segment(clips: list[Clip]) -> tuple[Row, Samples]:
    """The row and the audio of clips that follow one another."""
    samples = [AudioFile.open(entry.path).samples().astype(np.float64) for entry, _, _ in clips]
    (first, reference, _), words = clips[0], [word for _, each, _ in clips for word in each.words]
    together = within_range(np.concatenate(samples))
    condition = next(name for limit, name in _BANDS if len(words) < limit)
    split, speaker = first.split or "all", reference.speaker_or_utt
    row = Row(f"{first.utt}.{len(clips)}", split, speaker, len(together) / RATE, condition, "", " ".join(words))
    return row, together


@click.command(help=__doc__)
@click.argument("refs", type=click.Path(path_type=Path, exists=True))
@click.option("--audio", type=click.Path(path_type=Path))
@click.option("--split")
@click.option("--seconds", default=14.0, show_default=True)
@click.option("--limit", type=int, help="Segments [all].")
@click.option("--out", type=click.Path(path_type=Path), required=True)
def main(refs: Path, audio: Path | None, split: str | None, seconds: float, limit: int | None, out: Path) -> None:
    """Write segments with their references."""
    references = read_references(refs)
    entries = [entry for entry in read_manifest(refs, audio) if split in (None, entry.split)]
    known = sorted(entries, key=lambda entry: (references[entry.utt].speaker_or_utt, entry.utt))
    clips = ((entry, references[entry.utt], AudioFile.open(entry.path).duration or 0.0) for entry in known)
    tasks = [part for part, _ in zip(joined(clips, seconds), range(limit or len(known)), strict=False)]
    rows = write_corpus(out, segment, tasks, jobs=1, overwrite=False)
    click.echo(f"{out}: {len(rows)} segments")


if __name__ == "__main__":
    main()
