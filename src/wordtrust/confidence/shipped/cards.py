"""The card of a shipped model as text: what it is for, what it was made of, its measures and its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...base.number_format import percentage
from ..model_card import ShippedCard
from . import ShippedModel

UNSEEN = {  # measures on recognizers that were left out: their names and formats
    "eer": ("EER", ".2%"), "nce": ("NCE", ".3f"), "ece": ("ECE", ".3f"), "wer": ("WER", ".2%"),
    "tuned": ("WER, tuned 1-best", ".2%"),
}  # fmt: skip
POPULATIONS = {"arcs": "all word arcs", "one_best": "words of the 1-best", "output": "words of the output"}


def best_measure(card: ShippedCard, population: str = "one_best") -> tuple[str, Mapping[str, float]]:
    """The split and the measures that a list shows: of a test split where there is one, calibrated where it is."""
    metrics = card.metrics
    for split in sorted(metrics, key=lambda split: split == "dev"):
        kinds = metrics[split].get(population, {})
        for kind in ("calibrated", "confidence"):
            if kind in kinds:
                return split, kinds[kind]
    return "", {}


def card_text(model: ShippedModel) -> str:
    """A card in Markdown."""
    card = model.card
    lines = [f"## {model.name}", "", f"For {card.recognizer}. {model.bytes / 1e6:.2f} MB.", ""]
    lines += [f"- Data: {card.data}.", f"- Licence: {_joined(card.licence)}."]
    lines += [f"- Made: {_made(card.made)}.", *(f"- {limit}" for limit in card.limits)]
    if model.accept:
        lines.append(_accepted(model.accept))
    for split, metrics in card.metrics.items():
        lines += ["", *_table(split, metrics)]
    if card.unseen:
        caption = (
            "On dev of recognizers that were left out of the training, each family in turn: confidences of the words "
            "of their 1-best, and word errors of the output beside those of their tuned 1-best:"
        )
        lines += ["", caption, "", *_unseen(card.unseen)]
    return "\n".join(lines) + "\n"


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
    if made.get("language_model"):
        parts.append(f"also fitted with the language model {made['language_model']} (--lm)")
    return ", ".join(parts)


def _accepted(accept: Sequence[Mapping[str, Any]]) -> str:
    """Which words can go unread."""
    level, speakers = percentage(accept[0]["level"]), accept[0]["speakers"]
    shown = (
        f"{percentage(entry['precision'])} from {entry['threshold']:.3f} on ({entry['accepted']:.0%} of the words)"
        for entry in accept
    )
    return (
        f"- Words that can go unread (`--accept`), {level} sure for new speakers, shown on {speakers:,} of them: "
        f"at least {', '.join(shown)}."
    )


def _table(split: str, metrics: Mapping[str, Any]) -> list[str]:
    """The measures of one split."""
    if "better" in metrics:
        outcomes = ("better", "equal", "worse")
        counts = {method: [metrics[outcome].get(method, 0) for outcome in outcomes] for method in metrics["better"]}
        head = [f"Subsets of recognizers against their best member, {split}:", ""]
        return [*head, "| way | better | equal | worse |", "|---|---|---|---|",
                *(f"| {method} | {b} | {e} | {w} |" for method, (b, e, w) in counts.items())]  # fmt: skip
    wer = metrics.get("wer", {})
    rates = ", ".join(f"{name.replace('_', ' ')} {100 * rate:.2f}%" for name, rate in wer.items())
    lines = [f"{split} ({metrics['utterances']:,} utterances). Word errors: {rates}.", ""]
    lines += ["| over | score | EER | NCE | AUC | ECE |", "|---|---|---|---|---|---|"]
    for population, name in POPULATIONS.items():
        for kind, measures in metrics.get(population, {}).items():
            cells = [f"{100 * measures['eer']:.2f}%", *(f"{measures[key]:.3f}" for key in ("nce", "auc", "ece"))]
            lines.append(f"| {name} | {kind.replace('_', ' ')} | " + " | ".join(cells) + " |")
    return lines


def _unseen(unseen: Mapping[str, Mapping[str, float]]) -> list[str]:
    columns = {name: UNSEEN[name] for name in UNSEEN if any(name in measures for measures in unseen.values())}
    rows = [["recognizer", *(title for title, _ in columns.values())]]
    for recognizer, measures in unseen.items():
        cells = (format(measures[name], spec) if name in measures else "" for name, (_, spec) in columns.items())
        rows.append([recognizer, *cells])
    head, *body = ("| " + " | ".join(row) + " |" for row in rows)
    return [head, "|---" * len(rows[0]) + "|", *body]
