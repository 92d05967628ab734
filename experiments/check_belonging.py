"""How often `wordtrust check` refuses transcripts of other recordings, and how often those of the very recording.

    python -m experiments.check_belonging PLAIN [--split dev] [--listener NAME] [--times 100]

PLAIN is a study with networks. A recording is some clips one after the other, as the listener heard them; a
transcript is some words of a recognizer, of these clips or of others.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from tools.check_data import chains, texts_of

from wordtrust.formats.batches import read_batches
from wordtrust.study.layout import StudyFolder
from wordtrust.transcription.belonging import LEAST, evidence_of_belonging
from wordtrust.transcription.read_aloud import match_texts

WORDS = (5, 10, 15, 20, 25, 50, 100, 1000)  # of a transcript
CLIPS = (3, 10, 100, 600)  # of a recording

Texts = Mapping[str, Sequence[Sequence[str]]]  # by recognizer: the words of each clip


def read_texts(plain: StudyFolder, split: str) -> Texts:
    """The 1-best of every recognizer, clips in the same order."""
    found: dict[str, dict[str, list[str]]] = {}
    for store in sorted(plain.work.glob(f"*/{split}")):
        for networks in read_batches([store]):
            own = dict(zip(networks.utts, texts_of(chains(networks)), strict=True))
            found.setdefault(store.parent.name, {}).update(own)
    utts = sorted(set.intersection(*(set(texts) for texts in found.values())))
    return {name: [texts[utt] for utt in utts] for name, texts in found.items()}


def some_words(clips: Sequence[Sequence[str]], count: int, rng: np.random.Generator) -> list[str]:
    """That many words in a row."""
    words = [word for clip in clips for word in clip]
    first = int(rng.integers(max(1, len(words) - count + 1)))
    return words[first : first + count]


def evidence(
    texts: Texts, listener: str, count: int, clips: int, times: int, rng: np.random.Generator
) -> Iterator[tuple[str, bool, float]]:
    """Of each author: whether a text is of the recording, and what speaks for it."""
    for _ in range(times):
        order = rng.permutation(len(texts[listener]))
        here, elsewhere = order[:clips].tolist(), order[clips:].tolist()
        heard = [word for clip in here for word in texts[listener][clip]]
        for author in texts:
            if author == listener:
                continue
            for rows in (here, elsewhere):
                words = some_words([texts[author][row] for row in rows], count, rng)
                if len(words) == count:
                    yield author, rows is here, evidence_of_belonging(match_texts(words, heard))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.check_belonging", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("plain", type=Path, help="the study that has networks")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--listener", default="moonshine-tiny")
    parser.add_argument("--times", type=int, default=100, help="recordings of each length")
    given = parser.parse_args(arguments)
    texts, rng = read_texts(StudyFolder(given.plain), given.split), np.random.default_rng(0)
    print(
        "| words | clips heard | of others: refused | of its own: refused | worst author |\n|---:|---:|---:|---:|---|"
    )
    for count in WORDS:
        for clips in CLIPS:
            times = max(1, given.times // (20 if count == max(WORDS) else 1))
            found = list(evidence(texts, given.listener, count, clips, times, rng))
            foreign = [value < LEAST for _, is_own, value in found if not is_own]
            own = {
                author: float(np.mean([value < LEAST for name, is_own, value in found if is_own and name == author]))
                for author in {name for name, is_own, _ in found if is_own}
            }
            if own:
                worst = max(own, key=lambda author: own[author])
                share = np.mean([value < LEAST for _, is_own, value in found if is_own])
                print(
                    f"| {count:,} | {clips} | {np.mean(foreign):.1%} | {share:.2%} | {worst} {own[worst]:.1%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
