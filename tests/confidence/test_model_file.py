"""The model folder and packed training data: round trips, and damage of every kind ends in one kind of error."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.helpers.model_data import COLUMNS, WORDS
from tests.helpers.mutate import damaged
from wordtrust import load
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence import features
from wordtrust.confidence.choice import Choice
from wordtrust.confidence.config import EMBEDDINGS, MERGES, Config, weight_shapes
from wordtrust.confidence.features import Statistics
from wordtrust.confidence.model_card import ModelCard
from wordtrust.confidence.model_file import Model, load_model, read_log, save_model, update_card
from wordtrust.confidence.word_table import WordTable

ABOUT = {"recognizer": "zoë", "tolerance": 0.1, "scales": {"acoustic": 0.5}, "metrics": {"dev_eer": 0.1}}
KINDS = list(product(MERGES, EMBEDDINGS, (True, False)))


def make_model(merge: str = "mean", embedding: str = "table", skip: bool = True) -> Model:
    config = Config(
        merge=merge, state=3, hidden=2, embedding=embedding, dimension=2, buckets=8, columns=COLUMNS,
        skip=skip,
    )  # fmt: skip
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in weight_shapes(config).items()}
    table = WordTable(
        WORDS,
        phones=np.arange(6, dtype=np.int32),
        mass=rng.uniform(size=6).astype(np.float32),
        vectors=rng.normal(size=(6, 2)).astype(np.float16).astype(np.float32) if embedding == "table" else None,
    )
    statistics = Statistics(COLUMNS, np.arange(3, dtype=np.float32), np.full(3, 0.5, np.float32))
    return Model(config, weights, table, statistics, ModelCard.from_json(ABOUT))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(make_model(), tmp_path / "model", [{"epoch": 1, "loss": 0.5}])
    return tmp_path / "model"


def edit(folder: Path, **changes: Any) -> None:
    record = json.loads((folder / "model.json").read_text("utf-8"))
    (folder / "model.json").write_text(json.dumps(record | changes), "utf-8")


def edit_arrays(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change arrays, and put the checksum right."""
    file = folder / "model.safetensors"
    arrays = load_file(file)
    change(arrays)
    save_file(arrays, file)
    edit(folder, checksum=sha256(file.read_bytes()).hexdigest())


@pytest.mark.parametrize(("merge", "embedding", "skip"), KINDS)
def test_round_trip_of_every_kind(tmp_path: Path, merge: str, embedding: str, skip: bool) -> None:
    model = make_model(merge, embedding, skip)
    save_model(model, tmp_path / "m", [{"epoch": 1}])
    again = load_model(tmp_path / "m")
    assert again.config == model.config
    assert again.card == model.card
    assert again.recognizer == "zoë"
    assert again.weights.keys() == model.weights.keys()
    for name, weight in model.weights.items():
        np.testing.assert_array_equal(again.weights[name], weight)
        assert again.weights[name].dtype == np.float32
    assert again.table.words == WORDS
    for name in ("phones", "mass", "vectors"):
        np.testing.assert_array_equal(getattr(again.table, name), getattr(model.table, name))
    assert again.statistics.columns == COLUMNS
    np.testing.assert_array_equal(again.statistics.mean, model.statistics.mean)
    np.testing.assert_array_equal(again.statistics.std, model.statistics.std)
    assert read_log(tmp_path / "m") == [{"epoch": 1}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


def test_a_table_without_columns_comes_back_without_them(tmp_path: Path) -> None:
    save_model(replace(make_model(embedding="none"), table=WordTable()), tmp_path / "m")
    table = load_model(tmp_path / "m").table
    assert (table.words, table.phones, table.mass, table.vectors) == ((), None, None, None)


def test_a_model_keeps_the_rules_by_which_its_phones_are_estimated(folder: Path) -> None:
    assert load_model(folder).table.phones_of(["u"], np.array([-1], np.int32)).tolist() == [2]
    edit_arrays(folder, lambda arrays: arrays.pop("words.phone_rules"))  # an older model
    assert load_model(folder).table.phones_of(["u"], np.array([-1], np.int32)).tolist() == [1]
    edit_arrays(folder, lambda arrays: arrays.update({"words.phone_rules": np.array([9], np.uint8)}))
    with pytest.raises(InputError, match="phones are estimated by the rules 1 to 2"):
        load_model(folder)


@pytest.mark.parametrize(("merge", "embedding", "skip"), KINDS)
def test_the_list_of_weights_is_that_of_torch_and_of_the_scorer(merge: str, embedding: str, skip: bool) -> None:
    pytest.importorskip("torch", reason="needs the extra `train`")
    from wordtrust.training.lattice_rnn import LatticeRNN

    config = replace(make_model(merge, embedding, skip).config, gap=7 * skip)
    found = {name: tuple(weight.shape) for name, weight in LatticeRNN(config).state_dict().items()}
    assert weight_shapes(config) == found


def test_a_model_replaces_a_model_or_fills_an_empty_folder(folder: Path) -> None:
    (folder.parent / "empty").mkdir()
    for target in (folder, folder.parent / "empty"):
        save_model(replace(make_model("posterior"), card=ModelCard("other")), target)
        assert load_model(target).config.merge == "posterior"
        assert load_model(target).card == ModelCard("other")
    assert sorted(path.name for path in folder.parent.iterdir()) == ["empty", "model"]


def test_nothing_but_a_model_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").write_bytes(b"cat")
    (tmp_path / "file").write_bytes(b"text")
    for name in ("photos", "file"):
        with pytest.raises(OptionError, match="exists and is no model"):
            save_model(make_model(), tmp_path / name)
    assert (tmp_path / "photos" / "cat.png").read_bytes() == b"cat"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "photos"]


def test_nothing_is_left_after_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OptionError, match="cannot be written"):
        save_model(make_model(), folder / "model.json" / "below")
    with pytest.raises(TypeError):
        save_model(replace(make_model(), card=ModelCard(extra={"unwritable": object()})), folder)
    real = os.replace

    def full(source: Path, target: Path) -> None:
        if Path(target).name == "model" and not str(source).endswith(".old"):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr("wordtrust.base.files._exchange", lambda *_: False)
    with pytest.raises(OptionError, match="No space left"):
        save_model(make_model("posterior"), folder)
    assert [path.name for path in folder.parent.iterdir()] == ["model"]
    assert load_model(folder).config.merge == "mean"  # the old one


def test_what_is_known_about_a_model_can_be_written_anew(folder: Path) -> None:
    card = replace(load_model(folder).card, choice=Choice("gain"), recognizer="b", tolerance=None)
    update_card(folder, card)
    assert load_model(folder).card == card
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "model.safetensors", "train.jsonl"]


@pytest.mark.parametrize("what", ["nowhere", "file", "empty"])
def test_what_is_no_model_is_told(tmp_path: Path, what: str) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=f"{what}: no model.*wordtrust train"):
        load(tmp_path / what)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), r"its checksum is not the one in model\.json"),
        *((lambda data, size=size: data[:size], "no whole safetensors file") for size in (0, 7, 8, 100, -1)),
        *(  # a header that promises much must allocate nothing
            (lambda _, size=size: size.to_bytes(8, "little") + b"{}", "no whole safetensors file")
            for size in (1 << 62, (1 << 64) - 1, 1 << 40)
        ),
    ],
)
def test_damaged_weights_are_told(folder: Path, change: Callable[[bytes], bytes], message: str) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(InputError, match=rf"model\.safetensors: {message}"):
        load(folder)
    file.unlink()
    with pytest.raises(InputError, match=r"model\.safetensors: cannot be opened"):
        load(folder)


def test_another_feature_version_is_allowed(folder: Path) -> None:
    edit(folder, feature_version=features.VERSION + 1)
    assert load(folder, allow_mismatch=True).model.recognizer == "zoë"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "5", '"kind"', "{}", '{"kind": "another"}', "[" * 100_000, '{"kind": ' * 50_000, "\ud800",
     '{"kind": "wordtrust model", "version": 1' + "0" * 5000 + "}"],
)  # fmt: skip
def test_json_that_is_not_about_a_model_is_told(folder: Path, text: str) -> None:
    (folder / "model.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError, match=r"model\.json"):
        load(folder)


def test_huge_json_is_not_read(folder: Path) -> None:
    with (folder / "model.json").open("r+b") as file:
        file.truncate(1 << 40)  # a file with a hole: it takes no room
    with pytest.raises(InputError, match="too large"):
        load(folder)


CONFIG = make_model().config.to_dict()


def changes(key: str, *values: Any) -> list[dict[str, Any]]:
    """Changes of model.json: its `key` to each of these values."""
    return [{key: value} for value in values]


REFUSED = {
    r"the model has version 2, this wordtrust reads version 1.*newer wordtrust": changes("version", 2),
    r"features of version 2.*makes version 1.*--allow-mismatch": changes("feature_version", features.VERSION + 1),
    "not a whole model": [
        *changes("config", None, [], 5, "lstm", {}, {"cell": "lstm"}),
        *changes("config", *(CONFIG | change for change in (
            *changes("state", -1, 2.5, "3", 10**30, None),
            *changes("cell", "rnn", ["lstm"], {}),
            *changes("columns", "posterior", [], ["utts", "word", "scales"], [1, 2, 3], [["a"]] * 3),
            *changes("columns", ["posterior", "frames", "frames"], ["posterior"]),
            {"hidden": [2]}, {"merge": None}, {"embedding": 3}, {"dimension": 3}, {"buckets": 0}, {"extra": 1},
        ))),
    ],
    "gru was dropped": changes("config", CONFIG | {"cell": "gru"}),
    "max was dropped": changes("config", CONFIG | {"merge": "max"}),
    "attention was dropped": changes("config", CONFIG | {"merge": "attention"}),
    "how its networks are built": [
        *changes("tolerance", None, "wide", -1, float("nan"), float("inf"), 10**400, [0.1]),
        *changes("scales", {"loud": 1}, {"acoustic": "1"}, {"acoustic": 1e300}, [1]),
        *changes("choice", None, {"criterion": "luck"}, {"criterion": []}, 5, {"x": 1}),
        *changes("choice", {"threshold": 2}, {"threshold": float("nan")}, {"threshold": "x"}),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("message", "change"), [(message, change) for message, several in REFUSED.items() for change in several]
)
def test_json_that_does_not_fit_is_told(folder: Path, message: str, change: dict[str, Any]) -> None:
    edit(folder, **change)
    with pytest.raises(InputError, match=message):
        load(folder)


def drop(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays.pop(name)


def put(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays.update({name: value})


@pytest.mark.parametrize(
    "change",
    [
        drop("weight.output.bias"), drop("words.text"), drop("statistics.mean"), drop("words.vectors"),
        put("weight.output.bias", np.array([np.nan], np.float32)), put("weight.output.bias", np.array([1e300])),
        put("weight.output.bias", np.array([np.inf], np.float32)),
        put("weight.output.bias", np.array([-1e7], np.float32)), put("weight.output.bias", np.array([1])),
        put("weight.output.bias", np.zeros(2, np.float32)), put("weight.output.bias", np.zeros((), np.float32)),
        put("weight.hidden.weight", np.zeros((6, 2), np.float32)), put("words.text", np.array([255], np.uint8)),
        put("words.text", np.frombuffer(b"a\na\nb\nc\nd\ne", np.uint8)), put("words.phones", np.zeros(5, np.uint8)),
        put("words.text", np.array([0.5])), put("words.phones", np.array([np.nan] * 6)),
        put("words.mass", np.full(6, np.nan, np.float32)), put("words.mass", np.zeros((6, 1), np.float32)),
        put("words.heard", np.array([0b11000000], np.uint8)), put("words.heard", np.zeros(0, np.uint8)),
        put("words.vectors", np.zeros((6, 3), np.float16)), put("words.vectors", np.zeros(6, np.float16)),
        put("words.vectors", np.full((6, 2), np.inf, np.float16)), put("statistics.spread", np.zeros(3, np.float32)),
        put("statistics.spread", np.full(3, -1, np.float32)), put("statistics.mean", np.full(3, np.nan, np.float32)),
        put("statistics.mean", np.zeros(4, np.float32)), put("statistics.mean", np.zeros((), np.float32)),
        put("statistics.mean", np.zeros(3, np.int32)),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_told(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    edit_arrays(folder, change)
    with pytest.raises(InputError, match="not a whole model"):
        load(folder)


def test_what_is_of_no_use_is_no_reason_to_refuse_a_model(folder: Path) -> None:
    edit_arrays(folder, put("more", np.zeros(3)))
    (folder / "train.jsonl").write_bytes(b"\xff{")
    assert read_log(folder) == []
    assert load(folder).model.recognizer == "zoë"


@pytest.mark.parametrize("name", ["model.json", "model.safetensors"])
def test_damage_ends_in_an_error_for_people_or_in_a_model(folder: Path, name: str) -> None:
    """The checksum is put right: it must not be all that stands between damage and a crash."""
    file = folder / name
    whole = file.read_bytes()
    refused = 0
    for made in damaged(whole, 150, sum(name.encode())):
        file.write_bytes(made)
        if name == "model.safetensors":
            edit(folder, checksum=sha256(made).hexdigest())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                load(folder)
        except InputError:
            refused += 1
    assert refused > 50
