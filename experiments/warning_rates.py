"""How often warnings about unusual speech come, by condition.

    python -m experiments.warning_rates sound degraded/refs.tsv --by condition
    python -m experiments.warning_rates sound REFS.tsv --audio CLIPS --split dev
    python -m experiments.warning_rates words MODEL OUTPUTS...

`sound` reads audio (a manifest as `wordtrust recognize` takes it), `words` what a recognizer heard, or networks.
Prints the share of utterances that have each warning; of degraded clips with noise also by their true ratio.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from wordtrust import load, stream
from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.quality import audio_quality
from wordtrust.base.table import Table
from wordtrust.transcription.manifest import read_manifest

from .conditions import conditions_of

_RATIO = re.compile(r"at (-?[\d.]+) dB")  # in the column `detail`
_BANDS = ((-99.0, 8.0, "under 8 dB"), (8.0, 13.0, "8 to 13 dB"), (13.0, 99.0, "over 13 dB"))


def table_of(rows: Iterable[tuple[str, Iterable[str]]]) -> Table:
    """A row for each group: utterances, and the share of them that have each warning."""
    sizes, counts = Counter[str](), Counter[tuple[str, str]]()
    for group, names in rows:
        sizes[group] += 1
        counts.update((group, name) for name in set(names))
    columns = sorted({name for _, name in counts})
    shares = (
        (group, f"{size:,}", *(f"{counts[group, name] / size:.3f}" for name in columns))
        for group, size in sorted(sizes.items())
    )
    return Table("Share of utterances with each warning", ("", "utterances", *columns), tuple(shares))


def sound_warnings(
    refs: Path, audio: Path | None, split: str | None, by: str | None
) -> Iterator[tuple[str, list[str]]]:
    """The group of each utterance and the warnings about its sound."""
    groups = conditions_of(refs, by) if by else {}
    details = conditions_of(refs, "detail") if by else {}
    for entry in read_manifest(refs, audio):
        if split is None or entry.split == split:
            quality = audio_quality(AudioFile.open(entry.path).samples(entry.start or 0.0, entry.end))
            group = groups.get(entry.utt, "all")
            yield group + _band(group, details.get(entry.utt, "")), [each.name for each in quality.warnings()]


def _band(group: str, detail: str) -> str:
    ratio = _RATIO.search(detail)
    if group not in ("noise", "babble") or ratio is None:
        return ""
    return next(f", {name}" for low, high, name in _BANDS if low <= float(ratio[1]) < high)


@click.group(help=__doc__)
def main() -> None:
    """Warnings about sound, or about words and scores."""


@main.command()
@click.argument("refs", type=click.Path(path_type=Path))
@click.option("--audio", type=click.Path(path_type=Path))
@click.option("--split")
@click.option("--by", help="The column that says the condition.")
def sound(refs: Path, audio: Path | None, split: str | None, by: str | None) -> None:
    """Noise, level and clipping."""
    click.echo(table_of(sound_warnings(refs, audio, split, by)).to_markdown())


@main.command()
@click.argument("model")
@click.argument("outputs", nargs=-1, required=True)
def words(model: str, outputs: tuple[str, ...]) -> None:
    """Unknown words, strange scores, speed."""
    scorer = load(model, allow_mismatch=True)
    rows = (
        (path, [warning.name for warning in transcript.warnings])
        for path in outputs
        for batch in stream(path)
        for transcript in scorer(batch, alternatives=0)
        if transcript.words
    )
    click.echo(table_of(rows).to_markdown())


if __name__ == "__main__":
    main()
