"""Clips of one speaker after one another."""

from __future__ import annotations

from pathlib import Path

import soundfile
from click.testing import CliRunner
from experiments.long_speech import main

import wordtrust as wt
from wordtrust.formats.references import read_references

CLIPS = sorted((Path(wt.__file__).parent / "sample" / "corpus" / "audio").glob("festival-*.flac"))


def test_segments_are_clips_of_one_speaker(tmp_path: Path) -> None:
    rows = [f"{clip.stem}\tdev\tfestival\tword {clip.stem[-1]}\n" for clip in CLIPS]
    other = "flite-rms-fast-03\tdev\tflite\tother\n"
    (tmp_path / "refs.tsv").write_text("utt\tsplit\tspeaker\ttext\n" + "".join(rows) + other, "utf-8")
    given = [str(tmp_path / "refs.tsv"), "--audio", str(CLIPS[0].parent), "--seconds", "60", "--out"]
    done = CliRunner().invoke(main, [*given, str(tmp_path / "long")], catch_exceptions=False)
    assert "1 segments" in done.output
    ((utt, reference),) = read_references(tmp_path / "long" / "refs.tsv").items()
    assert reference.words == ("word", CLIPS[0].stem[-1], "word", CLIPS[1].stem[-1])
    assert reference.speaker == "festival"
    seconds = soundfile.info(tmp_path / "long" / "audio" / f"{utt}.flac").duration
    assert abs(seconds - sum(soundfile.info(clip).duration for clip in CLIPS)) < 0.01
