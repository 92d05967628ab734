"""The results of a study as tables for terminal, results.md and page, made from study.json alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..base.number_format import NONE, counted, decimal, percent, signed, span
from ..base.table import Table
from ..report.wording import COMBINED_BY
from .paper import DIFFERENCES, OUT_OF_FOLD
from .paper_examples import chosen_subsets

Study = Mapping[str, Any]  # the content of study.json
_CALLED = {
    "posterior": "posterior",
    "calibrated_posterior": "cal. posterior",
    "logistic": "logistic",
    "confidence": "confidence",
    "calibrated": "calibrated",
}
_RIVALS = ("calibrated_posterior", "logistic")
_SHOWN = {"eer": ("posterior", "logistic", "confidence"), "nce": tuple(_CALLED), "ece": ("calibrated",)}
_ABOUT_SCORES = (
    "EER in %. Cal. posterior: posteriors at their best scales, calibrated; logistic: regression over posterior, "
    "length, frequency, depth and scores; confidence: the model; calibrated: its calibrated confidence."
)

_NOTHING = "(nothing)"
MOST_SUBSETS = 40  # that are listed one by one


def all_tables(study: Study) -> dict[str, list[Table]]:
    """Every table that has rows, by what it is about."""
    tables = {
        "words": [words_table(study), words_table(study, "lenient_wer")],
        "confidences": _confidence_tables(study),
        "estimates": list(estimation_tables(study)),
        "language model": [language_model_table(study)],
        "combination": list(combination_tables(study)),
        "paper": list(paper_tables(study)),
        "examples": list(example_tables(study)),
    }
    return {name: [table for table in listed if table.rows] for name, listed in tables.items()}


def _confidence_tables(study: Study) -> list[Table]:
    titles = {
        "arcs": "Table 1: confidences of all words of the networks",
        "arcs_paper": "Table 1, labelled by the paper's rule",
        "one_best": "Confidences of the words of the 1-best",
        "output": "Confidences of the words of the output",
    }
    first, *others = (confidence_table(study, name, title) for name, title in titles.items())
    tables = [replace(first, note=_ABOUT_SCORES), *others, tests_table(study), *same_inputs_tables(study)]
    return [*tables, *beyond_words_tables(study)]


def same_inputs_tables(study: Study) -> Iterator[Table]:
    """The model beside a regression and trees that see the same of an arc, but nothing of its neighbours."""
    kinds = {"full_logistic": "logistic", "trees": "trees", "confidence": "model"}
    note = "Logistic regression and gradient-boosted trees over all features that the model sees; none is calibrated."
    for population, words in {"arcs": "all words", "one_best": "1-best"}.items():
        rows = []
        for name, record in study["recognizers"].items():
            scores = [record.get(population, {}).get(kind, {}) for kind in kinds]
            if scores[0]:
                eer, nce = ([one.get(measure) for one in scores] for measure in ("eer", "nce"))
                rows.append((name, *map(percent, eer), *map(decimal, nce)))
        columns = [f"{measure} {kind}" for measure in ("EER", "NCE") for kind in kinds.values()]
        yield Table(f"Baselines with the model's inputs: {words}", ("recognizer", *columns), tuple(rows), note)


_MISSING = (  # columns: kind of score and measure of it
    ("AUC k-best", "k_best", "auc"), ("AUC post.", "posterior", "auc"), ("AUC", "calibrated", "auc"),
    ("NCE raw", "confidence", "nce"), ("NCE", "calibrated", "nce"), ("ECE", "calibrated", "ece"),
)  # fmt: skip
_WHOLE = (
    ("AUC mean", "mean_confidence", "auc"), ("AUC post.", "posterior", "auc"), ("AUC", "calibrated", "auc"),
    ("NCE mean", "mean_confidence", "nce"), ("NCE raw", "confidence", "nce"), ("NCE", "calibrated", "nce"),
    ("ECE", "calibrated", "ece"), ("Brier", "calibrated", "brier"),
)  # fmt: skip
_BY_THE_MODEL = "and by the model: as trained (raw), else calibrated."
_BEYOND_WORDS = {
    "gaps": (
        "Missing words",
        _MISSING,
        "Gaps of the output, before, between and after its words, in which words are missing: how many are, and how "
        "many the calibrated probabilities say (%). By lists of the 50 best word sequences (k-best), by the "
        f"posteriors of words that would stand there (post.), {_BY_THE_MODEL}",
    ),
    "whole_utterances": (
        "Whole utterances",
        _WHOLE,
        "Utterances of the output without any error: how many are, and how many the calibrated confidences say (%). "
        f"By the mean confidence of the words (mean), by the posterior of the text (post.), {_BY_THE_MODEL}",
    ),
}


def beyond_words_tables(study: Study) -> Iterator[Table]:
    """Missing words, and utterances that are right as a whole: baselines, and what the model makes of them."""
    for population, (title, measures, note) in _BEYOND_WORDS.items():
        rows, joint = [], study.get("joint_of_all", {}).get(population)
        known = {name: record.get(population, {}) for name, record in study["recognizers"].items()}
        for name, scores in (known | ({"joint network of all": {"calibrated": joint}} if joint else {})).items():
            calibrated = scores.get("calibrated")
            if calibrated:
                cells = (decimal(scores.get(kind, {}).get(measure)) for _, kind, measure in measures)
                shares = (percent(calibrated.get(key)) for key in ("rate", "mean"))
                rows.append((name, *shares, *cells))
        yield Table(title, ("recognizer", "are", "said", *(column for column, _, _ in measures)), tuple(rows), note)


def estimation_tables(study: Study) -> Iterator[Table]:
    """Word error rates estimated without references, beside the true ones and the plain sum of 1 - confidence."""
    known = {name: record["estimation"] for name, record in study["recognizers"].items() if "estimation" in record}
    corpus, rates = [], []
    for name, found in known.items():
        of_all, plain = found["corpus"], found["plain_sum"]
        ends = (of_all["low"], of_all["high"]) if "low" in of_all else None
        estimates = (_relative(of_all["estimated"], of_all["true"]), span(ends))
        deletions = [f"{count:,.0f}" for count in found["expected_and_true"]["deletions"]]
        sums = (percent(plain["corpus"]), _relative(plain["corpus"], of_all["true"]))
        corpus.append((name, percent(of_all["true"]), percent(of_all["estimated"]), *estimates, *sums, *deletions))
        levels = (plain["utterances"], found["utterances"], found["speakers"])
        cells = [decimal(level.get(key)) for key in ("correlation", "rmse") for level in levels]
        covered = (percent(found[level].get("coverage"), 1) for level in ("utterances", "speakers"))
        rates.append((name, *cells, *covered))
    level = percent(next((found["corpus"]["level"] for found in known.values()), None), 0)
    note = (
        "WER in % with spellings equated, as labels are: true, estimated without references (off by how much, "
        f"{level}% interval for new speakers), and the plain sum of 1 - confidence. Deletions: expected, and true."
    )
    columns = ("recognizer", "true", "estimate", "off", f"{level}%", "plain", "off", "deletions", "true")
    yield Table("Word error rates without references: all together", columns, tuple(corpus), note)
    note = (
        "Correlation and root mean squared error of estimated and true WER, of utterances by the plain sum of 1 - "
        "confidence (plain), by the model's estimator, and of speakers; how many of the true ones (%) lie in the "
        f"{level}% intervals."
    )
    columns = (
        "recognizer", "corr. plain", "corr.", "corr. speakers", "RMSE plain", "RMSE", "RMSE speakers", "covered utt.",
        "covered speakers",
    )  # fmt: skip
    yield Table("Word error rates without references: each", columns, tuple(rates), note)


def _relative(value: float, true: float) -> str:
    return NONE if not true else f"{100 * (value / true - 1):+.1f}%"


def summary_table(study: Study) -> Table:
    """Posteriors and what the model makes of them, in one line for each recognizer."""
    rows = []
    for name, record in study["recognizers"].items():
        cells = []
        for population, measure in (("arcs", "eer"), ("arcs", "nce"), ("one_best", "nce")):
            for kind in ("posterior", "calibrated_posterior", "calibrated"):
                if (measure, kind) != ("eer", "calibrated_posterior"):
                    value = record.get(population, {}).get(kind, {}).get(measure)
                    cells.append(percent(value) if measure == "eer" else decimal(value))
        rows.append((name, *cells, decimal(record.get("output", {}).get("calibrated", {}).get("ece"))))
    columns = ("recognizer", "EER", "to", "NCE", "cal.", "to", "NCE 1-best", "cal.", "to", "ECE")
    note = (
        "EER (%) and NCE of posteriors, calibrated posteriors (cal.) and what the model makes of them (to), over all "
        "words of the networks, then NCE over the words of the 1-best; ECE of the calibrated words of the output."
    )
    return Table("Table 1: confidences", columns, tuple(rows), note)


def words_table(study: Study, kind: str = "wer") -> Table:
    """Table 2: the word error rates of every recognizer; `lenient_wer` are those with spellings equated."""
    rows = []
    for name, record in study["recognizers"].items():
        if kind not in record:
            continue
        wer, change = record[kind], _change(record[kind])
        ends = record["intervals"][kind].get("best_confidence")
        test = record["differences"][kind].get("tuned_one_best", {})
        rates = (
            percent(wer.get(source)) for source in ("one_best", "tuned_one_best", "tuned_mbr", "best_confidence")
        )
        rows.append((name, *rates, span(ends), change, decimal(test.get("p")), percent(wer.get("oracle"))))
    columns = ("recognizer", "1-best", "tuned", "MBR", "output", "95%", "change", "p", "oracle")
    note = (
        "WER in %. Tuned: scales and word penalty (N-best: length exponent, word bonus) chosen on dev; MBR likewise. "
        "Output: the words with the best confidence. Change and p (paired test over speakers) are against tuned. "
        "Oracle: the best path of the network."
    )
    if kind == "wer":
        return Table("Table 2: words", columns, tuple(rows), note)
    note = "The same where a word in another spelling counts as right: 6 for six, colour for color, it's for it is."
    return Table("Table 2: words, spellings equated", columns, tuple(rows), note)


def _change(wer: Mapping[str, float]) -> str:
    """Relative to the tuned 1-best."""
    base, output = wer.get("tuned_one_best", wer.get("one_best")), wer.get("best_confidence")
    return NONE if not base or output is None else _relative(output, base)


def language_model_table(study: Study) -> Table:
    """Words and confidences without and with a language model."""
    rows, names = [], set[str]()
    for name, record in study["recognizers"].items():
        reading = record.get("with_lm")
        if reading is None:
            continue
        names.add(reading["name"])
        cells = [percent(each["wer"]["best_confidence"]) for each in (record, reading)]
        cells += [_difference(reading["differences"]["wer"], 100.0), _change(record["wer"]), _change(reading["wer"])]
        for population, measure in (("arcs", "nce"), ("one_best", "nce"), ("one_best", "eer")):
            shown = percent if measure == "eer" else decimal
            cells += [shown(each[population]["calibrated"][measure]) for each in (record, reading)]
            if measure == "nce":
                cells.append(_difference(reading["differences"][population][measure]))
        rows.append((name, *cells))
    columns = (
        "recognizer", "WER", "with", "difference", "change", "with", "NCE", "with", "difference",
        "NCE 1-best", "with", "difference", "EER 1-best", "with",
    )  # fmt: skip
    note = (
        f"Without and with {', '.join(sorted(names))}, which reads the best sentences of each network. WER of the "
        "output in %, its change against tuned; NCE of calibrated confidences, of all words and of the 1-best; "
        "EER in %. Differences have 95% intervals that resample speakers."
    )
    return Table("With a language model", columns, tuple(rows), note)


def confidence_table(study: Study, population: str, title: str) -> Table:
    """Table 1: the measures of every score over one population."""
    rows = []
    for name, record in study["recognizers"].items():
        scores = record.get(population, {})
        values = [scores.get(kind, {}).get(measure) for measure, kinds in _SHOWN.items() for kind in kinds]
        if any(value is not None for value in values):
            shares = len(_SHOWN["eer"])
            rows.append((name, *map(percent, values[:shares]), *map(decimal, values[shares:])))
    columns = [f"{measure.upper()} {_CALLED[kind]}" for measure, kinds in _SHOWN.items() for kind in kinds]
    return Table(title, ("recognizer", *columns), tuple(rows))


def tests_table(study: Study) -> Table:
    """Differences between the confidences of the model and their rivals, with intervals."""
    pairs = [(population, rival) for population in ("arcs", "one_best") for rival in _RIVALS]
    rows = []
    for name, record in study["recognizers"].items():
        differences = record["differences"]
        tests = [differences.get(population, {}).get(rival, {}).get("nce", {}) for population, rival in pairs]
        if any(tests):
            rows.append((name, *map(_difference, tests)))
    columns = [
        f"{'all words' if population == 'arcs' else '1-best'} - {_CALLED[rival]}" for population, rival in pairs
    ]
    note = "NCE of calibrated confidence less that of its rival, with 95% intervals that resample speakers."
    return Table("Differences in NCE", ("recognizer", *columns), tuple(rows), note)


def _difference(test: Mapping[str, Any], factor: float = 1.0) -> str:
    ends = [test.get(name) for name in ("value", "low", "high")]
    value, low, high = (None if end is None else factor * end for end in ends)
    return NONE if value is None else f"{signed(value)} ({signed(low)} to {signed(high)})"


def combination_tables(study: Study) -> Iterator[Table]:
    """Table 3, and the subsets behind it."""
    subsets = study.get("subsets", [])
    if not subsets:
        return
    yield combination_table(study, wide=True)
    if "lenient" in study:
        equated = combination_table(study["lenient"], wide=True)
        note = "The same where a word in another spelling counts as right, for the best member too."
        yield replace(equated, title=f"{equated.title}, spellings equated", note=note)
    yield joint_table(study)
    methods = [method for method in COMBINED_BY if method in subsets[0]]
    columns = ("best member", *methods, "oracle")
    keys = ("best_member", *methods, "oracle")
    if len(subsets) <= MOST_SUBSETS:
        rows = [(" + ".join(subset["members"]), *(percent(subset.get(key)) for key in keys)) for subset in subsets]
        yield Table("All subsets", ("recognizers", *columns), tuple(rows), "WER in %.")
        return
    sizes = sorted({len(subset["members"]) for subset in subsets})
    rows = [_size_row(size, [subset for subset in subsets if len(subset["members"]) == size], keys) for size in sizes]
    note = "Mean WER in % over all subsets of a size; study.json has every subset."
    yield Table("Subsets by size", ("recognizers", "subsets", *columns), tuple(rows), note)


def combination_table(study: Study, *, wide: bool = False) -> Table:
    """Table 3: how often each method beats the best member; `wide` has more than a terminal has room for."""
    subsets, rows = study["subsets"], []
    rivals = {"vs 1-best": study.get("against_one_best", {})}
    if wide and study.get("against_rover", {}).get("better"):
        rivals["vs ROVER"] = study["against_rover"]
    for method, title in COMBINED_BY.items():
        if method not in study["better"]:
            continue
        rates = [subset[method] for subset in subsets]
        counts = (f"{study[kind][method]:,}" for kind in ("better", "equal", "worse"))
        against = (_counts(counts_by, method) for counts_by in rivals.values())
        deviation, held = study["spread"][method]["deviation"], study["none_worse"].get(method)
        rows.append((title, percent(sum(rates) / len(rates)), percent(deviation), *counts, *against, percent(held)))
    for key, title in (("best_member", "best member, own model"), ("oracle", "best output of each utterance")):
        mean = sum(subset[key] for subset in subsets) / len(subsets)
        rows.append((title, percent(mean), *([NONE] * (5 + len(rivals)))))
    columns = ("combined by", "WER", "spread", "better", "equal", "worse", *rivals, "held")
    note = (
        f"Means over {counted(len(subsets), 'subset')}, WER in %, spread: standard deviation. Better, equal, worse: "
        "subsets against their best member with its own model; vs 1-best: the same against the best of what members "
        f"print{'; vs ROVER: against ROVER' if len(rivals) > 1 else ''}. Held: % of draws of speakers in which no "
        "subset is worse."
    )
    return Table("Table 3: combination", columns, tuple(rows), note)


def _counts(counts: Mapping[str, Any], method: str) -> str:
    """Better, equal and worse; nothing for the rival itself."""
    if method not in counts.get("better", {}):
        return NONE
    return "/".join(f"{counts[kind][method]:,}" for kind in ("better", "equal", "worse"))


def joint_table(study: Study) -> Table:
    """The joint network of all recognizers: its own words, and the words of each recognizer's 1-best."""
    joined = study.get("joint_of_all")
    if not joined:
        return Table("", (), ())
    rows = [("its own output", NONE, NONE, NONE, *_three(joined["output"]))]
    for name, scores in joined["one_best"].items():
        own = study["recognizers"][name].get("one_best", {}).get("calibrated", {})
        rows.append((f"1-best of {name}", *_three(own), *_three(scores)))
    columns = ("words", "EER alone", "NCE alone", "ECE alone", "EER joint", "NCE joint", "ECE joint")
    rate, ends, test = joined["errors"].get("wer"), joined["interval"], joined["against_best_member"]
    note = (
        f"WER of its output: {percent(rate)} ({span(None if None in ends else ends)}), against the best member "
        f"{percent(test['value'])} (p {decimal(test['p'])}){_joint_leniently(joined)}. "
        "Alone: the recognizer's own calibrated confidence; "
        "joint: what all of them together believe of the same words."
    )
    return Table("All recognizers joined", columns, tuple(rows), note)


def _joint_leniently(joined: Mapping[str, Any]) -> str:
    """The same with spellings equated, where that was counted."""
    if "lenient" not in joined:
        return ""
    rate, test = joined["lenient"]["errors"].get("wer"), joined["lenient"]["against_best_member"]
    return f"; with spellings equated {percent(rate)}, {percent(test['value'])} (p {decimal(test['p'])})"


def _three(scores: Mapping[str, float]) -> tuple[str, str, str]:
    return percent(scores.get("eer")), decimal(scores.get("nce")), decimal(scores.get("ece"))


def _size_row(size: int, subsets: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> tuple[str, ...]:
    means = (sum(subset[key] for subset in subsets) / len(subsets) for key in keys)
    return str(size), str(len(subsets)), *map(percent, means)


def paper_tables(study: Study) -> Iterator[Table]:
    """The system as the paper has it, on its own terms."""
    rows = []
    for name, record in study["recognizers"].items():
        paper = record.get("paper")
        if paper:
            arcs = [paper["arcs_paper"][kind].get("eer") for kind in ("posterior", "confidence")]
            all_kinds = ("posterior", "confidence", "calibrated", OUT_OF_FOLD)
            nce = [paper["arcs_paper"].get(kind, {}).get("nce") for kind in all_kinds]
            kinds = [kind for kind in ("confidence", "calibrated", OUT_OF_FOLD) if kind in paper["output"]]
            words = [paper["output"][kind].get("nce") for kind in kinds] + [None] * (3 - len(kinds))
            rates = (percent(paper["wer"].get(source)) for source in ("one_best", "best_confidence"))
            shown = (*map(percent, arcs), *map(decimal, nce), *map(decimal, words))
            size = "x".join(str(value) for value in paper.get("size", {}).values()) or NONE
            rows.append((name, size, *rates, decimal(paper.get("p")), *shown))
    columns = (
        "recognizer", "size", "1-best", "output", "p", "EER posterior", "EER confidence", "NCE posterior",
        "NCE confidence", "NCE calibrated", "out of fold", "NCE words", "calibrated", "out of fold",
    )  # fmt: skip
    note = (
        "One-best labels, the paper's features, a sigmoid for each arc, states and hidden units (size) with the best "
        "dev EER, words by the largest mean confidence. EER, NCE over all words of the networks, then NCE over the "
        "words of the output. Calibrated on the training data as the model itself scores them, which is what the "
        "paper has, and out of fold. WER and EER in %. "
        f"Where it differs from the paper: {'; '.join(DIFFERENCES)}."
    )
    yield Table("The paper's system", columns, tuple(rows), note)
    combined = study.get("paper", {})
    if combined.get("subsets"):
        yield replace(combination_table(combined), title="The paper's system, table 3: combination")
        yield _chosen_table(combined["subsets"])


def _chosen_table(subsets: Sequence[Mapping[str, Any]]) -> Table:
    """Table 4 of the paper: chosen subsets."""
    methods = [method for method in ("raw", "calibrated", OUT_OF_FOLD) if method in subsets[0]]
    rows = [
        (" + ".join(subset["members"]), *(percent(subset[key]) for key in ("best_member", *methods, "oracle")))
        for subset in chosen_subsets(subsets)
    ]
    called = {"raw": "raw", "calibrated": "calibrated", OUT_OF_FOLD: "out of fold"}
    columns = ("recognizers", "best single", *(called[method] for method in methods), "oracle")
    note = "WER in %. Of each size the subset where calibrated confidences gain most, and where they lose most."
    return Table("The paper's system, table 4: subsets", columns, tuple(rows), note, (0,))


def example_tables(study: Study) -> Iterator[Table]:
    """Utterances: whose words were taken; and the words that were repaired."""
    yield from _example_tables(study.get("examples", []), "Example")
    rows = [
        (repair["recognizer"], repair["said"], repair["printed"] or _NOTHING, repair["best_confidence"] or _NOTHING)
        for repair in study.get("repairs", [])
    ]
    columns = ("recognizer", "said", "1-best", "output")
    yield Table("Words repaired", columns, tuple(rows), "The largest repair of each.", (1, 2, 3))


def _example_tables(examples: Sequence[Mapping[str, Any]], title: str) -> Iterator[Table]:
    for index, example in enumerate(examples, 1):
        rows = [
            (
                output["name"] + _taken(output["name"], example),
                output["words"] or _NOTHING,
                f"{output['raw']:.3f}",
                f"{output['calibrated']:.3f}",
                str(output["errors"]),
            )
            for output in example["said"]
        ]
        columns = ("recognizer", "words", "raw", "calibrated", "errors")
        heading = f"{title} {index}: {example['reference']}"
        yield Table(heading, columns, tuple(rows), f"Utterance {example['utt']}.", (1,))


def _taken(name: str, example: Mapping[str, Any]) -> str:
    marks = [kind for kind in ("raw", "calibrated") if example[f"by_{kind}"] == name]
    return f" (taken by {' and '.join(marks)})" if marks else ""
