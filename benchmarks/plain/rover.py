"""ROVER as one would write it down: lists of slots, a table of costs, votes by average confidence."""

from __future__ import annotations

from collections.abc import Sequence

Word = tuple[str, float] | None  # with its confidence; None is nothing
Slot = list[Word]


def rover(outputs: Sequence[Sequence[tuple[str, float]]], alpha: float, nothing: float) -> list[str]:
    """The words that win."""
    slots: list[Slot] = [[word] for word in outputs[0]]
    for members, words in enumerate(outputs[1:], 1):
        slots = _joined(slots, members, words)
    winners = [_winner(slot, alpha, nothing) for slot in slots]
    return [word for word in winners if word is not None]


def _joined(slots: list[Slot], members: int, words: Sequence[tuple[str, float]]) -> list[Slot]:
    width = len(words) + 1
    cost = [[3000 * j for j in range(width)]]
    steps = [["new"] * width]
    for slot in slots:
        said = {word[0] if word else None for word in slot}
        skip, other = (1, 1000) if None in said else (3000, 4000)
        row, ways = [cost[-1][0] + skip], ["skip"]
        for j in range(1, width):
            beside = cost[-1][j - 1] + (0 if words[j - 1][0] in said else other)
            above, new = cost[-1][j] + skip, row[-1] + 3000
            best = min(beside, above, new)
            row.append(best)
            ways.append("beside" if beside == best else "skip" if above < new else "new")
        cost.append(row)
        steps.append(ways)
    found: list[Slot] = []
    s, j = len(slots), len(words)
    while s or j:
        step = steps[s][j]
        before: Slot = slots[s - 1] if step != "new" else [None] * members
        found.append([*before, words[j - 1] if step != "skip" else None])
        s, j = s - (step != "new"), j - (step != "skip")
    return found[::-1]


def _winner(slot: Slot, alpha: float, nothing: float) -> str | None:
    trust: dict[str | None, list[float]] = {}
    for word in slot:
        trust.setdefault(word[0] if word else None, []).append(word[1] if word else nothing)
    scores = {
        word: alpha * len(sure) / len(slot) + (1 - alpha) * sum(sure) / len(sure) for word, sure in trust.items()
    }
    best = max(scores.values())
    return next(word for word, score in scores.items() if score > best - 1e-9)
