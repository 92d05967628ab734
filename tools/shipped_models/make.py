"""From the models of a study to those that come with the package."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.files import atomic_folder, atomic_text
from wordtrust.confidence.lm_part import LanguageModelPart
from wordtrust.confidence.model_card import ModelCard
from wordtrust.confidence.model_file import SCALES, WORDS, Model, checksum, load_model, save_model, update_card
from wordtrust.confidence.shipped import CARD, CHECK, COMBINATION, MODEL
from wordtrust.confidence.word_vectors import read_vectors

from .cards import card_of, joint_card
from .small import MOST_WORDS, SharedWords, read_shared, shrink, with_shared, without_leftovers

_MOST_VECTORS = 100_000
BASELINES, SAME_INPUTS = "baselines.json", "same-inputs.safetensors"
LARGEST, LARGEST_TOGETHER = 3_000_000, 12_000_000  # bytes
LARGEST_LIST = 100_000  # bytes of checksums of utterances


def make_shipped(
    models: Path,
    out: Path,
    *,
    networks: Path | None = None,
    splits: tuple[str, ...] = (),
    vectors: Path | None = None,
    words: int = MOST_WORDS,
) -> list[str]:
    """Make the folder of shipped models from a study's models; gives their names.

    With `networks` (a folder with NAME/SPLIT stores) every model is measured as it is shipped, on each of `splits`.
    The models keep so many words, in the order of the file of `vectors`. What was in `out` before goes, but for the
    model that checks transcripts, which has a maker of its own.
    """
    study_models = {file.parent.name: load_model(file.parent) for file in sorted(models.glob(f"*/{MODEL}"))}
    combinations = sorted(file.parent for file in models.glob(f"*/{COMBINATION}"))
    if not study_models and not combinations:
        raise InputError("there are no models", file=str(models), remedy="Name the folder `models` of a study")
    _refuse_strange(out)
    with atomic_folder(out) as draft:
        _write_models(study_models, draft, words, vectors)
        for folder in (file.parent for file in out.glob(f"*/{CHECK}")):
            shutil.copytree(folder, draft / folder.name)
        for folder in combinations:
            _ship_combination(folder, draft / folder.name, models.parent / "study.json")
        for name in study_models:
            _copy_settings(models / name, draft / name)
            _add_card(draft / name, networks, splits)
        _check_sizes(draft)
    return [*study_models, *(folder.name for folder in combinations)]


def add_shipped(model: Path, out: Path, *, networks: Path | None = None, splits: tuple[str, ...] = ()) -> str:
    """Add a model of another study to those that are there, which stay as they are; gives its name.

    It takes the words that they share, and is measured like them.
    """
    trained, name = load_model(model), model.resolve().name
    if (out / name).exists():
        raise OptionError(f"{out / name}: is there already")
    small = without_leftovers(replace(trained, table=with_shared(trained.table, read_shared(out / WORDS))))
    try:
        save_model(small, out / name, small=True, shared_words=checksum(out / WORDS))
        _copy_settings(model, out / name)
        _add_card(out / name, networks, splits)
        _check_sizes(out)
    except BaseException:
        shutil.rmtree(out / name, ignore_errors=True)
        raise
    return name


def replace_combination(folder: Path, out: Path, *, study: Path | None = None) -> str:
    """Put a combination in place of the one of that name, or beside the others; models stay as they are.

    The card has the counts of `study`, a study.json, where one is given. Gives its name.
    """
    name = folder.resolve().name
    with atomic_folder(out / name) as draft:
        _ship_combination(folder, draft, study)
    _check_sizes(out)
    return name


def _write_models(models: Mapping[str, Model], out: Path, words: int, vectors: Path | None) -> None:
    """All of them, with the words that they share in one file."""
    if not models:
        return
    order = None if vectors is None else read_vectors(vectors, set(), extra=_MOST_VECTORS).words
    shared = SharedWords([model.table for model in models.values()], words, order)
    checksum = shared.write(out / WORDS)
    for name, model in models.items():
        own = not shared.fits(model.table)
        small = shrink(model, words) if own else replace(model, table=shared.apply(model.table))
        save_model(without_leftovers(small), out / name, small=True, shared_words=None if own else checksum)


def _copy_settings(model: Path, out: Path) -> None:
    """What is in the folder of a model besides: scales, what it has for a language model, and baselines."""
    if (part := LanguageModelPart.load(model, load_model(model))) is not None:
        short = ModelCard.from_json(_rounded(part.card.to_json(), lambda number: float(f"{number:.6g}")))
        replace(part, card=short).save(out)
    if (model / SCALES).is_file():
        shutil.copyfile(model / SCALES, out / SCALES)
    if (model / SAME_INPUTS).is_file():
        shutil.copyfile(model / SAME_INPUTS, out / SAME_INPUTS)
    if (model / BASELINES).is_file():
        text = _compact(json.loads((model / BASELINES).read_text("utf-8")))
        (out / f"{BASELINES}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def _compact(value: Any) -> str:
    """JSON with six digits a number, which is more than any of them is worth."""
    short = _rounded(value, lambda number: float(f"{number:.6g}"))
    return json.dumps(short, ensure_ascii=False, separators=(",", ":")) + "\n"


def _rounded(value: Any, by: Callable[[float], float]) -> Any:
    """JSON data with its numbers rounded, however deep they are."""
    if isinstance(value, Mapping):
        return {name: _rounded(entry, by) for name, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry, by) for entry in value]
    return by(value) if isinstance(value, float) else value


def _refuse_strange(out: Path) -> None:
    """What was shipped before goes, and nothing that is something else."""
    kinds = (MODEL, COMBINATION, CHECK)
    strange = [
        path for path in out.glob("*") if path.name != WORDS and not any((path / kind).is_file() for kind in kinds)
    ]
    if strange:
        raise OptionError(f"{strange[0]}: is no model; name a folder for shipped models only")


def _add_card(folder: Path, networks: Path | None, splits: tuple[str, ...]) -> None:
    """Measure what is shipped, and write it into its card."""
    stores = {split: networks / folder.name / split for split in splits} if networks else {}
    metrics = {split: measure(folder, store) for split, store in stores.items() if store.is_dir()}
    model = load_model(folder)
    about = card_of(folder.name, model, metrics)
    if (part := LanguageModelPart.load(folder, model)) is not None:
        about = replace(about, made={**about.made, "language_model": part.language_model.name})
    card = replace(model.card, shipped=about)
    if "dev" in metrics:  # what training noted was about other words, and several recognizers
        measured = metrics["dev"]["arcs"]["confidence"]
        card = replace(card, metrics={f"dev_{name}": measured[name] for name in ("eer", "nce")})
    update_card(folder, card, small=True)


def measure(folder: Path, store: Path) -> dict[str, Any]:
    """What `wordtrust evaluate` gives for a model on networks, rounded; posteriors calibrated by its baselines."""
    from wordtrust.confidence.evaluate_model import evaluate
    from wordtrust.study.measure import calibrated_posteriors

    record = evaluate(store, folder).to_dict()
    for population, rival in calibrated_posteriors(folder, str(store)).items():
        record[population] = record[population] | {"calibrated_posterior": rival}
    measured = _rounded(record, lambda number: round(number, 4))
    return {name: value for name, value in measured.items() if name != "arcs_paper"}


def replace_check(folder: Path, out: Path) -> str:
    """Put the model that checks transcripts in place of the one that is there; gives its name."""
    from wordtrust.combination.check import CheckModel
    from wordtrust.combination.check.model import NAME

    CheckModel.load(folder / CHECK)
    with atomic_folder(out / NAME) as draft:
        for name in (CHECK, CARD):
            shutil.copyfile(folder / name, draft / name)
    return NAME


def _ship_combination(folder: Path, out: Path, study: Path | None) -> None:
    """What was fitted for several recognizers; a long list of the utterances it was fitted on is left out."""
    from wordtrust.combination.combination_file import FittedCombination

    fitted = FittedCombination.load(folder)
    if len(json.dumps(sorted(fitted.utterances))) > LARGEST_LIST:
        fitted = replace(fitted, utterances=frozenset())
    out.mkdir(exist_ok=True)
    fitted.write(out)
    written = json.loads((out / COMBINATION).read_text("utf-8"))
    (out / COMBINATION).write_text(_compact(written), "utf-8")
    metrics: dict[str, Any] = {}
    if study is not None and study.is_file():
        record = json.loads(study.read_text("utf-8"))
        counts = {name: record[name] for name in ("better", "equal", "worse") if name in record}
        metrics = {str(record.get("about", {}).get("test", "eval")): counts} if len(counts) == 3 else {}
    with atomic_text(out / CARD) as file:
        file.write(json.dumps(joint_card(folder.resolve().name, fitted.order, metrics).to_json()) + "\n")


def _check_sizes(out: Path) -> None:
    sizes = {
        folder.name: sum(file.stat().st_size for file in folder.iterdir())
        for folder in out.iterdir() if folder.is_dir()
    }  # fmt: skip
    large = [name for name, size in sizes.items() if size > LARGEST]
    total = sum(sizes.values()) + sum(file.stat().st_size for file in out.glob(WORDS))
    if large or total > LARGEST_TOGETHER:
        what = f"{large[0]} has {sizes[large[0]]:,} bytes" if large else f"all together have {total:,} bytes"
        raise OptionError(f"{out}: {what}, which is too much to come with the package; keep fewer words (--words)")
