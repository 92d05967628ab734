"""Training data for a generic model: networks of every recognizer as they are, and varied at random, as packs.

    python -m tools.recognizer_variants ../shared/data --study study --copies 3 --out variants
    python -m wordtrust.training variants/*.pack --together --identity-drop 1 --evidence-drop 0.4 \\
        --embedding none --out trained

DATA is what `wordtrust study` reads, STUDY/work has the scales that it tuned (without --study, lattices have the
scales they came with). The first copy is as it was; of the others every CHUNK utterances are as another recognizer
would have left them (`networks.variants`). Writes OUT/NAME/SPLIT (networks) and OUT/NAME.pack, with the features of
set `generic`; train with the packs of other families to judge one that was left out (`experiments.generic_families`).
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
from wordtrust.lattices.lattice import Lattices
from wordtrust.networks.build_store import BuildOptions, build_networks
from wordtrust.networks.tuned_scales import TunedScales
from wordtrust.networks.variants import Variant
from wordtrust.study.layout import Corpus, StudyFolder
from wordtrust.training.dataset import write_pack
from wordtrust.training.prepare import PrepareOptions, prepare

CHUNK = 40  # utterances of one variant


@dataclass(frozen=True)
class Variants:
    """What to make of a corpus."""

    corpus: Corpus
    study: StudyFolder | None
    copies: int
    limit: int | None
    seed: int

    def networks(self, name: str, split: str) -> Iterator[Lattices]:
        """The networks of a recognizer as they are, and of so many random variants."""
        references = self.corpus.references(split)
        scales = None if self.study is None else TunedScales.load(self.study.scales(name)).posterior
        chunks = list(self._chunks(name, split))
        for copy in range(self.copies + 1):
            for index, chunk in enumerate(chunks):
                scaled = chunk if scales is None else replace(chunk, scales=scales)
                rng = np.random.default_rng([self.seed, copy, index, crc32(f"{name} {split}".encode())])
                varied = Variant.drawn(rng).of(scaled) if copy else scaled
                networks = build_networks(varied, BuildOptions(references=references))
                yield replace(networks, utts=tuple(f"{utt}.{copy}" for utt in networks.utts))

    def _chunks(self, name: str, split: str) -> Iterator[Lattices]:
        left = self.limit
        for batch in stream(self.corpus.files(name, split)):
            part = batch if left is None else batch[:left]
            left = None if left is None else left - len(part)
            yield from (part[first : first + CHUNK] for first in range(0, len(part), CHUNK))
            if left == 0:
                return


def make(variants: Variants, name: str, out: Path, vectors: Path | None) -> None:
    """Write the networks and the pack of one recognizer."""
    (out / name).mkdir(exist_ok=True)
    for split in ("train", "dev"):
        with StoreWriter(out / name / split, recognizer=name) as store:
            for networks in variants.networks(name, split):
                store.add(networks)
    train, dev = (str(out / name / split) for split in ("train", "dev"))
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
    parser.add_argument("--limit", type=int, help="utterances of each split [all]")
    parser.add_argument("--vectors", type=Path, help="word vectors [those of the folder, if there is one file]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    if given.copies < 0:
        raise OptionError("at least no copy is made (--copies)")
    corpus = Corpus.of(given.data, given.recognizers)
    study = None if given.study is None else StudyFolder(given.study)
    variants = Variants(corpus, study, given.copies, given.limit, given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    with claimed(given.out / ".making"):
        for name in corpus.names:
            make(variants, name, given.out, corpus.vectors(given.vectors))
            print(f"{given.out / name}.pack")


if __name__ == "__main__":
    main()
