"""Output words of recognizers as arrays, and several recognizers side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordtrust as wt
from tests.helpers.strategies import lattices
from tests.helpers.system_outputs import outputs, references, side_by_side
from wordtrust.base.errors import InputError, OptionError
from wordtrust.combination.system_output import (
    Missing,
    SystemOutput,
    SystemOutputs,
    concatenate_outputs,
    references_of,
)
from wordtrust.lattices.lattice import Lattice, concatenate
from wordtrust.lattices.paths import best_confidence
from wordtrust.lattices.vocabulary import Vocabulary
from wordtrust.networks.align import align
from wordtrust.networks.word_confidence import word_confidence


class Half:
    """A calibrator that halves."""

    def predict(self, scores: object, /) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.asarray(scores, np.float64) / 2


@given(st.lists(lattices(score_sets=(("acoustic",),)), min_size=1, max_size=3))
def test_words_of_scored_networks(many: list[Lattice]) -> None:
    batch = concatenate(replace(one, utt=f"u{number}").batch() for number, one in enumerate(many))
    networks = wt.build(batch).lattices
    assert networks.posterior is not None
    paths = best_confidence(networks, networks.posterior)
    shown = word_confidence(networks, networks.posterior, paths)
    found = SystemOutput.of(networks, networks.posterior, paths)
    for number, network in enumerate(networks):
        rows = range(paths.offsets[number], paths.offsets[number + 1])
        spoken = [row for row in rows if network.words[paths.arcs[row]]]
        part = slice(found.offsets[number], found.offsets[number + 1])
        assert found.words(number) == tuple(network.words[paths.arcs[row]] for row in spoken)
        assert found.start[part].tolist() == [network.time[network.source[paths.arcs[row]]] for row in spoken]
        assert found.end[part].tolist() == [network.time[network.target[paths.arcs[row]]] for row in spoken]
        assert found.confidence is not None
        assert found.confidence[part].tolist() == [shown[row] for row in spoken]


def _ctm(folder: Path, *lines: str) -> SystemOutput:
    path = folder / "a.ctm"
    path.write_text("".join(f"{line}\n" for line in lines))
    return concatenate_outputs(SystemOutput.one_best(batch) for batch in wt.stream(path))


def test_a_ctm_gives_its_confidences(tmp_path: Path) -> None:
    found = _ctm(tmp_path, "u1 1 0.0 0.5 Hello 0.9", "u1 1 2.0 0.25 World 0.25", "u2 1 0.5 0.5 bye 1.0")
    assert found.utts == ("u1", "u2")
    assert [found.words(0), found.words(1)] == [("hello", "world"), ("bye",)]
    assert found.confidence is not None
    assert found.confidence == pytest.approx([0.9, 0.25, 1.0])
    assert found.start.tolist() == [0.0, 2.0, 0.5]
    assert found.end.tolist() == [0.5, 2.25, 1.0]
    assert found.means(found.confidence) == pytest.approx([0.575, 1.0])


def test_a_ctm_without_confidences_has_none(tmp_path: Path) -> None:
    found = _ctm(tmp_path, "u1 1 0.0 0.5 Hello")
    assert found.confidence is None
    with pytest.raises(OptionError, match="no confidences that could be calibrated"):
        found.with_calibrated(Half())


def test_calibrated_stand_beside_raw() -> None:
    found = outputs(["a b", "c"], [0.5, 0.25, 1.0]).with_calibrated(Half())
    assert found.calibrated is not None
    assert found.confidence is not None
    assert found.calibrated.tolist() == [0.25, 0.125, 0.5]
    assert found.confidence.tolist() == [0.5, 0.25, 1.0]


def test_means_and_sums_by_utterance() -> None:
    found = outputs(["a b", "", "c"])
    values = np.array([0.5, 0.25, 1.0])
    assert found.sums(values).tolist() == [0.75, 0, 1]
    assert found.means(values).tolist() == [0.375, 0, 1]


def test_join_keeps_words_and_order() -> None:
    found = concatenate_outputs([outputs(["a b", ""], [0.1, 0.2]), outputs(["b c"], [0.3, 0.4], utts=["v"])])
    assert found.utts == ("u0", "u1", "v")
    assert [found.words(number) for number in range(3)] == [("a", "b"), (), ("b", "c")]
    assert found.word[1] == found.word[2]
    assert found.confidence is not None
    assert found.confidence.tolist() == [0.1, 0.2, 0.3, 0.4]
    assert len(concatenate_outputs([])) == 0
    with_silence = concatenate_outputs([outputs(["a"], 0.5), outputs([""], None, utts=["v"])])
    assert with_silence.confidence is not None  # an utterance without words lacks no confidence
    assert with_silence.confidence.tolist() == [0.5]


def test_take_by_name() -> None:
    vocabulary = Vocabulary(["z", "c"])
    found = outputs(["a b", "c", ""], [0.1, 0.2, 0.3]).take(["u1", "none", "u0"], vocabulary)
    assert [found.words(number) for number in range(3)] == [("c",), (), ("a", "b")]
    assert found.word.tolist() == [2, 3, 4]
    assert found.confidence is not None
    assert found.confidence.tolist() == [0.3, 0.1, 0.2]
    assert found.start.tolist() == [0, 0, 1]


SYSTEMS = {"A": outputs(["a b", "c"]), "B": outputs(["c d", "a x"], utts=["u1", "u0"])}


def test_side_by_side() -> None:
    both = SystemOutputs.of(SYSTEMS, references(["a b", "c d e"], ["x", "y"]))
    assert both.utts == ("u0", "u1")
    assert [each.words(1) for each in both.outputs] == [("c",), ("c", "d")]
    assert both.outputs[0].vocabulary is both.outputs[1].vocabulary
    assert both.errors.tolist() == [[0, 2], [1, 1]]
    assert both.speakers == ("x", "y")
    assert both.by_errors() == ("A", "B")
    assert both.subset(["B", "A"]).errors.tolist() == [[1, 1], [0, 2]]
    with pytest.raises(OptionError, match="there is no recognizer 'C', but: A, B"):
        both.subset(["C"])


@given(st.lists(st.lists(st.sampled_from(["a", "b", "<unk>"]), max_size=4).map(" ".join), min_size=2, max_size=2))
def test_errors_are_those_of_the_aligner(texts: list[str]) -> None:
    said, heard = texts
    found = align(said.split(), heard.split())
    expected = found.substitutions + found.deletions + found.insertions
    assert side_by_side({"A": [heard]}, [said]).errors.tolist() == [[expected]]


LACKING = {"A": outputs(["a", "b"]), "B": outputs(["a"], utts=["u1"])}


APART = {"A": outputs(["a"]), "B": outputs(["a"], utts=["v"])}
TWICE = {"A": outputs(["a", "b"], utts=["u0", "u0"])}


@pytest.mark.parametrize(
    ("systems", "texts", "missing", "message"),
    [
        (LACKING, ["a", "b"], "error", r"B lacks 1 of 2 utterances \(u0\).*Leave them out"),
        (APART, ["a"], "leave out", "no utterance is shared by all recognizers"),
        (SYSTEMS, ["a"], "error", "utterance u1: 1 of 2 utterances have no reference"),
        (TWICE, ["a"], "error", "utterance u0: the utterance appears twice"),
        ({}, [], "error", "there is no recognizer"),
    ],
)
def test_what_cannot_stand_side_by_side(
    systems: dict[str, SystemOutput], texts: list[str], missing: Missing, message: str
) -> None:
    with pytest.raises((InputError, OptionError), match=message):
        SystemOutputs.of(systems, references(texts), missing=missing)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            outputs(["", "b"], None, utts=["v", "w"]),
            r"utterance w: the words have no confidence.*Leave such utterances",
        ),
        (outputs(["b"]), "utterance u0: the utterance appears twice"),
    ],
)
def test_what_cannot_be_joined(second: SystemOutput, message: str) -> None:
    with pytest.raises(InputError, match=message):
        concatenate_outputs([outputs(["a"], 0.5), second])


def test_an_utterance_that_one_lacks_can_be_left_out_or_empty() -> None:
    left = SystemOutputs.of(LACKING, references(["a", "b"]), missing="leave out")
    assert (left.utts, left.errors.tolist(), left.left_out) == (("u1",), [[0], [1]], {"A": 0, "B": 1})
    empty = SystemOutputs.of(LACKING, references(["a", "b"]), missing="empty")
    assert (empty.utts, empty.errors.tolist()) == (("u0", "u1"), [[0, 0], [1, 1]])


def test_references_stand_in_networks() -> None:
    batch = next(iter(wt.stream(Path(__file__).parents[1] / "samples" / "ctm")))
    with pytest.raises(InputError, match=r"no references.*wordtrust build"):
        references_of(batch)
    said = tuple("a b" for _ in batch.utts)
    found = references_of(replace(batch, notes={"reference": said, "speaker": batch.utts}))
    assert [each.words for each in found.values()] == [("a", "b")] * len(batch)
    assert tuple(found) == batch.utts
