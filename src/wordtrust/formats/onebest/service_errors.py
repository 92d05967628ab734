"""Answers of speech services that are no transcripts: errors, and jobs that are not done. Their own words are quoted.

{"error": {"code": 400, "message": "..."}}                           Google, OpenAI, Azure
{"err_code": "INVALID_AUTH", "err_msg": "..."}                       Deepgram; streaming: {"type": "Error", ...}
{"TranscriptionJob": {"TranscriptionJobStatus": "FAILED", "FailureReason": "..."}}        Amazon
{"jobName": "...", "status": "IN_PROGRESS", "results": {}}            Amazon, before it is done
{"status": "error", "error": "..."}                                  AssemblyAI
{"code": "InvalidRequest", "message": "..."}, {"message": "..."}, {"detail": "..."}      many
"""

from __future__ import annotations

from typing import Any

from ...base.errors import InputError

_LONGEST = 300  # characters of a message that are quoted
_MESSAGES = ("message", "Message", "err_msg", "errorMessage", "description", "detail", "details", "reason")
_CODES = ("code", "err_code", "Code", "status", "type", "__type")
_AMAZON_JOBS = ("TranscriptionJob", "CallAnalyticsJob", "MedicalTranscriptionJob")
_CONTENT = {"results", "Results", "segments", "words", "text", "Transcript", "transcription", "phrases", "channel",
            "recognizedPhrases", "NBest", "response", "result", "alternatives", "transcript"}  # fmt: skip


def refuse_service_error(document: Any) -> None:
    """Raise what a service says went wrong, if that is all that its answer has to say."""
    if isinstance(document, dict):
        _refuse_amazon_job(document)
        said = _error_text(document)
        if said:
            raise InputError(
                f'this is no transcript but an error of the service: "{said}"', remedy="Ask the service again"
            )


def _refuse_amazon_job(document: dict[str, Any]) -> None:
    """The description of a job, which is not its transcript."""
    job = next((document[name] for name in _AMAZON_JOBS if isinstance(document.get(name), dict)), None)
    if job is None and {"jobName", "status"} <= document.keys() and not document.get("results"):
        job = {"JobStatus": document["status"]}
    if job is None:
        return
    status = next((str(job[name]) for name in job if name.endswith("JobStatus")), "unknown")
    reason, transcript = _quoted(job.get("FailureReason")), job.get("Transcript")
    if reason:
        raise InputError(f'the job failed: "{reason}"', remedy="Start it again")
    uri = transcript.get("TranscriptFileUri") if isinstance(transcript, dict) else None
    remedy = f"Download that: {_quoted(uri)}" if uri else "Wait until it is COMPLETED, then download the transcript"
    raise InputError(f"this describes a job (status {_quoted(status)}), not its transcript", remedy=remedy)


def _error_text(document: dict[str, Any]) -> str:
    """The message of an error, with its code; empty if this is none."""
    error = document.get("error") or document.get("errors") or document.get("Error")
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        return _message(error) or _quoted(error)
    if isinstance(error, str):
        return _message(document, error)
    is_error = document.get("type") == "Error" or "err_msg" in document or "err_code" in document
    is_short = len(document) <= 5 and not document.keys() & _CONTENT
    return _message(document) if is_error or is_short else ""


def _message(holder: dict[str, Any], text: str = "") -> str:
    found = text or next((holder[name] for name in _MESSAGES if holder.get(name)), None)
    code = next((holder[name] for name in _CODES if isinstance(holder.get(name), str | int)), None)
    if found is None:
        return ""
    says = _quoted(found)
    return says if code is None or str(code) in says or str(code).lower() == "error" else f"{_quoted(code)}: {says}"


def _quoted(value: Any) -> str:
    """A value on one line, not too long."""
    text = " ".join(str(value).split()) if value is not None else ""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
