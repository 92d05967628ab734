"""N-best lists as Vosk prints them, drawn from lattices of its model: what the shipped model `vosk` learned from.

    python -m tools.vosk_nbest DATA --recognizer kaldi-small-2020 --out vosk-data

writes a folder that `wordtrust study` takes (vosk/SPLIT.jsonl.gz, vosk/recognizer.json, refs.tsv). How long lists are
depends on the model's --lattice-beam (conf/model.conf) and on SetMaxAlternatives: with several forms
BEAMxALTERNATIVES, every utterance is there once for each, its name followed by the form.

The model itself is then made like this, STUDY being a study of DATA, its fold models (K from 0 to 3) included:

    wordtrust study vosk-data --vectors glove.txt.gz --until packs --out study
    python -m wordtrust.training study/work/vosk.pack --start STUDY/work/trained/kaldi-small-2020 --drop 0.3
        --rate 1e-3 --epochs 12 --patience 4 --batch-arcs 1000 --out study/work/trained/vosk
    ... the same with --folds 4 --fold K, beginning with kaldi-small-2020-fold-K, to vosk-fold-K
    wordtrust study vosk-data --vectors glove.txt.gz --out study
    python -m tools.shipped_models add study/models/vosk --networks NETWORKS --split dev
        --split eval --split eval-2x100

with networks of lists of one form in each store of NETWORKS/vosk, built with study/work/vosk/scales.json.

Vosk prunes the lattice, then multiplies language scores by 0.9, then prints the likeliest texts. Lattices that were
written with a wider beam hold all of that; those in DATA are taken to be multiplied already.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import heapq
import json
import math
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordtrust import Lattice, stream
from wordtrust.base.files import atomic_text
from wordtrust.lattices.lattice import Flags
from wordtrust.lattices.posterior import path_losses
from wordtrust.lattices.weights import Reals, Scales, log_scores

FORMS = ("2x10", "2x100")  # the beam of the small models; lists that are cut off, and lists that hardly are
MULTIPLIED = 0.9  # what Vosk multiplies language scores with once the lattice is there
NAME = "vosk"


class Text(NamedTuple):
    """One text of an N-best list, and the best of the paths that say it, which may differ in times and pauses."""

    score: float
    words: tuple[int, ...]  # as the recognizer wrote them, numbers in the lattice's vocabulary
    arcs: tuple[int, ...]  # pauses among them


class _Beginning(NamedTuple):
    """The first arcs of a path; of these the heap gives the one with the best end, among equals the oldest."""

    cost: float  # minus the score of the best path that begins so
    age: int
    score: float  # so far
    node: int
    words: tuple[int, ...]
    arcs: tuple[int, ...]


def best_texts(
    lattice: Lattice, most: int = 10, *, score: Reals | None = None, among: Flags | None = None
) -> list[Text]:
    """The best texts, the likeliest first, by a score for each arc: by default as the recognizer weighs them.

    With `among` (which arcs), only paths of these count.
    """
    values = lattice.scores() if score is None else score
    arcs = range(lattice.arcs) if among is None else np.flatnonzero(among).tolist()
    return list(islice(_texts(lattice, values.tolist(), arcs), most))


def within_beam(lattice: Lattice, beam: float, *, score: Reals | None = None) -> Flags:
    """[arcs] which lie on a path whose score is less than the best one's by at most `beam`: what pruning leaves."""
    losses, _ = path_losses(lattice.batch(), lattice.scores() if score is None else score)
    kept: Flags = losses <= beam
    return kept


def _texts(lattice: Lattice, score: Sequence[float], arcs: Sequence[int]) -> Iterator[Text]:
    """All texts, the likeliest first. The best way on from every node is known, so paths come out in their order."""
    target, surface = lattice.target.tolist(), lattice.surface.tolist()
    spoken = (lattice.word > 0).tolist()
    left, leaving = _to_end(lattice, score, arcs), _leaving(lattice, arcs)
    ages, seen = count(), set()
    heap = [_Beginning(-left[0], next(ages), 0.0, 0, (), ())]
    while heap:
        path = heapq.heappop(heap)
        if (path.node, path.words) in seen:  # these words came here before, by a better path
            continue
        seen.add((path.node, path.words))
        if path.node == lattice.nodes - 1:
            yield Text(path.score, path.words, path.arcs)
        for arc in leaving[path.node]:
            total, node = path.score + score[arc], target[arc]
            words = (*path.words, surface[arc]) if spoken[arc] else path.words
            heapq.heappush(heap, _Beginning(-total - left[node], next(ages), total, node, words, (*path.arcs, arc)))


def _to_end(lattice: Lattice, score: Sequence[float], arcs: Sequence[int]) -> list[float]:
    """The best score from every node to the end by these arcs."""
    source, target = lattice.source.tolist(), lattice.target.tolist()
    best = [-math.inf] * (lattice.nodes - 1) + [0.0]
    for arc in reversed(arcs):  # sorted by source, so best[target] is final
        best[source[arc]] = max(best[source[arc]], score[arc] + best[target[arc]])
    return best


def _leaving(lattice: Lattice, arcs: Sequence[int]) -> list[list[int]]:
    """Those of the arcs that leave each node and are on a way to the end."""
    found: list[list[int]] = [[] for _ in range(lattice.nodes)]
    source = lattice.source.tolist()
    for arc in arcs:
        found[source[arc]].append(arc)
    return found


def record(lattice: Lattice, beam: float, most: int) -> dict[str, Any]:
    """What Vosk would have printed, as a record of an N-best list."""
    kept = within_beam(lattice, beam, score=log_scores(lattice, Scales(transition=1 / MULTIPLIED)))
    return {
        "utt": lattice.utt,
        "nbest": [_hypothesis(lattice, each) for each in best_texts(lattice, most, among=kept)],
    }


def _hypothesis(lattice: Lattice, text: Text) -> dict[str, Any]:
    words = [_word(lattice, arc) for arc in text.arcs if lattice.word[arc]]
    return {"score": round(text.score, 6), "text": " ".join(word["word"] for word in words), "words": words}


def _word(lattice: Lattice, arc: int) -> dict[str, Any]:
    start, end = (round(float(lattice.time[each[arc]]), 6) for each in (lattice.source, lattice.target))
    return {"word": lattice.surfaces[arc], "start": start, "end": end}


def records(lattices: Path, forms: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The lists of a file, every utterance in each form."""
    for batch in stream(lattices):
        for lattice in batch:
            for form in forms:
                beam, most = form.split("x")
                yield {**record(lattice, float(beam), int(most)), "utt": named(lattice.utt, form, forms)}


def named(utt: str, form: str, forms: Sequence[str]) -> str:
    """What an utterance is called in one of the forms; as before, where there is only one."""
    return utt if len(forms) == 1 else f"{utt}.{form}"


def write_references(file: Path, out: Path, forms: Sequence[str]) -> None:
    """The references, every utterance in each form; the file has no quoting."""
    with file.open(encoding="utf-8", newline="") as given, atomic_text(out) as made:
        rows = csv.DictReader(given, delimiter="\t", quoting=csv.QUOTE_NONE)
        fields = rows.fieldnames or []
        made.write("\t".join(fields) + "\n")
        for row in rows:
            for form in forms:
                changed = {**row, "utt": named(row["utt"], form, forms)}
                made.write("\t".join(changed[field] for field in fields) + "\n")


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="Has refs.tsv and the recognizer's folder.")
    parser.add_argument("--recognizer", default="kaldi-small-2020", help="[%(default)s]")
    parser.add_argument("--splits", default="train,dev,eval", help="[%(default)s]")
    parser.add_argument("--forms", default=",".join(FORMS), help="BEAMxALTERNATIVES, joined by commas [%(default)s]")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    forms, folder = given.forms.split(","), given.out / NAME
    folder.mkdir(parents=True, exist_ok=True)
    write_references(given.data / "refs.tsv", given.out / "refs.tsv", forms)
    about = {"name": NAME, "format": "nbest", "pick": "total"}
    (folder / "recognizer.json").write_text(json.dumps(about) + "\n", "utf-8")
    for split in given.splits.split(","):
        with gzip.open(folder / f"{split}.jsonl.gz", "wt", encoding="utf-8") as file:
            for found in records(given.data / given.recognizer / f"{split}.ark.gz", forms):
                file.write(json.dumps(found, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
