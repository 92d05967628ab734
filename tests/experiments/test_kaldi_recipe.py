"""The comparison with Kaldi's scoring, on a made-up recipe: what agrees is counted, what differs too."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from experiments.kaldi_recipe import Decoding, main

from tests.helpers.pruned_lattices import pruned_lattices
from wordtrust import write


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Forty utterances, all of which said "a b c"; Kaldi's counts are ours for LMWT 12, and one more for LMWT 7."""
    lattices = pruned_lattices(40, acoustic_scale=1 / 12)
    folder = tmp_path / "exp" / "mono" / "decode"
    graph = tmp_path / "exp" / "mono" / "graph"
    folder.mkdir(parents=True)
    graph.mkdir()
    write(lattices, folder / "lat.1.gz", format="kaldi-text")
    (folder / "words.txt").rename(graph / "words.txt")
    (tmp_path / "text").write_text("".join(f"{utt} a b c\n" for utt in lattices.utts))
    decoding = Decoding(tmp_path, "exp/mono/decode", "text")
    for lmwt, penalty, more in ((12, "0.0", 0), (12, "1.0", 0), (7, "0.5", 1)):
        errors = decoding.errors(lmwt, float(penalty)) + more
        (folder / f"wer_{lmwt}_{penalty}").write_text(f"%WER 1.00 [ {errors} / 120, 1 ins, 1 del, 1 sub ]\n")
    return tmp_path


def test_settings_are_compared(clone: Path) -> None:
    decoding = Decoding(clone, "exp/mono/decode", "text")
    assert sorted(decoding.kaldis_errors())[0][:2] == (7, 0.5)
    assert decoding.agreement() == (3, 2)


@pytest.mark.slow
def test_both_tables_are_printed(clone: Path) -> None:
    printed = (
        CliRunner().invoke(main, [str(clone), "exp/mono/decode", "--ref", "text"], catch_exceptions=False).stdout
    )
    assert "| exp/mono/decode | 40 | 3 | 2 |" in printed
    assert "| exp/mono/decode | as found: LMWT 12 |" in printed
    assert printed.count("| exp/mono/decode |") == 1 + 3 * 3
    for confidences in ("posterior", "`generic`", "posterior, minimum Bayes risk"):
        assert printed.count(f"| {confidences} | ") == 3, confidences
