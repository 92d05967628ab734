"""How probable a listener finds the texts of all recognizers of a study, given the audio: check models learn from it.

    python -m tools.forced_scores PLAIN CLIPS --listener moonshine --split train --out FORCED

PLAIN is a study with networks, CLIPS has the audio of each utterance. Every text that some recognizer has as its
1-best, and the reference, is scored in the listener's own style, as `wordtrust check` does. FORCED/LISTENER/SPLIT.npz
is what `tools.check_data.read_forced` reads. An interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tools.check_data import FORCED_KINDS, chains, texts_of
from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.listing import SUFFIXES
from wordtrust.base.arrays import csr_offsets
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.files import atomic
from wordtrust.base.journal import Journal
from wordtrust.formats.batches import read_batches
from wordtrust.networks.build_store import REFERENCE
from wordtrust.recognizers import ForcedScores, loader
from wordtrust.recognizers.base import ForcedScorer
from wordtrust.recognizers.forced import score_words
from wordtrust.recognizers.serialization import line_to_scores, scores_to_line
from wordtrust.study.layout import StudyFolder

Texts = Mapping[str, Sequence[str]]  # by utterance: normalised words, joined by spaces, each text once


def all_texts(plain: StudyFolder, split: str) -> Texts:
    """What the recognizers wrote, and what was said."""
    found: dict[str, dict[str, None]] = {}
    for store in sorted(plain.work.glob(f"*/{split}")):
        for networks in read_batches([store]):
            said = zip(networks.utts, texts_of(chains(networks)), networks.notes[REFERENCE], strict=True)
            for utt, words, reference in said:
                found.setdefault(utt, {}).update({" ".join(words): None, reference: None})
    return {utt: list(texts) for utt, texts in found.items()}


def clip_of(folder: Path, utt: str) -> Path:
    """The audio of an utterance."""
    found = (path for suffix in SUFFIXES if (path := folder / f"{utt}{suffix}").is_file())
    clip = next(found, None)
    if clip is None:
        raise InputError(f"there is no audio of {utt}", file=str(folder), remedy="Clips are named by utterances")
    return clip


def scored(listener: ForcedScorer, clip: Path, texts: Sequence[str]) -> str:
    """The scores of texts on a clip, as a line of a journal."""
    samples = AudioFile.open(clip).samples()
    heard = listener.recognize(samples)
    if not isinstance(heard, Mapping):
        raise OptionError("a listener that scores texts answers with lists of hypotheses")
    return scores_to_line(score_words(listener, samples, [text.split() for text in texts], heard))


def save(path: Path, texts: Texts, scores: Mapping[str, Sequence[ForcedScores]]) -> None:
    """All scores as arrays: utt, text and end of each text, offsets into those of words."""
    of_texts = [one for utt in texts for one in scores[utt]]
    logprob, least, tokens, margin = (
        np.concatenate([getattr(one, kind).astype(np.float64) for one in of_texts]) for kind in FORCED_KINDS
    )
    with atomic(path) as file:
        np.savez(
            file,
            utt=np.array([utt for utt, of_utt in texts.items() for _ in of_utt]),
            text=np.array([text for of_utt in texts.values() for text in of_utt]),
            end=np.array([one.end for one in of_texts]),
            offsets=csr_offsets([len(one.logprob) for one in of_texts]),
            logprob=logprob, least=least, tokens=tokens, margin=margin,
        )  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Score what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.forced_scores", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("plain", type=Path, help="the study that has networks")
    parser.add_argument("clips", type=Path, help="the folder of audio, named by utterances")
    parser.add_argument("--listener", default="moonshine", help="NAME or NAME=MODEL")
    parser.add_argument("--split", required=True)
    parser.add_argument("--out", type=Path, required=True, help="the folder of all listeners' scores")
    given = parser.parse_args(arguments)
    listener = loader(given.listener)()
    if not isinstance(listener, ForcedScorer):
        raise OptionError(f"{given.listener} cannot say how probable a given text is")
    texts, target = all_texts(StudyFolder(given.plain), given.split), given.out / listener.identity.name / given.split
    target.parent.mkdir(parents=True, exist_ok=True)
    with Journal(target.with_suffix(".npz"), {"listener": listener.identity.to_dict(), "texts": texts}) as journal:
        for utt, of_utt in texts.items():
            if utt not in journal:
                journal.add(utt, scored(listener, clip_of(given.clips, utt), of_utt))
        save(target.with_suffix(".npz"), texts, {utt: line_to_scores(journal[utt]) for utt in texts})
        journal.remove()


if __name__ == "__main__":
    main()
