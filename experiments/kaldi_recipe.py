"""Lattices of a Kaldi recipe: our 1-best against Kaldi's own scoring, posteriors, and the generic model.

    python -m experiments.kaldi_recipe CLONE --ref data/dev/text exp/mono/decode exp/tri1/decode

CLONE is a recipe's folder; every decode folder in it has lat.*.gz and what `local/score.sh` left (wer_LMWT or
wer_LMWT_PENALTY), and a graph/words.txt beside it. Prints the tables of docs/kaldi.md.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import click

from wordtrust import BuildOptions, build_networks, evaluate, load, read, read_references, tune
from wordtrust.base.errors import WordtrustWarning
from wordtrust.formats.references import References
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.text import AS_WRITTEN, DEFAULT, Normalizer
from wordtrust.lattices.weights import Scales
from wordtrust.networks.align import align_all
from wordtrust.networks.consensus import consensus
from wordtrust.networks.labels import score_paths
from wordtrust.networks.reference_words import ReferenceWords

HEADER = "| decoding | scales | confidences | WER | AUC | EER | NCE | ECE |"
_KALDIS = re.compile(r"%WER [0-9.]+ \[ ([0-9]+) /")
_NAME = re.compile(r"wer_([0-9]+)(?:_([0-9.]+))?")


@dataclass(frozen=True)
class Decoding:
    """One decode folder of a recipe."""

    clone: Path
    name: str
    ref: str

    @cached_property
    def references(self) -> References:
        """What was said."""
        return read_references(self.clone / self.ref)

    @cached_property
    def references_as_written(self) -> References:
        """The same, as compute-wer compares it."""
        return read_references(self.clone / self.ref, normalizer=AS_WRITTEN)

    def read(
        self,
        *,
        lmwt: float | None = None,
        acoustic_scale: float | None = None,
        word_ins_penalty: float | None = None,
        normalizer: Normalizer = DEFAULT,
    ) -> Lattices:
        """Its lattices."""
        folder = self.clone / self.name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WordtrustWarning)
            return read(
                sorted(folder.glob("lat.*.gz")), words=folder.parent / "graph" / "words.txt", lmwt=lmwt,
                acoustic_scale=acoustic_scale, word_ins_penalty=word_ins_penalty, normalizer=normalizer,
            )  # fmt: skip

    def errors(self, lmwt: float, penalty: float) -> int:
        """Word errors of the 1-best, words compared as they are written."""
        lattices = self.read(lmwt=lmwt, word_ins_penalty=penalty, normalizer=AS_WRITTEN)
        words = ReferenceWords.of([self.references_as_written[utt].words for utt in lattices.utts], lattices)
        return score_paths(lattices, one_best(lattices), words).errors

    def kaldis_errors(self) -> Iterator[tuple[int, float, int]]:
        """LMWT, word insertion penalty, and the errors that Kaldi counted with them."""
        for file in sorted((self.clone / self.name).glob("wer_*")):
            setting, counted = _NAME.fullmatch(file.name), _KALDIS.search(file.read_text("utf-8"))
            if setting and counted:
                yield int(setting[1]), float(setting[2] or 0), int(counted[1])

    def agreement(self) -> tuple[int, int]:
        """How many of Kaldi's settings there are, and in how many our 1-best has the same number of errors."""
        settings = list(self.kaldis_errors())
        same = [self.errors(lmwt, penalty) == errors for lmwt, penalty, errors in settings]
        return len(settings), sum(same)

    def confidences(self, lattices: Lattices, scales: Scales, model: str) -> Iterator[list[str]]:
        """Rows: whose confidences, error rate of their words; AUC, EER, NCE and ECE of the words of the 1-best."""
        weighed = replace(lattices, scales=scales)
        networks = build_networks(weighed, BuildOptions(references=self.references))
        posterior, generic = evaluate(networks).to_dict(), evaluate(networks, load(model)).to_dict()
        yield ["posterior", *_cells(posterior["wer"]["one_best"], posterior["one_best"]["posterior"])]
        yield ["`generic`", *_cells(generic["wer"]["best_confidence"], generic["one_best"]["calibrated"])]

    def consensus_rate(self, lattices: Lattices, scales: Scales) -> float:
        """The error rate of minimum Bayes risk decoding."""
        said = [[entry.word for entry in network.words] for network in consensus(replace(lattices, scales=scales))]
        references = [self.references[utt].words for utt in lattices.utts]
        return int(align_all(references, said).errors.sum()) / sum(map(len, references))


def _cells(rate: float, judged: dict[str, float]) -> list[str]:
    measures = [f"{judged['auc']:.3f}", f"{100 * judged['eer']:.1f}", f"{judged['nce']:.2f}", f"{judged['ece']:.2f}"]
    return [f"{100 * rate:.2f}", *measures]


@click.command()
@click.argument("clone", type=click.Path(path_type=Path, exists=True))
@click.argument("names", nargs=-1, required=True, metavar="DECODE...")
@click.option("--ref", required=True, help="What was said, in CLONE: data/dev/text.")
@click.option("--model", default="generic", show_default=True, help="A shipped model, or a folder.")
def main(clone: Path, names: tuple[str, ...], ref: str, model: str) -> None:
    """Print the tables."""
    decodings = [Decoding(clone, name, ref) for name in names]
    click.echo("| decoding | utterances | Kaldi's settings | same number of errors |\n|---|---|---|---|")
    for decoding in decodings:
        settings, same = decoding.agreement()
        click.echo(f"| {decoding.name} | {len(decoding.read(lmwt=10))} | {settings} | {same} |")
    click.echo(
        "\n| decoding | scales | confidences | WER | AUC | EER | NCE | ECE |\n|---|---|---|---|---|---|---|---|"
    )
    for decoding in decodings:
        plain, found = decoding.read(acoustic_scale=1), decoding.read()
        tuned = tune(found, decoding.references).posterior
        lmwt = f"as found: LMWT {1 / found.scales.acoustic:g}"
        for title, scales in (("none", plain.scales), (lmwt, found.scales), ("tuned on these references", tuned)):
            for row in decoding.confidences(plain, scales, model):
                click.echo(f"| {decoding.name} | {title} | {' | '.join(row)} |")
            rate = 100 * decoding.consensus_rate(plain, scales)
            click.echo(f"| {decoding.name} | {title} | posterior, minimum Bayes risk | {rate:.2f} | | | | |")


if __name__ == "__main__":
    main()
