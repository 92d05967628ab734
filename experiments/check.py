"""How well transcripts are checked: the words of one recognizer, judged by others, as if it had never been heard of.

    python -m experiments.check STUDY --networks PLAIN --forced FORCED [--test eval] [--json FILE]

STUDY, PLAIN and FORCED are those of `tools.check_model`. For every recognizer a model is fitted that knows it neither
as the author of a transcript nor as a listener, and judges its 1-best words of the test split. Beside it: the
recognizer's own model, which sees its scores and networks; votes, the share of transcripts that have the word (with
one listener, plain agreement); and the informed choice, which takes for each utterance the output that is surest of
itself and believes the words that are in it. Both are fitted to this very author, on the held-out speakers that the
model was calibrated on; the choice knows the author's own confidences, as `check` does where it is given these. The
same transcripts, and references, are judged as those of anybody: how many words are wrong, how many are expected to
be, and whether the interval holds that. With `--test dev` trees are fitted on three quarters of the speakers of train
and calibrated on the rest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from tools.check_data import BARE, CONFIDENCE, REFERENCES, CheckedTranscript, all_transcripts, read_forced
from tools.check_model import EMBEDDED, error_rates, fit, read_split, study_parser

from wordtrust.base.arrays import logit
from wordtrust.combination.check import CheckModel
from wordtrust.combination.check.model import sigmoid
from wordtrust.confidence.calibration import make
from wordtrust.confidence.calibration.parametric import fit_logistic
from wordtrust.evaluation.metrics import Scores
from wordtrust.lattices.lattice import Flags
from wordtrust.lattices.weights import Reals
from wordtrust.study.layout import DEV, TRAIN, StudyFolder
from wordtrust.transcription.check_summary import error_interval

HELD_OUT = 4  # of the speakers of train one in so many is calibrated on, where dev is the test
REVIEWED = 0.1  # share of the words: the least trusted
OWN, SCORED, UNASKED = "its own model", "check with its own confidences", "check, text not scored"
ANYBODY, CHOICE = "by anybody", "informed choice"


def measures(confidence: Reals, right: Flags) -> dict[str, float]:
    """NCE, AUC, ECE, and what a person finds in the least trusted tenth."""
    metrics = Scores.of(confidence, right).metrics()
    few = np.argsort(confidence, kind="stable")[: round(REVIEWED * len(right))]
    wrong = ~right
    found = {"precision": float(wrong[few].mean()), "recall": float(wrong[few].sum() / max(1, wrong.sum()))}
    return {name: float(getattr(metrics, name) or 0.0) for name in ("nce", "auc", "ece")} | found


def wrong_words(
    confidence: Reals, test: CheckedTranscript, if_recognizer: Reals | None = None, misheard: float = 0.0
) -> dict[str, float]:
    """How many words are wrong and how many were expected to be; how often the interval holds: 95% is promised."""
    speakers = np.unique(test.speaker, return_inverse=True)[1]
    speaker = np.repeat(speakers, np.diff(test.facts.offsets))
    groups = [np.arange(len(confidence)), *(np.flatnonzero(speaker == one) for one in range(speakers.max() + 1))]
    held = [
        _holds(confidence[rows], test.right[rows], None if if_recognizer is None else if_recognizer[rows], misheard)
        for rows in groups
        if len(rows)
    ]
    return {
        "expected": float((1 - confidence).sum()), "wrong": float((~test.right).sum()),
        "words": len(confidence), "whole inside": float(held[0]), "speakers inside": float(np.mean(held[1:])),
    }  # fmt: skip


def _holds(confidence: Reals, right: Flags, if_recognizer: Reals | None, misheard: float) -> bool:
    low, high = error_interval(
        confidence.tolist(), None if if_recognizer is None else if_recognizer.tolist(), misheard
    )
    return bool(math.floor(low) <= (~right).sum() <= math.ceil(high))


def listeners_of(transcript: CheckedTranscript) -> Iterator[tuple[str, ...]]:
    """Each by itself, with the embedded one, and all of them."""
    names = [name for name in transcript.heard if not name.endswith(BARE)]
    yield from ((name,) for name in transcript.heard)
    yield from ((EMBEDDED, name) for name in names if name != EMBEDDED and EMBEDDED in names)
    yield tuple(names)


def votes(transcript: CheckedTranscript, listeners: Sequence[str]) -> Reals:
    """[words] the share of transcripts that have the word, its own counted."""
    agrees = sum(transcript.heard[name].evidence.agrees.astype(np.float64) for name in listeners)
    return np.asarray((1 + agrees) / (1 + len(listeners)))


def choice_inputs(transcript: CheckedTranscript, listeners: Sequence[str]) -> Reals:
    """[words, 5] what the informed choice knows: whether the chosen output has the word, how sure that is of itself.

    The chosen one is that with the highest mean confidence in the utterance; the transcript may be it.
    """
    sizes = np.diff(transcript.facts.offsets)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    own = np.bincount(owner, transcript.scores[CONFIDENCE], len(sizes)) / np.maximum(sizes, 1)
    heard = [transcript.heard[name].evidence for name in listeners]
    sure = np.nan_to_num(np.stack([own[owner], *(one.mean_confidence for one in heard)]))
    has = np.stack([np.ones(len(owner)), *(one.agrees for one in heard)])
    chosen, words = sure.argmax(axis=0), np.arange(len(owner))
    agrees, mean = has[chosen, words].astype(np.float64), logit(np.clip(sure.max(axis=0), 0.01, 0.99))
    return np.stack([agrees, mean, agrees * mean, (chosen == 0).astype(np.float64), np.ones(len(owner))], axis=1)


def of_transcript(model: CheckModel, test: CheckedTranscript, held_out: CheckedTranscript) -> dict[str, Any]:
    """All measures of one author's transcript."""
    found: dict[str, Any] = {OWN: measures(test.scores[CONFIDENCE].astype(np.float64), test.right)}
    found["error rate"], found["words"] = float((~test.right).mean()), len(test.right)
    for listeners in listeners_of(test):
        ways = {"check": judged(model, test, listeners), SCORED: judged(model, test, listeners, scored=True)}
        ways[UNASKED] = judged(model, test, listeners, forced=False)
        calibrator = make("histogram").fit(votes(held_out, listeners), held_out.right)
        ways["votes"] = np.asarray(calibrator.predict(votes(test, listeners)))
        weights = fit_logistic(choice_inputs(held_out, listeners), held_out.right)
        ways[CHOICE] = sigmoid(choice_inputs(test, listeners) @ weights)
        found["+".join(listeners)] = {way: measures(confidence, test.right) for way, confidence in ways.items()}
        for way in ("check", SCORED):
            found["+".join(listeners)][way] |= wrong_words(ways[way], test)
        gaps = model.verdict(test.gathered(listeners), by_recognizer=True)
        found["+".join(listeners)]["gaps"] = _gap_measures(gaps.missing_before, gaps.missing_end, test)
        found["+".join(listeners)][ANYBODY] = by_anybody(model, test, listeners)
    return found


def by_anybody(model: CheckModel, test: CheckedTranscript, listeners: Sequence[str]) -> dict[str, float]:
    """What is said of a transcript if nobody knows whether a recognizer wrote it."""
    judged_words = model.verdict(test.gathered(listeners))
    confidence, strictly = judged_words.confidence, judged_words.if_recognizer
    return measures(confidence, test.right) | wrong_words(confidence, test, strictly, judged_words.misheard)


def judged(
    model: CheckModel, test: CheckedTranscript, listeners: Sequence[str], *, scored: bool = False, forced: bool = True
) -> Reals:
    """[words] the confidences that the model gives; `scored`: the transcript comes with those of its own model."""
    gathered = test.gathered(listeners, CONFIDENCE if scored else None, forced=forced)
    return model.confidence(gathered, calibrated=scored, by_recognizer=True)


def _gap_measures(before: Reals, end: Reals, test: CheckedTranscript) -> dict[str, float]:
    said = [
        np.append(before[first:last], at_end)
        for (first, last), at_end in zip(pairwise(test.facts.offsets.tolist()), end.tolist(), strict=True)
    ]
    metrics = Scores.of(np.concatenate(said), test.missing > 0).metrics()
    return {name: float(getattr(metrics, name) or 0.0) for name in ("nce", "auc", "ece")}


def run(
    train: Sequence[CheckedTranscript], held_out: Sequence[CheckedTranscript], test: Sequence[CheckedTranscript],
    rates: dict[str, float], *, share: float,
) -> Iterator[tuple[str, dict[str, Any]]]:  # fmt: skip
    """Each author in turn, left out of everything."""
    for transcript in test:
        if transcript.whose == REFERENCES:  # perfect by definition, not one of several that could be left out
            model = fit(train, held_out, rates, share=share)
            listeners = list(listeners_of(transcript))
            found = {"+".join(names): {ANYBODY: by_anybody(model, transcript, names)} for names in listeners}
            yield REFERENCES, found
            continue
        own = next(one for one in held_out if one.whose == transcript.whose and one.scores)
        model = fit(train, held_out, rates, left_out=transcript.whose, share=share)
        yield transcript.whose, of_transcript(model, transcript, own)


def split_by_speaker(
    transcripts: Sequence[CheckedTranscript],
) -> tuple[list[CheckedTranscript], list[CheckedTranscript]]:
    """The transcripts of most speakers, and those of the others."""
    parts: tuple[list[CheckedTranscript], list[CheckedTranscript]] = [], []
    for one in transcripts:
        is_held_out = np.array([crc32(name.encode()) % HELD_OUT == 0 for name in one.speaker])
        for part, rows in zip(parts, (~is_held_out, is_held_out), strict=True):
            part.append(one.take(np.flatnonzero(rows)))
    return parts


def tables(results: dict[str, dict[str, Any]], listeners: Sequence[str]) -> str:
    """NCE by author (rows) and listener (columns), one table for each way; then the least trusted tenth."""
    lines = _anybody_lines(results, listeners)
    results = {author: found for author, found in results.items() if author != REFERENCES}
    for way in ("check", SCORED, UNASKED, "votes", CHOICE):
        lines += ["", f"NCE, {way}:", "", *_head(["own", *listeners])]
        for author, found in results.items():
            cells = [f"{found[one][way]['nce']:.3f}" if one in found else "" for one in listeners]
            lines.append(f"| {author} | {found[OWN]['nce']:.3f} | {' | '.join(cells)} |")
    lines += ["", "Least trusted tenth, precision / recall:", "", *_head(["own", *listeners])]
    for author, found in results.items():
        cells = [_tenth(found[one]["check"]) if one in found else "" for one in listeners]
        lines.append(f"| {author} | {_tenth(found[OWN])} | {' | '.join(cells)} |")
    return "\n".join([*lines, *_interval_lines(results, listeners)])


def _anybody_lines(results: dict[str, dict[str, Any]], listeners: Sequence[str]) -> list[str]:
    """Wrong words of transcripts by anybody: how many there are, are expected, and how often intervals hold."""
    lines = ["By anybody, expected errors (intervals of speakers that hold):", "", *_head(["wrong", *listeners])]
    for author, found in results.items():
        known = {one: found[one][ANYBODY] for one in listeners if one in found}
        wrong = next((f"{one['wrong'] / one['words']:.1%}" for one in known.values()), "")
        cells = [
            f"{known[one]['expected'] / known[one]['words']:.1%} ({known[one]['speakers inside']:.2f})"
            if one in known
            else ""
            for one in listeners
        ]
        lines.append(f"| {author} | {wrong} | {' | '.join(cells)} |")
    return lines


def _interval_lines(results: dict[str, dict[str, Any]], listeners: Sequence[str]) -> list[str]:
    """How often the interval of the wrong words holds, by listener, over all authors."""
    lines = [
        "",
        "Intervals that hold, whole transcripts / speakers:",
        "",
        "| listener | check | with scores |",
        "|---|---:|---:|",
    ]
    several = [one for one in {name for found in results.values() for name in found} if "+" in one]
    groups = {one: [one] for one in listeners} | {"several": several}
    for name, group in groups.items():
        held = [found[one] for found in results.values() for one in group if one in found]
        cells = [
            f"{np.mean([one[way]['whole inside'] for one in held]):.2f}"
            f" / {np.mean([one[way]['speakers inside'] for one in held]):.2f}"
            for way in ("check", SCORED)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def _head(columns: Sequence[str]) -> list[str]:
    return [f"| transcript of | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]


def _tenth(found: dict[str, float]) -> str:
    return f"{found['precision']:.2f} / {found['recall']:.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what the command line asks for."""
    parser = study_parser("experiments.check", __doc__)
    parser.add_argument("--test", default="eval", help="the split that is judged")
    parser.add_argument("--json", type=Path, help="a file for all measures")
    given = parser.parse_args(arguments)
    study, plain = StudyFolder(given.study), StudyFolder(given.networks)
    names = sorted(path.name for path in study.with_trees.iterdir() if (plain.work / path.name).is_dir())
    splits = [TRAIN, DEV] if given.test == DEV else [TRAIN, DEV, given.test]
    read = {split: read_split(study, plain, split, names, held_out=split in (TRAIN, DEV)) for split in splits}
    rates, forced = error_rates(read[TRAIN]), read_forced(given.forced, splits)
    made = {
        split: [one.with_forced(forced) for one in all_transcripts(of, rates, changed=split != given.test)]
        for split, of in read.items()
    }
    train, held_out = split_by_speaker(made[TRAIN]) if given.test == DEV else (made[TRAIN], made[DEV])
    test = [one for one in made[given.test] if one.scores or (one.whose == REFERENCES and one.right.all())]
    results = dict(run(train, held_out, test, rates, share=given.share))
    print(tables(results, names))
    if given.json is not None:
        given.json.write_text(json.dumps(results, indent=1), "utf-8")


if __name__ == "__main__":
    main()
