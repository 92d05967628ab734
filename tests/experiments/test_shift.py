"""How confidences hold elsewhere: groups, pairs, draws and tables."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from click.testing import CliRunner
from experiments.recalibration import Recalibration, SpeakerWords, recalibrate
from experiments.shift import ShiftData, accent_of, accents, lacking_columns, main, measures, repairs, strangers
from experiments.shift_table import markdown
from numpy.typing import NDArray

import wordtrust as wt
from tests.helpers.made_models import SAMPLE, made_model, sample_networks
from wordtrust.combination.system_output import SystemOutput
from wordtrust.confidence.adapt import adapt
from wordtrust.confidence.calibrate_model import calibrate_model
from wordtrust.confidence.calibration.model_calibration import ModelCalibration
from wordtrust.confidence.evaluate_model import arc_confidences
from wordtrust.confidence.model_file import save_model
from wordtrust.evaluation.metrics import Scores
from wordtrust.formats.references import read_references
from wordtrust.lattices import paths as decode
from wordtrust.lattices.lattice import Floats, Lattices

pytestmark = pytest.mark.slow


def calibration_of(networks: Lattices) -> ModelCalibration:
    scorer = wt.WordScorer(made_model(networks))
    return calibrate_model(scorer, networks, calibrator="platt", keep_choice=True).calibration


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models and networks of two recognizers, of the first also models of folds, and references with accents."""
    folder = tmp_path_factory.mktemp("shift")
    for seed, name in enumerate(("one", "two")):
        networks = sample_networks(name)
        for number in range(-1, 2 if name == "one" else 0):
            fold = {} if number < 0 else {"training": {"folds": 2, "fold": number}}
            calibration = calibration_of(networks).to_dict()
            model = made_model(networks, 10 * seed + number + 1, calibration=calibration, **fold)
            save_model(model, folder / "models" / (name if number < 0 else f"{name}-fold-{number}"))
        (folder / "work" / name).mkdir(parents=True)
        for split in ("train", "dev"):
            wt.write(networks, folder / "work" / name / split)
    given = read_references(SAMPLE / "ref.tsv")
    lines = ["utt\tspeaker\taccent\ttext"]
    for number, each in enumerate(given.values()):
        lines.append(f"{each.utt}\tspeaker {number // 2}\t{'Here,There' if number % 4 < 2 else ''}\t{each.text}")
    (folder / "refs.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return folder


@pytest.fixture
def data(made: Path) -> ShiftData:
    return ShiftData(made / "models", made / "work", read_references(made / "refs.tsv"), "dev", made / "models")


def test_measures_by_hand() -> None:
    scores = Scores.of([0.95, 0.9, 0.5, 0.1], [True, False, True, False], ["a", "a", "b", "c"])
    found = measures(scores)
    assert found["words"] == 4
    assert found["speakers"] == 3
    assert found["right"] == 0.5
    assert found["mean"] == pytest.approx(0.6125)
    assert found["sure"] == 0.5  # 0.95 and 0.9
    assert found["sure_right"] == 0.5
    bits = -np.log2([0.95, 0.1, 0.5, 0.9]).sum()
    assert found["nce"] == pytest.approx((4 - bits) / 4)
    assert measures(Scores()) == {"words": 0}


@pytest.mark.parametrize(
    ("text", "accent"),
    [
        ("India and South Asia (India, Pakistan)", "India and South Asia"),
        ("United States English,Chicago", "United States English"),
        ("", "not given"),
        (None, "not given"),
    ],
)
def test_accents_are_the_first_that_is_named(text: str | None, accent: str) -> None:
    assert accent_of(text) == accent


def test_groups_of_accents_are_all_words_once(data: ShiftData) -> None:
    found = accents(data, ["one"])["one"]
    assert set(found) == {"all", "Here", "not given"}
    assert found["Here"]["words"] + found["not given"]["words"] == found["all"]["words"]
    assert found["Here"]["speakers"] + found["not given"]["speakers"] == found["all"]["speakers"] == 18


def test_models_of_folds_are_no_recognizers(data: ShiftData) -> None:
    assert data.names == ("one", "two")
    assert len(data.folds("one")) == 3
    assert data.folds("two") == []


def test_a_model_on_its_own_recognizer_is_no_stranger(data: ShiftData) -> None:
    row = strangers(data, [("one", "one")])[0]
    assert row["own"] == row["as_it_is"]


def test_columns_that_are_lacking_are_told(data: ShiftData) -> None:
    scorer, batches = data.scorer("one"), [replace(batch, acoustic=None) for batch in data.batches("two")]
    assert lacking_columns(scorer, batches) == ["acoustic"]
    assert lacking_columns(wt.WordScorer(made_model(batches[0], generic=True)), batches) == []


def made_words(seed: int, slope: float, speakers: int = 120) -> SpeakerWords:
    """Words of speakers with five utterances of eight words each, whose confidences claim too much."""
    rng = np.random.default_rng(seed)
    claimed = rng.normal(1.0, 2.0, speakers * 40)
    right = rng.random(len(claimed)) < 1 / (1 + np.exp(-slope * claimed))
    names = [f"{seed} {number}" for number in range(speakers)]
    scores = Scores.of(1 / (1 + np.exp(-claimed)), right, names, np.arange(0, len(claimed) + 1, 40))
    return SpeakerWords(scores, scores, np.full(speakers, 5))


def test_utterances_of_ones_own_repair_a_calibration() -> None:
    found = recalibrate("made up", made_words(0, 0.4), made_words(1, 0.4), sizes=(50, 400, 5000), draws=3).measures
    for name in ("kernel", "platt"):
        assert set(found[name]) == {0, 50, 400}  # there are 600 utterances
        assert found[name][0]["ece"][1] < 1e-12  # always on the same words
        assert found[name][400]["ece"][0] < 0.3 * found[name][0]["ece"][0]
        assert found[name][400]["nce"][0] > found[name][0]["nce"][0]


def test_half_of_the_speakers_is_kept_apart_where_there_is_no_other_split() -> None:
    found = recalibrate("made up", made_words(0, 0.4), sizes=(50, 300, 301), draws=2).measures
    assert set(found["platt"]) == {0, 50, 300}
    assert found["platt"][0]["nce"][1] > 0  # other speakers in each draw


def test_words_of_networks_count_utterances_of_speakers(data: ShiftData) -> None:
    batches = data.batches("one")
    words = SpeakerWords.of(batches, partial(arc_confidences, data.scorer("one")))
    assert words.utterances.tolist() == [2] * 18
    assert words.shown is not None
    assert len(words.shown) == len(words.raw)


def test_repairs_are_fitted_on_speakers_that_models_do_not_know(
    data: ShiftData, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is drawn from: confidences worked out again, utterance by utterance, by the model without the speaker."""
    given: list[SpeakerWords] = []

    def seen(case: str, own: SpeakerWords, tested: SpeakerWords) -> Recalibration:
        given.append(own)
        return Recalibration(case, {})

    monkeypatch.setattr("experiments.shift.recalibrate", seen)
    assert [each.case for each in repairs(data, [("one", "two"), ("two", "one")])] == ["one on two"]
    (networks,) = data.batches("two", "train")
    whole, *folds = (wt.WordScorer(adapt(each.model, [networks])) for each in data.folds("one"))
    strangers = [folds[crc32(speaker.encode()) % 2] for speaker in networks.notes["speaker"]]
    assert set(strangers) == set(folds)
    parts = [each.confidence(networks[place : place + 1]) for place, each in enumerate(strangers)]
    (own,) = given
    assert own.raw.score == pytest.approx(shown(networks, np.concatenate(parts)), abs=1e-6)
    assert np.abs(own.raw.score - shown(networks, whole.confidence(networks))).max() > 0.01


def shown(networks: Lattices, confidence: Floats) -> NDArray[np.float64]:
    """The confidences of the words of the 1-best."""
    found = SystemOutput.of(networks, confidence, decode.one_best(networks)).confidence
    assert found is not None
    return found


def test_the_command_writes_figures_and_tables(made: Path, tmp_path: Path) -> None:
    given = [
        made / "models",
        made / "work",
        "--refs",
        made / "refs.tsv",
        "--folds",
        made / "models",
        "--out",
        tmp_path,
    ]
    pairs = ["--pair", "one:two", "--repair", "one:two", "--name", "one"]
    found = CliRunner().invoke(main, [*map(str, given), *pairs])
    assert found.exit_code == 0, found.output
    figures = json.loads((tmp_path / "shift.json").read_text("utf-8"))
    assert figures["split"] == "dev"
    assert [(row["model"], row["recognizer"]) for row in figures["strangers"]] == [("one", "two")]
    assert figures["repairs"][0]["case"] == "one on two"
    text = (tmp_path / "shift.md").read_text("utf-8")
    assert text == markdown(figures)
    assert "| one | two |" in text
    assert "## Accents: one" in text
