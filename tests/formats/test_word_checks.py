"""Words that differ in accents, case or punctuation: told, and kept apart where that is asked for."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.helpers.command_line import refused, run
from wordtrust import BuildOptions, Normalizer, build_networks, read, read_references, write
from wordtrust.base.errors import WordtrustWarning
from wordtrust.formats import stream_files
from wordtrust.formats.format import ReadOptions
from wordtrust.formats.scaling import ReadBatch
from wordtrust.formats.word_checks import with_checked_words
from wordtrust.lattices.text import AS_WRITTEN, DEFAULT
from wordtrust.networks.build_store import REFERENCE

# Said: "mốt", "mười", "hai"; of each, the best path is another word for the first two.
VIETNAMESE = """one
0 1 một 1,0,1_1
0 1 mốt 2,0,1_1
1 0,0,

two
0 1 mươi 1,0,1_1
0 1 mười 2,0,1_1
1 0,0,

three
0 1 hai 1,0,1_1
1 0,0,

"""
SAID = "one mốt\ntwo mười\nthree hai\n"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    (tmp_path / "text").write_text(SAID)
    path = tmp_path / "lat.ark"
    path.write_text(VIETNAMESE)
    return path


def error_rates(archive: Path, *options: object) -> tuple[float, float]:
    counts = json.loads(run("info", archive, "--ref", archive.parent / "text", "--json", *options).stdout)
    return counts["one_best_wer"], counts["oracle_wer"]


def test_words_are_compared_as_written_where_that_is_asked_for(archive: Path) -> None:
    """As compute-wer has it, two of three are wrong; without accents nothing is."""
    assert error_rates(archive, "--as-written") == (2 / 3, 0)
    assert error_rates(archive) == (0, 0)


def test_words_that_differ_in_accents_only_are_told_once(archive: Path) -> None:
    told = run("info", archive).stderr
    assert told.count("2 of 3 words differ in accents only (mốt and một, mươi and mười)") == 1
    assert "--as-written" in told
    assert "accents" not in run("info", archive, "--as-written").stderr
    with pytest.warns(WordtrustWarning, match="2 of 3 words differ in accents"):
        read(archive)


def test_rules_of_scoring_need_no_hint(tmp_path: Path) -> None:
    said = ["một", "mốt", "mươi", "mười"]
    (tmp_path / "out.ctm").write_text("".join(f"a 1 {at} 1 {word} 0.5\n" for at, word in enumerate(said)))
    (tmp_path / "ref.stm").write_text("a 1 s 0 9 mốt mốt mười mười\n")
    done = run("evaluate", "--scores", tmp_path / "out.ctm", "--ref", tmp_path / "ref.stm", "--json")
    assert json.loads(done.stdout)["wer"]["one_best"] == 0.5
    assert "accents" not in done.stderr


@pytest.mark.parametrize("words", [["cafe", "café"], ["Café", "café"], ["so-so", "so"], ["it’s", "it's"], ["и", "й"]])
def test_a_word_with_accents_and_other_differences_are_not_told(tmp_path: Path, words: list[str]) -> None:
    """One pair proves nothing; nor does any number of words that differ in case or signs, or in another script."""
    path, told = tmp_path / "lat.ark", list[str]()
    arcs = "".join(f"{place} {place + 1} {word} 1,0,1\n" for place, word in enumerate([*words, "other"]))
    path.write_text(f"utt\n{arcs}3 0,0,\n\n")
    list(stream_files(path, notify=told.append))
    assert not told


def test_a_few_of_many_words_are_not_told(tmp_path: Path) -> None:
    """Two pairs are told among 400 words, not among 401."""
    path = tmp_path / "lat.ark"
    for words, is_told in ((400, True), (401, False)):
        plain = [f"w{number}" for number in range(words - 2)]
        row = ["cafe", "café", "naive", "naïve", *plain]
        arcs = "".join(f"{place} {place + 1} {word} 1,0,{'_'.join('1' * 40)}\n" for place, word in enumerate(row))
        path.write_text(f"utt\n{arcs}{len(row)} 0,0,\n\n")
        told = list[str]()
        list(stream_files(path, notify=told.append))
        assert bool(told) == is_told


def test_alternatives_of_references_are_compared_as_written_too(archive: Path) -> None:
    stm = archive.with_name("ref.stm")
    stm.write_text("one 1 s 0 9 { hai / mốt } (x-y)\ntwo 1 s 0 9 { Mươi / mười }\nthree 1 s 0 9 hai\n")
    references = read_references(stm, normalizer=AS_WRITTEN)
    networks = build_networks(read(archive, normalizer=AS_WRITTEN), BuildOptions(references=references))
    assert networks.notes[REFERENCE] == ("hai", "Mươi", "hai")
    counts = json.loads(run("info", archive, "--ref", stm, "--as-written", "--json").stdout)
    assert counts["one_best_wer"] == 2 / 3


def test_words_that_were_normalised_before_are_refused(archive: Path, tmp_path: Path) -> None:
    for name in ("corpus.store", "corpus.jsonl"):
        write(read(archive, normalizer=AS_WRITTEN), tmp_path / name)
        assert "words are normalised in this file" in refused("info", tmp_path / name, "--as-written")
        assert "accents" not in run("info", tmp_path / name).stderr  # nothing can be done about it here
    kept = next(stream_files(tmp_path / "corpus.store", ReadOptions(normalizer=DEFAULT)))
    assert {"một", "mốt"} <= set(kept.vocabulary.strings)  # the store keeps them apart


def test_as_written_is_all_steps_off() -> None:
    assert Normalizer(lower=False, as_written=True).words("Middle-earth. Café 1,000 [noise] <unk> YES don’t") == [
        "Middle-earth.", "Café", "1,000", "<unk>", "YES", "don’t",
    ]  # fmt: skip
    assert Normalizer(as_written=True).words("Middle-earth. YES É") == ["middle-earth.", "yes", "é"]
    assert AS_WRITTEN.words("e\u0301") == ["é"]
    assert AS_WRITTEN.pieces("x-ray") == [("x-ray", "x-ray")]


def test_small_batches_after_many_words_take_no_time(tmp_path: Path) -> None:
    """All words that were seen are not gone through again for every file of one word."""
    path = tmp_path / "lat.ark"
    path.write_text("u\n" + "".join(f"0 1 w{number} 1,0,1_1\n" for number in range(60_000)) + "1\n\n")
    many = read(path)
    path.write_text("v\n0 1 w 1,0,1_1\n1\n\n")
    few = read(path)
    first, later = (ReadBatch(tmp_path, False, False, batch, ReadOptions(), ReadOptions()) for batch in (many, few))
    batches = [first, *[later] * 3_000]
    began, told = time.process_time(), list[str]()
    assert len(list(with_checked_words(batches, told.append))) == 3_001
    assert time.process_time() - began < 1
    assert not told
