"""Transcripts: whose words are meant to do harm (Hypothesis strategies), and of a long talk."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Alternative, Word

NASTY = (
    "-->", "NOTE", "STYLE", "WEBVTT", ";;", ";;a", "a;;", "<ALT>", "<alt_begin>", "@", "<b>", "</c>", "&lt;", '"',
    "'", '"><script>alert(1)</script>', "' onload='x", "[bold]", "[/]", "\x1b[31m", "a\nb", "a\r\n\r\nb", "\n\n",
    " a ", "a b", "\u202eabc", "\u2066", "a\u2028b", "\x85", "\ud800", "\x00", "\u2060", "a\u2060", "", "%", "NA",
    "1", "<sil>", "<unk>", "اسم", "naïve", "👩\u200d🚀",
)  # fmt: skip
hostile = (
    st.sampled_from(NASTY)
    | st.text(st.sampled_from("ab<>&;\"'-\n\r \u202e[]/\\#?"), max_size=6)
    | st.text(max_size=5)
)
sure = st.floats(0, 1)


@st.composite
def transcripts(draw: st.DrawFn, *, text: st.SearchStrategy[str] = hostile, max_words: int = 10) -> Transcript:
    """Words one after the other, some with pauses between, each with anything in it."""
    at, words = 0.0, []
    for _ in range(draw(st.integers(0, max_words))):
        start = at + draw(st.sampled_from((0.0, 0.0, 0.3, 2.0)))
        at = start + draw(st.integers(0, 80)) / 100
        others = draw(st.lists(st.builds(Alternative, text, sure), max_size=2))
        words.append(
            Word(draw(text), draw(text.filter(bool)), start, at, draw(sure), tuple(others), draw(st.booleans()))
        )
    return Transcript(draw(text), tuple(words))


def talk(words: int, confidence: float = 0.9, *, seed: int = 0, name: str = "talk") -> Transcripts:
    """Segments of ten words, half of a second each, with confidences around this one."""
    sure = np.clip(np.random.default_rng(seed).beta(20 * confidence, 20 * (1 - confidence), words), 0.01, 0.999)
    listed = [
        Word(f"w{k}", f"w{k}", k / 2, k / 2 + 0.4, float(p), missing_before=float(1 - p) / 10)
        for k, p in enumerate(sure)
    ]
    return Transcripts(Transcript(name, tuple(listed[k : k + 10]), missing_end=0.01) for k in range(0, words, 10))
