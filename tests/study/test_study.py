"""`wordtrust study` end to end on made-up recognizers: tables, resuming, blind splits, what it says of bad data."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import wordtrust as wt
from tests.helpers.study_data import train_in_this_process, write_data
from wordtrust.base.errors import WordtrustError
from wordtrust.cli import cli
from wordtrust.combination.combination_file import FittedCombination
from wordtrust.confidence.choice import Choice
from wordtrust.evaluation.evaluation import evaluate_networks
from wordtrust.study.baselines import Baselines
from wordtrust.training.study_training import StudyTraining

pytestmark = pytest.mark.slow

pytest.importorskip("torch", reason="needs the extra `train`")
CHANCES = {"alpha": 0.35, "beta": 0.45, "gamma": 0.25}  # the best is not the first
TINY = ("--epochs", "1", "--state", "4", "--jobs", "1")


def run(*words: object) -> Result:
    done = CliRunner().invoke(cli, [str(word) for word in words])
    if done.exception and not isinstance(done.exception, (SystemExit, WordtrustError)):
        raise done.exception
    return done


def ran(*words: object) -> Result:
    done = run(*words)
    assert done.exit_code == 0, done.exception
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `data` and a finished study of it in `out`."""
    folder = tmp_path_factory.mktemp("study")
    write_data(folder / "data", CHANCES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StudyTraining, "run", train_in_this_process)
        done = ran("study", folder / "data", "--out", folder / "out", *TINY, "--json")
    (folder / "printed.json").write_text(done.stdout, "utf-8")
    (folder / "told.txt").write_text(done.stderr, "utf-8")
    return folder


@pytest.fixture(scope="module")
def study(made: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made / "printed.json").read_text("utf-8"))
    return found


def test_json_is_what_the_design_promises(made: Path, study: dict[str, Any]) -> None:
    assert json.loads((made / "out" / "study.json").read_text("utf-8")) == study
    assert set(study["recognizers"]) == set(CHANCES)
    for found in study["recognizers"].values():
        assert {"one_best", "tuned_one_best", "tuned_mbr", "best_confidence", "oracle"} <= set(found["wer"])
        for population in ("arcs", "arcs_paper", "one_best", "output"):
            kinds = found[population]
            assert {"posterior", "calibrated_posterior", "confidence", "calibrated"} <= set(kinds)
            assert all({"eer", "nce", "auc", "ece"} == set(each) for each in kinds.values())
    pairs = [frozenset(CHANCES) - {name} for name in CHANCES]
    assert {frozenset(each["members"]) for each in study["subsets"]} == {*pairs, frozenset(CHANCES)}
    for subset in study["subsets"]:
        assert {"best_member", "best_member_one_best", "raw", "calibrated", "rover", "joint", "oracle"} <= set(subset)
    for way in ("raw", "calibrated", "rover", "joint"):
        assert study["better"][way] + study["equal"][way] + study["worse"][way] == 4
        assert 0 <= study["none_worse"][way] <= 1


@pytest.mark.filterwarnings("ignore:the generic model heard")
def test_there_is_a_model_for_other_recognizers(made: Path) -> None:
    scorer = wt.load(made / "out" / "models" / "generic")
    assert scorer.model.is_generic
    assert scorer.calibration is not None
    known = scorer.model.card.to_json()["calibrated_on"]
    assert (known["utterances"], known["recognizers"], len(known["speakers"])) == (72, 3, 6)  # all of dev
    transcripts = scorer(wt.read(made / "data" / "beta" / "eval.jsonl"))
    assert all(0 <= word.confidence <= 1 for each in transcripts for word in each.words)


def test_the_calibrated_posterior_is_that_of_the_baselines(made: Path, study: dict[str, Any]) -> None:
    """A model's own is fitted with all that it was trained on, broken outputs included: too weak a rival."""
    models, work = made / "out" / "models", made / "out" / "work"
    for name in CHANCES:
        judge = Baselines.load(models / name / "baselines.json").judge
        alone = evaluate_networks([wt.read(work / name / "eval")], judge, Choice("mean").paths).to_dict()
        for population in ("arcs", "one_best"):
            for kind in ("calibrated_posterior", "logistic"):
                assert study["recognizers"][name][population][kind] == pytest.approx(alone[population][kind])


def test_figures_are_those_of_the_single_commands(made: Path, study: dict[str, Any]) -> None:
    """Two ways to the same numbers: `evaluate` and `combine` on the study's own stores and models."""
    out = made / "out"
    for name in CHANCES:
        alone = json.loads(ran("evaluate", out / "models" / name, out / "work" / name / "eval", "--json").stdout)
        assert study["recognizers"][name]["wer"] == pytest.approx(alone["wer"])
        for population in ("arcs", "arcs_paper", "one_best", "output"):
            for kind, values in alone[population].items():
                if kind != "calibrated_posterior":  # a baseline of the study, fitted for it
                    assert study["recognizers"][name][population][kind] == pytest.approx(values)
    assert list(CHANCES) != list(
        FittedCombination.load(out / "models" / "joint").order
    )  # so numbers cannot be mixed up unseen
    together = next(each["joint"] for each in study["subsets"] if len(each["members"]) == 3)
    assert study["joint_of_all"]["errors"]["wer"] == pytest.approx(together)
    systems = [f"{name}={out / 'models' / name},{out / 'work' / name / 'eval'}" for name in CHANCES]
    joined = json.loads(ran("combine", *systems, "--subsets", "--joint", out / "models" / "joint", "--json").stdout)
    same = {frozenset(each["members"]): each for each in joined["subsets"]}
    for each in study["subsets"]:
        other = same[frozenset(each["members"])]
        assert {key: value for key, value in each.items() if key != "members"} == pytest.approx(
            {key: value for key, value in other.items() if key != "members"}
        )


def test_best_member_and_counts_follow_from_the_rates(study: dict[str, Any]) -> None:
    counts = {
        kind: dict.fromkeys(("raw", "calibrated", "rover", "joint"), 0) for kind in ("better", "equal", "worse")
    }
    for subset in study["subsets"]:
        rates = [study["recognizers"][name]["wer"] for name in subset["members"]]
        assert subset["best_member"] == pytest.approx(min(each["best_confidence"] for each in rates))
        assert subset["best_member_one_best"] == pytest.approx(min(each["one_best"] for each in rates))
        for way in counts["better"]:
            sign = (subset[way] > subset["best_member"]) - (subset[way] < subset["best_member"])
            counts[("equal", "worse", "better")[sign]][way] += 1
    for kind, by_way in counts.items():
        assert {way: study[kind][way] for way in by_way} == by_way


def test_fold_models_and_only_they_choose(made: Path) -> None:
    """What was chosen comes from all speakers of train and dev, and from no speaker of eval."""
    about = json.loads((made / "out" / "models" / "alpha" / "model.json").read_text("utf-8"))
    assert about["calibrated_on"]["utterances"] == 4 * (10 + 6)
    assert len(about["calibrated_on"]["speakers"]) == 16
    assert set(about["calibration"]) == {"arcs", "words", "posterior_arcs", "posterior_words", "utterances"}
    for fold in range(4):
        training = json.loads((made / "out" / "work" / "trained" / f"alpha-fold-{fold}" / "model.json").read_text())
        assert (training["training"]["folds"], training["training"]["fold"]) == (4, fold)


def test_text_and_page(made: Path, study: dict[str, Any]) -> None:
    text = (made / "out" / "results.md").read_text("utf-8")
    rate = 100 * study["recognizers"]["alpha"]["wer"]["best_confidence"]
    row = next(line for line in text.partition("## Table 2")[2].splitlines() if line.startswith("| alpha"))
    assert f" {rate:.2f} " in row
    for title in ("Table 1", "Table 2", "Table 3", "Words repaired"):
        assert f"## {title}" in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.count("|") > 3
    page = (made / "out" / "report.html").read_text("utf-8")
    assert "Content-Security-Policy" in page
    assert f"<td>{rate:.2f}</td>" in page
    assert page.count("<svg viewBox") >= 4  # errors, reliability of each recognizer, subsets
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_terminal_output_fits_a_hundred_columns(made: Path) -> None:
    done = ran("study", made / "data", "--out", made / "out", *TINY)
    assert "alpha" in done.stdout
    assert "joint network" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 100
    assert not [line for line in done.stderr.splitlines() if line.endswith(" ...")]  # nothing was done again


def test_seconds_of_every_step(study: dict[str, Any]) -> None:
    steps = study["seconds"]
    assert {"training", "combination", "combination on eval", "alpha: scales", "beta: final model"} <= set(steps)
    assert all(value >= 0 for value in steps.values())


def test_an_interrupted_study_goes_on(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the middle of finishing: what was done stays as it is, and the figures are the same in the end."""
    from wordtrust.study import StudyOptions, fitting, run_study
    from wordtrust.study.final_model import write_final_model as whole

    shutil.copytree(made / "out" / "work" / "trained", tmp_path / "out" / "work" / "trained")
    calls: list[Any] = []

    def stopping(*given: Any) -> None:
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        whole(*given)

    monkeypatch.setattr(fitting, "write_final_model", stopping)
    command = ("study", made / "data", "--out", tmp_path / "out", *TINY, "--json")
    with pytest.raises(KeyboardInterrupt):
        run_study(made / "data", tmp_path / "out", StudyOptions(jobs=1))
    assert (tmp_path / "out" / "models" / "alpha").is_dir()
    assert not (tmp_path / "out" / "models" / "beta").exists()
    before = (tmp_path / "out" / "models" / "alpha" / "model.json").stat().st_mtime_ns
    again = ran(*command)
    assert "alpha: final model" not in again.stderr
    assert "beta: final model" in again.stderr
    assert (tmp_path / "out" / "models" / "alpha" / "model.json").stat().st_mtime_ns == before
    first = json.loads((made / "printed.json").read_text("utf-8"))
    found = json.loads(again.stdout)
    assert found["recognizers"] == first["recognizers"]
    assert found["subsets"] == first["subsets"]


def test_joint_subsets_that_were_counted_are_not_counted_again(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wordtrust.study import combination

    (made / "out" / "work" / "results" / "eval-together.json").unlink()
    monkeypatch.setattr(combination, "joint_errors", lambda *_, **__: pytest.fail("counted again"))
    found = json.loads(ran("study", made / "data", "--out", made / "out", *TINY, "--json").stdout)
    assert found["subsets"] == json.loads((made / "printed.json").read_text("utf-8"))["subsets"]


def blind_data(made: Path, folder: Path, *names: str) -> Path:
    """The same utterances as a split that lies alone, under another name."""
    for name in names:
        (folder / name).mkdir(parents=True)
        shutil.copy(made / "data" / name / "recognizer.json", folder / name)
        shutil.copy(made / "data" / name / "eval.jsonl", folder / name / "blind.jsonl")
    head, *rows = (made / "data" / "refs.tsv").read_text("utf-8").splitlines()
    kept = [row.replace("\teval\t", "\tblind\t") for row in rows if "\teval\t" in row]
    (folder / "refs.tsv").write_text("\n".join([head, *kept]) + "\n", "utf-8")
    return folder


def test_an_utterance_that_one_recognizer_lacks_is_left_out_of_the_combination(made: Path, tmp_path: Path) -> None:
    data = blind_data(made, tmp_path / "data", "alpha", "beta")
    path = data / "beta" / "blind.jsonl"
    path.write_text("\n".join(path.read_text("utf-8").splitlines()[1:]) + "\n", "utf-8")
    command = ("study", data, "--out", tmp_path / "out", "--test", "blind", "--models", made / "out" / "models")
    done = ran(*command, "--json")
    found = json.loads(done.stdout)
    assert "beta: 1 of 24 references of blind have no output" in done.stderr
    assert [found["recognizers"][name]["utterances"] for name in ("alpha", "beta")] == [24, 23]
    assert found["utterances"] == 23


def test_bad_utterances_are_skipped_when_asked(made: Path, tmp_path: Path) -> None:
    data = blind_data(made, tmp_path / "data", "alpha")
    path = data / "alpha" / "blind.jsonl"
    path.write_text(
        '{"utt": "stranger", "nbest": [{"score": -1, "text": "one"}]}\n' + path.read_text("utf-8"), "utf-8"
    )
    command = ("study", data, "--out", tmp_path / "out", "--test", "blind", "--models", made / "out" / "models")
    assert "utterance stranger" in str(run(*command).exception)
    done = ran(*command, "--skip-bad", "--json")
    assert "skipped" in done.stderr
    assert json.loads(done.stdout)["recognizers"]["alpha"]["utterances"] == 24


def test_a_blind_split_gets_the_same_figures(made: Path, study: dict[str, Any], tmp_path: Path) -> None:
    data = blind_data(made, tmp_path / "data", *CHANCES)
    models = made / "out" / "models"
    before = {path: path.stat().st_mtime_ns for path in models.rglob("*")}
    done = ran("study", data, "--out", tmp_path / "out", "--test", "blind", "--models", models, "--json")
    found = json.loads(done.stdout)
    assert found["recognizers"] == study["recognizers"]
    for key in ("subsets", "better", "equal", "worse", "none_worse"):
        assert found[key] == study[key]
    assert {path: path.stat().st_mtime_ns for path in models.rglob("*")} == before
    assert not (tmp_path / "out" / "models").exists()


def test_a_blind_split_of_one_recognizer(made: Path, study: dict[str, Any], tmp_path: Path) -> None:
    data = blind_data(made, tmp_path / "data", "alpha")
    command = ("study", data, "--out", tmp_path / "out", "--test", "blind", "--models", made / "out" / "models")
    found = json.loads(ran(*command, "--json").stdout)
    assert found["recognizers"] == {"alpha": study["recognizers"]["alpha"]}
    assert (found["subsets"], found["better"], found["equal"], found["worse"]) == ([], {}, {}, {})
    assert "Table 3" not in (tmp_path / "out" / "results.md").read_text("utf-8")
    assert "joint" not in ran(*command).stdout


def test_without_a_fitted_combination_the_rest_is_there(made: Path, tmp_path: Path) -> None:
    data = blind_data(made, tmp_path / "data", "alpha", "beta")
    models = tmp_path / "models"
    for name in ("alpha", "beta"):
        shutil.copytree(made / "out" / "models" / name, models / name)
    done = ran("study", data, "--out", tmp_path / "out", "--test", "blind", "--models", models, "--json")
    assert "left out" in done.stderr
    found = json.loads(done.stdout)
    assert {"raw", "calibrated", "rover"} <= set(found["subsets"][0])
    assert "joint" not in found["subsets"][0]


def test_a_blind_split_needs_no_torch(made: Path, tmp_path: Path) -> None:
    data = blind_data(made, tmp_path / "data", "alpha", "beta")
    words = [
        "study",
        data,
        "--out",
        tmp_path / "out",
        "--test",
        "blind",
        "--models",
        made / "out" / "models",
        "--json",
    ]
    code = (
        "import sys\nfrom wordtrust.cli import cli\n"
        f"cli.main({[str(word) for word in words]!r}, standalone_mode=False)\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_recognizers_without_a_model_are_left_out(made: Path, tmp_path: Path) -> None:
    data = blind_data(made, tmp_path / "data", "alpha", "beta")
    models = tmp_path / "models"
    shutil.copytree(made / "out" / "models" / "alpha", models / "alpha")
    command = ("study", data, "--out", tmp_path / "out", "--test", "blind", "--models", models)
    done = ran(*command, "--json")
    assert "no model for them: beta" in done.stderr
    assert set(json.loads(done.stdout)["recognizers"]) == {"alpha"}
    assert "no model for beta" in str(run(*command, "--recognizers", "alpha,beta").exception)


def test_models_made_from_other_data_are_not_taken_for_these(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "out", tmp_path / "out")
    write_data(tmp_path / "data", CHANCES, seed=1)
    done = run("study", tmp_path / "data", "--out", tmp_path / "out", *TINY)
    assert "made from other data" in str(done.exception)


def test_the_papers_system_on_top(made: Path, tmp_path: Path) -> None:
    """Added to a study that is done: the rest is not done again, and a blind split has it too."""
    shutil.copytree(made / "out", tmp_path / "out")
    done = ran("study", made / "data", "--out", tmp_path / "out", *TINY, "--paper", "--json")
    assert "combination ..." not in done.stderr
    assert "alpha: final model" not in done.stderr
    found = json.loads(done.stdout)
    for name in CHANCES:
        paper = found["recognizers"][name]["paper"]
        assert paper["wer"]["one_best"] == found["recognizers"][name]["wer"]["one_best"]
        assert {"posterior", "confidence", "calibrated", "calibrated_out_of_fold"} == set(paper["arcs_paper"])
        assert paper["output"]["calibrated"] != paper["output"]["calibrated_out_of_fold"]
    assert set(found["paper"]["subsets"][0]) >= {"raw", "calibrated", "calibrated_out_of_fold", "best_member"}
    results = (tmp_path / "out" / "results.md").read_text("utf-8")
    assert "The paper's system, table 4: subsets" in results
    assert "the same, calibrated out of fold" in results
    data = blind_data(made, tmp_path / "blind", *CHANCES)
    command = ("study", data, "--out", tmp_path / "b", "--test", "blind", "--models", tmp_path / "out" / "models")
    again = json.loads(ran(*command, "--json").stdout)
    assert again["recognizers"] == found["recognizers"]
    assert again["paper"] == found["paper"]


def test_what_training_is_asked_for(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[StudyTraining] = []

    def train(training: StudyTraining, _: Any) -> None:
        asked.append(training)
        raise KeyboardInterrupt

    monkeypatch.setattr(StudyTraining, "run", train)
    command = ["study", made / "data", "--out", tmp_path / "out", "--epochs", "3", "--device", "cpu"]
    CliRunner().invoke(cli, [str(word) for word in command])
    [training] = asked
    assert training.packs == {name: tmp_path / "out" / "work" / f"{name}.pack" for name in CHANCES}
    assert all(pack.is_file() for pack in training.packs.values())
    assert training.out == tmp_path / "out" / "work" / "trained"
    assert (training.folds, training.options.epochs, training.device) == (4, 3, "cpu")


def test_packs_for_another_machine(made: Path, tmp_path: Path) -> None:
    from wordtrust.training.dataset import read_pack

    lexicon = tmp_path / "cmudict.dict"
    lexicon.write_text("red R EH D\ngreen G R IY N\nblue B L UW UW\n")
    command = [
        "study",
        made / "data",
        "--out",
        tmp_path / "out",
        "--recognizers",
        "beta",
        "--paper",
        "--lexicon",
        lexicon,
    ]
    done = ran(*command, "--until", "packs")
    assert done.stdout == ""
    assert "beta: phones of 3 of 20 words that were heard" in done.stderr
    for pack in ("beta.pack", "paper/beta.pack"):
        data = read_pack(tmp_path / "out" / "work" / pack)
        assert len(data.train) == 40
        counts = data.table.phones_of(["blue", "white"], data.table.rows(["blue", "white"]))
        assert counts.tolist() == [4, 3]  # of the lexicon, and estimated
    assert data.card.features == "paper"
    assert not (tmp_path / "out" / "work" / "alpha.pack").exists()


def test_scales_of_an_earlier_study(made: Path, tmp_path: Path) -> None:
    command = ["study", made / "data", "--recognizers", "beta", "--until", "networks"]
    ran(*command, "--out", tmp_path / "first")
    tuned = tmp_path / "first" / "work" / "beta" / "scales.json"
    scales = json.loads(tuned.read_text())
    scales["posterior"]["acoustic"] = 0.125
    tuned.write_text(json.dumps(scales))
    done = ran(*command, "--out", tmp_path / "second", "--baselines", tmp_path / "first")
    assert "tuning" not in done.stderr
    assert json.loads((tmp_path / "second" / "work" / "beta" / "scales.json").read_text()) == scales
    from wordtrust.study.fitting import Fitting
    from wordtrust.study.layout import Corpus, StudyFolder, StudyOptions
    from wordtrust.study.steps import Steps
    from wordtrust.study.stores import StoreBuilder

    for baselines, folder in ((None, "second"), (tmp_path / "first", "first")):
        out, steps = StudyFolder(tmp_path / "second"), Steps(tmp_path / "steps.json", print)
        maker = StoreBuilder(Corpus(made / "data", ("beta",)), out, steps)
        fitting = Fitting(("beta",), out, StudyOptions(baselines=baselines), steps, maker)
        stores = tmp_path / folder / "work" / "beta"
        assert fitting._plain_stores("beta") == (str(stores / "train"), str(stores / "dev"))
    lost = run(*command, "--out", tmp_path / "third", "--baselines", tmp_path / "nowhere")
    assert "scales.json" in str(lost.exception)


@pytest.mark.parametrize(
    ("spoil", "more", "said"),
    [
        (None, ("--recognizers", "alpha,delta"), "no recognizer 'delta', but: alpha, beta, gamma"),
        (lambda data: (data / "beta" / "dev.jsonl").unlink(), (), "no file of the split 'dev'"),
        (None, ("--test", "blind"), "no split 'blind', but: dev, eval, train"),
        (lambda data: (data / "refs.tsv").unlink(), (), "there is no refs.tsv"),
        (shutil.rmtree, (), "there is no such folder"),
        (lambda data: [each.unlink() for each in data.glob("*/recognizer.json")], (), "no recognizer is in it"),
        (None, ("--vectors", "nowhere.txt"), "no such file of word vectors"),
        (None, ("--models", "nowhere"), "no such folder of models"),
        (None, ("--lexicon", "nowhere.dict"), "no such lexicon"),
        (None, ("--test", "../eval"), "--test names a split"),
        (lambda data: (data / "alpha").rename(data / "joint"), (), "no recognizer can be called"),
    ],
)  # fmt: skip
def test_what_is_missing_is_said_at_once(
    made: Path, tmp_path: Path, spoil: Any, more: tuple[str, ...], said: str
) -> None:
    shutil.copytree(made / "data", tmp_path / "data")
    if spoil:
        spoil(tmp_path / "data")
    chosen = () if "--models" in more else TINY  # one trains nothing, the other says how
    done = run("study", tmp_path / "data", "--out", tmp_path / "out", *chosen, *more)
    assert isinstance(done.exception, WordtrustError)
    assert said in str(done.exception)
    assert not (tmp_path / "out" / "models").exists()


def test_an_utterance_without_reference_is_named(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "data", tmp_path / "data")
    refs = tmp_path / "data" / "refs.tsv"
    kept = [line for line in refs.read_text("utf-8").splitlines() if not line.startswith("dev-0-0")]
    refs.write_text("\n".join(kept) + "\n", "utf-8")
    done = run("study", tmp_path / "data", "--out", tmp_path / "out", *TINY)
    assert "utterance dev-0-0: there is no reference" in str(done.exception)
