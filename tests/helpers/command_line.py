"""Verbs of the command line in this process."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner, Result

from wordtrust.base.errors import WordtrustError
from wordtrust.cli import cli


def run(*words: object) -> Result:
    """What a verb that succeeds printed; its errors are raised as they are."""
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=False, standalone_mode=False)


def refused(*words: object) -> str:
    """What a verb that fails says to people."""
    with pytest.raises((WordtrustError, click.ClickException)) as caught:
        run(*words)
    return str(caught.value)
