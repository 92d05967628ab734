"""What a language model says about the words of networks, worked out path by path."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import made_models
from tests.helpers.command_line import refused, run
from tests.helpers.strategies import assembled, batch_of
from tests.language_models.test_arpa import arpa_text
from wordtrust.base.errors import InputError, OptionError
from wordtrust.confidence.word_scorer import load
from wordtrust.formats import read
from wordtrust.language_models.best_sentences import BestSentences
from wordtrust.language_models.evidence import COLUMNS, WEIGHT, LanguageEvidence, load_evidence
from wordtrust.lattices.lattice import Lattice, Lattices
from wordtrust.networks.hwcn import build

SAMPLE = Path("src/wordtrust/sample/corpus/moonshine-tiny/eval.jsonl.gz")


@pytest.fixture
def arpa(tmp_path: Path) -> Path:
    path = tmp_path / "small.arpa"
    path.write_text(arpa_text())
    return path


def _networks() -> Lattices:
    """Two utterances; in the first, `a` or `c` and then `b` or nothing, as `c b` and so on."""
    ends, tokens = [(0, 1), (0, 1), (1, 2), (1, 2)], ["A", "c", "b.", "<sil>"]
    first = assembled("u1", time=[0, 1, 2], ends=ends, tokens=tokens, acoustic=[-1.0, -1.5, -0.7, -0.7])
    second = assembled("u2", time=[0, 1], ends=[(0, 1)], tokens=["a"], acoustic=[-1.0])
    return build(batch_of(first, second)).lattices


def _paths(lattice: Lattice) -> dict[tuple[int, ...], float]:
    """All paths (arcs) of the first utterance with the log of their share by posteriors."""
    assert lattice.posterior is not None
    leaving = {node: lattice.posterior[lattice.source == node].sum() for node in range(lattice.nodes - 1)}
    share = [float(np.log(p / leaving[s])) for p, s in zip(lattice.posterior, lattice.source.tolist(), strict=True)]
    begin, end = ([arc for arc in range(lattice.arcs) if lattice.source[arc] == node] for node in (0, 1))
    return {(first, second): share[first] + share[second] for first in begin for second in end}


def test_columns_are_what_the_paths_say(arpa: Path) -> None:
    evidence, networks = load_evidence(arpa), _networks()
    read_by = evidence(networks)[0]
    lattice = networks[0]
    totals, words = {}, {}
    for path, share in _paths(lattice).items():
        said = [lattice.words[arc] for arc in path if lattice.word[arc]]
        words[path] = evidence.model.word_logprobs([[said]])
        totals[path] = share + WEIGHT * words[path].sum()
    mass = sum(map(np.exp, totals.values()))
    for arc in range(lattice.arcs):
        on = {path: total for path, total in totals.items() if arc in path}
        share = sum(map(np.exp, on.values())) / mass
        assert read_by.extra["lm_share"][arc] == pytest.approx(np.log(share / (1 - share)), abs=1e-4)
        if lattice.word[arc]:
            best = max(on, key=lambda path: on[path])
            place = best.index(arc)
            own, following = words[best][place : place + 2]
            assert read_by.extra["lm_logprob"][arc] == pytest.approx(own, abs=1e-5)
            assert read_by.extra["lm_next_logprob"][arc] == pytest.approx(following, abs=1e-5)


def test_arcs_on_no_path_have_the_least_share_and_the_mean(arpa: Path) -> None:
    networks = _networks()
    read_by = LanguageEvidence(load_evidence(arpa).model, k=1)(networks)[0]
    picked = BestSentences.of(networks, 1, surfaces=False).paths
    on = set(picked.arcs[: picked.path_offsets[1]].tolist())
    spoken = [arc for arc in on if networks[0].word[arc]]
    for arc in set(range(networks[0].arcs)) - on:
        assert read_by.extra["lm_share"][arc] == read_by.extra["lm_share"].min() == pytest.approx(-9.21, abs=0.01)
        mean = np.mean([read_by.extra["lm_logprob"][each] for each in spoken])
        assert read_by.extra["lm_logprob"][arc] == pytest.approx(mean)


def test_surfaces_are_as_the_recognizer_wrote_them() -> None:
    best = BestSentences.of(_networks(), 8, surfaces=True)
    assert ("A", "b.") in best.words[0]
    assert best.words[1] == [("a",)]


def test_what_has_been_read_is_not_read_again(arpa: Path) -> None:
    networks = load_evidence(arpa)(_networks())
    assert load_evidence(arpa)(networks) is networks


def test_lattices_without_posteriors_are_refused(arpa: Path) -> None:
    lattice = assembled("u", time=[0, 1], ends=[(0, 1)], tokens=["a"], acoustic=[-1.0])
    with pytest.raises(InputError, match="Build networks first"):
        load_evidence(arpa)(lattice.batch())


def test_build_reads_lattices_and_networks_alike(arpa: Path, tmp_path: Path) -> None:
    plain, direct, later = (tmp_path / f"{name}.networks" for name in ("plain", "direct", "later"))
    run("build", str(SAMPLE), "--tolerance", "0.05", "--out", str(plain))
    run("build", str(SAMPLE), "--tolerance", "0.05", "--lm", str(arpa), "--out", str(direct))
    run("build", str(plain), "--lm", str(arpa), "--out", str(later))
    one, other = read(direct), read(later)
    assert other.origin.tolerance == 0.05
    assert all(lattice.equals(also) for lattice, also in zip(one, other, strict=True))
    assert set(COLUMNS) <= one.extra.keys()
    assert not set(COLUMNS) & read(plain).extra.keys()


def test_networks_are_not_labelled_again(arpa: Path, tmp_path: Path) -> None:
    run("build", str(SAMPLE), "--out", str(tmp_path / "plain"))
    said = refused("build", tmp_path / "plain", "--lm", arpa, "--beam", "3", "--out", tmp_path / "lm")
    assert "these are networks already" in said


def test_a_model_reads_what_it_scores(arpa: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(made_models, "COLUMNS", (*made_models.COLUMNS, "has_lm", *COLUMNS))
    lattices = read(SAMPLE)[:5]
    networks = load_evidence(arpa)(build(lattices).lattices)
    folder = made_models.write_model(tmp_path / "model", networks)
    plain, reading = load(folder), load(folder, lm=arpa)
    np.testing.assert_array_equal(reading.networks(lattices).extra["lm_share"], networks.extra["lm_share"])
    assert list(map(repr, reading(lattices))) == list(map(repr, plain(networks)))
    assert (reading.confidence(networks) != plain.confidence(build(lattices).lattices)).any()
    with pytest.raises(OptionError, match="--lm is for models"):
        run("score", _calibrator(tmp_path), SAMPLE, "--lm", arpa, "--out", tmp_path / "words.ctm")


def _calibrator(folder: Path) -> Path:
    """Any file in the place of a model."""
    (folder / "calls.json").write_text("{}")
    return folder / "calls.json"


def test_a_model_fitted_without_one_says_so(arpa: Path, tmp_path: Path) -> None:
    folder = made_models.write_model(tmp_path / "model", build(read(SAMPLE)[:5]).lattices)
    with pytest.raises(OptionError, match="fitted without a language model"):
        load(folder, lm=arpa)


def test_what_is_no_language_model_is_said(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("hello\n")
    with pytest.raises((InputError, OptionError), match=r"neither a GGUF nor an ARPA|needs .*pip install"):
        load_evidence(tmp_path / "text.txt")
    with pytest.raises(InputError, match="no such file or folder"):
        load_evidence(tmp_path / "gone.gguf")


def test_resumed_pieces_are_the_same(arpa: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wordtrust.networks import build_store
    from wordtrust.networks.build_store import BuildOptions

    monkeypatch.setattr(build_store, "READ_AT_ONCE", 7)
    lattices, options = read(SAMPLE)[:20], BuildOptions(evidence=load_evidence(arpa))
    whole = list(build_store._built([lattices], 0, options, 2))
    rest = list(build_store._built([lattices], 10, options, 2))
    assert [len(part) for part in whole] == [7, 7, 6]
    assert [len(part) for part in rest] == [4, 6]
    names = [utt for part in rest for utt in part.utts]
    assert names == list(lattices.utts[10:])
    assert all(a < b for a, b in pairwise(map(lattices.utts.index, names)))
