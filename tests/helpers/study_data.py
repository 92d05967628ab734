"""A made-up folder for `wordtrust study`: recognizers that mishear words, and know a little about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from wordtrust.training.dataset import read_pack
from wordtrust.training.study_training import FOLDS, StudyTraining, model_folders

WORDS = tuple(
    "red green blue white black grey one two three four five six seven eight nine ten up down left right".split()
)
SPLITS = {"train": 10, "dev": 6, "eval": 6}  # speakers
UTTERANCES = 4  # of each


def write_data(
    folder: Path,
    recognizers: dict[str, float],
    splits: dict[str, int] | None = None,
    seed: int = 0,
    misheard: Sequence[str] = WORDS,
) -> Path:
    """N-best lists of recognizers that get words wrong with the given chances, and what was said."""
    random = np.random.default_rng(seed)
    rows = ["utt\tsplit\tspeaker\ttext"]
    for split, speakers in (splits or SPLITS).items():
        said = {
            f"{split}-{speaker}-{number}": random.choice(WORDS, int(random.integers(3, 7))).tolist()
            for speaker in range(speakers)
            for number in range(UTTERANCES)
        }
        rows += [f"{utt}\t{split}\t{utt.rpartition('-')[0]}\t{' '.join(words)}" for utt, words in said.items()]
        for name, chance in recognizers.items():
            place = folder / name
            place.mkdir(parents=True, exist_ok=True)
            (place / "recognizer.json").write_text('{"format": "nbest", "kind": "nbest", "pick": "total"}', "utf-8")
            lines = [
                json.dumps({"utt": utt, "nbest": _nbest(words, chance, random, misheard)})
                for utt, words in said.items()
            ]
            (place / f"{split}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    (folder / "refs.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder


def _nbest(
    said: list[str], chance: float, random: np.random.Generator, misheard: Sequence[str]
) -> list[dict[str, Any]]:
    """Three hypotheses, the best first; words that are wrong have lower scores, mostly."""
    made = [_hypothesis(said, chance, random, misheard) for _ in range(4)]
    distinct = {each["text"]: each for each in made}
    return sorted(distinct.values(), key=lambda each: -float(each["score"]))


def _hypothesis(
    said: list[str], chance: float, random: np.random.Generator, misheard: Sequence[str]
) -> dict[str, Any]:
    words: list[dict[str, Any]] = []
    start = 0.1
    for word in said:
        wrong = random.random() < chance
        sure = random.uniform(-1.6, -0.2) if wrong else random.uniform(-0.7, -0.02)
        heard = str(random.choice(misheard)) if wrong else word
        words.append({"word": f" {heard}", "start": round(start, 2), "end": round(start + 0.3, 2),
                      "logprob": round(float(sure), 4), "tokens": 1})  # fmt: skip
        start += 0.35
    score = sum(each["logprob"] for each in words) - 0.05
    return {
        "score": score,
        "avg_logprob": score / (len(words) + 1),
        "text": "".join(each["word"] for each in words),
        "token_logprobs": [each["logprob"] for each in words],
        "eot_logprob": -0.05,
        "words": words,
    }


def train_in_this_process(training: StudyTraining, _: Any) -> None:
    """Instead of `StudyTraining.run`, which starts a process for each of many trainings; and with no teachers."""
    from wordtrust.training.multi_recognizer import train_multi_recognizer
    from wordtrust.training.worker import training_worker

    options, out = replace(training.options, average=0.0, batch_arcs=0), training.out
    recognizers = {name: read_pack(pack) for name, pack in training.packs.items()}
    with training_worker("cpu") as worker:
        for i in range(FOLDS + 1):
            fold: dict[str, Any] = {"folds": FOLDS, "fold": i - 1} if i else {}
            train_multi_recognizer(recognizers, replace(options, **fold), out / "draft", worker)
            for name in recognizers:
                (out / "draft" / name).rename(model_folders(name, out)[i])
            if not i:
                (out / "draft" / "generic").rename(out / "generic")
            rmtree(out / "draft")
