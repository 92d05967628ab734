"""Words of a text are settled while a recording is still heard, and checked: as they are when all was heard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

import wordtrust as wt
from tests.helpers.plugin_recognizer import install
from tests.helpers.speech import recording
from wordtrust.audio.audio_file import AudioFile
from wordtrust.audio.segments import segments
from wordtrust.recognizers import RecognizerIdentity, loader
from wordtrust.recognizers.serialization import to_lattice
from wordtrust.transcription.check import check_tasks
from wordtrust.transcription.check_job import CheckJob, CheckTask
from wordtrust.transcription.checked_recording import heard_clock, locate_text
from wordtrust.transcription.following import LAG, TextFollower
from wordtrust.transcription.transcriber import RecognizedSegment, Transcriber
from wordtrust.transcription.written_text import WrittenText, read_texts
from wordtrust.transcripts.transcript import Transcript
from wordtrust.transcripts.words import Word

SEGMENTS, WORDS = 30, 8  # of each; a word takes half a second, a pause between segments a second
IDENTITY = RecognizerIdentity("ears", "1.0")


def said(seed: int) -> list[str]:
    return [f"w{word}" for word in np.random.default_rng(seed).integers(0, 400, SEGMENTS * WORDS)]


def segment(index: int, words: list[str]) -> RecognizedSegment:
    timed = [{"word": word, "start": 0.5 * at, "end": 0.5 * at + 0.5} for at, word in enumerate(words)]
    line = json.dumps({"nbest": [{"score": -1.0, "words": timed}]})
    start = 5.0 * index + 1
    return RecognizedSegment(start, start + 4.0, (line,), lattices=(to_lattice(line, "talk", IDENTITY),))


def heard(words: list[str]) -> list[RecognizedSegment]:
    """Segments in which every seventh word was misheard."""
    wrong = [f"x{at}" if at % 7 == 3 else word for at, word in enumerate(words)]
    return [segment(index, wrong[index * WORDS : (index + 1) * WORDS]) for index in range(SEGMENTS)]


def written(path: Path, words: list[str], *, is_timed: bool) -> WrittenText:
    times = [5.0 * (at // WORDS) + 1 + 0.5 * (at % WORDS) for at in range(len(words))]
    if is_timed:
        Transcript(
            "talk", tuple(Word(word, word, at, at + 0.5, 0.5) for word, at in zip(words, times, strict=True))
        ).save(path)
    else:
        path.write_text(" ".join(words))
    return read_texts(path)[0]


@pytest.mark.parametrize("is_timed", [True, False])
@pytest.mark.parametrize("change", ["none", "missing in the text", "missing in the audio", "made up"])
def test_settled_words_are_where_they_are_found_in_the_end(tmp_path: Path, change: str, is_timed: bool) -> None:
    words = said(1)
    kept = {
        "none": words,
        "missing in the text": words[:60] + words[120:],
        "made up": [*words[:60], "no", *words[60:]],
    }
    text = written(tmp_path / ("t.json" if is_timed else "t.txt"), kept.get(change, words), is_timed=is_timed)
    spoken = heard(words)
    if change == "missing in the audio":
        spoken = [*spoken[:8], *spoken[14:]]
    follower, settled = TextFollower(text), list[int]()
    for one in spoken:
        before = follower.settled_words
        found = follower.hear(one)
        assert found is None or all(
            stretch.segment is None or stretch.end <= one.start for stretch in found.stretches
        )
        if found is not None:
            numbers = [stretch.number for stretch in found.stretches]
            settled += [found.located.stretch[at] for at in range(before, follower.settled_words)]
            assert set(settled[before:]) <= set(numbers)
            assert numbers == sorted(numbers)
    bounds = [(one.start, one.end) for one in spoken]
    clock = heard_clock([one.lattices[0] for one in spoken], bounds)
    whole = locate_text(text, [clock], 200.0).located.stretch
    assert settled == sorted(settled)
    assert len(settled) >= len(text) - (2 * LAG + 2) * WORDS
    assert np.mean(whole[: len(settled)] == settled) > (0.98 if change in ("none", "made up") else 0.9)


def test_a_text_of_another_recording_is_never_settled(tmp_path: Path) -> None:
    follower = TextFollower(written(tmp_path / "t.txt", [word.replace("w", "v") for word in said(2)], is_timed=False))
    assert [follower.hear(one) for one in heard(said(1))] == [None] * SEGMENTS
    assert follower.settled_words == 0


@pytest.fixture
def audio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AudioFile:
    """Many segments, each of them different."""
    install(tmp_path / "site", monkeypatch)
    pause = np.zeros(32_000, np.float32)
    spoken = [part for size in range(1, 7) for part in (recording() * size / 6, pause)]
    soundfile.write(tmp_path / "talk.wav", np.concatenate([pause, *spoken]), 16000)
    return AudioFile.open(tmp_path / "talk.wav")


def running(job: CheckJob, task: CheckTask) -> list[Word]:
    """Words that come while the recording is heard."""
    return [word for _ in job.listen(task) for checked in job.newly_checked(task) for word in checked.words]


@pytest.mark.parametrize("is_timed", [True, False])
def test_words_come_while_the_recording_is_heard(audio: AudioFile, tmp_path: Path, is_timed: bool) -> None:
    said = wt.transcribe(audio.path, "ears=reader").words
    file = tmp_path / ("talk.ctm" if is_timed else "talk.txt")
    lines = [f"talk 1 {word.start:.3f} {word.end - word.start:.3f} {word.word}\n" for word in said]
    file.write_text("".join(lines) if is_timed else " ".join(word.word for word in said))
    file.write_text(file.read_text().replace(said[3].word, "other"))
    task = check_tasks(read_texts(file), [audio])[0]
    listener: Any = loader("ears=reader")()
    with Transcriber([listener], scores_texts=True) as transcriber, CheckJob(transcriber, [task], {}, "") as job:
        early = running(job, task)
        job.check(task)
        last = [word for checked in job.newly_checked(task) for word in checked.words]
    final = [word for segment in job.transcripts[task.name] for word in segment.words]
    assert len(said) // 3 <= len(early) < len(said)
    assert [word.word for word in (*early, *last)] == [word.word for word in final]
    assert " ".join(word.word for word in final) == " ".join(word.word for word in said).replace(
        said[3].word, "other"
    )
    assert [word.confidence for word in early] == [word.confidence for word in final[: len(early)]]
    assert final[3] == min(final, key=lambda word: word.confidence)
    assert listener.encoded == len(list(segments(audio.blocks(None))))  # each once, for words and for scores


def test_words_wait_where_other_transcripts_are_to_be_placed_first(audio: AudioFile, tmp_path: Path) -> None:
    (tmp_path / "typed.txt").write_text(
        " ".join(word.word for word in wt.transcribe(audio.path, "ears=reader").words)
    )
    text = read_texts(tmp_path / "typed.txt")
    task = check_tasks(text, [audio], text)[0]
    with Transcriber(["ears=reader"], scores_texts=True) as transcriber, CheckJob(transcriber, [task], {}, "") as job:
        assert not running(job, task)
        job.check(task)
        assert len([word for checked in job.newly_checked(task) for word in checked.words]) == len(text[0])
