"""Plain outputs with confidences: judged by hand-worked alignments, in several formats, whole or in batches."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

import wordtrust as wt
from tests.helpers.shared import SHARED, needs_shared
from wordtrust.base.errors import InputError
from wordtrust.base.problems import Problems
from wordtrust.evaluation.evaluation import evaluate_words
from wordtrust.formats.references import References, read_references

CTM = """\
call A 0.0 0.4 the 0.98
call A 0.4 0.4 black 0.5
call A 0.8 0.4 cat 1.00
call A 1.2 0.4 cat 0.07
talk A 0.0 0.5 Middle-earth 0.6
talk A 0.5 0.5 hm 0.3 noise
"""
STM = """\
call A alice 0 1 The back
call A bob 1 2 cat sat
talk A carol 0 1 middle-earth
"""


def files(folder: Path, ctm: str = CTM, stm: str = STM) -> tuple[Path, References]:
    (folder / "out.ctm").write_text(ctm)
    (folder / "ref.stm").write_text(stm)
    return folder / "out.ctm", read_references(folder / "ref.stm")


def test_words_confidences_labels_and_speakers(tmp_path: Path) -> None:
    """`black` stands for `back`, the second `cat` for `sat`; speakers are those of the segments."""
    path, references = files(tmp_path)
    words = evaluate_words([wt.read(path)], references).words
    assert words.score.tolist() == [0.98, 0.5, 1.0, 0.07, 0.6]  # exactly as written, not as float32
    assert words.correct.tolist() == [True, False, True, False, True]
    assert [words.speakers[number] for number in words.speaker] == ["alice"] * 2 + ["bob"] * 2 + ["carol"]


def test_error_rates_and_json(tmp_path: Path) -> None:
    path, references = files(tmp_path)
    found = evaluate_words(wt.stream(path), references)
    assert found.utterances == 2
    assert found.errors["one_best"].total.errors == 2
    plain = found.to_dict()
    assert (plain["words"], plain["wer"]) == (5, {"one_best": 2 / 5})
    assert plain["errors"] == {
        "one_best": {"wer": 2 / 5, "words": 5, "substitutions": 2, "deletions": 0, "insertions": 0}
    }
    assert set(plain["one_best"]["confidence"]) == {"eer", "nce", "auc", "ece"}


def test_json_with_confidences(tmp_path: Path) -> None:
    words = [{"word": "the", "start": 0, "end": 1, "conf": 0.9}, {"word": "cat", "start": 1, "end": 2, "conf": 0.25}]
    (tmp_path / "call.json").write_text(json.dumps({"result": words, "text": "the cat"}))
    (tmp_path / "text").write_text("call the hat\n")
    judged = evaluate_words([wt.read(tmp_path / "call.json")], read_references(tmp_path / "text")).words
    assert (judged.score.tolist(), judged.correct.tolist(), judged.speakers) == (
        [0.9, 0.25],
        [True, False],
        ("call",),
    )


def test_batches_add_up(tmp_path: Path) -> None:
    path, references = files(tmp_path)
    whole = wt.read(path)
    parts = evaluate_words([whole[:1], whole[1:]], references)
    together = evaluate_words([whole], references).words
    words = parts.scores["one_best", "confidence"]
    for name in ("score", "correct", "speaker"):
        assert np.array_equal(getattr(words, name), getattr(together, name))
    assert words.speakers == together.speakers


def test_nothing_at_all() -> None:
    assert evaluate_words([], {}).to_dict() == {"utterances": 0, "words": 0, "wer": {}, "errors": {}}


@pytest.mark.parametrize(
    ("ctm", "stm", "message"),
    [
        (CTM.replace("cat 0.07", "cat NA"), STM, "out.ctm.*utterance call: .* no confidences, or not for all"),
        (CTM.replace(" 0.6\n", "\n"), STM, "utterance talk: .* no confidences"),
        (CTM, STM.replace("call", "other"), r"utterance call: there is no reference .*\(other, talk\)"),
    ],
)
def test_what_is_missing_is_an_error_or_left_out(tmp_path: Path, ctm: str, stm: str, message: str) -> None:
    path, references = files(tmp_path, ctm, stm)
    with pytest.raises(InputError, match=message):
        evaluate_words(wt.stream(path), references)
    problems = Problems(skip=True)
    found = evaluate_words(wt.stream(path), references, problems)
    assert len(problems.errors) == 1
    assert found.utterances - sum(utt == "other" for utt in references) == 1  # it counts as deleted


def test_lattices_without_confidences_are_told_what_to_do(tmp_path: Path) -> None:
    hypotheses = [{"text": "the cat", "score": -1.0}, {"text": "a cat", "score": -2.0}]
    (tmp_path / "n.jsonl").write_text(json.dumps({"utt": "call", "nbest": hypotheses}) + "\n")
    with pytest.raises(InputError, match=r"scores but no confidences\. Make networks of it: wordtrust build"):
        evaluate_words([wt.read(tmp_path / "n.jsonl")], files(tmp_path)[1])


def test_an_hour_is_aligned_in_seconds(tmp_path: Path) -> None:
    """10,000 words with one in ten wrong: which are right is known, as no wrong word is anywhere in the reference."""
    generator = np.random.default_rng(0)
    said = [f"w{number}" for number in generator.integers(0, 2000, 10_000)]
    right = generator.random(10_000) > 0.1
    lines = [
        f"call A {place * 0.36:.2f} 0.36 {word if ok else 'wrong'} {0.9 if ok else 0.4}"
        for place, (word, ok) in enumerate(zip(said, right, strict=True))
    ]
    path, references = files(tmp_path, "\n".join(lines), f"call A x 0 3600 {' '.join(said)}")
    started = time.perf_counter()
    words = evaluate_words([wt.read(path)], references).words
    assert time.perf_counter() - started < 15
    assert np.array_equal(words.correct, right)
    assert np.array_equal(words.score, np.where(right, 0.9, 0.4))


@pytest.mark.slow
@needs_shared
def test_a_real_call(tmp_path: Path) -> None:
    import tarfile

    archive = SHARED / "earnings21/earnings21.tar.xz"
    if not archive.is_file():
        pytest.skip("the Earnings-21 archive is not there")
    wanted = {"output/rev/kaldi/ctm/4366522.ctm", "transcripts/nlp_references/4366522.nlp"}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.partition("/")[2] in wanted:
                content = tar.extractfile(member)
                assert content is not None
                (tmp_path / Path(member.name).name).write_bytes(content.read())
    found = evaluate_words(wt.stream(tmp_path / "4366522.ctm"), read_references(tmp_path / "4366522.nlp"))
    words = found.scores["one_best", "confidence"]
    assert len(words) == found.errors["one_best"].total.hypothesis_words
    assert set(np.round(words.score, 2)) == set(words.score.tolist())  # two decimals, as the file has them
    assert words.speakers == ("4366522",)
    assert 0.1 < (found.errors["one_best"].total.wer or 0) < 0.25


def test_plain_references_have_sclites_rules_where_these_are_asked_for(tmp_path: Path) -> None:
    """Middle-earth is one word to sclite and two to wordtrust; accents count; the aligner is sclite's."""
    (tmp_path / "out.ctm").write_text("a 1 0 1 Middle-earth 0.9\na 1 1 1 cafe 0.8\nb 1 0 1 no 0.7\n")
    (tmp_path / "text").write_text("a middle-earth café\nb no\n")
    found = {
        rules: wt.evaluate(tmp_path / "out.ctm", references=tmp_path / "text", rules=rules).errors["one_best"].total
        for rules in ("sclite", "wordtrust", None)
    }
    assert (found["sclite"].reference_words, found["sclite"].errors) == (3, 1)
    assert (found["wordtrust"].reference_words, found["wordtrust"].errors) == (4, 0)
    assert found[None] == found["wordtrust"]
