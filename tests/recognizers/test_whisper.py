"""Whisper: the file of weights, our pass over the decoder, times, words, names; and the whole with real weights."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import whisper_model as made
from tests.helpers.nbest_records import check_record
from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.speech import recording, weights_folder
from wordtrust.audio import RATE
from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.errors import InputError, OptionError
from wordtrust.lattices.text import DEFAULT
from wordtrust.recognizers.forced import heard_scores, printed, written_like
from wordtrust.recognizers.nbest import TokenEvidence
from wordtrust.recognizers.whisper import decoder as whisper_decoder
from wordtrust.recognizers.whisper.decoder import SpecialTokens, WhisperDecoder
from wordtrust.recognizers.whisper.model_files import (
    WhisperSizes,
    name_of_folder,
    name_of_model,
    read_config,
    read_weights,
)
from wordtrust.recognizers.whisper.words import (
    MEDIAN,
    TimedHypothesis,
    first_frames,
    median_filter,
    nbest,
    token_starts,
)

VOCABULARY = SpecialTokens(prompt=[30, 31], end=29, suppressed=[5, 31], suppressed_first=[7, 29])
HYPOTHESES = [[1, 2, 3], [1, 2, 4, 8, 9], [6], [1, 2]]
BASE = WhisperSizes(512, 6, 6, 8, 51_865, 80)


# The file of weights


def test_weights_come_back_as_they_were_written(tmp_path: Path) -> None:
    weights = made.made_weights()
    found = read_weights(made.write(tmp_path, weights))
    assert found.sizes == WhisperSizes(made.WIDTH, 1, made.LAYERS, made.HEADS, made.VOCABULARY, 80)
    for name, values in weights.items():
        assert np.array_equal(found[name], values), name


def test_halves_and_integers_become_floats(tmp_path: Path) -> None:
    weights = made.made_weights()
    half = weights["decoder/layer_norm/gamma"].astype(np.float16)
    scale = np.linspace(50, 90, made.WIDTH).astype(np.float32)
    name = "decoder/layer_0/self_attention/linear_1/weight"
    small = np.rint(weights[name] * 10).astype(np.int8)
    weights |= {"decoder/layer_norm/gamma": half, name: small, f"{name}_scale": scale}
    found = read_weights(made.write(tmp_path, weights))
    assert np.array_equal(found["decoder/layer_norm/gamma"], half.astype(np.float32))
    assert found[name] == pytest.approx(small / scale[:, None], rel=1e-6)
    assert found[name].dtype == np.float32


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.01, 0.5, 0.9, 0.9999])
def test_a_file_cut_off_is_an_error(tmp_path: Path, share: float) -> None:
    data = made.file_bytes(made.made_weights())[:-4]
    (tmp_path / "model.bin").write_bytes(data[: int(share * len(data))])
    with pytest.raises(InputError, match=r"model\.bin"):
        read_weights(tmp_path)


@given(data=st.data())
def test_damage_is_an_error_or_harmless(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    whole = bytearray(made.file_bytes(made.made_weights()))
    for _ in range(data.draw(st.integers(1, 5))):
        whole[data.draw(st.integers(0, min(4000, len(whole) - 1)))] = data.draw(st.integers(0, 255))
    (folder / "model.bin").write_bytes(whole)
    with suppress(InputError):
        read_weights(folder)


def test_other_files_are_refused(tmp_path: Path) -> None:
    weights = made.made_weights()
    with pytest.raises(InputError, match=r"no model\.bin"):
        read_weights(tmp_path)
    for data, message in (
        (made.file_bytes(weights, version=7), "version 7"),
        (made.file_bytes(weights, kind="TransformerSpec"), "not a Whisper"),
        (made.file_bytes({name: weights[name] for name in list(weights)[:2]}), "missing"),
        (b"", "empty"),
    ):
        (tmp_path / "model.bin").write_bytes(data)
        with pytest.raises(InputError, match=message):
            read_weights(tmp_path)


# Our pass over the decoder


def encoded_audio() -> Any:
    return np.random.default_rng(5).normal(0, 1, (made.FRAMES, made.WIDTH)).astype(np.float32)


@pytest.mark.parametrize("rows", [2, 64])
def test_log_probabilities_and_attention_are_those_of_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(whisper_decoder, "ROWS", rows)
    weights, audio = made.made_weights(), encoded_audio()
    heads = [(0, 2), (1, 0)]
    decoder = WhisperDecoder(read_weights(made.write(tmp_path, weights)), VOCABULARY, heads)
    for tokens, heard in zip(HYPOTHESES, decoder.force(audio, HYPOTHESES), strict=True):
        logits, scores = made.by_torch(weights, audio, [*VOCABULARY.prompt, *tokens, VOCABULARY.end])
        logits = logits[len(VOCABULARY.prompt) - 1 : -1].clone()
        logits[:, VOCABULARY.suppressed] = -torch.inf
        logits[0, VOCABULARY.suppressed_first] = -torch.inf
        said = [*tokens, VOCABULARY.end]
        expected = logits.log_softmax(-1)[range(len(said)), said].numpy()
        assert heard.logprobs == pytest.approx(expected, abs=2e-5)
        entropies = -(logits.softmax(-1) * logits.log_softmax(-1).nan_to_num(neginf=0)).sum(-1)
        taken = logits[range(len(said)), said]
        others = logits.clone()
        others[range(len(said)), said] = -torch.inf
        assert heard.evidence.entropies == pytest.approx(entropies.numpy(), abs=1e-4)
        assert heard.evidence.margins == pytest.approx((taken - others.max(-1).values).numpy(), abs=5e-5)
        ranks = logits.argsort(-1, descending=True).argsort(-1)[range(len(said)), said]
        assert heard.evidence.ranks.tolist() == ranks.tolist()
        for row, head in enumerate(heads):
            assert heard.attention[row] == pytest.approx(scores[head], abs=2e-5)


def test_neighbours_do_not_change_a_hypothesis(tmp_path: Path) -> None:
    decoder = WhisperDecoder(read_weights(made.write(tmp_path, made.made_weights())), VOCABULARY, [(1, 1)])
    together = decoder.force(encoded_audio(), HYPOTHESES)
    for tokens, heard in zip(HYPOTHESES, together, strict=True):
        (alone,) = decoder.force(encoded_audio(), [tokens])
        assert heard.logprobs == pytest.approx(alone.logprobs, abs=1e-5)
        assert heard.attention == pytest.approx(alone.attention, abs=1e-5)


# Times


def test_the_path_is_the_cheapest_of_all() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        costs = rng.normal(size=(3, 6))
        found = first_frames(costs)
        assert path_cost(costs, found.tolist()) == pytest.approx(
            min(path_cost(costs, [0, *rest]) for rest in combinations_with_replacement(range(6), 2))
        )


def path_cost(costs: Any, starts: list[int]) -> float:
    """The least cost of a path that enters the rows at these frames: it may go straight down, or aslant."""
    rows, frames = costs.shape
    total = 0.0
    for row, start in enumerate(starts):
        until = starts[row + 1] if row + 1 < rows else frames - 1
        shared = row + 1 < rows and until > start
        both = costs[row, start : until + 1].sum()
        total += min(both, both - costs[row, until]) if shared else both
    return float(total)


def test_tokens_begin_where_the_heads_look() -> None:
    begins, frames, prompt = [0, 10, 24, 40, 55], 60, 2
    rng = np.random.default_rng(1)
    attention = rng.normal(0, 0.1, (3, prompt + len(begins), 80)).astype(np.float32)
    for row, (begin, end) in enumerate(zip(begins, [*begins[1:], frames], strict=True)):
        attention[:, prompt - 1 + row, begin:end] += 5
    found = token_starts(attention, frames, prompt)
    assert found == pytest.approx(np.array(begins) * 0.02, abs=0.041)
    assert found[0] == 0
    assert np.all(np.diff(found) > 0)


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 20])
def test_short_audio_has_times_too(frames: int) -> None:
    attention = np.random.default_rng(2).normal(0, 1, (2, 7, 50)).astype(np.float32)
    found = token_starts(attention, frames, 2)
    assert found.shape == (5,)
    assert np.all(np.diff(found) >= 0)
    assert found[-1] <= (frames - 1) * 0.02 + 1e-9


def test_smoothing_is_the_median_of_neighbours() -> None:
    values = np.random.default_rng(4).normal(size=(2, 3, 20)).astype(np.float32)
    padded = np.concatenate([values[..., 3:0:-1], values, values[..., -2:-5:-1]], -1)
    smoothed = median_filter(values)
    for frame in range(20):
        assert np.array_equal(smoothed[..., frame], np.median(padded[..., frame : frame + MEDIAN], -1))


# Words


def test_a_record_has_words_as_whisper_writes_them() -> None:
    spelled = {1: "ĠMiddle", 2: "-", 3: "earth", 4: ".", 5: "ĠI", 6: "Ġ", 7: "t"}

    def decode(tokens: Any) -> str:
        return "".join(spelled[token] for token in tokens).replace("Ġ", " ")

    def hypothesis(tokens: list[int], logprobs: list[float]) -> TimedHypothesis:
        times = np.arange(len(tokens) + 1, dtype=np.float64) / 50
        evidence = TokenEvidence(np.arange(len(times)) / 3, np.arange(len(times)), np.array([np.inf, *logprobs[1:]]))
        return TimedHypothesis(tokens, [spelled[token] for token in tokens], np.array(logprobs), evidence, times)

    long = hypothesis([5, 1, 2, 3, 4], [-0.5, -0.25, -0.25, -0.125, -0.125, -0.25])
    short = hypothesis([5], [-0.7, -0.6])
    record = nbest([long, short], decode, no_speech_prob=0.12345).to_record()
    assert record["no_speech_prob"] == 0.1235
    assert record["best_avg"] == 1  # -1.5/6 is better than -1.3/2
    assert [hypothesis["score"] for hypothesis in record["nbest"]] == [-1.3, -1.5]
    assert record["nbest"][1] == {
        "score": -1.5,
        "text": "I Middle-earth.",
        "avg_logprob": -0.25,
        "eot_logprob": -0.25,
        "token_ids": [5, 1, 2, 3, 4],
        "token_logprobs": [-0.5, -0.25, -0.25, -0.125, -0.125],
        "token_entropies": [0.0, 0.3333, 0.6667, 1.0, 1.3333],
        "token_ranks": [0, 1, 2, 3, 4],
        "token_margins": [100.0, -0.25, -0.25, -0.125, -0.125],
        "words": [
            {"word": "I", "start": 0.0, "end": 0.02, "logprob": -0.5, "tokens": 1},
            {"word": "Middle-earth.", "start": 0.02, "end": 0.1, "logprob": -0.75, "tokens": 4},
        ],
    }


# Names and settings


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("tiny.en", "whisper-tiny.en"),
        ("base", "whisper-base"),
        ("large", "whisper-large-v3"),
        ("turbo", "whisper-large-v3-turbo"),
        ("Systran/faster-whisper-small.en", "whisper-small.en"),
        ("Systran/faster-distil-whisper-large-v2", "whisper-distil-large-v2"),
        ("distil-whisper/distil-large-v3.5-ct2", "whisper-distil-large-v3.5"),
        ("distil-medium.en", "whisper-distil-medium.en"),
    ],
)
def test_a_model_has_one_name_wherever_it_comes_from(model: str, name: str) -> None:
    assert name_of_model(model) == name


@pytest.mark.parametrize(
    ("sizes", "folder", "name"),
    [
        (WhisperSizes(384, 4, 4, 6, 51_864, 80), "model", "whisper-tiny.en"),
        (BASE, "data", "whisper-base"),
        (WhisperSizes(768, 12, 4, 12, 51_864, 80), "x", "whisper-distil-small.en"),
        (WhisperSizes(1280, 32, 32, 20, 51_866, 128), "x", "whisper-large-v3"),
        (WhisperSizes(1280, 32, 32, 20, 51_865, 80), "faster-whisper-large-v1", "whisper-large-v1"),
        (WhisperSizes(1280, 32, 4, 20, 51_866, 128), "x", "whisper-large-v3-turbo"),
        (WhisperSizes(100, 3, 3, 4, 51_865, 80), "whisper-mine", "whisper-mine"),
    ],
)
def test_a_folder_is_known_by_its_sizes(sizes: WhisperSizes, folder: str, name: str) -> None:
    assert name_of_folder(folder, sizes) == name


def test_settings_are_checked(tmp_path: Path) -> None:
    def config(text: str) -> Any:
        (tmp_path / "config.json").write_text(text)
        return read_config(tmp_path, BASE)

    found = config('{"suppress_ids": [1, 2], "alignment_heads": [[3, 1]]}')
    assert found == ([1, 2], [], [(3, 1)])
    assert config("{}").heads == [(layer, head) for layer in (3, 4, 5) for head in range(8)]
    for bad in ('{"alignment_heads": [[6, 0]]}', '{"alignment_heads": []}', '{"suppress_ids": [51865]}', "[]", "{"):
        with pytest.raises(InputError, match=r"config\.json"):
            config(bad)
    (tmp_path / "config.json").unlink()
    with pytest.raises(InputError, match="no such file"):
        read_config(tmp_path, BASE)


# The whole


def load(model: str | None, **options: Any) -> Any:
    pytest.importorskip("faster_whisper", reason='needs pip install ".[whisper]"')
    from wordtrust.recognizers.whisper.adapter import load as load_whisper

    return load_whisper(model, **options)


def test_what_is_no_model_is_an_error(tmp_path: Path) -> None:
    def refused(model: str | None, message: str, kind: type[Exception] = InputError) -> None:
        with pytest.raises(kind, match=message):
            load(model)

    refused(None, "needs a model", OptionError)
    refused("huge", r"no model 'huge'.*tiny\.en", OptionError)
    for path in ("/none/such", "./none", "../none", "~/none", "none/", "a/b/c"):
        refused(path, "there is no such folder")
    for half in ("@de", "base@"):
        refused(half, "a model and a language", OptionError)
    refused(str(tmp_path), r"no model\.bin")
    made.write(tmp_path, made.made_weights())
    refused(str(tmp_path), r"config\.json")
    (tmp_path / "config.json").write_text("{}")
    refused(str(tmp_path), r"no tokenizer\.json")
    (tmp_path / "tokenizer.json").write_text("{}")
    refused(str(tmp_path), "cannot be loaded")


def test_a_model_that_cannot_be_fetched_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faster_whisper")
    from wordtrust.recognizers.whisper import adapter as whisper

    def fail(name: str) -> str:
        raise ConnectionError("no network\nand more")

    monkeypatch.setattr(whisper, "download_model", fail)
    with pytest.raises(InputError, match=r"someone/model: .*could not be fetched: no network\. Check"):
        load("someone/model")


@pytest.fixture(scope="module")
def tiny() -> Any:
    return load(weights_folder("whisper-tiny.en"))


def test_real_speech_is_recognised(tiny: Any) -> None:
    samples = recording()
    record = tiny.recognize(samples)
    assert tiny.identity.name == "whisper-tiny.en"
    assert tiny.identity.pick == "average"
    assert len(record["nbest"]) == 10
    assert "ever tried" in record["nbest"][record["best_avg"]]["text"].lower()
    assert 0 <= record["no_speech_prob"] < 0.5
    check_record(record, len(samples) / RATE)
    again = samples[: 2 * RATE]
    assert tiny.recognize(again) == tiny.recognize(again)


def test_our_scores_are_those_of_the_search(tiny: Any) -> None:
    samples = recording()[: 4 * RATE]
    encoded = tiny._encode(samples)
    searched = tiny._search(encoded, len(samples) / RATE)
    ours = tiny.timed(np.array(encoded)[0], searched.sequences_ids, 200)
    assert [each.score for each in ours] == pytest.approx(searched.scores, abs=5e-3)


def test_given_texts_have_the_scores_of_the_search(tiny: Any) -> None:
    samples = recording()[: 4 * RATE]
    own = printed(tiny.recognize(samples), "average")
    words = DEFAULT.words(own["text"])
    again, other, empty = tiny.score_texts(samples, [written_like(words, own), ["purple", "(cow)"], []])
    known = heard_scores(words, own)
    assert known is not None
    for one, two in zip(again, known, strict=True):
        assert one == pytest.approx(two, abs=5e-3)
    assert np.median(again.logprob) > -1 > -6 > other.logprob.max()
    assert other.least[1] == empty.end == -100.0  # brackets are never written, and no text is empty


def test_a_text_too_long_is_scored_as_far_as_it_goes(tiny: Any) -> None:
    short, long = tiny.score_texts(recording()[: 2 * RATE], [["ever"] * 3, ["ever"] * 500])
    assert short.tokens.sum() == 3
    assert np.isfinite(long.logprob[:400]).all()
    assert np.isnan([long.logprob[499], long.end]).all()
    assert long.logprob[:3] == pytest.approx(short.logprob, abs=1e-3)
    (nothing,) = tiny.score_texts(np.zeros(99, np.float32), [["ever"]])
    assert np.isnan(nothing.logprob).all()


@needs_shared
@pytest.mark.parametrize("name", ["whisper-tiny.en", "whisper-base"])
def test_records_are_those_that_models_were_trained_on(name: str) -> None:
    """Clips of dev as they are stored; resampling alone moves scores by some hundredths."""
    recognizer = load(weights_folder(name))
    assert recognizer.identity.name == name
    clips = ["common_voice_en_31954149", "common_voice_en_32060968"]
    with gzip.open(SHARED / name / "dev.jsonl.gz", "rt") as lines:
        stored = {each["utt"]: each for each in map(json.loads, lines) if each["utt"] in clips}
    for clip in clips:
        record = recognizer.recognize(AudioFile.open(SHARED / "audio" / f"{clip}.mp3").samples())
        known = {each["text"]: each for each in stored[clip]["nbest"]}
        best = stored[clip]["nbest"][stored[clip]["best_avg"]]
        assert record["nbest"][record["best_avg"]]["text"] == best["text"]
        both = [(each, known[each["text"]]) for each in record["nbest"] if each["text"] in known]
        assert len(both) >= 7
        for ours, theirs in both:
            assert ours["token_ids"] == theirs["token_ids"]
            assert set(ours) == set(theirs)
            assert ours["score"] == pytest.approx(theirs["score"], abs=0.1)
            assert ours["token_logprobs"] == pytest.approx(theirs["token_logprobs"], abs=0.05)
            assert ours["eot_logprob"] == pytest.approx(theirs["eot_logprob"], abs=0.05)
            assert [word["word"] for word in ours["words"]] == [word["word"] for word in theirs["words"]]
            assert [word["start"] for word in ours["words"]] == pytest.approx(
                [word["start"] for word in theirs["words"]], abs=0.041
            )


def test_pieces_too_short_or_too_long(tiny: Any) -> None:
    assert tiny.recognize(np.zeros(0, np.float32)) == {"nbest": [{"score": 0.0, "words": []}]}
    assert tiny.recognize(np.zeros(800, np.float32))["nbest"]
    for refuse in (tiny.recognize, lambda samples: tiny.score_texts(samples, [["a"]])):
        with pytest.raises(InputError, match="30 s at once"):
            refuse(np.zeros(31 * RATE, np.float32))


def test_another_language() -> None:
    folder = weights_folder("whisper-base")
    assert load(folder).identity.settings["language"] == "en"
    german = load(f"{folder}@DE")
    assert german.identity.name == "whisper-base@de"
    assert german.identity.settings["language"] == "de"
    assert german.identity.settings["model"] == Path(folder).resolve().name
    assert german._tokenizer.language_code == "de"
    with pytest.raises(OptionError, match="'klingon' is not a valid language"):
        load(f"{folder}@klingon")


def test_an_english_model_knows_no_other_language() -> None:
    with pytest.raises(OptionError, match="knows English only, not 'de'"):
        load(f"{weights_folder('whisper-tiny.en')}@de")
