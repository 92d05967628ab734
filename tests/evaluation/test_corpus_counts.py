"""What `info` counts, on real files that nobody here wrote; and that counts add up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.shared import SHARED, needs_shared
from tests.helpers.strategies import batch_of, lattices
from wordtrust import stream
from wordtrust.evaluation.corpus_counts import count_by_file, count_lattices, total
from wordtrust.formats.nbest.from_python import from_nbest
from wordtrust.formats.references import Reference, References
from wordtrust.lattices.lattice import Lattice
from wordtrust.networks.equivalents import NONE, Equate

# Utterances, nodes, arcs, words of the 1-best, seconds, arcs a second.
REAL: dict[str, tuple[int, int, int, int, float, float]] = {
    "kaldi-small-2020/dev.ark.gz": (930, 114_666, 264_140, 9_415, 5096.94, 51.82),
    "kaldi-small-2019/dev.ark.gz": (930, 123_615, 234_633, 9_125, 5096.94, 46.03),
    "kaldi-comprise/dev.ark.gz": (930, 130_467, 256_897, 9_373, 5096.94, 50.40),
    "kaldi-zamia/dev.ark.gz": (930, 87_876, 172_833, 9_500, 5096.94, 33.91),
    "kaldi-small-2020/eval.ark.gz": (920, 125_566, 302_368, 9_389, 5086.95, 59.44),
    "kaldi-small-2020/train.ark.gz": (4_241, 564_119, 1_360_593, 43_222, 23356.80, 58.25),
    "out-of-domain/kaldi-domain-lm/dev.ark.gz": (930, 141_002, 318_639, 8_279, 5096.94, 62.52),
    "whisper-tiny.en/dev.jsonl.gz": (930, 45_090, 48_126, 9_069, 4707.50, 10.22),
    "whisper-base/dev.jsonl.gz": (930, 44_125, 46_929, 9_116, 4663.18, 10.06),
    "whisper-small/dev.jsonl.gz": (930, 39_787, 42_113, 9_111, 4496.20, 9.37),
    "moonshine-tiny/dev.jsonl.gz": (930, 66_817, 71_352, 9_096, 4370.12, 16.33),
    "moonshine-base/dev.jsonl.gz": (930, 59_781, 63_682, 9_101, 4544.71, 14.01),
    "formats/pocketsphinx.slf.tar": (100, 16_523, 89_994, 1_066, 483.79, 186.02),
    "formats/pocketsphinx-lat": (5, 631, 2_619, 71, 23.23, 112.74),
}


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("name", REAL)
def test_real_files(name: str) -> None:
    found = total(count_by_file(stream(SHARED / name)).values())
    utterances, nodes, arcs, words, duration, density = REAL[name]
    assert (found.utterances, found.nodes, found.arcs, found.words) == (utterances, nodes, arcs, words)
    assert found.duration == pytest.approx(duration, abs=0.01)
    assert found.arcs_per_second == pytest.approx(density, abs=0.01)


def test_errors_are_counted_as_words_are_written_and_with_spellings_equated() -> None:
    heard = from_nbest({"u": [("we saw 6 colours", -1.0), ("we saw six colours", -2.0)]})
    said = References([Reference("u", "We saw six colors.", ("we", "saw", "six", "colors"))])
    counts = count_lattices(heard, said).to_dict()
    rates = {name: counts[name] for name in counts if name.endswith("_wer")}
    assert rates == {"one_best_wer": 0.5, "oracle_wer": 0.25, "lenient_one_best_wer": 0.0, "lenient_oracle_wer": 0.0}
    assert "lenient_one_best_wer" not in count_lattices(heard, said, NONE).to_dict()
    some = count_lattices(heard, said, Equate.of(["numbers"])).to_dict()
    assert (some["lenient_one_best_wer"], some["lenient_oracle_wer"]) == (0.25, 0.25)


@given(st.lists(lattices(score_sets=(("acoustic",),)), min_size=1, max_size=4))
def test_counts_add_up(parts: list[Lattice]) -> None:
    whole, added = count_lattices(batch_of(*parts)), total(count_lattices(part.batch()) for part in parts)
    for name, value in whole.to_dict().items():
        other = added.to_dict()[name]
        assert other == (value if isinstance(value, dict) else pytest.approx(value, abs=0.002)), name
    assert whole.words == sum(len([arc for arc in part.one_best() if part.word[arc]]) for part in parts)
    assert whole.word_arcs == sum(sum(map(bool, part.words)) for part in parts)
