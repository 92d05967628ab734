"""Verbs of the command line in this process."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

import click
import pytest
from click.testing import CliRunner, Result

from wordtrust.base.errors import WordtrustError
from wordtrust.cli import cli, main


def run(*words: object) -> Result:
    """What a verb that succeeds printed; its errors are raised as they are."""
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False, standalone_mode=False)


def refused(*words: object) -> str:
    """What a verb that fails says to people."""
    with pytest.raises((WordtrustError, click.ClickException)) as caught:
        run(*words)
    return str(caught.value)


def wordtrust(*words: object, code: int = 0, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The whole command with its errors and its exit code, in this process: a new one takes seconds to start."""
    command = ["wordtrust", *map(str, words)]
    stdout, stderr = (TextIOWrapper(BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        patch.object(sys, "argv", command),
        patch.dict(os.environ, COLUMNS="140"),
        chdir(cwd or Path.cwd()),
        redirect_stdout(stdout),
        redirect_stderr(stderr),
    ):
        try:
            main()
            ended = 0
        except SystemExit as end:
            ended = int(end.code or 0)
    out, err = (
        stream.buffer.getvalue().decode() for stream in (stdout, stderr) if isinstance(stream.buffer, BytesIO)
    )
    assert ended == code, err
    assert "Traceback" not in err
    return subprocess.CompletedProcess(command, ended, out, err)
