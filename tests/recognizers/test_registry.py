"""The registry: recognizers are found without being imported, those of other packages too."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.plugin_recognizer import install
from wordtrust.base.errors import OptionError
from wordtrust.base.installation import install_command
from wordtrust.recognizers import RecognizerIdentity, entries, find, loader


def test_listing_imports_no_engine() -> None:
    code = (
        "import sys, wordtrust.recognizers as r; r.entries(); "
        "print([m for m in ('onnxruntime', 'torch', 'pocketsphinx', 'vosk', 'faster_whisper', 'numba') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_plugins_come_after_our_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    *ours, plugin = entries()
    assert [entry.name for entry in ours][:2] == ["moonshine", "whisper"]
    assert (plugin.name, plugin.description, plugin.is_ready) == ("ears", "by the package my-ears", True)
    assert "my_ears" not in sys.modules
    assert loader("ears=big")().identity == RecognizerIdentity("ears-big", "1.0", {"model": "big"})


def test_a_plugin_without_its_module_or_without_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    (tmp_path / "my_ears.py").unlink()
    assert not entries()[-1].is_ready
    (tmp_path / "my_ears.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OptionError, match="my_ears has no function `load`"):
        loader("ears")()


def test_auto_takes_the_best_that_comes_with_its_model() -> None:
    assert find("auto").name == "moonshine"


def test_a_missing_package_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordtrust.recognizers.registry.find_spec", lambda _: None)
    assert not any(entry.is_ready for entry in entries())
    with pytest.raises(
        OptionError, match=re.escape(f"vosk needs vosk, not installed here: {install_command('vosk')}")
    ):
        find("vosk")
    with pytest.raises(OptionError, match="no recognizer is installed"):
        find("auto")


def test_unknown_names_and_missing_models() -> None:
    with pytest.raises(OptionError, match="there is no recognizer 'kaldi'; there are moonshine, "):
        find("kaldi")
    pytest.importorskip("vosk")
    with pytest.raises(OptionError, match="vosk needs a model: --recognizer vosk=MODEL"):
        loader("vosk")
