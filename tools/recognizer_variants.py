"""Training data for a generic model: networks of every recognizer as they are, and varied at random, as packs.

    python -m tools.recognizer_variants ../shared/data --study study --copies 3 --out variants
    python -m wordtrust.training variants/*.pack --together --identity-drop 1 --evidence-drop 0.4 \\
        --embedding none --out trained

DATA is what `wordtrust study` reads, STUDY/work has the scales that it tuned (where it has none, lattices keep the
scales they came with). The first copy is as it was; of the others every CHUNK utterances are as another recognizer
would have left them (`networks.variants`). How rare words are is told by their place in a file of word vectors,
frequent ones first. Writes OUT/NAME/SPLIT (networks) and OUT/NAME.pack, with the features of set `generic`; train
with the packs of other families to judge one that was left out (`experiments.generic_families`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np

from wordtrust.base.errors import OptionError
from wordtrust.base.locks import claimed
from wordtrust.confidence.config import GENERIC
from wordtrust.formats import stream
from wordtrust.formats.store.write import StoreWriter
from wordtrust.lattices.lattice import Lattices, concatenate
from wordtrust.lattices.weights import Scales
from wordtrust.networks.build_store import BuildOptions, build_networks
from wordtrust.networks.tuned_scales import TunedScales
from wordtrust.networks.variants import Variant
from wordtrust.study.layout import DEV, TRAIN, Corpus, StudyFolder
from wordtrust.training.dataset import write_pack
from wordtrust.training.prepare import PrepareOptions, prepare

CHUNK = 40  # utterances of one variant


@dataclass(frozen=True)
class Variants:
    """What to make of a corpus."""

    corpus: Corpus
    study: StudyFolder | None
    copies: int
    limit: int | None  # of the utterances to train on
    dev_limit: int | None
    seed: int

    def networks(self, name: str, split: str) -> Iterator[Lattices]:
        """The networks of a recognizer as they are, and of so many random variants."""
        references = self.corpus.references(split)
        scales = self._scales(name)
        chunks = list(self._chunks(name, split))
        for copy in range(self.copies + 1):
            for index, chunk in enumerate(chunks):
                scaled = chunk if scales is None else replace(chunk, scales=scales)
                rng = np.random.default_rng([self.seed, copy, index, crc32(f"{name} {split}".encode())])
                varied = Variant.drawn(rng).of(scaled) if copy else scaled
                networks = build_networks(varied, BuildOptions(references=references))
                utts = tuple(f"{utt}.{copy}" for utt in networks.utts)
                yield replace(networks, utts=utts, origin=replace(networks.origin, recognizer=name))

    def _scales(self, name: str) -> Scales | None:
        """Those that the study tuned, if it did."""
        if self.study is None or not self.study.scales(name).is_file():
            return None
        return TunedScales.load(self.study.scales(name)).posterior

    def _chunks(self, name: str, split: str) -> Iterator[Lattices]:
        """The utterances in a random order, or so many of them."""
        outputs = concatenate(list(stream(self.corpus.files(name, split))))
        limit = self.dev_limit if split == DEV else self.limit
        drawn = np.argsort([crc32(f"{self.seed} {name} {utt}".encode()) for utt in outputs.utts], kind="stable")
        for first in range(0, len(drawn[:limit]), CHUNK):
            yield outputs[drawn[:limit][first : first + CHUNK]]


def make(variants: Variants, name: str, out: Path, vectors: Path | None) -> None:
    """Write the networks and the pack of one recognizer."""
    (out / name).mkdir(exist_ok=True)
    for split in (TRAIN, DEV):
        with StoreWriter(out / name / split, recognizer=name) as store:
            for networks in variants.networks(name, split):
                store.add(networks)
    train, dev = (str(out / name / split) for split in (TRAIN, DEV))
    options = PrepareOptions(features=GENERIC, vectors=vectors)
    write_pack(out / f"{name}.pack", prepare(lambda: stream([train]), lambda: stream([dev]), options))


def main(arguments: Sequence[str] | None = None) -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tools.recognizer_variants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("data", type=Path, help="folder of recognizers with references")
    parser.add_argument("--study", type=Path, help="folder of `wordtrust study`, for its tuned scales")
    parser.add_argument("--recognizers", type=lambda text: text.split(","), default=[], help="some of them [all]")
    parser.add_argument("--copies", type=int, default=3, help="varied copies beside the one as it is [3]")
    parser.add_argument("--limit", type=int, help="so many utterances to train on, at random [all]")
    parser.add_argument("--dev-limit", type=int, help="and so many to stop and to calibrate on [all]")
    parser.add_argument("--vectors", type=Path, help="word vectors [those of the folder, if there is one file]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    if given.copies < 0:
        raise OptionError("at least no copy is made (--copies)")
    corpus = Corpus.of(given.data, given.recognizers)
    study = None if given.study is None else StudyFolder(given.study)
    variants = Variants(corpus, study, given.copies, given.limit, given.dev_limit, given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    with claimed(given.out / ".making"):
        for name in corpus.names:
            make(variants, name, given.out, corpus.vectors(given.vectors))
            print(f"{given.out / name}.pack")


if __name__ == "__main__":
    main()
