"""`wordtrust view`: the page of a transcript with its audio, and nothing else of the disk.

Every address begins with a secret word, and requests must be for this machine by its own name, so that no other page
that is open in the browser can read or change anything (DNS rebinding included).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..audio.audio_file import AudioFile
from ..base.errors import InputError, OptionError, WordtrustError
from ..base.files import atomic_text
from ..transcripts.page import page_text
from ..transcripts.page.data import known_plan
from ..transcripts.transcript import Transcripts
from .peaks import peaks
from .sound import sound_response
from .viewed_audio import ViewedFile

HOSTS = ("127.0.0.1", "localhost")
_LARGEST_REVIEW = 1 << 26  # bytes
_POLICY = ("media-src 'self' blob:", "connect-src 'self'")
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


def review_path(path: Path) -> Path:
    """Where what a person changed in a transcript is kept."""
    return path.with_name(f"{path.name}.review.json")


def view_application(viewed: Sequence[ViewedFile], audio: Mapping[str, AudioFile], token: str) -> Starlette:
    """The page of the first of these files, with what the others have for the same recordings beside it."""
    view = _View(viewed, audio)
    routes = [
        Route(f"/{token}/", view.page),
        Route(f"/{token}/audio/{{number:int}}", view.sound),
        Route(f"/{token}/peaks/{{number:int}}", view.waveform),
        Route(f"/{token}/review", view.save, methods=["PUT"]),
    ]
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=list(HOSTS), www_redirect=False)]
    return Starlette(routes=routes, middleware=middleware)


class _View:
    """What the addresses of a viewed transcript answer."""

    def __init__(self, viewed: Sequence[ViewedFile], audio: Mapping[str, AudioFile]) -> None:
        self._viewed = viewed
        self._sounds = list({id(file): file for file in audio.values()}.values())
        self._review = review_path(viewed[0].path)
        self._saving = asyncio.Lock()
        first = viewed[0].transcripts
        self._known = {
            "audio": {name: self._addresses(file) for name, file in audio.items()},
            "others": [_other(each) for each in viewed[1:]],
            "save": "review",
            **known_plan(first, first.about),
        }

    async def page(self, _: Request) -> Response:
        """The page, with what was changed before."""
        text = await run_in_threadpool(self._page, self._viewed[0].transcripts)
        return Response(text, media_type="text/html; charset=utf-8", headers=_HEADERS)

    def _page(self, transcripts: Transcripts) -> str:
        more = {**self._known, "review": read_review(self._review)}
        return page_text(transcripts, transcripts.about, transcripts.left_out, more, _POLICY)

    def _addresses(self, file: AudioFile) -> dict[str, str]:
        number = next(index for index, sound in enumerate(self._sounds) if sound is file)
        return {"url": f"audio/{number}", "wav": f"audio/{number}?wav=1", "peaks": f"peaks/{number}"}

    def _sound(self, request: Request) -> AudioFile:
        number = int(request.path_params["number"])
        if not 0 <= number < len(self._sounds):
            raise HTTPException(404)
        return self._sounds[number]

    async def sound(self, request: Request) -> Response:
        """A range of the sound."""
        response = sound_response(self._sound(request), request, as_wav="wav" in request.query_params)
        response.headers.update(_HEADERS)
        return response

    async def waveform(self, request: Request) -> Response:
        """The waveform of a stretch: start, end, parts."""
        audio, asked = self._sound(request), request.query_params
        try:
            start, end, parts = float(asked["start"]), float(asked["end"]), int(asked["parts"])
            drawn = await run_in_threadpool(peaks, audio, start, end, parts)
        except (KeyError, ValueError, OptionError, InputError) as error:
            return JSONResponse({"error": str(error)}, 400, headers=_HEADERS)
        return JSONResponse({"start": start, "end": end, "peaks": drawn}, headers=_HEADERS)

    async def save(self, request: Request) -> Response:
        """Keep what a person changed, all of it, in place of what was kept before."""
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > _LARGEST_REVIEW:
                raise HTTPException(413)
        try:
            state = json.loads(body)
        except (ValueError, RecursionError):
            raise HTTPException(400) from None
        if not isinstance(state, dict) or not isinstance(state.get("steps"), list):
            raise HTTPException(400)
        try:
            async with self._saving:  # two tabs may save at once
                await run_in_threadpool(write_review, self._review, state)
        except WordtrustError as error:  # the disk is full, the folder read-only
            return JSONResponse({"error": str(error)}, 503, headers=_HEADERS)
        return Response(status_code=204, headers=_HEADERS)


def _other(viewed: ViewedFile) -> dict[str, Any]:
    """Another transcript of the same recordings, to be shown beside the first."""
    about = viewed.transcripts.about
    named = [
        str(each["name"]) for each in about.get("recognizers", ()) if isinstance(each, Mapping) and "name" in each
    ]
    return {
        "name": " + ".join(named) or viewed.path.stem,
        "file": viewed.path.name,
        "records": [segment.to_dict() for segment in viewed.transcripts],
    }


def read_review(path: Path) -> dict[str, Any] | None:
    """What was kept; None if there is nothing."""
    try:
        state = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"this is no review that can be read ({error})", file=str(path), remedy="Move it away"
        ) from None
    return state if isinstance(state, dict) else None


def write_review(path: Path, state: Mapping[str, Any]) -> None:
    """Keep it, whole or not at all."""
    with atomic_text(path) as file:
        json.dump(state, file, ensure_ascii=False)
