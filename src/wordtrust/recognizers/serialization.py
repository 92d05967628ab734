"""The output of recognizers as lines of JSON, and those as lattices and scores.

Lines travel between processes and are kept in journals. They become lattices through the readers of files, so that
the output of a recognizer is checked as thoroughly as any file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.problems import Problems
from ..formats import jsonl
from ..formats.format import Reader, ReadOptions
from ..formats.inputs import Stream
from ..formats.nbest import records as nbest
from ..lattices.lattice import Lattice, Lattices, concatenate
from .base import ForcedScores, NBestRecord, RecognizerIdentity


def to_line(output: NBestRecord | Lattice) -> str:
    """A record or a lattice as JSON on one line, without its end."""
    if isinstance(output, Lattice):
        return jsonl.lattice_line(output).rstrip("\n")
    if not isinstance(output, Mapping):
        raise InputError(f"it gave {type(output).__name__}, not an N-best record or a Lattice", remedy=_REMEDY)
    try:
        return json.dumps(dict(output), ensure_ascii=False, allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise InputError(f"its record cannot be written as JSON: {error}", remedy=_REMEDY) from None


_REMEDY = "See `wordtrust.recognizers.base` for what a recognizer returns"


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is no JSON")


def scores_to_line(texts: Sequence[ForcedScores]) -> str:
    """The scores of texts as JSON on one line, rounded; null where there is none."""
    return json.dumps(
        {"texts": [{name: _rounded(values) for name, values in one._asdict().items()} for one in texts]}
    )


def _rounded(values: Any) -> Any:
    if isinstance(values, float):
        return round(values, 4) if np.isfinite(values) else None
    return [_rounded(value) for value in values.tolist()] if values.dtype.kind == "f" else values.tolist()


def line_to_scores(line: str) -> list[ForcedScores]:
    """The scores that `scores_to_line` wrote; InputError if they are damaged."""
    try:
        return [_scores(text) for text in json.loads(line)["texts"]]
    except (ValueError, LookupError, TypeError):
        raise InputError("not the scores of texts", remedy="Delete the file that they come from") from None


def _scores(text: Mapping[str, Any]) -> ForcedScores:
    logprob, least, margin = (np.array(text[name], np.float64) for name in ("logprob", "least", "margin"))
    tokens = np.array(text["tokens"], np.int64)
    if not logprob.shape == least.shape == margin.shape == tokens.shape == (len(tokens),):
        raise ValueError("of different lengths")
    return ForcedScores(logprob, least, tokens, margin, float("nan" if text["end"] is None else text["end"]))


def to_lattices(
    lines: Sequence[str], utts: Sequence[str], identity: RecognizerIdentity, file: str = ""
) -> Iterator[Lattices]:
    """The lattices of lines, one each, by the names of their utterances; a bad one is an `InputError`."""
    done = 0
    for read, group in groupby(lines, key=_reader):
        text = "\n".join(group)
        source = Stream(io.BytesIO(text.encode("utf-8", "replace")), identity.name, Path(identity.name))
        for batch in read(source, ReadOptions(pick=identity.pick), Problems()):
            names, done = tuple(utts[done : done + len(batch)]), done + len(batch)
            yield replace(batch, utts=names, origin=replace(batch.origin, file=file, recognizer=identity.name))


def _reader(line: str) -> Reader:
    return jsonl.read if line.startswith('{"wordtrust"') else nbest.read


def to_lattice(line: str, utt: str, identity: RecognizerIdentity, file: str = "") -> Lattices:
    """The one lattice of a line."""
    try:
        return concatenate(to_lattices([line], [utt], identity, file))
    except InputError as error:
        message = f"{identity.name} gave what cannot be used: {error.found}"
        raise InputError(message, file=file, utt=utt, remedy=error.remedy) from None
