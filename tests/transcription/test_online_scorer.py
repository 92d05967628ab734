"""Online scoring: joint decoding or the best mean confidence, adaptation, and what is unusual."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.made_models import write_model
from wordtrust import build
from wordtrust.base.errors import OptionError
from wordtrust.lattices.lattice import Lattices
from wordtrust.recognizers import RecognizerIdentity
from wordtrust.recognizers.serialization import to_lattice
from wordtrust.transcription.online_scorer import OnlineCombiner, online_scorer

RECORD = """{"duration": 1.5, "empty_logprob": -9.0, "nbest": [{"score": -1.0, "avg_logprob": -0.333,
"token_logprobs": [-0.2, -0.7], "eot_logprob": -0.1, "words": [
{"word": "Good", "start": 0.1, "end": 0.5, "logprob": -0.2, "tokens": 1},
{"word": "%s.", "start": 0.5, "end": 1.2, "logprob": -0.7, "tokens": 1}]}], "best_avg": 0}"""
NOTHING = '{"nbest": [{"score": 0.0, "words": []}]}'
EARS = RecognizerIdentity("ears", "1")
SHIPPED = [RecognizerIdentity("moonshine-tiny", "1"), RecognizerIdentity("whisper-base", "1", pick="average")]


def line(word: str) -> str:
    return (RECORD % word).replace("\n", "")


def lattices(lines: Sequence[str], identities: Sequence[RecognizerIdentity]) -> list[Lattices]:
    return [to_lattice(text, "u", identity) for text, identity in zip(lines, identities, strict=True)]


def test_recognizers_that_the_joint_model_knows_are_decoded_jointly() -> None:
    combiner = OnlineCombiner(SHIPPED)
    assert combiner.joint is not None
    transcript = combiner.transcript(lattices([line("morning"), line("mourning")], SHIPPED))
    first, second = transcript.words
    assert first.norm == "good"
    assert first.confidence > second.confidence
    rivals = {second.norm, *(other.word.lower().strip(".") for other in second.alternatives)}
    assert {"morning", "mourning"} <= rivals


def test_a_language_model_is_for_one_recognizer() -> None:
    with pytest.raises(OptionError, match="--lm is for one recognizer"):
        OnlineCombiner(SHIPPED, lm="small.arpa")


def test_of_others_the_highest_mean_confidence_is_taken() -> None:
    identities = [SHIPPED[0], EARS]
    combiner = OnlineCombiner(identities)
    assert combiner.joint is None
    assert "higher mean confidence" in combiner.messages()[-1]
    both = lattices([line("morning"), line("mourning")], identities)
    alone = [
        OnlineCombiner([identity]).transcript([of_one]) for identity, of_one in zip(identities, both, strict=True)
    ]
    best = max(transcript.mean_confidence or 0 for transcript in alone)
    assert combiner.transcript(both).mean_confidence == best


def test_models_and_recognizers_must_match() -> None:
    with pytest.raises(OptionError, match="moonshine-tiny was trained for moonshine-tiny, not for ears"):
        online_scorer(EARS, "moonshine-tiny")
    with pytest.raises(OptionError, match="2 recognizers need as many models, not 1"):
        OnlineCombiner(SHIPPED, ["generic"])
    with pytest.raises(OptionError, match="is named twice"):
        OnlineCombiner([EARS, EARS])


def test_a_generic_model_adapts_while_it_listens(tmp_path: Path) -> None:
    """One whose features mean something else for every recognizer."""
    networks = build(lattices([line("morning")], [EARS])[0]).lattices
    model = write_model(tmp_path / "generic", networks, generic=True, recognizer=None)
    combiner = OnlineCombiner([EARS], [str(model)])
    heard = [lattices([line(word)], [EARS]) for word in ("morning", "day", "evening", "night")]
    first = [combiner.transcript(of_segment) for of_segment in heard]
    assert combiner.is_provisional
    revised = [combiner.transcript(of_segment, learn=False) for of_segment in heard]
    assert revised == [combiner.transcript(of_segment, learn=False) for of_segment in heard]
    assert first[0].confidence != revised[0].confidence
    assert first[-1] == revised[-1]


def test_segments_without_words_do_no_harm() -> None:
    """Records without words have none of the scores that others have."""
    both, alone = OnlineCombiner(SHIPPED), OnlineCombiner(SHIPPED[:1])
    for index in range(45):
        text = [line("morning"), NOTHING, line("day")][index % 3]
        heard = lattices([text, NOTHING], SHIPPED)
        alone.transcript(heard[:1])
        assert len(both.transcript(heard).words) in ((0,) if text == NOTHING else (0, 1, 2))
    silent = lattices([NOTHING, NOTHING], SHIPPED)
    assert both.transcript(silent).words == alone.transcript(silent[:1]).words == ()


def test_a_recognizer_whose_records_differ_in_what_they_hold() -> None:
    """Its utterances cannot be concatenated; adapting and scoring do without."""
    combiner = OnlineCombiner([EARS])
    bare = '{"nbest": [{"score": -1.0, "words": [{"word": "one", "start": 0.0, "end": 1.0}]}]}'
    for index in range(45):
        assert combiner.transcript(lattices([line("day") if index % 2 else bare], [EARS])).words


@pytest.mark.parametrize("count", [1, 2])
def test_what_came_before_does_not_change_confidences_and_what_is_unusual_is_told(count: int) -> None:
    combiner, alone = OnlineCombiner(SHIPPED[:count]), OnlineCombiner(SHIPPED[:count])
    strange = [line("xqzz").replace("Good", "Vvrk")] * count
    for _ in range(25):
        told = combiner.transcript(lattices(strange, SHIPPED[:count]))
    assert "words" in [warning.name for warning in told.warnings]
    assert len({warning.name for warning in told.warnings}) == len(told.warnings)
    heard = lattices([line("morning")] * count, SHIPPED[:count])
    assert combiner.transcript(heard) == alone.transcript(heard)
