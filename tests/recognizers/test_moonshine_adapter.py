"""The real Moonshine tiny on real speech: the recordings in its wheel, and the developers' clips where they are."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.helpers.engine_moonshine import Engine
from tests.helpers.nbest_records import check_record
from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.speech import recording
from wordtrust.audio import RATE, Samples
from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.errors import InputError, OptionError
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.text import Normalizer
from wordtrust.recognizers.base import Recognizer
from wordtrust.recognizers.moonshine import adapter as moonshine
from wordtrust.recognizers.moonshine.adapter import MoonshineRecognizer, weights_folder
from wordtrust.recognizers.moonshine.graphs import END
from wordtrust.recognizers.moonshine.search import BEGIN
from wordtrust.recognizers.serialization import to_lattice, to_line

pytestmark = pytest.mark.slow

BECKETT = "ever tried ever failed no matter try again fail again fail better"
CITIES = "it was the best of times it was the worst of times it was the age of wisdom"


@cache
def recognizer() -> MoonshineRecognizer:
    return moonshine.load()


@cache
def beckett() -> dict[str, Any]:
    return dict(recognizer().recognize(recording()))


def plain(text: str) -> str:
    return " ".join(Normalizer().words(text))


def test_it_understands_what_is_read() -> None:
    assert plain(beckett()["nbest"][0]["text"]) == BECKETT
    cities = plain(recognizer().recognize(recording("two_cities.wav")[: int(7.5 * RATE)])["nbest"][0]["text"])
    assert cities.startswith(CITIES)


def test_the_parts_of_a_record_agree() -> None:
    record = beckett()
    hypotheses = record["nbest"]
    assert len({tuple(one["token_ids"]) for one in hypotheses}) == len(hypotheses) == moonshine.BEAM
    assert record["duration"] == pytest.approx(len(recording()) / RATE, abs=1e-3)
    assert record["empty_logprob"] < hypotheses[-1]["score"]
    check_record(record, record["duration"])
    assert all(word["start"] < word["end"] for one in hypotheses for word in one["words"])


def test_times_move_with_the_words() -> None:
    """Silence before and behind the speech moves every word by a second, and no word is in the silence."""
    samples, silence = recording()[: 5 * RATE], np.zeros(RATE, np.float32)
    words = recognizer().recognize(samples)["nbest"][0]["words"]
    later = recognizer().recognize(np.concatenate([silence, samples, silence]))["nbest"][0]["words"]
    assert later[0]["start"] > 0.9
    assert later[-1]["end"] < 6.1
    moved = {word["word"].lower().strip(",.!"): word["start"] for word in later}
    shifts = [
        moved[name] - word["start"] for word in words[1:] if (name := word["word"].lower().strip(",.!")) in moved
    ]
    assert len(shifts) >= 2
    assert np.median(shifts) == pytest.approx(1.0, abs=0.1)


def test_a_record_becomes_a_lattice() -> None:
    found = to_lattice(to_line(beckett()), "beckett", recognizer().identity)
    assert isinstance(found, Lattices)
    assert len(found) == 1
    assert len(found.source) > len(BECKETT.split())


def test_a_score_does_not_depend_on_its_neighbours() -> None:
    samples = recording()
    for one in beckett()["nbest"][:10:9]:
        decoder, total, end = recognizer().model.encode(samples), 0.0, 0.0
        for token, following in zip([BEGIN, *one["token_ids"]], [*one["token_ids"], END], strict=True):
            found = decoder.step(np.array([token]), np.array([0]))
            end = float(found.end[0])
            known = dict(zip(found.tokens[0].tolist(), found.logprobs[0].tolist(), strict=True))
            total += end if following == END else known[following]
        assert total == pytest.approx(one["score"], abs=1e-3)


def test_it_agrees_with_the_published_graphs() -> None:
    """Those compute in int8, so they agree roughly: over a text, token by token."""
    samples, tokens = recording(), beckett()["nbest"][0]["token_ids"]
    decoder = Engine(weights_folder()).hear(samples)
    scores = []
    for token, following in zip([BEGIN, *tokens], [*tokens, END], strict=True):
        scores.append(float(decoder.logprobs(np.array([token]), np.array([0]))[0, following]))
    ours = [*beckett()["nbest"][0]["token_logprobs"], beckett()["nbest"][0]["eot_logprob"]]
    assert np.abs(np.array(scores) - ours).max() < 0.4
    assert np.median(np.abs(np.array(scores) - ours)) < 0.03


@pytest.mark.parametrize("samples", [np.zeros(0), np.ones(3_999), np.zeros(16_000)], ids=["none", "short", "silence"])
def test_nothing_is_invented(samples: Samples) -> None:
    record = recognizer().recognize(samples.astype(np.float32))
    assert record["nbest"] == [{"score": 0.0, "words": []}]


def test_the_shortest_piece_has_times_too() -> None:
    record = recognizer().recognize(recording()[8_000:12_000])
    assert all(0 <= word["start"] < word["end"] <= 0.25 for one in record["nbest"] for word in one["words"])


def test_bad_samples_are_refused() -> None:
    with pytest.raises(InputError, match=r"30\.1 s .* Split it"):
        recognizer().recognize(np.zeros(int(30.1 * RATE), np.float32))
    with pytest.raises(InputError, match="finite"):
        recognizer().recognize(np.full(RATE, np.nan, np.float32))
    with pytest.raises(InputError, match="one row"):
        recognizer().recognize(np.zeros((2, RATE), np.float32))


def test_the_identity() -> None:
    loaded: Recognizer = recognizer()
    identity = loaded.identity
    assert (identity.name, identity.version, identity.pick) == ("moonshine-tiny", "0.0.65", "total")
    assert json.loads(json.dumps(identity.to_dict()))["settings"]["beam"] == moonshine.BEAM
    assert "model" not in identity.settings
    identity = moonshine.load(str(weights_folder())).identity
    assert (identity.name, identity.version, identity.settings["model"]) == ("moonshine-tiny", "folder", "tiny-en")


def test_a_wheel_without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moonshine, "find_spec", lambda _: None)
    with pytest.raises(OptionError, match=r"moonshine-voice==0\.0\.65"):
        moonshine.load()


def test_loading_imports_neither_its_package_nor_torch() -> None:
    code = """if True:
        import sys
        import wordtrust.recognizers
        assert not {"onnxruntime", "onnx"} & set(sys.modules)
        path = list(sys.path)
        from wordtrust.recognizers.moonshine import adapter as moonshine
        moonshine.load()
        assert sys.path == path
        print(sorted({"moonshine_voice", "sounddevice", "torch", "onnxruntime.tools"} & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


@needs_shared
def test_records_are_those_that_models_of_confidence_were_trained_on() -> None:
    with gzip.open(SHARED / "moonshine-tiny" / "dev.jsonl.gz", "rt") as file:
        known = {record["utt"]: record for record in map(json.loads, file)}
    clips = [path for path in sorted((SHARED / "audio").glob("*.mp3")) if path.stem in known][:4]
    assert len(clips) == 4
    starts, ends = [], []
    for path in clips:
        ours, theirs = recognizer().recognize(AudioFile.open(path).samples()), known[path.stem]
        assert ours["nbest"][0]["text"] == theirs["nbest"][0]["text"]
        assert ours["empty_logprob"] == pytest.approx(theirs["empty_logprob"], abs=0.05)
        found = {tuple(one["token_ids"]): one for one in ours["nbest"]}
        same = [(found[key], one) for one in theirs["nbest"] if (key := tuple(one["token_ids"])) in found]
        assert len(same) >= 9
        for mine, stored in same:
            assert mine["score"] == pytest.approx(stored["score"], abs=0.05)
            assert mine["token_logprobs"] == pytest.approx(stored["token_logprobs"], abs=0.05)
            assert [(word["word"], word["tokens"]) for word in mine["words"]] == [
                (word["word"], word["tokens"]) for word in stored["words"]
            ]
            for one, other in zip(mine["words"], stored["words"], strict=True):
                starts.append(abs(one["start"] - other["start"]))
                ends.append(abs(one["end"] - other["end"]))
    assert np.median(starts) < 0.02
    assert np.quantile(starts, 0.9) < 0.06
    assert np.median(ends) < 0.02
    assert np.quantile(ends, 0.9) < 0.1
