"""Times that cannot be true are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command_line import run
from wordtrust import read
from wordtrust.base.errors import WordtrustWarning


def kaldi(path: Path, words: int, frames: int, utterances: int = 1) -> Path:
    """Kaldi text, every word of so many frames; with none, there are no times."""
    ids = "_".join(["1"] * frames)
    lines = []
    for utterance in range(utterances):
        arcs = [f"{place} {place + 1} w{place} 0.5,1.5,{ids}" for place in range(words)]
        lines += [f"u{utterance} ", *arcs, f"{words} 0,0,", ""]
    path.write_text("\n".join(lines) + "\n")
    return path


def said(path: Path, *options: object) -> str:
    """What `info` says beside its table."""
    return "\n".join(line for line in run("info", path, *options).stderr.splitlines() if "compiling" not in line)


def test_a_frame_that_is_too_short_is_told_with_figure_and_remedy(tmp_path: Path) -> None:
    file = kaldi(tmp_path / "x.ark", 100, 10, 3)  # 10 words a second, at 0.01 s a frame
    text = said(file)
    assert "300 words in 30 s are 10.0 a second, faster than people speak" in text
    assert "--frame-length 0.03" in text
    assert said(file, "--frame-length", "0.03") == ""
    with pytest.warns(WordtrustWarning, match="faster than people speak"):
        read(file)


def test_a_frame_that_is_too_long_is_told(tmp_path: Path) -> None:
    file = kaldi(tmp_path / "x.ark", 50, 100, 3)
    assert said(file) == ""
    text = said(file, "--frame-length", "0.03")
    assert "0.3 a second, slower than people speak: is a frame shorter than 0.03 s? Try --frame-length 0.01" in text


def test_a_few_words_prove_nothing(tmp_path: Path) -> None:
    assert said(kaldi(tmp_path / "x.ark", 100, 10)) == ""


def test_lattices_without_times_are_told_once(tmp_path: Path) -> None:
    file = kaldi(tmp_path / "x.ark", 3, 0, 5)
    text = said(file)
    assert text.count("these lattices have no times") == 1
    assert "all words stand at 0 s" in text
    assert "Write them with their alignments" in text
    kaldi(tmp_path / "x.ark", 3, 0, 3)  # nine words may be so short
    assert said(file) == ""
    kaldi(tmp_path / "x.ark", 3, 30)
    assert said(file) == ""


def with_pauses(path: Path, *, before: int, after: int, utterances: int = 10) -> Path:
    """Kaldi text, three words each; a pause of so many frames before them, and so many left over at the end."""
    ids, lines = "_".join(["1"] * 30), []
    for utterance in range(utterances):
        first = [f"0 1 0 0.5,1.5,{'_'.join(['1'] * before)}"] if before else []
        arcs = [f"{place} {place + 1} w{place} 0.5,1.5,{ids}" for place in range(len(first), len(first) + 3)]
        left_over = "_".join(["1"] * (after if utterance == 1 else 0))
        lines += [f"u{utterance} ", *first, *arcs, f"{len(first) + 3} 0,0,{left_over}", ""]
    path.write_text("\n".join(lines) + "\n")
    (path.parent / "words.txt").write_text("<eps> 0\n" + "".join(f"w{word} {word + 1}\n" for word in range(5)))
    return path


def test_lattices_that_are_not_word_aligned_are_told_once(tmp_path: Path) -> None:
    """As decoders of Kaldi leave them: no pause has an arc, and some utterances have frames at their final state."""
    file = with_pauses(tmp_path / "x.ark", before=0, after=20)
    assert said(file).count("not word-aligned") == 1
    assert "lattice-align-words" in said(file)
    with pytest.warns(WordtrustWarning, match="times of words are off"):
        read(file)


@pytest.mark.parametrize(
    ("before", "after", "utterances"),
    [(20, 20, 10), (20, 0, 10), (0, 0, 10), (0, 20, 9)],
    ids=["pauses are arcs", "none at the end", "no pauses at all", "too few to tell"],
)
def test_lattices_that_may_be_word_aligned_are_not_spoken_of(
    tmp_path: Path, before: int, after: int, utterances: int
) -> None:
    assert said(with_pauses(tmp_path / "x.ark", before=before, after=after, utterances=utterances)) == ""
