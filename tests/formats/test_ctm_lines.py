"""CTM that is written again: nothing changes but the confidences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.command_line import run
from tests.helpers.reading import stream_of
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.problems import Problems
from wordtrust.confidence.calibrate_scores import CalibratedWords, calibrate_scores
from wordtrust.confidence.calibration import Calibrator
from wordtrust.confidence.calibrator_file import save_calibrator
from wordtrust.confidence.evaluate_model import evaluate
from wordtrust.formats import read, stream_files
from wordtrust.formats.ctm_lines import CtmCopy, are_ctm
from wordtrust.formats.format import ReadOptions
from wordtrust.lattices.weights import Reals

_PARTS = st.text("abXY09-;'.,*(%&", min_size=1, max_size=8).filter(lambda text: not text.startswith(";;"))
_WORDS = st.one_of(
    st.sampled_from(["UH-HUH", "THEY;tag1", "PRIDE;tag1;tag2", "ABOUT;;tag2", "<noise>", "[laughter]", "-", "don't"]),
    _PARTS,
)
_TIMES = st.decimals(0, 100, places=2).map(str)
_LINES = st.tuples(
    st.sampled_from(["2347", "call", "call-A", "x.y"]), st.sampled_from(["A", "B", "1", "ch_0"]), _TIMES, _TIMES,
    _WORDS, st.decimals(0, 1, places=3).map(str), st.sampled_from(["", "lex", "non-lex spk_1"]),
)  # fmt: skip


def copied(text: str, folder: Path, **how: object) -> str:
    out = folder / "out.ctm"
    CtmCopy(**how).write([stream_of(text.encode(), "x.ctm")], out)  # type: ignore[arg-type]
    return out.read_text("utf-8")


def squared(confidence: Reals) -> Reals:
    return np.square(confidence)


@settings(deadline=None)
@given(st.lists(_LINES, min_size=1, max_size=30))
def test_only_the_confidence_changes(tmp_path_factory: pytest.TempPathFactory, lines: list[tuple[str, ...]]) -> None:
    text = ";; a comment\n" + "".join(" ".join(line).strip() + "\n" for line in lines)
    written = copied(text, tmp_path_factory.mktemp("ctm"), show=squared)
    comment, *others = written.splitlines()
    assert comment == ";; a comment"
    for line, other in zip(lines, others, strict=True):
        fields = other.split()
        assert float(fields.pop(5)) == pytest.approx(float(line[5]) ** 2, abs=1e-6)
        assert fields == [*line[:5], *line[6].split()]
    assert copied(text, tmp_path_factory.mktemp("ctm")) == text


def calls() -> tuple[str, str]:
    """Two channels with tags, hyphens, overlaps and pauses, and their reference."""
    hypotheses, references = [], []
    for channel in "AB":
        said = [f"w{index % 7}" for index in range(60)]
        for index, word in enumerate(said):
            token = ("UH-HUH", "wrong", f"{word};tag1;tag2")[min(index % 5, 2)]
            hypotheses.append(f"2347 {channel} {index + 0.05:.2f} 1.10 {token} 0.{50 + index % 50}")
        references.append(f"2347 {channel} spk_{channel} 0.00 70.00 {' '.join(said).upper()}")
    return "\n".join(hypotheses) + "\n", "\n".join(references) + "\n"


@pytest.fixture
def fitted(tmp_path: Path) -> Calibrator:
    hypotheses, references = calls()
    (tmp_path / "in.ctm").write_text(hypotheses)
    (tmp_path / "ref.stm").write_text(references)
    return calibrate_scores([tmp_path / "in.ctm"], tmp_path / "ref.stm", calibrator="platt").calibrator


def test_totals_stay_when_words_are_calibrated(tmp_path: Path, fitted: Calibrator) -> None:
    save_calibrator(tmp_path / "cal.json", fitted)
    for source, out in (("in.ctm", "out.ctm"), ("in.ctm", "words.jsonl")):
        result = run("score", tmp_path / "cal.json", tmp_path / source, "--out", tmp_path / out)
        assert result.exit_code == 0, result.output
    before, after = (
        evaluate(tmp_path / name, references=tmp_path / "ref.stm").errors["one_best"].total
        for name in ("in.ctm", "out.ctm")
    )
    assert before == after
    first = (tmp_path / "out.ctm").read_text().splitlines()[0].split()
    assert first[:5] == ["2347", "A", "0.05", "1.10", "UH-HUH"]
    by_lattice = CalibratedWords(fitted)(read(tmp_path / "in.ctm"))[0].words[0].confidence
    assert float(first[5]) == pytest.approx(by_lattice, abs=1e-6)
    result = run("score", tmp_path / "cal.json", tmp_path / "in.ctm", "--out", tmp_path / "words.json")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "words.json").read_text())["models"] == ["cal.json"]


def test_transcripts_have_the_times_that_are_written(tmp_path: Path, fitted: Calibrator) -> None:
    (batch,) = stream_files(tmp_path / "in.ctm", ReadOptions(keep_times=True))
    uh, huh, wrong = CalibratedWords(fitted)(batch)[0].words[:3]
    assert (uh.start, wrong.start, wrong.end) == pytest.approx((0.05, 1.05, 2.15))
    assert uh.end == pytest.approx(huh.start)
    assert (uh.end - uh.start) / (huh.end - uh.start) == pytest.approx(2 / 5)
    assert huh.end == pytest.approx(1.15)


def test_bad_recordings_are_left_out_whole(tmp_path: Path) -> None:
    text = "a 1 0 1 x 0.5\nb 1 0 1 y 0.5\na 1 1 1 z\nc 1 x 1 z 0.5\n"
    problems = Problems(skip=True)
    assert copied(text, tmp_path, show=squared, problems=problems) == "b 1 0 1 y 0.250000\n"
    assert len(problems.errors) == 2
    with pytest.raises(InputError, match="has no confidences"):
        copied("a 1 0 1 x 0.5\na 1 1 1 z\n", tmp_path, show=squared)


def test_some_utterances(tmp_path: Path) -> None:
    text = "a 1 0 1 x 0.5\na 2 0 1 y 0.5\nb 1 0 1 z 0.5\n"
    assert copied(text, tmp_path, utts=("a-2", "b")) == "a 2 0 1 y 0.5\nb 1 0 1 z 0.5\n"
    with pytest.raises(OptionError, match="no utterance q"):
        copied(text, tmp_path, utts=("q",))


def test_one_recording_in_two_files_is_refused(tmp_path: Path) -> None:
    sources = [stream_of(b"a 1 0 1 x 0.5\n", name) for name in ("x.ctm", "y.ctm")]
    with pytest.raises(OptionError, match="two utterances would be called 'a'"):
        CtmCopy().write(sources, tmp_path / "out.ctm")
    assert not (tmp_path / "out.ctm").exists()


def test_what_is_ctm(tmp_path: Path) -> None:
    (tmp_path / "a.ctm").write_text("a 1 0 1 x 0.5\n")
    (tmp_path / "b.jsonl").write_text('{"utt": "a", "words": []}\n')
    assert are_ctm([tmp_path / "a.ctm"])
    assert not are_ctm([tmp_path / "a.ctm", tmp_path / "b.jsonl"])
    assert not are_ctm([tmp_path / "none.ctm"])
