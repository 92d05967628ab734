"""Models that come with the package: made small, found by name, with cards that the docs are made of."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from tools.shipped_models.__main__ import current_page
from tools.shipped_models.cards import RECOGNIZERS, check_card, page
from tools.shipped_models.make import LARGEST, add_shipped, make_shipped, replace_check, replace_combination
from tools.shipped_models.small import SharedWords, cut, shrink, useful_words

import wordtrust as wt
from tests.helpers.command_line import refused, run
from tests.helpers.made_models import made_model, sample_networks, write_model, write_networks
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.folds import speaker_id
from wordtrust.combination.check import CheckModel
from wordtrust.combination.combination_file import FittedCombination
from wordtrust.confidence import shipped
from wordtrust.confidence.calibrate_model import calibrate_model
from wordtrust.confidence.config import weight_shapes
from wordtrust.confidence.estimation.accepted import AcceptedPrecision
from wordtrust.confidence.model_card import CalibrationData, ModelCard
from wordtrust.confidence.model_file import WORDS, Model, load_model, save_model
from wordtrust.confidence.shipped.cards import card_text
from wordtrust.confidence.word_table import WordTable
from wordtrust.lattices.lattice import Lattices

ROOT = Path(__file__).parents[2]
WORDS_A = WordTable(
    ("b", "c", "the", "of"), np.array([1, 2, 0, 0]), np.array([5, 1, 0, 0], "f4"), np.eye(4, 2, dtype="f4")
)
WORDS_B = WordTable(("a", "b", "the", "x"), None, np.array([9, 1, 3, 0], "f4"),
                    np.array([[7, 7], [1, 0], [0, 0], [3, 4]], "f4"))  # fmt: skip


def with_table(networks: Lattices, seed: int = 0, **about: Any) -> Model:
    """A model with vectors of the words in use, and a calibration that saw speakers."""
    model = made_model(networks, seed)
    config = replace(model.config, embedding="table")
    rng = np.random.default_rng(7)
    words = tuple(sorted(set(networks.vocabulary.strings) - {""}))
    vectors = rng.normal(size=(len(words), 2)).astype(np.float16).astype(np.float32)
    mass = rng.uniform(0.5, 9, len(words)).astype(np.float32)
    weights = {name: rng.normal(0, 0.3, shape).astype("f4") for name, shape in weight_shapes(config).items()}
    known = {"calibrated_on": {"utterances": 3, "words": 9, "speakers": [4, 5]}, "choice_errors": {"mean": 3}}
    return replace(
        model, config=config, weights=weights, table=WordTable(words, None, mass, vectors),
        card=ModelCard.from_json(model.card.to_json() | known | about),
    )  # fmt: skip


@pytest.fixture(scope="module")
def networks() -> Lattices:
    return sample_networks("made up")


@pytest.fixture(scope="module")
def made(networks: Lattices, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `study/models`, `work` and `out`, what is shipped of them."""
    folder = tmp_path_factory.mktemp("made")
    scorer = wt.WordScorer(with_table(networks))
    calibration = calibrate_model(scorer, networks, calibrator="platt", keep_choice=True).calibration
    for seed, name in enumerate(("one", "two")):
        model = with_table(networks, seed, calibration=calibration.to_dict())
        save_model(model, folder / "study" / "models" / name, [{"epoch": 1}])
    (folder / "work" / "one").mkdir(parents=True)
    write_networks(folder / "work" / "one" / "dev", networks)
    names = make_shipped(folder / "study" / "models", folder / "out", networks=folder / "work", splits=("dev",))
    assert names == ["one", "two"]
    return folder


@pytest.fixture
def ours(made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """What is shipped is what was made, and the working folder is empty."""
    monkeypatch.setattr(shipped, "FOLDER", made / "out")
    monkeypatch.chdir(tmp_path)
    return made


def test_words_heard_often_come_first_and_then_those_of_the_order() -> None:
    tables = [WORDS_A, WORDS_B]  # together: a 9, b 6, the 3, c 1, of and x never
    assert useful_words(tables, 10) == ("a", "b", "the", "of", "x", "c")
    assert useful_words(tables, 10, order=("x", "nowhere", "c")) == ("a", "b", "the", "x", "c", "of")
    assert useful_words(tables, 2) == ("a", "b")


def test_a_cut_table_knows_the_same_of_its_words() -> None:
    table = cut(WORDS_A, ("the", "b", "new"))
    assert table.words == ("the", "b", "new")
    expected = {"phones": [0, 1, 0], "mass": [0, 5, 0], "vectors": [[0, 0], [1, 0], [0, 0]]}
    for name, values in expected.items():
        np.testing.assert_array_equal(getattr(table, name), values)


def test_tables_share_vectors_only_where_they_are_the_same() -> None:
    shared = SharedWords([WORDS_A, WORDS_B])
    assert shared.fits(WORDS_A)
    assert shared.fits(WORDS_B)
    assert shared.vectors is not None
    assert dict(zip(shared.words, shared.vectors.tolist(), strict=True))["x"] == [3, 4]
    changed = replace(WORDS_B, vectors=np.array([[7, 7], [1, 5], [0, 0], [3, 4]], "f4"))
    assert not shared.fits(changed)
    assert not shared.fits(replace(WORDS_A, vectors=np.eye(4, 3, dtype="f4")))


def scores_alike(one: Path | str, other: Model, networks: Lattices) -> bool:
    """Whether two models give the same confidences, up to what half precision costs."""
    off = wt.load(one).confidence(networks) - wt.WordScorer(other).confidence(networks)
    return float(np.abs(off).max()) < 1e-3


def test_a_small_model_gives_the_same_confidences(networks: Lattices, tmp_path: Path) -> None:
    model = with_table(networks)
    save_model(shrink(model), tmp_path / "small", small=True)
    assert scores_alike(tmp_path / "small", model, networks)
    arrays = load_file(tmp_path / "small" / "model.safetensors")
    assert {str(array.dtype) for name, array in arrays.items() if name.startswith("weight.")} == {"float16"}
    assert not (tmp_path / "small" / "train.jsonl").exists()


def test_weights_too_large_for_half_precision_stay_whole(networks: Lattices, tmp_path: Path) -> None:
    model = with_table(networks)
    weights = {**model.weights, "hidden.bias": np.full_like(model.weights["hidden.bias"], 1e5)}
    save_model(replace(model, weights=weights), tmp_path / "small", small=True)
    assert load_model(tmp_path / "small").weights["hidden.bias"].tolist() == [1e5] * 3


def test_shipped_models_score_like_those_of_the_study(ours: Path, networks: Lattices) -> None:
    for name in ("one", "two"):
        assert scores_alike(name, load_model(ours / "study" / "models" / name), networks)
    assert "words.vectors" not in load_file(ours / "out" / "one" / "model.safetensors")


def test_nothing_is_left_over_from_training(ours: Path) -> None:
    model = load_model(Path("one"))
    assert model.card.calibrated_on == CalibrationData(3, 9, speakers=(4, 5))  # tells what was seen
    assert model.card.to_json()["card"]["made"]["calibrated_on"]["speakers"] == 2
    assert "choice_errors" not in model.card.to_json()
    assert sorted(file.name for file in (ours / "out" / "one").iterdir()) == ["model.json", "model.safetensors"]


def ship(folder: Path, monkeypatch: pytest.MonkeyPatch, **models: Model) -> None:
    """Let these models be all that comes with wordtrust."""
    for name, model in models.items():
        save_model(model, folder / "models" / name)
    make_shipped(folder / "models", folder / "out")
    monkeypatch.setattr(shipped, "FOLDER", folder / "out")


def test_a_model_with_vectors_of_its_own_keeps_them(
    networks: Lattices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = with_table(networks)
    assert model.table.vectors is not None
    own = replace(model, table=replace(model.table, vectors=model.table.vectors + 1))
    ship(tmp_path, monkeypatch, one=model, own=own)
    assert "words.vectors" in load_file(tmp_path / "out" / "own" / "model.safetensors")
    assert scores_alike("own", own, networks)


def test_other_words_than_those_it_was_made_with_are_refused(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "out", tmp_path / "out")
    SharedWords([WORDS_A]).write(tmp_path / "out" / WORDS)
    with pytest.raises(InputError, match="not the words that the model was made with"):
        load_model(tmp_path / "out" / "one")
    (tmp_path / "out" / WORDS).unlink()
    with pytest.raises(InputError, match=r"words\.safetensors"):
        load_model(tmp_path / "out" / "one")


def test_a_folder_here_does_not_stand_for_a_shipped_model(ours: Path, networks: Lattices) -> None:
    Path("one").mkdir()  # recordings, say
    assert wt.load("one").model.table.words
    assert not shipped.is_model("one")  # a store of that name stays a store
    write_model(Path("one"), networks)
    for name in ("one", Path("one")):
        with pytest.raises(OptionError, match=r"one: comes with wordtrust, and a folder here .*whole path.*/one"):
            wt.load(name)
    assert "give the whole path" in refused("score", "one", ours / "work" / "one" / "dev", "--out", "w.ctm")
    for path in ("./one", Path("one").absolute()):
        assert not wt.load(path).model.table.words


def test_an_unknown_name_is_told_the_known_ones(ours: Path) -> None:
    with pytest.raises(InputError, match=r"three: no model.*comes with wordtrust: one, two"):
        wt.load("three")


def test_models_are_listed(ours: Path) -> None:
    models = wt.models()
    assert [(model.name, model.fits) for model in models] == [("one", True), ("two", True)]
    assert models[0].bytes == sum(file.stat().st_size for file in (ours / "out" / "one").iterdir())
    assert "made up" in run("models").stdout
    assert [model["name"] for model in json.loads(run("models", "--json").stdout)] == ["one", "two"]
    card = json.loads(run("models", "one", "--json").stdout)["card"]
    expected = json.loads(run("evaluate", "one", ours / "work" / "one" / "dev", "--json").stdout)
    measured = card["metrics"]["dev"]
    assert measured["utterances"] == expected["utterances"]
    assert measured["one_best"]["calibrated"]["nce"] == round(expected["one_best"]["calibrated"]["nce"], 4)
    assert {"data", "licence", "limits", "made"} <= set(card)
    assert "CC0" in run("models", "one").stdout
    assert "there are: one, two" in refused("models", "three")


def test_a_model_of_another_version_is_marked(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "FOLDER", made / "out")
    monkeypatch.setattr(shipped, "VERSION", 99)
    assert not wt.models()[0].fits
    assert "does not fit" in run("models").stdout


def test_without_models_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    assert wt.models() == []
    assert "No models" in run("models").stdout
    assert "without models" in page([])


def test_names_work_wherever_a_model_is_taken(ours: Path) -> None:
    store = ours / "work" / "one" / "dev"
    run("score", "one", store, "--out", "words.jsonl")
    assert Path("words.jsonl").read_text("utf-8").count("\n") == 36
    assert "Errors found" in run("threshold", "one", store).stdout
    assert "WER" in run("combine", f"a=one,{store}", f"b=two,{store}", "--allow-mismatch").stdout


def test_a_combination_is_shipped_and_knows_its_utterances(ours: Path, tmp_path: Path) -> None:
    store = ours / "work" / "one" / "dev"
    systems = [f"a=one,{store}", f"b=two,{store}", "--allow-mismatch", "--no-joint"]
    run("combine", *systems, "--fit", f"a={store}", "--fit", f"b={store}", "--out", tmp_path / "models" / "both")
    counts = {outcome: {"joint": count} for count, outcome in enumerate(("better", "equal", "worse"))}
    (tmp_path / "study.json").write_text(json.dumps(counts | {"about": {"test": "eval"}}))
    assert make_shipped(tmp_path / "models", tmp_path / "out") == ["both"]
    written = json.loads((tmp_path / "out" / "both" / "combination.json").read_text("utf-8"))
    assert len(written["utterances"]) == 36
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shipped, "FOLDER", tmp_path / "out")
        [combination] = wt.models()
        assert combination.card.metrics["eval"] == counts
        assert "| joint | 0 | 1 | 2 |" in card_text(combination)
        models = [f"a={ours / 'out' / 'one'},{store}", f"b={ours / 'out' / 'two'},{store}", "--allow-mismatch"]
        assert "fitted on" in run("combine", *models, "--no-joint", "--joint", "both").stderr
        patch.setattr("tools.shipped_models.make.LARGEST_LIST", 100)
        make_shipped(tmp_path / "models", tmp_path / "out")
        assert "fitted on" not in run("combine", *models, "--no-joint", "--joint", "both").stderr
        assert replace_combination(tmp_path / "models" / "both", tmp_path / "out") == "both"  # without counts
        assert [each.card.metrics for each in wt.models()] == [{}]
        replace_combination(tmp_path / "models" / "both", tmp_path / "out", study=tmp_path / "study.json")
        assert [each.card for each in wt.models()] == [combination.card]


def test_a_shipped_model_is_calibrated_into_another_folder(ours: Path) -> None:
    store, before = ours / "work" / "one" / "dev", (ours / "out" / "one" / "model.json").read_bytes()
    assert "--out FOLDER" in refused("calibrate", "one", store)
    run("calibrate", "one", store, "--out", "mine", "--calibrator", "platt")
    assert load_model(Path("mine")).card.to_json()["calibrated_on"]["utterances"] == 36
    assert (ours / "out" / "one" / "model.json").read_bytes() == before
    assert "there is a model already" in refused("calibrate", "one", store, "--out", "mine")


def test_making_is_all_or_nothing(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="no models"):
        make_shipped(tmp_path, tmp_path / "out")
    monkeypatch.setattr("tools.shipped_models.make.LARGEST_TOGETHER", 100)
    with pytest.raises(OptionError, match="too much to come with the package"):
        make_shipped(made / "study" / "models", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("precious")
    with pytest.raises(OptionError, match=r"thesis\.txt: is no model"):
        make_shipped(made / "study" / "models", tmp_path / "out")


def test_the_page_has_every_card(ours: Path) -> None:
    text = current_page()
    assert all(card_text(each) in text for each in wt.models())
    assert "| one | made up |" in text


def test_the_docs_are_what_the_cards_say() -> None:
    assert (ROOT / "docs" / "shipped-models.md").read_text("utf-8") == current_page()


def test_speakers_that_a_shipped_model_was_calibrated_on_are_told(
    networks: Lattices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_networks(tmp_path / "dev", networks)
    model = with_table(networks)
    speakers = sorted(speaker_id(name) for name in set(networks.notes["speaker"]))
    seen = CalibrationData(36, 9, speakers=tuple(speakers))
    ship(tmp_path, monkeypatch, one=replace(model, card=replace(model.card, calibrated_on=seen)))
    assert wt.load("one").calibrated_on(networks.notes["speaker"]) == len(speakers) > 0
    monkeypatch.chdir(tmp_path)
    assert f"calibrated on {len(speakers)} of these" in run("evaluate", "one", tmp_path / "dev").stderr


def test_a_generic_card_tells_of_recognizers_it_never_saw(
    networks: Lattices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unseen = {
        "alpha": {"eer": 0.1512, "nce": 0.41, "ece": 0.0123, "wer": 0.1, "tuned": 0.105},
        "beta": {"eer": 0.2, "nce": -0.1, "ece": 0.3},
    }
    ship(tmp_path, monkeypatch, generic=with_table(networks, unseen=unseen, generic=True))
    [card] = wt.models()
    assert card.card.unseen == unseen
    expected = (
        "| recognizer | EER | NCE | ECE | WER | WER, tuned 1-best |\n|---|---|---|---|---|---|\n"
        "| alpha | 15.12% | 0.410 | 0.012 | 10.00% | 10.50% |\n| beta | 20.00% | -0.100 | 0.300 |  |  |\n"
    )
    assert expected in card_text(card)
    assert expected in current_page()


def test_a_card_tells_which_words_can_go_unread(
    networks: Lattices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    promised = AcceptedPrecision(0.98, 0.9236, 0.678, 0.95, 1372).to_dict()
    model = with_table(networks)
    ship(tmp_path, monkeypatch, one=replace(model, card=replace(model.card, accept=(promised,))), two=model)
    one, two = wt.models()
    assert one.to_dict()["accept"] == [promised]
    expected = "95% sure for new speakers, shown on 1,372 of them: at least 98% from 0.924 on (68% of the words)."
    assert expected in card_text(one)
    assert "unread" not in card_text(two)


def test_a_model_is_adapted_into_another_only_with_leave(ours: Path, networks: Lattices) -> None:
    store = ours / "work" / "one" / "dev"
    write_model(Path("mine"), networks)
    before = Path("mine/model.json").read_bytes()
    assert "--overwrite" in refused("adapt", "one", store, "--out", "mine")
    assert Path("mine/model.json").read_bytes() == before
    run("adapt", "one", store, "--out", "mine", "--overwrite")
    assert load_model(Path("mine")).card.to_json()["adapted"]["utterances"] == 36
    Path("notes").mkdir()
    Path("notes/thesis.txt").write_text("precious")
    assert "no model" in refused("adapt", "one", store, "--out", "notes", "--overwrite")


def test_what_is_shipped_is_small_and_loads() -> None:
    models = wt.models()
    if not models:
        pytest.skip("no models are in the package: make them with python -m tools.shipped_models make")
    assert set(shipped.names(shipped.MODEL)) == {*RECOGNIZERS, "generic"}
    assert shipped.names(shipped.COMBINATION) == ("joint",)
    assert shipped.names(shipped.CHECK) == ("check",)
    assert (
        json.loads((shipped.FOLDER / "check" / shipped.CARD).read_text("utf-8"))
        == check_card(CheckModel.load()).to_json()
    )
    words = shipped.FOLDER / WORDS
    assert sum(model.bytes for model in models) + (words.stat().st_size if words.is_file() else 0) < 12_000_000
    assert all(model.bytes < LARGEST and model.fits for model in models)
    joint = FittedCombination.load(shipped.folder_of("joint", shipped.COMBINATION))
    assert set(joint.order) == set(RECOGNIZERS) - {"vosk"}  # the lattices of the same recognizer are in it


def test_what_checks_transcripts_is_listed_and_replaced(tmp_path: Path) -> None:
    assert "transcripts of anybody" in run("models").stdout
    scored = refused("score", "check", tmp_path / "x.json", "--out", tmp_path / "x.ctm")
    assert "what checks transcripts: wordtrust check" in scored
    made = tmp_path / "made"
    shutil.copytree(shipped.FOLDER / "check", made)
    assert replace_check(made, tmp_path / "out") == "check"
    assert {file.name for file in (tmp_path / "out" / "check").iterdir()} == {shipped.CHECK, shipped.CARD}
    (made / shipped.CHECK).write_bytes(b"nothing")
    with pytest.raises(InputError):
        replace_check(made, tmp_path / "out")
    assert CheckModel.load(tmp_path / "out" / "check" / shipped.CHECK)


@pytest.fixture
def out(networks: Lattices, tmp_path: Path) -> Path:
    """Where one model is shipped; another is in `study/two`, with networks to measure it on."""
    for seed, folder in enumerate(("first/one", "study/two")):
        path = "/elsewhere/a model" if seed else ""
        save_model(with_table(networks, seed, training={"start": path, "state": 4}), tmp_path / folder)
    make_shipped(tmp_path / "first", tmp_path / "out")
    (tmp_path / "two").mkdir()
    write_networks(tmp_path / "two" / "dev", networks)
    return tmp_path / "out"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_model_is_added_and_nothing_else_changes(out: Path) -> None:
    before = contents(out)
    assert add_shipped(out.parent / "study" / "two", out, networks=out.parent, splits=("dev",)) == "two"
    after = contents(out)
    assert {name: text for name, text in after.items() if not name.startswith("two/")} == before
    model, original = load_model(out / "two"), load_model(out.parent / "study" / "two")
    assert model.card.to_json()["card"]["metrics"]["dev"]["utterances"] == 36
    assert model.card.training.start == "a model"
    shared = load_model(out / "one").table
    assert model.table.words == shared.words
    np.testing.assert_array_equal(model.table.vectors, shared.vectors)
    rows = original.table.rows(model.table.words)
    assert model.table.mass is not None
    np.testing.assert_allclose(model.table.mass, original.table.mass_of(rows), rtol=1e-3)
    assert "words.vectors" not in load_file(out / "two" / "model.safetensors")


def test_a_model_that_does_not_fit_leaves_all_as_it_was(out: Path, networks: Lattices) -> None:
    before = contents(out)
    model = with_table(networks, 1)
    assert model.table.vectors is not None
    for name, vectors in (("other", -model.table.vectors), ("wide", np.tile(model.table.vectors, 2))):
        config = replace(model.config, dimension=vectors.shape[1])
        weights = {
            key: np.tile(weight, (1, 2)) [:, : len(config.columns) + vectors.shape[1]]
            if key.endswith("input.weight") else weight
            for key, weight in model.weights.items()
        }  # fmt: skip
        table = replace(model.table, vectors=vectors)
        save_model(replace(model, config=config, weights=weights, table=table), out.parent / "study" / name)
        with pytest.raises(OptionError, match="word vectors"):
            add_shipped(out.parent / "study" / name, out)
    with pytest.raises(OptionError, match="already"):
        add_shipped(out.parent / "first" / "one", out)
    assert contents(out) == before
    assert (out / WORDS).is_file()


def test_only_words_that_were_heard_take_room(networks: Lattices, tmp_path: Path) -> None:
    model = with_table(networks)
    assert model.table.mass is not None
    mass = np.where(np.arange(len(model.table.mass)) % 3 == 0, model.table.mass, 0).astype(np.float16)
    model = replace(model, table=replace(model.table, mass=mass.astype(np.float32)))
    save_model(model, tmp_path / "model", small=True)
    assert len(load_file(tmp_path / "model" / "model.safetensors")["words.mass"]) == np.count_nonzero(mass)
    np.testing.assert_array_equal(load_model(tmp_path / "model").table.mass, mass)
