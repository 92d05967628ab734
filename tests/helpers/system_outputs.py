"""SystemOutput of recognizers out of plain text, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st

from wordtrust.combination.system_output import SystemOutput, SystemOutputs
from wordtrust.formats.references import Reference
from wordtrust.lattices.vocabulary import Vocabulary


def outputs(
    texts: Sequence[str],
    confidence: Sequence[float] | float | None = 0.5,
    *,
    calibrated: Sequence[float] | None = None,
    utts: Sequence[str] | None = None,
) -> SystemOutput:
    """One recognizer that said these texts, a second a word, with one confidence a word (or the same for all)."""
    vocabulary = Vocabulary()
    words = [text.split() for text in texts]
    offsets = np.cumsum([0, *map(len, words)]).astype(np.int64)
    start = np.arange(offsets[-1], dtype=np.float64) - np.repeat(offsets[:-1], np.diff(offsets))
    sure = None if confidence is None else np.broadcast_to(np.array(confidence, np.float64), len(start)).copy()
    return SystemOutput(
        tuple(utts or [f"u{number}" for number in range(len(texts))]),
        offsets,
        np.array([vocabulary.id(word) for each in words for word in each], np.int32),
        start,
        start + 1,
        vocabulary,
        sure,
        None if calibrated is None else np.array(calibrated, np.float64),
    )


def references(texts: Sequence[str], speakers: Sequence[str] | None = None) -> dict[str, Reference]:
    """What was said in the utterances u0, u1, ..."""
    names = speakers or [f"s{number}" for number in range(len(texts))]
    rows = zip(texts, names, strict=True)
    return {f"u{k}": Reference(f"u{k}", text, tuple(text.split()), speaker) for k, (text, speaker) in enumerate(rows)}


def side_by_side(
    systems: Mapping[str, SystemOutput | Sequence[str]], said: Sequence[str], speakers: Sequence[str] | None = None
) -> SystemOutputs:
    """Recognizers side by side, given as outputs or as texts."""
    made = {name: each if isinstance(each, SystemOutput) else outputs(each) for name, each in systems.items()}
    return SystemOutputs.of(made, references(said, speakers))


@st.composite
def several(draw: st.DrawFn, *, max_systems: int = 4, max_utterances: int = 3) -> SystemOutputs:
    """A few recognizers that say much the same, of few words, with confidences of all kinds."""
    utterances = draw(st.integers(1, max_utterances))
    text = st.lists(st.sampled_from("abcd"), max_size=5).map(" ".join)
    texts = st.lists(text, min_size=utterances, max_size=utterances)
    systems = {f"r{number}": _sure(draw, draw(texts)) for number in range(draw(st.integers(2, max_systems)))}
    said = draw(texts.filter(any))
    speakers = draw(st.lists(st.sampled_from("xyz"), min_size=utterances, max_size=utterances))
    return side_by_side(systems, said, speakers)


def _sure(draw: st.DrawFn, texts: Sequence[str]) -> SystemOutput:
    words = sum(len(text.split()) for text in texts)
    sure = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.8, 1.0]), min_size=words, max_size=words)
    return outputs(texts, draw(sure), calibrated=draw(sure))
