"""Ablations: nothing chosen in-sample, runs that are kept one by one, and a run from lattices to the table."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.ablation_measures import crossed, error_rates, is_in_first_half, measure, runs_markdown
from experiments.ablation_variants import OPTIONS, VARIANTS, NetworkBuild, Variant, variants_of
from experiments.ablations import RUNS, TABLE, AblationData, keep_run, main, of_speakers, read_runs
from hypothesis import given
from hypothesis import strategies as st

from experiments import ablation_variants, ablations
from tests.helpers.made_models import SAMPLE, made_model, sample_networks, write_networks
from wordtrust.base.errors import OptionError
from wordtrust.base.folds import speaker_id
from wordtrust.confidence.calibrate_model import OutOfFoldScorer
from wordtrust.confidence.choice import Choice
from wordtrust.confidence.word_scorer import WordScorer
from wordtrust.evaluation.evaluation import evaluate_networks, path_errors
from wordtrust.evaluation.metrics import SpeakerErrors
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.weights import Scales
from wordtrust.networks.align import align_all
from wordtrust.networks.tuned_scales import TunedScales
from wordtrust.study.layout import Corpus
from wordtrust.training.options import TrainOptions

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def networks() -> Lattices:
    return sample_networks("sphinx")


def _halves() -> tuple[str, str]:
    """A speaker of each half."""
    names = [f"speaker {number}" for number in range(20)]
    return next(filter(is_in_first_half, names)), next(name for name in names if not is_in_first_half(name))


def _errors(first: int, second: int) -> SpeakerErrors:
    """So many words of ten wrong, of a speaker of each half."""
    said = [["a"] * 10] * 2
    heard = [["x"] * wrong + ["a"] * (10 - wrong) for wrong in (first, second)]
    return SpeakerErrors.of(align_all(said, heard), _halves())


def test_each_half_gets_what_is_best_on_the_other() -> None:
    # The first is best on the first half, the third on the second: 5 errors there, 7 here. In-sample it were 1 + 2.
    assert crossed([_errors(1, 5), _errors(4, 4), _errors(7, 2)]) == 7 + 5
    assert crossed([_errors(3, 3), _errors(3, 3)]) == 6
    assert crossed([_errors(1, 2)]) == 3


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=5))
def test_what_is_chosen_on_others_is_never_better_than_in_hindsight(wrong: list[tuple[int, int]]) -> None:
    tried = [_errors(*each) for each in wrong]
    least = min(each[0] for each in wrong) + min(each[1] for each in wrong)
    assert least <= crossed(tried) <= sum(map(max, zip(*wrong, strict=True)))


def test_criteria_have_their_own_error_rates() -> None:
    found = error_rates(
        {
            Choice("mean"): _errors(4, 4),
            Choice("mean-silence"): _errors(3, 3),
            Choice("gain", 0.1): _errors(1, 5),
            Choice("gain", 0.2): _errors(7, 2),
        }
    )
    assert found == {"mean": 0.4, "mean-silence": 0.3, "gain": 0.6, "chosen": 0.6}


def test_measures_are_those_of_the_evaluation(networks: Lattices) -> None:
    scorer = WordScorer(made_model(networks))
    found = measure(scorer.confidence, [networks[:20], networks[20:]])
    whole = evaluate_networks([networks], OutOfFoldScorer(scorer).arc_confidences).to_dict()
    for population in ("arcs", "arcs_paper", "one_best"):
        for name in ("eer", "nce"):
            assert found[population][name] == pytest.approx(whole[population]["confidence"][name], abs=1e-9)
    words = whole["words"]
    confidence = scorer.confidence(networks)
    for criterion in ("mean", "mean-silence"):
        errors = path_errors(networks, Choice(criterion).paths(networks, confidence))
        assert found["wer"][criterion] == pytest.approx(errors / words)
    assert found["wer"]["oracle"] == pytest.approx(whole["wer"]["oracle"])
    assert found["wer"]["one_best"] == pytest.approx(whole["wer"]["one_best"])


def test_fewer_speakers_are_among_more(networks: Lattices) -> None:
    names = [f"speaker {number}" for number in range(len(networks))]
    named = replace(networks, notes={**networks.notes, "speaker": tuple(names)})
    kept: list[set[str]] = []
    for eighths in (1, 2, 4, 8):
        utts = [utt for batch in of_speakers(iter([named[:10], named[10:]]), eighths) for utt in batch.utts]
        expected = [u for u, n in zip(named.utts, names, strict=True) if speaker_id(n) % 8 < eighths]
        assert utts == expected
        kept.append(set(utts))
    assert kept[0] < kept[1] < kept[2] < kept[3] == set(named.utts)


def test_a_line_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    assert read_runs(path) == []
    line = {"recognizer": "r", "variant": "v", "seed": 0, "wer": {"mean": 0.1}}
    keep_run(path, line)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"recognizer": "r", "var')  # killed here
    keep_run(path, {**line, "seed": 1})
    path.write_text(path.read_text("utf-8") + "[1]\n{}\nnull\n", "utf-8")
    assert read_runs(path) == [line, {**line, "seed": 1}]


def test_the_table_has_means_and_spreads() -> None:
    def run(seed: int, wer: float, nce: float | None, variant: str = "paper") -> dict[str, Any]:
        return {"recognizer": "r", "variant": variant, "seed": seed, "wer": {"mean": wer}, "arcs": {"nce": nce}}

    found = runs_markdown([run(0, 0.10, 0.5), run(1, 0.12, 0.7), run(2, 0.14, None), run(0, 0.2, None, "other")])
    lines = [line for line in found.splitlines() if line.startswith(("| paper", "| other"))]
    assert lines[0] == "| paper | 3 |  | 0.6000 ± 0.1414 |  |  |  |  | 12.00 ± 2.00 |  |  |"
    assert lines[1] == "| other | 1 |  |  |  |  |  |  | 20.00 |  |  |"


def test_variants_have_names_of_their_own_and_change_something() -> None:
    assert len({each.name for each in VARIANTS}) == len(VARIANTS)
    assert len({repr(replace(each, name="")) for each in VARIANTS}) == len(VARIANTS)
    assert VARIANTS[0].options(7) == replace(OPTIONS, seed=7)
    assert [each.name for each in variants_of(["paper"])] == ["paper"]
    assert NetworkBuild(0.05, tuned=False).name == "untuned-pushed-50ms"
    with pytest.raises(OptionError, match="no variant 'other'"):
        variants_of(["other"])


def test_the_curve_of_the_default_ends_at_the_default() -> None:
    known = {each.name: each for each in VARIANTS}
    for whole in ("paper", "all, head: normalised"):
        prefix = "" if whole == "paper" else f"{whole}, "
        for eighths in (1, 2, 4):
            part = known[f"{prefix}training: {eighths}/8"]
            assert part.eighths == eighths
            assert replace(part, eighths=8, name=whole) == known[whole]
    assert known["all, head: normalised"].options(0).head == TrainOptions().head


def _data(folder: Path) -> Path:
    """The bundled sample, laid out as data of a study, some of it."""
    rows = (SAMPLE / "ref.tsv").read_text("utf-8").splitlines()
    kept = [f"{rows[0]}\tsplit"]
    for number, row in enumerate(rows[1:25]):
        utt, split = row.split("\t")[0], "dev" if number % 3 == 0 else "train"
        (folder / "sphinx" / split).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(SAMPLE / "lattices" / f"{utt}.slf.gz", folder / "sphinx" / split / f"{utt}.slf.gz")
        kept.append(f"{row}\t{split}")
    (folder / "sphinx" / "recognizer.json").write_text('{"format": "htk"}', "utf-8")
    (folder / "refs.tsv").write_text("\n".join(kept) + "\n", "utf-8")
    return folder


def test_from_lattices_to_the_table_and_on_from_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out, scales = _data(tmp_path / "data"), tmp_path / "out", Scales()
    (tmp_path / "work" / "sphinx").mkdir(parents=True)
    TunedScales(scales, scales, scales, {}).save(tmp_path / "work" / "sphinx" / "scales.json")
    small = replace(OPTIONS, state=3, hidden=2, dimension=2, buckets=16, epochs=1)
    monkeypatch.setattr(ablation_variants, "OPTIONS", small)
    arguments = [
        str(data), "--out", str(out), "--work", str(tmp_path / "work"), "--seeds", "0,1",
        "--variants", "paper", "--variants", "head: normalised", "--variants", "tolerance: 50 ms",
        "--variants", "training: 4/8",
    ]  # fmt: skip
    assert main([*arguments[:-2], "--seeds", "0"]) == 0
    runs = read_runs(out / RUNS)
    assert [run["variant"] for run in runs] == ["paper", "head: normalised", "tolerance: 50 ms"]
    assert all(0 <= run["wer"]["gain"] < 2 for run in runs)
    assert all(run["arcs_paper"]["nce"] == pytest.approx(run["training"]["dev_nce"], abs=1e-3) for run in runs)
    assert (runs[0]["utterances"], runs[0]["options"]["state"]) == (16, 3)
    assert not any((out / "running").iterdir())
    before = (out / RUNS).read_text("utf-8")
    assert main(arguments) == 0
    after = (out / RUNS).read_text("utf-8")
    assert after.startswith(before)  # what was done stays and is not done again
    done = [(run["variant"], run["seed"]) for run in read_runs(out / RUNS)]
    assert sorted(done) == sorted((name, seed) for name in arguments[8::2] for seed in (0, 1))
    part = next(run for run in read_runs(out / RUNS) if run["variant"] == "training: 4/8")
    assert 0 < part["utterances"] < 16
    assert "| tolerance: 50 ms | 2 |" in (out / TABLE).read_text("utf-8")


def _fake_run(data: AblationData, recognizer: str, variant: Variant, seed: int, tell: object) -> dict[str, Any]:
    del tell
    return {
        "recognizer": recognizer, "variant": variant.name, "seed": seed, "wer": {"mean": 0.1}, "seconds": 1,
        "key": data.key(recognizer, variant),
    }  # fmt: skip


def test_runs_of_other_options_or_data_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out = _data(tmp_path / "data"), tmp_path / "out"
    monkeypatch.setattr(ablations, "run", _fake_run)
    arguments = [str(data), "--out", str(out), "--seeds", "0", "--variants", "paper"]
    for options, lines in ((OPTIONS, 1), (OPTIONS, 1), (replace(OPTIONS, epochs=3), 2), (OPTIONS, 2)):
        monkeypatch.setattr(ablation_variants, "OPTIONS", options)
        assert main(arguments) == 0
        assert len(read_runs(out / RUNS)) == lines
    assert main([*arguments, "--variants", "all"]) == 0
    shown = (out / TABLE).read_text("utf-8")
    assert "| paper | 1 |" in shown  # not the mean of two that are not the same
    assert "| all | 1 |" in shown
    (data / "refs.tsv").write_text((data / "refs.tsv").read_text("utf-8") + "more\tx\tdev\n", "utf-8")
    assert main(arguments) == 0
    assert len(read_runs(out / RUNS)) == 4
    assert "| all |" not in (out / TABLE).read_text("utf-8")  # of other data


def test_networks_of_other_data_are_not_used(tmp_path: Path) -> None:
    data = _data(tmp_path / "data")
    own, how = AblationData(Corpus.of(data), tmp_path / "out"), NetworkBuild(tuned=False)
    store = Path(own.networks("sphinx", how, "dev"))
    made = store.stat().st_mtime_ns
    assert Path(own.networks("sphinx", how, "dev")).stat().st_mtime_ns == made  # not made again
    (data / "refs.tsv").write_text((data / "refs.tsv").read_text("utf-8") + "more\tx\tdev\n", "utf-8")
    with pytest.raises(OptionError, match="made from other data; delete"):
        AblationData(Corpus.of(data), tmp_path / "out").networks("sphinx", how, "dev")


def test_runs_without_a_key_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, out = _data(tmp_path / "data"), tmp_path / "out"
    monkeypatch.setattr(ablations, "run", _fake_run)
    out.mkdir()
    for variant in ("paper", "of long ago"):
        keep_run(out / RUNS, {"recognizer": "sphinx", "variant": variant, "seed": 0, "wer": {"mean": 0.2}})
    assert main([str(data), "--out", str(out), "--seeds", "0,1", "--variants", "paper"]) == 0
    assert [(run["variant"], run["seed"]) for run in read_runs(out / RUNS)][2:] == [("paper", 1)]
    assert "| of long ago | 1 |" in (out / TABLE).read_text("utf-8")


def test_a_mistake_in_training_is_not_taken_for_wrong_seeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> None:
        raise ValueError("shapes do not fit")

    monkeypatch.setattr(ablations, "run", run)
    with pytest.raises(ValueError, match="shapes do not fit"):
        main([str(_data(tmp_path / "data")), "--out", str(tmp_path / "out"), "--variants", "paper"])


def test_what_cannot_be_done_is_told_and_the_rest_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = _data(tmp_path / "data")
    monkeypatch.setattr(AblationData, "is_distinct", lambda *_: True)

    def run(_: object, recognizer: str, variant: Variant, seed: int, tell: object) -> dict[str, Any]:
        del tell
        if variant.name == "paper":
            raise OptionError("no such thing")
        return {"recognizer": recognizer, "variant": variant.name, "seed": seed, "wer": {}, "seconds": 1}

    monkeypatch.setattr(ablations, "run", run)
    out = tmp_path / "out"
    arguments = [str(data), "--out", str(out), "--seeds", "0", "--variants", "paper", "--variants", "all"]
    assert main(arguments) == 1
    assert "no such thing" in capsys.readouterr().err
    assert [json.loads(line)["variant"] for line in (out / RUNS).read_text("utf-8").splitlines()] == ["all"]


@pytest.mark.parametrize("wrong", [["--seeds", "x"], ["--recognizers", "nobody"], ["--variants", "other"]])
def test_wrong_options_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: list[str]) -> None:
    assert main([str(_data(tmp_path / "data")), "--out", str(tmp_path / "out"), *wrong]) == 1
    assert wrong[1] in capsys.readouterr().err


def test_nothing_is_pushed_where_there_is_nothing_to_push(tmp_path: Path, networks: Lattices) -> None:
    unpushed = next(each for each in VARIANTS if not each.networks.push)
    zeros = np.zeros(len(networks.word), np.float32)
    for name, known in (("with", replace(networks, transition=zeros)), ("without", networks)):
        (tmp_path / name / "r").mkdir(parents=True)
        write_networks(tmp_path / name / "r" / "dev", known)
        own = AblationData(Corpus(tmp_path, ("r",)), tmp_path / "out", tmp_path / name)
        assert own.is_distinct("r", unpushed) is (name == "with")
        assert own.is_distinct("r", VARIANTS[0])
