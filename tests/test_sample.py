"""The bundled corpus of synthetic speech: all there, small, and as hard as it is meant to be."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jiwer
import pytest
import soundfile

import wordtrust as wt
from wordtrust.study.layout import Corpus

SAMPLE = Path(wt.__file__).parent / "sample"
CORPUS = SAMPLE / "corpus"
NBEST = ("moonshine-tiny", "whisper-tiny.en")
SPLITS = {"train": 60, "dev": 48, "eval": 100}
FILES = [(name, split) for name in NBEST for split in SPLITS] + [("pocketsphinx", "eval")]


def rows() -> list[dict[str, str]]:
    with (CORPUS / "refs.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def records(name: str, split: str) -> list[dict[str, Any]]:
    with gzip.open(CORPUS / name / f"{split}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def plain(text: str) -> str:
    return " ".join(re.findall(r"[\w']+", text.lower()))


def printed(record: Mapping[str, Any], pick: str) -> str:
    """What the recognizer itself would print."""
    score = "avg_logprob" if pick == "average" else "score"
    return plain(max(record["nbest"], key=lambda each: each[score])["text"])


def test_it_is_small() -> None:
    sizes = [path.stat().st_size for path in SAMPLE.rglob("*") if path.is_file()]
    assert sum(sizes) < 5_000_000


def test_splits_share_no_voice_and_no_sentence() -> None:
    found = rows()
    assert len({row["utt"] for row in found}) == len(found) == sum(SPLITS.values())
    for column in ("speaker", "text"):
        by_split = {split: {row[column] for row in found if row["split"] == split} for split in SPLITS}
        assert sum(map(len, by_split.values())) == len(set.union(*by_split.values()))
    assert len({row["speaker"] for row in found}) >= 10
    assert len({row["text"] for row in found}) == 60
    assert len({row["place"] for row in found}) > 20  # noise, its level and the room


@pytest.mark.parametrize(("name", "split"), FILES)
def test_every_utterance_was_recognised(name: str, split: str) -> None:
    said = {row["utt"]: float(row["duration"]) for row in rows() if row["split"] == split}
    assert len(said) == SPLITS[split]
    lattices = wt.read(CORPUS / name / f"{split}.jsonl.gz")
    assert list(lattices.utts) == list(said)
    assert all(0 < lattice.time.max() <= said[lattice.utt] + 0.1 for lattice in lattices)
    assert lattices.origin.recognizer == name


@pytest.mark.parametrize(("name", "least", "most"), [(NBEST[0], 0.10, 0.25), (NBEST[1], 0.10, 0.30)])
def test_errors_of_n_best(name: str, least: float, most: float) -> None:
    """Good recognizers make some errors, and ten hypotheses are better than one."""
    pick = json.loads((CORPUS / name / "recognizer.json").read_text("utf-8"))["pick"]
    for split in ("dev", "eval"):
        said = {row["utt"]: plain(row["text"]) for row in rows() if row["split"] == split}
        found = records(name, split)
        texts = [said[record["utt"]] for record in found]
        assert least < jiwer.wer(texts, [printed(record, pick) for record in found]) < most
        assert all(len(record["nbest"]) == 10 for record in found)


def test_errors_of_lattices() -> None:
    said = {row["utt"]: plain(row["text"]) for row in rows()}
    lattices = wt.read(CORPUS / "pocketsphinx" / "eval.jsonl.gz")
    rate = jiwer.wer([said[each.utt] for each in lattices], [plain(each.text) for each in lattices])
    assert 0.3 < rate < 0.8
    assert lattices.acoustic is not None
    assert lattices.transition is not None


def test_audio_is_that_of_the_corpus() -> None:
    durations = {row["utt"]: float(row["duration"]) for row in rows() if row["split"] == "eval"}
    clips = sorted((CORPUS / "audio").iterdir())
    assert len(clips) == 3
    for clip in clips:
        info = soundfile.info(clip)
        assert (info.samplerate, info.channels) == (16_000, 1)
        assert info.duration == pytest.approx(durations[clip.stem], abs=0.01)


def test_a_study_can_read_it() -> None:
    corpus = Corpus.of(CORPUS)
    assert corpus.names == ("moonshine-tiny", "pocketsphinx", "whisper-tiny.en")
    assert len(corpus.references("eval")) == SPLITS["eval"]
    assert "synthetic" in (SAMPLE / "README.md").read_text("utf-8")
