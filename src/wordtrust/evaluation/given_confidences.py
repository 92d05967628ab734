"""Plain outputs with word confidences, of recognizers that give nothing else: no lattice, no model.

CTM, the JSON of cloud services, Whisper or Vosk are read like any other format, as lattices with one path. Here their
words are judged against references, which is all that calibration, thresholds and evaluation need:

    words = judged_words(wt.read("calls.ctm"), read_references("calls.stm"))
    calibrate.compare(words.score, words.correct, words.speaker)
    metrics.guaranteed_threshold(words, precision=0.95)

A recording with several speakers is a speaker of its own: its words share a channel, a topic and each other's
mistakes, so it is recordings that intervals should resample. To tell its speakers apart, cut it into utterances by
speaker on both sides.

An utterance counts only if every word has a confidence: a recognizer that leaves some out gives no number for them,
and the words it does not doubt would be judged without those it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..formats.references import Reference, with_references
from ..lattices.assemble import Problems
from ..lattices.lattice import Floats, Lattices
from ..lattices.paths import Paths, one_best
from ..networks.build_store import REFERENCE
from ..networks.labels import ReferenceWords, score_paths
from ..networks.word_confidence import word_confidence
from .evaluate import Evaluation
from .metrics import Scores, SpeakerErrors

Reals = NDArray[np.float64]

ONE_BEST, CONFIDENCE = "one_best", "confidence"  # population and kind of score, as `Evaluation` names them
_DIGITS = 7  # that float32 keeps: how many of a confidence can have been written


def judged_words(lattices: Lattices, references: Mapping[str, Reference]) -> Scores:
    """The words of every 1-best: the confidence it came with, whether it is right, and who spoke.

    Every utterance needs a reference and confidences; `evaluate_words` can leave out those that have none.
    """
    return evaluate_words([lattices], references).scores.get((ONE_BEST, CONFIDENCE), Scores())


def evaluate_words(
    batches: Iterable[Lattices],
    references: Mapping[str, Reference],
    problems: Problems | None = None,
    look: Callable[[Lattices, Floats, Paths], None] | None = None,
) -> Evaluation:
    """Judge the words of a corpus, batch by batch: error rates in `errors`, words in `scores`, both of `one_best`.

    Utterances without a reference or without confidences raise an error, or go to `problems` when that skips them.
    `look` (a keeper of examples) sees every batch, with its references noted.
    """
    problems = problems or Problems()
    parts = []
    for batch in batches:
        kept = with_confidences(with_references(batch, references, problems), problems)
        if len(kept):
            parts.append(_evaluate_batch(kept, references))
            if look and kept.posterior is not None:
                said = tuple(" ".join(references[utt].words) for utt in kept.utts)
                look(replace(kept, notes={**kept.notes, REFERENCE: said}), kept.posterior, one_best(kept))
    while len(parts) > 1:  # in pairs: adding one by one would copy everything every time
        parts = [sum(parts[start : start + 2], Evaluation()) for start in range(0, len(parts), 2)]
    return parts[0] if parts else Evaluation()


def with_confidences(batch: Lattices, problems: Problems) -> Lattices:
    """The batch if its words have confidences; if not, nothing of it, and its utterances go to `problems`."""
    if batch.posterior is not None:
        return batch
    if batch.acoustic is not None or batch.transition is not None:
        found, remedy = "this is a lattice with scores but no confidences", "Make networks of it: wordtrust build"
    else:
        found = "the utterance has no confidences, or not for all of its words"
        remedy = "Let the recognizer write one for every word, or go on without the utterance (--skip-bad)"
    for lattice in batch:
        problems.report(InputError(found, file=lattice.origin.file, utt=lattice.utt, remedy=remedy))
    return batch[:0]


def one_best_words(lattices: Lattices) -> tuple[Paths, Reals]:
    """The 1-best of each utterance, and the confidence of every arc of it; that of silence means nothing."""
    assert lattices.posterior is not None
    paths = one_best(lattices)
    return paths, _as_written(word_confidence(lattices, lattices.posterior, paths))


def _evaluate_batch(lattices: Lattices, references: Mapping[str, Reference]) -> Evaluation:
    known = [references[utt] for utt in lattices.utts]
    speakers = [each.speaker_or_utt for each in known]
    paths, confidence = one_best_words(lattices)
    try:
        found = score_paths(lattices, paths, ReferenceWords.of([each.words for each in known], lattices)).alignments
    except InputError as error:
        raise error.at(file=lattices.origin.file) from None
    is_word = lattices.word[paths.arcs_in(lattices)] > 0
    scores = Scores.of(confidence[is_word], found.correct, speakers, found.offsets)
    errors = SpeakerErrors.of(found, speakers)
    return Evaluation(len(lattices), {ONE_BEST: errors}, {(ONE_BEST, CONFIDENCE): scores})


def _as_written(confidence: Reals) -> Reals:
    """The decimal number that a float32 was made of: a threshold of 0.98 must accept words that say 0.98."""
    positive = np.maximum(confidence, 1e-12)
    scale = 10.0 ** np.clip(_DIGITS - 1 - np.floor(np.log10(positive)), 0, 22)  # exact powers, for exact decimals
    return np.asarray(np.rint(confidence * scale) / scale)
