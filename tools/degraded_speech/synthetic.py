"""Synthetic speech by Debian's voices: other ones in every split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tools.degraded_speech.conditions import CONDITIONS, HELD_OUT, WITH_OTHERS, Scene, within_range
from tools.degraded_speech.corpus import Row
from tools.degraded_speech.texts import TEXTS
from tools.sample_sound import RATE, VOICES, Samples, random_of, speak

SPLITS = ("train", "dev", "eval")
_ESPEAK = ("espeak-ng", "-w", "{wav}", "-v")
_MORE = {
    "train": ("en-gb+f2", "en-us+m1", "en-gb-scotland+m4", "en-029+f4", "en-gb-x-gbclan+m2", "en-us+Andrea",
              "en-us+klatt2"),
    "dev": ("en-gb-x-gbcwmd+f1", "en-us+m5", "en-gb+Annie"),
    "eval": ("en-gb-scotland+f5", "en-us-nyc+m6", "en-gb-x-rp+linda"),
}  # fmt: skip
_SHARE_DEGRADED = 0.5
_PAUSE = (0.1, 0.5)  # seconds before and after the words
_PEAK = (0.1, 0.7)  # of full scale


def voices(split: str) -> dict[str, tuple[str, ...]]:
    """The voices of a split: those of the bundled corpus, and more of espeak's at speeds of their own."""
    more = {}
    for name in _MORE[split]:
        words = str(random_of(f"speed of {name}").integers(120, 175))
        more[f"espeak-{name.replace('+', '-').lower()}"] = (*_ESPEAK, name, "-s", words, "{text}")
    return VOICES[split] | more


@dataclass(frozen=True)
class Utterance:
    """Something to be said."""

    utt: str
    split: str
    voice: str
    kind: str


def utterances(counts: Mapping[str, int], seed: int) -> list[Utterance]:
    """As many for every split; kinds take turns, voices are drawn."""
    made, kinds = [], list(TEXTS)
    for split, count in counts.items():
        names = list(voices(split))
        for number in range(count):
            voice = names[int(random_of(f"{seed} {split} {number} voice").integers(len(names)))]
            kind = kinds[number % len(kinds)]
            made.append(Utterance(f"{voice}-{kind}-{number:04d}", split, voice, kind))
    return made


def spoken_text(text: str, random: np.random.Generator) -> str:
    """As a voice should read it: letters in capitals, with commas where they are said one by one or are an A."""
    words = [word.upper() if len(word) == 1 and word not in "ai" else word for word in text.split()]
    is_spelled = [len(word) == 1 for word in words]
    comma = random.random() < 0.5
    for at, word in enumerate(words):
        beside = is_spelled[max(0, at - 1) : at] + is_spelled[at + 1 : at + 2]
        if is_spelled[at] and (any(beside) or word.isupper()):
            words[at] = word.upper() + ("," if comma or word in "ai" else "")
    return " ".join(words).removesuffix(",")


@dataclass(frozen=True)
class Speaking:
    """Makes the row and the audio of an utterance."""

    seed: int

    def __call__(self, task: Utterance) -> tuple[Row, Samples]:
        """Text, voice, pauses and level, and a condition for half of them."""
        random = random_of(f"{self.seed} {task.split} {task.utt}")
        text = TEXTS[task.kind](random)
        speech = speak(voices(task.split)[task.voice], spoken_text(text, random)) * random.uniform(*_PEAK)
        before, after = (round(RATE * random.uniform(*_PAUSE)) for _ in range(2))
        samples, detail = np.pad(speech, (before, after)), "clean"
        if random.random() < _SHARE_DEGRADED:
            samples, detail = _degraded(samples, task.split, random)
        samples = within_range(samples)
        row = Row(task.utt, task.split, task.voice, len(samples) / RATE, task.kind, detail, text)
        return row, samples


def _degraded(samples: Samples, split: str, random: np.random.Generator) -> tuple[Samples, str]:
    names = [name for name in CONDITIONS if name not in WITH_OTHERS and (split != "train" or name not in HELD_OUT)]
    condition = names[int(random.integers(len(names)))]
    samples, detail = CONDITIONS[condition](samples, Scene(random, lambda _: []))
    return samples, f"{condition}: {detail}"
