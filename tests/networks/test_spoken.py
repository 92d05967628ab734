"""Lattices against references with segments: the nearest alternatives, and nothing of what is to be ignored."""

from __future__ import annotations

from pathlib import Path

import wordtrust as wt
from wordtrust.evaluation.corpus_counts import count_lattices
from wordtrust.formats.references import read_references
from wordtrust.networks.build_store import LABEL, REFERENCE, BuildOptions, build_networks
from wordtrust.networks.spoken import spoken_words

STM = """\
call 1 ann 0 2 so { um / uh / @ } (really) th- %hesitation good
call 1 x 2 4 ignore_time_segment_in_scoring
call 1 bob 4 6 bye
"""
CTM = """\
call 1 0.1 0.2 so 0.9
call 1 0.4 0.2 uh 0.8
call 1 0.7 0.2 think 0.7
call 1 1.0 0.2 food 0.6
call 1 2.2 0.2 noise 0.5
call 1 3.0 0.2 more 0.5
call 1 4.2 0.2 bye 0.9
"""


def files(folder: Path, ctm: str = CTM) -> tuple[wt.Lattices, wt.References]:
    (folder / "out.ctm").write_text(ctm)
    (folder / "ref.stm").write_text(STM)
    return wt.read(folder / "out.ctm"), read_references(folder / "ref.stm")


def test_the_nearest_alternatives_count(tmp_path: Path) -> None:
    lattices, references = files(tmp_path)
    assert spoken_words(lattices, references)[1] == [("so", "uh", "think", "good", "bye")]
    lattices, references = files(tmp_path, CTM.replace("uh", "er").replace("think", "really"))
    assert spoken_words(lattices, references)[1] == [("so", "really", "th", "good", "bye")]  # er is too much


def test_what_is_to_be_ignored_is_silence(tmp_path: Path) -> None:
    lattices, references = files(tmp_path)
    kept, _ = spoken_words(lattices, references)
    assert [word for word in kept[0].words if word] == ["so", "uh", "think", "food", "bye"]
    assert kept[0].time.tolist() == lattices[0].time.tolist()


def test_labels_and_counts_leave_it_out(tmp_path: Path) -> None:
    lattices, references = files(tmp_path)
    networks = build_networks(lattices, BuildOptions(references=references))
    labels = dict(zip(networks[0].words, networks.extra[LABEL].tolist(), strict=True))
    assert labels == {"so": 1, "uh": 1, "think": 1, "food": 0, "bye": 1, "": -1}
    assert networks.notes[REFERENCE] == ("so uh think good bye",)
    counts = count_lattices(lattices, references)
    assert counts.one_best is not None
    assert (counts.one_best.errors, counts.one_best.reference_words) == (1, 5)


def test_plain_references_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("call so it is\n")
    lattices, _ = files(tmp_path)
    kept, words = spoken_words(lattices, read_references(tmp_path / "text"))
    assert kept is lattices
    assert words == [("so", "it", "is")]
