"""Utterances that CTM says have no words count as deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from wordtrust.confidence.evaluate_model import evaluate


@pytest.mark.parametrize("confidence", ["", " 0.9"])
@pytest.mark.parametrize("references", ["plain", "stm"])
def test_words_of_silent_utterances_are_deleted(tmp_path: Path, references: str, confidence: str) -> None:
    (tmp_path / "words.ctm").write_text(
        f"u1 1 0.00 0.50 good{confidence}\nu1 1 0.50 0.50 day{confidence}\n"
        ";; u2 has no words\n;; elsewhere has no words\n;; u1 has no words\n;; nobody knows\n"
    )
    plain, stm = "u1 good day\nu2 see you soon\n", "u1 1 s 0 9 good day\nu2 1 t 0 9 see you soon\n"
    path = tmp_path / ("text" if references == "plain" else "ref.stm")
    path.write_text(plain if references == "plain" else stm)
    evaluation = evaluate(tmp_path / "words.ctm", references=path)
    total = evaluation.errors["one_best"].total
    assert (total.reference_words, total.deletions, total.errors) == (5, 3, 3)
    assert evaluation.utterances == 2
    assert bool(evaluation.scores) == bool(confidence)
