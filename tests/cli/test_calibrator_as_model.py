"""The file of a calibrator works wherever a model does, for words that came with confidences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.command_line import refused, run
from tests.helpers.made_models import SAMPLE
from wordtrust import build
from wordtrust.base.errors import InputError, OptionError
from wordtrust.cli import cli
from wordtrust.confidence.calibrate_scores import CalibratedWords
from wordtrust.confidence.calibrator_file import load_calibrator
from wordtrust.recognizers import RecognizerIdentity
from wordtrust.recognizers.serialization import to_lattice
from wordtrust.transcription.online_scorer import OnlineCombiner
from wordtrust.transcripts.reader import read_transcripts

CORPUS = SAMPLE / "corpus"
RECORD = """{"nbest": [
{"score": -1.0, "words": [{"word": "Good", "start": 0.1, "end": 0.5}, {"word": "day.", "start": 0.5, "end": 1.2}]},
{"score": -2.0, "words": [{"word": "Good", "start": 0.1, "end": 0.5}, {"word": "They.", "start": 0.5, "end": 1.2}]}
]}""".replace("\n", "")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Words that are surer than they should be, of ten speakers, with references and a calibrator."""
    generator, lines, said = np.random.default_rng(0), list[str](), ["utt\tspeaker\ttext"]
    for call in range(60):
        confidence = generator.uniform(0.3, 1.0, 12).round(3)
        right = generator.random(12) < confidence**2
        lines += [f"c{call} 1 {at}.0 0.5 {'yes' if right[at] else 'no'} {confidence[at]}\n" for at in range(12)]
        said.append(f"c{call}\ts{call % 10}\t{' '.join(['yes'] * 12)}")
    (tmp_path / "calls.ctm").write_text("".join(lines))
    (tmp_path / "refs.tsv").write_text("\n".join(said) + "\n")
    monkeypatch.chdir(tmp_path)
    run("calibrate", "--scores", "calls.ctm", "--ref", "refs.tsv", "--calibrator", "platt", "--out", "calls.json")
    return tmp_path


def test_evaluate_measures_words_as_they_came_and_calibrated(calls: Path) -> None:
    given = ("--scores", "calls.ctm", "--ref", "refs.tsv")
    record = json.loads(run("evaluate", "calls.json", *given, "--json").stdout)
    plain = wt.evaluate("calls.ctm", references="refs.tsv")
    expected = replace(plain.words, score=load_calibrator(Path("calls.json")).predict(plain.words.score)).metrics()
    assert record["one_best"]["calibrated"]["nce"] == pytest.approx(expected.nce, abs=1e-6)
    assert record["one_best"]["confidence"]["nce"] == pytest.approx(plain.words.metrics().nce)
    assert record["one_best"]["calibrated"]["ece"] < record["one_best"]["confidence"]["ece"] / 2
    both = wt.evaluate("calls.ctm", "calls.json", references="refs.tsv")
    assert both.words.metrics().nce == pytest.approx(expected.nce, abs=1e-6)
    assert json.loads(run("threshold", "calls.json", *given, "--json").stdout)["table"]
    run("evaluate", "calls.json", *given, "--report", "page.html")
    assert "calibrated" in (calls / "page.html").read_text("utf-8")


@pytest.mark.usefixtures("calls")
def test_transcripts_name_the_calibrator_and_estimates_find_it() -> None:
    rates = set()
    for ending in ("json", "jsonl", "parquet"):
        run("score", "calls.json", "calls.ctm", "--out", f"words.{ending}")
        rates.add(json.loads(run("estimate", f"words.{ending}", "--json").stdout)["corpus"]["wer"])
    rates.add(round(wt.estimate("words.jsonl").corpus.wer, 6))
    rates.add(json.loads(run("estimate", "calls.json", "calls.ctm", "--json").stdout)["corpus"]["wer"])
    assert max(rates) - min(rates) < 1e-3  # confidences are rounded in files
    run("convert", "words.jsonl", "again.json")
    assert json.loads(Path("again.json").read_text())["models"] == ["calls.json"]
    Path("calls.json").rename("elsewhere.json")
    assert "calls.json, which is not here" in refused("estimate", "words.jsonl")


@pytest.fixture(scope="module")
def posteriors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Networks with references, and a calibrator of their posteriors."""
    folder = tmp_path_factory.mktemp("posteriors")
    given, refs = CORPUS / "moonshine-tiny" / "dev.jsonl.gz", CORPUS / "refs.tsv"
    run("build", given, "--ref", refs, "--out", folder / "nets")
    run(
        "calibrate", "--scores", folder / "nets", "--ref", refs, "--calibrator", "platt", "--out", folder / "cal.json"
    )
    return folder


def test_networks_are_evaluated_with_a_calibrator_as_their_words_are(posteriors: Path) -> None:
    """The 1-best and its posteriors, whether references come with the networks or apart."""
    cal, nets = posteriors / "cal.json", posteriors / "nets"
    own = json.loads(run("evaluate", cal, nets, "--json").stdout)
    apart = json.loads(run("evaluate", cal, "--scores", nets, "--ref", CORPUS / "refs.tsv", "--json").stdout)
    for name in ("nce", "ece", "eer"):
        assert own["output"]["calibrated"][name] == pytest.approx(apart["one_best"]["calibrated"][name], abs=1e-9)
    assert own["errors"]["best_confidence"] == own["errors"]["one_best"]
    words = wt.evaluate(nets, cal).words
    np.testing.assert_array_equal(words.score, wt.evaluate(nets, load_calibrator(cal)).words.score)
    assert json.loads(run("threshold", cal, nets, "--json").stdout)["table"]
    run("score", cal, nets, "--out", posteriors / "words.json", "--overwrite")
    heard = [word.confidence for each in read_transcripts(posteriors / "words.json") for word in each.words]
    assert sorted(heard) == pytest.approx(sorted(words.score.tolist()), abs=1e-5)


def test_transcribing_takes_a_calibrator_in_place_of_a_model(posteriors: Path) -> None:
    """What the recognizer prints, with the calibrated posteriors that `score` gives for its lattices."""
    cal = str(posteriors / "cal.json")
    heard = to_lattice(RECORD, "u", RecognizerIdentity("ears", "1"))
    combiner = OnlineCombiner([RecognizerIdentity("ears", "1")], [cal])
    transcript = combiner.transcript([heard])
    networks = build(heard).lattices
    assert transcript == CalibratedWords.load(Path(cal))(networks, alternatives=5)[0]
    assert [word.norm for word in transcript.words] == ["good", "day"]
    assert combiner.models == ["cal.json"]
    assert "calibrated by cal.json" in combiner.messages()[0]
    assert not combiner.is_provisional
    assert combiner.language_model is None
    assert transcript.gaps is None
    both = OnlineCombiner([RecognizerIdentity("ears", "1"), RecognizerIdentity("nose", "1")], [cal, "generic"])
    assert both.transcript([heard, heard]).words
    with pytest.raises(OptionError, match="--lm is for models"):
        OnlineCombiner([RecognizerIdentity("ears", "1")], [cal], lm="small.arpa")
    with pytest.raises(OptionError, match="does not say from which confidence"):
        combiner.accepted(0.98)


# Every verb that takes a model, and what a calibrator is to it: taken, or refused with the reason.
VERBS = {
    "transcribe": None, "score": None, "estimate": None, "evaluate": None, "threshold": None, "combine": None,
    "calibrate": ("{cal}", "{nets}", "--out", "x"), "adapt": ("{cal}", "{nets}", "--out", "x"),
    "build": ("{nets}", "--scales", "{cal}", "--out", "x"), "models": ("{cal}",),
}  # fmt: skip


def test_every_verb_with_a_model_is_on_the_list() -> None:
    """A model of confidences: --recognizer NAME=MODEL is another thing, and --models are those of a study."""
    parameters = [(verb, each) for verb, command in cli.commands.items() for each in command.params]
    other = ("recognizer", "listener", "listeners", "models", "fold_model", "lm")
    takes = {
        verb for verb, each in parameters
        if each.name not in other and "model" in f"{each.name} {each.metavar or ''}".lower()
    }  # fmt: skip
    assert takes | {"estimate", "build", "models"} == set(VERBS)  # these three have theirs among other things


@pytest.mark.parametrize("verb", [verb for verb, arguments in VERBS.items() if arguments])
def test_who_cannot_use_a_calibrator_says_why(verb: str, posteriors: Path, tmp_path: Path) -> None:
    given = [each.format(cal=posteriors / "cal.json", nets=posteriors / "nets") for each in VERBS[verb] or ()]
    message = refused(verb, *(str(tmp_path / "x") if each == "x" else each for each in given))
    reasons = {"build": "not a file of scales", "models": "comes with wordtrust"}
    assert reasons.get(verb, "this is a calibrator of confidences that words have") in message
    assert not (tmp_path / "x").exists()


@pytest.mark.usefixtures("calls")
def test_where_a_calibrator_is_of_no_use_that_is_told() -> None:
    with pytest.raises(InputError, match="this is a calibrator"):
        wt.load("calls.json")
    assert "no networks with references" in refused("evaluate", "calls.json", "calls.ctm")
    assert "name the store" in refused("evaluate", "calls.json")
    with pytest.raises(OptionError, match="without a model"):
        wt.evaluate("calls.ctm", "moonshine-tiny", references="refs.tsv")
    with pytest.raises(InputError, match="no networks with references"):
        wt.evaluate("calls.ctm", load_calibrator(Path("calls.json")))
    with pytest.raises(OptionError, match="chooses no words"):
        wt.evaluate("calls.ctm", "calls.json", criterion="gain")
