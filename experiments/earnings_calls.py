"""Stretches of the calls of Earnings-21 as networks: what five systems heard, and what was said.

A call is cut where the first system is silent. Of each stretch, every system's words are one hypothesis of an N-best
list, all equally probable. References have no times: they are aligned with the words of the first system, and cut
where these are.
"""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

import wordtrust as wt
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.text import DEFAULT
from wordtrust.networks.hwcn import build

SYSTEMS = ("rev/kaldi/nlp", "google", "amazon", "speechmatics", "kaldi_org/librispeech/nlp")
PAUSE, FEWEST, MOST = 0.25, 8, 30  # seconds of silence; words of a stretch
STRETCHES = 30  # of a call, at most

Word = tuple[str, float, float]


def call_networks(folder: Path, most: int) -> tuple[Lattices, list[list[str]], list[str]]:
    """Networks of some stretches of several calls; the words that were said; the call of each."""
    lists, spoken, calls = call_stretches(folder, most)
    return build(wt.from_nbest(lists)).lattices, spoken, calls


def call_stretches(folder: Path, most: int) -> tuple[dict[str, list[dict[str, object]]], list[list[str]], list[str]]:
    """The same before they are joined: what each system heard in a stretch."""
    lists, spoken, calls = dict[str, list[dict[str, object]]](), list[list[str]](), list[str]()
    for reference in sorted((folder / "transcripts" / "nlp_references").glob("*.nlp")):
        systems = [folder / "output" / system / reference.name for system in SYSTEMS]
        if len(lists) >= most or not all(file.is_file() for file in systems):
            continue
        hypotheses = [_words(file) for file in systems]
        stretches = _stretches(hypotheses[0])
        said = _cut_reference([word for word, *_ in _words(reference, timed=False)], hypotheses[0], stretches)
        for index in np.linspace(0, len(stretches) - 1, min(STRETCHES, len(stretches))).round().astype(int).tolist():
            begin, end = stretches[index]
            nbest = [_hypothesis(words, begin, end) for words in hypotheses]
            if said[index] and all(hypothesis["words"] for hypothesis in nbest):
                lists[f"{reference.stem}-{index}"] = nbest
                spoken.append(said[index])
                calls.append(reference.stem)
    return dict(list(lists.items())[:most]), spoken[:most], calls[:most]


def _words(file: Path, *, timed: bool = True) -> list[Word]:
    """The normalised words of a file of tokens, with their times."""
    words: list[Word] = []
    with file.open(encoding="utf-8", newline="") as lines:
        for token in csv.DictReader(lines, delimiter="|", quoting=csv.QUOTE_NONE):
            if timed and not (token["ts"] and token["endTs"]):
                continue
            begin, end = (float(token["ts"]), float(token["endTs"])) if timed else (0.0, 0.0)
            pieces = DEFAULT.words(token["token"])
            step = (end - begin) / max(1, len(pieces))
            words += [(word, begin + i * step, begin + (i + 1) * step) for i, word in enumerate(pieces)]
    return words


def _stretches(words: list[Word]) -> list[tuple[float, float]]:
    """From pause to pause, with enough words in between."""
    bounds, count = [words[0][1] - PAUSE], 0
    for before, after in pairwise(words):
        count += 1
        if after[1] - before[2] >= PAUSE and count >= FEWEST:
            bounds.append((before[2] + after[1]) / 2)
            count = 0
    both = list(pairwise([*bounds, words[-1][2] + PAUSE]))
    sizes = [sum(begin <= (word[1] + word[2]) / 2 < end for word in words) for begin, end in both]
    return [stretch for stretch, size in zip(both, sizes, strict=True) if FEWEST <= size <= MOST]


def _hypothesis(words: list[Word], begin: float, end: float) -> dict[str, object]:
    """What a system heard from `begin` to `end`."""
    kept = sorted((word for word in words if begin <= (word[1] + word[2]) / 2 < end), key=lambda word: word[1])
    listed = [
        {"word": word, "start": max(0.0, start - begin), "end": max(0.0, stop - begin), "logprob": 0.0}
        for word, start, stop in kept
    ]
    return {"score": 0.0, "words": listed}


def _cut_reference(said: list[str], heard: list[Word], stretches: list[tuple[float, float]]) -> list[list[str]]:
    """The words that were said in each stretch, by alignment with what was heard."""
    place = np.zeros(len(heard) + 1, int)  # [words heard] where in the reference each begins
    for operation in Levenshtein.opcodes([word for word, *_ in heard], said):
        span = np.arange(operation.src_start, operation.src_end + 1)
        place[span] = np.minimum(operation.dest_start + span - operation.src_start, operation.dest_end)
    middle = np.array([(begin + end) / 2 for _, begin, end in heard])
    place[-1] = len(said)
    cuts = [np.searchsorted(middle, stretch) for stretch in stretches]
    return [said[place[first] : place[last]] for first, last in cuts]
