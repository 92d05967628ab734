"""Lists as Vosk prints them, drawn from lattices."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from tools.vosk_nbest import main, named, record, write_references

import wordtrust as wt
from tests.helpers.shared import SHARED, needs_shared
from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.vocabulary import Vocabulary

WORDS = Vocabulary(["so", "sew", "it"])


def two_ways(graph: tuple[float, float], acoustic: tuple[float, float]) -> Lattice:
    """A pause, then `so` or `sew`, then `it`."""
    word = np.array([0, 1, 2, 3], np.int32)
    return Lattice(
        "u", np.array([0.0, 0.3, 0.6, 0.93]), np.array([0, 1, 1, 2], np.int32), np.array([1, 2, 2, 3], np.int32),
        word, word, WORDS, acoustic=np.array([1.0, *acoustic, 2.0], np.float32),
        transition=np.array([-0.5, *graph, -1.0], np.float32),
    )  # fmt: skip


def test_a_list_has_scores_words_and_times() -> None:
    found = record(two_ways((-1.0, -2.0), (4.0, 4.5)), 2.0, 10)
    assert found == {
        "utt": "u",
        "nbest": [
            {
                "score": 4.5,
                "text": "so it",
                "words": [
                    {"word": "so", "start": 0.3, "end": 0.6},
                    {"word": "it", "start": 0.6, "end": 0.93},
                ],
            },
            {
                "score": 4.0,
                "text": "sew it",
                "words": [
                    {"word": "sew", "start": 0.3, "end": 0.6},
                    {"word": "it", "start": 0.6, "end": 0.93},
                ],
            },
        ],
    }
    assert len(record(two_ways((-1.0, -2.0), (4.0, 4.5)), 2.0, 1)["nbest"]) == 1


def test_the_beam_is_about_scores_before_language_is_weighed_less() -> None:
    lattice = two_ways((-0.9, -2.79), (4.0, 4.0))  # 1.89 apart, 2.1 before the multiplication by 0.9
    assert len(record(lattice, 2.0, 10)["nbest"]) == 1
    assert len(record(lattice, 2.2, 10)["nbest"]) == 2


def test_every_form_has_its_references(tmp_path: Path) -> None:
    file = tmp_path / "refs.tsv"
    file.write_text('utt\tspeaker\ttext\nu1\ts1\t"so it\n', "utf-8")
    write_references(file, tmp_path / "out.tsv", ["2x10", "6x100"])
    assert (tmp_path / "out.tsv").read_text("utf-8") == (
        'utt\tspeaker\ttext\nu1.2x10\ts1\t"so it\nu1.6x100\ts1\t"so it\n'
    )
    assert named("u1", "2x10", ["2x10"]) == "u1"


@needs_shared
def test_lists_of_real_lattices_begin_with_what_the_recognizer_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "data" / "kaldi"
    folder.mkdir(parents=True)
    shutil.copy(SHARED / "formats" / "kaldi.compact.text.ark.gz", folder / "dev.ark.gz")
    (folder / "recognizer.json").write_text(json.dumps({"words": "words.txt.gz", "frame_length": 0.03}), "utf-8")
    shutil.copy(SHARED / "kaldi-small-2020" / "words.txt.gz", folder)
    (tmp_path / "data" / "refs.tsv").write_text("utt\ttext\n", "utf-8")
    out = tmp_path / "out"
    asked = ["--recognizer", "kaldi", "--splits", "dev", "--forms", "2x10", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["vosk_nbest", str(folder.parent), *asked])
    main()
    lattices, lists = wt.read(folder / "dev.ark.gz"), wt.read(out / "vosk" / "dev.jsonl.gz")
    assert lists.origin.recognizer == "vosk"
    assert [each.text for each in lists] == [each.text for each in lattices]
    assert lists.utts == lattices.utts
    assert len(lists) == 25
    best = [float(each.scores()[list(each.one_best())].sum()) for each in lattices]
    assert [float(each.scores()[list(each.one_best())].sum()) for each in lists] == pytest.approx(best, abs=1e-3)
