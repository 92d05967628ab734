"""Sound for a browser, in ranges of bytes: the file as it is, or the WAV that it is decoded to as it is asked for.

Browsers seek by bytes. In MP3 they guess which, so words and sound would drift apart; most play no WMA or AMR at all.
Such files look like one WAV at 16 kHz to them, of which a range is decoded when they ask for it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from ..audio import RATE
from ..audio.audio_file import AudioFile

_TYPES = {  # what browsers play, and find their way in
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".m4a": "audio/mp4",
    ".mp4": "audio/mp4",
    ".webm": "audio/webm",
}
_HEADER = 44  # bytes of a WAV before its samples
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
_LONGEST = 86_400.0 * 2  # seconds


def sound_response(audio: AudioFile, request: Request, *, as_wav: bool) -> Response:
    """The sound that a request asks for."""
    kind = _TYPES.get(Path(audio.path).suffix.lower())
    if kind is not None and not as_wav:
        return FileResponse(audio.path, media_type=kind, content_disposition_type="inline")
    return wav_response(audio, request.headers.get("range", ""))


def wav_response(audio: AudioFile, asked: str) -> Response:
    """A range of the WAV that an audio file is decoded to, mono and 16 bits."""
    frames = round(min(audio.duration or 0.0, _LONGEST) * RATE)
    size = _HEADER + 2 * frames
    first, last = _range(asked, size)
    if first > last:
        return Response(status_code=416, headers={"content-range": f"bytes */{size}"})
    headers = {"accept-ranges": "bytes", "content-length": str(last + 1 - first)}
    if asked:
        headers["content-range"] = f"bytes {first}-{last}/{size}"
    body = _wav(audio, frames, first, last + 1)
    return StreamingResponse(body, 206 if asked else 200, headers, media_type="audio/wav")


def _range(asked: str, size: int) -> tuple[int, int]:
    """The first and the last byte; what is no range is all of them."""
    match = _RANGE.fullmatch(asked.strip())
    if match is None or match[1] == match[2] == "":
        return 0, size - 1
    if match[1] == "":
        return max(0, size - int(match[2])), size - 1
    return int(match[1]), min(size - 1, int(match[2])) if match[2] else size - 1


def _wav(audio: AudioFile, frames: int, first: int, end: int) -> Iterator[bytes]:
    if first < _HEADER:
        yield _head(frames)[first : min(end, _HEADER)]
        first = _HEADER
    skipped, wanted = (first - _HEADER) % 2, end - first  # a range may begin within a sample
    if wanted <= 0:
        return
    for block in audio.blocks(start=(first - _HEADER) // 2 / RATE):
        data = np.asarray(np.round(block * 32_767), "<i2").tobytes()[skipped:][:wanted]
        skipped, wanted = 0, wanted - len(data)
        yield data
        if wanted <= 0:
            return
    while wanted > 0:  # the header said more than there is
        data = bytes(min(wanted, 1 << 16))
        wanted -= len(data)
        yield data


def _head(frames: int) -> bytes:
    size = 2 * frames
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    return struct.pack("<4sI4s", b"RIFF", 36 + size, b"WAVE") + form + struct.pack("<4sI", b"data", size)
