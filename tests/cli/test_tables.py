"""`wordtrust recognizers` on terminals of any width."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from wordtrust.cli import tables
from wordtrust.recognizers import RecognizerEntry

ENTRIES = [
    RecognizerEntry("ears", "a recognizer that is made up for this test", "ears"),
    RecognizerEntry("eyes", "reads lips from [a folder]", "eyes", needs_model=True),
    RecognizerEntry("none", "cannot be had", "none", ("no_such_module",), 'pip install "x[none]"'),
]


def shown(monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    out = io.StringIO()
    monkeypatch.setattr(tables, "console", lambda *_: Console(file=out, width=width))
    tables.print_recognizers(ENTRIES)
    return [line.strip() for line in out.getvalue().splitlines() if line.strip()]


def test_a_narrow_terminal_gets_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, 30) == [
        "ears: ready",
        "a recognizer that is made up",
        "for this test",
        "eyes: ready, name a model",
        "reads lips from [a folder]",
        "none: missing: pip install",
        '"x[none]"',
        "cannot be had",
    ]


def test_a_wide_one_gets_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    head, _, *rows = shown(monkeypatch, 100)
    assert head.split() == ["name", "what", "it", "is", "state"]
    assert [row.split()[0] for row in rows] == ["ears", "eyes", "none"]
    assert rows[1].endswith("ready, name a model")
    assert rows[2].endswith('missing: pip install "x[none]"')
