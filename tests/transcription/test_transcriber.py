"""The transcriber: times of the recording, channels, unique names, and recognition that resumes from a journal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

import wordtrust as wt
from tests.helpers.plugin_recognizer import install
from tests.helpers.speech import recording, recording_path
from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.errors import InputError, OptionError
from wordtrust.base.journal import Journal
from wordtrust.transcription.transcriber import RecognizedSegment, Transcriber, recordings


@pytest.fixture(autouse=True)
def ears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", monkeypatch)


def test_words_have_the_times_of_the_recording() -> None:
    transcripts = wt.transcribe(recording_path(), "ears")
    assert transcripts == wt.transcribe(recording_path(), ["ears"], model=["generic"])
    with Transcriber(["ears"]) as transcriber:
        [one] = recordings([AudioFile.open(recording_path())])
        segments = list(transcriber.recognize(one))
    starts = [segment.start for segment in segments if segment.end - segment.start >= 1]
    assert starts
    assert [transcript.words[0].start for transcript in transcripts if transcript.words] == pytest.approx(starts)
    words = [word for transcript in transcripts for word in transcript.words]
    assert [word.start for word in words] == sorted(word.start for word in words)
    assert all(0 < word.confidence < 1 for word in words)


def test_an_interrupt_loses_nothing(tmp_path: Path) -> None:
    talk = tmp_path / "talk.wav"
    soundfile.write(talk, np.tile(recording(), 3), 16000)
    [one] = recordings([AudioFile.open(talk)])
    with Transcriber(["ears"]) as transcriber, Journal(tmp_path / "j", {}) as journal:
        expected = list(transcriber.recognize(one))
        coming = transcriber.recognize(one, journal)
        first = [next(coming), next(coming)]
        coming.close()  # type: ignore[attr-defined]
        assert len(list(journal)) == 2
    with Transcriber(["ears=deaf"]) as deaf, Journal(tmp_path / "j", {}) as journal:
        coming = deaf.recognize(one, journal)
        assert [next(coming), next(coming)] == first == expected[:2]
        with pytest.raises(InputError, match="failed: RuntimeError: no ears"):
            next(coming)
    with Transcriber(["ears"]) as transcriber, Journal(tmp_path / "j", {}) as journal:
        assert list(transcriber.recognize(one, journal)) == expected


def test_recordings_have_unique_names(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    paths = (tmp_path / "a.wav", tmp_path / "x" / "a.wav")
    for path in paths:
        soundfile.write(path, np.zeros((800, 2)), 8000)
    files = [AudioFile.open(path) for path in paths]
    assert [one.name for one in recordings(files)] == ["a", "a-2"]
    assert [one.name for one in recordings(files, "each")] == ["a-1", "a-2", "a-1-2", "a-2-2"]
    with pytest.raises(OptionError, match="there is no channel '3': 1 to 2, mix or each"):
        recordings(files, "3")


def test_a_segment_of_a_journal_that_is_damaged_is_an_error_of_ours() -> None:
    segment = RecognizedSegment(1.0, 2.5, ("{}",), "loop")
    assert RecognizedSegment.from_dict(segment.to_dict(), "j") == segment
    pieces: list[object] = [None, [], {}, {**segment.to_dict(), "start": "soon"}, {**segment.to_dict(), "lines": 3}]
    for damaged in pieces:
        with pytest.raises(InputError, match="j: a segment that was kept is damaged"):
            RecognizedSegment.from_dict(damaged, "j")
