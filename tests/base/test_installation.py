"""The command that installs an extra."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from wordtrust.base import installation
from wordtrust.base.installation import install_command

CHECKOUT = Path(__file__).parents[2]


def install_from(monkeypatch: pytest.MonkeyPatch, noted: object) -> None:
    """As if the package was installed, with this note by pip about where it came from."""
    text = None if noted is None else json.dumps(noted)
    monkeypatch.setattr(installation, "_checkout", lambda _: None)
    monkeypatch.setattr(installation, "distribution", lambda _: SimpleNamespace(read_text=lambda _: text))


def test_in_a_checkout_it_is_the_dot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    assert install_command("whisper").endswith('pip install -e ".[whisper]"')


def test_elsewhere_the_checkout_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert install_command("whisper").endswith(f'pip install -e "{CHECKOUT}[whisper]"')


def test_a_package_from_an_index_comes_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    install_from(monkeypatch, None)
    assert install_command("vosk").endswith('pip install "wordtrust[vosk]"')


def test_a_folder_or_wheel_that_was_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = tmp_path / "with space" / "wordtrust-1-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    install_from(monkeypatch, {"url": wheel.as_uri(), "archive_info": {}})
    assert install_command("audio").endswith(f'pip install "{wheel}[audio]"')
    wheel.unlink()  # what is gone is of no use
    assert install_command("audio").endswith('pip install "wordtrust[audio]"')


def test_a_repository_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    install_from(monkeypatch, {"url": "https://example.org/wordtrust.git", "vcs_info": {"vcs": "git"}})
    assert install_command("audio").endswith('"wordtrust[audio] @ git+https://example.org/wordtrust.git"')


@pytest.mark.parametrize("noted", [[], {"url": 3, "vcs_info": {}}, "x", {}])
def test_a_strange_note_is_ignored(monkeypatch: pytest.MonkeyPatch, noted: object) -> None:
    install_from(monkeypatch, noted)
    assert "pip install" in install_command("audio")


def test_pip_is_that_of_this_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Who calls .venv/bin/wordtrust without activating .venv would install into another Python."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert install_command("audio").startswith(f"{sys.executable} -m pip install ")
    pip = Path(sys.executable).parent / "pip"
    monkeypatch.setattr("shutil.which", lambda _: str(pip))
    assert install_command("audio").startswith("pip install ")
