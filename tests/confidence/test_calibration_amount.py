"""How many words a calibration needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import refused, run
from wordtrust import calibrate_scores
from wordtrust.base.errors import InputError


def files(folder: Path, words: int, speakers: int) -> tuple[Path, Path]:
    """A CTM with so many words, every fourth of them wrong, and its references."""
    ctm, ref = [], ["utt\tspeaker\ttext"]
    for speaker in range(speakers):
        spoken = []
        for place in range(words // speakers):
            ctm.append(f"u{speaker} 1 {place}.0 0.9 w{place} {0.5 + (place * 37 % 50) / 100:.2f}")
            spoken.append("other" if place % 4 == 0 else f"w{place}")
        ref.append(f"u{speaker}\ts{speaker}\t{' '.join(spoken)}")
    (folder / "x.ctm").write_text("\n".join(ctm) + "\n")
    (folder / "ref.tsv").write_text("\n".join(ref) + "\n")
    return folder / "x.ctm", folder / "ref.tsv"


def test_four_words_of_one_speaker_are_refused(tmp_path: Path) -> None:
    ctm, ref = files(tmp_path, 4, 1)
    said = refused("calibrate", "--scores", ctm, "--ref", ref, "-o", tmp_path / "c.json")
    assert "4 words of 1 speaker: too few to calibrate on. 50 words are the least; 1,000 of 5 speakers" in said
    assert not (tmp_path / "c.json").exists()
    with pytest.raises(InputError, match="too few to calibrate on"):
        calibrate_scores(ctm, ref)


@pytest.mark.parametrize(("words", "speakers"), [(200, 4), (1200, 3), (500, 10)])
def test_few_are_warned_of(words: int, speakers: int, tmp_path: Path) -> None:
    ctm, ref = files(tmp_path, words, speakers)
    said = run("calibrate", "--scores", ctm, "--ref", ref, "-o", tmp_path / "c.json").stderr
    assert f"calibrated on {words:,} words of {speakers} speakers: confidences will be rough" in said
    assert (tmp_path / "c.json").exists()


def test_many_are_not(tmp_path: Path) -> None:
    ctm, ref = files(tmp_path, 1000, 5)
    assert "rough" not in run("calibrate", "--scores", ctm, "--ref", ref, "-o", tmp_path / "c.json").stderr
