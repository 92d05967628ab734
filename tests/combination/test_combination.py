"""`wordtrust combine` and what it keeps: systems as commands name them, fitted folders, tables and JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import wordtrust as wt
from tests.helpers.made_models import SAMPLE, sample_networks, write_model, write_networks
from wordtrust.base.errors import InputError, WordtrustError
from wordtrust.cli import cli
from wordtrust.combination.combination_file import FILE, FittedCombination
from wordtrust.combination.joint import JointDecoding, JointHypotheses, JointModel
from wordtrust.lattices.lattice import Lattices

NAMES = ("one", "two", "three")
FIT = ("--fit", "one={store}", "--fit", "two={store}", "--out", "{out}", "--no-joint")


@pytest.fixture(scope="module")
def networks() -> Lattices:
    return sample_networks()


@pytest.fixture
def folder(tmp_path: Path, networks: Lattices) -> Path:
    """Three models that differ in their weights and in how they choose words, and one store for all."""
    write_networks(tmp_path / "store", networks)
    ways = ({"criterion": "mean"}, {"criterion": "gain", "threshold": 0.3}, {"criterion": "mean-silence"})
    for seed, (name, choice) in enumerate(zip(NAMES, ways, strict=True)):
        write_model(tmp_path / name, networks, seed, choice=choice)
        for fold in range(2):
            write_model(
                tmp_path / f"{name}-fold-{fold}", networks, seed + 10 + fold, training={"folds": 2, "fold": fold}
            )
    return tmp_path


def run(*words: object) -> Result:
    done = CliRunner().invoke(cli, [str(word) for word in words])
    if done.exception and not isinstance(done.exception, (SystemExit, WordtrustError)):
        raise done.exception
    return done


def systems(folder: Path, *names: str) -> list[str]:
    return [f"{name}={folder / name},{folder / 'store'}" for name in names]


def fitting(folder: Path, *names: str) -> list[str]:
    return ["--no-joint", *(word for name in names or NAMES for word in ("--fit", f"{name}={folder / 'store'}"))]


def combined(folder: Path, *more: object) -> dict[str, Any]:
    done = run("combine", *systems(folder, *NAMES), *more, "--json")
    assert done.exit_code == 0, done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_systems_have_the_error_rates_of_evaluate(folder: Path) -> None:
    found = combined(folder)
    for name in NAMES:
        alone = json.loads(run("evaluate", folder / name, folder / "store", "--json").stdout)
        assert found["systems"][name] == pytest.approx(alone["wer"]["best_confidence"])
        assert found["subsets"][0]["best_member_one_best"] == pytest.approx(alone["wer"]["one_best"])
    (subset,) = found["subsets"]
    assert subset["best_member"] == min(found["systems"].values())
    assert subset["oracle"] <= subset["best_member"]
    assert set(found["better"]) == {"raw", "rover"}  # nothing is calibrated here


def test_all_subsets(folder: Path) -> None:
    found = combined(folder, "--subsets")
    assert sorted(sorted(subset["members"]) for subset in found["subsets"]) == [
        ["one", "three"], ["one", "three", "two"], ["one", "two"], ["three", "two"],
    ]  # fmt: skip
    for method in found["better"]:
        assert found["better"][method] + found["equal"][method] + found["worse"][method] == 4


@pytest.mark.slow
def test_calibrated_models_are_also_compared_calibrated(folder: Path) -> None:
    for name in NAMES:
        run("calibrate", folder / name, folder / "store", "--keep-choice")
    assert "calibrated" in combined(folder)["better"]


def test_what_was_fitted_is_used_again(folder: Path) -> None:
    fit = fitting(folder)
    first = combined(folder, "--subsets", *fit, "--out", folder / "joint")
    again = combined(folder, "--subsets", "--joint", folder / "joint")
    assert {"informed", "rover"} <= set(first["better"])
    assert again == first
    kept = FittedCombination.load(folder / "joint")
    assert set(kept.order) == set(NAMES)
    assert len(kept.rover) == 4


def test_a_new_fit_replaces_an_old_joint_model_and_tells_what_it_was_fitted_on(folder: Path) -> None:
    (folder / "joint").mkdir()
    (folder / "joint" / "joint.safetensors").write_bytes(b"old")
    (folder / "joint" / "combination.json").write_text("{}")
    done = run("combine", *systems(folder, *NAMES), *fitting(folder), "--out", folder / "joint", "--overwrite")
    assert "fitted on 36 of these utterances" in done.stderr
    assert not (folder / "joint" / "joint.safetensors").exists()
    done = run("combine", *systems(folder, "one", "two"), "--joint", folder / "joint")
    assert "nothing was fitted for" in str(done.exception)


def test_words_without_confidences_are_fitted_too(tmp_path: Path) -> None:
    for name in ("a", "b"):
        lines = [f"u{number} 1 0.0 0.5 {name if number % 2 else 'same'}\n" for number in range(8)]
        (tmp_path / f"{name}.ctm").write_text("".join(lines), "utf-8")
    rows = [f"u{number}\t{'a' if number % 2 else 'same'}\n" for number in range(8)]
    (tmp_path / "ref.tsv").write_text("utt\ttext\n" + "".join(rows), "utf-8")
    words = [f"{name}={tmp_path / name}.ctm" for name in ("a", "b")]
    fit = [part for word in words for part in ("--fit", word)]
    done = run("combine", *words, "--ref", tmp_path / "ref.tsv", *fit, "--out", tmp_path / "joint", "--json")
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["systems"] == {"a": 0.0, "b": 0.5}


def test_fold_models_score_what_is_fitted_on_and_nothing_else(folder: Path) -> None:
    fit = fitting(folder)
    names = [(name, folder / f"{name}-fold-{fold}") for name in NAMES for fold in range(2)]
    folds = [word for name, path in names for word in ("--fold-model", f"{name}={path}")]
    plain = combined(folder, *fit, "--out", folder / "a")
    folded = combined(folder, *fit, *folds, "--out", folder / "b")
    assert folded["systems"] == plain["systems"]
    assert (folder / "a" / FILE).read_text("utf-8") != (folder / "b" / FILE).read_text("utf-8")


def test_words_with_confidences_are_combined_without_models(tmp_path: Path) -> None:
    lattices = wt.read(str(SAMPLE / "lattices" / "*.slf.gz"))
    for name in ("a", "b"):
        wt.write(lattices, tmp_path / f"{name}.ctm")
    words = [f"{name}={tmp_path / name}.ctm" for name in ("a", "b")]
    found = json.loads(run("combine", *words, "--ref", SAMPLE / "ref.tsv", "--json").stdout)
    assert found["equal"] == {"raw": 1, "rover": 1}  # a recognizer with a copy of itself changes nothing
    assert found["systems"]["a"] == found["systems"]["b"]


@pytest.mark.slow
def test_a_report_of_the_subsets_and_its_plots(folder: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra `report`")
    done = run(
        "combine", *systems(folder, *NAMES), "--subsets", "--report", folder / "r.html", "--figures", folder / "f"
    )
    assert done.exit_code == 0, done.exception
    assert "ROVER" in (folder / "r.html").read_text("utf-8")
    kinds = {path.suffix for path in (folder / "f").iterdir()}
    assert kinds == {".png", ".svg"}


def test_combined_words_can_be_had(folder: Path) -> None:
    done = run("combine", *systems(folder, *NAMES), "--transcripts", folder / "w.jsonl")
    assert done.exit_code == 0, done.exception
    lines = [json.loads(line) for line in (folder / "w.jsonl").read_text("utf-8").splitlines()]
    alone = {}
    for name in NAMES:
        run("score", folder / name, folder / "store", "--out", folder / f"{name}.jsonl")
        text = (folder / f"{name}.jsonl").read_text("utf-8").splitlines()
        alone[name] = {found["utt"]: found for found in map(json.loads, text)}
    for line in lines:  # the words of whoever is surest on average
        sure = {name: alone[name][line["utt"]]["mean_confidence"] or 0.0 for name in NAMES}
        best = alone[max(NAMES, key=lambda name: sure[name])][line["utt"]]
        for kind in ("norm", "word"):
            assert [word[kind] for word in line["words"]] == [word[kind] for word in best["words"]]


@pytest.mark.slow
def test_the_joint_network_is_fitted_kept_and_decoded(folder: Path) -> None:
    fit = [word for name in NAMES[:2] for word in ("--fit", f"{name}={folder / 'store'}")]
    words = [*systems(folder, *NAMES[:2]), "--transcripts", folder / "w.ctm", "--json", "--overwrite"]
    first = json.loads(run("combine", *words, *fit, "--out", folder / "joint").stdout)
    again = json.loads(run("combine", *words, "--joint", folder / "joint").stdout)
    assert first == again
    assert first["subsets"][0]["joint"] <= 1.0
    assert len(wt.read(folder / "w.ctm")) > 30
    without = json.loads(run("combine", *words, "--joint", folder / "joint", "--no-joint").stdout)
    assert "joint" not in without["better"]


def test_the_library_gives_what_the_command_line_gives(folder: Path) -> None:
    sources = {name: (str(folder / name), str(folder / "store")) for name in NAMES[:2]}
    words = systems(folder, *NAMES[:2])
    fitted = wt.fit_combination(sources, joint=False)
    done = run("combine", *words, *fitting(folder, *NAMES[:2]), "--out", folder / "f", "--words", folder / "w.jsonl",
               "--json")  # fmt: skip
    assert "--words is now called --transcripts" in done.stderr
    fitted.save(folder / "g")
    assert (folder / "g" / FILE).read_text("utf-8") == (folder / "f" / FILE).read_text("utf-8")
    result = wt.combine(sources, fitted=folder / "f")
    assert result.to_dict() == json.loads(done.stdout)
    assert result.n_fitted_on == result.n_references == 36
    lines = [json.loads(line) for line in (folder / "w.jsonl").read_text("utf-8").splitlines()]
    assert result.transcripts is not None
    assert [each.utt for each in result.transcripts] == [line["utt"] for line in lines]
    assert wt.combine(sources, transcripts=False).transcripts is None
    loaded = {name: (wt.load(model), wt.read(store)) for name, (model, store) in sources.items()}
    assert wt.combine(loaded, fitted=fitted).to_dict() == result.to_dict()


@pytest.mark.slow
def test_all_systems_are_decoded_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = [word for name in NAMES[:2] for word in ("--fit", f"{name}={folder / 'store'}")]
    run("combine", *systems(folder, *NAMES[:2]), *fit, "--out", folder / "joint")
    decoded: list[int] = []
    decode = JointModel._decode

    def counted(self: JointModel, given: JointHypotheses, members: tuple[int, ...]) -> JointDecoding:
        decoded.append(len(members))
        return decode(self, given, members)

    monkeypatch.setattr(JointModel, "_decode", counted)
    sources = {name: (str(folder / name), str(folder / "store")) for name in NAMES[:2]}
    result = wt.combine(sources, fitted=folder / "joint")
    assert decoded == [2]
    assert result.to_dict() == wt.combine(sources, fitted=folder / "joint", transcripts=False).to_dict()


def test_the_table_names_every_method(folder: Path) -> None:
    text = run("combine", *systems(folder, *NAMES)).stdout
    for said in ("largest mean confidence", "ROVER", "best of them for each utterance", "one", "two", "three"):
        assert said in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["{one}"], "two recognizers or more"),
        (["{one}", "nonsense"], "NAME=MODEL,STORE"),
        (["{one}", "{one}"], "same name"),
        (["{one}", "b=words.ctm"], "--ref"),
        (["{one}", "{two}", "--fit", "one={store}"], "--out"),
        (["{one}", "{two}", "--fit", "one={store}", "--out", "{out}"], "one NAME=STORE for each"),
        (["{one}", "{two}", "--fold-model", "other=x"], "goes with --fit"),
        (["{one}", "{two}", *FIT, "--fold-model", "other=x"], "no recognizer here"),
        (["{one}", "{two}", *FIT, "--fold-model", "one={fold}"], "every recognizer or for none"),
        (["{one}", "{two}", "--transcripts", "{out}.doc"], ".ctm"),
        (["{one}", "{two}", "--report", "{out}/no/r.html"], "there is no folder"),
        (["{one}", "{two}", "--joint", "{out}"], "cannot be opened"),
    ],
)
def test_what_is_wrong_is_told(folder: Path, words: list[str], told: str) -> None:
    one, two = systems(folder, "one", "two")
    places = {"one": one, "two": two, "store": folder / "store", "out": folder / "out", "fold": folder / "one-fold-0"}
    done = run("combine", *(word.format(**places) for word in words))
    assert told in str(done.exception)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "wordtrust combination", "version": 1}', "[" * 9999])
def test_a_damaged_folder_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE).write_text(text, "utf-8")
    with pytest.raises(InputError, match=FILE):
        FittedCombination.load(tmp_path)
