"""Answers of services that are errors: their own words are quoted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command_line import refused
from tests.helpers.shared import SAMPLES
from wordtrust.base.errors import InputError
from wordtrust.formats.onebest.service_errors import refuse_service_error

ERRORS: dict[str, tuple[Any, str]] = {
    "google": ({"error": {"code": 403, "message": "Requests are blocked.", "status": "PERMISSION_DENIED"}},
               '"403: Requests are blocked."'),
    "google operation": ({"name": "1", "done": True, "error": {"code": 3, "message": "bad\nencoding"}},
                         '"3: bad encoding"'),
    "openai": ({"error": {"message": "Incorrect API key", "type": "invalid_request_error", "code": "bad_key"}},
               '"bad_key: Incorrect API key"'),
    "azure": ({"error": {"code": "401", "message": "Access denied"}}, '"401: Access denied"'),
    "azure batch": ({"code": "InvalidUri", "message": "No such blob"}, '"InvalidUri: No such blob"'),
    "azure status": ({"RecognitionStatus": "Error", "Offset": 0, "Duration": 0}, "RecognitionStatus is Error"),
    "deepgram": ({"err_code": "INVALID_AUTH", "err_msg": "Invalid credentials.", "request_id": "r"},
                 '"INVALID_AUTH: Invalid credentials."'),
    "deepgram stream": ({"type": "Error", "description": "Could not process", "variant": "x"}, "Could not process"),
    "amazon job": ({"TranscriptionJob": {"TranscriptionJobName": "j", "TranscriptionJobStatus": "FAILED",
                                         "FailureReason": "The media format is wrong."}},
                   'the job failed: "The media format is wrong."'),
    "amazon call": ({"CallAnalyticsJob": {"CallAnalyticsJobStatus": "IN_PROGRESS"}}, "(status IN_PROGRESS)"),
    "amazon file": ({"jobName": "j", "status": "IN_PROGRESS", "results": {}}, "(status IN_PROGRESS)"),
    "google nothing": ({}, "an empty answer, as services give where nothing was said"),
    "amazon done": ({"TranscriptionJob": {"TranscriptionJobStatus": "COMPLETED",
                                          "Transcript": {"TranscriptFileUri": "https://x/y.json"}}},
                    "Download that: https://x/y.json"),
    "amazon api": ({"__type": "BadRequestException", "Message": "No such job"}, '"BadRequestException: No such job"'),
    "assemblyai": ({"id": "t", "status": "error", "audio_url": "u", "audio_duration": None, "error": "Not audio"},
                   '"Not audio"'),
    "assemblyai api": ({"error": "Authentication error"}, '"Authentication error"'),
    "server": ({"detail": "Not found"}, '"Not found"'),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_the_service_is_quoted(name: str, tmp_path: Path) -> None:
    document, message = ERRORS[name]
    file = tmp_path / "answer.json"
    file.write_text(json.dumps(document))
    said = refused("info", file)
    assert said.startswith(f"{file}")
    assert message in said


@pytest.mark.parametrize("path", [path for path in SAMPLES.glob("*/*.json*") if path.is_file()], ids=str)
def test_no_transcript_is_taken_for_an_error(path: Path) -> None:
    decoder, text = json.JSONDecoder(), path.read_bytes().decode("utf-8-sig", "replace").lstrip()
    while text:
        document, end = decoder.raw_decode(text)
        for part in document if isinstance(document, list) else [document]:
            refuse_service_error(part)
        text = text[end:].lstrip()


def test_a_message_is_cut_and_on_one_line() -> None:
    with pytest.raises(InputError) as caught:
        refuse_service_error({"error": {"message": "a\nb " * 1000}})
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("document", [{}, [], 3, {"error": None}, {"error": {}}, {"error": []}, {"message": None}])
def test_what_says_nothing_is_no_error(document: Any) -> None:
    refuse_service_error(document)
