"""Each improvement on top of the paper's system, measured on dev: a training for every variant, recognizer and seed.

    python -m experiments.ablations DATA --out FOLDER --recognizers moonshine-tiny,whisper-base --seeds 0,1,2

DATA is laid out like that of `wordtrust study`; `--work FOLDER` reuses networks and scales that a study made of it
(OUT/work). Every run leaves one line in FOLDER/runs.jsonl; a run that has one is not done again, so this may be
killed at any time and resumes where it stopped. The table of all runs is written to FOLDER/ablations.md after each.
Runs of other data or options than now have another `key`: they stay in the file, are done again, and are not in the
table.

Nothing is chosen on what it is measured on: the threshold of `gain` comes from half of the speakers of dev for the
other half, and the other way round. (The epoch that training stops at is chosen on dev, for all variants alike.)
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordtrust import __version__
from wordtrust.base.errors import InputError, OptionError, WordtrustError
from wordtrust.base.files import atomic_text
from wordtrust.base.folds import speaker_id
from wordtrust.confidence.model_file import SCALES
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.evaluation.tune import tune
from wordtrust.formats import stream
from wordtrust.formats.inputs import side_files
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.networks.build_store import SPEAKER, BuildOptions, build_store
from wordtrust.networks.tuned_scales import TunedScales
from wordtrust.study.layout import DEV, RECOGNIZER, TRAIN, Corpus
from wordtrust.study.steps import Steps, file_key, key_of
from wordtrust.training.options import parse_seeds

from .ablation_measures import measure, runs_markdown
from .ablation_variants import EIGHTHS, VARIANTS, NetworkBuild, Variant, variants_of

if TYPE_CHECKING:
    from wordtrust.training.dataset import TrainingData

RUNS, TABLE = "runs.jsonl", "ablations.md"
Notify = Callable[[str], None]


@dataclass(frozen=True)
class AblationData:
    """Where the data are, and where what is made of them goes."""

    corpus: Corpus
    out: Path
    work: Path | None = None  # networks and scales that are there already: work/NAME/{scales.json,train,dev}
    vectors: Path | None = None
    _keys: dict[tuple[str | Path, ...], str] = field(default_factory=dict, init=False, compare=False)  # of files

    def networks(self, recognizer: str, how: NetworkBuild, split: str) -> str:
        """The store of these networks, built if need be."""
        if how == NetworkBuild() and self.work and (self.work / recognizer / split).is_dir():
            return str(self.work / recognizer / split)
        store = self._made / recognizer / how.name / split

        def work() -> None:
            references = self.corpus.references(split)
            tuned = TunedScales.load(self._scales(recognizer)) if how.tuned else None
            options = BuildOptions(tolerance=how.tolerance, push=how.push, tuned=tuned, references=references)
            build_store(stream(self.corpus.files(recognizer, split)), store, options, jobs=1, key=[str(store)])

        self._make(recognizer, store, work)
        return str(store)

    @property
    def _made(self) -> Path:
        return self.out / "networks"

    def _make(self, recognizer: str, path: Path, work: Callable[[], None]) -> None:
        """Unless it is there; what is there of other data is an `OptionError`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        steps, name = Steps(self._made / "steps.json", lambda _: None), path.relative_to(self._made).as_posix()
        key = self._data_key(recognizer)
        try:
            is_made = steps.adopt(name, key, [path])
        except OptionError:
            message = f"{path}: was made from other data; delete {self._made}, or name another folder with --out"
            raise OptionError(message) from None
        if not is_made:
            steps.run(name, key, [path], work)

    def _scales(self, recognizer: str) -> Path:
        if self.work and (self.work / recognizer / SCALES).is_file():
            return self.work / recognizer / SCALES
        path = self._made / recognizer / SCALES

        def work() -> None:
            tune(list(stream(self.corpus.files(recognizer, DEV))), self.corpus.references(DEV)).save(path)

        self._make(recognizer, path, work)
        return path

    def training_data(self, recognizer: str, variant: Variant) -> TrainingData:
        """What a variant is trained on."""
        from wordtrust.training.prepare import PrepareOptions, prepare

        train, dev = (self.networks(recognizer, variant.networks, split) for split in (TRAIN, DEV))
        vectors = self.vectors if variant.vectors else None
        options = PrepareOptions(variant.features, variant.labels, variant.silence_loss, vectors)
        return prepare(lambda: of_speakers(stream(train), variant.eighths), lambda: stream(dev), options)

    def _data_key(self, recognizer: str) -> str:
        given = [*self.corpus.files(recognizer, TRAIN), *self.corpus.files(recognizer, DEV)]
        files: list[str | Path] = [file for path in given for file in side_files(path)]
        if self.work and (self.work / recognizer / SCALES).is_file():
            files.append(self.work / recognizer / SCALES)
        return self._file_key(*files, self.corpus.reference_file)

    def _file_key(self, *files: str | Path) -> str:
        if files not in self._keys:
            self._keys[files] = file_key(files)
        return self._keys[files]

    def key(self, recognizer: str, variant: Variant) -> str:
        """A name for everything that a run depends on but its seed."""
        vectors = self._file_key(self.vectors) if self.vectors else None
        how = sorted((name, value) for name, value in variant.to_json().items() if name != "name")
        return key_of(self._data_key(recognizer), vectors, how, sorted(asdict(variant.options(0)).items()))

    def of_now(self, runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The runs of these data and options; of one without a key nobody knows, so it counts."""
        by_name = {variant.name: variant for variant in VARIANTS}
        pairs = {_pair(run) for run in runs if run.get("key") is not None and str(run["variant"]) in by_name}
        keys = {
            (recognizer, name): self.key(recognizer, by_name[name])
            for recognizer, name in pairs
            if (self.corpus.folder / recognizer / RECOGNIZER).is_file()
        }
        return [run for run in runs if run.get("key") is None or run["key"] == keys.get(_pair(run))]

    def is_distinct(self, recognizer: str, variant: Variant) -> bool:
        """Whether the variant differs from the paper's system: without transition scores nothing is pushed."""
        if variant.networks.push:
            return True
        first = next(iter(stream(self.networks(recognizer, NetworkBuild(), DEV))))
        return first.transition is not None


def of_speakers(batches: Iterator[Lattices], eighths: int) -> Iterator[Lattices]:
    """The utterances of so many eighths of the speakers; fewer are always among more."""
    for batch in batches:
        kept = [
            batch[i : i + 1] for i, name in enumerate(batch.notes[SPEAKER]) if speaker_id(name) % EIGHTHS < eighths
        ]
        if kept:
            yield batch if len(kept) == len(batch) else concatenate(kept)


def run(data: AblationData, recognizer: str, variant: Variant, seed: int, notify: Notify) -> dict[str, Any]:
    """Train and measure; gives the line to keep. A killed training goes on from its checkpoint."""
    from wordtrust.training import pipeline
    from wordtrust.training.trainer import EpochRecord, Progress

    began, options = time.monotonic(), variant.options(seed)
    folder = data.out / "running" / f"{recognizer}.{_plain(variant.name)}.{seed}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    training_data = data.training_data(recognizer, variant)

    def on_epoch(record: EpochRecord) -> None:
        notify(f"{folder.name}: epoch {record.epoch}, loss {record.loss:.4f}, dev NCE {record.dev_nce or 0:.4f}")

    model = pipeline.train(training_data, options, folder, device="cpu", threads=1, progress=Progress(on_epoch))
    assert model is not None  # this process is the only one
    scorer = WordScorer(model, threads=1)
    measured = measure(scorer.confidence, stream(data.networks(recognizer, variant.networks, DEV)))
    shutil.rmtree(folder, ignore_errors=True)
    return {
        "recognizer": recognizer, "variant": variant.name, "seed": seed, **measured,
        "utterances": len(training_data.train), "epochs": model.card.training.options["epochs_run"],
        "seconds": round(time.monotonic() - began, 1), "wordtrust": __version__, "training": dict(model.card.metrics),
        "about": variant.to_json(), "options": asdict(options), "key": data.key(recognizer, variant),
    }  # fmt: skip


def _pair(run: dict[str, Any]) -> tuple[str, str]:
    return str(run["recognizer"]), str(run["variant"])


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def read_runs(path: Path) -> list[dict[str, Any]]:
    """The runs so far; a line that was cut off when the process was killed does not count."""
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", file=str(path)) from None
    runs = []
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and {"recognizer", "variant", "seed", "wer"} <= set(record):
            runs.append(record)
    return runs


def keep_run(path: Path, line: dict[str, Any]) -> None:
    """Add a line at once, on a line of its own even where the last one was cut off."""
    try:
        with path.open("ab+") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
            whole = not size or file.read(1) == b"\n"
            file.write((b"" if whole else b"\n") + json.dumps(line, ensure_ascii=False).encode() + b"\n")
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror}") from None


def ablate(data: AblationData, variants: Sequence[Variant], seeds: Sequence[int], notify: Notify) -> int:
    """Do what is not done, one seed after the other; gives how many runs failed."""
    data.out.mkdir(parents=True, exist_ok=True)
    runs, failed = data.out / RUNS, 0
    todo = [(seed, name, variant) for seed in seeds for name in data.corpus.names for variant in variants]
    for seed, recognizer, variant in todo:
        done = {(*_pair(record), record["seed"]) for record in data.of_now(read_runs(runs))}
        if (recognizer, variant.name, seed) in done or not data.is_distinct(recognizer, variant):
            continue
        try:
            line = run(data, recognizer, variant, seed, notify)
        except WordtrustError as error:  # one that cannot be done must not keep the others from being done
            notify(f"{recognizer}, {variant.name}: {error}")
            failed += 1
            continue
        keep_run(runs, line)
        with atomic_text(data.out / TABLE) as file:
            file.write(runs_markdown(data.of_now(read_runs(runs))))
        notify(f"{recognizer}, {variant.name}, seed {seed}: {line['seconds']} s, WER {line['wer']}")
    return failed


def main(arguments: list[str] | None = None) -> int:
    """Run; gives the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.ablations", description=__doc__.split("\n")[0], allow_abbrev=False
    )
    parser.add_argument("data", type=Path, metavar="DATA", help="Laid out like the data of `wordtrust study`.")
    parser.add_argument("--out", type=Path, required=True, help="The folder for results.")
    parser.add_argument("--work", type=Path, help="Networks and scales of a study (its OUT/work), to reuse.")
    parser.add_argument("--vectors", type=Path, help="Word vectors [the file in DATA/embeddings].")
    parser.add_argument("--recognizers", default="", help="Joined by commas, in the order to do them [all].")
    parser.add_argument("--variants", action="append", default=[], help="One variant, may be repeated [all].")
    parser.add_argument("--seeds", default="0,1,2", help="Joined by commas.")
    given = parser.parse_args(arguments)
    try:
        seeds = parse_seeds(given.seeds)
        corpus = Corpus.of(given.data, [name for name in given.recognizers.split(",") if name])
        data = AblationData(corpus, given.out, given.work, corpus.vectors(given.vectors))
        return int(ablate(data, variants_of(given.variants), seeds, _notify) > 0)
    except WordtrustError as error:
        sys.stderr.write(f"wordtrust: {error}\n")
    return 1


def _notify(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
