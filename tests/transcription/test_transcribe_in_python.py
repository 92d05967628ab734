"""`wt.transcribe` as people call it in a notebook: files, samples, recognizers of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.plugin_recognizer import install
from tests.helpers.speech import recording, recording_path
from wordtrust.recognizers import loader


@pytest.fixture(autouse=True)
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)


def spoken(transcripts: wt.Transcripts) -> list[tuple[str, float]]:
    return [(word.word, word.start) for word in transcripts.words]


def test_samples_are_transcribed_as_a_file_is(tmp_path: Path) -> None:
    by_file = wt.transcribe(recording_path(), "ears")
    samples = recording()
    assert spoken(by_file)
    for given in (
        samples, samples.astype(np.float64), samples[:, None], np.stack([samples, samples]), samples.tolist(),
    ):  # fmt: skip
        assert spoken(wt.transcribe(given, "ears", sample_rate=16000)) == spoken(by_file)
    as_integers = np.round(samples * 32767).astype(np.int16)
    assert len(wt.transcribe(as_integers, "ears", sample_rate=16000)) == len(by_file)
    slower = wt.transcribe(np.repeat(samples, 2), "ears", sample_rate=32000)
    assert len(slower) == len(by_file)
    by_file.save(tmp_path / "talk.json")
    again = wt.read_transcripts(tmp_path / "talk.json")
    assert again.about["file"] == str(recording_path())
    assert again.left_out == by_file.left_out
    assert again.text == by_file.text


def test_channels_count_from_one() -> None:
    stereo = np.stack([recording(), np.zeros_like(recording())])
    assert spoken(wt.transcribe(stereo, "ears", sample_rate=16000, channel=1))
    assert not spoken(wt.transcribe(stereo, "ears", sample_rate=16000, channel=2))
    for channel in (0, 3):
        with pytest.raises(wt.OptionError, match=f"no channel {channel}: 1 to 2, or None for the mean of all"):
            wt.transcribe(stereo, "ears", sample_rate=16000, channel=channel)


def test_recognizers_of_your_own() -> None:
    mine: Any = loader("ears")()
    assert wt.transcribe(recording_path(), mine) == wt.transcribe(str(recording_path()), "ears")
    with pytest.raises(wt.OptionError, match="works in one job"):
        wt.transcribe(recording_path(), mine, jobs=2)
    wrongs: list[tuple[Any, str]] = [
        (type(mine), "not the class Ears"), (7, "not int"), (["ears", None], "not NoneType"),
    ]  # fmt: skip
    for wrong, message in wrongs:
        with pytest.raises(TypeError, match=message):
            wt.transcribe(recording_path(), wrong)


def test_several_files_are_told_apart_by_name(tmp_path: Path) -> None:
    import soundfile

    for name in ("a", "b"):
        soundfile.write(tmp_path / f"{name}.wav", recording(), 16000)
    files: list[str | Path] = [tmp_path / "a.wav", str(tmp_path / "b.wav")]
    both = wt.transcribe(files, "ears")
    assert {transcript.utt for transcript in both} == {"a", "b"}
    both.save(tmp_path / "both.ctm")
    assert len(wt.read(tmp_path / "both.ctm")) == 2


@pytest.mark.parametrize(
    ("audio", "options", "kind", "message"),
    [
        (np.zeros(8000), {}, wt.OptionError, "sample_rate=16000"),
        (np.zeros(8000), {"sample_rate": 16}, wt.OptionError, "16 samples a second"),
        (np.zeros(0), {"sample_rate": 16000}, wt.InputError, "no samples"),
        (np.array(["a"]), {"sample_rate": 16000}, TypeError, "samples are numbers"),
        (np.zeros((2, 2, 2)), {"sample_rate": 16000}, TypeError, r"shape \(2, 2, 2\)"),
        (b"RIFF", {}, TypeError, "not bytes"),
        (None, {}, TypeError, "not NoneType"),
        ((np.zeros(8000), 16000), {}, TypeError, "not tuple: wt.transcribe"),
        ("absent.wav", {}, wt.InputError, "no such file"),
        ("absent.wav", {"sample_rate": 16000}, wt.OptionError, "a file says its own"),
    ],
)
def test_anything_else_is_told_what_to_give(
    audio: Any, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        wt.transcribe(audio, "ears", **options)
