"""Vosk: its alternatives as an N-best list, bad folders, and a real model where it has been fetched."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers.nbest_records import check_record, read
from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.speech import recording, weights_folder
from wordtrust.audio import RATE
from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.errors import InputError, OptionError

pytest.importorskip("vosk", reason='needs pip install ".[vosk]"')

from wordtrust.recognizers.vosk import VoskRecognizer, load, name_of_folder, to_record  # only where Vosk is

NOTHING = {"nbest": [{"score": 0.0, "words": []}]}
PRINTED = """{
  "alternatives" : [{
      "confidence" : 115.709381,
      "result" : [{"end" : 0.660000, "start" : 0.330000, "word" : "i'll"},
                  {"end" : 1.200000, "start" : 0.660000, "word" : "go"}],
      "text" : "i'll go"
    }, {
      "confidence" : 115.1,
      "text" : ""
    }]
}"""


def test_alternatives_become_an_nbest_list() -> None:
    record = to_record(json.loads(PRINTED))
    assert record == {
        "nbest": [
            {
                "score": 115.709381,
                "text": "i'll go",
                "words": [{"word": "i'll", "start": 0.33, "end": 0.66}, {"word": "go", "start": 0.66, "end": 1.2}],
            },
            {"score": 115.1, "text": "", "words": []},
        ]
    }
    (lattice,) = read({"utt": "u", **record})
    assert lattice.text == "i'll go"


def test_nothing_said_is_an_empty_hypothesis() -> None:
    assert to_record({"alternatives": [{"text": "", "confidence": 1.0}]}) == NOTHING
    assert to_record({"text": ""}) == NOTHING


def test_what_is_no_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="vosk=FOLDER"):
        load()
    with pytest.raises(InputError, match="no such folder"):
        load(str(tmp_path / "nothing"))
    with pytest.raises(InputError, match=r"no am/final\.mdl"):
        load(str(tmp_path))
    (tmp_path / "am").mkdir()
    (tmp_path / "am" / "final.mdl").write_bytes(b"no model")
    with pytest.raises(InputError, match="cannot load"):
        load(str(tmp_path))


def test_a_graph_that_is_missing_is_an_error(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(weights_folder("vosk-small"), folder, ignore=shutil.ignore_patterns("HCLr.fst"))
    with pytest.raises(InputError, match="missing or damaged"):
        load(str(folder))


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("vosk-model-small-en-us-0.15", "vosk"),
        ("vosk-model-en-us-0.22-lgraph", "vosk"),
        ("vosk-model-en-in-0.5", "vosk"),
        ("vosk-model-de-tuda-0.6-900k", "vosk-de"),
        ("Vosk-Model-Small-CN-0.22", "vosk-cn"),
        ("vosk-model-small-de", "vosk-de"),
        ("vosk-model-el-gr-0.7", "vosk-el"),
        ("vosk-small", "vosk"),
        ("vosk-model-spk-0.4", "vosk"),
        ("model", "vosk"),
    ],
)
def test_another_language_has_another_name(folder: str, name: str) -> None:
    assert name_of_folder(folder) == name


@pytest.fixture(scope="module")
def small() -> VoskRecognizer:
    return load(weights_folder("vosk-small"))


def test_real_speech_is_recognised(small: VoskRecognizer) -> None:
    samples = recording()
    record = small.recognize(samples)
    assert small.identity.to_dict()["name"] == "vosk"
    assert small.identity.pick == "total"
    assert small.identity.settings["model"] == "vosk-small"
    assert "ever tried" in record["nbest"][0]["text"]
    assert 1 <= len(record["nbest"]) <= 10
    check_record(record, len(samples) / RATE + 0.03)
    assert len({hypothesis["text"] for hypothesis in record["nbest"]}) == len(record["nbest"])


def test_a_german_model_is_not_judged_as_an_english_one(tmp_path: Path) -> None:
    folder = tmp_path / "vosk-model-small-de-0.15"
    shutil.copytree(weights_folder("vosk-small"), folder)
    (tmp_path / "mine").symlink_to(folder)
    identity = load(str(tmp_path / "mine")).identity
    assert (identity.name, identity.settings["model"]) == ("vosk-de", "vosk-model-small-de-0.15")


def test_the_same_audio_gives_the_same_words(small: VoskRecognizer) -> None:
    samples = recording()[: 3 * RATE]
    first = small.recognize(samples)
    small.recognize(samples[RATE:])
    assert small.recognize(samples) == first


def test_silence_and_no_audio_say_nothing(small: VoskRecognizer) -> None:
    for samples in (0, 100, RATE):
        assert small.recognize(np.zeros(samples, np.float32)) == NOTHING


@needs_shared
def test_words_are_those_of_the_lattices_that_models_are_trained_on(small: VoskRecognizer) -> None:
    """The first hypothesis is the best path of the stored lattice, at the same times."""
    clip = "common_voice_en_32060968"
    found = small.recognize(AudioFile.open(SHARED / "audio" / f"{clip}.mp3").samples())["nbest"][0]
    (stored,) = (each for each in stored_lattices() if each.utt == clip)
    arcs = [arc for arc in stored.one_best() if stored.word[arc]]
    assert [word["word"] for word in found["words"]] == [stored.words[arc] for arc in arcs]
    for word, arc in zip(found["words"], arcs, strict=True):
        assert word["start"] == pytest.approx(stored.time[stored.source[arc]], abs=0.061)
        assert word["end"] == pytest.approx(stored.time[stored.target[arc]], abs=0.061)


def stored_lattices() -> Any:
    import wordtrust as wt

    folder = SHARED / "kaldi-small-2020"
    return wt.read(folder / "dev.ark.gz", words=folder / "words.txt.gz", frame_length=0.03)
