"""Which Whisper a model is: models of confidence are trained for `whisper-base` and its kin, wherever they lie."""

from __future__ import annotations

import re

from .weights import Sizes

# (width, layers of the encoder, layers of the decoder)
_BY_SIZE = {
    (384, 4, 4): "tiny",
    (512, 6, 6): "base",
    (768, 12, 12): "small",
    (768, 12, 4): "distil-small",
    (1024, 24, 24): "medium",
    (1024, 24, 2): "distil-medium",
    (1280, 32, 4): "large-v3-turbo",
    (1280, 32, 32): "large",
    (1280, 32, 2): "distil-large",
}
_VERSIONED = ("large", "distil-large")  # of one size, but in versions
_OTHER_NAMES = {"large": "large-v3", "turbo": "large-v3-turbo"}  # as faster-whisper takes them
_ENGLISH_VOCABULARY = 51_864  # one less than that of the first multilingual ones


def name_of_model(model: str) -> str:
    """`whisper-` and the size, from a name as faster-whisper takes it (`base`, `Systran/faster-whisper-base`)."""
    last = model.rstrip("/").rpartition("/")[2].lower()
    plain = re.sub(r"-ct2\b.*$", "", last)
    is_distilled = "distil" in plain
    size = re.sub(r"^(?:faster-)?(?:distil-)?(?:whisper-)?", "", plain)
    size = _OTHER_NAMES.get(size, size)
    return f"whisper-{'distil-' if is_distilled else ''}{size}"


def name_of_folder(folder: str, sizes: Sizes) -> str:
    """The same from a folder's sizes; where these leave several, the folder's name decides."""
    size = _BY_SIZE.get(sizes[:3])
    if size is None:
        return name_of_model(folder)
    if size in _VERSIONED:
        version = re.search(r"v[123](?:\.\d)?", folder.lower())
        guess = "v3" if sizes.mels == 128 else "v2"
        size = f"{size}-{version.group() if version else guess}"
    return f"whisper-{size}{'.en' if sizes.vocabulary <= _ENGLISH_VOCABULARY else ''}"
