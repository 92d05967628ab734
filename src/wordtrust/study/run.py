"""The study from beginning to end: every step unless it is done, then the results (DESIGN, section 9)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..base.errors import OptionError
from ..confidence import shipped
from .figures import Figures
from .finish import usable
from .fitting import Fitting
from .layout import DEV, TRAIN, Corpus, Output
from .options import StudyOptions
from .steps import Steps, Tell
from .stores import Maker

FEW_UTTERANCES, FEW_SPEAKERS = 200, 30


def run_study(
    data: Path, out: Path, options: StudyOptions, *, recognizers: Sequence[str] = (), tell: Tell = lambda _: None
) -> dict[str, Any] | None:
    """Run a study; gives what study.json holds, or nothing where it was to stop earlier."""
    if options.models == Path("shipped") and not options.models.exists():
        options = replace(options, models=shipped.FOLDER)
    corpus, folder = Corpus.of(data, recognizers), Output(out)
    if options.models is not None:
        corpus = _with_models(corpus, options.models, named=bool(recognizers), tell=tell)
    splits = [options.test] if options.models else [TRAIN, DEV, options.test]
    _check(corpus, splits)
    _warn(corpus, splits, tell)
    vectors = None if options.models else corpus.vectors(options.vectors)
    folder.make(models=options.models is None)
    steps = Steps(folder.work / "steps.json", tell)
    maker = Maker(corpus, folder, steps, options.skip_bad, options.jobs)
    if options.models is None and not Fitting(corpus.names, folder, options, steps, maker).run(vectors):
        return None
    models = options.models or folder.models
    return Figures(corpus.names, models, folder, options, steps, maker).all()


def _with_models(corpus: Corpus, models: Path, *, named: bool, tell: Tell) -> Corpus:
    """The recognizers that there are models for."""
    if not models.is_dir():
        raise OptionError(f"{models}: there is no such folder of models")
    known = usable(models, corpus.names)
    lacking = [name for name in corpus.names if name not in known]
    if lacking and (named or not known):
        raise OptionError(
            f"{models}: there is no model for {lacking[0]}; a study makes them in its folder `models` "
            "(`wordtrust score generic` takes outputs of any recognizer)"
        )
    if lacking:
        tell(f"left out, because {models} has no model for them: {', '.join(lacking)}")
    return corpus.only(known)


def _warn(corpus: Corpus, splits: Sequence[str], tell: Tell) -> None:
    """Say so where there is too little for figures to mean much."""
    for split in splits:
        references = corpus.references(split)
        speakers = len({each.speaker_or_utt for each in references.values()})
        if len(references) < FEW_UTTERANCES or speakers < FEW_SPEAKERS:
            tell(f"{split} has {len(references):,} utterances of {speakers:,} speakers: few to learn or measure on")


def _check(corpus: Corpus, splits: Sequence[str]) -> None:
    """What is missing is told before the work, not hours after."""
    for split in splits:
        corpus.references(split)
        for name in corpus.names:
            corpus.files(name, split)
