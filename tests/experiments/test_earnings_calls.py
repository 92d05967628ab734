"""Stretches of calls: what systems heard and what was said go together."""

from __future__ import annotations

from pathlib import Path

from experiments.earnings_calls import SYSTEMS, call_networks

SAID = (
    "so good morning ladies and gentlemen um and welcome to you all thank you we are pleased to be here today".split()
)
HEARD = "good morning ladies and gentlemen and welcome to you all thank you we are please to be here today".split()
PAUSE_AFTER = 10  # words


def _write(file: Path, words: list[str], *, timed: bool) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = ["token|speaker|ts|endTs|punctuation|case|tags"]
    for index, word in enumerate(words):
        start = 0.5 * index + (3.0 if index >= PAUSE_AFTER else 0.0)
        lines.append(f"{word}|1|{start}|{start + 0.45}|||" if timed else f"{word}|1|||||")
    file.write_text("\n".join(lines) + "\n")


def test_references_are_cut_where_the_first_system_pauses(tmp_path: Path) -> None:
    for index, system in enumerate(SYSTEMS):
        heard = [word.upper() if index else word for word in HEARD]
        _write(tmp_path / "output" / system / "1.nlp", heard, timed=True)
    _write(tmp_path / "transcripts" / "nlp_references" / "1.nlp", SAID, timed=False)
    networks, spoken, calls = call_networks(tmp_path, 10)
    assert spoken == [SAID[1:12], SAID[12:]], "without what was said before anything was heard"
    assert [lattice.text for lattice in networks] == [
        " ".join(HEARD[:PAUSE_AFTER]), " ".join(HEARD[PAUSE_AFTER:])
    ]  # fmt: skip
    assert calls == ["1", "1"]
