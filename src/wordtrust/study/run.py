"""A study from beginning to end: every step that is not done yet, then the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base.errors import OptionError
from ..base.locks import claimed
from ..base.number_format import counted
from ..confidence import shipped
from .final_model import available_models
from .fitting import Fitting
from .language_model import StudyLanguageModel
from .layout import DEV, TRAIN, Corpus, StudyFolder, StudyOptions
from .measure import StudyMeasurement
from .steps import Notify, Steps
from .stores import StoreBuilder

FEW_UTTERANCES, FEW_SPEAKERS = 200, 30


def run_study(
    data: Path, out: Path, options: StudyOptions, *, recognizers: Sequence[str] = (), notify: Notify = lambda _: None
) -> dict[str, Any] | None:
    """Run a study; returns the content of study.json, or None if the study stops earlier (`options.until`)."""
    if options.models == Path("shipped") and not options.models.exists():
        options = replace(options, models=shipped.FOLDER)
    corpus, folder = Corpus.of(data, recognizers), StudyFolder(out)
    if options.models is not None:
        corpus = _with_models(corpus, options.models, named=bool(recognizers), notify=notify)
    splits = [options.test] if options.models else [TRAIN, DEV, options.test]
    _check(corpus, splits)
    _warn(corpus, splits, notify)
    vectors = None if options.models else corpus.vectors(options.word_vectors())
    folder.make(models=options.models is None)
    with claimed(out):
        return _run(corpus, folder, options, vectors, notify)


def _run(
    corpus: Corpus, folder: StudyFolder, options: StudyOptions, vectors: Path | None, notify: Notify
) -> dict[str, Any] | None:
    steps = Steps(folder.work / "steps.json", notify)
    tuned = None if options.baselines is None else StudyFolder(options.baselines)
    stores = StoreBuilder(corpus, folder, steps, options.skip_bad, options.jobs, options.equate, tuned)
    lm = None if options.lm is None else StudyLanguageModel(options.lm, folder, steps)
    if options.models is None and not Fitting(corpus.names, folder, options, steps, stores, lm).run(vectors):
        return None
    models = options.models or folder.models
    return StudyMeasurement(corpus.names, models, folder, options, steps, stores, lm).measure()


def _with_models(corpus: Corpus, models: Path, *, named: bool, notify: Notify) -> Corpus:
    """The recognizers that there are models for."""
    if not models.is_dir():
        raise OptionError(f"{models}: there is no such folder of models")
    present = available_models(models, corpus.names)
    lacking = [name for name in corpus.names if name not in present]
    if lacking and (named or not present):
        raise OptionError(
            f"{models}: there is no model for {lacking[0]}; a study makes them in its folder `models` "
            "(`wordtrust score generic` takes outputs of any recognizer)"
        )
    if lacking:
        notify(f"left out, because {models} has no model for them: {', '.join(lacking)}")
    return corpus.only(present)


def _warn(corpus: Corpus, splits: Sequence[str], notify: Notify) -> None:
    """Warn where there is too little data for figures to mean much."""
    for split in splits:
        references = corpus.references(split)
        speakers = len({reference.speaker_or_utt for reference in references.values()})
        if len(references) < FEW_UTTERANCES or speakers < FEW_SPEAKERS:
            notify(
                f"{split} has {counted(len(references), 'utterance')} of {counted(speakers, 'speaker')}: "
                "few to learn or measure on"
            )


def _check(corpus: Corpus, splits: Sequence[str]) -> None:
    """Report what is missing before the work, not hours after."""
    for split in splits:
        corpus.references(split)
        for name in corpus.names:
            corpus.files(name, split)
