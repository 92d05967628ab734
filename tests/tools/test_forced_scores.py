"""Scores of given texts: every text of the recognizers and the reference once, as `read_forced` reads them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tools.check_data import read_forced
from tools.forced_scores import main

import wordtrust as wt
from tests.helpers.plugin_recognizer import install
from wordtrust.base.journal import journal_path
from wordtrust.cli import cli

SAMPLE = Path(wt.__file__).parent / "sample" / "corpus"
CLIP = "festival-slt-12"


def test_all_texts_are_scored_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)
    for name in ("moonshine-tiny", "pocketsphinx"):
        lines = gzip.decompress((SAMPLE / name / "eval.jsonl.gz").read_bytes()).splitlines()
        lists = tmp_path / f"{name}.jsonl"
        lists.write_bytes(b"".join(line + b"\n" for line in lines if json.loads(line)["utt"] == CLIP))
        store = tmp_path / "plain" / "work" / name / "dev"
        store.parent.mkdir(parents=True)
        built = CliRunner().invoke(cli, ["build", str(lists), "--ref", str(SAMPLE / "refs.tsv"), "--out", str(store)])
        assert built.exit_code == 0, built.output
    command = [str(tmp_path / "plain"), str(SAMPLE / "audio"), "--listener", "ears=critic", "--split", "dev"]
    main([*command, "--out", str(tmp_path / "forced")])
    (by_text,) = read_forced(tmp_path / "forced", ["dev"]).values()
    said = "the nurse weighed the baby and wrote the number on a card"
    assert (CLIP, said) in by_text
    assert len(by_text) == 3  # the reference, and what two recognizers heard
    for (_, text), (logprob, least, tokens, _, end) in by_text.items():
        words = text.split()
        assert len(logprob) == len(least) == len(tokens) == len(words)
        assert end.tolist() == [-len(words)]
        letters = [-len(word) for word in words[:-1]]  # the last one may have a point behind it
        assert logprob[:-1].tolist() == letters
    assert not journal_path(tmp_path / "forced" / "ears-critic" / "dev.npz").exists()
