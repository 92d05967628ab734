"""Speech in other languages through a recognizer of English: does it tell, and how often wrongly?

    python -m experiments.other_languages records --english degraded/refs.tsv --limit 300 --out records.jsonl
    python -m experiments.other_languages rates records.jsonl
    python -m experiments.other_languages corpus de --out german

`records` speaks the sentences of language_texts.py with espeak-ng, cuts them as `wordtrust transcribe` does, and
keeps what the recognizer answers; `--english` are clips in English (a table that `wordtrust recognize` takes, with a
column `condition`), the hardest there are: degraded ones. `rates` prints how many segments are called not English, of
each language and condition. The limit was chosen on German, French and Spanish of two voices and on dev clips.
`corpus` writes the sentences of a language, spoken by several voices, half of them with noise, for `wordtrust
recognize german/refs.tsv --recognizer whisper=base --language de`, `build` and `evaluate generic`.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from tools.degraded_speech.conditions import with_noise, within_range
from tools.degraded_speech.corpus import Row, write_corpus
from tools.sample_sound import RATE, Samples, coloured_noise, random_of, speak

from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.segments import segments
from wordtrust.base.table import Table
from wordtrust.recognizers.languages import foreign_reason, language_warnings
from wordtrust.recognizers.registry import loader
from wordtrust.transcription.manifest import read_manifest

from .conditions import conditions_of
from .language_texts import TEXTS, VOICES

_ESPEAK = ("espeak-ng", "-w", "{wav}", "-s", "140", "-v")


def foreign_speech() -> Iterator[tuple[str, Samples]]:
    """A name and the samples of every sentence by every voice."""
    for language, sentences in TEXTS.items():
        for use, variants in VOICES.items():
            for variant in variants:
                for text in sentences:
                    yield f"{language}, {use} voices", speak((*_ESPEAK, language + variant, "{text}"), text) * 0.3


def english_speech(refs: Path, limit: int | None) -> Iterator[tuple[str, Samples]]:
    """The condition and the samples of some clips."""
    conditions = conditions_of(refs, "condition")
    entries = sorted(read_manifest(refs), key=lambda entry: zlib.crc32(entry.utt.encode()))
    for entry in entries[:limit]:
        yield f"en, {conditions[entry.utt]}", AudioFile.open(entry.path).samples().astype(np.float64)


@click.group(help=__doc__)
def main() -> None:
    """Records of a recognizer, and rates."""


@main.command()
@click.option("--recognizer", default="moonshine", show_default=True)
@click.option("--english", multiple=True, type=click.Path(path_type=Path))
@click.option("--limit", type=int)
@click.option("--out", type=click.Path(path_type=Path), required=True)
def records(recognizer: str, english: tuple[Path, ...], limit: int | None, out: Path) -> None:
    """Recognise, and keep the answers."""
    engine = loader(recognizer)()
    with out.open("w", encoding="utf-8") as file:
        for group, samples in _speech(english, limit):
            for segment in segments([samples.astype("f4")]):
                kept = {"group": group, "seconds": len(segment.samples) / RATE, "speech": segment.speech}
                kept["record"] = engine.recognize(segment.samples)
                file.write(json.dumps(kept, ensure_ascii=False, default=float) + "\n")


def _speech(english: Iterable[Path], limit: int | None) -> Iterator[tuple[str, Samples]]:
    yield from foreign_speech()
    for refs in english:
        yield from english_speech(refs, limit)


@dataclass(frozen=True)
class Sentences:
    """Makes the row and the audio of a sentence by a voice."""

    language: str

    def __call__(self, task: tuple[str, int]) -> tuple[Row, Samples]:
        """Every second sentence has noise at 3 to 15 dB."""
        variant, number = task
        text, utt = TEXTS[self.language][number], f"{self.language}{variant.replace('+', '-')}-{number}"
        samples = np.pad(speak((*_ESPEAK, self.language + variant, "{text}"), text) * 0.3, RATE // 4)
        random, detail = random_of(utt), "clean"
        if number % 2:
            snr = float(random.uniform(3, 15))
            samples, detail = with_noise(samples, coloured_noise(len(samples), 1.0, random, 60), snr), f"{snr:.1f} dB"
        samples = within_range(samples)
        return Row(utt, "eval", f"espeak{variant}", len(samples) / RATE, self.language, detail, text), samples


@main.command()
@click.argument("language", type=click.Choice(list(TEXTS)))
@click.option("--out", type=click.Path(path_type=Path), required=True)
def corpus(language: str, out: Path) -> None:
    """Sentences of a language as audio with references."""
    variants = ("", "+f2", "+m3", "+f4", "+m7", "+f5", "+m1", "+f1")
    tasks = [(variant, number) for variant in variants for number in range(len(TEXTS[language]))]
    rows = write_corpus(out, Sentences(language), tasks, jobs=1, overwrite=False)
    click.echo(f"{out}: {len(rows)} utterances")


@main.command()
@click.argument("records", type=click.Path(path_type=Path, exists=True))
def rates(records: Path) -> None:
    """The shares of segments that are called not English, and whose words are left out for it."""
    sizes, called, left_out = Counter[str](), Counter[str](), Counter[str]()
    for line in records.read_text("utf-8").splitlines():
        kept = json.loads(line)
        group, heard, seconds = kept["group"], kept["record"], kept["seconds"]
        sizes[group] += 1
        called[group] += bool(language_warnings(json.dumps(heard), seconds))
        left_out[group] += foreign_reason(heard, seconds) is not None
    rows = tuple(
        (group, f"{size:,}", f"{called[group] / size:.3f}", f"{left_out[group] / size:.3f}")
        for group, size in sorted(sizes.items())
    )
    table = Table("Segments that are called not English", ("speech", "segments", "called", "left out"), rows)
    click.echo(table.to_markdown())


if __name__ == "__main__":
    main()
