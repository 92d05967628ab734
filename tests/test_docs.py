"""The docs are true: every Python block runs, every command and link is there."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from tools import api_page

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


# A block of Python, and the plain block directly below it: what it prints.
PYTHON_AND_OUTPUT = r"```python\n(.*?)```(?:\n\n```\n(.*?)```)?"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_blocks_run(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All blocks of a page, one after another, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").symlink_to(ROOT / "src")
    import wordtrust as wt

    wt.write(wt.read("src/wordtrust/sample/lattices/*.slf.gz"), "corpus.store")
    if 'load("model")' in page.read_text("utf-8"):
        make_model()
    if '"talk.wav"' in page.read_text("utf-8"):
        make_talk()
    names: dict[str, object] = {}
    for block, shown in re.findall(PYTHON_AND_OUTPUT, page.read_text("utf-8"), re.DOTALL):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page.name, "exec"), names)
        if shown:
            assert printed.getvalue() == shown


def make_talk() -> None:
    """The file `talk.wav`: ten seconds of real reading."""
    pytest.importorskip("soundfile", reason="needs the extra `audio`")
    found = find_spec("moonshine_voice")
    if found is None or found.origin is None:
        pytest.skip("needs the extra `audio`")
    Path("talk.wav").symlink_to(Path(found.origin).parent / "assets" / "beckett.wav")


def make_model() -> None:
    """The folder `model`, a toy trained on the bundled sample."""
    pytest.importorskip("torch", reason="needs the extra `train`")
    from wordtrust.cli import cli

    sample = "src/wordtrust/sample"
    build = ["build", f"{sample}/lattices/*.slf.gz", "--ref", f"{sample}/ref.tsv", "--out", "networks"]
    cli.main(build, standalone_mode=False)
    train = ["train", "networks", "--dev", "networks", "--out", "model", "--epochs", "1", "--state", "8"]
    cli.main(train, standalone_mode=False)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
        assert target.startswith("http") or (page.parent / target).exists(), target


def test_the_api_page_is_what_the_docstrings_say() -> None:
    assert api_page.PAGE.read_text("utf-8") == api_page.page(), "make it again: python -m tools.api_page"


def commands(page: Path) -> list[list[str]]:
    """Every `wordtrust ...` line of a page, as a shell would split it."""
    lines = re.findall(r"^(?:\$ )?wordtrust ([a-z].*)$", page.read_text("utf-8").replace("\\\n", " "), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page: Path) -> None:
    from wordtrust.cli import cli

    for verb, *words in commands(page):
        command = cli.commands[verb]
        parser = command.make_parser(click.Context(command))
        parser.parse_args([word for word in words if word != "..."])  # raises where there is no such option


def test_an_option_that_does_not_exist_would_be_found() -> None:
    from wordtrust.cli import cli

    parser = cli.commands["info"].make_parser(click.Context(cli.commands["info"]))
    with pytest.raises(click.NoSuchOption):
        parser.parse_args(["x", "--no-such-thing"])
