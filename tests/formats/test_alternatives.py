"""Alternatives of speech services: branches beside the words that were chosen."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.reading import path_arcs, paths_by_text, posteriors, read_bytes, timed_words
from tests.helpers.shared import SAMPLES
from wordtrust import load, read
from wordtrust.base.errors import WordtrustWarning
from wordtrust.confidence.evaluate_model import evaluate
from wordtrust.formats import formats_by_name
from wordtrust.formats.references import Reference
from wordtrust.lattices.lattice import Lattice, Lattices

SECOND = 10_000_000


def azure(*hypotheses: tuple[str, float], words: bool = True) -> dict[str, Any]:
    """A detailed result: a second a word for the first hypothesis, and texts for the others."""
    said = hypotheses[0][0].split()
    first = {
        "Confidence": hypotheses[0][1], "Lexical": hypotheses[0][0], "Display": hypotheses[0][0],
        "Words": [{"Word": word, "Offset": place * SECOND, "Duration": SECOND, "Confidence": 0.5 + 0.1 * place}
                  for place, word in enumerate(said)],
    }  # fmt: skip
    if not words:
        del first["Words"]
    others = [{"Confidence": score, "Lexical": text, "Display": f"{text.title()}."} for text, score in hypotheses[1:]]
    return {
        "RecognitionStatus": "Success",
        "Offset": 0,
        "Duration": len(said) * SECOND,
        "NBest": [first, *others],
    }


def one(format_: str, document: Any) -> Lattice:
    (lattice,) = read_bytes(formats_by_name()[format_], document)
    return lattice


def said_at(lattice: Lattice) -> set[tuple[str, float, float, float]]:
    """Word, start, end and posterior of the arcs beside the picked path; silence left out."""
    beside = set(range(lattice.arcs)) - set(path_arcs(lattice))
    assert lattice.posterior is not None
    return {
        (lattice.words[arc], *lattice.time[[lattice.source[arc], lattice.target[arc]]].round(3).tolist(),
         round(float(lattice.posterior[arc]), 4))
        for arc in beside if lattice.words[arc]
    }  # fmt: skip


def test_azure_alternatives_take_the_times_of_what_they_replace() -> None:
    lattice = one("azure", azure(("the soup is hot", 0.8), ("the suit is hot", 0.3), ("the soup is very hot", 0.1)))
    assert set(paths_by_text(lattice)) == {"the soup is hot", "the suit is hot", "the soup is very hot"}
    assert timed_words(lattice) == [("the", 0, 1), ("soup", 1, 2), ("is", 2, 3), ("hot", 3, 4)]
    assert posteriors(lattice) == [0.5, 0.6, 0.7, 0.8]
    beside = said_at(lattice)
    # What "soup" leaves of 1 is shared by confidence: three quarters of 0.4 for the alternative with 0.3 of 0.4.
    assert ("suit", 1, 2, 0.3) in beside
    assert {word for word, _, _, posterior in beside if posterior == 0} == {"the", "soup", "is", "hot"}
    very = next(arc for arc in beside if arc[0] == "very")
    assert 2.9 < very[1] < very[2] < 3.1


def test_amazon_segments() -> None:
    lattice = read(SAMPLES / "amazon" / "alternatives.json")[0]
    assert set(paths_by_text(lattice)) == {"the winch jammed", "the wench jammed", "the winch jam"}
    # No confidence of whole alternatives: the means of their words, 0.73 and 0.5633.
    share = 0.73 / (0.73 + 1.69 / 3)
    assert {arc for arc in said_at(lattice) if arc[3]} == {
        ("wench", 0.5, 1, round(0.4 * share, 4)),
        ("jam", 1, 1.6, round(0.1 * (1 - share), 4)),
    }


def test_amazon_segments_that_say_something_else_are_left_alone() -> None:
    document = json.loads((SAMPLES / "amazon" / "alternatives.json").read_text())
    document["results"]["segments"][0]["alternatives"].reverse()
    assert paths_by_text(one("amazon", document)).keys() == {"the winch jammed"}


def test_google_shares_equally_where_alternatives_have_no_confidence() -> None:
    words = [{"word": "red", "startTime": "0s", "endTime": "1s", "confidence": 0.9},
             {"word": "sky", "startTime": "1s", "endTime": "2s", "confidence": 0.4}]  # fmt: skip
    alternatives = [{"transcript": "red sky", "words": words}, {"transcript": "red ski"}, {"transcript": "red skies"}]
    lattice = one("google", {"results": [{"alternatives": alternatives, "resultEndTime": "2s"}]})
    assert {arc for arc in said_at(lattice) if arc[3]} == {("ski", 1, 2, 0.3), ("skies", 1, 2, 0.3)}


def test_deepgram_alternatives_keep_their_own_times() -> None:
    def alternative(*words: tuple[str, float, float, float]) -> dict[str, Any]:
        return {"words": [dict(zip(("word", "start", "end", "confidence"), word, strict=True)) for word in words]}

    chosen = alternative(("go", 0.0, 0.5, 0.9), ("home", 0.5, 1.0, 0.8))
    other = alternative(("go", 0.0, 0.45, 0.9), ("alone", 0.45, 1.0, 0.2))
    lattice = one("deepgram", {"results": {"channels": [{"alternatives": [chosen, other]}]}})
    assert said_at(lattice) == {("go", 0, 0.45, 0), ("alone", 0.45, 1, 0.2)}


def test_without_confidences_the_chosen_words_stand_alone() -> None:
    hypotheses = [{"Display": "red sky"}, {"Display": "red ski"}]
    lattice = one("azure", {"RecognitionStatus": "Success", "NBest": hypotheses})
    assert paths_by_text(lattice).keys() == {"red sky"}


def test_alternatives_that_say_the_same_are_one() -> None:
    lattice = one("azure", azure(("red sky", 0.8), ("Red sky.", 0.5), ("red ski", 0.2), ("red, ski", 0.1)))
    assert paths_by_text(lattice).keys() == {"red sky", "red ski"}


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1, max_size=6).map(" ".join)


@given(st.lists(st.tuples(WORDS, st.floats(0.01, 1)), min_size=2, max_size=5))
def test_chosen_words_are_as_without_alternatives(
    hypotheses: list[tuple[str, float]],
) -> None:
    alone, lattice = one("azure", azure(hypotheses[0])), one("azure", azure(*hypotheses))
    assert timed_words(lattice) == timed_words(alone)
    assert posteriors(lattice) == posteriors(alone)
    assert lattice.text == hypotheses[0][0]
    assert paths_by_text(lattice).keys() == {text for text, _ in hypotheses}


def batch_of(*documents: Any) -> Lattices:
    return read_bytes(formats_by_name()["azure"], "\n".join(map(json.dumps, documents)))


def test_words_are_measured_as_without_alternatives() -> None:
    result = azure(("the soup is hot", 0.8), ("the suit is hot", 0.3), ("this soup is hot hot", 0.3))
    reference = {"call": Reference("call", "s", ("the", "suit", "is", "hot"))}
    alone = {**result, "NBest": result["NBest"][:1]}
    measured = [evaluate(batch_of(document), references=reference).to_dict() for document in (result, alone)]
    assert measured[0] == measured[1]
    assert measured[0]["wer"]["one_best"] == 0.25


def test_files_with_and_without_alternatives_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(azure(("red sky", 0.8), ("red ski", 0.2))))
    (tmp_path / "b.json").write_text(json.dumps(azure(("blue sky", 0.8))))
    lattices = read(tmp_path)
    assert [lattice.text for lattice in lattices] == ["red sky", "blue sky"]


@pytest.mark.slow
def test_alternatives_are_shown() -> None:
    networks = batch_of(azure(("the soup is hot", 0.8), ("the suit is hot", 0.3)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WordtrustWarning)  # that it has heard little
        transcript = load("generic")(networks)[0]
    soup = transcript.words[1]
    assert {soup.word, *(alternative.word for alternative in soup.alternatives)} == {"soup", "suit"}
