"""What a check model is fitted on: transcripts of known recognizers, and what the other recognizers say of them.

Every recognizer of a study takes its turn as the one whose transcript is checked: its 1-best, with times; and for a
part of the utterances without times, where at times words were made up, repeated again and again, or left out.
References are transcripts too, as people type them who make no errors, and with such changes. Listeners are scored by
models that never saw the speakers; some of them also come as their 1-best alone, as another transcript would.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import wordtrust as wt
from wordtrust.base.arrays import csr_items, csr_offsets
from wordtrust.combination.check import ForcedWords, Gathered, Listener, gather
from wordtrust.combination.check.columns import Heard, TranscriptFacts
from wordtrust.combination.check.coverage import some_facts, some_heard
from wordtrust.combination.check.heard_instead import HeardInstead
from wordtrust.combination.joint.hypotheses import on_paths
from wordtrust.confidence.calibrate_model import OutOfFoldScorer
from wordtrust.confidence.word_scorer import load
from wordtrust.formats.batches import read_batches
from wordtrust.lattices.lattice import Flags, Floats, Ints, Lattices, Offsets, concatenate
from wordtrust.lattices.paths import Paths, one_best
from wordtrust.lattices.posterior import select_arcs
from wordtrust.networks.build_store import REFERENCE, SPEAKER
from wordtrust.networks.equivalents import ALL
from wordtrust.networks.gaps import missing_words
from wordtrust.networks.labels import score_paths
from wordtrust.networks.reference_words import ReferenceWords
from wordtrust.networks.word_confidence import word_confidence
from wordtrust.study.layout import StudyFolder
from wordtrust.training.study_training import model_folders

REFERENCES = "references"
BARE = " (1-best)"  # ends the name of a listener that is a mere transcript
OFTEN_BARE = ("moonshine-tiny", "whisper-small", "kaldi-small-2020")
POSTERIOR, CONFIDENCE = "posterior", "confidence"  # scores that a transcript may come with
EVERY = 3  # utterances, one of which is also seen without times
CHANGED = 0.4  # of these, the share where words are made up, repeated or left out

FORCED_KINDS = ("logprob", "least", "tokens", "margin")  # of each word of a text
Forced = Mapping[tuple[str, str], tuple[Floats, ...]]  # by utterance and text: logprob, least, tokens, margin, end


@dataclass(frozen=True, eq=False)
class Recognizer:
    """The scored networks of one recognizer."""

    name: str
    networks: Lattices
    confidence: Floats
    output: Paths
    one_best_confidence: Floats  # [words of the 1-best] calibrated, by its own model

    @classmethod
    def read(cls, name: str, study: StudyFolder, stores: Sequence[Path], *, held_out: bool) -> Recognizer:
        """Score stores of networks, `held_out` by the models of the folds that did not see the speakers."""
        scorer = load(study.models / name)
        folds = [load(folder) for folder in model_folders(name, study.with_trees)[1:]] if held_out else []
        networks = concatenate(map(scorer.networks, read_batches([str(store) for store in stores])))
        confidence = OutOfFoldScorer(scorer, folds).confidence(networks)
        words = one_best(networks).without_silence(networks)
        own = word_confidence(networks, confidence, words)
        shown = own if scorer.calibration is None else scorer.calibration.of("words", own)
        output = scorer.choice.paths(networks, confidence)
        return cls(name, networks, confidence, output, shown.astype(np.float32))

    def listeners(self) -> Iterator[Listener]:
        """It as a listener, and its 1-best alone."""
        yield Listener(self.name, self.networks, self.confidence, self.output)
        if self.name in OFTEN_BARE:
            yield Listener(self.name + BARE, chains(self.networks))

    def in_order(self, utts: Sequence[str]) -> Recognizer:
        """These utterances in this order."""
        if self.networks.utts == tuple(utts):
            return self
        row = {utt: index for index, utt in enumerate(self.networks.utts)}
        rows = np.array([row[utt] for utt in utts])
        words = one_best(self.networks).without_silence(self.networks)
        confidence = self.confidence[csr_items(self.networks.arc_offsets, rows)]
        shown = self.one_best_confidence[csr_items(words.offsets, rows)]
        return Recognizer(self.name, self.networks[rows], confidence, _some_paths(self.output, rows), shown)


def chains(networks: Lattices) -> Lattices:
    """The 1-best alone, without scores."""
    chain = select_arcs(networks, on_paths(networks, one_best(networks)))
    return replace(chain, posterior=None, acoustic=None, transition=None, extra={})


@dataclass(frozen=True, eq=False)
class CheckedTranscript:
    """A transcript whose right words are known, and what every listener says of it."""

    whose: str
    utts: tuple[str, ...]
    texts: tuple[str, ...]
    speaker: tuple[str, ...]
    facts: TranscriptFacts
    heard: Mapping[str, Heard]
    right: Flags  # [words]
    missing: Ints  # [gaps] how many words the transcript lacks there
    scores: Mapping[str, Floats] = field(default_factory=dict)  # that could come with it, by kind

    def __len__(self) -> int:
        return len(self.utts)

    @property
    def gap_offsets(self) -> Offsets:
        """[utterances + 1]."""
        offsets: Offsets = self.facts.offsets + np.arange(len(self.facts.offsets))
        return offsets

    def take(self, rows: Offsets) -> CheckedTranscript:
        """Some of the utterances."""
        words, gaps = csr_items(self.facts.offsets, rows), csr_items(self.gap_offsets, rows)
        return replace(
            self, utts=_some(self.utts, rows), texts=_some(self.texts, rows), speaker=_some(self.speaker, rows),
            facts=some_facts(self.facts, rows),
            heard={name: some_heard(one, words, gaps, rows) for name, one in self.heard.items()},
            right=self.right[words], missing=self.missing[gaps],
            scores={kind: values[words] for kind, values in self.scores.items()},
        )  # fmt: skip

    def gathered(self, listeners: Sequence[str], score: str | None = None, *, forced: bool = True) -> Gathered:
        """With these listeners alone, in the order of their strength."""
        names = sorted(listeners, key=lambda name: (np.nan_to_num(self.heard[name].error_rate, nan=np.inf), name))
        heard = [self.heard[name] if forced else self.heard[name]._replace(forced=None) for name in names]
        facts = self.facts if score is None else self.facts._replace(score=self.scores[score])
        nothing = tuple(HeardInstead(len(self.right), {}) for _ in names)
        return Gathered(facts, tuple(names), tuple(heard), nothing)

    def with_forced(self, forced: Mapping[str, Forced]) -> CheckedTranscript:
        """With scores of its words by listeners, where they have any for these texts."""
        heard = {
            name: one._replace(forced=_forced(self, forced[name])) if name in forced else one
            for name, one in self.heard.items()
        }
        return replace(self, heard=heard)


def _some(values: Sequence[str], rows: Offsets) -> tuple[str, ...]:
    return tuple(values[row] for row in rows.tolist())


def checked(
    whose: str, transcript: Lattices, references: Sequence[str], speakers: Sequence[str],
    listeners: Sequence[Listener], error_rates: Mapping[str, float],
) -> CheckedTranscript:  # fmt: skip
    """Label the words of a transcript and ask all listeners about them."""
    words = ReferenceWords.of([text.split() for text in references], transcript, ALL)
    scored = score_paths(transcript, one_best(transcript), words)
    gathered = gather(transcript, listeners, error_rates)
    return CheckedTranscript(
        whose, transcript.utts, tuple(map(" ".join, texts_of(transcript))), tuple(speakers), gathered.facts,
        dict(zip(gathered.names, gathered.heard, strict=True)), scored.alignments.correct,
        missing_words(scored.alignments, words.offsets),
    )  # fmt: skip


def texts_of(chain: Lattices) -> list[list[str]]:
    """The words of each utterance."""
    return [[word for word in one.vocabulary.lookup(one.word.tolist()) if word] for one in chain]


def _forced(transcript: CheckedTranscript, known: Forced) -> ForcedWords:
    """The scores of its texts, NaN for those that were not scored."""
    parts: list[tuple[Floats, ...]] = []
    lengths = np.diff(transcript.facts.offsets).tolist()
    for utt, text, length in zip(transcript.utts, transcript.texts, lengths, strict=True):
        nothing = np.full(length, np.nan, np.float32)
        parts.append(known.get((utt, text)) or (nothing, nothing, nothing, nothing, np.full(1, np.nan, np.float32)))
    return ForcedWords(*(np.concatenate(arrays).astype(np.float32) for arrays in zip(*parts, strict=True)))


def read_forced(folder: Path | None, splits: Sequence[str]) -> Mapping[str, Forced]:
    """Scores of texts by listener: FOLDER/LISTENER/SPLIT.npz with utt, text, end, and offsets into those of words."""
    found: dict[str, dict[tuple[str, str], tuple[Floats, ...]]] = {}
    files = [] if folder is None else sorted(file for split in splits for file in folder.glob(f"*/{split}.npz"))
    for file in files:
        with np.load(file, allow_pickle=False) as arrays:
            offsets, end = arrays["offsets"], arrays["end"].astype(np.float32)
            kinds = [arrays[name].astype(np.float32) for name in FORCED_KINDS]
            keys = list(zip(arrays["utt"].tolist(), arrays["text"].tolist(), strict=True))
        known = found.setdefault(file.parent.name, {})
        for index, key in enumerate(keys):
            words = slice(offsets[index], offsets[index + 1])
            known[key] = (*(values[words] for values in kinds), end[index : index + 1])
    return found


def all_transcripts(
    recognizers: Sequence[Recognizer], error_rates: Mapping[str, float], *, changed: bool = True
) -> Iterator[CheckedTranscript]:  # fmt: skip
    """Each recognizer's in turn, and the references; where wanted also those without times that were changed."""
    first = recognizers[0].networks
    references, speakers = first.notes[REFERENCE], first.notes[SPEAKER]
    for recognizer in recognizers:
        others = [one for other in recognizers if other is not recognizer for one in other.listeners()]
        transcript = chains(recognizer.networks)
        made = checked(recognizer.name, transcript, references, speakers, others, error_rates)
        networks = recognizer.networks
        assert networks.posterior is not None
        posterior = word_confidence(networks, networks.posterior, one_best(networks).without_silence(networks))
        scores = {POSTERIOR: posterior.astype(np.float32), CONFIDENCE: recognizer.one_best_confidence}
        yield replace(made, scores=scores)
        if changed:
            yield _without_times(recognizer.name, texts_of(transcript), first, others, error_rates)
    everybody = [one for recognizer in recognizers for one in recognizer.listeners()]
    spoken = [text.split() for text in references]
    yield _typed(REFERENCES, spoken, np.arange(len(spoken)), first, everybody, error_rates)
    if changed:
        yield _without_times(REFERENCES, spoken, first, everybody, error_rates)


def _without_times(
    whose: str, texts: Sequence[list[str]], first: Lattices, listeners: Sequence[Listener],
    error_rates: Mapping[str, float],
) -> CheckedTranscript:  # fmt: skip
    """Some of the texts as they are typed, without times, and changed at random."""
    rng = np.random.default_rng([len(whose), sum(map(ord, whose))])
    rows = np.arange(int(rng.integers(EVERY)), len(texts), EVERY)
    words = [changed_words(texts[row], texts[int(rng.integers(len(texts)))], rng) for row in rows.tolist()]
    return _typed(whose, words, rows, first, listeners, error_rates)


def _typed(
    whose: str, texts: Sequence[Sequence[str]], rows: Offsets, first: Lattices, listeners: Sequence[Listener],
    error_rates: Mapping[str, float],
) -> CheckedTranscript:  # fmt: skip
    """Texts of some utterances without times."""
    utts = [first.utts[row] for row in rows]
    lists = {utt: [{"score": 0.0, "text": " ".join(text)}] for utt, text in zip(utts, texts, strict=True)}
    transcript = replace(wt.from_nbest(lists), notes={})
    fewer = [_fewer(listener, rows) for listener in listeners]
    references, speakers = ([first.notes[kind][row] for row in rows] for kind in (REFERENCE, SPEAKER))
    return checked(whose, transcript, references, speakers, fewer, error_rates)


def changed_words(words: list[str], others: Sequence[str], rng: np.random.Generator) -> list[str]:
    """The words as they are, or with some made up, repeated again and again, or left out."""
    if rng.random() >= CHANGED or not words:
        return words
    kind, at, size = rng.integers(4), int(rng.integers(len(words) + 1)), int(rng.integers(1, 6))
    if kind == 0:  # made up: at the end more often than not
        at = len(words) if rng.random() < 0.6 else at
        return [*words[:at], *others[:size], *words[at:]]
    if kind == 1:  # a loop
        return [*words[:at], *words[max(0, at - size) : at] * int(rng.integers(2, 7)), *words[at:]]
    return [*words[:at], *words[at + size :]]


def _fewer(listener: Listener, rows: Offsets) -> Listener:
    networks, confidence, output = listener.networks, listener.confidence, listener.output
    return Listener(
        listener.name, networks[rows],
        None if confidence is None else confidence[csr_items(networks.arc_offsets, rows)],
        None if output is None else _some_paths(output, rows),
    )  # fmt: skip


def _some_paths(paths: Paths, rows: Offsets) -> Paths:
    return Paths(csr_offsets(np.diff(paths.offsets)[rows]), paths.arcs[csr_items(paths.offsets, rows)])
