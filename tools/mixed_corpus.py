"""Lay out a corpus for `wordtrust study` from one that is there and further outputs of its recognizers.

    python -m tools.mixed_corpus DATA --out MIXED
        --add moonshine-tiny degraded degraded/moonshine-tiny degraded/refs.tsv
        --add kaldi-small-2020 wrong-lm out-of-domain/kaldi-domain-lm refs.tsv dev:train
        --vary 0.2

DATA is laid out as the study reads it. Each `--add NAME LABEL OUTPUTS REFS [SPLITS]` adds what a recognizer of DATA
heard elsewhere: OUTPUTS has its lattices or lists by split (`wordtrust recognize --by-split` writes that), REFS is a
table of what was said. SPLITS are those taken, joined by commas [train,dev]; `dev:train` puts dev among train. MIXED
has a copy of DATA, the added utterances as stores NAME/SPLIT.LABEL, called UTT.LABEL where DATA has UTT already, and
one refs.tsv for all. Speakers keep their names, so folds of speakers stay apart.

`--vary SHARE [NAME ...]` adds changed copies of a share of the train utterances of all, or of the named, recognizers:
the store NAME/train.varied, with UTT.varied for UTT, the same utterances for every recognizer. Each has fewer
hypotheses or a narrower beam, down to the best one alone; of some the scores are sharper or flatter, or acoustic and
language scores and words weigh otherwise (`networks.variants`). The change is in the stored scores, for a study sets
scales of its own.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np

from wordtrust.base.errors import InputError, OptionError, WordtrustError
from wordtrust.base.files import atomic_folder, require_new
from wordtrust.formats import stream, write
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.networks.variants import Variant
from wordtrust.study.layout import REFERENCES, TRAIN, VECTORS, Corpus

COLUMNS = ("utt", "split", "speaker", "text")
VARIED = "varied"
Rows = dict[str, dict[str, str]]  # of a table of references, by utterance


@dataclass(frozen=True)
class Addition:
    """What a recognizer heard elsewhere."""

    recognizer: str
    label: str
    outputs: Path
    references: Path
    splits: Mapping[str, str]  # from the split there to the split here

    @classmethod
    def of(cls, given: Sequence[str]) -> Addition:
        """From the values of `--add`."""
        if not 4 <= len(given) <= 5:
            raise OptionError("--add is NAME LABEL OUTPUTS REFS [SPLITS]")
        name, label, outputs, references, *splits = given
        pairs = (pair.partition(":") for pair in (splits[0] if splits else "train,dev").split(","))
        return cls(name, label, Path(outputs), Path(references), {old: new or old for old, _, new in pairs})

    def files(self, split: str) -> list[str]:
        """The outputs of a split."""
        return Corpus(self.outputs.parent, (self.outputs.name,)).files(self.outputs.name, split)


@dataclass(frozen=True)
class Variation:
    """Changed copies of a share of the train utterances of some recognizers."""

    share: float
    recognizers: tuple[str, ...]  # none: all
    seed: int = 0

    @classmethod
    def of(cls, given: Sequence[str], seed: int) -> Variation:
        """From the values of `--vary`."""
        share, *names = given
        try:
            variation = cls(float(share), tuple(names), seed)
        except ValueError:
            raise OptionError(f"--vary is SHARE [NAME ...], and {share!r} is no number") from None
        if not 0 < variation.share <= 1:
            raise OptionError(f"--vary takes a share over 0 and up to 1, not {share}")
        return variation

    def copies(self, batches: Iterator[Lattices], recognizer: str) -> Iterator[Lattices]:
        """The changed copies of the utterances that are drawn: the same of every recognizer."""
        for batch in batches:
            rows = [row for row, utt in enumerate(batch.utts) if self._rng(utt).random() < self.share]
            if rows:
                yield concatenate([self._copy(batch[row : row + 1], recognizer) for row in rows])

    def _copy(self, one: Lattices, recognizer: str) -> Lattices:
        (utt,) = one.utts
        changed = Variant.of_same_recognizer(self._rng(f"{recognizer} {utt}")).in_scores(one)
        return replace(changed, utts=(f"{utt}.{VARIED}",))

    def _rng(self, name: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, crc32(name.encode())])


def read_rows(path: Path) -> Rows:
    """The rows of a table of references, with the columns that a study needs."""
    header, *lines = path.read_text("utf-8").splitlines()
    names = header.split("\t")
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise InputError(f"there is no column {missing[0]!r}", file=str(path), remedy=f"It has {', '.join(COLUMNS)}")
    rows = (dict(zip(names, line.split("\t"), strict=True)) for line in lines)
    return {row["utt"]: {name: row[name] for name in COLUMNS} for row in rows}


def mix(data: Path, out: Path, additions: Sequence[Addition], variation: Variation | None = None) -> int:
    """Make the folder; gives how many utterances were added."""
    require_new(out, overwrite=False)
    corpus = Corpus.of(data)
    named = [*(addition.recognizer for addition in additions), *(variation.recognizers if variation else ())]
    strange = [name for name in named if name not in corpus.names]
    if strange:
        raise OptionError(f"{data}: there is no recognizer {strange[0]!r}, but: {', '.join(corpus.names)}")
    rows = read_rows(corpus.reference_file)
    ours, added = frozenset(rows), 0
    with atomic_folder(out) as draft:
        for name in (*corpus.names, *([VECTORS] if (data / VECTORS).is_dir() else [])):
            shutil.copytree(data / name, draft / name)  # no links: readers refuse those that lead out of a folder
        for addition in additions:
            added += _add(addition, draft, rows, ours)
        if variation is not None:
            for name in variation.recognizers or corpus.names:
                added += _vary(variation, Corpus(draft, (name,)), rows)
        lines = ["\t".join(COLUMNS), *("\t".join(row.values()) for row in rows.values())]
        (draft / REFERENCES[0]).write_text("\n".join(lines) + "\n", "utf-8")
    return added


def _add(addition: Addition, draft: Path, rows: Rows, ours: frozenset[str]) -> int:
    references, added = read_rows(addition.references), 0
    for old, new in addition.splits.items():
        store = draft / addition.recognizer / f"{new}.{addition.label}"
        names = {
            utt: f"{utt}.{addition.label}" if utt in ours else utt
            for utt, row in references.items()
            if row["split"] == old
        }
        write(_renamed(stream(addition.files(old)), names, addition.recognizer), store, format="store")
        for utt, name in names.items():
            row = {**references[utt], "utt": name, "split": new}
            if rows.setdefault(name, row) != row:
                raise InputError(f"{name} is there already, with another reference", file=str(addition.references))
        added += len(names)
    return added


def _vary(variation: Variation, corpus: Corpus, rows: Rows) -> int:
    (name,), added = corpus.names, 0

    def copies() -> Iterator[Lattices]:
        nonlocal added
        for batch in variation.copies(stream(corpus.files(name, TRAIN)), name):
            known = batch[[row for row, utt in enumerate(batch.utts) if utt.removesuffix(f".{VARIED}") in rows]]
            rows.update({utt: {**rows[utt.removesuffix(f".{VARIED}")], "utt": utt} for utt in known.utts})
            added += len(known)
            yield known

    write(copies(), corpus.folder / name / f"{TRAIN}.{VARIED}", format="store")
    return added


def _renamed(batches: Iterator[Lattices], names: Mapping[str, str], recognizer: str) -> Iterator[Lattices]:
    """The utterances that have a name here, as outputs of the recognizer that they are added to."""
    for batch in batches:
        kept = batch[[row for row, utt in enumerate(batch.utts) if utt in names]]
        if len(kept):
            origin = replace(kept.origin, recognizer=recognizer)
            yield replace(kept, utts=tuple(names[utt] for utt in kept.utts), origin=origin)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.mixed_corpus", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--out", type=Path, required=True, metavar="MIXED")
    parser.add_argument("--add", nargs="+", action="append", default=[], metavar="VALUE")
    parser.add_argument("--vary", nargs="+", metavar="VALUE")
    parser.add_argument("--seed", type=int, default=0, help="of what is varied [0]")
    given = parser.parse_args(arguments)
    try:
        variation = Variation.of(given.vary, given.seed) if given.vary else None
        added = mix(given.data, given.out, [Addition.of(values) for values in given.add], variation)
    except WordtrustError as error:
        parser.exit(1, f"tools.mixed_corpus: {error}\n")
    print(f"{given.out}: {added:,} utterances added")


if __name__ == "__main__":
    main()
