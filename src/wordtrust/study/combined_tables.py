"""The results of several recognizers together as tables: combination, the paper's system, examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..report.wording import counted
from .paper import DIFFERENCES
from .table import NONE, Study, Table, decimal, percent, span

_NOTHING = "(nothing)"
WAYS = {
    "raw": "largest mean confidence",
    "calibrated": "largest mean calibrated confidence",
    "rover": "ROVER",
    "informed": "fewest expected errors",
    "joint": "joint network",
}
MOST_SUBSETS = 40  # that are listed one by one


def combination_tables(study: Study) -> Iterator[Table]:
    """Table 3, and the subsets behind it."""
    subsets = study.get("subsets", [])
    if not subsets:
        return
    yield ways_table(study, wide=True)
    yield joint_table(study)
    ways = [way for way in WAYS if way in subsets[0]]
    columns = ("best member", *ways, "oracle")
    keys = ("best_member", *ways, "oracle")
    if len(subsets) <= MOST_SUBSETS:
        rows = [(" + ".join(each["members"]), *(percent(each.get(key)) for key in keys)) for each in subsets]
        yield Table("All subsets", ("recognizers", *columns), tuple(rows), "WER in %.")
        return
    sizes = sorted({len(each["members"]) for each in subsets})
    rows = [_size_row(size, [each for each in subsets if len(each["members"]) == size], keys) for size in sizes]
    note = "Mean WER in % over all subsets of a size; study.json has every subset."
    yield Table("Subsets by size", ("recognizers", "subsets", *columns), tuple(rows), note)


def ways_table(study: Study, *, wide: bool = False) -> Table:
    """Table 3: how often each way to combine beats the best member; `wide` has more than a terminal has room for."""
    subsets, rows = study["subsets"], []
    rivals = {"vs 1-best": study.get("against_one_best", {})}
    if wide and study.get("against_rover", {}).get("better"):
        rivals["vs ROVER"] = study["against_rover"]
    for way, called in WAYS.items():
        if way not in study["better"]:
            continue
        rates = [each[way] for each in subsets]
        counts = (f"{study[kind][way]:,}" for kind in ("better", "equal", "worse"))
        against = (_counts(each, way) for each in rivals.values())
        spread, held = study["spread"][way]["deviation"], study["none_worse"].get(way)
        rows.append((called, percent(sum(rates) / len(rates)), percent(spread), *counts, *against, percent(held)))
    for key, called in (("best_member", "best member, own model"), ("oracle", "best output of each utterance")):
        mean = sum(each[key] for each in subsets) / len(subsets)
        rows.append((called, percent(mean), *([NONE] * (5 + len(rivals)))))
    columns = ("combined by", "WER", "spread", "better", "equal", "worse", *rivals, "held")
    note = (
        f"Means over {counted(len(subsets), 'subset')}, WER in %, spread: standard deviation. Better, equal, worse: "
        "subsets against their best member with its own model; vs 1-best: the same against the best of what members "
        f"print{'; vs ROVER: against ROVER' if len(rivals) > 1 else ''}. Held: % of draws of speakers in which no "
        "subset is worse."
    )
    return Table("Table 3: combination", columns, tuple(rows), note)


def _counts(found: Mapping[str, Any], way: str) -> str:
    """Better, equal and worse; nothing of the rival itself."""
    if way not in found.get("better", {}):
        return NONE
    return "/".join(f"{found[kind][way]:,}" for kind in ("better", "equal", "worse"))


def joint_table(study: Study) -> Table:
    """What the joint network of all recognizers is worth: its own words, and those of each recognizer's 1-best."""
    joined = study.get("joint_of_all")
    if not joined:
        return Table("", (), ())
    rows = [("its own output", NONE, NONE, NONE, *_three(joined["output"]))]
    for name, found in joined["one_best"].items():
        own = study["recognizers"][name].get("one_best", {}).get("calibrated", {})
        rows.append((f"1-best of {name}", *_three(own), *_three(found)))
    columns = ("words", "EER alone", "NCE alone", "ECE alone", "EER joint", "NCE joint", "ECE joint")
    rate, drawn, tested = joined["errors"].get("wer"), joined["interval"], joined["against_best_member"]
    note = (
        f"WER of its output: {percent(rate)} ({span(None if None in drawn else drawn)}), against the best member "
        f"{percent(tested['value'])} (p {decimal(tested['p'])}). Alone: the recognizer's own calibrated confidence; "
        "joint: what all of them together believe of the same words."
    )
    return Table("All recognizers joined", columns, tuple(rows), note)


def _three(found: Mapping[str, float]) -> tuple[str, str, str]:
    return percent(found.get("eer")), decimal(found.get("nce")), decimal(found.get("ece"))


def _size_row(size: int, subsets: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> tuple[str, ...]:
    means = (sum(each[key] for each in subsets) / len(subsets) for key in keys)
    return str(size), str(len(subsets)), *map(percent, means)


def paper_tables(study: Study) -> Iterator[Table]:
    """The system as the paper has it, on its own terms."""
    rows = []
    for name, each in study["recognizers"].items():
        found = each.get("paper")
        if found:
            arcs = [found["arcs_paper"][kind].get("eer") for kind in ("posterior", "confidence")]
            nce = [found["arcs_paper"][kind].get("nce") for kind in ("posterior", "confidence", "calibrated")]
            words = [found["output"][kind].get("nce") for kind in ("confidence", "calibrated")]
            rates = (percent(found["wer"].get(way)) for way in ("one_best", "best_confidence"))
            shown = (*map(percent, arcs), *map(decimal, nce), *map(decimal, words))
            rows.append((name, *rates, decimal(found.get("p")), *shown))
    columns = (
        "recognizer", "1-best", "output", "p", "EER posterior", "EER confidence", "NCE posterior", "NCE confidence",
        "NCE calibrated", "NCE words", "NCE words, cal.",
    )  # fmt: skip
    note = (
        "One-best labels, the paper's features, a sigmoid for each arc, words by the largest mean confidence. EER, "
        "NCE over all words of the networks, then NCE over the words of the output. WER and EER in %. "
        f"Where it differs from the paper: {'; '.join(DIFFERENCES)}."
    )
    yield Table("The paper's system", columns, tuple(rows), note)
    combined = study.get("paper", {})
    if combined.get("subsets"):
        yield replace(ways_table(combined), title="The paper's system: combination")
        yield from _example_tables(combined["examples"], "The paper's system, example")


def example_tables(study: Study) -> Iterator[Table]:
    """Table 4: whose words were taken; and what was repaired."""
    yield from _example_tables(study.get("examples", []), "Table 4, example")
    rows = [
        (one["recognizer"], one["said"], one["printed"] or _NOTHING, one["best_confidence"] or _NOTHING)
        for one in study.get("repairs", [])
    ]
    columns = ("recognizer", "said", "1-best", "output")
    yield Table("Words repaired", columns, tuple(rows), "The largest repair of each.", (1, 2, 3))


def _example_tables(examples: Sequence[Mapping[str, Any]], title: str) -> Iterator[Table]:
    for number, each in enumerate(examples, 1):
        rows = [
            (
                one["name"] + _taken(one["name"], each),
                one["words"] or _NOTHING,
                f"{one['raw']:.3f}",
                f"{one['calibrated']:.3f}",
                str(one["errors"]),
            )
            for one in each["said"]
        ]
        columns = ("recognizer", "words", "raw", "calibrated", "errors")
        said = f"{title} {number}: {each['reference']}"
        yield Table(said, columns, tuple(rows), f"Utterance {each['utt']}.", (1,))


def _taken(name: str, example: Mapping[str, Any]) -> str:
    marks = [way for way in ("raw", "calibrated") if example[f"by_{way}"] == name]
    return f" (taken by {' and '.join(marks)})" if marks else ""
