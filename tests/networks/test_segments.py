"""Words against segments: which segment a word belongs to, what is ignored, and the totals that sclite prints.

Totals of files that are written out here were worked out by hand and by sclite 2.10 (`-F -D`) once; where there is an
sclite on the PATH, random files are compared with it as well.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from math import log2
from pathlib import Path

import pytest

import wordtrust as wt
from wordtrust.base.errors import InputError, OptionError
from wordtrust.evaluation.evaluation import Evaluation

STM = """\
;; CATEGORY "0" "" ""
;; LABEL "O" "Overall" "Overall Scores"
call A ann 0.00 2.00 <O,f0> So { um / uh } I (really) think
call A inter_segment_gap 2.00 3.00 <O,f0>
call A bob 3.00 5.00 <O,f0> th- thanks
call A excluded_region 5.00 8.00 <O> IGNORE_TIME_SEGMENT_IN_SCORING
call A ann 8.00 10.00 <O,f0> good-bye
"""
CTM = """\
CALL a 0.10 0.20 SO 0.9
CALL a 0.40 0.20 uh 0.8
CALL a 0.70 0.20 i 0.7
CALL a 1.00 0.20 thank 0.4
CALL a 2.30 0.20 hm 0.1
CALL a 3.10 0.20 the 0.5
CALL a 3.40 0.20 thanks 0.9
CALL a 5.50 0.20 ignored 0.3
CALL a 6.00 0.20 as 0.3
CALL a 7.80 0.30 well 0.3
CALL a 8.10 0.20 good-bye 0.6
CALL a 11.00 0.20 late 0.2
"""


def evaluate(folder: Path, stm: str = STM, ctm: str = CTM, **options: str) -> Evaluation:
    (folder / "ref.stm").write_text(stm)
    (folder / "out.ctm").write_text(ctm)
    return wt.evaluate(folder / "out.ctm", references=folder / "ref.stm", **options)  # type: ignore[arg-type]


def totals(evaluation: Evaluation) -> tuple[int, int, int, int]:
    """Hits, substitutions, deletions, insertions."""
    total = evaluation.errors["one_best"].total
    return total.hits, total.substitutions, total.deletions, total.insertions


def test_sclites_totals(tmp_path: Path) -> None:
    """so, uh, i, (really), the, thanks and good-bye are right, thank is not think; hm and late are too much."""
    found = evaluate(tmp_path)
    assert totals(found) == (7, 1, 0, 2)
    assert found.words.score.tolist() == [0.9, 0.8, 0.7, 0.4, 0.1, 0.5, 0.9, 0.6, 0.2]
    assert found.words.correct.tolist() == [True, True, True, False, False, True, True, True, False]


def test_speakers_are_those_of_segments_and_gaps_belong_to_who_spoke_before(tmp_path: Path) -> None:
    errors = evaluate(tmp_path).errors["one_best"]
    assert errors.speakers == ("ann", "bob")
    assert errors.counts.tolist() == [[5, 1, 0, 2], [2, 0, 0, 0]]


def test_nce_is_that_of_the_words_and_sclites_beside_it(tmp_path: Path) -> None:
    found = evaluate(tmp_path)
    right, wrong = (0.9, 0.8, 0.7, 0.5, 0.9, 0.6), (0.4, 0.1, 0.2)
    bits = -sum(map(log2, right)) - sum(log2(1 - share) for share in wrong)
    most = -6 * log2(6 / 9) - 3 * log2(3 / 9)
    assert found.words.metrics().nce == pytest.approx((most - bits) / most)
    assert found.sclite_nce == pytest.approx(0.536, abs=0.0006)  # what sclite prints
    assert found.to_dict()["sclite_nce"] == found.sclite_nce
    without_optional = evaluate(tmp_path, STM.replace("(really) ", ""))
    assert without_optional.sclite_nce is None


def test_words_without_confidences_are_compared_all_the_same(tmp_path: Path) -> None:
    plain = re.sub(r" 0\.\d\n", "\n", CTM)
    found = evaluate(tmp_path, ctm=plain)
    assert totals(found) == (7, 1, 0, 2)
    assert not found.scores
    with pytest.raises(OptionError, match="no words with confidences"):
        wt.calibrate_scores(tmp_path / "out.ctm", tmp_path / "ref.stm")


def test_confidences_that_are_no_probabilities_do_not_count(tmp_path: Path) -> None:
    found = evaluate(tmp_path, ctm=CTM.replace(" 0.9\n", " 7.07\n"))
    assert totals(found) == (7, 1, 0, 2)
    assert not found.scores


def test_what_lies_on_the_end_of_a_segment_belongs_to_the_next(tmp_path: Path) -> None:
    stm = "f 1 s 0 1 a\nf 1 s 1 2 b\n"
    assert totals(evaluate(tmp_path, stm, "f 1 0.8 0.2 a\nf 1 0.9 0.2 b\n")) == (2, 0, 0, 0)
    assert totals(evaluate(tmp_path, stm, "f 1 0.9 0.2 a\nf 1 1.2 0.2 b\n")) == (1, 0, 1, 1)


def test_words_in_a_gap_belong_to_the_segment_after_it(tmp_path: Path) -> None:
    stm = "f 1 s 1 2 a\nf 1 t 4 5 b\n"
    errors = evaluate(tmp_path, stm, "f 1 0.1 0.1 x\nf 1 1.1 0.1 a\nf 1 3 0.1 y\nf 1 4.1 0.1 b\nf 1 9 0.1 z\n")
    assert errors.errors["one_best"].counts.tolist() == [[1, 0, 0, 1], [1, 0, 0, 2]]


def test_segments_may_be_out_of_order_and_overlap(tmp_path: Path) -> None:
    stm = "f 1 t 1.5 4 c d\nf 1 s 0 2 a b\n"
    ctm = "f 1 0.1 0.1 a\nf 1 1.8 0.1 b\nf 1 2.5 0.1 c\nf 1 3 0.1 d\n"
    assert totals(evaluate(tmp_path, stm, ctm)) == (4, 0, 0, 0)


def test_alternatives_of_the_hypothesis(tmp_path: Path) -> None:
    words = ["0.1 0.1 a 0.9", "* * <ALT_BEGIN>", "0.3 0.1 x 0.4", "* * <ALT>", "0.3 0.1 b 0.3", "0.4 0.1 c 0.2"]
    ctm = "".join(f"f 1 {word}\n" for word in [*words, "* * <ALT_END>"])
    found = evaluate(tmp_path, "f 1 s 0 1 a b c\n", ctm)
    assert totals(found) == (3, 0, 0, 0)
    assert found.words.score.tolist() == [0.9, 0.3, 0.2]


def test_words_are_compared_as_they_are_written_or_normalised(tmp_path: Path) -> None:
    stm, ctm = "f 1 s 0 3 <o> x-ray Ok th-\n", "f 1 0.1 0.1 x\nf 1 0.3 0.1 ray\nf 1 0.5 0.1 OK.\nf 1 0.7 0.1 the\n"
    assert totals(evaluate(tmp_path, stm, ctm)) == (1, 2, 0, 1)
    assert totals(evaluate(tmp_path, stm, ctm, rules="wordtrust")) == (4, 0, 0, 0)
    with pytest.raises(OptionError, match="rules of sclite or wordtrust"):
        evaluate(tmp_path, stm, ctm, rules="mine")


def test_rules_of_a_glm(tmp_path: Path) -> None:
    (tmp_path / "en.glm").write_text(
        ";;\n[HE'S] => [{HE IS / HE HAS}] / [ ] __ [ ]\n[UH] => [%HESITATION] / [ ] __ [ ]\n"
    )
    stm, ctm = (
        "f 1 s 0 9 he has (uh) an x-ray\n",
        "f 1 1 1 he's 0.5\nf 1 2 1 uh 0.1\nf 1 3 1 an 0.9\nf 1 4 1 X-ray 0.8\n",
    )
    found = evaluate(tmp_path, stm, ctm, glm=str(tmp_path / "en.glm"))
    assert totals(found) == (6, 0, 0, 0)
    assert found.words.score.tolist() == [0.5, 0.5, 0.1, 0.9, 0.8, 0.8]


def test_calibration_leaves_ignored_words_out_and_takes_the_same_rules(tmp_path: Path) -> None:
    calls = 6  # fifty words are the least that a calibration is fitted on
    stm = "".join(STM.replace("call A", f"call{number} A") for number in range(calls))
    evaluate(tmp_path, stm, "".join(CTM.replace("CALL", f"CALL{number}") for number in range(calls)))
    fitted = wt.calibrate_scores(tmp_path / "out.ctm", tmp_path / "ref.stm", calibrator="isotonic")
    assert fitted.words.speakers == ("ann", "bob")
    assert len(fitted.words) == calls * 9  # twelve, less those of the ignored segment
    by_words = wt.calibrate_scores(
        tmp_path / "out.ctm", tmp_path / "ref.stm", calibrator="isotonic", rules="wordtrust"
    )
    assert len(by_words.words) == calls * 10  # good-bye is two


def test_a_recording_without_words_counts_as_deleted(tmp_path: Path) -> None:
    found = evaluate(tmp_path, "f A s 0 1 a b\nf B t 0 1 c d e\n", "f A 0.1 0.1 a 0.9\nf A 0.2 0.1 x 0.1\n")
    assert totals(found) == (1, 1, 3, 0)
    assert (found.utterances, len(found.words)) == (2, 2)


@pytest.mark.parametrize("channels", [("1", "2"), ("0", "1"), ("ch_0", "ch_1"), ("a", "b"), ("B", "A")])
def test_channels_have_many_names(tmp_path: Path, channels: tuple[str, str]) -> None:
    first, second = sorted(channels)
    ctm = f"F {first} 0.1 0.1 a\nF {second} 0.1 0.1 b\n"
    assert totals(evaluate(tmp_path, "f A s 0 1 a\nf B t 0 1 b\n", ctm)) == (2, 0, 0, 0)


@pytest.mark.parametrize(("channel", "wanted"), [("A", (1, 0, 1, 0)), ("b", (0, 1, 1, 0)), ("2", (0, 1, 1, 0))])
def test_one_channel_of_two(tmp_path: Path, channel: str, wanted: tuple[int, ...]) -> None:
    """The words of the channel that the CTM lacks are deleted, whichever it is."""
    assert totals(evaluate(tmp_path, "f A s 0 1 a\nf B t 0 1 b\n", f"f {channel} 0.1 0.1 a\n")) == wanted


def test_names_that_are_not_there_are_shown_beside_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"utterance other: .*\(call\)"):
        evaluate(tmp_path, ctm=CTM.replace("CALL", "other"))
    with pytest.raises(InputError, match="utterance f-B: there is no reference"):
        evaluate(tmp_path, "f A s 0 1 a\n", "f A 0 1 a\nf B 0 1 a\n")


def test_the_same_recording_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="utterance call"):
        evaluate(tmp_path, ctm=CTM + CTM.replace("CALL", "call"))


VOCABULARY = "a b c th- the think -nk (uh) (c-) x-ray %hes don't w;t1".split()


def random_files(generator: random.Random) -> tuple[str, str]:
    stm, ctm = [], []
    for file in ("f1", "f2"):
        time = 0.0
        for _ in range(generator.randint(1, 4)):
            said = [generator.choice(VOCABULARY) for _ in range(generator.randint(0, 6))]
            if said and generator.random() < 0.4:
                said.insert(0, f"{{ {generator.choice(VOCABULARY)} / {generator.choice(['@', 'a b'])} }}")
            start, end = time + generator.choice([0, 0.7]), 0.0
            end = start + generator.choice([0.5, 1.0, 3.0])
            text = "IGNORE_TIME_SEGMENT_IN_SCORING" if generator.random() < 0.15 else " ".join(said)
            stm.append(f"{file} A {generator.choice('st')} {start:.2f} {end:.2f} <o> {text}")
            time = end
        time = 0.0
        for _ in range(generator.randint(1, 12)):
            ctm.append(f"{file} A {time:.2f} 0.10 {generator.choice(VOCABULARY)}")
            time += generator.choice([0.1, 0.2, 0.5])
    return "\n".join(stm) + "\n", "\n".join(ctm) + "\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sclite") is None, reason="needs NIST's sclite on the PATH")
@pytest.mark.parametrize("seed", range(40))
def test_what_sclite_says(tmp_path: Path, seed: int) -> None:
    stm, ctm = random_files(random.Random(seed))
    found = totals(evaluate(tmp_path, stm, ctm))
    command = ["sclite", "-r", "ref.stm", "stm", "-h", "out.ctm", "ctm", "-F", "-D", "-o", "rsum", "stdout"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    sums = re.search(r"\| Sum\s*\|[\d\s]*\|\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)", said)
    assert sums is not None
    assert found == tuple(map(int, sums.groups()))
