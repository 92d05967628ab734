"""The names of things for people, on pages and terminals, and what the measures mean."""

from __future__ import annotations

from collections.abc import Mapping

WORD_SOURCES = {
    "one_best": "1-best as given",
    "tuned_one_best": "1-best, tuned",
    "tuned_mbr": "minimum Bayes risk, tuned",
    "best_confidence": "best confidence (the output)",
    "oracle": "best path there is",
}
POPULATIONS = {
    "output": "words of the output",
    "one_best": "words of the 1-best",
    "arcs": "all words of the network",
    "arcs_paper": "all words, the paper's labels",
}
ABOUT_POPULATIONS = {
    "output": "What people read: the words chosen by confidence.",
    "one_best": "The recognizer's own words, the same for every method: the ones to compare methods on.",
    "arcs": "Every hypothesis, most of them easy to reject; right are those on the path with the fewest errors.",
    "arcs_paper": "The same hypotheses; right are those that say the reference word beside a word of the 1-best.",
}
KINDS = {
    "posterior": "posterior",
    "calibrated_posterior": "calibrated posterior",
    "confidence": "confidence",
    "calibrated": "calibrated confidence",
    "mean_confidence": "mean of the words",
}
BEYOND_WORDS = {"gaps": "gaps with missing words", "whole_utterances": "utterances all right"}
COMBINED = {
    "raw": "by raw confidence",
    "calibrated": "by calibrated confidence",
    "calibrated_out_of_fold": "by confidence calibrated out of fold",
    "informed": "by expected errors",
    "rover": "by ROVER",
    "joint": "jointly",
}
COMBINED_BY = {
    "raw": "largest mean confidence",
    "calibrated": "largest mean calibrated confidence",
    "calibrated_out_of_fold": "the same, calibrated out of fold",
    "rover": "ROVER",
    "informed": "fewest expected errors",
    "joint": "joint network",
}
MEASURES = {
    "WER": "word error rate: substituted, deleted and inserted words for each word that was said. 0 is perfect.",
    "EER": "where as many right words are rejected as wrong ones accepted. 0 is perfect, 50% is a coin.",
    "NCE": "normalised cross entropy: 1 is perfect, 0 is no better than giving every word the same probability, "
    "less than 0 is worse than that.",
    "AUC": "how often a right word has more confidence than a wrong one. 1 is perfect, 0.5 is a coin.",
    "PR wrong": "average precision in finding the wrong words. 1 is perfect, the share of wrong words is chance.",
    "ECE": "how far claimed and true shares of right words are apart, on average. 0 is perfect.",
    "Brier": "mean squared distance of probability and truth. 0 is perfect.",
    "caught": "share of the wrong words among the least trusted 10% of the words.",
    "95%": "intervals that resample speakers (utterances where no speaker is known).",
}
ABOUT_WORDS = {name: MEASURES[name] for name in ("WER", "95%")}  # of words without confidences
NO_PROBABILITIES = (
    "Some of these scores lie outside 0 to 1: they are not probabilities, so no diagram says how true they are."
)


def label_for(names: Mapping[str, str], name: str) -> str:
    """What people read for a name; the name itself if it has no other."""
    return names.get(name, name[:40])


def capital(text: str) -> str:
    """With a capital letter at its start."""
    return text[:1].upper() + text[1:]
