"""The tuner: finds what is there to be found, and keeps to the recognizer's own where nothing is better."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.strategies import assembled, batch_of
from wordtrust import read
from wordtrust.base.errors import InputError, OptionError
from wordtrust.evaluation.tune import tune
from wordtrust.formats.references import Reference, References, read_references
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.weights import Scales
from wordtrust.networks.tuned_scales import TunedScales


def utterance(name: str, right: tuple[float, float], wrong: tuple[float, float]) -> Lattices:
    """The word "right" against two words "wrong wrong", with these (acoustic, transition) totals."""
    acoustic = [right[0], wrong[0] / 2, wrong[0] / 2]
    transition = [right[1], wrong[1] / 2, wrong[1] / 2]
    return assembled(
        name, time=[0, 0.5, 1], ends=[(0, 2), (0, 1), (1, 2)], tokens=["right", "wrong", "wrong"],
        acoustic=acoustic, transition=transition,
    ).batch()  # fmt: skip


def references_for(*batches: Lattices) -> References:
    return References([Reference(utt, "right", ("right",)) for batch in batches for utt in batch.utts])


def test_the_ratio_is_found() -> None:
    """Acoustics speak for the wrong words, the language model against them: less of the former is right."""
    parts = [utterance("a", (-10, -2), (-7, -4)), utterance("b", (-9, -2), (-5, -5))]
    batch = batch_of(*(part[0] for part in parts))
    found = tune([batch], references_for(batch))
    assert found.dev["as_given"] == 2.0
    assert found.dev["one_best"] == 0.0
    assert found.one_best.acoustic < 0.75 or found.one_best.word_penalty < 0


@pytest.mark.parametrize("lmwt", [7, 12, 17, 25])
def test_the_whole_range_of_lmwts_is_searched(lmwt: int) -> None:
    """Unscaled scores, read as they stand: all words are right between 0.75 and 1.35 of 1/LMWT, and only there."""
    low = utterance("low", (-100.0 * lmwt, -100.0), (-85.0 * lmwt, -100.0 - 15 * 1.35))
    high = utterance("high", (-85.0 * lmwt, -100.0 - 15 * 0.75), (-100.0 * lmwt, -100.0))
    batch = batch_of(low[0], high[0])
    found = tune([batch], references_for(batch))
    assert found.dev["as_given"] > 0
    assert found.dev["one_best"] == 0.0


def test_spellings_count_as_the_same_where_that_is_asked_for() -> None:
    """`right` is said; scales that bring out two words are better as long as these are not taken for it."""
    batches = [utterance(f"u{index}", (-10.0, -10.0), (-5.0, -14.0)) for index in range(3)]
    two = [Reference(utt, "wrongwrong", ("wrongwrong",)) for batch in batches for utt in batch.utts]
    strict, lenient = (tune(batches, References(two), equate=kinds).dev for kinds in ("none", "all"))
    assert lenient["lenient_one_best"] == 0.0
    assert lenient["one_best"] == 2.0
    assert strict["one_best"] == 1.0
    assert strict["lenient_one_best"] >= lenient["lenient_one_best"]


def test_the_word_penalty_is_found() -> None:
    batch = utterance("a", (-10, -10), (-9.8, -9.9))
    found = tune([batch], references_for(batch))
    assert found.one_best.word_penalty < 0
    assert found.dev["one_best"] == 0.0


def test_what_is_good_already_stays() -> None:
    batch = utterance("a", (-1, -1), (-50, -50))
    assert tune([batch], references_for(batch)).one_best == Scales()


def test_the_recognizers_own_scales_are_where_the_search_begins() -> None:
    """An HTK recognizer with lmscale 15: its own setting is right, a ratio of 1 is far off."""
    right = utterance("a", (-100, -2), (-90, -5))
    given = replace(right, scales=Scales(1.0, 15.0, 0.0))
    found = tune([given], references_for(given))
    assert found.dev["as_given"] == 0.0
    assert found.one_best == given.scales


def test_different_scales_are_not_mixed() -> None:
    one, two = utterance("a", (-1, -1), (-2, -2)), utterance("b", (-1, -1), (-2, -2))
    with pytest.raises(OptionError, match="different scales"):
        tune([one, replace(two, scales=Scales(0.5))], references_for(one, two))


def test_confidences_alone_cannot_be_tuned() -> None:
    batch = assembled("a", time=[0, 1], ends=[(0, 1)], tokens=["right"], posterior=[0.5]).batch()
    with pytest.raises(OptionError, match="no scores to scale"):
        tune([batch], references_for(batch))
    with pytest.raises(OptionError, match="nothing to tune on"):
        tune([], References([]))


def test_scales_are_saved_and_loaded(tmp_path: Path) -> None:
    tuned = TunedScales(Scales(0.5, 1.0, -1.0), Scales(0.1, 0.2, 0.3, 0.4), Scales(), {"mbr": 0.125})
    tuned.save(tmp_path / "scales.json")
    assert TunedScales.load(tmp_path / "scales.json") == tuned


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"one_best": 3}', '{"one_best": {"acoustic": "x"}}'])
def test_a_bad_scales_file_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "scales.json").write_text(text)
    with pytest.raises(InputError, match=r"scales\.json: not a file of scales.*wordtrust tune"):
        TunedScales.load(tmp_path / "scales.json")
    with pytest.raises(InputError, match="cannot be opened"):
        TunedScales.load(tmp_path / "other.json")


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize(("name", "gain"), [("kaldi-small-2020", 0.015), ("moonshine-tiny", 0.002)])
def test_tuning_helps_real_recognizers(name: str, gain: float) -> None:
    [file] = (SHARED / name).glob("dev.*")
    references = read_references(SHARED / "refs.tsv").of_split("dev")
    lattices = read(file)[:300]
    found = tune([lattices], references)
    assert found.dev["one_best"] < found.dev["as_given"] - gain
    assert found.dev["mbr"] < found.dev["as_given"] - gain
    assert found.dev["nce"] >= found.dev["nce_as_given"]
