"""N-gram models of ARPA files against the definition written out, and damaged files."""

from __future__ import annotations

import gzip
from math import log
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordtrust.base.errors import InputError
from wordtrust.language_models.arpa import ArpaModel
from wordtrust.language_models.loading import load_language_model

# No 2-gram "b c", though a 3-gram begins with it, as pruned models of SRILM have it.
NGRAMS: dict[tuple[str, ...], tuple[float, float]] = {
    ("<s>",): (-99.0, -0.4), ("</s>",): (-1.1, 0.0), ("<unk>",): (-2.5, 0.0),
    ("a",): (-0.9, -0.3), ("b",): (-1.0, -0.2), ("c",): (-1.2, -0.5),
    ("<s>", "a"): (-0.3, -0.1), ("a", "b"): (-0.4, -0.6), ("c", "</s>"): (-0.2, 0.0), ("a", "<unk>"): (-1.5, -0.7),
    ("<s>", "a", "b"): (-0.15, 0.0), ("b", "c", "</s>"): (-0.05, 0.0),
}  # fmt: skip


def arpa_text(ngrams: dict[tuple[str, ...], tuple[float, float]] = NGRAMS) -> str:
    orders = sorted({len(words) for words in ngrams})
    lines = ["a remark", "", "\\data\\"]
    lines += [f"ngram {order}={sum(len(words) == order for words in ngrams)}" for order in orders]
    for order in orders:
        lines += ["", f"\\{order}-grams:"]
        for words, (logprob, backoff) in ngrams.items():
            if len(words) == order:
                lines.append(f"{logprob}\t{' '.join(words)}" + (f"\t{backoff}" if backoff else ""))
    return "\n".join([*lines, "", "\\end\\", ""])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ArpaModel:
    path = tmp_path_factory.mktemp("arpa") / "small.arpa.gz"
    path.write_bytes(gzip.compress(arpa_text().encode()))
    loaded = load_language_model(path)
    assert isinstance(loaded, ArpaModel)
    return loaded


def _log10(word: str, before: tuple[str, ...]) -> float:
    """The definition: the n-gram itself, or the context's backoff and one word of context less."""
    if (*before, word) in NGRAMS:
        return NGRAMS[(*before, word)][0]
    assert before
    return NGRAMS.get(before, (0.0, 0.0))[1] + _log10(word, before[1:])


@given(st.lists(st.lists(st.sampled_from([*"abc", "unheard"]), max_size=6), min_size=1, max_size=4))
def test_words_have_the_probability_of_their_definition(model: ArpaModel, sentences: list[list[str]]) -> None:
    expected = []
    for sentence in sentences:
        known = ["<s>", *(word if (word,) in NGRAMS else "<unk>" for word in sentence), "</s>"]
        expected += [_log10(known[i], tuple(known[max(0, i - 2) : i])) * log(10) for i in range(1, len(known))]
    assert model.word_logprobs([sentences]) == pytest.approx(expected, abs=1e-9)


def test_a_vocabulary_in_capitals_and_without_marks(tmp_path: Path) -> None:
    path = tmp_path / "capitals.arpa"
    path.write_text(arpa_text({("YES",): (-0.5, 0.0), ("NO",): (-0.25, 0.0)}))
    values = ArpaModel.load(path).word_logprobs([[["no", "yes", "perhaps"]]])
    assert values == pytest.approx([-0.25 * log(10), -0.5 * log(10), -0.5 * log(10), 0.0])


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (("ngram 2=4", "ngram 2=5"), "4 2-grams, 5 were announced"),
        (("ngram 2=4\n", ""), "'ngram 3=2' where the number of 2-grams"),
        (("-0.4\ta b", "-0.4\ta z"), "'z' is not among the 1-grams"),
        (("-0.4\ta b", "nonsense\ta b"), "'nonsense' and '-0.6' should be logarithms"),
        (("-0.4\ta b", "0.4\ta b"), "a logarithm of 0.4"),
        (("-0.4\ta b", "nan\ta b"), "is no probability"),
        (("-0.4\ta b", "-0.4\ta b c d"), "is no 2-gram"),
        (("-0.2\tc </s>", "-0.2\ta b"), "one of the 2-grams is there twice"),
        (("\\end\\", ""), "the file ends among the 3-grams"),
        (("\\3-grams:", "\\end\\"), "is no 2-gram"),
        (("\ta\t", "\t\udcff\t"), "no UTF-8"),
    ],
)
def test_damage_is_said_with_its_line(tmp_path: Path, change: tuple[str, str], found: str) -> None:
    path = tmp_path / "damaged.arpa"
    path.write_bytes(arpa_text().replace(*change, 1).encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as error:
        ArpaModel.load(path)
    assert found in str(error.value)
    assert "damaged.arpa, line" in str(error.value)


def test_a_packed_file_that_is_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "cut.arpa.gz"
    path.write_bytes(gzip.compress(arpa_text().encode())[:-30])
    with pytest.raises(InputError, match="cut off or damaged"):
        ArpaModel.load(path)
