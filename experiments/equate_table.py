"""What equating spellings does to the errors of recognizers, by kind, beside other normalisers: tables as Markdown.

    python -m experiments.equate_table DATA [--recognizers A,B] [--split dev] [--sclite PROGRAM] [--differences 20]

DATA has a folder for each recognizer (with a recognizer.json and dev.*) and a refs.tsv. The words are those that each
recognizer would print. Where the package `whisper-normalizer` is installed, Whisper's own English normaliser rewrites
references and outputs, and the plain aligner counts what is left. With --sclite, NIST's program gets references with
the same alternatives, { six / 6 }, and weighs them as it does. --differences shows utterances that are counted
differently.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordtrust import stream
from wordtrust.base.table import Table
from wordtrust.formats.references import References, read_references
from wordtrust.lattices.lattice import Ints, Lattices
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.text import join_surfaces
from wordtrust.networks.align import align_all
from wordtrust.networks.equivalents import ALL, KINDS, NONE, Equate
from wordtrust.networks.equivalents.alternatives import Alternatives
from wordtrust.networks.labels import score_paths
from wordtrust.networks.reference_words import ReferenceWords

Rewrite = Callable[[str], str]


@dataclass(frozen=True)
class Output:
    """What a recognizer printed for some utterances, and what was said."""

    lattices: Lattices
    references: References

    @property
    def said(self) -> list[str]:
        """The references as they are written."""
        return [self.references[utt].text for utt in self.lattices.utts]

    def printed(self) -> list[str]:
        """The outputs as they are written."""
        paths = one_best(self.lattices)
        surfaces = self.lattices.vocabulary.lookup(self.lattices.surface[paths.arcs_in(self.lattices)].tolist())
        ends = paths.offsets.tolist()
        return [join_surfaces(surfaces[ends[row] : ends[row + 1]]) for row in range(len(self.lattices))]

    def errors(self, equate: Equate) -> Ints:
        """[utterances] errors where these kinds are equated."""
        words = [self.references[utt].words for utt in self.lattices.utts]
        said = ReferenceWords.of(words, self.lattices, equate)
        return score_paths(self.lattices, one_best(self.lattices), said).alignments.errors

    def rewritten_errors(self, rewrite: Rewrite) -> Ints:
        """[utterances] errors after a normaliser has rewritten both sides."""
        said, printed = ([rewrite(text).split() for text in texts] for texts in (self.said, self.printed()))
        return align_all(said, printed).errors

    def sclite_errors(self, program: Path) -> Ints:
        """[utterances] errors by NIST's program, with the alternatives that are found here."""
        said = [self.references[utt].words for utt in self.lattices.utts]
        found = ReferenceWords.of(said, self.lattices, ALL).alternatives
        texts = [
            _with_alternatives(words, found.rows(np.array([row])), self.lattices) for row, words in enumerate(said)
        ]
        paths = one_best(self.lattices).without_silence(self.lattices)
        words = self.lattices.vocabulary.lookup(self.lattices.word[paths.arcs_in(self.lattices)].tolist())
        ends = paths.offsets.tolist()
        printed = [" ".join(words[ends[row] : ends[row + 1]]) for row in range(len(said))]
        with tempfile.TemporaryDirectory() as folder:
            for name, lines in (("ref.trn", texts), ("hyp.trn", printed)):
                rows = (f"{text} (a-{row:06})\n" for row, text in enumerate(lines))
                (Path(folder) / name).write_text("".join(rows))
            asked = "-r ref.trn trn -h hyp.trn trn -i rm -o pra stdout"
            command = [str(program), *asked.split()]
            report = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
        errors = np.full(len(said), -1, np.int32)
        for match in re.finditer(r"id: \(a-(\d+)\)\s+Scores: \(#C #S #D #I\) \d+ (\d+) (\d+) (\d+)", report):
            errors[int(match[1])] = sum(map(int, match.groups()[1:]))
        return errors


def _with_alternatives(words: Sequence[str], found: Alternatives, lattices: Lattices) -> str:
    """A reference in NIST's notation; of spans that overlap the first counts."""
    spans: dict[tuple[int, int], list[str]] = {}
    source, target, said = (
        found.source.tolist(),
        found.target.tolist(),
        lattices.vocabulary.lookup(found.word.tolist()),
    )
    arc = 0
    while arc < len(said):
        begin, pieces = source[arc], [said[arc]]
        while target[arc] > len(words):
            arc += 1
            pieces.append(said[arc])
        spans.setdefault((begin, target[arc]), []).append(" ".join(pieces))
        arc += 1
    text, at = list[str](), 0
    for (begin, end), others in sorted(spans.items()):
        if begin >= at:
            own = " ".join(words[begin:end])
            text += [*words[at:begin], "{ " + " / ".join([own, *others]) + " }"]
            at = end
    return " ".join([*text, *words[at:]])


def whisper_normaliser() -> Rewrite | None:
    """Whisper's normaliser of English, where it is installed."""
    try:
        module = importlib.import_module("whisper_normalizer.english")
    except ImportError:
        return None
    rewrite: Rewrite = module.EnglishTextNormalizer()
    return rewrite


def kinds_row(name: str, output: Output) -> tuple[str, ...]:
    """How many errors each kind alone takes away, and all together."""
    strict, words = int(output.errors(NONE).sum()), sum(len(output.references[u].words) for u in output.lattices.utts)
    gone = [strict - int(output.errors(Equate((kind,))).sum()) for kind in KINDS]
    lenient = int(output.errors(ALL).sum())
    rates = (f"{100 * errors / words:.2f}" for errors in (strict, lenient))
    shares = (f"{count} ({100 * count / strict:.1f}%)" for count in (*gone, strict - lenient))
    return (name, f"{strict:,}", *shares, *rates)


def agreement_row(name: str, rival: str, ours: Ints, theirs: Ints) -> tuple[str, ...]:
    """In how many utterances two ways of counting agree."""
    counts = (int((ours == theirs).sum()), int((ours < theirs).sum()), int((ours > theirs).sum()))
    return (name, rival, f"{int(ours.sum()):,}", f"{int(theirs.sum()):,}", *(f"{count:,}" for count in counts))


def differences(output: Output, ours: Ints, theirs: Ints, most: int) -> list[str]:
    """Utterances that are counted differently."""
    rows, said, printed = np.flatnonzero(ours != theirs)[:most], output.said, output.printed()
    return [f"{ours[row]} / {theirs[row]}: {said[row]} | {printed[row]}" for row in rows.tolist()]


def read_output(folder: Path, split: str, references: References) -> Output:
    """The output of one recognizer."""
    from wordtrust.lattices.lattice import concatenate

    file = next(iter(sorted(folder.glob(f"{split}.*"))))
    return Output(concatenate(stream(file)), references)


def main(given: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--recognizers")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--sclite", type=Path)
    parser.add_argument("--differences", type=int, default=0)
    arguments = parser.parse_args(given)
    references = read_references(arguments.data / "refs.tsv").of_split(arguments.split)
    present = sorted(path.parent.name for path in arguments.data.glob("*/recognizer.json"))
    names = arguments.recognizers.split(",") if arguments.recognizers else present
    kinds, agreement, rewrite = [], [], whisper_normaliser()
    for name in names:
        output = read_output(arguments.data / name, arguments.split, references)
        ours = output.errors(ALL)
        kinds.append(kinds_row(name, output))
        rivals = {"Whisper's normaliser": output.rewritten_errors(rewrite)} if rewrite else {}
        rivals |= {"sclite": output.sclite_errors(arguments.sclite)} if arguments.sclite else {}
        for rival, theirs in rivals.items():
            agreement.append(agreement_row(name, rival, ours, theirs))
            for line in differences(output, ours, theirs, arguments.differences):
                print(name, rival, line)
    print(Table("", ("recognizer", "errors", *KINDS, "all", "WER %", "lenient"), tuple(kinds)).to_markdown())
    if agreement:
        columns = ("recognizer", "beside", "our errors", "its", "same", "ours fewer", "ours more")
        print(Table("", columns, tuple(agreement), texts=(1,)).to_markdown())


if __name__ == "__main__":
    main()
