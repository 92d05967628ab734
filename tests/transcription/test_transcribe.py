"""From audio to trusted words: global times, files, channels, journals, several recognizers, bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import wordtrust as wt
from tests.helpers.ears import install
from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.journal import Journal
from wordtrust.cli import cli
from wordtrust.recognizers import RecognizerIdentity
from wordtrust.recognizers.answers import to_lattice
from wordtrust.transcription.online_scorer import OnlineCombiner, OnlineScorer
from wordtrust.transcription.transcriber import AudioRecording, RecognizedSegment, Transcriber, recordings

soundfile = pytest.importorskip("soundfile")
ASSETS = Path(find_spec("moonshine_voice").submodule_search_locations[0]) / "assets"  # type: ignore[index, union-attr]
SPEECH = ASSETS / "beckett.wav"  # ten seconds of real reading


@pytest.fixture(autouse=True)
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "my_ears", raising=False)


def run(*words: object) -> Result:
    given = ["transcribe", *map(str, words)]
    return CliRunner().invoke(cli, given if "--recognizer" in given else [*given, "--recognizer", "ears"])


def test_words_have_the_times_of_the_recording() -> None:
    found = wt.transcribe(SPEECH, "ears")
    assert len(found) >= 1
    with Transcriber(["ears"]) as transcriber:
        [recording] = recordings([AudioFile.open(SPEECH)])
        heard = list(transcriber.recognize(recording))
    assert [each.words[0].start for each in found if each.words] == pytest.approx(
        [each.start for each in heard if each.end - each.start >= 1]
    )
    starts = [word.start for each in found for word in each.words]
    assert starts == sorted(starts)
    assert all(0 < word.confidence < 1 for each in found for word in each.words)


def test_files_of_every_kind(tmp_path: Path) -> None:
    endings = ("json", "jsonl", "ctm", "srt", "vtt", "html", "parquet")
    done = run(SPEECH, *(word for ending in endings for word in ("--out", tmp_path / f"w.{ending}")))
    assert done.exit_code == 0, done.output
    assert "[0:0" in done.stdout
    assert "no model was trained for it, so the generic one judges its words" in done.stderr
    about = json.loads((tmp_path / "w.json").read_text())
    assert about["recognizers"][0]["name"] == "ears"
    assert (about["models"], about["duration"]) == (["generic"], pytest.approx(9.963, abs=0.001))
    assert all((tmp_path / f"w.{ending}").stat().st_size > 50 for ending in endings)
    assert sorted(path.name for path in tmp_path.glob(".*")) == []  # no journal is left


def test_an_interrupt_loses_nothing(tmp_path: Path) -> None:
    talk = tmp_path / "talk.wav"
    soundfile.write(talk, np.tile(AudioFile.open(SPEECH).samples(), 3), 16000)
    [recording] = recordings([AudioFile.open(talk)])
    with Transcriber(["ears"]) as transcriber, Journal(tmp_path / "j", {}) as journal:
        all_of_it = list(transcriber.recognize(recording))
        coming = transcriber.recognize(recording, journal)
        first = [next(coming), next(coming)]
        coming.close()  # type: ignore[attr-defined]
        assert len(list(journal)) == 2
    with Transcriber(["ears=deaf"]) as deaf, Journal(tmp_path / "j", {}) as journal:
        coming = deaf.recognize(recording, journal)
        assert [next(coming), next(coming)] == first == all_of_it[:2]
        with pytest.raises(InputError, match="failed: RuntimeError: no ears"):
            next(coming)
    with Transcriber(["ears"]) as transcriber, Journal(tmp_path / "j", {}) as journal:
        assert list(transcriber.recognize(recording, journal)) == all_of_it


def test_channels(tmp_path: Path) -> None:
    one = AudioFile.open(SPEECH).samples()
    stereo = tmp_path / "call.wav"
    soundfile.write(stereo, np.stack([one, np.zeros_like(one)], axis=1), 16000)
    done = run(stereo, "--channels", "each", "--out", tmp_path / "{name}.json")
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "call-1.json").read_text())["segments"]
    assert json.loads((tmp_path / "call-2.json").read_text())["segments"] == []
    assert "call-2: no speech was found" in done.stderr
    run(stereo, "--channels", "each", "--out", tmp_path / "w.ctm")
    assert (tmp_path / "w.ctm").read_text().startswith("call 1 0.")
    assert run(stereo, "--channels", "2").exit_code == 0
    with pytest.raises(OptionError, match="there is no channel '3': 1 to 2, mix or each"):
        recordings([AudioFile.open(stereo)], "3")


def test_recordings_have_names_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for path in (tmp_path / "a.wav", tmp_path / "x" / "a.wav"):
        soundfile.write(path, np.zeros((800, 2)), 8000)
    files = [AudioFile.open(tmp_path / "a.wav"), AudioFile.open(tmp_path / "x" / "a.wav")]
    assert [each.name for each in recordings(files)] == ["a", "a-2"]
    assert [each.name for each in recordings(files, "each")] == ["a-1", "a-2", "a-1-2", "a-2-2"]


@pytest.mark.parametrize(
    ("out", "told"),
    [
        (["w.srt"], "one file holds one recording, here are 2"),
        (["no/{name}.srt"], "there is no folder"),
        (["{name}.doc"], "should end in"),
    ],
)
def test_what_cannot_be_written_is_told_first(tmp_path: Path, out: list[str], told: str) -> None:
    done = run(SPEECH, SPEECH, *(word for each in out for word in ("--out", tmp_path / each)))
    assert told in str(done.exception)


def test_bad_input_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.wav").touch()
    (tmp_path / "text.wav").write_text("hello")
    soundfile.write(tmp_path / "short.wav", np.zeros(1200), 16000)
    for name in ("empty.wav", "text.wav", "absent.wav", "."):
        done = run(tmp_path / name)
        assert isinstance(done.exception, InputError), name
        assert str(tmp_path) in str(done.exception)
    done = run(tmp_path / "text.wav", tmp_path / "short.wav", "--skip-bad")
    assert done.exit_code == 0, done.output
    assert "skipped" in done.stderr
    assert "short: no speech was found" in done.stderr
    assert isinstance(run(tmp_path / "text.wav", "--skip-bad").exception, OptionError)


def test_as_json_lines() -> None:
    done = run(SPEECH, "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["utt"] == "beckett"
    assert lines[0]["words"][0]["norm"] == "one"


RECORD = """{"duration": 1.5, "empty_logprob": -9.0, "nbest": [{"score": -1.0, "avg_logprob": -0.333,
"token_logprobs": [-0.2, -0.7], "eot_logprob": -0.1, "words": [
{"word": "Good", "start": 0.1, "end": 0.5, "logprob": -0.2, "tokens": 1},
{"word": "%s.", "start": 0.5, "end": 1.2, "logprob": -0.7, "tokens": 1}]}], "best_avg": 0}"""


def line(word: str) -> str:
    return (RECORD % word).replace("\n", "")


def test_recognizers_that_are_known_are_joined() -> None:
    names = [RecognizerIdentity("moonshine-tiny", "1"), RecognizerIdentity("whisper-base", "1", pick="average")]
    both = OnlineCombiner(names)
    assert both.joint is not None
    heard = [to_lattice(line(word), "u", who) for word, who in zip(["morning", "mourning"], names, strict=True)]
    found = both.transcript(heard)
    assert found.words[0].norm == "good"
    assert found.words[0].confidence > found.words[1].confidence
    rivals = {found.words[1].norm, *(each.word.lower().strip(".") for each in found.words[1].alternatives)}
    assert {"morning", "mourning"} <= rivals


def test_others_are_chosen_by_confidence() -> None:
    names = [RecognizerIdentity("moonshine-tiny", "1"), RecognizerIdentity("ears", "1")]
    both = OnlineCombiner(names)
    assert both.joint is None
    assert "higher mean confidence" in both.messages()[-1]
    alone = [OnlineCombiner([who]) for who in names]
    heard = [to_lattice(line(word), "u", who) for word, who in zip(["morning", "mourning"], names, strict=True)]
    single = [each.transcript([lattices]) for each, lattices in zip(alone, heard, strict=True)]
    assert both.transcript(heard).confidence == max(each.confidence or 0 for each in single)


def test_models_and_recognizers_must_fit() -> None:
    with pytest.raises(OptionError, match="moonshine-tiny was trained for moonshine-tiny, not for ears"):
        OnlineScorer(RecognizerIdentity("ears", "1"), "moonshine-tiny")
    with pytest.raises(OptionError, match="2 recognizers need as many models, not 1"):
        OnlineCombiner([RecognizerIdentity("a", "1"), RecognizerIdentity("b", "1")], ["generic"])
    with pytest.raises(OptionError, match="is there twice"):
        OnlineCombiner([RecognizerIdentity("a", "1"), RecognizerIdentity("a", "1")])


def test_a_generic_model_learns_while_it_listens() -> None:
    recording = AudioRecording("u", AudioFile.open(SPEECH))
    with Transcriber(["ears"]) as transcriber:
        heard = [RecognizedSegment(0.0, 2.0, (line(word),)) for word in ("morning", "day", "evening", "night")]
        first = [transcriber.transcript(recording, each) for each in heard]
        assert transcriber.combiner.is_provisional
        again = [transcriber.transcript(recording, each, learn=False) for each in heard]
        assert again == [transcriber.transcript(recording, each, learn=False) for each in heard]
    assert first[0].confidence != again[0].confidence
    assert first[-1] == again[-1]


def test_segments_without_words_do_no_harm() -> None:
    """Records of nothing have none of the scores that others have."""
    nothing = '{"nbest": [{"score": 0.0, "words": []}]}'
    names = [RecognizerIdentity("moonshine-tiny", "1"), RecognizerIdentity("whisper-base", "1", pick="average")]
    both, alone = OnlineCombiner(names), OnlineCombiner(names[:1])
    for number in range(45):
        said = [line("morning"), nothing, line("day")][number % 3]
        heard = [to_lattice(text, "u", who) for text, who in zip([said, nothing], names, strict=True)]
        alone.transcript(heard[:1])
        assert len(both.transcript(heard).words) in ((0,) if said == nothing else (0, 1, 2))
    silent = [to_lattice(nothing, "u", who) for who in names]
    assert both.transcript(silent).words == ()
    assert alone.transcript(silent[:1]).words == ()


def test_a_recognizer_that_does_not_know_the_same_of_all(tmp_path: Path) -> None:
    """Its utterances cannot be looked at together; those that are alike can."""
    mixed = OnlineCombiner([RecognizerIdentity("ears", "1")])
    bare = '{"nbest": [{"score": -1.0, "words": [{"word": "one", "start": 0.0, "end": 1.0}]}]}'
    for number in range(45):
        mixed.transcript([to_lattice(line("day") if number % 2 else bare, "u", mixed.scorers[0].identity)])
    assert mixed.scorers[0].domain_factor <= 1


def test_a_bad_answer_is_not_kept(tmp_path: Path) -> None:
    done = run(SPEECH, "--recognizer", "ears=odd", "--out", tmp_path / "w.json")
    assert isinstance(done.exception, InputError)
    assert "at 0." in str(done.exception)
    assert len((tmp_path / ".w.json.heard").read_text().splitlines()) == 1


def test_distrust_lowers_confidences_of_one_and_of_several() -> None:
    names = [RecognizerIdentity("moonshine-tiny", "1"), RecognizerIdentity("whisper-base", "1", pick="average")]
    for who in (names[:1], names):
        together = OnlineCombiner(who)
        heard = [to_lattice(line("morning"), "u", each) for each in who]
        before = together.transcript(heard).words[0].confidence
        together.scorers[0].domain_factor = 0.5
        assert together.transcript(heard).words[0].confidence == pytest.approx(before / 2)


def test_files_are_written_though_nobody_reads(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "wordtrust",
        "transcribe",
        str(SPEECH),
        "--recognizer",
        "ears",
        "--out",
        "w.json",
    ]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *sys.path])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path, env=path) as process:
        assert process.stdout is not None
        process.stdout.close()
    assert process.returncode == 0
    assert json.loads((tmp_path / "w.json").read_text())["segments"]
    with subprocess.Popen(command[:-2], stdout=subprocess.PIPE, cwd=tmp_path, env=path) as process:
        assert process.stdout is not None
        process.stdout.close()
    assert process.returncode == 141


def test_the_same_file_twice_and_what_cannot_be_written(tmp_path: Path) -> None:
    once = run(SPEECH, "--out", tmp_path / "a.jsonl")
    twice = run(SPEECH, "--out", tmp_path / "b.jsonl", "--out", tmp_path / "b.jsonl")
    assert (once.exit_code, twice.exit_code) == (0, 0)
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "b.jsonl").read_text()
    (tmp_path / "d.json").mkdir()
    assert "it is a folder" in str(run(SPEECH, "--out", tmp_path / "d.json").exception)
