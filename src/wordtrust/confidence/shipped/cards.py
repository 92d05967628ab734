"""Cards: what a shipped model is, what it is made of, how good it is and where it ends. The docs are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...base.version import __version__
from ..model_card import ShippedCard
from ..model_file import Model
from . import ShippedModel

RECOGNIZERS = {
    "kaldi-small-2020": "Vosk small en-us 0.15 (Kaldi chain model, 152,000 words), lattices",
    "vosk": "Vosk small en-us 0.15 as Vosk prints it: lists of alternatives with scores",
    "kaldi-small-2019": "an older small Vosk model (Kaldi chain model, 67,000 words), lattices",
    "kaldi-comprise": "the acoustic model of kaldi-small-2019 with another language model, lattices",
    "kaldi-zamia": "Zamia tdnn_250 of 2019 (Kaldi chain model, 169,000 words), lattices",
    "whisper-tiny.en": "Whisper tiny.en, lists of ten hypotheses",
    "whisper-base": "Whisper base, lists of ten hypotheses",
    "whisper-small": "Whisper small, lists of ten hypotheses",
    "moonshine-tiny": "Moonshine tiny, lists of ten hypotheses",
    "moonshine-base": "Moonshine base, lists of ten hypotheses",
}
ANY = "any recognizer whose own model there is not"
DATA = "read English sentences of Common Voice: 4,241 utterances of 1,138 speakers to train, 930 of 216 to choose"
DRAWN = {
    "vosk": "; every utterance as two lists, of at most ten and a hundred alternatives, as Vosk prints them with the "
    "--lattice-beam=2 of its small models, drawn from the lattices of kaldi-small-2020 (tools/vosk_nbest.py)"
}
LICENCE = {
    "model": "Apache-2.0, like wordtrust",
    "speech": "Common Voice, CC0",
    "word vectors": "GloVe, public domain, reduced to 25 numbers a word",
    "recognizer": "nothing of it is inside: only its outputs were used, its own licence holds for itself",
}
LIMITS = (
    "English. Read sentences of a few seconds; long, spontaneous or noisy speech was not tried.",
    "For outputs decoded in the same way (number of hypotheses, beams, scales): others shift the confidences.",
    "On other accents, subjects or recordings confidences lose some of their meaning: see docs/shift.md, and "
    "calibrate on a few hundred utterances of your own.",
)
GENERIC_LIMITS = (
    "It has never seen your recognizer: the order of its confidences is worth more than their values. It takes the "
    "statistics of scores from your own outputs (wordtrust adapt); a hundred utterances or more are wanted for that.",
    *LIMITS,
)
UNSEEN = {"eer": "EER", "nce": "NCE", "ece": "ECE", "wer": "WER", "tuned": "WER, tuned 1-best"}
POPULATIONS = {"arcs": "all word arcs", "one_best": "words of the 1-best", "output": "words of the output"}


def card_of(name: str, model: Model, metrics: Mapping[str, Any]) -> ShippedCard:
    """The card of a model; `metrics` are evaluations by split."""
    card = model.card
    made = {"wordtrust": __version__, "training": dict(card.training.options), "words": len(model.table.words)}
    if card.calibrated_on is not None:
        made["calibrated_on"] = card.calibrated_on.to_json() | {"speakers": len(card.calibrated_on.speakers)}
    return ShippedCard(
        name=name,
        recognizer=ANY if model.is_generic else RECOGNIZERS.get(name, model.recognizer or name),
        data=DATA + DRAWN.get(name, ""),
        licence=LICENCE,
        metrics=metrics,
        limits=GENERIC_LIMITS if model.is_generic else LIMITS,
        made=made,
        unseen=card.unseen,
    )


def joint_card(name: str, members: Iterable[str], metrics: Mapping[str, Any]) -> ShippedCard:
    """The card of a combination of recognizers."""
    recognizer, made = "several at once: " + ", ".join(members), {"wordtrust": __version__}
    return ShippedCard(name, recognizer, DATA, LICENCE, metrics, LIMITS, made)


def best_measure(card: ShippedCard, population: str = "one_best") -> tuple[str, Mapping[str, float]]:
    """The split and the measures that a list shows: of a test split where there is one, calibrated where it is."""
    metrics = card.metrics
    for split in sorted(metrics, key=lambda each: each == "dev"):
        kinds = metrics[split].get(population, {})
        for kind in ("calibrated", "confidence"):
            if kind in kinds:
                return split, kinds[kind]
    return "", {}


def card_text(found: ShippedModel) -> str:
    """A card in Markdown."""
    card = found.card
    lines = [f"## {found.name}", "", f"For {card.recognizer}. {found.bytes / 1e6:.2f} MB.", ""]
    lines += [f"- Data: {card.data}.", f"- Licence: {_joined(card.licence)}."]
    lines += [f"- Made: {_made(card.made)}.", *(f"- {limit}" for limit in card.limits)]
    for split, each in card.metrics.items():
        lines += ["", *_table(split, each)]
    if card.unseen:
        told = (
            "On dev of recognizers that were left out of the training, each in turn: confidences of the words of "
            "their 1-best, and word errors of the output beside those of their tuned 1-best:"
        )
        lines += ["", told, "", *_unseen(card.unseen)]
    return "\n".join(lines) + "\n"


def page(models: Iterable[ShippedModel], shared_bytes: int = 0) -> str:
    """docs/shipped-models.md."""
    listed = list(models)
    if not listed:
        return _HEAD + "\nThis version comes without models.\n"
    total = sum(each.bytes for each in listed) + shared_bytes
    rows = ["| model | for | MB | NCE | EER | ECE |", "|---|---|---|---|---|---|"]
    rows += [_row(each) for each in listed]
    told = (
        "NCE, EER and ECE are of the words of the recognizer's 1-best, calibrated, on the split named in the card. "
        f"All together take {total / 1e6:.1f} MB, {shared_bytes / 1e6:.1f} of them words that they share."
    )
    return "\n".join([_HEAD, *rows, "", told, "", *(card_text(each) for each in listed)])


_HEAD = """# Models that come with wordtrust

Made by `python -m tools.shipped_models` from the cards inside the models; do not edit this
page by hand. Wherever a command takes a MODEL, the name of one of these works too:

```
wordtrust models
wordtrust score whisper-base eval.jsonl.gz --out words.ctm
```

In Python `wt.models()` lists them and `wt.load("whisper-base")` loads one. A model fits outputs of its recognizer
that were decoded in the same way; for another recognizer take a generic one and adapt it to your outputs, for which
no references are needed ([shift.md](shift.md)).
"""


def _row(each: ShippedModel) -> str:
    _, found = best_measure(each.card)
    shown = [f"{found['nce']:.3f}", f"{100 * found['eer']:.1f}%", f"{found['ece']:.3f}"] if found else ["", "", ""]
    return f"| {each.name} | {each.card.recognizer} | {each.bytes / 1e6:.2f} | " + " | ".join(shown) + " |"


def _joined(parts: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {value}" for name, value in parts.items())


def _made(made: Mapping[str, Any]) -> str:
    parts = [f"wordtrust {made['wordtrust']}"]
    training = made.get("training", {})
    if training.get("state"):
        sizes = f"{training['state']} states a direction, hidden layer of {training['hidden']}"
        parts.append(f"{training['cell']} of {sizes}")
    if training.get("start"):
        parts.append(f"begun with the network of {training['start']}, which learned from all recognizers here")
    if made.get("words"):
        parts.append(f"{made['words']:,} words")
    if made.get("calibrated_on"):
        seen = made["calibrated_on"]
        parts.append(f"calibrated on {seen['utterances']:,} utterances by models that had not seen their speakers")
    return ", ".join(parts)


def _table(split: str, found: Mapping[str, Any]) -> list[str]:
    """The measures of one split."""
    if "better" in found:
        ways = {way: [found[each].get(way, 0) for each in ("better", "equal", "worse")] for way in found["better"]}
        head = [f"Subsets of recognizers against their best member, {split}:", ""]
        return [*head, "| way | better | equal | worse |", "|---|---|---|---|",
                *(f"| {way} | {b} | {e} | {w} |" for way, (b, e, w) in ways.items())]  # fmt: skip
    wer = found.get("wer", {})
    rates = ", ".join(f"{name.replace('_', ' ')} {100 * rate:.2f}%" for name, rate in wer.items())
    lines = [f"{split} ({found['utterances']:,} utterances). Word errors: {rates}.", ""]
    lines += ["| over | score | EER | NCE | AUC | ECE |", "|---|---|---|---|---|---|"]
    for population, name in POPULATIONS.items():
        for kind, each in found.get(population, {}).items():
            cells = [f"{100 * each['eer']:.2f}%", *(f"{each[key]:.3f}" for key in ("nce", "auc", "ece"))]
            lines.append(f"| {name} | {kind.replace('_', ' ')} | " + " | ".join(cells) + " |")
    return lines


def _unseen(found: Mapping[str, Mapping[str, float]]) -> list[str]:
    names = [name for name in UNSEEN if any(name in each for each in found.values())]
    lines = ["| recognizer | " + " | ".join(UNSEEN[name] for name in names) + " |", "|---" * (len(names) + 1) + "|"]
    for recognizer, each in found.items():
        lines.append(f"| {recognizer} | " + " | ".join(_unseen_cell(each, name) for name in names) + " |")
    return lines


def _unseen_cell(found: Mapping[str, float], name: str) -> str:
    if name not in found:
        return ""
    return f"{found[name]:.3f}" if name in ("nce", "ece") else f"{100 * found[name]:.2f}%"
