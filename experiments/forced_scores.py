"""In which written form a recognizer is to be asked about the words of others: AUC of right and wrong words.

    python -m experiments.forced_scores STUDY CLIPS --listener moonshine --clips 300

The 1-best words of each recognizer of a study are scored by the listener (CLIPS has the audio of each utterance):
as they were written, in lower case, with a capital in front and a point behind, and in the style of what the listener
wrote itself, which is what `recognizers.forced` does. A word has the log-probability of all its tokens, the mean of
these, that of its least probable token, and how far a token is from the most probable one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tools.forced_scores import clip_of

from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.table import Table
from wordtrust.combination.joint.hypotheses import on_paths
from wordtrust.evaluation.metrics import Scores
from wordtrust.formats.batches import read_batches
from wordtrust.lattices.lattice import Flags, Lattices, concatenate
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.posterior import select_arcs
from wordtrust.networks.build_store import REFERENCE
from wordtrust.networks.equivalents import ALL
from wordtrust.networks.labels import score_paths
from wordtrust.networks.reference_words import ReferenceWords
from wordtrust.recognizers import ForcedScores, loader
from wordtrust.recognizers.base import ForcedScorer
from wordtrust.recognizers.forced import printed, written_like

NOTHING_HEARD: Mapping[str, Any] = {"words": []}  # a capital in front and a point behind
FORMS: dict[str, Callable[[Sequence[str], Sequence[str], Mapping[str, Any]], list[str]]] = {
    "as written": lambda _, surfaces, __: list(surfaces),
    "lower case": lambda words, _, __: list(words),
    "capital and point": lambda words, _, __: written_like(words, NOTHING_HEARD),
    "the listener's style": lambda words, _, own: written_like(words, own),
}
MEASURES: dict[str, Callable[[ForcedScores], Any]] = {
    "all tokens": lambda scores: scores.logprob,
    "per token": lambda scores: scores.logprob / np.maximum(scores.tokens, 1),
    "least token": lambda scores: scores.least,
    "margin": lambda scores: scores.margin,
}


class Pivot(NamedTuple):
    """The 1-best words of a recognizer, and which of them are right."""

    name: str
    chains: Lattices
    correct: Flags

    def words(self, utterance: int) -> tuple[list[str], list[str]]:
        """Normalised and as they were written."""
        arcs = range(*self.chains.arc_offsets[utterance : utterance + 2].tolist())
        spoken = [arc for arc in arcs if self.chains.word[arc]]
        look_up = self.chains.vocabulary.lookup
        return list(look_up(self.chains.word[spoken].tolist())), list(look_up(self.chains.surface[spoken].tolist()))


def read_pivot(folder: Path, split: str, count: int) -> Pivot:
    """The first utterances of a recognizer's networks in a study."""
    networks = concatenate(read_batches([str(folder / split)]))
    order = np.argsort(networks.utts)[:count].tolist()  # the same utterances of every recognizer
    networks = concatenate(networks[index : index + 1] for index in order)
    chains = select_arcs(networks, on_paths(networks, one_best(networks)))
    references = ReferenceWords.of([text.split() for text in chains.notes[REFERENCE]], chains, ALL)
    return Pivot(folder.name, chains, score_paths(chains, one_best(chains), references).alignments.correct)


def clip_scores(listener: ForcedScorer, clip: Path, pivots: Sequence[Pivot], utterance: int) -> list[ForcedScores]:
    """The scores of all pivots' words in all forms, pivot by pivot."""
    samples = AudioFile.open(clip).samples()
    heard = listener.recognize(samples)
    assert isinstance(heard, Mapping)
    own = printed(heard, listener.identity.pick)
    texts = [form(*pivot.words(utterance), own) for pivot in pivots for form in FORMS.values()]
    return listener.score_texts(samples, texts)


def row(name: str, form: str, scores: Sequence[ForcedScores], correct: Flags) -> tuple[str, ...]:
    """AUC by each measure; a word without a score counts as impossible."""
    cells = []
    for measure in MEASURES.values():
        values = np.nan_to_num(np.concatenate([measure(one) for one in scores]), nan=-np.inf)
        cells.append(f"{Scores.of(np.exp(values), correct).metrics().auc:.3f}")
    return (name, form, *cells)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path)
    parser.add_argument("clips_folder", metavar="CLIPS", type=Path)
    parser.add_argument("--listener", default="moonshine")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--clips", type=int, default=300)
    options = parser.parse_args()
    folders = sorted(path.parent for path in (options.study / "work").glob(f"*/{options.split}"))
    pivots = [read_pivot(folder, options.split, options.clips) for folder in folders]
    listener = loader(options.listener)()
    assert isinstance(listener, ForcedScorer)
    clips = [clip_of(options.clips_folder, utt) for utt in pivots[0].chains.utts]
    scored = [clip_scores(listener, clip, pivots, utterance) for utterance, clip in enumerate(clips)]
    columns = list(zip(*scored, strict=True))
    asked = [(pivot, form) for pivot in pivots for form in FORMS]
    rows = tuple(
        row(pivot.name, form, scores, pivot.correct) for (pivot, form), scores in zip(asked, columns, strict=True)
    )
    print(Table("AUC of words", ("pivot", "written", *MEASURES), rows).to_markdown())


if __name__ == "__main__":
    main()
