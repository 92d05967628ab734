"""The weights of acoustic and language scores: Kaldi's own meaning, by hand, and unscaled scores in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command_line import refused, run
from tests.helpers.pruned_lattices import pruned_lattices
from wordtrust import read, stream, write
from wordtrust.base.errors import InputError, OptionError, WordtrustWarning
from wordtrust.lattices.lattice import Lattices
from wordtrust.lattices.paths import one_best
from wordtrust.lattices.weights import Scales, log_scores

# Costs (graph, acoustic): "yes" 3, 40; "no no" 0.5 + 0.5, 60 + 10; "so" 6, 30. Frames: 2 each, or 1 + 1.
ARCHIVE = """utt
0 2 yes 3,40,1_1
0 1 no 0.5,60,1
1 2 no 0.5,10,1
0 2 so 6,30,1_1
2

"""
COSTS = {"yes": (3.0, 40.0), "no no": (1.0, 70.0), "so": (6.0, 30.0)}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "lat.ark"
    path.write_text(ARCHIVE)
    return path


def words(lattices: Lattices) -> str:
    path = one_best(lattices).arcs_in(lattices)
    return " ".join(lattices.vocabulary.lookup(lattices.word[path].tolist()))


def kaldis_choice(lmwt: float, penalty: float) -> str:
    """lattice-scale, lattice-add-penalty, lattice-best-path: graph + penalty * words + acoustic / LMWT, the least."""
    return min(COSTS, key=lambda text: COSTS[text][0] + penalty * len(text.split()) + COSTS[text][1] / lmwt)


@pytest.mark.parametrize("penalty", [0.0, 0.5, 1.0, -1.0])
@pytest.mark.parametrize("lmwt", [1, 2, 3, 5, 10, 17, 20, 25, 40])
def test_the_best_path_is_kaldis(archive: Path, lmwt: int, penalty: float) -> None:
    expected = kaldis_choice(lmwt, penalty)
    assert words(read(archive, lmwt=lmwt, word_ins_penalty=penalty)) == expected
    assert words(read(archive, acoustic_scale=1 / lmwt, word_ins_penalty=penalty)) == expected


def test_a_penalty_is_for_every_label(tmp_path: Path) -> None:
    """As in lattice-add-penalty: <noise> is a label though no word, x-ray is one label though two words here."""
    path = tmp_path / "lat.ark"
    path.write_text("utt\n0 1 x-ray 1,0,1\n0 1 <noise> 2,0,1\n0 1 <eps> 3,0,1\n0 1 plain 4,0,1\n1\n\n")
    lattices = read(path, lmwt=1, word_ins_penalty=0.5)
    costs = sorted(-score for score in path_scores(lattices))
    assert costs == pytest.approx([1.5, 2.5, 3.0, 4.5])


def path_scores(lattices: Lattices) -> list[float]:
    """The score of every path of one lattice."""
    arcs, scores = list(zip(lattices.source.tolist(), lattices.target.tolist(), strict=True)), log_scores(lattices)
    totals: list[tuple[int, float]] = [(0, 0.0)]
    done: list[float] = []
    while totals:
        node, total = totals.pop()
        following = [(end, total + score) for (start, end), score in zip(arcs, scores, strict=True) if start == node]
        totals += following
        done += [] if following else [total]
    return done


def test_all_three_choices_come_up() -> None:
    assert {kaldis_choice(lmwt, 0) for lmwt in (1, 10, 40)} == set(COSTS)
    assert kaldis_choice(17, 0.0) != kaldis_choice(17, 1.0)


def test_scores_stay_and_scales_say_how_they_are_weighed(archive: Path) -> None:
    plain, weighed = read(archive, acoustic_scale=1), read(archive, lmwt=12, word_ins_penalty=0.5)
    assert plain.scales == Scales()
    assert weighed.scales == Scales(1 / 12, 1.0, -0.5)
    assert plain.acoustic is not None
    assert (plain.acoustic == weighed.acoustic).all()
    assert next(iter(stream(archive, lmwt=12))).scales == Scales(1 / 12)


def test_what_contradicts_itself_or_is_no_number_is_refused(archive: Path) -> None:
    with pytest.raises(OptionError, match="--lmwt or --acoustic-scale, not both"):
        read(archive, lmwt=10, acoustic_scale=0.1)
    for options in ({"lmwt": 0}, {"lmwt": -3}, {"acoustic_scale": float("nan")}, {"word_ins_penalty": float("inf")}):
        with pytest.raises(OptionError, match="is a number"):
            read(archive, **options)
    assert "not both" in refused("info", archive, "--lmwt", 10, "--acoustic-scale", 0.1)


@pytest.mark.parametrize("options", [{"lmwt": 10}, {"acoustic_scale": 0.1}, {"word_ins_penalty": 1}])
def test_where_there_is_nothing_to_weigh_options_are_refused(tmp_path: Path, options: dict[str, float]) -> None:
    ctm = tmp_path / "words.ctm"
    ctm.write_text("a 1 0.0 0.5 yes 0.9\n")
    with pytest.raises(InputError, match="no acoustic and language scores here"):
        read(ctm, **options)  # type: ignore[arg-type]


def test_networks_are_not_weighed_again(archive: Path, tmp_path: Path) -> None:
    store = tmp_path / "networks"
    assert run("build", str(archive), "--lmwt", "12", "--out", str(store)).exit_code == 0
    assert read(store).scales == Scales(1 / 12)
    with pytest.raises(InputError, match="these are networks"):
        read(store, lmwt=10)


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    """A decode folder with two archives, pruned with 1/12 and written without that scale."""
    lattices = pruned_lattices(40, acoustic_scale=1 / 12)
    folder = tmp_path / "decode"
    folder.mkdir()
    for number, part in enumerate((lattices[:3], lattices[3:]), 1):
        write(part, folder / f"lat.{number}.ark")
    return folder


def test_unscaled_scores_are_recognised_for_a_whole_folder(recipe: Path) -> None:
    """The first archive alone would be too small to tell the LMWT."""
    with pytest.warns(WordtrustWarning, match="read with LMWT 12; --lmwt changes it"):
        assert read(recipe).scales == Scales(1 / 12)
    with pytest.warns(WordtrustWarning, match="read with LMWT 10;"):
        assert read(recipe / "lat.1.ark").scales == Scales(1 / 10)
    with pytest.warns(WordtrustWarning, match="read with LMWT 12;"):
        assert read(recipe, word_ins_penalty=0.5).scales == Scales(1 / 12, 1.0, -0.5)
    assert read(recipe, lmwt=9).scales == Scales(1 / 9)
    assert read(recipe, acoustic_scale=1).scales == Scales()


def test_the_command_line_says_so_once(recipe: Path, tmp_path: Path) -> None:
    result = run("info", str(recipe), "--json")
    assert result.stderr.count("look unscaled") == 1
    assert "read with LMWT 12; --lmwt changes it" in result.stderr
    assert json.loads(result.stdout)["utterances"] == 40
    assert "unscaled" not in run("info", str(recipe), "--lmwt", "12").stderr


def test_scales_survive_every_format(recipe: Path, tmp_path: Path) -> None:
    """In a store and in HTK's header as they are, in Kaldi's archives as part of the scores; and nothing is said."""
    given = read(recipe, lmwt=12, word_ins_penalty=0.25)
    for name in ("made.store", "made.slf", "made.jsonl", "made.ark"):
        write(given, tmp_path / name)
        back = read(tmp_path / name)
        assert words(back) == words(given)
        assert back.scales == (Scales() if name == "made.ark" else given.scales)


def test_our_own_formats_are_believed(recipe: Path, tmp_path: Path) -> None:
    write(read(recipe, acoustic_scale=1), tmp_path / "made.store")
    assert read(tmp_path / "made.store").scales == Scales()


def test_recognizer_json_says_the_weights_of_its_lattices(archive: Path, tmp_path: Path) -> None:
    """Options come first, either of two that mean the same; what wordtrust wrote keeps its own."""
    (tmp_path / "recognizer.json").write_text('{"lmwt": 40, "word_ins_penalty": 0.5}')
    assert read(archive).scales == Scales(1 / 40, 1.0, -0.5)
    assert read(archive, acoustic_scale=0.5).scales == Scales(0.5, 1.0, -0.5)
    assert read(archive, lmwt=10, word_ins_penalty=1).scales == Scales(0.1, 1.0, -1.0)
    for name in ("corpus.store", "corpus.jsonl", "corpus.slf"):
        write(read(archive, lmwt=20, word_ins_penalty=0), tmp_path / name)
        assert read(tmp_path / name).scales.acoustic == pytest.approx(1 / 20)
    (tmp_path / "words.ctm").write_text("utt 1 0 1 yes 0.5\n")
    assert read(tmp_path / "words.ctm").posterior is not None  # has nothing to weigh
    with pytest.raises(InputError, match="no acoustic and language scores"):
        read(tmp_path / "words.ctm", lmwt=3)


def test_weighed_lattices_are_not_written_where_they_would_be_weighed_again(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "recognizer.json").write_text('{"acoustic_scale": 0.1}')
    with pytest.raises(OptionError, match=r"recognizer\.json says how the costs.* write to another folder"):
        write(read(archive), tmp_path / "out.ark")
    assert not (tmp_path / "out.ark").exists()


@pytest.mark.parametrize("said", ['"lmwt": 0', '"lmwt": "12"', '"lmwt": 1, "acoustic_scale": 1', '"lmwt": 1e400'])
def test_weights_of_recognizer_json_that_are_none(archive: Path, tmp_path: Path, said: str) -> None:
    (tmp_path / "recognizer.json").write_text(f"{{{said}}}")
    with pytest.raises(InputError, match=r"recognizer\.json"):
        read(archive)


def test_info_lists_the_weights(archive: Path) -> None:
    found = json.loads(run("info", archive, "--lmwt", 8, "--word-ins-penalty", 1, "--json").stdout)
    weights = {"acoustic": 0.125, "transition": 1, "word_penalty": -1, "length_exponent": 0, "utterances": 1}
    assert found["scales"] == [weights]
    assert found["files"][str(archive)]["scales"] == [weights]
    printed = run("info", archive, "--lmwt", 8, "--word-ins-penalty", 1).stdout
    assert "weights: acoustic 0.125 (LMWT 8), transition 1, word penalty -1\n" in printed
