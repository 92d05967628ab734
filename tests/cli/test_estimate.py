"""The verb estimate on files that name their model."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.command_line import refused, run


def _written(path: Path, *words: str) -> Path:
    """Lines as `wordtrust score` writes them, an utterance for each word."""
    lines = [
        {"utt": f"u{index}", "text": word, "confidence": 0.9, "mean_confidence": 0.9, "missing_end": 0.01,
         "words": [{"word": word, "norm": word, "start": 0.0, "end": 0.5, "confidence": 0.9, "missing_before": 0.01}],
         "models": ["moonshine-tiny"]}
        for index, word in enumerate(words)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_unknown_words_are_compared_by_the_model_that_the_transcripts_name(tmp_path: Path) -> None:
    new, old = _written(tmp_path / "new.jsonl", "xyzzyq", "the"), _written(tmp_path / "old.jsonl", "and", "the")
    named = json.loads(run("estimate", new, "--against", old, "--json").stdout)["against"]["measures"]
    given = json.loads(run("estimate", "moonshine-tiny", new, "--against", old, "--json").stdout)["against"][
        "measures"
    ]
    assert named["unknown"]["new"] == 0.5
    assert named["unknown"]["old"] == 0.0
    assert named == given


def test_a_file_that_is_not_there_is_no_transcript_of_others(tmp_path: Path) -> None:
    assert "no such file" in refused("estimate", tmp_path / "words.jsonl")
    (tmp_path / "words.jsonl").write_text("{}\n")
    assert "name the MODEL" in refused("estimate", tmp_path / "words.jsonl")
