"""score --out "{name}.srt": a file for each utterance."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.command_line import refused, run
from wordtrust.confidence.calibration import make
from wordtrust.confidence.calibrator_file import save_calibrator


def words(tmp_path: Path, *names: str) -> tuple[Path, Path]:
    scores = [0.05 * index for index in range(20)]
    save_calibrator(tmp_path / "cal.json", make("platt").fit(scores, [index % 3 > 0 for index in range(20)]))
    (tmp_path / "in.ctm").write_text("".join(f"{name} 1 0.50 0.50 {name[-1]}-word 0.9\n" for name in names))
    return tmp_path / "cal.json", tmp_path / "in.ctm"


def test_each_utterance_has_a_file(tmp_path: Path) -> None:
    model, source = words(tmp_path, "a", "b", "../c")
    result = run("score", model, source, "--out", tmp_path / "{name}.srt")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in tmp_path.glob("*.srt")) == ["__c.srt", "a.srt", "b.srt"]
    assert "is there already" in refused("score", model, source, "--out", tmp_path / "{name}.srt")
    assert run("score", model, source, "--out", tmp_path / "{name}.srt", "--overwrite").exit_code == 0


def test_two_utterances_of_one_file_name_are_refused(tmp_path: Path) -> None:
    model, source = words(tmp_path, "x/a", "x_a")
    assert "two utterances" in refused("score", model, source, "--out", tmp_path / "{name}.srt")


def test_one_file_of_subtitles_says_how_to_write_several(tmp_path: Path) -> None:
    model, source = words(tmp_path, "a", "b")
    assert "{name}.srt" in refused("score", model, source, "--out", tmp_path / "all.srt")
    assert not (tmp_path / "all.srt").exists()


def test_what_is_read_is_never_replaced(tmp_path: Path) -> None:
    model, source = words(tmp_path, "in")
    assert "is what is read" in refused("score", model, source, "--out", tmp_path / "{name}.ctm", "--overwrite")
    assert source.read_text() == "in 1 0.50 0.50 n-word 0.9\n"
