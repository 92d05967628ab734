"""Lists as Vosk prints them, drawn from lattices: the likeliest texts against all paths, and the files."""

from __future__ import annotations

import json
import math
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tools.vosk_nbest import best_texts, main, named, record, within_beam, write_references

import wordtrust as wt
from tests.helpers.shared import SHARED, needs_shared
from wordtrust.lattices.lattice import Lattice
from wordtrust.lattices.vocabulary import Vocabulary

WORDS = Vocabulary(["so", "sew", "it"])
LETTERS = Vocabulary(["a", "b", "c"])


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


@st.composite
def lattices(draw: st.DrawFn) -> Lattice:
    """Small ones, with pauses and with paths that say the same; every node lies on a path."""
    nodes = draw(st.integers(2, 6))
    pairs = [(node, node + 1) for node in range(nodes - 1)]
    pairs += draw(st.lists(st.tuples(st.integers(0, nodes - 2), st.integers(1, 3)).map(
        lambda arc: (arc[0], min(arc[0] + arc[1], nodes - 1))), max_size=8))  # fmt: skip
    pairs.sort()
    count = len(pairs)
    word = np.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), np.int32)
    score = draw(st.lists(st.integers(-40, 40), min_size=count, max_size=count))
    return Lattice(
        utt="u",
        time=np.arange(nodes, dtype=np.float64),
        source=np.array([source for source, _ in pairs], np.int32),
        target=np.array([target for _, target in pairs], np.int32),
        word=word,
        surface=word,
        vocabulary=LETTERS,
        acoustic=(np.array(score) / 8).astype(np.float32),  # sums are exact
    )


def all_paths(lattice: Lattice, node: int = 0) -> list[tuple[int, ...]]:
    """Every path from a node to the end."""
    if node == lattice.nodes - 1:
        return [()]
    return [
        (int(arc), *rest)
        for arc in np.flatnonzero(lattice.source == node)
        for rest in all_paths(lattice, int(lattice.target[arc]))
    ]


def worth(lattice: Lattice, path: tuple[int, ...]) -> float:
    return float(lattice.scores()[list(path)].sum())


def spoken(lattice: Lattice, path: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(lattice.surface[arc]) for arc in path if lattice.word[arc])


def best_by_text(lattice: Lattice, paths: list[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    found: dict[tuple[int, ...], float] = {}
    for path in paths:
        text = spoken(lattice, path)
        found[text] = max(found.get(text, -math.inf), worth(lattice, path))
    return found


@settings(max_examples=150)
@given(lattices(), st.integers(1, 12))
def test_the_best_texts_are_those_of_all_paths(lattice: Lattice, most: int) -> None:
    expected = best_by_text(lattice, all_paths(lattice))
    found = best_texts(lattice, most)
    assert [text.score for text in found] == sorted(expected.values(), reverse=True)[:most]
    assert len({text.words for text in found}) == len(found)
    for text in found:
        assert text.score == expected[text.words] == worth(lattice, text.arcs)
        assert spoken(lattice, text.arcs) == text.words
        ends = [0, *lattice.target[list(text.arcs)].tolist()]
        assert ends == [*lattice.source[list(text.arcs)].tolist(), lattice.nodes - 1]


@settings(max_examples=150)
@given(lattices(), st.sampled_from([0.0, 0.5, 2.0, 100.0]))
def test_a_beam_leaves_the_arcs_of_paths_within_it(lattice: Lattice, beam: float) -> None:
    paths = all_paths(lattice)
    best = max(worth(lattice, path) for path in paths)
    expected = {arc for path in paths if worth(lattice, path) >= best - beam for arc in path}
    kept = within_beam(lattice, beam)
    assert set(np.flatnonzero(kept).tolist()) == expected
    allowed = best_by_text(lattice, [path for path in paths if set(path) <= expected])
    texts = {text.words: text.score for text in best_texts(lattice, 10_000, among=kept)}
    assert texts == allowed


def test_scores_of_ones_own_decide() -> None:
    word = np.array([1, 2], np.int32)
    lattice = Lattice("u", np.arange(2.0), np.zeros(2, np.int32), np.ones(2, np.int32), word, word,
                      LETTERS, acoustic=np.array([0, -3], np.float32))  # fmt: skip
    assert [text.words for text in best_texts(lattice)] == [(1,), (2,)]
    assert [text.words for text in best_texts(lattice, score=np.array([0.0, 1.0]))] == [(2,), (1,)]
    assert within_beam(lattice, 2.0).tolist() == [True, False]
    assert within_beam(lattice, 2.0, score=np.array([-1.0, 1.0])).tolist() == [True, True]


def test_equal_scores_come_in_the_order_of_arcs() -> None:
    word = np.array([3, 1, 2], np.int32)
    lattice = Lattice("u", np.arange(2.0), np.zeros(3, np.int32), np.ones(3, np.int32), word, word,
                      LETTERS, acoustic=np.zeros(3, np.float32))  # fmt: skip
    assert [text.words[0] for text in best_texts(lattice, 2)] == [3, 1]
