"""`wordtrust check` and `wt.check`: every kind of transcript, what stays of it, bad input, resuming, exit status."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner, Result

import wordtrust as wt
from tests.helpers.plugin_recognizer import install
from tests.helpers.speech import recording, recording_path
from wordtrust.base.errors import InputError, WordtrustError
from wordtrust.cli import cli
from wordtrust.cli.inputs import InterruptedResumable
from wordtrust.transcription import check_job
from wordtrust.transcription.check_summary import CheckSummary, error_interval
from wordtrust.transcription.text_scores import TextScorer
from wordtrust.transcription.transcriber import Transcriber
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Word


@pytest.fixture(autouse=True)
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)


def run(*words: object, listener: str = "ears") -> Result:
    given = ["check", *map(str, words)]
    return CliRunner().invoke(cli, given if "--audio" not in given else [*given, "--listener", listener])


def refused(result: Result) -> str:
    assert result.exit_code == 1
    assert isinstance(result.exception, WordtrustError)
    return str(result.exception)


@pytest.fixture(scope="module")
def heard(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, float, float]]:
    """What the listener of these tests hears in the recording: words with their times."""
    with pytest.MonkeyPatch.context() as patch:
        install(tmp_path_factory.mktemp("site"), patch)
        said = wt.transcribe(recording_path(), "ears").words
    return [(word.word, word.start, word.end) for word in said]


def service(words: list[tuple[str, float, float]]) -> dict[str, Any]:
    """Words as Deepgram answers."""
    listed = [
        {"word": word, "start": start, "end": end, "confidence": 0.5, "speaker": int(index > 2)}
        for index, (word, start, end) in enumerate(words)
    ]
    return {"results": {"channels": [{"alternatives": [{"transcript": "", "words": listed}]}]}}


def wrong(words: list[tuple[str, float, float]]) -> list[tuple[str, float, float]]:
    """The same with another word in the second place."""
    return [words[0], ("Elephants,", *words[1][1:]), *words[2:]]


def write(path: Path, content: Any) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_words_spelling_speakers_and_times_stay(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    file = write(tmp_path / "cloud.json", service(wrong(heard)))
    endings = ("json", "jsonl", "ctm", "srt", "vtt", "html", "parquet", "txt")
    done = run(file, "--audio", recording_path(), *(w for e in endings for w in ("--out", tmp_path / f"w.{e}")))
    assert done.exit_code == 0, done.output
    assert "[?Elephants,]" in done.stdout  # more likely wrong than right
    assert f"cloud.json: {len(heard)} words, about " in done.stdout
    document = json.loads((tmp_path / "w.json").read_text())
    words = [word for segment in document["segments"] for word in segment["words"]]
    assert [(word["word"], word["start"], word["end"]) for word in words] == [
        (word, pytest.approx(start, abs=1e-3), pytest.approx(end, abs=1e-3)) for word, start, end in wrong(heard)
    ]
    assert [segment["speaker"] for segment in document["segments"]] == ["0", "1"]
    doubted = words[1]
    assert doubted["confidence"] < 0.9 < min(word["confidence"] for word in words if word is not doubted)
    assert (doubted["heard"], doubted["alternatives"][0]["word"]) == (0.0, "two")
    assert document["check"]["words"] == len(heard)
    assert document["recognizers"][0]["name"] == "ears"
    assert Path(document["transcript"]).name == "cloud.json"
    assert all((tmp_path / f"w.{ending}").stat().st_size > 30 for ending in endings)
    assert not list(tmp_path.glob(".*"))  # no journal is left
    again = wt.read_transcripts(tmp_path / "w.parquet").words
    assert again[1].heard == 0.0


def test_confidences_of_our_own_models_are_probabilities(heard: list[tuple[str, float, float]]) -> None:
    def checked(first: float) -> float:
        words = [Word(word, word.strip(",").lower(), start, end, 0.9) for word, start, end in heard]
        given = Transcripts([Transcript("talk", (replace(words[0], confidence=first), *words[1:]))])
        return wt.check(given, recording_path(), "ears").words[0].confidence

    assert checked(0.02) < checked(0.5) < checked(0.99)
    assert checked(0.02) < 0.9


@pytest.mark.parametrize("ending", ["txt", "srt", "vtt", "ctm", "json", "jsonl", "parquet"])
def test_every_kind_of_transcript(ending: str, tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    words = tuple(Word(word, word.strip(",").lower(), start, end, 0.5) for word, start, end in wrong(heard))
    file = tmp_path / f"talk.{ending}"
    Transcript("talk", words).save(file)
    done = run(file, "--audio", recording_path(), "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["words"] == len(heard)
    assert summary["found"] == pytest.approx(1 - 1 / len(heard), abs=1e-3)
    assert 0.1 < summary["expected_errors"] < 4


def test_python_has_the_same(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    file = write(tmp_path / "cloud.json", service(wrong(heard)))
    checked = wt.check(file, recording_path(), "ears")
    assert checked.about["check"]["words"] == len(heard) == len(checked.words)
    of_samples = wt.check(file, recording(), "ears", sample_rate=16000)
    assert [word.confidence for word in of_samples.words] == [word.confidence for word in checked.words]
    of_python = wt.check(wt.transcribe(recording_path(), "ears"), recording_path(), "ears")
    assert of_python.about["check"]["expected_errors"] < checked.about["check"]["expected_errors"]


def test_what_is_missing_is_told(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    file = write(tmp_path / "cloud.json", service([*heard[:2], *heard[4:]]))
    words = wt.check(file, recording_path(), "ears").words
    assert max(words, key=lambda word: word.missing_before or 0.0).word == heard[4][0]
    first = next(start for word, start, _ in heard[1:] if word == "one")  # of the second segment
    file = write(tmp_path / "rest.json", service([word for word in heard if word[1] < first - 0.1]))
    left_out = wt.check(file, recording_path(), "ears").left_out
    assert left_out is not None
    assert left_out[0].reason.startswith("not in the transcript, but heard: one")


def test_other_transcripts_are_listeners_with_audio_or_without(
    tmp_path: Path, heard: list[tuple[str, float, float]]
) -> None:
    file = write(tmp_path / "cloud.json", service(wrong(heard)))
    other = write(tmp_path / "other.txt", " ".join(word for word, _, _ in heard))
    with_audio = wt.check(file, recording_path(), "ears", heard=other)
    assert with_audio.words[1].alternatives[0].word == "two"
    assert with_audio.about["heard"] == [str(other)]
    done = run(file, "--heard", other, "--json")
    assert done.exit_code == 0, done.output
    without = wt.check(file, heard=[other])
    assert without.about["check"] == json.loads(done.stdout)
    assert without.about["check"]["vague"]  # by one other transcript alone
    assert "too unsure here to tell how many words are wrong" in done.stderr
    doubted = min(without.words, key=lambda word: word.confidence)
    assert (doubted.word, doubted.heard) == ("Elephants,", 0.0)
    assert [word.word for word in without.words] == [word for word, _, _ in wrong(heard)]
    untimed = write(tmp_path / "typed.txt", " ".join(word for word, _, _ in wrong(heard)))
    done = run(untimed, "--heard", other)
    assert "typed.txt has no times, and there is no audio: its words are written with a second each" in done.stderr
    assert "worst" not in done.stdout


def test_scores_of_given_words_are_asked_for(
    tmp_path: Path, heard: list[tuple[str, float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ...]] = []

    def watched(self: TextScorer, texts: Any) -> Any:
        for text, scores in all_scores(self, texts):
            asked.append(text.words)
            assert scores[0] is not None
            assert len(scores[0].logprob) == len(text.words)
            yield text, scores

    all_scores = TextScorer.scores
    monkeypatch.setattr(TextScorer, "scores", watched)
    file = write(tmp_path / "cloud.json", service(wrong(heard)))
    done = run(file, "--audio", recording_path(), listener="ears=critic")
    assert done.exit_code == 0, done.output
    assert [word for words in asked for word in words] == [w.strip(",").lower() for w, _, _ in wrong(heard)]


def test_an_interrupted_check_resumes_to_the_same_bytes(
    tmp_path: Path, heard: list[tuple[str, float, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "cloud.json", service(wrong(heard)))
    command = (file, "--audio", recording_path(), "--out")
    assert run(*command, tmp_path / "whole.json", listener="ears=critic").exit_code == 0

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(check_job, "locate_text", interrupted)
        words = ["check", *map(str, command), str(tmp_path / "again.json"), "--listener", "ears=critic"]
        assert isinstance(CliRunner().invoke(cli, words, standalone_mode=False).exception, InterruptedResumable)
        patch.setattr(Transcriber, "recognize", interrupted)
        words[-3] = str(tmp_path / "none.json")
        early = CliRunner().invoke(cli, words, standalone_mode=False).exception
        assert early is not None
        assert not isinstance(early, InterruptedResumable)  # there is nothing to resume with
    assert {path.name for path in tmp_path.glob(".*")} == {".again.json.heard"}
    assert not (tmp_path / "again.json").exists()
    done = run(*command, tmp_path / "again.json", listener="ears=critic")
    assert "resuming after" in done.stderr
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_exit_status_of_pipelines(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    file = write(tmp_path / "cloud.json", service(wrong(heard)))
    done = run(file, "--audio", recording_path(), "--fail-above", "1%", "--out", tmp_path / "w.json")
    assert done.exit_code == 4
    assert "of the words are likely wrong, more than 1%" in done.stderr
    assert (tmp_path / "w.json").exists()
    assert run(file, "--audio", recording_path(), "--fail-above", "99%").exit_code == 0
    other = write(tmp_path / "other.txt", "nothing of this was said in any recording that we know " * 4)
    done = run(other, "--audio", recording_path(), "--out", tmp_path / "other.json")
    assert done.exit_code == 3
    assert "this transcript does not belong to this audio: 0% of its words were found there" in done.stderr
    assert not (tmp_path / "other.json").exists()
    with pytest.raises(InputError, match="does not belong"):
        wt.check(other, recording_path(), "ears")
    with pytest.raises(InputError, match=r"other\.txt: this transcript does not belong to this"):
        wt.check(write(tmp_path / "long.txt", "so it was told to all of us again " * 9), heard=other)


def test_two_channels(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    stereo, document = tmp_path / "call.wav", service(heard)
    soundfile.write(stereo, np.stack([recording(), recording()[::-1] * 0], axis=1), 16000)
    document["results"]["channels"].append({"alternatives": [{"transcript": "", "words": []}]})
    file = write(tmp_path / "call.json", document)
    done = run(file, "--audio", stereo, "--out", tmp_path / "{name}.json")
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "call-1.json").read_text())["check"]["words"] == len(heard)
    assert json.loads((tmp_path / "call-2.json").read_text())["segments"] == []
    assert run(write(tmp_path / "one.json", service(heard)), "--audio", stereo).exit_code == 0  # the mean of both
    error = refused(run(file, "--audio", recording_path()))
    assert "call.json has 2 channels, and" in error
    assert "has 1 channel: name the audio that was sent to the service" in error
    done = run(file, "--heard", file, "--json")
    assert list(json.loads(done.stdout)) == ["call-1", "call-2"]  # as with audio


def test_channels_are_matched_by_their_numbers(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    """The service lists first who spoke first."""
    stereo = tmp_path / "call.wav"
    soundfile.write(stereo, np.stack([recording(), np.zeros(len(recording()))], axis=1), 16000)
    words = [
        {"text": word, "start": int(1000 * start), "end": int(1000 * end), "confidence": 0.5, "channel": channel}
        for channel, said in (("2", [("hm", 0.1, 0.2)]), ("1", heard))
        for word, start, end in said
    ]
    file = write(tmp_path / "call.json", {"id": "x", "status": "completed", "text": "", "words": words})
    found = json.loads(run(file, "--audio", stereo, "--json").stdout)
    assert [found[name]["words"] for name in ("call-1", "call-2")] == [len(heard), 1]
    assert found["call-1"]["found"] == 1.0


def test_a_channel_of_another_recording_does_not_lose_the_others(
    tmp_path: Path, heard: list[tuple[str, float, float]]
) -> None:
    stereo, document = tmp_path / "call.wav", service(wrong(heard))
    soundfile.write(stereo, np.stack([recording(), recording()], axis=1), 16000)
    other = [
        (word, float(at), at + 0.2) for at, word in enumerate("nothing of this was said in any recording".split() * 5)
    ]
    document["results"]["channels"] += [*service(other)["results"]["channels"]]
    file = write(tmp_path / "call.json", document)
    command = (file, "--audio", stereo, "--out", tmp_path / "{name}.json", "--out", tmp_path / "all.jsonl")
    done = run(*command)
    assert done.exit_code == 3
    assert "call-2: " in done.stderr
    assert "does not belong to this audio" in done.stderr
    assert "call.json, channel 1: " in done.stdout
    assert json.loads((tmp_path / "call-1.json").read_text())["check"]["words"] == len(heard)
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert {line["utt"] for line in lines} == {"call-1"}
    assert not (tmp_path / "call-2.json").exists()
    done = run(*command, "--overwrite", "--skip-bad", "--json")
    assert done.exit_code == 0
    assert "skipped: " in done.stderr
    assert "does not belong" in json.loads(done.stdout)["call-2"]["error"]
    document["results"]["channels"][1] = document["results"]["channels"][0]
    done = run(write(tmp_path / "both.json", document), "--audio", stereo)
    assert done.exit_code == 0
    assert f"together: {2 * len(heard)} words, about " in done.stdout


def test_lines_of_json_come_to_stdout(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    file = write(tmp_path / "cloud.json", service(wrong(heard)))
    assert run(file, "--audio", recording_path(), "--out", tmp_path / "w.jsonl").exit_code == 0
    done = run(file, "--audio", recording_path(), "--out", "-")
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines == [json.loads(line) for line in (tmp_path / "w.jsonl").read_text().splitlines()]
    assert "cloud.json: " in done.stderr


def test_who_listens_is_said(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    file = write(tmp_path / "cloud.json", service(heard))
    other = write(tmp_path / "typed.txt", " ".join(word for word, _, _ in heard))
    done = run(file, "--audio", recording_path(), "--heard", other, listener="ears=critic")
    assert f"wordtrust: listening: ears-critic (critic, 1.0); the transcript {other}\n" in done.stderr


def test_bad_input_is_one_line(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    file, audio = write(tmp_path / "cloud.json", service(heard)), recording_path()
    assert "no such file" in refused(run(tmp_path / "none.json", "--audio", audio))
    assert "none.wav" in refused(run(file, "--audio", tmp_path / "none.wav"))
    assert "nothing to check it with" in refused(run(file))
    assert "no words in the transcript" in refused(
        run(write(tmp_path / "e.srt", "1\n00:00:01,000 --> 00:00:02,000\n[music]\n"), "--audio", audio)
    )
    assert "the file is empty" in refused(run(write(tmp_path / "empty.txt", ""), "--audio", audio))
    done = run(file, "--audio", audio, "--fail-above", "ten")
    assert done.exit_code == 2
    assert "say 10% or 0.1" in done.stderr
    assert "there is no recognizer 'nobody'" in refused(run(file, "--audio", audio, listener="nobody"))
    assert "this is audio" in refused(run(audio, "--audio", audio))
    late = [(word, start + 3600, end + 3600) for word, start, end in heard]
    done = run(write(tmp_path / "late.json", service(late)), "--audio", audio)
    assert done.exit_code == 0
    assert f"{len(heard)} words of" in done.stderr
    assert "after the end of the audio" in done.stderr
    assert "its times are 3600.0 s late" in done.stderr


def test_transcripts_of_several_recordings_by_name(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    for name in ("a", "b"):
        soundfile.write(tmp_path / f"{name}.wav", recording(), 16000)
    lines = [f"{name} 1 {start:.3f} {end - start:.3f} {word}\n" for name in "ab" for word, start, end in heard]
    file = write(tmp_path / "both.ctm", "".join(lines))
    audio = ("--audio", tmp_path / "a.wav", "--audio", tmp_path / "b.wav")
    done = run(file, *audio, "--json")
    assert set(json.loads(done.stdout)) == {"a", "b"}
    soundfile.write(tmp_path / "c.wav", recording(), 16000)
    assert "there is no audio for 'b'" in refused(run(file, *audio[:2], "--audio", tmp_path / "c.wav"))


def test_the_interval_holds_for_authors_who_are_better_or_worse_than_they_seem() -> None:
    rng = np.random.default_rng(4)
    held = []
    for _ in range(1000):
        confidence = 1 - rng.beta(0.5, 4, 600)  # a ninth of the words wrong
        wrong = rng.random(600) < (1 - confidence) * rng.normal(1.0, 0.2)
        low, high = error_interval(confidence.tolist())
        held.append(low <= wrong.sum() <= high)
    assert 0.93 < np.mean(held) < 0.97


def test_the_interval_of_a_text_by_anybody_allows_for_no_errors_and_for_a_recognizer() -> None:
    confidence, strictly = [0.95] * 360 + [0.1] * 10, [0.9] * 360 + [0.05] * 10
    by_recognizer = error_interval(confidence)
    low, high = error_interval(confidence, strictly, misheard=0.12)
    assert low == pytest.approx(max(0.0, by_recognizer[0] - 0.4 * 0.12 * 370))
    assert high == pytest.approx(error_interval(strictly)[1])
    assert low == 0 < by_recognizer[0] < by_recognizer[1] < high
    assert error_interval([0.1] * 200, [0.05] * 200, misheard=0.1)[0] > 80  # nobody without errors is as doubted


def test_who_wrote_it_is_seen_in_the_format_or_said(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    words = wrong(heard)
    typed = write(tmp_path / "typed.txt", " ".join(word for word, _, _ in words))
    cloud = write(tmp_path / "cloud.json", service(words))

    def summary(file: Path, *options: str) -> dict[str, Any]:
        done = run(file, "--audio", recording_path(), "--json", *options)
        assert done.exit_code == 0, done.output
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    by_anybody, by_recognizer = summary(typed), summary(typed, "--author", "recognizer")
    assert by_anybody["errors_if_recognizer"] == by_recognizer["expected_errors"] > by_anybody["expected_errors"]
    assert by_recognizer["errors_if_recognizer"] == by_recognizer["expected_errors"]
    assert summary(cloud) == summary(cloud, "--author", "recognizer") != summary(cloud, "--author", "anybody")
    with pytest.raises(WordtrustError, match="known are auto, recognizer, anybody"):
        wt.check(cloud, recording_path(), "ears", author="people")  # type: ignore[arg-type]


CUES = (
    "00:00:00,032 --> 00:00:02,900\nAnn: one two three\n", "00:00:02,950 --> 00:00:05,100\nfour five\n",
    "00:00:05,000 --> 00:00:08,500\nBob: one two\n",
)  # fmt: skip


@pytest.mark.parametrize("ending", ["srt", "vtt"])
def test_cues_of_subtitles_stay_with_their_times_and_speakers(ending: str, tmp_path: Path) -> None:
    """Even where they overlap, are longer than what was said, or could be shown as one."""
    given = [cue.replace("Ann: ", "<v Ann>").replace("Bob: ", "<v Bob>") for cue in CUES] if ending == "vtt" else CUES
    blocks = [cue.replace(",", "." if ending == "vtt" else ",") for cue in given]
    file = write(tmp_path / f"talk.{ending}", ("WEBVTT\n\n" if ending == "vtt" else "") + "\n".join(blocks))
    out = tmp_path / f"checked.{ending}"
    done = run(file, "--audio", recording_path(), "--out", out)
    assert done.exit_code == 0, done.output
    written = re.sub(r"</?(?:c|font|u)[^>]*>", "", out.read_text()).split("\n\n")
    cues = [re.sub(r"^\d+\n", "", block).strip() for block in written if "-->" in block]
    assert cues == [block.strip() for block in blocks]


def test_another_transcript_that_lacks_a_passage_says_nothing_of_it(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text().replace("`", " ").split()
    words = [(word, 0.5 * at, 0.5 * at + 0.4) for at, word in enumerate(w for w in text if w.isalpha())][:120]
    ours, part = write(tmp_path / "ours.json", service(words)), [*words[:40], *words[80:]]
    checked = wt.check(ours, heard=write(tmp_path / "part.json", service(part))).words
    whole = wt.check(ours, heard=write(tmp_path / "whole.json", service(words))).words
    assert min(word.confidence for word in checked[48:72]) > 0.8
    assert {word.heard for word in checked[48:72]} == {None}
    assert all(word.alternatives == () for word in checked[48:72])
    assert [word.confidence for word in checked[:36]] == [word.confidence for word in whole[:36]]
    few = [*words[:40], *words[44:]]  # a few words in between were just not heard
    doubted = wt.check(ours, heard=write(tmp_path / "few.json", service(few))).words[40:44]
    assert max(word.confidence for word in doubted) < 0.6
    assert {word.heard for word in doubted} == {0.0}


def test_a_text_of_few_words_that_were_not_heard_is_asked_about(tmp_path: Path) -> None:
    done = run(write(tmp_path / "t.txt", "Elephants eat apples in winter"), "--audio", recording_path())
    assert done.exit_code == 0
    assert "t.txt: 0% of its words were found; is it of this recording?" in done.stderr


def test_the_summary_adds_up_and_names_the_worst() -> None:
    sure = {3: 0.45, 20: 0.2, 22: 0.1, 26: 0.3, 31: 0.4, 50: 0.05}
    words = [Word("w", "w", float(at), at + 0.5, sure.get(at, 0.99), missing_before=0.1) for at in range(60)]
    summary = CheckSummary.of([Transcript("u", tuple(words), missing_end=0.1)], 0.9, -0.0001)
    expected = sum(1 - one for one in sure.values()) + 54 * 0.01
    assert summary.expected_errors == pytest.approx(expected)
    assert summary.missing_places == pytest.approx(6.1)
    reach = 1.96 * (sum(one * (1 - one) for one in sure.values()) + 54 * 0.0099 + (0.2 * expected) ** 2) ** 0.5
    assert summary.interval == pytest.approx((max(0, expected - reach), expected + reach))
    # from doubted word to doubted word, ten seconds at most: 31 is too far from 20, and stretches share no word
    assert [(each.start, each.end, each.words) for each in summary.worst] == [
        (20.0, 26.5, 7), (50.0, 50.5, 1), (31.0, 31.5, 1),
    ]  # fmt: skip
    assert summary.worst[0].expected_errors == pytest.approx(0.8 + 0.9 + 0.7 + 4 * 0.01)
    assert summary.line().startswith("60 words, about 5.0 wrong (")
    assert summary.line().endswith("worst 0:20 to 0:26, 0:50, 0:31")
    assert str(summary.to_dict()["late"]) == "0.0"  # and not -0.0
    vague = CheckSummary.of([Transcript("u", tuple(words), missing_end=0.1)], 0.9, 0.0, is_vague=True)
    reach = 1.96 * (sum(one * (1 - one) for one in sure.values()) + 54 * 0.0099 + (0.8 * expected) ** 2) ** 0.5
    assert vague.interval == pytest.approx((0.0, expected + reach))
    both = CheckSummary.together([summary, vague])
    assert (both.words, both.is_vague) == (120, True)
    assert both.expected_errors == pytest.approx(2 * expected)
    assert both.interval == pytest.approx((summary.interval[0], summary.interval[1] + vague.interval[1]))
    empty = CheckSummary.of([], 1.0, 0.0)
    assert (empty.share_wrong, empty.line()) == (0.0, "0 words, about 0.0 wrong (0 to 0)")


def test_a_recording_without_speech(tmp_path: Path, heard: list[tuple[str, float, float]]) -> None:
    soundfile.write(tmp_path / "silence.wav", np.zeros(160_000), 16000)
    words = wt.check(write(tmp_path / "c.json", service(heard)), tmp_path / "silence.wav", "ears").words
    assert len(words) == len(heard)
    assert sum(word.confidence for word in words) < 0.5 * len(words)
    assert {word.alternatives[0].word for word in words} == {""}
