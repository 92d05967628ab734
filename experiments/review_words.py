"""Words with times, confidences and truth: what simulated reviewers hear (`experiments.review`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wordtrust import stream
from wordtrust.base.arrays import Reals, csr_items
from wordtrust.confidence.calibrate_model import OutOfFoldScorer
from wordtrust.confidence.calibration import make
from wordtrust.confidence.word_scorer import WordScorer, load
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.paths import Paths
from wordtrust.networks.build_store import SPEAKER, noted_references
from wordtrust.networks.gaps import missing_words
from wordtrust.networks.labels import score_paths
from wordtrust.networks.word_confidence import word_confidence

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KnownWords:
    """The words of utterances end to end, and their gaps, one more in each utterance than words."""

    utts: tuple[str, ...]
    speakers: tuple[str, ...]
    offsets: Ints  # [utterances + 1]
    start: Reals  # [words] seconds from the start of the utterance
    end: Reals
    confidence: Reals
    own: Reals  # [words] the recognizer's own score
    wrong: NDArray[np.bool_]  # [words]
    missing: Reals  # [gaps] how likely words are missing in each
    lacking: Ints  # [gaps] how many are

    def of(self, utterances: Ints) -> KnownWords:
        """Some utterances, in this order."""
        words = csr_items(self.offsets, utterances)
        gaps = csr_items(self.offsets + np.arange(len(self.offsets)), utterances)
        sizes = np.diff(self.offsets)[utterances]
        return KnownWords(
            tuple(self.utts[index] for index in utterances), tuple(self.speakers[index] for index in utterances),
            np.concatenate([[0], np.cumsum(sizes)]), self.start[words], self.end[words], self.confidence[words],
            self.own[words], self.wrong[words], self.missing[gaps], self.lacking[gaps],
        )  # fmt: skip

    def save(self, path: Path) -> None:
        """Keep them, so that they need not be scored again."""
        with path.open("wb") as file:
            np.savez_compressed(
                file, utts=np.array(self.utts), speakers=np.array(self.speakers), offsets=self.offsets,
                start=self.start, end=self.end, confidence=self.confidence, own=self.own, wrong=self.wrong,
                missing=self.missing, lacking=self.lacking,
            )  # fmt: skip

    @classmethod
    def load(cls, path: Path) -> KnownWords:
        """What `save` kept."""
        with np.load(path, allow_pickle=False) as kept:
            arrays = {name: kept[name] for name in kept.files}
        utts, speakers = (tuple(map(str, arrays.pop(name))) for name in ("utts", "speakers"))
        return cls(utts, speakers, **arrays)


def joined(parts: Sequence[KnownWords]) -> KnownWords:
    """Several of them end to end."""
    offsets = [parts[0].offsets[:1], *(part.offsets[1:] for part in parts)]
    shift = np.cumsum([0, *(part.offsets[-1] for part in parts[:-1])])
    moved = np.concatenate([offsets[0], *(part + by for part, by in zip(offsets[1:], shift, strict=True))])
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("start", "end", "confidence", "own", "wrong", "missing", "lacking")
    }
    utts, speakers = (tuple(each for part in parts for each in getattr(part, name)) for name in ("utts", "speakers"))
    return KnownWords(utts, speakers, moved, **arrays)


def shipped_words(model: str | Path, networks: Iterable[Lattices]) -> KnownWords:
    """What a model says about networks with references."""
    scorer = load(model)
    return joined([_scored(scorer, scorer.networks(batch)) for batch in networks])


def _scored(scorer: WordScorer, networks: Lattices) -> KnownWords:
    scores = scorer.arc_scores(networks)
    paths, show = scorer.choice.paths(networks, scores.confidence), scorer.word_calibration()
    assert show is not None
    missing = scorer.missing(networks, scores, paths)
    assert missing is not None
    return _known(networks, paths, show(_of_words(networks, scores.confidence, paths)), missing)


def _of_words(networks: Lattices, confidence: NDArray[np.floating], paths: Paths) -> Reals:
    shown = word_confidence(networks, confidence, paths)
    return np.asarray(shown[networks.word[paths.arcs_in(networks)] > 0], np.float64)


def _known(networks: Lattices, paths: Paths, confidence: Reals, missing: Reals) -> KnownWords:
    references = noted_references(networks)
    scored = score_paths(networks, paths, references)
    arcs = scored.words.arcs_in(networks)
    assert networks.posterior is not None
    own = networks.posterior[arcs]
    if "logprob" in networks.extra:  # of the word's tokens
        own = np.exp(networks.extra["logprob"][arcs])
    return KnownWords(
        tuple(networks.utts), tuple(networks.notes[SPEAKER]), scored.alignments.offsets.astype(np.int64),
        networks.start_time[arcs].astype(np.float64), networks.end_time[arcs].astype(np.float64),
        np.clip(confidence, 0.0, 1.0), np.clip(own.astype(np.float64), 0.0, 1.0), ~scored.alignments.correct, missing,
        missing_words(scored.alignments, references.offsets).astype(np.int64),
    )  # fmt: skip


def held_out_words(study: Path, name: str, splits: Iterable[str] = ("train", "dev")) -> KnownWords:
    """The words of a study's train and dev, each scored by the model that did not see its speaker; for choosing."""
    work = study / "work"
    trained = work / ("with-trees" if (work / "with-trees" / name).is_dir() else "trained")
    scorer = load(trained / name)
    folds = OutOfFoldScorer(scorer, [load(folder) for folder in sorted(trained.glob(f"{name}-fold-*"))])
    parts = []
    for batch in stream([str(work / name / split) for split in splits]):
        networks = scorer.networks(batch)
        scores = folds.arc_confidences(networks)["confidence"]
        paths = scorer.choice.paths(networks, scores.confidence)
        assert scores.of_gaps is not None
        missing = scores.of_gaps(paths)
        assert missing is not None
        parts.append(_known(networks, paths, _of_words(networks, scores.confidence, paths), missing))
    return _calibrated(joined(parts))


def _calibrated(words: KnownWords) -> KnownWords:
    """With confidences that mean what they say on all of these words."""
    speaker = np.unique(np.array(words.speakers), return_inverse=True)[1]
    of_words = np.repeat(speaker, np.diff(words.offsets))
    of_gaps = np.repeat(speaker, np.diff(words.offsets) + 1)
    curve = make("kernel").fit(words.confidence, ~words.wrong, groups=of_words)
    of_missing = make("platt").fit(np.clip(words.missing, 0.0, 1.0), words.lacking > 0, groups=of_gaps)
    fields: Mapping[str, Reals] = {
        "confidence": np.asarray(curve.predict(words.confidence), np.float64),
        "missing": np.asarray(of_missing.predict(np.clip(words.missing, 0.0, 1.0)), np.float64),
    }
    return KnownWords(**{**vars(words), **fields})
