"""`wordtrust view` over HTTP: the page, sound in ranges, waveforms, what is kept; nothing for strangers."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
import pytest
import soundfile

from tests.helpers.command_line import refused
from tests.helpers.media import second_of, steps, write_media
from tests.service.conftest import Serve
from wordtrust.audio import RATE
from wordtrust.audio.audio_file import AudioFile
from wordtrust.base.errors import InputError, OptionError
from wordtrust.service.peaks import peaks
from wordtrust.service.view import review_path, view_application
from wordtrust.service.viewed_audio import ViewedFile, audio_of
from wordtrust.transcripts.reader import read_transcripts
from wordtrust.transcripts.transcript import Transcript, Transcripts
from wordtrust.transcripts.words import Word

WORDS = tuple(Word(text, text, at, at + 0.8, 0.4) for at, text in enumerate(["zero", "one", "two", "three"]))
Ask = Callable[..., tuple[http.client.HTTPResponse, bytes]]


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A transcript and its audio."""
    write_media(tmp_path / "talk.mp3", steps(4))
    words = Transcripts([Transcript("talk", WORDS)], about={"file": str(tmp_path / "talk.mp3")})
    words.save(tmp_path / "talk.json")
    return tmp_path / "talk.json"


@pytest.fixture
def ask(talk: Path, serve: Serve) -> Ask:
    """Asks the server; `path` is below the secret word unless it begins with a slash."""
    viewed = ViewedFile(talk, read_transcripts(talk))
    address = serve(view_application([viewed], audio_of(viewed, ()), "secret"))
    host = urlsplit(address).netloc

    def request(path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> tuple[object, bytes]:
        connection = http.client.HTTPConnection(host, timeout=60)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path if path.startswith("/") else f"/secret/{path}", body, given)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response, content

    return request  # type: ignore[return-value]


def page_data(content: bytes) -> dict[str, object]:
    match = re.search(rb'id="transcript">(.*?)</script>', content, re.DOTALL)
    assert match
    data: dict[str, object] = json.loads(match[1])
    return data


def test_the_page_knows_its_sound(ask: Ask) -> None:
    response, content = ask("")
    assert response.status == 200
    assert response.headers["cache-control"] == "no-store"
    data = page_data(content)
    assert data["audio"] == {"talk": {"url": "audio/0", "wav": "audio/0?wav=1", "peaks": "peaks/0"}}
    assert (data["review"], data["save"], data["others"]) == (None, "review", [])
    assert b"connect-src 'self'" in content


@pytest.mark.parametrize(
    "path",
    ["/", "/wrong/", "/secret", "/secret/audio/1", "/secret/audio/-1", "/secret/../../etc/passwd",
     "/secret/talk.json", "/secret/audio/0/../../talk.json", "/secret/%2e%2e/talk.json"],
)  # fmt: skip
def test_there_is_nothing_else(ask: Ask, path: str) -> None:
    response, content = ask(path)
    assert response.status in (307, 404)
    assert b"zero" not in content


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_other_names_of_this_machine_are_refused(ask: Ask, host: str) -> None:
    for path, method in (("", "GET"), ("audio/0", "GET"), ("review", "PUT")):
        response, content = ask(path, method, b'{"steps": []}' if method == "PUT" else None, Host=host)
        assert response.status == 400
        assert b"zero" not in content


def test_only_what_is_meant_can_be_done(ask: Ask) -> None:
    assert ask("", "POST", b"x")[0].status == 405
    assert ask("review")[0].status == 405


def test_mp3_sounds_like_one_wav_in_ranges(ask: Ask, talk: Path) -> None:
    response, whole = ask("audio/0")
    assert (response.status, response.headers["content-type"]) == (200, "audio/wav")
    assert response.headers["accept-ranges"] == "bytes"
    assert len(whole) == int(response.headers["content-length"])
    samples = np.frombuffer(whole[44:], "<i2") / 32_767
    np.testing.assert_allclose(samples, AudioFile.open(talk.with_suffix(".mp3")).samples()[: len(samples)], atol=1e-4)
    assert soundfile.info(_kept(talk.parent / "x.wav", whole)).duration == pytest.approx(4.0, abs=0.05)
    first = 44 + 2 * RATE * 2 + 1  # within a sample
    response, part = ask("audio/0", Range=f"bytes={first}-{first + 2 * RATE}")
    assert (response.status, len(part)) == (206, 2 * RATE + 1)
    assert response.headers["content-range"] == f"bytes {first}-{first + 2 * RATE}/{len(whole)}"
    heard = np.asarray(np.frombuffer(part[1:], "<i2") / 32_767, np.float32)
    assert second_of(heard, 0.2) == 2
    assert ask("audio/0", Range="bytes=0-3")[1] == b"RIFF"
    assert ask("audio/0", Range="bytes=40-47")[1] == whole[40:48]
    assert len(ask("audio/0", Range="bytes=-100")[1]) == 100
    assert ask("audio/0", Range="lines=1-2")[1] == whole
    assert ask("audio/0", Range=f"bytes={len(whole)}-")[0].status == 416


def _kept(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_what_browsers_play_is_served_as_it_is(tmp_path: Path, serve: Serve) -> None:
    path = write_media(tmp_path / "talk.m4a", steps(2))
    Transcripts([Transcript("talk", WORDS[:1])]).save(tmp_path / "talk.jsonl")
    viewed = ViewedFile(tmp_path / "talk.jsonl", read_transcripts(tmp_path / "talk.jsonl"))
    address = serve(view_application([viewed], audio_of(viewed, ()), "secret"))
    with urlopen(f"{address}/secret/audio/0") as response:
        assert (response.headers["content-type"], response.read()) == ("audio/mp4", path.read_bytes())
    with urlopen(f"{address}/secret/audio/0?wav=1") as response:
        assert response.read(4) == b"RIFF"


def test_waveforms(ask: Ask, talk: Path) -> None:
    response, content = ask("peaks/0?start=1&end=2&parts=50")
    assert response.status == 200
    drawn = np.array(json.loads(content)["peaks"])
    assert drawn.shape == (50, 2)
    assert (drawn[:, 0] < -0.3).all()
    assert (drawn[:, 1] > 0.3).all()
    for query in ("", "?start=0&end=1e9&parts=5", "?start=2&end=1&parts=5", "?start=0&end=1&parts=100000",
                  "?start=nan&end=1&parts=5", "?start=x&end=1&parts=5"):  # fmt: skip
        assert ask(f"peaks/0{query}")[0].status == 400
    audio = AudioFile.open(talk.with_suffix(".mp3"))
    assert peaks(audio, 100.0, 101.0, 4) == [(0.0, 0.0)] * 4
    samples = audio.samples(0.5, 0.7)
    np.testing.assert_allclose(peaks(audio, 0.5, 0.7, 1), [[samples.min(), samples.max()]], atol=1e-3)


def test_what_is_changed_is_kept_and_comes_back(ask: Ask, talk: Path) -> None:
    state = {"format": 1, "at": "2026-01-01", "count": 1, "steps": [{"name": "Delete “one”", "changes": []}]}
    response, _ = ask("review", "PUT", json.dumps(state).encode())
    assert response.status == 204
    assert json.loads(review_path(talk).read_text()) == state
    assert review_path(talk).name == "talk.json.review.json"
    assert page_data(ask("")[1])["review"] == state
    for body in (b"", b"[]", b"{}", b'{"steps": 3}', b"[" * 100_000, b"\xff\xfe"):
        assert ask("review", "PUT", body)[0].status == 400
    assert json.loads(review_path(talk).read_text()) == state  # nothing else was written


def test_what_cannot_be_kept_is_told(ask: Ask, talk: Path) -> None:
    review_path(talk).mkdir()
    response, content = ask("review", "PUT", b'{"steps": []}')
    assert response.status == 503
    assert b"talk.json.review.json" in content


def test_audio_is_found(tmp_path: Path) -> None:
    folder = tmp_path / "words"
    folder.mkdir()
    write_media(folder / "call.amr", steps(1))
    soundfile.write(tmp_path / "other.wav", steps(1), RATE)

    def found(*names: str, given: tuple[str, ...] = (), **about: object) -> dict[str, str]:
        viewed = ViewedFile(folder / "x.json", Transcripts([Transcript(name, ()) for name in names], about=about))
        return {name: Path(audio.path).name for name, audio in audio_of(viewed, given).items()}

    assert found("call") == {"call": "call.amr"}
    assert found("call-1", "call-2") == {"call-1": "call.amr", "call-2": "call.amr"}
    assert found("talk", file="/elsewhere/call.amr") == {"talk": "call.amr"}  # moved with the transcript
    assert found("talk", file=str(tmp_path / "other.wav")) == {"talk": "other.wav"}
    assert found("talk") == {}
    assert found("../other") == {}
    assert found("talk", file="\0") == {}
    assert found("a", "b", given=(str(tmp_path / "other.wav"),)) == {"a": "other.wav", "b": "other.wav"}
    both = (str(tmp_path / "other.wav"), str(folder / "call.amr"))
    assert found("other", "call", given=both) == {"other": "other.wav", "call": "call.amr"}
    with pytest.raises(OptionError, match="no recording is called like it"):
        found("a", "call", given=both)
    with pytest.raises(InputError, match="no such file"):
        found("a", given=("none.wav",))


def test_audio_in_the_place_of_a_transcript() -> None:
    assert "wordtrust transcribe talk.m4a --out talk.json, then wordtrust view talk.json" in refused(
        "view", "talk.m4a"
    )


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_the_command_prints_its_address_and_ends_with_ctrl_c(talk: Path) -> None:
    command = [sys.executable, "-m", "wordtrust", "view", str(talk), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stderr
        address = running.stdout.readline().strip()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
        with urlopen(address) as response:
            assert b"zero" in response.read()
        assert "another wordtrust process is writing it" in refused("view", talk, "--no-browser")
        running.send_signal(signal.SIGINT)
        said = running.stderr.read()
        assert running.wait(20) == 0
    assert "talk.json.review.json; Ctrl-C ends this" in said
    assert "Traceback" not in said
