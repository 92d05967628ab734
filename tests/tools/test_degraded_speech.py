"""Degraded and synthetic speech: strengths as asked, the same bytes in every run, and all the way to labels."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from tools.degraded_speech import conditions, texts
from tools.degraded_speech.__main__ import main
from tools.degraded_speech.clips import Clips, Degrading
from tools.degraded_speech.conditions import CONDITIONS, HELD_OUT, LOUDEST, Scene
from tools.degraded_speech.synthetic import SPLITS, spoken_text, utterances, voices
from tools.sample_sound import RATE, Samples, random_of

import wordtrust as wt
from tests.helpers.command_line import run

CORPUS = Path(wt.__file__).parent / "sample" / "corpus"
AUDIO = CORPUS / "audio"


@cache
def speech(seconds: float = 2.0, seed: int = 1) -> Samples:
    """A voice that comes and goes, with pauses before and after."""
    random, time = np.random.default_rng(seed), np.arange(round(seconds * RATE)) / RATE
    syllables = np.clip(np.sin(2 * np.pi * 3 * time + random.uniform(0, 6)), 0.05, 1)
    tone = sum(np.sin(2 * np.pi * 130 * harmonic * time) / harmonic for harmonic in range(1, 9))
    voice = np.asarray(0.1 * syllables * (tone + 0.1 * random.normal(size=len(time))))
    return np.pad(voice, RATE // 2)


def under(condition: str, number: int, clean: Samples) -> tuple[Samples, str]:
    def others(count: int) -> list[Samples]:
        return [speech(1.5, 20 + seed) for seed in range(count)]

    return CONDITIONS[condition](clean, Scene(random_of(f"{condition} {number}"), others))


def level(samples: Samples) -> float:
    return float(np.sqrt(np.mean(samples**2)))


def frame_levels(samples: Samples) -> Samples:
    return np.asarray(np.sqrt(np.mean(samples[: len(samples) // 320 * 320].reshape(-1, 320) ** 2, axis=1)))


@pytest.mark.parametrize("condition", ["noise", "babble"])
def test_noise_is_as_loud_as_the_row_says(condition: str) -> None:
    """Measured over the frames of the speech that are within 30 dB of the loud ones."""
    for number in range(5):
        clean = speech(seed=number)
        heard, detail = under(condition, number, clean)
        levels = frame_levels(clean)
        active = np.sqrt(np.mean(levels[levels >= 10**-1.5 * np.quantile(levels, 0.95)] ** 2))
        asked = float(detail.split()[-2])
        assert 20 * np.log10(active / level(heard - clean)) == pytest.approx(asked, abs=0.06)
        assert 0 <= asked <= 20


def test_a_second_talker_is_as_loud_as_the_row_says_and_starts_there() -> None:
    clean = speech()
    heard, detail = under("talker", 3, clean)
    other, start = heard - clean, float(detail.split()[4])
    first = int(np.flatnonzero(other)[0]) / RATE
    assert start - 0.06 < first < start + 0.6  # the pause before what the other says
    ratio = 20 * np.log10(conditions.speech_level(clean) / conditions.speech_level(other[round(start * RATE) :]))
    assert ratio == pytest.approx(float(detail.split()[-3]), abs=1.0)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_lengths_and_ranges(condition: str) -> None:
    for number in range(3):
        clean = speech(seed=number)
        heard, detail = under(condition, number, clean)
        samples = conditions.within_range(heard)
        assert np.isfinite(samples).all()
        assert np.abs(samples).max() <= LOUDEST + 1e-9
        if condition == "speed":
            assert len(samples) == pytest.approx(len(clean) / float(detail.split()[1]), rel=0.01)
        elif condition == "cut":
            assert len(samples) < len(clean)
        elif condition != "combined":
            assert len(samples) == len(clean)


def test_only_clipping_clips() -> None:
    """The share of the samples of the speech at the limit is the one in the row; elsewhere only the peak is there."""
    clean = speech()
    loud = np.repeat(frame_levels(clean) >= 10**-1.5 * np.quantile(frame_levels(clean), 0.95), 320)
    for number in range(5):
        heard, detail = under("clipping", number, clean)
        at_limit = np.mean(np.abs(heard[: len(loud)][loud]) > LOUDEST - 1e-9)
        assert at_limit == pytest.approx(float(detail.split("%")[0]) / 100, abs=0.002)
    for condition in ("noise", "babble", "room", "telephone", "speed", "bandstop"):
        heard = conditions.within_range(under(condition, 1, clean * 3)[0])
        assert np.mean(np.abs(heard) > LOUDEST - 1e-9) < 0.001


def test_bands_and_packets_are_gone() -> None:
    hertz = np.fft.rfftfreq(len(speech()), 1 / RATE)
    heard, detail = under("bandstop", 1, speech())
    low, high = (float(word) for word in detail.split() if word.isdigit())
    inside = (hertz > low + 5) & (hertz < high - 5)
    assert np.abs(np.fft.rfft(heard)[inside]).max() < 1e-6 * np.abs(np.fft.rfft(heard)).max()
    narrow = np.abs(np.fft.rfft(under("telephone", 1, speech())[0])) ** 2
    assert narrow[hertz > 4000].sum() < 1e-3 * narrow.sum()


def test_as_many_packets_are_lost_as_the_row_says() -> None:
    """Of 1,500 packets, over some draws: two in a row on average, so single draws go up and down."""
    excess = []
    for number in range(12):
        heard, detail = under("dropouts", number, np.ones(30 * RATE))
        lost = frame_levels(heard) < 0.9
        excess.append(float(np.mean(lost)) - float(detail.split("%")[0]) / 100)
    assert np.mean(excess) == pytest.approx(0, abs=0.015)


def test_tempo_keeps_the_pitch() -> None:
    tone = 0.3 * np.sin(2 * np.pi * 200 * np.arange(RATE) / RATE)
    for factor in (0.7, 1.4):
        spectrum = np.abs(np.fft.rfft(conditions.with_tempo(tone, factor)))
        assert np.argmax(spectrum) * RATE / round(RATE / factor) == pytest.approx(200, abs=3)


@given(st.integers(0, 999_999))
def test_numbers_in_words(number: int) -> None:
    """Read back by adding up."""
    units = {word: value for value, word in enumerate(texts._ONES)} | {
        word: 10 * value for value, word in enumerate(texts._TENS)
    }
    total = part = 0
    for word in texts.cardinal(number).split():
        if word == "thousand":
            total, part = part * 1000, 0
        elif word == "hundred":
            part *= 100
        elif word != "and":
            part += units[word]
    assert total + part == number


def test_texts_are_words_as_spoken() -> None:
    for kind, made in texts.TEXTS.items():
        for number in range(200):
            text = made(random_of(f"{kind} {number}"))
            assert text == " ".join(text.split()) == text.lower()
            assert all(word.replace("'", "").isalpha() for word in text.split()), text
    assert texts.year(1987) == "nineteen eighty seven"
    assert texts.year(1905) == "nineteen oh five"
    assert texts.ordinal(28) == "twenty eighth"
    assert spoken_text("b a t as in i think", np.random.default_rng(1)).startswith("B A, T as in i")


def test_voices_of_splits_are_different_ones() -> None:
    names = [name for split in SPLITS for name in voices(split)]
    assert len(names) == len(set(names))
    made = utterances({"train": 20, "dev": 5, "eval": 5}, seed=1)
    assert len({one.utt for one in made}) == 30
    assert {one.kind for one in made} == set(texts.TEXTS)


def corpus(folder: Path, splits: Sequence[str]) -> Path:
    """The bundled clips in these splits."""
    (folder / "audio").mkdir(parents=True)
    rows = ["utt\tsplit\tspeaker\ttext"]
    for file, split in zip(sorted(AUDIO.iterdir()), splits, strict=False):
        shutil.copy(file, folder / "audio")
        text = wt.read_references(CORPUS / "refs.tsv")[file.stem].text
        rows.append(f"{file.stem}\t{split}\t{file.stem[:-3]}\t{text}")
    (folder / "refs.tsv").write_text("\n".join(rows) + "\n", "utf-8")
    return folder / "audio"


def test_draws_keep_the_split_and_hold_conditions_out_of_training(tmp_path: Path) -> None:
    audio = corpus(tmp_path, ["train", "dev", "dev"])
    degrading = Degrading(Clips(audio, tmp_path / "refs.tsv"), seed=0)
    drawn = degrading.tasks(list(CONDITIONS), ["train", "dev"], 99, None)
    of_train = {condition for utt, condition in drawn if degrading.clips.clips[utt].split == "train"}
    assert of_train == set(CONDITIONS) - set(HELD_OUT)
    assert len(drawn) == len(of_train) + 2 * len(CONDITIONS)
    assert degrading.tasks(["bandstop"], ["train"], 1, None) == []
    assert len(degrading.tasks(list(CONDITIONS), ["dev"], 3, 1)) == 3


def test_the_same_bytes_in_any_order_and_in_parallel(tmp_path: Path) -> None:
    audio = corpus(tmp_path, ["dev", "dev", "dev"])
    four = ["--conditions", "babble,codec,cut,room", "--per-clip", "4"]
    command = ["clips", str(audio), "--refs", str(tmp_path / "refs.tsv"), "--splits", "dev"]
    main([*command, *four, "--jobs", "2", "--out", str(tmp_path / "all")])
    main([*command, "--conditions", "babble,codec", "--jobs", "1", "--out", str(tmp_path / "some")])
    files = sorted((tmp_path / "some" / "audio").iterdir())
    assert len(files) == 3
    assert len(list((tmp_path / "all" / "audio").iterdir())) == 12
    for file in files:
        assert file.read_bytes() == (tmp_path / "all" / "audio" / file.name).read_bytes()
    with pytest.raises(wt.WordtrustError, match="is there already"):
        main([*command, "--out", str(tmp_path / "some")])


@pytest.mark.slow
def test_from_clips_to_labels(tmp_path: Path) -> None:
    """Degrade, recognise, build: a store with references, labels and speakers in each split."""
    pytest.importorskip("moonshine_voice")
    audio = corpus(tmp_path, ["dev", "eval"])
    main(["clips", str(audio), "--splits", "dev,eval", "--conditions", "telephone,cut", "--per-clip", "2",
          "--jobs", "1", "--out", str(tmp_path / "made")])  # fmt: skip
    made, heard = tmp_path / "made" / "refs.tsv", tmp_path / "made" / "moonshine-tiny"
    assert soundfile.info(next((tmp_path / "made" / "audio").iterdir())).samplerate == RATE
    run("recognize", made, "--by-split", "--recognizer", "moonshine", "--jobs", 1, "--out", heard)
    run("build", heard / "dev", "--ref", made, "--out", tmp_path / "networks")
    networks = wt.read(tmp_path / "networks")
    assert sorted(networks.utts) == ["festival-slt-12.cut", "festival-slt-12.telephone"]
    assert set(networks.notes["speaker"]) == {"festival-slt"}
    assert set(networks.extra["label"].tolist()) >= {0, 1}
