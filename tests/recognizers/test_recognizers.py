"""Recognizers: found without being imported, those of others too; asked in order, in a thread or in processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.ears import install
from wordtrust.base.errors import InputError, OptionError
from wordtrust.lattices.lattice import Lattice
from wordtrust.recognizers import NBestRecord, RecognizerIdentity, entries, find, loader
from wordtrust.recognizers.answers import to_lattice, to_lattices, to_line
from wordtrust.recognizers.pool import RecognitionRequest, RecognizerPool

IDENTITY = RecognizerIdentity("ears", "1.0")


@pytest.fixture
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(install(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "my_ears", raising=False)


def speech(seconds: float) -> RecognitionRequest:
    return RecognitionRequest(np.zeros(int(seconds * 16000), np.float32))


def test_listing_imports_no_engine() -> None:
    code = (
        "import sys, wordtrust.recognizers as r; r.entries(); "
        "print([m for m in ('onnxruntime', 'torch', 'pocketsphinx', 'vosk', 'faster_whisper', 'numba') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_those_of_others_come_after_ours(ears: None) -> None:
    found = entries()
    assert [each.name for each in found][:2] == ["moonshine", "whisper"]
    assert (found[-1].name, found[-1].description, found[-1].is_ready) == ("ears", "by the package my-ears", True)
    assert "my_ears" not in sys.modules
    assert loader("ears=big")().identity == RecognizerIdentity("ears-big", "1.0", {"model": "big"})


def test_a_package_without_its_module_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = install(tmp_path / "site")
    (site / "my_ears.py").unlink()
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "my_ears", raising=False)
    assert not entries()[-1].is_ready
    (site / "my_ears.py").write_text("")
    monkeypatch.syspath_prepend(site)
    with pytest.raises(OptionError, match="my_ears has no function `load`"):
        loader("ears")()


def test_auto_takes_the_best_that_has_its_model_with_it() -> None:
    assert find("auto").name == "moonshine"


def test_what_is_missing_is_told_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordtrust.recognizers.registry._is_installed", lambda _: False)
    assert [each.is_ready for each in entries()] == [False] * len(entries())
    with pytest.raises(OptionError, match=r'vosk needs vosk, not installed here: pip install "wordtrust\[vosk\]"'):
        find("vosk")
    with pytest.raises(OptionError, match="no recognizer is installed"):
        find("auto")


def test_unknown_names_and_models_that_have_to_be_named() -> None:
    with pytest.raises(OptionError, match="there is no recognizer 'kaldi'; there are moonshine, "):
        find("kaldi")
    monkey = pytest.importorskip("vosk")
    assert monkey
    with pytest.raises(OptionError, match="vosk needs a model: --recognizer vosk=MODEL"):
        loader("vosk")


@pytest.mark.parametrize("jobs", [1, 2])
def test_answers_come_in_order(ears: None, jobs: int) -> None:
    with RecognizerPool("ears", jobs=jobs) as pool:
        assert pool.identity == RecognizerIdentity("ears", "1.0", {"model": None})
        found = list(pool.map([3, 1, 0, 2, 5, 4], speech))
    heard = [to_lattice(answer.line, "u", pool.identity) for _, answer in found]
    assert [item for item, _ in found] == [3, 1, 0, 2, 5, 4]
    assert [each[0].text for each in heard] == [
        "one two three", "one", "", "one two", "one two three four five", "one two three four",
    ]  # fmt: skip


def test_a_guard_sees_the_seconds(ears: None) -> None:
    def guard(heard: NBestRecord | Lattice, seconds: float, sure: float) -> tuple[NBestRecord | Lattice, str | None]:
        return {"nbest": [{"score": 0.0, "words": []}]}, f"{seconds:g} s, {sure:g}"

    with RecognizerPool("ears", keep=guard) as pool:
        [(_, answer)] = pool.map([2], lambda seconds: RecognitionRequest(speech(seconds).samples, 0.25))
    assert (answer.dropped, answer.line) == ("2 s, 0.25", '{"nbest": [{"score": 0.0, "words": []}]}')


def test_errors_of_an_engine_are_told(ears: None) -> None:
    with RecognizerPool("ears=deaf") as pool:
        [(_, answer)] = pool.map([2], speech)
    assert str(answer.error) == "the recognizer ears=deaf failed: RuntimeError: no ears"
    with RecognizerPool("ears=leaving") as pool:
        [(_, answer)] = pool.map([2], speech)
    assert str(answer.error) == "the recognizer ears=leaving failed: SystemExit: 3"
    with RecognizerPool("ears=wrong") as pool:
        [(_, answer)] = pool.map([2], speech)
    assert "it gave list, not an N-best record or a Lattice" in str(answer.error)
    with (
        RecognizerPool("ears=absent") as pool,
        pytest.raises(InputError, match="absent: there is no such model"),
    ):
        _ = pool.identity


def test_a_killed_process_is_an_error(ears: None) -> None:
    told = "a process with the recognizer ears=killed was killed"
    with RecognizerPool("ears=killed", jobs=2) as pool, pytest.raises(InputError, match=told):
        list(pool.map([1, 2, 3], speech))


def test_bad_records_are_refused_by_the_reader(ears: None) -> None:
    with RecognizerPool("ears=mad") as pool:
        [(_, answer)] = pool.map([2], speech)
    assert "its record cannot be written as JSON: Out of range float values" in str(answer.error)
    with pytest.raises(InputError, match="ears gave what cannot be used: ") as error:
        to_lattice('{"nbest": [{"score": "high", "words": []}]}', "u7", IDENTITY, "talk.wav")
    assert (error.value.file, error.value.utt) == ("talk.wav", "u7")


def test_lattices_and_records_become_lattices_in_order() -> None:
    record = '{"nbest": [{"score": -1.0, "words": [{"word": "Hi.", "start": 0.0, "end": 0.5}]}]}'
    first = to_lattice(record, "a", IDENTITY)
    line = to_line(first[0])
    batches = to_lattices([record, line, line, record], ["a", "b", "c", "d"], IDENTITY)
    found = [each for batch in batches for each in batch]
    assert [each.utt for each in found] == ["a", "b", "c", "d"]
    assert {each.text for each in found} == {"Hi."}
    assert {each.origin.recognizer for each in found} == {"ears"}
    assert replace(found[1], utt="a").equals(found[0])


def test_errors_travel_between_processes() -> None:
    error = InputError("odd", file="f", utt="u", place="line 3", remedy="Mend it")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (InputError, str(error))
