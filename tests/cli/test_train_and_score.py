"""train, score and evaluate as a user types them, on the bundled sample."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("torch", reason="needs the extra `train`")

import wordtrust as wt
from wordtrust.base.installation import install_command
from wordtrust.cli import cli, main
from wordtrust.confidence.model_file import load_model, read_log
from wordtrust.evaluation.evaluation import POPULATIONS
from wordtrust.training.dataset import read_pack
from wordtrust.training.pipeline import GRID, training_folder

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "src" / "wordtrust" / "sample"
LATTICES = f"{SAMPLE}/lattices/*-0[1-6].slf.gz"
TINY = "--state 4 --hidden 4 --dimension 2 --buckets 64 --epochs 2 --device cpu".split()
Run = Callable[..., str]


def quietly(*words: str | Path) -> None:
    cli.main([str(word) for word in words], standalone_mode=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `networks` and a `model` trained on them."""
    folder = tmp_path_factory.mktemp("made")
    quietly("build", LATTICES, "--ref", SAMPLE / "ref.tsv", "--out", folder / "networks")
    quietly("train", folder / "networks", "--dev", folder / "networks", "--out", folder / "model", *TINY)
    return folder


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command in this process: gives what it prints, or what it complains of where a code is expected."""

    def run(*words: str | Path, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["wordtrust", *map(str, words)])
        try:
            main()
            found = 0
        except SystemExit as end:
            found = int(end.code or 0)
        told = capsys.readouterr()
        assert found == code, told.err
        return told.err if code else told.out

    return run


def test_training_says_what_came_out(made: Path, run: Run, tmp_path: Path) -> None:
    networks = made / "networks"
    told = run("train", networks, "--dev", networks, "--out", tmp_path / "m", *TINY)
    assert "dev EER" in told
    assert "words chosen by" in told
    model = load_model(tmp_path / "m")
    assert model.card.absent[0] == "transition"
    errors = model.card.choice_errors_on_dev
    assert len(errors) == 18
    assert errors[str(model.card.choice)] == min(errors.values())
    assert [line["epoch"] for line in read_log(tmp_path / "m")] == [1, 2]
    same = [path.joinpath("model.safetensors").read_bytes() for path in (tmp_path / "m", made / "model")]
    assert same[0] == same[1]
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_training_takes_its_options(made: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("the 1 2 3\nwill 4 5 6\n", "utf-8")
    (tmp_path / "lexicon.txt").write_text("will W IH L\n", "utf-8")
    networks = made / "networks"
    options = "--features paper --labels one-best --silence-loss --cell lstm --merge posterior --no-skip".split()
    files = ["--vectors", tmp_path / "vectors.txt", "--lexicon", tmp_path / "lexicon.txt"]
    run("train", networks, "--dev", networks, "--out", tmp_path / "m", *TINY, *options, *files)
    model = load_model(tmp_path / "m")
    assert (model.config.cell, model.config.merge, model.config.skip) == ("lstm", "posterior", False)
    assert (model.config.embedding, model.config.dimension) == ("table", 3)
    assert (model.card.labels, model.card.silence_loss) == ("one-best", True)
    assert model.card.features == "paper"
    assert model.table.phones is not None
    assert model.table.phones[model.table.words.index("will")] == 3


@pytest.mark.parametrize("option", ["--cell gru", "--merge max", "--merge attention"])
def test_training_names_variants_that_were_dropped(made: Path, run: Run, tmp_path: Path, option: str) -> None:
    networks = made / "networks"
    message = run("train", networks, "--dev", networks, "--out", tmp_path / "m", *option.split(), code=1)
    assert f"{option.split()[1]} was dropped" in message


def test_training_from_a_pack_gives_the_same_model(made: Path, run: Run, tmp_path: Path) -> None:
    networks = made / "networks"
    told = run("train", networks, "--dev", networks, "--pack", tmp_path / "train.pack")
    assert "18 utterances to train on, 18 to stop on" in told
    assert len(read_pack(tmp_path / "train.pack").train) == 18
    run("train", tmp_path / "train.pack", "--out", tmp_path / "m", *TINY)
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == (made / "model/model.safetensors").read_bytes()
    assert load_model(tmp_path / "m").card.choice is None  # for want of networks
    settled = run("train", tmp_path / "train.pack", "--out", tmp_path / "m2", "--features", "paper", code=1)
    assert "settled when it was packed" in settled


def test_a_model_is_only_replaced_when_that_is_said(made: Path, run: Run, tmp_path: Path) -> None:
    command = ["train", made / "networks", "--dev", made / "networks", "--out", tmp_path / "m", *TINY]
    run(*command)
    before = (tmp_path / "m" / "model.json").read_bytes()
    assert "--overwrite" in run(*command, code=1)
    assert (tmp_path / "m" / "model.json").read_bytes() == before
    run(*command, "--overwrite")


def test_what_is_read_is_not_written_over(made: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "words.jsonl").write_text("{}\n", "utf-8")
    told = run("score", made / "model", tmp_path / "words.jsonl", "--out", tmp_path / "words.jsonl", code=1)
    assert "is what is read" in told
    assert (tmp_path / "words.jsonl").read_text("utf-8") == "{}\n"


@pytest.fixture
def interrupted(made: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str | Path]:
    """A training that was interrupted in its second epoch, and the command that would go on with it."""
    from wordtrust.training.trainer import Trainer

    networks = made / "networks"
    command: list[str | Path] = ["train", networks, "--dev", networks, "--out", tmp_path / "m", *TINY]
    real = Trainer.run_epoch

    def epoch(trainer: Trainer, progress: Any) -> float:
        if trainer.state.epoch == 1:
            raise KeyboardInterrupt
        return real(trainer, progress)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "run_epoch", epoch)
        assert "interrupted" in run(*command, code=130)
    assert training_folder(tmp_path / "m").is_dir()
    assert not (tmp_path / "m").exists()
    return command


def test_interrupted_training_goes_on(interrupted: list[str | Path], made: Path, run: Run, tmp_path: Path) -> None:
    run(*interrupted)
    assert (tmp_path / "m" / "model.safetensors").read_bytes() == (made / "model/model.safetensors").read_bytes()
    assert not training_folder(tmp_path / "m").exists()


def test_a_model_appears_once_with_its_choice_of_words(
    made: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training that ends before that is chosen leaves no model that would pass for whole, and goes on."""
    command = ["train", made / "networks", "--dev", made / "networks", "--out", tmp_path / "m", *TINY]

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("wordtrust.confidence.calibrate_model.with_best_choice", stop)
        assert "the same command resumes it" in run(*command, code=130)
    assert not (tmp_path / "m").exists()
    run(*command)
    assert (tmp_path / "m" / "model.json").read_bytes() == (made / "model" / "model.json").read_bytes()
    assert load_model(tmp_path / "m").card.choice is not None
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_training_does_not_go_on_with_other_data(interrupted: list[str | Path], run: Run) -> None:
    found = run(*interrupted, "--labels", "one-best", code=1)
    assert "made on other data" in found
    assert "Remove it to start anew" in found


def test_search_keeps_the_log_of_the_best(
    made: Path, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, values in (("state", (4,)), ("hidden", (4,)), ("merge", ("mean", "posterior"))):
        monkeypatch.setitem(GRID, name, values)
    run("train", made / "networks", "--dev", made / "networks", "--out", tmp_path / "m", "--search", *TINY)
    model = load_model(tmp_path / "m")
    assert model.card.choice is not None
    assert [trial["merge"] for trial in model.card.search] == ["mean", "posterior"]
    assert [line["epoch"] for line in read_log(tmp_path / "m")] == [1, 2]


def scored(run: Run, made: Path, out: str | Path, *more: str | Path) -> str:
    return run("score", made / "model", LATTICES, "--out", out, *more)


def test_scores_as_lines_of_json(made: Path, run: Run, tmp_path: Path) -> None:
    scored(run, made, tmp_path / "words.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "words.jsonl").read_text("utf-8").splitlines()]
    scorer = wt.load(made / "model")
    expected = [each.to_dict() for each in scorer(wt.read(LATTICES))]
    assert [line["utt"] for line in lines] == [each["utt"] for each in expected]
    assert [line["text"] for line in lines] == [each["text"] for each in expected]
    for line, each in zip(lines, expected, strict=True):
        assert set(line) == {"utt", "text", "confidence", "mean_confidence", "missing_end", "words", "models"}
        assert all(0 <= word["missing_before"] <= 1 for word in line["words"])
        assert [word["confidence"] for word in line["words"]] == pytest.approx(
            [word["confidence"] for word in each["words"]], abs=1e-4
        )
        assert all(
            {"word", "norm", "start", "end", "confidence", "alternatives"} <= set(word) for word in line["words"]
        )
    printed = scored(run, made, "-")
    assert printed == (tmp_path / "words.jsonl").read_text("utf-8")
    few = scored(run, made, "-", "--alternatives", "1", "--criterion", "mean-silence")
    assert max(len(word["alternatives"]) for line in few.splitlines() for word in json.loads(line)["words"]) == 1


def test_scores_in_every_format_are_the_same_words(made: Path, run: Run, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in scored(run, made, "-").splitlines()]
    words = [(line["utt"], word) for line in lines for word in line["words"]]
    for ending in ("ctm", "vtt", "parquet"):
        scored(run, made, tmp_path / f"words.{ending}")
    ctm = [line.split() for line in (tmp_path / "words.ctm").read_text("utf-8").splitlines()]
    said = [cells for cells in ctm if len(cells) == 6 and not cells[0].startswith(";;")]
    assert [cells[0] for cells in said] == [utt for utt, _ in words]
    assert [float(cells[5]) for cells in said] == pytest.approx([w["confidence"] for _, w in words], abs=1e-3)
    rows = pq.read_table(tmp_path / "words.parquet").to_pylist()
    assert [(row["utt"], row["norm"]) for row in rows] == [(utt, word["norm"]) for utt, word in words]
    vtt = (tmp_path / "words.vtt").read_text("utf-8")
    assert vtt.startswith("WEBVTT")
    assert " --> " in vtt
    assert sorted(path.name for path in tmp_path.iterdir()) == ["words.ctm", "words.parquet", "words.vtt"]


def test_networks_are_scored_like_lattices(made: Path, run: Run) -> None:
    assert run("score", made / "model", made / "networks", "--out", "-") == scored(run, made, "-")


def test_evaluation_has_what_the_design_promises(made: Path, run: Run) -> None:
    found = json.loads(run("evaluate", made / "model", made / "networks", "--json"))
    assert found["utterances"] == 18
    assert set(found["wer"]) >= {"one_best", "best_confidence", "oracle"}
    for population in POPULATIONS:
        assert set(found[population]) >= {"posterior", "confidence"}
        for kind in ("posterior", "confidence"):
            assert set(found[population][kind]) == {"eer", "nce", "auc", "ece"}
    for population in ("gaps", "whole_utterances"):
        assert set(found[population]) - {"mean_confidence"} == {"posterior", "confidence"}
        assert {"rate", "mean", "auc", "nce", "ece", "brier"} <= set(found[population]["confidence"])
    plain = json.loads(run("evaluate", made / "networks", "--json"))
    assert plain["arcs"]["posterior"] == found["arcs"]["posterior"]
    assert "confidence" not in plain["arcs"]
    errors = load_model(made / "model").card.choice_errors_on_dev
    assert found["wer"]["best_confidence"] == pytest.approx(min(errors.values()) / found["words"])
    assert "confidence" in run("evaluate", made / "model", made / "networks")


def test_evaluation_chooses_as_asked(made: Path, run: Run) -> None:
    found = json.loads(run("evaluate", made / "model", made / "networks", "--json", "--criterion", "mean"))
    errors = load_model(made / "model").card.choice_errors_on_dev
    assert found["wer"]["best_confidence"] == pytest.approx(errors["mean"] / found["words"])


def test_the_message_says_what_is_missing(made: Path, run: Run, tmp_path: Path) -> None:
    networks, out = made / "networks", tmp_path / "m"
    assert "--dev STORE" in run("train", networks, "--out", out, code=1)
    assert "--out MODEL" in run("train", networks, "--dev", networks, code=1)
    assert "--out MODEL" in run("train", networks, "--dev", networks, "--out", out, "--pack", out, code=1)
    assert "there is no folder" in run("train", networks, "--dev", networks, "--pack", tmp_path / "no/x", code=1)
    lattices = ["train", LATTICES, "--dev", networks, "--out", out]
    assert "lattices, not networks" in run(*lattices, code=1)
    assert "nowhere" in run("train", tmp_path / "nowhere", "--dev", networks, "--out", out, code=1)
    assert "no feature set" in run("train", networks, "--dev", networks, "--out", out, "--features", "x", code=1)
    assert "epochs lies between" in run("train", networks, "--dev", networks, "--out", out, "--epochs", "0", code=1)
    assert "cannot train on" in run("train", networks, "--dev", networks, "--out", out, "--device", "moon", code=1)
    assert not [path for path in tmp_path.iterdir() if path.name == "m"]


def test_what_is_no_model_is_not_replaced_and_told_before_training(made: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "cat.png").write_bytes(b"cat")
    told = run("train", made / "nowhere", "--dev", made / "networks", "--out", tmp_path, code=1)
    assert "exists and is no model" in told


def test_wrong_paths_of_models_are_told(made: Path, run: Run, tmp_path: Path) -> None:
    assert "nowhere: no model" in run("score", tmp_path / "nowhere", LATTICES, "--out", "-", code=1)
    assert "a store, not a model" in run("score", made / "networks", LATTICES, "--out", "-", code=1)
    assert "is a model or calibrator; name the store" in run("evaluate", made / "model", code=1)
    assert "nowhere" in run("evaluate", tmp_path / "nowhere", made / "networks", code=1)
    assert ".ctm" in run("score", made / "model", LATTICES, "--out", tmp_path / "words.doc", code=1)
    assert not list(tmp_path.iterdir())


def test_another_recognizer_is_refused_unless_allowed(made: Path, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    for file in sorted(Path(SAMPLE / "lattices").glob("flite-slt-0[12].slf.gz")):
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "recognizer.json").write_text('{"name": "someone"}', "utf-8")
    model = tmp_path / "model"
    model.mkdir()
    for file in (made / "model").iterdir():
        (model / file.name).write_bytes(file.read_bytes())
    about = json.loads((model / "model.json").read_text("utf-8"))
    (model / "model.json").write_text(json.dumps(about | {"recognizer": "sphinx"}), "utf-8")
    told = run("score", model, folder, "--out", "-", code=1)
    assert "the model was trained for sphinx" in told
    assert "--allow-mismatch" in told
    assert run("score", model, folder, "--out", "-", "--allow-mismatch").count("\n") == 2


def in_a_process(*words: str | Path, without: str) -> subprocess.CompletedProcess[str]:
    """The command where a module is not installed."""
    code = f"import sys; sys.modules[{without!r}] = None; from wordtrust.cli import main; main()"
    command = [sys.executable, "-c", code, *map(str, words)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def test_training_without_torch_says_how_to_get_it(made: Path, tmp_path: Path) -> None:
    networks = made / "networks"
    done = in_a_process("train", networks, "--dev", networks, "--out", tmp_path / "m", without="torch")
    assert done.returncode == 1
    assert f"training needs torch: {install_command('train')}" in done.stderr
    assert "Traceback" not in done.stderr


def test_scoring_and_evaluating_need_no_torch(made: Path, run: Run) -> None:
    done = in_a_process("score", made / "model", LATTICES, "--out", "-", without="torch")
    assert done.stdout == scored(run, made, "-")
    done = in_a_process("evaluate", made / "model", made / "networks", "--json", without="torch")
    assert json.loads(done.stdout) == json.loads(run("evaluate", made / "model", made / "networks", "--json"))
