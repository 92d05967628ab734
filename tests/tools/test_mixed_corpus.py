"""A corpus mixed of two: names, splits and speakers, and the study's own reader takes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tools.mixed_corpus import main

import wordtrust as wt
from wordtrust.study.layout import Corpus

SAMPLE = Path(wt.__file__).parent / "sample" / "corpus"
LISTS = ("moonshine-tiny", "whisper-tiny.en")  # have train


def mixed(tmp_path: Path, *splits: str) -> Corpus:
    """The bundled corpus with its own outputs added a second time."""
    adding = ["moonshine-tiny", "again", str(SAMPLE / "moonshine-tiny"), str(SAMPLE / "refs.tsv"), *splits]
    main([str(SAMPLE), "--out", str(tmp_path / "mixed"), "--add", *adding])
    return Corpus.of(tmp_path / "mixed")


def test_added_utterances_have_names_of_their_own_and_the_same_words_and_speakers(tmp_path: Path) -> None:
    corpus, before = mixed(tmp_path), Corpus.of(SAMPLE)
    for split, times in (("train", 2), ("dev", 2), ("eval", 1)):
        assert len(corpus.references(split)) == times * len(before.references(split))
        heard = [utt for batch in wt.stream(corpus.files("moonshine-tiny", split)) for utt in batch.utts]
        assert sorted(heard) == sorted(corpus.references(split))
    for utt, reference in before.references("train").items():
        again = corpus.references("train")[f"{utt}.again"]
        assert (again.words, again.speaker) == (reference.words, reference.speaker)
    assert corpus.names == before.names
    assert len(corpus.files("whisper-tiny.en", "train")) == 1


def test_a_split_can_be_put_among_another(tmp_path: Path) -> None:
    corpus, before = mixed(tmp_path, "dev:train"), Corpus.of(SAMPLE)
    assert len(corpus.references("train")) == len(before.references("train")) + len(before.references("dev"))
    assert set(corpus.references("dev")) == set(before.references("dev"))


def test_outputs_of_another_recognizer_become_those_that_they_are_added_to(tmp_path: Path) -> None:
    adding = ["moonshine-tiny", "other", str(SAMPLE / "whisper-tiny.en"), str(SAMPLE / "refs.tsv"), "dev"]
    main([str(SAMPLE), "--out", str(tmp_path / "mixed"), "--add", *adding])
    added = tmp_path / "mixed" / "moonshine-tiny" / "dev.other"
    assert {batch.origin.recognizer for batch in wt.stream(added)} == {"moonshine-tiny"}


def test_varied_copies_have_less_in_them_and_other_scores_the_same_way_each_time(tmp_path: Path) -> None:
    for name in ("first", "second"):
        main([str(SAMPLE), "--out", str(tmp_path / name), "--vary", "0.5", *LISTS])
    corpus, again = Corpus.of(tmp_path / "first"), Corpus.of(tmp_path / "second")
    chosen = [utt for utt in corpus.references("train") if utt.endswith(".varied")]
    for name in LISTS:
        before = wt.read(SAMPLE / name / "train.jsonl.gz")
        (varied,), (second,) = (wt.stream(each.folder / name / "train.varied") for each in (corpus, again))
        assert sorted(varied.utts) == sorted(chosen)
        pairs = [(copy, before[copy.utt.removesuffix(".varied")]) for copy in varied]
        assert all(copy.equals(other) for copy, other in zip(varied, second, strict=True))
        assert all(copy.text == original.text and copy.scales == original.scales for copy, original in pairs)
        assert all(set(copy.extra["rank"]) <= set(original.extra["rank"]) for copy, original in pairs)
        assert any(len(set(copy.extra["rank"])) == 1 and copy.extra["share"].min() == 1 for copy, _ in pairs)
        same = [bool(np.isin(copy.scores(), original.scores()).all()) for copy, original in pairs]
        assert any(same)
        assert not all(same)
    for utt in chosen:
        original = corpus.references("train")[utt.removesuffix(".varied")]
        assert corpus.references("train")[utt].words == original.words
        assert corpus.references("train")[utt].speaker == original.speaker
    assert 0 < len(chosen) < len(Corpus.of(SAMPLE).references("train"))
    assert not any(utt.endswith(".varied") for utt in corpus.references("dev"))


def test_what_does_not_fit_is_an_error_and_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adding = ["nobody", "again", str(SAMPLE / "moonshine-tiny"), str(SAMPLE / "refs.tsv")]
    with pytest.raises(SystemExit):
        main([str(SAMPLE), "--out", str(tmp_path / "mixed"), "--add", *adding])
    assert "no recognizer 'nobody'" in capsys.readouterr().err
    assert not (tmp_path / "mixed").exists()
