"""Words of a recognizer that no model knows: what `score generic` says of them, and posteriors instead."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.command_line import run
from wordtrust import build, load, read
from wordtrust.lattices.paths import one_best
from wordtrust.networks.word_confidence import word_confidence

SAMPLE = Path(__file__).parents[2] / "src" / "wordtrust" / "sample"
LATTICES = SAMPLE / "lattices" / "flite-*.slf.gz"
WORSE = "its words may be worse than the recognizer's own"


def test_ctm_of_networks_has_the_posteriors_of_words(tmp_path: Path) -> None:
    """A word that stands on several arcs is as sure as all of them together, as `evaluate` has it."""
    run("build", LATTICES, "--out", tmp_path / "x.networks")
    run("convert", tmp_path / "x.networks", tmp_path / "x.ctm")
    written = [float(line.split()[5]) for line in (tmp_path / "x.ctm").read_text().splitlines()]
    networks = build(read(LATTICES), equate="all").lattices
    assert networks.posterior is not None
    paths = one_best(networks)
    is_word = networks.word[paths.arcs_in(networks)] > 0
    expected = word_confidence(networks, networks.posterior, paths)[is_word]
    assert written == pytest.approx(expected.tolist(), abs=1e-6)
    assert np.any(expected > networks.posterior[paths.arcs_in(networks)][is_word] + 1e-3)


@pytest.mark.parametrize(("name", "is_known"), [("mine", False), ("whisper-tiny.en", True)])
@pytest.mark.slow
def test_generic_says_once_that_it_does_not_know_a_recognizer(tmp_path: Path, name: str, is_known: bool) -> None:
    corpus = sorted((SAMPLE / "corpus" / "whisper-tiny.en").glob("*.jsonl.gz"))
    records = b"".join(gzip.decompress(file.read_bytes()) for file in corpus).splitlines(keepends=True)
    assert len(records) >= 100
    (tmp_path / name).mkdir()
    adapts = load("generic").wants_adapting  # one with features that mean the same for every recognizer does not
    for kind, lines in (("few", 20), ("all", 100_000)):
        file = tmp_path / name / f"{kind}.jsonl"
        file.write_bytes(b"".join(records[:lines]))
        (tmp_path / name / "recognizer.json").write_text(f'{{"name": "{name}"}}')
        told = run("score", "generic", file, "--out", tmp_path / f"{kind}.ctm").stderr
        assert told.count(WORSE) == (0 if is_known else 1)
        heard_little = kind == "few" and adapts
        assert told.count("generic model") == (1 if heard_little or not is_known else 0)
        assert ("under 100 its percentages are rough" in told) == heard_little
