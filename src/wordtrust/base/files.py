"""Files that appear whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from .errors import OptionError


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """A binary file to write `path` through, packed with gzip when the name ends in .gz.

    It has another name in the same folder until the block ends; when the block raises, nothing is left of it and
    what was at `path` before is untouched.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        raw = draft.open("xb")
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror}") from None
    try:
        with raw:
            if path.suffix == ".gz":
                # Without name and time in it, the same content gives the same bytes.
                with gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
        os.replace(draft, path)
    except OSError as error:
        raise OptionError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def atomic_text(path: Path) -> Iterator[TextIO]:
    """The same for text, in UTF-8 with plain line ends; what UTF-8 cannot hold (half characters) becomes `?`."""
    with atomic(path) as file:
        text = io.TextIOWrapper(file, "utf-8", errors="replace", newline="\n")
        try:
            yield text
            text.flush()
        finally:
            text.detach()
